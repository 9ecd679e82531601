"""The compilation of schemas to classes and plans.

Rules:
- There is one class per message and per nested struct, for all versions. Nested classes are attributes of their
  message.
- Classes are ordinary `__slots__` classes with a keyword constructor; the engine writes their slots directly.
- A plan is compiled when a version is first used, and kept on the message class.
"""

from __future__ import annotations

from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from kafkawire._codec import plan as p
from kafkawire.messages._model import Message, StructBase
from kafkawire.messages.schema import EMPTY, Field, MessageSchema, Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

MODULE = "kafkawire.messages"


def build_class(schema: MessageSchema, module: str = MODULE) -> type[Message]:
    """The class of a message, with the classes of its structs as attributes."""
    shapes: dict[str, p.Shape] = {}
    for struct in inside_out(schema.root):
        is_root = struct is schema.root
        name = schema.name if is_root else f"{schema.name}.{struct.name}"
        shapes[struct.name] = _shape(struct, name, module, Message if is_root else StructBase, shapes)
    cls: type[Message] = shapes[schema.root.name].cls
    for struct in schema.structs:
        setattr(cls, struct.name, shapes[struct.name].cls)
    cls.__schema__ = schema
    cls.__plans__ = {}
    cls.__shapes__ = shapes
    if schema.kind in ("request", "response") and schema.key is not None:
        cls.api_key = schema.key
    return cls


def compile_plan(cls: type[Message], version: int) -> p.Plan:
    """The plan of one version of a message."""
    schema = cls.__schema__
    return _plan(schema.root, schema, version, cls.__shapes__, f"{schema.name} v{version}", {})


def inside_out(root: Struct) -> Iterable[Struct]:
    """Every struct below and including this one, each after those it contains."""
    seen: dict[str, Struct] = {}

    def visit(struct: Struct) -> None:
        for field in struct.fields:
            if field.struct is not None and field.struct.name not in seen:
                visit(field.struct)
        seen[struct.name] = struct

    visit(root)
    return seen.values()


def _shape(struct: Struct, name: str, module: str, base: type[StructBase], shapes: dict[str, p.Shape]) -> p.Shape:
    slots = tuple(_slot(field, shapes) for field in struct.fields)
    attributes = [slot.attribute for slot in slots]
    body: dict[str, Any] = {
        "__slots__": (*attributes, p.UNKNOWN_TAGS),
        "__module__": module,
        "__qualname__": name,
        "__match_args__": tuple(attributes),
        "__init__": _constructor(slots, name),
    }
    cls: Any = type(name.rpartition(".")[2], (base,), body)
    shape = p.Shape(cls, slots)
    cls.__shape__ = shape
    return shape


def attribute_of(field: Field) -> str:
    """The attribute of a field; a Python keyword gets a trailing underscore."""
    return field.attribute + "_" if iskeyword(field.attribute) else field.attribute


def _slot(field: Field, shapes: dict[str, p.Shape]) -> p.Slot:
    attribute = attribute_of(field)
    shape = shapes[field.struct.name] if field.struct is not None else None
    if field.default is not EMPTY:
        return p.Slot(attribute, p.VALUE, field.default, shape)
    if field.is_array:
        return p.Slot(attribute, p.LIST, None, shape)
    if shape is None:
        return p.Slot(attribute, p.VALUE, b"")
    return p.Slot(attribute, p.DEFAULT_STRUCT, None, shape)


def _constructor(slots: tuple[p.Slot, ...], name: str) -> Any:
    """A keyword constructor with the schema's defaults in its signature, `...` if each call creates a new one."""
    scope: dict[str, Any] = {}
    parameters = []
    lines = []
    for index, slot in enumerate(slots):
        made = ""
        if slot.default_kind == p.VALUE:
            scope[f"_d{index}"] = slot.default
            parameters.append(f"{slot.attribute}=_d{index}")
        else:
            made = "[]" if slot.default_kind == p.LIST else f"_d{index}()"
            scope[f"_d{index}"] = slot.shape and slot.shape.cls
            parameters.append(f"{slot.attribute}=...")
        value = f"{made} if {slot.attribute} is ... else {slot.attribute}" if made else slot.attribute
        lines.append(f"self.{slot.attribute} = {value}")
    lines.append(f"self.{p.UNKNOWN_TAGS} = {p.UNKNOWN_TAGS}")
    parameters.append(f"{p.UNKNOWN_TAGS}=()")
    source = f"def __init__(self, *, {', '.join(parameters)}):\n " + "\n ".join(lines)
    exec(compile(source, f"<constructor of {name}>", "exec"), scope)  # names come from checked schemas only
    constructor = scope["__init__"]
    constructor.__qualname__ = f"{name}.__init__"
    return constructor


def _plan(
    struct: Struct, schema: MessageSchema, version: int, shapes: dict[str, p.Shape], title: str, made: dict[str, p.Plan]
) -> p.Plan:
    if struct.name in made:
        return made[struct.name]
    flexible = schema.is_flexible(version)
    shape = shapes[struct.name]
    steps: list[p.Step] = []
    tagged: list[p.Step] = []
    absent: list[tuple[p.Slot, bool]] = []
    for field, slot in zip(struct.fields, shape.slots, strict=True):
        if version not in field.versions:
            absent.append((slot, field.ignorable))
            continue
        nested = _plan(field.struct, schema, version, shapes, title, made) if field.struct else None
        compact = flexible and not field.legacy
        step = p.Step(
            slot,
            p.CODES[field.type],
            is_array=field.is_array,
            compact=compact,
            nullable=version in field.nullable,
            tag=-1 if field.tag is None else field.tag,
            element_minimum=max(1, _minimum(p.CODES[field.type], compact, nested)),
            plan=nested,
        )
        (steps if field.tag is None else tagged).append(step)
    tagged.sort(key=lambda step: step.tag)
    present = {step.tag for step in tagged}
    foreign = frozenset(field.tag for field in struct.fields if field.tag is not None and field.tag not in present)
    plan = p.Plan(
        title,
        shape,
        steps=tuple(steps),
        tagged=tuple(tagged),
        absent=tuple(absent),
        foreign_tags=foreign,
        flexible=flexible,
        minimum=sum(map(_step_minimum, steps)) + int(flexible),
    )
    made[struct.name] = plan
    return plan


def _minimum(code: int, compact: bool, nested: p.Plan | None) -> int:
    if nested is not None:
        return nested.minimum
    if code in p.FIXED_SIZES:
        return p.FIXED_SIZES[code]
    return 1 if compact else 2 if code == p.STRING else 4


def _step_minimum(step: p.Step) -> int:
    if step.is_array:
        return 1 if step.compact else 4
    if step.nullable and step.code == p.STRUCT:
        return 1
    return _minimum(step.code, step.compact, step.plan)
