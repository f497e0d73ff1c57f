"""Metrics: one file each; pure arithmetic from verdicts to outcomes."""
