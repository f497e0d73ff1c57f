"""Judges: who gives the verdicts. See :mod:`ragtrace.judges.base` for the protocol."""

from ragtrace.judges.base import Fault, Judge, JudgeReply, JudgeRequest, ReferenceClaim, Usage, Want

__all__ = ["Fault", "Judge", "JudgeReply", "JudgeRequest", "ReferenceClaim", "Usage", "Want"]
