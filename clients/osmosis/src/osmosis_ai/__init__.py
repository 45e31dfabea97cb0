"""Reward functions, rubrics and remote rollouts for reinforcement learning."""

from typing import TYPE_CHECKING

from osmosis_ai._lazy import lazy_names
from osmosis_ai.consts import PACKAGE_VERSION

if TYPE_CHECKING:
    from osmosis_ai.decorators import osmosis_reward, osmosis_rubric
    from osmosis_ai.rollout.client import CompletionsResult, OsmosisLLMClient
    from osmosis_ai.rollout.core.base import RolloutAgentLoop, RolloutContext, RolloutResult
    from osmosis_ai.rollout.core.exceptions import (
        OsmosisRolloutError,
        OsmosisServerError,
        OsmosisTimeoutError,
        OsmosisTransportError,
        OsmosisValidationError,
    )
    from osmosis_ai.rollout.core.schemas import (
        InitResponse,
        OpenAIFunctionToolSchema,
        RolloutMetrics,
        RolloutRequest,
        RolloutResponse,
    )
    from osmosis_ai.rollout.registry import (
        get_agent_loop,
        list_agent_loops,
        register_agent_loop,
    )
    from osmosis_ai.rollout.server.app import create_app
    from osmosis_ai.rubric_eval import (
        aevaluate_rubric,
        aevaluate_rubric_many,
        evaluate_rubric,
        evaluate_rubric_many,
    )
    from osmosis_ai.rubric_types import (
        MissingAPIKeyError,
        ModelInfo,
        ModelNotFoundError,
        ProviderRequestError,
        RewardRubricRunResult,
    )

__version__ = PACKAGE_VERSION

__all__ = [
    "CompletionsResult",
    "InitResponse",
    "MissingAPIKeyError",
    "ModelInfo",
    "ModelNotFoundError",
    "OpenAIFunctionToolSchema",
    "OsmosisLLMClient",
    "OsmosisRolloutError",
    "OsmosisServerError",
    "OsmosisTimeoutError",
    "OsmosisTransportError",
    "OsmosisValidationError",
    "ProviderRequestError",
    "RewardRubricRunResult",
    "RolloutAgentLoop",
    "RolloutContext",
    "RolloutMetrics",
    "RolloutRequest",
    "RolloutResponse",
    "RolloutResult",
    "__version__",
    "aevaluate_rubric",
    "aevaluate_rubric_many",
    "create_app",
    "evaluate_rubric",
    "evaluate_rubric_many",
    "get_agent_loop",
    "list_agent_loops",
    "osmosis_reward",
    "osmosis_rubric",
    "register_agent_loop",
]

__getattr__, __dir__, _ = lazy_names(
    __name__,
    {
        "decorators": ["osmosis_reward", "osmosis_rubric"],
        "rollout.client": ["CompletionsResult", "OsmosisLLMClient"],
        "rollout.core.base": ["RolloutAgentLoop", "RolloutContext", "RolloutResult"],
        "rollout.core.exceptions": [
            "OsmosisRolloutError",
            "OsmosisServerError",
            "OsmosisTimeoutError",
            "OsmosisTransportError",
            "OsmosisValidationError",
        ],
        "rollout.core.schemas": [
            "InitResponse",
            "OpenAIFunctionToolSchema",
            "RolloutMetrics",
            "RolloutRequest",
            "RolloutResponse",
        ],
        "rollout.registry": ["get_agent_loop", "list_agent_loops", "register_agent_loop"],
        "rollout.server.app": ["create_app"],
        "rubric_eval": [
            "aevaluate_rubric",
            "aevaluate_rubric_many",
            "evaluate_rubric",
            "evaluate_rubric_many",
        ],
        "rubric_types": [
            "MissingAPIKeyError",
            "ModelInfo",
            "ModelNotFoundError",
            "ProviderRequestError",
            "RewardRubricRunResult",
        ],
    },
)
