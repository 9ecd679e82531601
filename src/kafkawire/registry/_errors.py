"""The errors of the registry's API, with Confluent's codes; the status is the first three digits of the code."""

from __future__ import annotations

from kafkawire.exceptions import KafkaWireError


class ApiError(KafkaWireError):
    """A response with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def status(self) -> int:
        return int(str(self.code)[:3])


def subject_not_found(subject: str) -> ApiError:
    return ApiError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: object) -> ApiError:
    return ApiError(40402, f"Version {version} not found.")


def schema_not_found(what: object = "") -> ApiError:
    return ApiError(40403, f"Schema {what} not found".replace("  ", " "))


def subject_soft_deleted(subject: str) -> ApiError:
    return ApiError(40404, f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> ApiError:
    return ApiError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> ApiError:
    text = f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete permanently"
    return ApiError(40406, text)


def version_not_soft_deleted(subject: str, version: int) -> ApiError:
    return ApiError(
        40407, f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    )


def no_own_level(subject: str) -> ApiError:
    return ApiError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_own_mode(subject: str) -> ApiError:
    return ApiError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(reasons: list[str]) -> ApiError:
    text = "Schema being registered is incompatible with an earlier schema for subject; details: "
    return ApiError(409, text + "[" + ", ".join(reasons) + "]")


def invalid_schema(reason: str) -> ApiError:
    return ApiError(42201, f"Invalid schema: {reason}")


def invalid_version(version: str) -> ApiError:
    text = 'is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"'
    return ApiError(42202, f"The specified version '{version}' {text}")


def invalid_level(level: object) -> ApiError:
    names = "NONE, BACKWARD, FORWARD, FULL, BACKWARD_TRANSITIVE, FORWARD_TRANSITIVE and FULL_TRANSITIVE"
    return ApiError(42203, f"Invalid compatibility level {level!r}. Valid values are {names}")


def invalid_mode(mode: object) -> ApiError:
    names = "READWRITE, READONLY, READONLY_OVERRIDE and IMPORT"
    return ApiError(42204, f"Invalid mode {mode!r}. Valid values are {names}")


def not_permitted(text: str) -> ApiError:
    return ApiError(42205, text)


def referenced(subject: str, version: int) -> ApiError:
    return ApiError(42206, f"One or more references exist to the schema of subject '{subject}', version {version}.")
