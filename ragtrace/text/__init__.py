"""Text: sentences, claims, citations, abstentions; English and Chinese."""
