"""The parts of the embedded judge."""
