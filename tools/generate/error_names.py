"""The text of messages/_error_names.py: the typed names of every error code and exception, from schemas/errors.tsv.

Rules:
- A class has the name of the Java exception, with Error for Exception, and the same ancestors.
- If the name of the code gives another class name, which some Python clients use, that is an alias.
- No class has the name of a built-in exception: REQUEST_TIMED_OUT is RequestTimedOutError, not TimeoutError.
"""

from __future__ import annotations

import builtins
import textwrap

from kafkawire.messages._error_table import NO_EXCEPTION, UNKNOWN, Facts, table

_WIDTH = 116
_HEAD = '''"""The typed names of Kafka's error codes and exceptions.

Generated from schemas/errors.tsv by `make generate`; edits here are lost.
"""

from kafkawire.messages._error_table import ApiError, CodeRoot, KafkaError

'''


def class_name(java: str, code_name: str = "") -> str:
    """The Python name of a Java exception.

    >>> class_name("NotCoordinatorException"), class_name("TimeoutException", "REQUEST_TIMED_OUT")
    ('NotCoordinatorError', 'RequestTimedOutError')
    """
    name = java.removesuffix("Exception") + "Error"
    return name_of_code(code_name) if hasattr(builtins, name) else name


def name_of_code(code_name: str) -> str:
    """The class name that a code's own name gives.

    >>> name_of_code("TOPIC_ALREADY_EXISTS"), name_of_code("KAFKA_STORAGE_ERROR")
    ('TopicAlreadyExistsError', 'KafkaStorageError')
    """
    words = code_name.removesuffix("_ERROR").removesuffix("_EXCEPTION").split("_")
    return "".join(word.capitalize() for word in words) + "Error"


def render() -> str:
    """The text that messages/_error_names.py must have."""
    rows = list(table().values())
    coded = {row.exception: row for row in rows if row.exception != NO_EXCEPTION}
    done = {"ApiException": "ApiError"}
    classes: list[str] = []

    def define(java: str, ancestors: tuple[str, ...]) -> str:
        if java in done:
            return done[java]
        parent = define(ancestors[0], ancestors[1:])
        row = coded.get(java)
        done[java] = class_name(java, row.name if row else "")
        classes.append(_class_text(done[java], parent, row))
        return done[java]

    for java, row in coded.items():
        define(java, row.ancestors)
    aliases = {name_of_code(row.name): done[java] for java, row in coded.items()}
    aliases = {alias: name for alias, name in aliases.items() if alias != name}
    codes = "class ErrorCode(CodeRoot):\n"
    codes += '    """Every error code; any other number is UNKNOWN_SERVER_ERROR and keeps its number."""\n\n'
    codes += "".join(f"    {row.name} = {row.code}\n" for row in rows)
    public = sorted({"KafkaError", "ErrorCode", *done.values(), *aliases})
    return (
        _HEAD
        + "__all__ = [\n"
        + "".join(f'    "{name}",\n' for name in public)
        + "]\n\n\n"
        + codes
        + "\n\n"
        + "\n\n".join(classes)
        + "\n\n"
        + "".join(f"{alias} = {name}\n" for alias, name in aliases.items())
    )


def _class_text(name: str, parent: str, row: Facts | None) -> str:
    text = f"{row.name} ({row.code}): {row.meaning}" if row else "A kind of error; its subclasses say which."
    lines = textwrap.wrap(text, _WIDTH - 6, break_on_hyphens=False)
    body = f'class {name}({parent}):\n    """' + "\n    ".join(lines) + '"""\n'
    if row is None:
        return body
    body += f"\n    CODE = {row.code}\n"
    if row.code == UNKNOWN:
        body += "\n    def __init__(self, message: str | None = None, code: int = -1) -> None:\n"
        body += "        KafkaError.__init__(self, code, message)\n        self.args = (message, code)\n"
    return body
