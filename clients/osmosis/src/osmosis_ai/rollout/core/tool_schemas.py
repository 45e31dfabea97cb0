"""Tools as OpenAI's functions: what they are, and what a model calls."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic import ValidationError as PydanticValidationError


class _JsonSchema(BaseModel):
    """Part of a JSON Schema: what it has no field for is kept, what is unset is left out."""

    model_config = ConfigDict(extra="allow")

    @model_serializer(mode="wrap")
    def _without_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A null that the author wrote, such as a default, is a keyword's value and stays.
        declared = type(self).model_fields
        return {
            name: value
            for name, value in dump(self).items()
            if value is not None or name not in declared
        }


class OpenAIFunctionPropertySchema(_JsonSchema):
    """One parameter of a tool, any JSON Schema."""

    type: str | list[str] | None = None
    description: str | None = None
    enum: list[Any] | None = None


class OpenAIFunctionParametersSchema(_JsonSchema):
    """The parameters of a tool, a JSON Schema of an object."""

    type: str = "object"
    properties: dict[str, OpenAIFunctionPropertySchema | bool] = Field(default_factory=dict)
    required: list[str] = Field(default_factory=list)


class OpenAIFunctionSchema(_JsonSchema):
    """The function of a tool."""

    name: str = Field(min_length=1)
    description: str = ""
    parameters: OpenAIFunctionParametersSchema = Field(
        default_factory=OpenAIFunctionParametersSchema
    )
    strict: bool = False


class OpenAIFunctionToolSchema(_JsonSchema):
    """A tool."""

    type: str = "function"
    function: OpenAIFunctionSchema


def normalise_tools(tools: object) -> list[OpenAIFunctionToolSchema]:
    """Takes tools as models or as plain dicts.

    Raises:
        ValueError: One of them is no tool; the message says which and why.
    """
    if tools is None or isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
        raise ValueError(f"get_tools must return a list of tools, got {type(tools).__name__}")
    return [_tool(one, place) for place, one in enumerate(tools)]


def _tool(one: object, place: int) -> OpenAIFunctionToolSchema:
    if isinstance(one, OpenAIFunctionToolSchema):
        return one
    given = one.model_dump() if isinstance(one, BaseModel) else one
    try:
        return OpenAIFunctionToolSchema.model_validate(given)
    except PydanticValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, issue['loc'])) or 'tool'}: {issue['msg']}"
            for issue in error.errors(include_url=False, include_input=False)
        )
        raise ValueError(f"tool {place} is not valid: {reasons}") from error


class OpenAIFunctionParsedSchema(BaseModel):
    """A call of a function as the model wrote it, arguments as JSON text."""

    name: str
    arguments: str


class OpenAIFunctionCallSchema(BaseModel):
    """A call of a function with its arguments read."""

    name: str
    arguments: dict[str, Any]

    @staticmethod
    def from_openai_function_parsed_schema(
        parsed_schema: OpenAIFunctionParsedSchema,
    ) -> "tuple[OpenAIFunctionCallSchema, bool]":
        """Reads the arguments; True beside an empty dict says that they were no JSON object."""
        try:
            arguments = json.loads(parsed_schema.arguments)
        except (ValueError, RecursionError):
            arguments = None
        failed = not isinstance(arguments, dict)
        read = {} if failed else arguments
        return OpenAIFunctionCallSchema(name=parsed_schema.name, arguments=read), failed


class OpenAIFunctionToolCall(BaseModel):
    """A tool call."""

    id: str
    type: Literal["function"] = "function"
    function: OpenAIFunctionCallSchema


class ToolResponse(BaseModel):
    """What a tool gave back."""

    text: str | None = None
    image: list[Any] | None = None
    video: list[Any] | None = None

    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self.text and not self.image and not self.video

    def is_text_only(self) -> bool:
        """Whether there is text in it, and nothing else."""
        return bool(self.text) and not self.image and not self.video
