"""The subcommands of ``ragtrace``, one module each."""
