"""Framework integrations, one file each; they only translate callbacks into ragtrace calls."""
