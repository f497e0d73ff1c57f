"""The nouns: what every other module passes around.

Frozen, slotted, picklable dataclasses; standard library only. ``None`` and an empty tuple are different
everywhere: ``documents is None`` means that no retrieval was recorded (or its texts were not), ``()`` means
that a retrieval was recorded and returned nothing.

Document numbers are 1-based and count positions in ``Interaction.documents``, as a reader of the answer
counts them: the document cited as ``[1]`` has rank 1.
"""

from ragtrace.model.interaction import (
    Feedback,
    GivenCitation,
    Hop,
    IdSource,
    Interaction,
    Language,
    RetrievedDocument,
    Turn,
)
from ragtrace.model.judgement import (
    Cause,
    Citation,
    Claim,
    Diagnosis,
    Evaluation,
    JudgedClaim,
    JudgeInfo,
    MarkerStatus,
    Need,
    Outcome,
    Path,
    Score,
    Stage,
    Status,
    Support,
    Unit,
    Unscored,
    Verdict,
)
from ragtrace.model.spans import (
    AttributeValue,
    LogRecord,
    SpanEvent,
    SpanLink,
    SpanRecord,
)

__all__ = [
    "AttributeValue",
    "Cause",
    "Citation",
    "Claim",
    "Diagnosis",
    "Evaluation",
    "Feedback",
    "GivenCitation",
    "Hop",
    "IdSource",
    "Interaction",
    "JudgeInfo",
    "JudgedClaim",
    "Language",
    "LogRecord",
    "MarkerStatus",
    "Need",
    "Outcome",
    "Path",
    "RetrievedDocument",
    "Score",
    "SpanEvent",
    "SpanLink",
    "SpanRecord",
    "Stage",
    "Status",
    "Support",
    "Turn",
    "Unit",
    "Unscored",
    "Verdict",
]
