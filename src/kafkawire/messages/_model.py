"""The base classes of all messages.

Rules:
- The version is an argument, never a class. A version outside the schema's range is UnsupportedVersionError.
- Equality compares every field, and the unknown tags; two messages of different classes are never equal.
- A repr shows the fields that differ from their defaults; long values are shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from kafkawire import _codec as codec
from kafkawire._codec.defaults import is_default
from kafkawire._codec.plan import UNKNOWN_TAGS, UNLIMITED

if TYPE_CHECKING:
    from kafkawire._codec.engine import Buffer
    from kafkawire._codec.plan import Plan, Shape
    from kafkawire.messages.schema import MessageSchema

_SHOWN_BYTES = 16
_SHOWN_ELEMENTS = 8


class StructBase:
    """A struct of a message."""

    __slots__ = ()
    __shape__: ClassVar[Shape]
    __hash__ = None  # type: ignore[assignment]  # mutable values do not hash
    unknown_tagged_fields: tuple[tuple[int, bytes], ...]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name)
            for name in (*(slot.attribute for slot in self.__shape__.slots), UNKNOWN_TAGS)
        )

    def __repr__(self) -> str:
        fields = [
            f"{slot.attribute}={_shown(getattr(self, slot.attribute))}"
            for slot in self.__shape__.slots
            if not is_default(slot, getattr(self, slot.attribute))
        ]
        if self.unknown_tagged_fields:
            fields.append(f"{UNKNOWN_TAGS}={self.unknown_tagged_fields!r}")
        return f"{self.__class__.__name__}({', '.join(fields)})"


class Message(StructBase):
    """A whole message: a request, a response, a header or a data message."""

    __slots__ = ()
    __schema__: ClassVar[MessageSchema]
    __plans__: ClassVar[dict[int, Plan]]
    __shapes__: ClassVar[dict[str, Shape]]
    api_key: ClassVar[int]
    """The key of the API; only requests and responses have one."""

    @classmethod
    def response_class(cls) -> type[Message]:
        """The class of the response to a request; UnknownMessageError for other messages.

        >>> from kafkawire.messages import MetadataRequest
        >>> MetadataRequest.api_key, MetadataRequest.response_class().__name__
        (3, 'MetadataResponse')
        """
        from kafkawire.messages._registry import UnknownMessageError, api

        if cls.__schema__.kind != "request":
            raise UnknownMessageError(f"{cls.__name__} is not a request, so nothing answers it")
        return api(cls.api_key).response

    @classmethod
    def decode(cls, buffer: Buffer, version: int, *, allow_trailing: bool = False) -> Self:
        """Read a message from the whole of a buffer.

        Bytes and records are memoryviews into it. Trailing bytes are an error unless allowed.

        >>> from kafkawire.messages import HeartbeatResponse
        >>> HeartbeatResponse.decode(bytes.fromhex("000000000019"), 1)
        HeartbeatResponse(error_code=25)
        """
        plan = cls.__plans__.get(version) or cls._compile(version)
        return codec.decode(plan, buffer, 0, allow_trailing)  # type: ignore[no-any-return]  # the plan's own class

    @classmethod
    def decode_prefix(
        cls, buffer: Buffer, version: int, offset: int = 0, *, limit: int = UNLIMITED
    ) -> tuple[Self, int]:
        """Read a message that begins at an offset; also return where it ends.

        ElementLimitError if all its arrays together hold more than `limit` elements.
        """
        plan = cls.__plans__.get(version) or cls._compile(version)
        return codec.decode_prefix(plan, buffer, offset, limit)

    def encode(self, version: int) -> bytes:
        """The message as one run of bytes.

        >>> from kafkawire.messages import HeartbeatResponse
        >>> HeartbeatResponse(error_code=25).encode(1).hex()
        '000000000019'
        """
        plan = self.__plans__.get(version) or self._compile(version)
        return codec.encode(plan, self)

    def encode_parts(self, version: int) -> list[bytes | memoryview]:
        """The message as pieces for a gathered write; record payloads are neither copied nor joined."""
        plan = self.__plans__.get(version) or self._compile(version)
        return codec.encode_parts(plan, self)

    def to_json(self, version: int) -> dict[str, Any]:
        """The fields of a version in Kafka's JSON form: lower camel names, base64 bytes, tags only where set."""
        from kafkawire.messages._json import to_json

        self._check(version)
        return to_json(self, self.__schema__, version)

    @classmethod
    def from_json(cls, obj: dict[str, Any], version: int) -> Self:
        """The message that `to_json` describes; a missing tagged field takes its default."""
        from kafkawire.messages._json import from_json

        cls._check(version)
        return from_json(cls, obj, version)

    @classmethod
    def _compile(cls, version: int) -> Plan:
        from kafkawire.messages._compile import compile_plan

        cls._check(version)
        plan = cls.__plans__[version] = compile_plan(cls, version)
        return plan

    @classmethod
    def _check(cls, version: int) -> None:
        if version not in cls.__schema__.versions:
            cls._refuse(version)

    @classmethod
    def _refuse(cls, version: int) -> NoReturn:
        schema = cls.__schema__
        error = codec.UnsupportedVersionError(f"a version of {schema.versions}", str(version))
        error.title = schema.name
        raise error


def _shown(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value[:_SHOWN_BYTES])
        return repr(data) if len(value) <= _SHOWN_BYTES else f"<{len(value)} bytes: {data.hex()}...>"
    if isinstance(value, list) and len(value) > _SHOWN_ELEMENTS:
        texts = [_shown(element) for element in value[:_SHOWN_ELEMENTS]]
        return f"[{', '.join(texts)}, ... {len(value) - _SHOWN_ELEMENTS} more]"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
