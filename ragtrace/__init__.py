"""ragtrace: which of the four ways did a RAG answer fail?"""
