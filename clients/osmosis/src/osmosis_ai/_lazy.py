"""Names of a package that load on first use, so that importing it costs little."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Makes ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        package: ``__name__`` of the package.
        homes: Modules, relative to the package, with the names that each of them defines.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    public = sorted(home_of)

    def get(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: public, public
