"""The API of the registry: methods and paths, and the form of their responses.

Rules:
- A path is a tuple of parts; a subject may contain any character, because parts are split before they are decoded.
- Every error of the service is a response with its code. Others are 50001, and logged.
- Work that may take long, such as comparing schemas, is done on the loop: bodies are limited, and clients are few.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from kafkawire import __version__
from kafkawire.exceptions import MissingExtraError
from kafkawire.messages.errors import KafkaError
from kafkawire.registry import _errors as errors
from kafkawire.registry._http import Request, Response
from kafkawire.registry._service import Service, level_of, mode_of
from kafkawire.registry._state import GLOBAL, guid_of
from kafkawire.values import SchemaType, serialized_text

if TYPE_CHECKING:
    from kafkawire.registry._state import Version
    from kafkawire.values import Schema

_NO_LIMIT: Final = -1
_log = logging.getLogger("kafkawire.registry")


class Routes:
    """Answers requests by a service."""

    def __init__(self, service: Service, cluster_id: str) -> None:
        self._service = service
        self._cluster_id = cluster_id

    async def serve(self, request: Request) -> Response:
        """The response to a request; never raises."""
        try:
            return Response(200, await self._answer(request))
        except errors.ApiError as error:
            return Response(error.status, {"error_code": error.code, "message": str(error)})
        except MissingExtraError as error:
            return Response(422, {"error_code": 42201, "message": str(error)})
        except KafkaError as error:
            _log.error("the registry could not write: %s", error)
            return Response(500, {"error_code": 50001, "message": f"Error in the backend data store: {error}"})
        except Exception:
            _log.exception("the registry failed at %s /%s", request.method, "/".join(request.path))
            return Response(500, {"error_code": 50001, "message": "Error in the registry"})

    async def _answer(self, request: Request) -> Any:
        match (request.method, *request.path):
            case ("GET" | "HEAD",):
                return {}
            case ("GET", "schemas", *rest):
                return self._schemas(request, rest)
            case ("GET", "subjects", *rest):
                return self._subjects(request, rest)
            case ("POST", "subjects", subject):
                flags = {"normalize": request.flag("normalize"), "deleted": request.flag("deleted")}
                return self._full(self._service.look_up(subject, _body(request), **flags), request)
            case ("POST", "subjects", subject, "versions"):
                normalize = request.flag("normalize")
                version = await self._service.register(subject, _body(request), normalize=normalize)
                return {"id": version.id, "version": version.number, "guid": str(version.guid)}
            case ("DELETE", "subjects", subject):
                return await self._service.delete_subject(subject, permanent=request.flag("permanent"))
            case ("DELETE", "subjects", subject, "versions", number):
                return await self._service.delete_version(subject, number, permanent=request.flag("permanent"))
            case ("POST", "compatibility", "subjects", subject, "versions", *rest) if len(rest) <= 1:
                named = rest[0] if rest else None
                reasons = self._service.check(subject, _body(request), named, normalize=request.flag("normalize"))
                verdict: dict[str, Any] = {"is_compatible": not reasons}
                return verdict | ({"messages": reasons} if request.flag("verbose") else {})
            case (_, "config", *rest) if len(rest) <= 1:
                return await self._config(request, rest[0] if rest else GLOBAL)
            case (_, "mode", *rest) if len(rest) <= 1:
                return await self._mode(request, rest[0] if rest else GLOBAL)
            case ("GET", "contexts"):
                return ["."]
            case ("GET", "v1", "metadata", "id"):
                return {"id": "", "scope": {"path": [], "clusters": {"kafka-cluster": self._cluster_id}}}
            case ("GET", "v1", "metadata", "version"):
                return {"version": __version__, "commitId": ""}
        raise _no_route(request)

    def _schemas(self, request: Request, rest: list[str]) -> Any:
        service = self._service
        match rest:
            case []:
                found = [
                    each for each in service.state.everything(deleted=request.flag("deleted")) if _fits(each, request)
                ]
                if request.flag("latestOnly"):
                    found = list({each.subject: each for each in found}.values())
                return _page([self._full(each, request) for each in found], request)
            case ["types"]:
                return ["JSON", "PROTOBUF", "AVRO"]
            case ["ids", number]:
                schema = service.schema(_id(number))
                latest = {"maxId": service.state.next_id() - 1} if request.flag("fetchMaxId") else {}
                return self._described(schema, request) | {"guid": str(guid_of(schema))} | latest
            case ["ids", number, "schema"]:
                return self._text(service.schema(_id(number)), request)
            case ["ids", number, "subjects" | "versions" as what]:
                service.schema(_id(number))
                versions = [
                    each
                    for each in service.state.everything(deleted=request.flag("deleted"))
                    if each.id == int(number) and request.query.get("subject", each.subject) == each.subject
                ]
                if what == "subjects":
                    return _page(list(dict.fromkeys(each.subject for each in versions)), request)
                return _page([{"subject": each.subject, "version": each.number} for each in versions], request)
            case ["guids", guid]:
                for found_id, schema in service.state.ids.items():
                    if str(guid_of(schema)) == guid.lower():
                        return self._described(schema, request) | {"id": found_id, "guid": guid.lower()}
                raise errors.schema_not_found(guid)
        raise _no_route(request)

    def _subjects(self, request: Request, rest: list[str]) -> Any:
        service, deleted = self._service, request.flag("deleted")
        only = request.flag("deletedOnly")
        match rest:
            case []:
                found = [each for each in service.state.everything(deleted=deleted or only) if _fits(each, request)]
                live = {each.subject for each in found if not each.is_deleted}
                names = dict.fromkeys(each.subject for each in found if not (only and each.subject in live))
                return _page(list(names), request)
            case [subject, "versions"]:
                found = service.versions(subject, deleted=deleted or only)
                return _page([each.number for each in found if each.is_deleted or not only], request)
            case [subject, "versions", number]:
                return self._full(service.version(subject, number, deleted=deleted), request)
            case [subject, "versions", number, "schema"]:
                return self._text(service.version(subject, number, deleted=deleted).schema, request)
            case [subject, "versions", number, "referencedby"]:
                version = service.version(subject, number, deleted=deleted)
                return _page([each.id for each in service.state.referenced_by(subject, version.number)], request)
            case [subject, "metadata"]:
                return self._full(service.version(subject, "latest", deleted=deleted), request)
        raise _no_route(request)

    async def _config(self, request: Request, subject: str) -> Any:
        service = self._service
        match request.method:
            case "GET":
                return {"compatibilityLevel": level_of(service, subject, or_global=request.flag("defaultToGlobal"))}
            case "PUT":
                level = _body(request).get("compatibility")
                if not isinstance(level, str):
                    raise errors.invalid_level(level)
                await service.set_level(subject, level.upper())
                return {"compatibility": level.upper()}
            case "DELETE":
                level = level_of(service, subject, or_global=False)
                await service.set_level(subject, None)
                return {"compatibilityLevel": level} if subject != GLOBAL else {"compatibility": "BACKWARD"}
        raise _no_route(request)

    async def _mode(self, request: Request, subject: str) -> Any:
        service = self._service
        match request.method:
            case "GET":
                return {"mode": mode_of(service, subject, or_global=request.flag("defaultToGlobal"))}
            case "PUT":
                mode = _body(request).get("mode")
                if not isinstance(mode, str):
                    raise errors.invalid_mode(mode)
                await service.set_mode(subject, mode.upper(), force=request.flag("force"))
                return {"mode": mode.upper()}
            case "DELETE" if subject != GLOBAL:
                mode = mode_of(service, subject, or_global=False)
                await service.set_mode(subject, None)
                return {"mode": mode}
        raise _no_route(request)

    def _full(self, version: Version, request: Request) -> dict[str, Any]:
        names = {"subject": version.subject, "version": version.number, "id": version.id, "guid": str(version.guid)}
        deleted = {"deleted": True} if version.is_deleted else {}
        return names | self._described(version.schema, request) | deleted

    def _described(self, schema: Schema, request: Request) -> dict[str, Any]:
        found = schema.as_dict()
        if request.query.get("format") == "serialized" and schema.type is SchemaType.PROTOBUF:
            found["schema"] = serialized_text(self._service.complete(schema))
        return found

    def _text(self, schema: Schema, request: Request) -> Any:
        text = str(self._described(schema, request)["schema"])
        return text.encode() if schema.type is not SchemaType.PROTOBUF else text


def _fits(version: Version, request: Request) -> bool:
    return version.subject.startswith(request.query.get("subjectPrefix", "").removeprefix(":*:"))


def _page(found: list[Any], request: Request) -> list[Any]:
    offset, limit = (_number(request, "offset", 0), _number(request, "limit", _NO_LIMIT))
    return found[max(0, offset) :][: None if limit < 0 else limit]


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not text.removeprefix("-").isdecimal() or len(text) > 10:
        raise errors.ApiError(400, f"{name}: expected a number, found {text[:50]!r}")
    return int(text)


def _id(text: str) -> int:
    if not text.isdecimal() or len(text) > 10:
        raise errors.ApiError(404, f"HTTP 404 Not Found: {text[:50]!r} is not the id of a schema")
    return int(text)


def _body(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise errors.ApiError(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise errors.ApiError(400, "the body is not a JSON object")
    return found


def _no_route(request: Request) -> errors.ApiError:
    known = {"GET", "POST", "PUT", "DELETE", "HEAD"}
    if request.method not in known:
        return errors.ApiError(405, f"HTTP 405 Method Not Allowed: {request.method[:20]}")
    return errors.ApiError(404, f"HTTP 404 Not Found: {request.method} /{'/'.join(request.path)[:200]}")
