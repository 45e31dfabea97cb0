"""Spreads the evaluation of texts over workers of Ray, each with an engine of its own."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

try:
    import ray
except ImportError as _error:
    raise ImportError('This needs Ray: pip install "osmosis-ai[ray]"') from _error

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from osmosis_ai._rubric.many import Solution

_LOST = "a worker of Ray was lost twice while it judged this text"


class _Worker:
    """Evaluates slices, in a process with an engine of its own."""

    def evaluate(self, rubric: str, slice_: list[Any], model_info: Any, options: Any) -> list[Any]:
        from osmosis_ai.rubric_eval import evaluate_rubric_many  # noqa: PLC0415 - in the worker

        return evaluate_rubric_many(rubric, slice_, model_info, **options)


class RayEvaluator:
    """Workers that stay; a context manager.

    Judgements at once are never more than ``concurrency``, however many workers there are: each
    has its share. A slice whose worker is lost goes to another worker, once.

    Args:
        workers: How many processes judge.
        concurrency: Judgements at once, over all workers.
        slice_size: Texts that a worker takes at a time.
        environment: Variables for the workers, such as keys; by default those of Ray's processes.
    """

    def __init__(
        self,
        workers: int = 2,
        *,
        concurrency: int = 64,
        slice_size: int = 32,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if workers < 1 or slice_size < 1:
            raise ValueError("'workers' and 'slice_size' must be at least 1")
        if concurrency < workers:
            raise ValueError(f"'concurrency' must be at least the number of workers, {workers}")
        self._share = concurrency // workers
        self._slice_size = slice_size
        runtime = {"env_vars": dict(environment)} if environment else None
        self._new: Any = ray.remote(_Worker).options(runtime_env=runtime, num_cpus=0).remote
        self._actors: list[Any] = [self._new() for _ in range(workers)]

    def evaluate_rubric_many(
        self,
        rubric: str,
        solutions: "Iterable[Solution]",
        model_info: Mapping[str, Any],
        **options: Any,
    ) -> list[Any]:
        """``osmosis_ai.evaluate_rubric_many`` on the workers, with the same options.

        Returns:
            Exactly one outcome for each text, in order.
        """
        texts = list(solutions)
        keep = options.get("on_error", "raise") == "return"
        given = {**options, "progress": False, "concurrency": self._share}
        starts = list(range(0, len(texts), self._slice_size))[::-1]
        outcomes: list[Any] = [None] * len(texts)
        running: dict[Any, tuple[int, int, bool]] = {}

        def start(place: int, begin: int, again: bool) -> None:
            part = texts[begin : begin + self._slice_size]
            sent = self._actors[place].evaluate.remote(rubric, part, model_info, given)
            running[sent] = (place, begin, again)

        for place in range(min(len(self._actors), len(starts))):
            start(place, starts.pop(), again=False)
        while running:
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            place, begin, again = running.pop(done)
            part = texts[begin : begin + self._slice_size]
            try:
                outcomes[begin : begin + len(part)] = ray.get(done)
            except ray.exceptions.RayActorError as error:
                self._actors[place] = self._new()
                if not again:
                    start(place, begin, again=True)
                    continue
                outcomes[begin : begin + len(part)] = _lost(model_info, len(part), keep, error)
            except ray.exceptions.RayTaskError as error:
                raise (error.cause if isinstance(error.cause, Exception) else error) from None
            if starts:
                start(place, starts.pop(), again=False)
        return outcomes

    def close(self) -> None:
        """Ends the workers and their engines."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        self.close()


def _lost(
    model_info: Mapping[str, Any], count: int, keep: bool, error: Exception
) -> list[Exception]:
    from osmosis_ai.rubric_types import ProviderRequestError  # noqa: PLC0415 - only where it fails

    provider, model = str(model_info.get("provider")), str(model_info.get("model"))
    lost = ProviderRequestError(provider, model, _LOST, code="transport_error", retryable=True)
    if not keep:
        raise lost from error
    return [lost] * count
