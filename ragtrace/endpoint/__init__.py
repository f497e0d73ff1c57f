"""What the judge and the embedder of an OpenAI-compatible endpoint share: where it is, when to try again."""
