"""The client for ordinary code and threads."""

import os
import time
import weakref
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from agent_eval_rpc._generated.methods import JUDGE, JUDGE_BATCH
from agent_eval_rpc._line import Line, State
from agent_eval_rpc._many import threads
from agent_eval_rpc._many.arguments import ManyArguments, ManyRun, prepare
from agent_eval_rpc._many.lines import SLICE, SLICES
from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._many.plan import Entry
from agent_eval_rpc._method import ResultT
from agent_eval_rpc._options import Options, Tries
from agent_eval_rpc._protocol import (
    Call,
    chat_call,
    compare_call,
    get_rubric_call,
    judge_call,
    list_rubrics_call,
    read_result,
    version_call,
)
from agent_eval_rpc.errors import AgentEvalError, InternalError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from agent_eval_rpc._transports.base import Transport
    from agent_eval_rpc.models import (
        ChatResult,
        CompareResult,
        JudgeResult,
        ProviderChoice,
        Rubric,
        RubricDetail,
        RubricList,
        VersionInfo,
    )


class Client:
    """Judges texts by a rubric.

    Make one and keep it: connections, or the engine process, live as long as it does. It may be
    used from many threads, inside a running event loop, copied and pickled (without its token).

    Args:
        base_url: Address of a server; default ``AGENT_EVAL_BASE_URL``, else
            ``http://127.0.0.1:5005``.
        cli_path: The engine to run as a child process: its ``main.cjs``, or an ``agent-eval``
            command; default ``AGENT_EVAL_CLI``, else the engine that the package carries.
        transport: ``"auto"`` uses the server if one answers, else a child process; ``"http"`` and
            ``"subprocess"`` insist; an object with ``call`` and ``close`` is used as it is.
        timeout_s: Deadline of each call in seconds, counted from when it is sent.
        token: Bearer token of the server; default ``AGENT_EVAL_TOKEN``.
        max_retries: How often a call is sent again that the engine did not take.
        cache: File that remembers verdicts, for an engine that the client starts; a server has a
            cache of its own.

    Raises:
        ValidationError: An option is not usable.
    """

    def __init__(  # noqa: PLR0913 - the options of a client
        self,
        base_url: str | None = None,
        cli_path: "str | os.PathLike[str] | None" = None,
        transport: 'Literal["auto", "http", "subprocess"] | Transport' = "auto",
        timeout_s: float = 200.0,
        *,
        token: str | None = None,
        max_retries: int = 2,
        cache: "str | os.PathLike[str] | None" = None,
    ) -> None:
        options = Options(base_url, cli_path, transport, timeout_s, token, max_retries, cache)
        self._start(options)

    def _start(self, options: Options) -> None:
        self._options = options
        self._settings = options.resolve()
        self._state = State()
        # Closes what is open when the client is forgotten, and at the end of the interpreter.
        weakref.finalize(self, self._state.abandon)

    def judge(  # noqa: PLR0913 - the options of a judgement
        self,
        content: str,
        *,
        rubric_name: str | None = None,
        rubric: "Rubric | None" = None,
        context: Mapping[str, Any] | None = None,
        model: str | None = None,
        models: "Sequence[str] | None" = None,
        samples: int | None = None,
        pool: Literal["mean", "median"] | None = None,
        quorum: int | None = None,
        score_mode: Literal["text", "logprobs", "checks"] | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        reasoning_effort: str | None = None,
        max_tokens: int | None = None,
        timeout_s: float | None = None,
        cache: Literal["use", "bypass", "refresh"] | None = None,
        include_raw: bool | None = None,
        provider: "ProviderChoice | None" = None,
    ) -> "JudgeResult":
        """Judges a text by a rubric: give ``rubric_name`` or ``rubric``.

        Args:
            content: The text.
            rubric_name: Name of a rubric of the engine.
            rubric: A rubric of your own.
            context: Shown to the judge beside the text; customary keys are ``question``,
                ``source``, ``reference`` and ``metadata``.
            model: Model to ask instead of the configured one.
            models: A panel: models to ask instead of ``model``, whose scores are pooled.
            samples: How often to ask each model, 1 to 64; the scores are pooled.
            pool: How scores are pooled, by their ``"mean"`` (default) or ``"median"``.
            quorum: Fewest verdicts that make a pooled one; default more than half.
            score_mode: ``"text"`` asks for scores, ``"logprobs"`` takes the mean of likely ones,
                ``"checks"`` asks the yes/no questions of the rubric.
            temperature: Sampling temperature; default 0, or 0.7 with several samples.
            seed: Sampling seed, for endpoints that take one; each further sample has the next.
            reasoning_effort: How much a model that thinks should think, in the provider's words,
                such as ``"low"``; left out where the endpoint refuses it.
            max_tokens: Limit on the tokens of the reply.
            timeout_s: Deadline of this call instead of the client's.
            cache: ``"use"`` takes a remembered verdict (default), ``"bypass"`` neither reads nor
                remembers, ``"refresh"`` asks anew and remembers.
            include_raw: Return the text of the model reply as ``raw``.
            provider: Model endpoint for this call alone.

        Raises:
            ValidationError: The request is wrong.
            RubricNotFoundError: The engine has no rubric of that name.
            JudgeError: The model answered without a usable verdict.
            ProviderError: The model endpoint failed.
            DeadlineExceededError: No verdict in time.
            TransportError: The engine could not be reached, or went away.
        """
        options = {
            "content": content,
            "rubric_name": rubric_name,
            "rubric": rubric,
            "context": context,
            "model": model,
            "models": models,
            "samples": samples,
            "pool": pool,
            "quorum": quorum,
            "score_mode": score_mode,
            "temperature": temperature,
            "seed": seed,
            "reasoning_effort": reasoning_effort,
            "max_tokens": max_tokens,
            "cache": cache,
            "include_raw": include_raw,
            "provider": provider,
        }
        return self._call(judge_call(options), timeout_s)

    def compare(  # noqa: PLR0913 - the options of a comparison
        self,
        a: str,
        b: str,
        *,
        rubric_name: str | None = None,
        rubric: "Rubric | None" = None,
        context: Mapping[str, Any] | None = None,
        model: str | None = None,
        swap: bool | None = None,
        samples: int | None = None,
        score_mode: Literal["text", "checks"] | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
        timeout_s: float | None = None,
        cache: Literal["use", "bypass", "refresh"] | None = None,
        provider: "ProviderChoice | None" = None,
    ) -> "CompareResult":
        """Tells which of two texts is better by a rubric: give ``rubric_name`` or ``rubric``.

        The model is asked in both orders. A preference that turns with the order is a tie, and
        ``flipped`` says so; an order that failed leaves ``winner`` None.

        Args:
            a: One text.
            b: The other.
            rubric_name: Name of a rubric of the engine.
            rubric: A rubric of your own.
            context: Shown to the judge beside the texts.
            model: Model to ask instead of the configured one.
            swap: False asks in one order only, with ``a`` first.
            samples: How often the two are compared, 1 to 64; most comparisons decide.
            score_mode: ``"text"`` asks which is better; ``"checks"`` judges each text alone by the
                yes/no questions of the rubric, and composites within 0.02 are a tie.
            temperature: Sampling temperature; default 0, or 0.7 with several samples.
            seed: Sampling seed; each further sample has the next number.
            max_tokens: Limit on the tokens of each reply.
            timeout_s: Deadline of this call instead of the client's.
            cache: As for ``judge``.
            provider: Model endpoint for this call alone.

        Raises:
            ValidationError: The request is wrong.
            RubricNotFoundError: The engine has no rubric of that name.
            JudgeError: The model never said which is better.
            ProviderError: The model endpoint failed in every order.
            DeadlineExceededError: No answer in time.
            TransportError: The engine could not be reached, or went away.
        """
        options = {
            "a": a,
            "b": b,
            "rubric_name": rubric_name,
            "rubric": rubric,
            "context": context,
            "model": model,
            "swap": swap,
            "samples": samples,
            "score_mode": score_mode,
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "cache": cache,
            "provider": provider,
        }
        return self._call(compare_call(options), timeout_s)

    def chat(  # noqa: PLR0913 - the options of a chat
        self,
        messages: "Sequence[Mapping[str, Any]]",
        *,
        model: str | None = None,
        tools: "Sequence[Mapping[str, Any]] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
        parallel_tool_calls: bool | None = None,
        response_format: "Mapping[str, Any] | None" = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: "str | Sequence[str] | None" = None,
        seed: int | None = None,
        timeout_s: float | None = None,
        provider: "ProviderChoice | None" = None,
    ) -> "ChatResult":
        """Takes a turn of a conversation, with the engine's providers, limits, retries and prices.

        Names and shapes are those of OpenAI's chat completions. Answers are not streamed.

        Args:
            messages: The conversation so far: mappings with ``role`` and ``content``.
            model: Model to ask instead of the configured one.
            tools: Functions the model may call.
            tool_choice: ``"none"``, ``"auto"``, ``"required"``, or the one function to call.
            parallel_tool_calls: Whether it may call several at once.
            response_format: Form of the answer.
            temperature: Sampling temperature, 0 to 2.
            top_p: Share of the probability that is sampled from, 0 to 1.
            max_tokens: Limit on the tokens of the answer.
            stop: Texts at which the answer ends.
            seed: Sampling seed, for endpoints that take one.
            timeout_s: Deadline of this call instead of the client's.
            provider: Model endpoint for this call alone.

        Raises:
            ValidationError: The request is wrong, or names a local model.
            ProviderError: The model endpoint failed.
            DeadlineExceededError: No answer in time.
            TransportError: The engine could not be reached, or went away.
        """
        options = {
            "messages": messages,
            "model": model,
            "tools": tools,
            "tool_choice": tool_choice,
            "parallel_tool_calls": parallel_tool_calls,
            "response_format": response_format,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "stop": stop,
            "seed": seed,
            "provider": provider,
        }
        return self._call(chat_call(options), timeout_s)

    def judge_many(
        self, items: "Iterable[object]", **arguments: "Unpack[ManyArguments]"
    ) -> "Generator[JudgeOutcome, None, None]":
        """Judges many texts; gives an outcome for each, and takes items only as it needs them.

        Options of a judgement hold for every item; an item that is a mapping may have its own, and
        an ``"id"``. Memory does not grow with the items.

        Args:
            items: Texts, mappings with ``content``, or request models; any iterable.
            **arguments: ``rubric_name``, ``rubric``, ``context``, ``model``, ``models``,
                ``samples``, ``pool``, ``quorum``, ``score_mode``, ``temperature``, ``seed``,
                ``reasoning_effort``, ``max_tokens``, ``cache`` and ``timeout_s`` as for
                ``judge``, and

                - ``ordered`` (True): outcomes in the order of the items; False gives each as it is
                  done.
                - ``on_error`` (``"raise"``): the first error ends the run; ``"return"`` gives it in
                  its outcome.
                - ``max_calls``: items to send at most; the rest comes back unscored, as
                  ``budget_exceeded``.
                - ``max_cost_usd``: money to spend; the rest likewise. What is in flight when it is
                  spent is still paid. Needs a model with a known price, or ``max_calls`` too.
                - ``max_unscored``: ends the run when more items than this are unscored, or, below
                  1, a greater share of them.
                - ``concurrency`` (96): calls at once over stdio, of which the engine asks 64 and
                  holds the rest ready (``AGENT_EVAL_CONCURRENCY``); a server limits them itself.
                - ``progress``: a bar on stderr, by default where that is a terminal and tqdm is
                  installed; or a function of items finished, items unscored and dollars spent.

        Raises:
            ValidationError: An option is wrong, or ``max_cost_usd`` cannot be kept.
            JudgeError: More than ``max_unscored`` items are unscored.
            AgentEvalError: The error of an item, with ``on_error="raise"``.
        """
        return self._many(prepare(items, arguments))

    def _many(self, run: ManyRun) -> "Generator[JudgeOutcome, None, None]":
        line = self._connect()
        each_s = self._settings.timeout_s if run.timeout_s is None else run.timeout_s
        send = getattr(line.via, "lines", None) if line.kind == "http" else None
        sliced = send is not None and JUDGE_BATCH.name in self.version().api_surface
        if sliced:
            cut = threads.in_slices(cast("threads.Send", send), each_s, self._settings.max_retries)
        else:
            cut = threads.one_by_one(partial(self._outcome, timeout_s=each_s))
        workers = SLICES if sliced else min(run.options.concurrency, line.limit)
        plan = run.plan(SLICE if sliced else 1)
        yield from threads.run(run.items, plan, cut, workers, run.bar())

    def _outcome(self, entry: Entry, timeout_s: float | None) -> JudgeOutcome:
        try:
            return entry.outcome(result=self._call(Call(JUDGE, entry.params), timeout_s))
        except AgentEvalError as error:
            return entry.outcome(error=error)
        except Exception as unexpected:  # noqa: BLE001 - an item without an outcome would hang the run
            return entry.outcome(error=InternalError(f"A call failed unexpectedly: {unexpected!r}"))

    def list_rubrics(self) -> "RubricList":
        """Lists the rubrics the engine knows by name."""
        return self._call(list_rubrics_call())

    def get_rubric(self, name: str) -> "RubricDetail":
        """Shows one rubric and its version hash.

        Raises:
            RubricNotFoundError: The engine has no rubric of that name.
        """
        return self._call(get_rubric_call(name))

    def version(self) -> "VersionInfo":
        """Tells which engine answers."""
        return self._call(version_call())

    @property
    def transport(self) -> str:
        """How calls are sent, ``"http"`` or ``"subprocess"``; finds out if need be."""
        return self._connect().kind

    @property
    def transport_reason(self) -> str:
        """Why calls are sent that way; finds out if need be."""
        return self._connect().why()

    def close(self) -> None:
        """Closes connections and ends the engine process; calls in flight fail."""
        self._state.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        self.close()

    def __copy__(self) -> "Self":
        return self._again(self._options)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Self":
        return self._again(self._options)

    def __getstate__(self) -> Options:
        return self._options.without_token()

    def __setstate__(self, options: Options) -> None:
        self._start(options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    @classmethod
    def _again(cls, options: Options) -> "Self":
        new = cls.__new__(cls)
        new._start(options)
        return new

    def _connect(self) -> Line:
        return self._state.connect(self._options, self._settings)

    def _call(self, call: Call[ResultT], timeout_s: float | None = None) -> ResultT:
        tries = Tries(call, timeout_s, self._settings)
        while True:
            try:
                line = self._connect()
                with line.slots:
                    value = line.via.call(*tries.next())
                return read_result(call.method, value)
            except AgentEvalError as error:
                wait = tries.wait_after(error)
            time.sleep(wait)
