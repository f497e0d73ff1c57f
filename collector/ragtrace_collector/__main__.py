"""``python -m ragtrace_collector`` is the ``ragtrace`` command."""

from ragtrace_collector.cli import main

if __name__ == "__main__":
    main()
