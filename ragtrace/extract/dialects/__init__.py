"""One file a dialect: a span in its words → a :class:`~ragtrace.extract.step.Step`."""
