"""The read side: spans of any dialect → interactions."""
