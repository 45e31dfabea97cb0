"""The providers by the names that ``model_info`` uses: their keys, time limits and routes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from osmosis_ai._environment import variable
from osmosis_ai.rubric_types import MissingAPIKeyError, ProviderRequestError

DEFAULT_REQUEST_TIMEOUT_SECONDS: Final = 30.0
#: A model in the engine's own process needs no key.
LOCAL: Final = "local"
#: It answers one text at a time; what waits for it would only use up its time.
LOCAL_AT_ONCE: Final = 2


@dataclass(frozen=True)
class Provider:
    """What is known of a provider.

    Attributes:
        route: Name of the provider in the engine, for a model; None where the engine has none.
        keys: Variables that may hold its key, the usual one first.
        timeout_s: Seconds that a judgement may take when nobody says, for a model.
    """

    route: Callable[[str], str] | None
    keys: tuple[str, ...]
    timeout_s: Callable[[str], float] = lambda _: DEFAULT_REQUEST_TIMEOUT_SECONDS


def _thinks(model: str) -> bool:
    return model.lower().startswith("gpt-5")


PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider(
        lambda model: "openai-responses" if _thinks(model) else "openai",
        ("OPENAI_API_KEY",),
        lambda model: 45.0 if _thinks(model) else 30.0,
    ),
    "anthropic": Provider(lambda _: "anthropic", ("ANTHROPIC_API_KEY",)),
    "xai": Provider(
        lambda _: "xai",
        ("XAI_API_KEY",),
        lambda model: 60.0 if model.lower().startswith("grok-4") else 45.0,
    ),
    "gemini": Provider(lambda _: "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), lambda _: 45.0),
    "google": Provider(lambda _: "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), lambda _: 45.0),
    "openrouter": Provider(lambda _: "openrouter", ("OPENROUTER_API_KEY",), lambda _: 60.0),
    "cerebras": Provider(lambda _: "cerebras", ("CEREBRAS_API_KEY",), lambda _: 60.0),
    "azure": Provider(lambda _: "azure", ("AZURE_API_KEY",)),
    "bedrock": Provider(None, ("AWS_ACCESS_KEY_ID",)),
    "vertex_ai": Provider(None, ("GOOGLE_APPLICATION_CREDENTIALS",)),
    LOCAL: Provider(lambda _: LOCAL, (), lambda _: 180.0),
}

#: The usual variable of each provider's key.
DEFAULT_API_KEY_ENV: Final[dict[str, str]] = {
    name: provider.keys[0] for name, provider in PROVIDERS.items() if provider.keys
}


@dataclass(frozen=True)
class Endpoint:
    """Where a judgement goes, as the engine wants it."""

    model: str
    provider: dict[str, str] | None


def provider_of(model_info: Mapping[str, Any]) -> str:
    """The name of the provider, in lower case.

    Raises:
        TypeError: There is none.
    """
    if not isinstance(model_info, Mapping):
        kind = type(model_info).__name__
        raise TypeError(f"model_info must be a mapping with 'provider' and 'model', got {kind}")
    return _filled(model_info, "provider").lower()


def model_of(model_info: Mapping[str, Any]) -> str:
    """The name of the model.

    Raises:
        TypeError: There is none.
    """
    return _filled(model_info, "model")


def _filled(model_info: Mapping[str, Any], field: str) -> str:
    value = model_info.get(field)
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"model_info must have a '{field}' that is a non-empty string")
    return value.strip()


def default_timeout_s(provider: str, model: str) -> float:
    """Seconds that a judgement may take when nobody says."""
    known = PROVIDERS.get(provider)
    return DEFAULT_REQUEST_TIMEOUT_SECONDS if known is None else known.timeout_s(model)


def api_key_of(model_info: Mapping[str, Any], provider: str) -> str | None:
    """The key: given, else from the variable that is named, else from the provider's usual one.

    None for a model in the engine's process, and for a ``base_url`` without a key of its own: a
    key goes to no address it was not meant for.

    Raises:
        MissingAPIKeyError: There is no key where one is needed.
    """
    given = model_info.get("api_key")
    if isinstance(given, str) and given.strip():
        return given.strip()
    named = model_info.get("api_key_env")
    if isinstance(named, str) and named.strip():
        return _from_variable(named.strip(), provider)
    if provider == LOCAL or model_info.get("base_url"):
        return None
    known = PROVIDERS.get(provider)
    if known is None:
        raise MissingAPIKeyError(_no_usual_key(provider))
    for name in known.keys:
        value = variable(name)
        if value is not None:
            return value
    raise MissingAPIKeyError(_unset(known.keys[0], provider))


def _from_variable(name: str, provider: str) -> str:
    value = variable(name)
    if value is None:
        raise MissingAPIKeyError(_unset(name, provider))
    return value


def _unset(name: str, provider: str) -> str:
    return (
        f"Environment variable '{name}' is not set. It holds the key for provider '{provider}': "
        f"export {name}=\"...\", or give model_info an 'api_key'."
    )


def _no_usual_key(provider: str) -> str:
    exports = "\n".join(f'  export {name}="..."  # {one}' for one, name in _USUAL)
    return (
        f"No key for provider '{provider}', and no variable is known to hold it: give model_info "
        f"an 'api_key' or 'api_key_env' and a 'base_url'. Known providers:\n{exports}"
    )


_USUAL = sorted(DEFAULT_API_KEY_ENV.items())


def endpoint_of(
    model_info: Mapping[str, Any], provider: str, model: str, key: str | None
) -> Endpoint:
    """Where the engine is to send a judgement.

    Raises:
        TypeError: ``base_url`` is no string.
        ProviderRequestError: The engine does not speak to that provider.
    """
    base_url = model_info.get("base_url")
    if base_url is not None and not isinstance(base_url, str):
        raise TypeError("model_info 'base_url' must be a string")
    if provider == LOCAL:
        return Endpoint(model if model.startswith("local/") else f"local/{model}", None)
    known = PROVIDERS.get(provider)
    own = {} if key is None else {"api_key": key}
    if base_url:
        # A server behind an address of its own has chat completions, whatever the model is called.
        name = "openai" if known is None or known.route is None else known.route("")
        return Endpoint(model, {"name": name, "base_url": base_url, **own})
    if known is None or known.route is None:
        names = ", ".join(name for name, one in PROVIDERS.items() if one.route is not None)
        detail = (
            f"this provider is not known by name (known: {names}); "
            "give model_info the 'base_url' of an OpenAI-compatible server"
        )
        raise ProviderRequestError(provider, model, detail)
    return Endpoint(model, {"name": known.route(model), **own})
