"""The ragtrace collector: a service in the OTLP path that scores RAG interactions."""
