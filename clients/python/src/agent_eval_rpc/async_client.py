"""The client for asyncio."""

import asyncio
import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from agent_eval_rpc._generated.methods import JUDGE, JUDGE_BATCH
from agent_eval_rpc._many import tasks
from agent_eval_rpc._many.arguments import ManyArguments, ManyRun, prepare
from agent_eval_rpc._many.lines import SLICE, SLICES
from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._many.plan import Entry
from agent_eval_rpc._method import ResultT
from agent_eval_rpc._options import Options, Tries
from agent_eval_rpc._protocol import (
    Call,
    chat_call,
    closed_error,
    compare_call,
    get_rubric_call,
    judge_call,
    list_rubrics_call,
    read_result,
    version_call,
)
from agent_eval_rpc._settings import Settings
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.auto import choose
from agent_eval_rpc._transports.base import HTTP_CALLS, STDIO_CALLS, AsyncTransport
from agent_eval_rpc._transports.loops import PerLoop
from agent_eval_rpc._transports.stdio import AsyncStdioTransport, Connector
from agent_eval_rpc.errors import AgentEvalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
    from types import TracebackType

    from typing_extensions import Self, Unpack

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


class AsyncClient:
    """Judges texts by a rubric, in asyncio code.

    The same as ``Client``, with methods to await. ``asyncio.gather`` over any number of calls is
    fine: the client sends as many at a time as the engine works on. It may be used in one event
    loop after another, copied and pickled (without its token).

    Args:
        base_url: Address of a server; default ``AGENT_EVAL_BASE_URL``, else
            ``http://127.0.0.1:5005``.
        cli_path: The engine to run as a child process: its ``main.cjs``, or an ``agent-eval``
            command; default ``AGENT_EVAL_CLI``, else the engine that the package carries.
        transport: ``"auto"`` uses the server if one answers, else a child process; ``"http"`` and
            ``"subprocess"`` insist; an object with ``call`` and ``aclose`` is used as it is.
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
        transport: 'Literal["auto", "http", "subprocess"] | AsyncTransport' = "auto",
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
        self._state = _State()
        self._gate = PerLoop(asyncio.Lock)
        self._finalizer = weakref.finalize(self, self._state.abandon)

    async def judge(  # noqa: PLR0913 - the options of a judgement
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
        """Judges a text by a rubric: give ``rubric_name`` or ``rubric``. See ``Client.judge``."""
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
        return await self._call(judge_call(options), timeout_s)

    async def compare(  # noqa: PLR0913 - the options of a comparison
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
        return await self._call(compare_call(options), timeout_s)

    async def chat(  # noqa: PLR0913 - the options of a chat
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
        return await self._call(chat_call(options), timeout_s)

    def judge_many(
        self,
        items: "Iterable[object] | AsyncIterable[object]",
        **arguments: "Unpack[ManyArguments]",
    ) -> "AsyncGenerator[JudgeOutcome, None]":
        """Judges many texts; gives an outcome for each, and takes items only as it needs them.

        Args:
            items: Texts, mappings with ``content``, or request models; any iterable, asynchronous
                ones too.
            **arguments: As for ``Client.judge_many``.

        Raises:
            ValidationError: An option is wrong, or ``max_cost_usd`` cannot be kept.
            JudgeError: More than ``max_unscored`` items are unscored.
            AgentEvalError: The error of an item, with ``on_error="raise"``.
        """
        return self._many(prepare(items, arguments))

    async def _many(self, run: ManyRun) -> "AsyncGenerator[JudgeOutcome, None]":
        line = await self._connect()
        each_s = self._settings.timeout_s if run.timeout_s is None else run.timeout_s
        lines = getattr(line.via, "lines", None) if line.kind == "http" else None
        sliced = lines is not None and JUDGE_BATCH.name in (await self.version()).api_surface
        if sliced:
            retries = self._settings.max_retries
            send = tasks.in_slices(cast("tasks.Lines", lines), each_s, retries)
        else:
            judge = partial(self._outcome, timeout_s=each_s)
            send = tasks.one_by_one(judge, run.options.concurrency)
        parallel = SLICES if sliced else run.options.concurrency
        outcomes = tasks.run(run.items, run.plan(SLICE if sliced else 1), send, parallel, run.bar())
        async with aclosing(outcomes):
            async for outcome in outcomes:
                yield outcome

    async def _outcome(self, entry: Entry, timeout_s: float | None) -> JudgeOutcome:
        try:
            result = await self._call(Call(JUDGE, entry.params), timeout_s)
        except AgentEvalError as error:
            return entry.outcome(error=error)
        return entry.outcome(result=result)

    async def list_rubrics(self) -> "RubricList":
        """Lists the rubrics the engine knows by name."""
        return await self._call(list_rubrics_call())

    async def get_rubric(self, name: str) -> "RubricDetail":
        """Shows one rubric and its version hash."""
        return await self._call(get_rubric_call(name))

    async def version(self) -> "VersionInfo":
        """Tells which engine answers."""
        return await self._call(version_call())

    async def resolve(self) -> str:
        """Finds out how calls will be sent, and says it: ``"http"`` or ``"subprocess"``."""
        return (await self._connect()).kind

    @property
    def transport(self) -> str | None:
        """How calls are sent; None before the first call or ``resolve``."""
        line = self._state.line
        return None if line is None else line.kind

    @property
    def transport_reason(self) -> str | None:
        """Why calls are sent that way; None before the first call or ``resolve``."""
        line = self._state.line
        return None if line is None else line.why()

    async def close(self) -> None:
        """Closes connections and ends the engine process; calls in flight fail."""
        await self._state.close()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        await self.close()

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

    async def _connect(self) -> "_Line":
        line = self._state.line
        if line is not None:
            return line
        # The look for a server may take a second: on a thread, and once for all who wait.
        async with self._gate.get():
            line = self._state.line
            if line is None:
                connect = self._state.connect
                line = await asyncio.to_thread(connect, self._options, self._settings)
            return line

    async def _call(self, call: Call[ResultT], timeout_s: float | None = None) -> ResultT:
        tries = Tries(call, timeout_s, self._settings)
        while True:
            try:
                line = await self._connect()
                async with line.slots.get():
                    value = await line.via.call(*tries.next())
                return read_result(call.method, value)
            except AgentEvalError as error:
                wait = tries.wait_after(error)
            await asyncio.sleep(wait)


class _Line:
    """An open way to the engine."""

    def __init__(self, kind: str, via: AsyncTransport, reason: str, limit: int) -> None:
        self.kind = kind
        self.via = via
        self._reason = reason
        self.slots = PerLoop(lambda: asyncio.Semaphore(limit))

    def why(self) -> str:
        """The reason for this way, with what was learned since."""
        return self._reason + (self.via.note() if isinstance(self.via, AsyncStdioTransport) else "")


class _State:
    """What a client holds open; apart from it, so that it can be closed once it is forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._connector: Connector | None = None
        self.line: _Line | None = None
        forks.watch(self)

    def connect(self, options: Options, settings: Settings) -> _Line:
        """Chooses the way to the engine; may wait, so it runs on a thread."""
        with self._lock:
            if self._closed:
                raise closed_error()
            if self.line is None:
                self.line = self._open(options, settings)
            return self.line

    def _open(self, options: Options, settings: Settings) -> _Line:
        if options.custom:
            why = "a transport object was given"
            return _Line("custom", options.transport, why, STDIO_CALLS)
        choice = choose(settings)
        if isinstance(choice.via, Connector):
            self._connector = choice.via
            stdio = AsyncStdioTransport(choice.via)
            return _Line(choice.kind, stdio, choice.reason, STDIO_CALLS)
        # It only asked whether the server is there.
        choice.via.close()
        from agent_eval_rpc._transports.http import AsyncHttpTransport  # noqa: PLC0415

        return _Line(choice.kind, AsyncHttpTransport(settings), choice.reason, HTTP_CALLS)

    async def close(self) -> None:
        """Closes it for good."""
        with self._lock:
            self._closed = True
            line, self.line = self.line, None
        if line is not None:
            await line.via.aclose()

    def abandon(self) -> None:
        """Ends the engine of a client that was forgotten; connections end with their loop."""
        if self._connector is not None:
            self._connector.close()

    def after_fork(self) -> None:
        """Makes a new lock: another thread may have held it."""
        self._lock = threading.Lock()
