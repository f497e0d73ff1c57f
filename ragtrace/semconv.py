"""Every attribute and event name that ragtrace reads or writes. One table, no logic.

Names of other conventions are vendored as strings: the OpenTelemetry GenAI constants are deprecated in the
semantic-conventions package and have no package of their own, and importing OpenInference for 30 strings
would make it a dependency of every user.
"""

from __future__ import annotations

SCOPE = "ragtrace"
"""Instrumentation scope of our hooks' spans."""
JUDGE_SCOPE = "ragtrace.judge"
"""Scope that the collector refuses: what a judge's own calls would carry if something traced them."""
EVALUATION_SCOPE = "ragtrace.evaluation"
"""Scope of late scores."""

# --- OpenInference ----------------------------------------------------------------------------------------
OI_SPAN_KIND = "openinference.span.kind"
OI_CHAIN, OI_RETRIEVER, OI_RERANKER, OI_LLM = "CHAIN", "RETRIEVER", "RERANKER", "LLM"
OI_TOOL, OI_AGENT, OI_EMBEDDING, OI_EVALUATOR = "TOOL", "AGENT", "EMBEDDING", "EVALUATOR"
OI_PROMPT, OI_GUARDRAIL = "PROMPT", "GUARDRAIL"
INPUT_VALUE, INPUT_MIME = "input.value", "input.mime_type"
OUTPUT_VALUE, OUTPUT_MIME = "output.value", "output.mime_type"
MIME_JSON, MIME_TEXT = "application/json", "text/plain"
RETRIEVAL_DOCUMENTS = "retrieval.documents"
RERANKER_QUERY, RERANKER_MODEL, RERANKER_TOP_K = "reranker.query", "reranker.model_name", "reranker.top_k"
RERANKER_INPUT_DOCUMENTS, RERANKER_OUTPUT_DOCUMENTS = "reranker.input_documents", "reranker.output_documents"
DOCUMENT_ID, DOCUMENT_CONTENT = "document.id", "document.content"
DOCUMENT_SCORE, DOCUMENT_METADATA = "document.score", "document.metadata"
DOCUMENT_DISTANCE, DOCUMENT_RERANK_SCORE = "document.distance", "document.rerank_score"
"""Ours, beside OpenInference's own, where a document has them."""
DOCUMENT_ID_SOURCE = "document.id_source"
"""Ours, where the id shows another: ``sha256:…`` shows ``content_hash``, no id ``none``, else ``given``."""
LLM_MODEL_NAME = "llm.model_name"
LLM_INPUT_MESSAGES, LLM_OUTPUT_MESSAGES = "llm.input_messages", "llm.output_messages"
MESSAGE_ROLE, MESSAGE_CONTENT = "message.role", "message.content"
LLM_PROMPT_TOKENS, LLM_COMPLETION_TOKENS = "llm.token_count.prompt", "llm.token_count.completion"
LLM_PROMPT_TEMPLATE_VARIABLES = "llm.prompt_template.variables"
SESSION_ID, USER_ID = "session.id", "user.id"
OI_METADATA, OI_TAGS = "metadata", "tag.tags"
OI_EVALUATIONS = "evaluations"
OI_REDACTED = "__REDACTED__"

# --- OpenTelemetry GenAI ----------------------------------------------------------------------------------
GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_RETRIEVAL = "retrieval"
GEN_AI_CHAT = "chat"
GEN_AI_PROVIDER, GEN_AI_SYSTEM = "gen_ai.provider.name", "gen_ai.system"
GEN_AI_REQUEST_MODEL, GEN_AI_RESPONSE_MODEL = "gen_ai.request.model", "gen_ai.response.model"
GEN_AI_RETRIEVAL_QUERY, GEN_AI_RETRIEVAL_DOCUMENTS = (
    "gen_ai.retrieval.query.text",
    "gen_ai.retrieval.documents",
)
GEN_AI_RETRIEVAL_TOP_K, GEN_AI_DATA_SOURCE = "gen_ai.retrieval.top_k", "gen_ai.data_source.id"
GEN_AI_INPUT_MESSAGES, GEN_AI_OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
GEN_AI_SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
GEN_AI_CONVERSATION_ID = "gen_ai.conversation.id"
GEN_AI_INPUT_TOKENS, GEN_AI_OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
GEN_AI_PROMPT_VARIABLE = "gen_ai.prompt.variable"
GEN_AI_EVENT_DETAILS = "gen_ai.client.inference.operation.details"
GEN_AI_EVENT_EVALUATION = "gen_ai.evaluation.result"
GEN_AI_EVALUATION_NAME = "gen_ai.evaluation.name"
GEN_AI_EVALUATION_SCORE = "gen_ai.evaluation.score.value"
GEN_AI_EVALUATION_LABEL = "gen_ai.evaluation.score.label"
GEN_AI_EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"
GEN_AI_RESPONSE_ID = "gen_ai.response.id"
ERROR_TYPE = "error.type"

# --- ours: written by the hooks ---------------------------------------------------------------------------
PREFIX = "ragtrace."
KIND = "ragtrace.kind"
"""``interaction``, ``retrieval``, ``rerank`` or ``generation``: what a span of our hooks is."""
KIND_INTERACTION, KIND_RETRIEVAL, KIND_RERANK, KIND_GENERATION = (
    "interaction",
    "retrieval",
    "rerank",
    "generation",
)
QUESTION = "ragtrace.question"
"""Only where the question is not the span's ``input.value``."""
REWRITTEN_QUESTION = "ragtrace.rewritten_question"
HISTORY = "ragtrace.history"
"""JSON list of {question, answer}."""
DOCUMENTS = "ragtrace.documents"
"""JSON list of {id, id_source, content, score, distance, rerank_score, metadata}, where flat keys do not fit.

``[]`` says that a retrieval was recorded and returned nothing."""
INPUT_DOCUMENTS = "ragtrace.input_documents"
"""As DOCUMENTS: what a reranker was given."""
DOCUMENTS_METADATA, INPUT_DOCUMENTS_METADATA = (
    "ragtrace.documents.metadata",
    "ragtrace.input_documents.metadata",
)
"""JSON list beside flat keys: the metadata of each document, in order. Where one attribute a document, as
OpenInference has it, would not fit on the span; it is read in both places."""
ANSWER = "ragtrace.answer"
"""Only where the answer is not the span's ``output.value``."""
PARTIAL = "ragtrace.partial"
REFERENCE = "ragtrace.reference"
GOLD = "ragtrace.gold"
"""JSON object document id → grade."""
CITATIONS = "ragtrace.citations"
"""JSON list of {document, start, end}."""
FEEDBACK = "ragtrace.feedback"
"""JSON list of {name, value, comment}."""
LANGUAGE = "ragtrace.language"
APP = "ragtrace.app"
TRUNCATED = "ragtrace.truncated"
"""JSON object: name of each attribute that our hooks cut → its full length in characters.

A document cut inside DOCUMENTS goes by the name that its flat key would have."""

# --- ours: written by the collector -----------------------------------------------------------------------
DIAGNOSIS = "ragtrace.diagnosis"
DIAGNOSIS_PATH = "ragtrace.diagnosis.path"
DIAGNOSIS_STAGE = "ragtrace.diagnosis.stage"
DIAGNOSIS_ALSO = "ragtrace.diagnosis.also"
DIAGNOSIS_ADVICE = "ragtrace.diagnosis.advice"
DIAGNOSIS_MISSING = "ragtrace.diagnosis.missing"
DIAGNOSIS_WARNINGS = "ragtrace.diagnosis.warnings"
DIAGNOSIS_THRESHOLDS = "ragtrace.diagnosis.thresholds"
JUDGE_KIND, JUDGE_MODEL, JUDGE_REVISION = (
    "ragtrace.judge.kind",
    "ragtrace.judge.model",
    "ragtrace.judge.revision",
)
JUDGE_CALLS = "ragtrace.judge.calls"
JUDGE_INPUT_TOKENS, JUDGE_OUTPUT_TOKENS = "ragtrace.judge.input_tokens", "ragtrace.judge.output_tokens"
JUDGE_ESTIMATED_CALLS = "ragtrace.judge.estimated_calls"
"""Calls whose tokens the endpoint did not count; absent where there are none."""
SAMPLING_PROBABILITY, SAMPLING_RULE = "ragtrace.sampling.probability", "ragtrace.sampling.rule"
SCREEN = "ragtrace.screen"
OUTCOMES = "ragtrace.outcomes"
"""One JSON object with outcomes, claims, verdicts, quotes, citations."""
DIALECT = "ragtrace.dialect"
MISSING = "ragtrace.missing"
STATUS_SUFFIX, REASON_SUFFIX, BASIS_SUFFIX = ".status", ".reason", ".basis"
N_JUDGED_SUFFIX, N_TOTAL_SUFFIX, KEPT_RATIO_SUFFIX = ".n_judged", ".n_total", ".kept_ratio"
RETRIEVAL_RELEVANCE = "ragtrace.retrieval.relevance"
"""On a retrieval span: the relevance (0..1, -1 where not judged) of its documents in rank order."""
RETRIEVAL_PRECISION, RETRIEVAL_NOISE = "ragtrace.retrieval.precision", "ragtrace.retrieval.noise"
TRUNCATION_MARKER = "…[ragtrace: cut]"
