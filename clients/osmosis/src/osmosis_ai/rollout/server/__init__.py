"""The server that a trainer sends rollouts to."""

from osmosis_ai._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "api_key": ["generate_api_key", "validate_api_key"],
        "app": ["create_app"],
        "serve": ["ServeError", "serve_agent_loop"],
        "state": ["AppState"],
    },
)
