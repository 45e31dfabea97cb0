"""Where the engine and Node are looked for."""

import os
import sys
from pathlib import Path

import pytest

from agent_eval_rpc import Client, TransportError, _locate


@pytest.fixture(autouse=True)
def _nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No engine, no Node; tests put there what they need."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_locate, "_bundled", lambda: tmp_path / "none.cjs")
    monkeypatch.setattr(_locate, "_checkout", lambda: None)
    monkeypatch.setattr(_locate, "_packaged_node", lambda: None)
    _locate.node_version.cache_clear()


def command(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def node(folder: Path, version: str = "v20.1.0") -> Path:
    return command(folder / "node", f"#!/bin/sh\necho {version}\n")


def test_the_order_is_argument_environment_bundled_checkout_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path = command(tmp_path / "agent-eval")
    assert _locate.find_engine() == ([str(on_path)], "PATH")
    program = str(node(tmp_path))
    checkout = command(tmp_path / "checkout.cjs")
    monkeypatch.setattr(_locate, "_checkout", lambda: checkout)
    assert _locate.find_engine().source == "source checkout"
    bundled = command(tmp_path / "bundled.cjs")
    monkeypatch.setattr(_locate, "_bundled", lambda: bundled)
    assert _locate.find_engine() == (
        [program, "--max-semi-space-size=4", str(bundled)],
        "bundled",
    )
    named = command(tmp_path / "named")
    monkeypatch.setenv("AGENT_EVAL_CLI", str(named))
    assert _locate.find_engine() == ([str(named)], "AGENT_EVAL_CLI")
    given = command(tmp_path / "given.js")
    assert _locate.find_engine(str(given)) == (
        [program, "--max-semi-space-size=4", str(given)],
        "cli_path",
    )


def test_our_own_command_is_never_the_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shim = command(
        tmp_path / "agent-eval", f"#!{sys.executable}\nfrom agent_eval_rpc._cli import main\n"
    )
    with pytest.raises(TransportError, match="No agent-eval engine found"):
        _locate.find_engine()
    monkeypatch.setenv("AGENT_EVAL_CLI", str(shim))
    with pytest.raises(TransportError, match="No agent-eval engine found"):
        _locate.find_engine(str(shim))
    later = tmp_path / "later"
    later.mkdir()
    real = command(later / "agent-eval")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{later}")
    assert _locate.find_engine(str(shim)) == ([str(real)], "PATH")


@pytest.mark.parametrize("source", ["cli_path", "AGENT_EVAL_CLI"])
def test_our_own_command_is_known_by_its_bare_name_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str
) -> None:
    command(tmp_path / "agent-eval", f"#!{sys.executable}\nfrom agent_eval_rpc._cli import main\n")
    given = "agent-eval" if source == "cli_path" else None
    if given is None:
        monkeypatch.setenv(source, "agent-eval")
    with pytest.raises(TransportError, match="No agent-eval engine found"):
        _locate.find_engine(given)
    command(tmp_path / "agent-eval")
    assert _locate.find_engine(given) == ([str(tmp_path / "agent-eval")], source)


def test_a_file_named_relative_to_the_folder_is_not_looked_up_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command(here / "agent-eval")
    monkeypatch.chdir(here)
    assert _locate.find_engine("agent-eval").argv == [str(here / "agent-eval")]


def test_without_node_the_remedy_is_named(tmp_path: Path) -> None:
    engine = command(tmp_path / "main.cjs")
    with pytest.raises(TransportError, match=r"none on PATH.*agent-eval-rpc\[node\]"):
        _locate.find_engine(str(engine))


@pytest.mark.parametrize("version", ["v18.19.1", "v9", "nonsense", "''"])
def test_an_old_node_is_named_with_its_version(tmp_path: Path, version: str) -> None:
    node(tmp_path, version)
    engine = command(tmp_path / "main.cjs")
    with (
        Client(cli_path=engine, transport="subprocess") as client,
        pytest.raises(TransportError, match="needs Node 20 or newer") as caught,
    ):
        client.version()
    assert version.strip("'") in caught.value.message
    assert "agent-eval-rpc[node]" in caught.value.message


def test_a_node_that_does_not_start_is_not_used(tmp_path: Path) -> None:
    command(tmp_path / "node", "#!/nowhere/sh\n")
    with pytest.raises(TransportError, match="is not working"):
        _locate.find_node()


def test_the_packaged_node_serves_where_the_other_is_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    node(tmp_path, "v18.0.0")
    monkeypatch.setattr(_locate, "_packaged_node", lambda: "/packaged/node")
    assert _locate.find_node() == "/packaged/node"
    _locate.node_version.cache_clear()
    newer = node(tmp_path, "v22.0.0")
    assert _locate.find_node() == str(newer)


@pytest.mark.parametrize("source", ["cli_path", "AGENT_EVAL_CLI"])
def test_a_wrong_path_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str
) -> None:
    missing = tmp_path / "missing.cjs"
    if source == "AGENT_EVAL_CLI":
        monkeypatch.setenv(source, str(missing))
    client = Client(
        cli_path=missing if source == "cli_path" else None, base_url="http://127.0.0.1:9"
    )
    with client, pytest.raises(TransportError, match=f"{source} names .*missing.cjs.*not there"):
        client.version()


def test_a_file_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    with pytest.raises(TransportError, match="not executable"):
        _locate.find_engine(str(plain))
    odd = command(tmp_path / "odd", "#!/nowhere/sh\n")
    with (
        Client(cli_path=odd, transport="subprocess") as client,
        pytest.raises(TransportError, match="Cannot run"),
    ):
        client.version()
