"""An engine that misbehaves as its mode says. Standard library only, so that it starts fast."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

INFO = {
    "package": "@tangle-network/agent-eval",
    "version": os.environ.get("STAND_IN_VERSION", "0.1.0"),
    "wireVersion": "1.1.0",
    "apiSurface": ["judge", "version"],
}
RESULT = {
    "composite": 0.5,
    "dimensions": {"quality": 0.5},
    "failureModes": [],
    "wins": [],
    "rubricVersion": "v",
    "model": "m",
    "durationMs": 3,
    "usage": None,
    "cached": False,
    "attempts": 1,
    "judgeVersion": "v",
    "scoreMode": "text",
    "replyMode": "json_schema",
    "droppedParams": [],
    "warnings": [],
    "notAssessed": [],
}


def main(mode: str, folder: str) -> None:
    """Runs as ``rpc --session`` or ``rpc METHOD``."""
    Engine(mode, Path(folder)).run(sys.argv[1:])


class Engine:
    def __init__(self, mode: str, folder: Path) -> None:
        self.mode = mode
        self.folder = folder
        self.out = sys.stdout.buffer

    def run(self, argv: list[str]) -> None:
        with (self.folder / "starts").open("a") as file:
            file.write(f"{os.getpid()} {' '.join(argv)}\n")
        if argv != ["rpc", "--session"]:
            self.one_shot(argv[1])
        elif self.start():
            for line in sys.stdin.buffer:
                self.take(json.loads(line))

    def starts(self) -> int:
        return len((self.folder / "starts").read_text().splitlines())

    def one_shot(self, method: str) -> None:
        if self.mode == "refuses":
            self.say({"result": INFO})
            return
        if self.mode not in {"usage", "silent"}:
            sys.exit(9)
        params = json.loads(sys.stdin.buffer.read())
        self.say(self.answer(method, params))

    def start(self) -> bool:
        """Greets; False when the mode is one that does not get that far."""
        match self.mode:
            case "banner":
                self.write("Welcome!\n{not json\n\n")
            case "endless-banner":
                while True:
                    self.write("la la la\n")
            case "dies-before-hello":
                self.die(3, "boom: no such module")
            case "dies-once" if self.starts() == 1:
                self.die(3, "boom")
            case "slow":
                time.sleep(1)
            case "refuses":
                self.die(2, "error (validation_error): AGENT_EVAL_X must be a number, not usage.")
            case "usage":
                self.die(2, "error: unknown option '--session'")
            case "silent":
                sys.stdin.buffer.read()
                return False
            case "other-major":
                self.say({"hello": {**INFO, "wireVersion": "2.0.0"}})
                return True
            case "other-program":
                self.say({"hello": {"name": "cowsay"}})
                return True
            case "chatty":
                sys.stderr.write("x" * 3_000_000 + "\n")
        self.say({"hello": INFO})
        return True

    def take(self, message: dict[str, Any]) -> None:
        if "cancel" in message:
            (self.folder / "cancelled").write_text(str(message["id"]))
            return
        call_id, params = message["id"], message.get("params", {})
        content = params.get("content", "")
        with (self.folder / "seen").open("a") as file:
            file.write(f"{content[:20]}\n")
        if content == "timeout":
            params = {**params, "content": str(params["timeoutMs"])}
        if content == "die":
            self.die(7, "fatal: out of luck")
        if content == "hang":
            return
        if content == "close-stdout":
            os.close(1)
            time.sleep(60)
        if content == "no-result":
            self.say({"id": call_id})
            return
        if self.mode == "garbage":
            self.write('debug: x\n[1]\n"text"\n{"id": 99999, "result": 1}\n{"id": null}\n')
        self.say({"id": call_id, **self.answer(message["method"], params)})

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "version":
            return {"result": INFO}
        if params.get("rubricName") == "missing":
            body = {"code": "rubric_not_found", "message": "No such rubric.", "details": {}}
            return {"error": body}
        return {"result": {**RESULT, "rationale": params["content"]}}

    def say(self, message: object) -> None:
        self.write(json.dumps(message, ensure_ascii=False) + "\n")

    def write(self, text: str) -> None:
        data = text.encode()
        if self.mode == "split":
            # Half a line, then the rest of it with the beginning of nothing.
            for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
                self.out.write(piece)
                self.out.flush()
            return
        self.out.write(data)
        self.out.flush()

    def die(self, code: int, last_words: str) -> None:
        sys.stderr.write(f"{last_words}\n")
        sys.stderr.flush()
        os._exit(code)
