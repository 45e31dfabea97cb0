"""The runnable code of the two documents that describe the API, as it stands there.

Only two things are filled in: what stands there as ``...``, and the body of a bare signature.
"""

from dataclasses import dataclass

ARGUMENTS = (
    'rubric="Evaluate how helpful the response is.", solution_str="Click.", '
    'model_info={"provider": "openai", "model": "gpt-5"}'
)


@dataclass(frozen=True)
class Snippet:
    """One piece of code, and what stands in for its ``...``."""

    name: str
    code: str
    filled: str = ""

    @property
    def whole(self) -> str:
        """The code with its gaps filled."""
        return self.code.replace("...", self.filled) if self.filled else self.code


REWARD_SIGNATURE = Snippet(
    "signature of a reward function",
    """@osmosis_reward
def function_name(
    solution_str: str,
    ground_truth: str,
    extra_info: dict = None,
    **kwargs
) -> float""",
)

RUBRIC_SIGNATURE = Snippet(
    "signature of a rubric function",
    """@osmosis_rubric
def function_name(
    solution_str: str,
    ground_truth: str | None,
    extra_info: dict,
    **kwargs
) -> float""",
)

EVALUATE_SIGNATURE = Snippet(
    "signature of evaluate_rubric",
    """def evaluate_rubric(
    rubric: str,
    solution_str: str,
    model_info: dict,
    ground_truth: str | None = None,
    original_input: str | None = None,
    metadata: dict | None = None,
    score_min: float = 0.0,
    score_max: float = 1.0,
    timeout: int | None = None,
    return_details: bool = False
) -> float | dict""",
)

REWARD = Snippet(
    "a reward function",
    """from osmosis_ai import osmosis_reward

@osmosis_reward
def exact_match(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs) -> float:
    return 1.0 if solution_str.strip() == ground_truth.strip() else 0.0
""",
)

RUBRIC = Snippet(
    "a rubric function",
    """from osmosis_ai import osmosis_rubric, evaluate_rubric

@osmosis_rubric
def quality_check(solution_str: str, ground_truth: str | None, extra_info: dict, **kwargs) -> float:
    return evaluate_rubric(
        rubric="Evaluate response quality",
        solution_str=solution_str,
        model_info={"provider": "openai", "model": "gpt-5"},
        ground_truth=ground_truth
    )
""",
)

MODEL_INFO = Snippet(
    "the structure of model_info",
    """{
    "provider": "openai",           # Required
    "model": "gpt-5",         # Required
    "api_key": "sk-...",            # Optional
    "api_key_env": "OPENAI_API_KEY", # Optional
    "timeout": 30                   # Optional
}""",
)

EVALUATE = Snippet(
    "a call of evaluate_rubric",
    """from osmosis_ai import evaluate_rubric

score = evaluate_rubric(
    rubric="Evaluate how helpful the response is.",
    solution_str="Click 'Forgot Password' to reset.",
    model_info={"provider": "openai", "model": "gpt-5"}
)
""",
)

MISSING_KEY = Snippet(
    "MissingAPIKeyError",
    """from osmosis_ai import MissingAPIKeyError

try:
    score = evaluate_rubric(...)
except MissingAPIKeyError as e:
    print(f"API key not found: {e}")
""",
    ARGUMENTS,
)

PROVIDER_ERROR = Snippet(
    "ProviderRequestError",
    """from osmosis_ai import ProviderRequestError

try:
    score = evaluate_rubric(...)
except ProviderRequestError as e:
    print(f"Provider error: {e}")
""",
    ARGUMENTS,
)

MODEL_NOT_FOUND = Snippet(
    "ModelNotFoundError",
    """from osmosis_ai import ModelNotFoundError

try:
    score = evaluate_rubric(...)
except ModelNotFoundError as e:
    print(f"Model not found: {e}")
""",
    ARGUMENTS,
)

MODEL_INFO_TYPE = Snippet(
    "ModelInfo from rubric_types",
    """from osmosis_ai.rubric_types import ModelInfo

model_info: ModelInfo = {
    "provider": "openai",
    "model": "gpt-4o",
    "api_key_env": "OPENAI_API_KEY",
    "timeout": 30
}
""",
)

MODEL_INFO_TOP = Snippet(
    "ModelInfo from the package",
    """from osmosis_ai import ModelInfo

model_info: ModelInfo = {
    "provider": "openai",
    "model": "gpt-5",
    "api_key_env": "OPENAI_API_KEY",
    "timeout": 30
}
""",
)

RESULT_TYPE = Snippet(
    "RewardRubricRunResult",
    """from osmosis_ai.rubric_types import RewardRubricRunResult

result: RewardRubricRunResult = {
    "score": 0.85,              # float
    "explanation": "...",       # str
    "raw": {...}                # Any - raw LLM response
}
""",
)

RESULT_RAW_PAYLOAD = Snippet(
    "the result with raw_payload",
    """{
    "score": 0.85,              # float
    "explanation": "...",       # str
    "raw_payload": {...}        # dict
}""",
)

COMPLETE = Snippet(
    "the complete example",
    """from osmosis_ai import osmosis_reward, osmosis_rubric, evaluate_rubric
from dotenv import load_dotenv

load_dotenv()

# Local reward function
@osmosis_reward
def exact_match(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs) -> float:
    return 1.0 if solution_str.strip() == ground_truth.strip() else 0.0

# Remote rubric evaluator
@osmosis_rubric
def semantic_eval(solution_str: str, ground_truth: str | None, extra_info: dict, **kwargs) -> float:
    return evaluate_rubric(
        rubric="Compare semantic similarity (0-1 scale)",
        solution_str=solution_str,
        ground_truth=ground_truth,
        model_info={"provider": "openai", "model": "gpt-5"}
    )

# Usage
solution = "The capital of France is Paris"
truth = "Paris is France's capital"

local_score = exact_match(solution, truth)
semantic_score = semantic_eval(solution, truth, {})

print(f"Exact match: {local_score}")      # 0.0
print(f"Semantic: {semantic_score}")      # ~1.0
""",
)

MINIMAL_AGENT = Snippet(
    "the minimal agent",
    """from osmosis_ai.rollout import RolloutAgentLoop, RolloutContext, RolloutResult, RolloutRequest, create_app

class MyAgent(RolloutAgentLoop):
    name = "my_agent"

    def get_tools(self, request: RolloutRequest) -> list:
        return [{"type": "function", "function": {"name": "search", ...}}]

    async def run(self, ctx: RolloutContext) -> RolloutResult:
        messages = list(ctx.request.messages)
        result = await ctx.chat(messages)
        messages.append(result.message)
        return ctx.complete(messages)

app = create_app(MyAgent())
""",
    '"parameters": {"type": "object", "properties": {"words": {"type": "string"}}}',
)
