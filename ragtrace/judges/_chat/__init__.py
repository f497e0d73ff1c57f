"""The parts of the LLM judge: :mod:`ragtrace.judges.chat` puts them together."""
