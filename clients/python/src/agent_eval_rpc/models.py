"""The types of requests and results."""

from agent_eval_rpc._generated.models import (
    Check,
    CheckAnswer,
    FailureMode,
    JudgeResult,
    PanelFailure,
    PanelVerdict,
    ProviderChoice,
    Rubric,
    RubricDetail,
    RubricDimension,
    RubricList,
    RubricSummary,
    Usage,
    VersionInfo,
    Win,
)

__all__ = [
    "Check",
    "CheckAnswer",
    "FailureMode",
    "JudgeResult",
    "PanelFailure",
    "PanelVerdict",
    "ProviderChoice",
    "Rubric",
    "RubricDetail",
    "RubricDimension",
    "RubricList",
    "RubricSummary",
    "Usage",
    "VersionInfo",
    "Win",
]
