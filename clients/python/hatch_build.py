"""Puts the built engine into the wheel and the sdist."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineHook(BuildHookInterface[Any]):
    """Adds the engine folder, or fails: a package without it would not work."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the engine to what is built; an editable install finds it in the checkout."""
        if version == "editable" or self._unpacked().is_dir():
            return
        engine = self._checkout()
        target = "agent_eval_rpc/_engine"
        if self.target_name == "sdist":
            target = f"src/{target}"
        build_data["force_include"][str(engine)] = target

    def _unpacked(self) -> Path:
        """Where an unpacked sdist has the engine, as a part of the package."""
        return Path(self.root) / "src" / "agent_eval_rpc" / "_engine"

    def _checkout(self) -> Path:
        """The built engine of the repository."""
        folder = Path(self.root).parent.parent / "packages" / "agent-eval" / "dist" / "engine"
        if (folder / "main.cjs").is_file():
            return folder
        raise RuntimeError(
            "The built engine is missing: run `pnpm install && pnpm build` in the repository "
            f"first (looked for {folder / 'main.cjs'})."
        )
