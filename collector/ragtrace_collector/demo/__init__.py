"""The product in one command: a small RAG app that fails in every way, traced, judged and shown.

The handbook, the retrieval, the two apps, the spans, the collector and the judge are real. Only the chat
model is played: its replies stand in ``questions.jsonl``, since a demo must not need a key, and a good model
would not fail on request.
"""
