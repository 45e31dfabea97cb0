"""The two bases of the generated models, and the types their fields are made of.

Requests refuse unknown fields, so that a misspelt option is an error. What the engine answers may
gain fields, so those are skipped. Both raise this package's own error, never pydantic's.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from agent_eval_rpc._json import MAX_INTEGER, Issue, join_path, to_json_value, well_formed
from agent_eval_rpc.errors import ValidationError

if TYPE_CHECKING:
    from typing_extensions import Self

_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "string_pattern_mismatch": "must have 1 to 128 characters and no control characters",
}


class WireModel(BaseModel):
    """Base of what the engine answers: snake_case in Python, camelCase on the wire."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        allow_inf_nan=False,
        # Values may be secrets, and pydantic's error is chained to ours.
        hide_input_in_errors=True,
        populate_by_name=True,
        protected_namespaces=(),
    )

    def __init__(self, **data: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except pydantic.ValidationError as error:
            raise invalid(type(self).__name__, error) from error

    # Without the mark pydantic would call __init__ for nested values too, and lose their paths.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    if not TYPE_CHECKING:

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> "Self":
            """Like pydantic's, raising this package's ValidationError."""
            try:
                return super().model_validate(obj, **options)
            except pydantic.ValidationError as error:
                raise invalid(cls.__name__, error) from error

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> "Self":
            """Like pydantic's, raising this package's ValidationError."""
            try:
                return super().model_validate_json(json_data, **options)
            except pydantic.ValidationError as error:
                raise invalid(cls.__name__, error) from error


class RequestModel(WireModel):
    """Base of what a caller writes: unknown fields are refused, None means left out."""

    # Instances are checked again when a request takes them: fields may have been assigned since.
    model_config = ConfigDict(extra="forbid", revalidate_instances="always")

    def model_post_init(self, _context: Any, /) -> None:
        """Forgets options given as None: on the wire they are absent, never null."""
        unset = [name for name in self.model_fields_set if getattr(self, name) is None]
        self.__pydantic_fields_set__.difference_update(unset)


def invalid(what: str, error: pydantic.ValidationError) -> ValidationError:
    """Turns pydantic's error into ours."""
    return validation_error(what, issues_of(error))


def validation_error(what: str, issues: list[Issue]) -> ValidationError:
    """Makes an error whose details hold every issue; the message names the first."""
    first = issues[0] if issues else Issue("", "invalid")
    where = f"{first.path}: " if first.path else ""
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    details = {"issues": [issue._asdict() for issue in issues]}
    return ValidationError(f"Invalid {what}: {where}{first.message}{more}.", details=details)


def issues_of(error: pydantic.ValidationError) -> list[Issue]:
    """Lists what is wrong with paths as the wire spells them."""
    issues: list[Issue] = []
    for item in error.errors(include_url=False, include_input=False):
        at = ".".join(str(part) for part in item["loc"])
        nested: list[Issue] | None = item.get("ctx", {}).get("issues")
        if nested is None:
            issues.append(Issue(at, _MESSAGES.get(item["type"], item["msg"])))
        else:
            issues.extend(Issue(join_path(at, one.path), one.message) for one in nested)
    return issues


def refuse(issues: list[Issue]) -> None:
    """Raises, from within a validator, whatever issues there are."""
    if issues:
        raise PydanticCustomError("issues", "{message}", {"message": "", "issues": issues})


def _text(value: object) -> object:
    return well_formed(value) if isinstance(value, str) else value


def _integer(value: object) -> object:
    # JSON has one kind of number: 1.0 is an integer there.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json_object(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    issues: list[Issue] = []
    copy = to_json_value(cast("Mapping[object, object]", value), issues)
    refuse(issues)
    return copy


Text = Annotated[str, Strict(), BeforeValidator(_text)]
Number = Annotated[float, Strict()]
Integer = Annotated[
    int, Strict(), Field(ge=-MAX_INTEGER, le=MAX_INTEGER), BeforeValidator(_integer)
]
Boolean = Annotated[bool, Strict()]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_json_object)]
