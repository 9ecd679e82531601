"""The routes of the protocol view: lists of names, one message in one version, and a sample of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from kafkawire.inspect import changes_between, fields_of
from kafkawire.messages import CodecError, UnknownMessageError, api, apis, message_class, message_names
from kafkawire.messages.errors import ErrorCode
from kafkawire.web._server.answers import answer
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import number_in, text_in
from kafkawire.wire import encode_request, encode_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kafkawire.messages.schema import MessageSchema


def names(_: Request) -> Response:
    """APIs, messages and error codes."""
    shown = []
    for each in apis():
        span = {"request": [each.versions.first, each.versions.last]}
        response = each.response.__schema__.versions
        shown.append({"key": each.key, "name": each.name, **span, "response": [response.first, response.last]})
    errors = [
        {"code": int(each), "name": each.name, "retriable": each.retriable, "text": each.meaning} for each in ErrorCode
    ]
    messages = sorted(name for name in message_names() if not name.endswith(("Request", "Response")))
    return answer({"apis": shown, "messages": messages, "errors": errors})


def message(request: Request) -> Response:
    """The fields of a message in one version, and what changed since another one."""
    schema = _schema(request.path_params["name"])
    version = number_in(request, "version", schema.versions.last)
    if version not in schema.versions:
        raise Problem(f"{schema.name} has versions {schema.versions}, not {version}", status=404)
    fields = [
        {
            "path": each.path,
            "name": each.name,
            "depth": each.depth,
            "type": each.type,
            "tag": each.tag,
            "default": each.default,
            "versions": str(each.versions),
            "text": each.description,
        }
        for each in fields_of(schema, version)
    ]
    shown: dict[str, Any] = {"name": schema.name, "version": version, "fields": fields}
    shown["versions"] = [schema.versions.first, schema.versions.last]
    since = text_in(request, "since")
    if since:
        before = number_in(request, "since")
        if before not in schema.versions:
            raise Problem(f"{schema.name} has versions {schema.versions}, not {before}", status=404)
        shown["changes"] = [
            {"kind": each.kind, "path": each.path, "before": each.before, "after": each.after}
            for each in changes_between(schema, before, version)
        ]
    return answer(shown)


def sample(request: Request) -> Response:
    """A small message in hex to look at, and what it must be read as: an element in each array, defaults elsewhere."""
    schema = _schema(request.path_params["name"])
    version = number_in(request, "version", schema.versions.last)
    if version not in schema.versions:
        raise Problem(f"{schema.name} has versions {schema.versions}, not {version}", status=404)
    made = _filled(message_class(schema.name)())
    try:
        made.encode(version)
    except CodecError:  # a field that this version cannot express
        made = message_class(schema.name)()
    name = schema.name
    if name.endswith("Request"):
        frame = encode_request(made, version=version, correlation_id=1, client_id="sample")
        return answer({"hex": bytes(frame).hex()})
    if name.endswith("Response"):
        which = api(name.removesuffix("Response"))
        frame = encode_response(made, api_key=which.key, version=version, correlation_id=1)
        return answer({"hex": bytes(frame).hex(), "kind": "response", "api": which.name, "version": version})
    return answer({"hex": made.encode(version).hex(), "kind": "message", "message": name, "version": version})


def _filled(value: Any) -> Any:
    """A struct with one element in each of its arrays of structs."""
    for slot in value.__shape__.slots:
        if slot.shape is not None and getattr(value, slot.attribute) == []:
            setattr(value, slot.attribute, [_filled(slot.shape.cls())])
    return value


def _schema(name: str) -> MessageSchema:
    try:
        return message_class(name).__schema__
    except UnknownMessageError as refusal:
        raise Problem(str(refusal), status=404) from refusal


ROUTES: Final = [
    Route("/api/protocol", names),
    Route("/api/protocol/{name}", message),
    Route("/api/protocol/{name}/sample", sample),
]
