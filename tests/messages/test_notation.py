"""The schema notation: what it says, every rule it enforces, and its canonical text."""

from __future__ import annotations

import pytest
from tools.generate.derived import schema_files
from tools.generate.schema_format import format_schema

from kafkawire.messages._notation import parse
from kafkawire.messages._schema_files import SCHEMAS
from kafkawire.messages.schema import EMPTY, ApiSchema, MessageSchema, SchemaError, Versions, camel_case, snake_case

HEAD = "message Sample\nversions 0-3\nflexible 2+\n\nfields\n"


def sample(*lines: str, head: str = HEAD) -> MessageSchema:
    schema = parse(head + "".join(f"  {line}\n" for line in lines), "sample.msg")
    assert isinstance(schema, MessageSchema)
    return schema


def test_a_field_says_type_range_tag_default_and_flags() -> None:
    field = sample("First: []string?1+ v1+ ignorable", "Second: int32 v2+ @0 = -1").root.fields
    assert (field[0].name, field[0].type, field[0].is_array) == ("First", "string", True)
    assert (field[0].versions, field[0].nullable, field[0].ignorable) == (Versions(1, 3), Versions(1, 3), True)
    assert (field[1].tag, field[1].default, field[1].versions) == (0, -1, Versions(2, 3))


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("X: int32", 0),
        ("X: int32 = 0x7fffffff", 0x7FFFFFFF),
        ("X: bool = true", True),
        ("X: float64 = 1.5", 1.5),
        ('X: string = "a b"', "a b"),
        ("X: string", ""),
        ("X: string?", ""),
        ("X: string? = null", None),
        ("X: []int32?", EMPTY),
        ("X: bytes?", EMPTY),
        ("X: records?", None),
    ],
)
def test_an_omitted_default_is_the_zero_value_and_never_null_but_for_records(text: str, default: object) -> None:
    assert sample(text).root.fields[0].default == default


def test_ranges_of_children_are_clipped_to_the_parent() -> None:
    outer = sample("Outer: []Inner v1-2", "  A: int8", "  B: int8 v2+").root.fields[0]
    assert outer.struct is not None
    assert [field.versions for field in outer.struct.fields] == [Versions(1, 2), Versions(2, 2)]


def test_shared_structs_may_stand_in_any_order_and_serve_several_fields() -> None:
    schema = sample("struct A", "  B: []B", "struct B", "  X: int8", "One: A", "Two: []A", "Three: B")
    one, two, three = schema.root.fields
    assert one.struct is two.struct
    assert one.struct is not None
    assert one.struct.fields[0].struct is three.struct


@pytest.mark.parametrize("stored", ["id", "key", "value"])
def test_a_record_has_its_type_and_the_part_that_is_stored(stored: str) -> None:
    schema = parse(f"message Sample {stored} 3\nversions 0\nflexible none\n\nfields\n", "sample.msg")
    assert isinstance(schema, MessageSchema)
    assert (schema.kind, schema.key, schema.stored) == ("data", 3, stored)


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        (HEAD + "  X: int33\n", 6, "unknown type int33"),
        (HEAD + "  X int8\n", 6, "expected `Name: TYPE"),
        (HEAD + "  X: int8 ignorable legacy\n", 6, "flags stand once, in the order"),
        (HEAD + "  X: int8\n  x: int8\n", 7, "not unique in its struct"),
        (HEAD + "  X: int8 v2+ @1\n", 6, "contiguous from 0"),
        (HEAD + "  X: int8 v2+ @0\n  Y: int8 v2+ @0\n", 7, "tag 0 is not unique"),
        (HEAD + "  X: int8 v1+ @0\n", 6, "tagged field X exists in versions 1-3, flexible are only 2-3"),
        (HEAD + "  X: int8 v2 @0\n", 6, "a tag is never given back"),
        (HEAD + "  X: string?3+ v2+ @0\n", 6, "nullable in all of its versions or in none"),
        (HEAD + "  X: string = null\n", 6, "= null, but X is not nullable"),
        (HEAD + "  X: string?1+ = null\n", 6, "= null, but X is not nullable in all"),
        (HEAD + "  X: int8?\n", 6, "cannot be null"),
        (HEAD + "  X: int8 = 128\n", 6, "expected -128 to 127"),
        (HEAD + "  X: bool = 1\n", 6, "expected true or false"),
        (HEAD + "  X: string = abc\n", 6, "double quotes"),
        (HEAD + "  X: bytes = 1\n", 6, "empty, or null"),
        (HEAD + "  X: int8 v4+\n", 6, "lies outside the parent's 0-3"),
        (HEAD + "  X: int8 v3-2\n", 6, "range 3-2 is empty"),
        (HEAD + "  X: []records\n", 6, "no arrays of records"),
        (HEAD + "  X: []int8 key\n", 6, "key stands only on a plain field"),
        (HEAD + "  X: int8 legacy\n", 6, "legacy stands only on a string"),
        (HEAD + "  X: int8\n    Y: int8\n", 7, "has no fields of its own"),
        (HEAD + "  struct A\n    X: int8\n  Y: int8\n", 6, "A is not used"),
        (HEAD + "  struct A\n    X: A\n  Y: A\n", 7, "contains itself"),
        (HEAD + "  struct A\n  Y: A\n", 6, "struct A has no fields"),
        (HEAD + "  X: A\n    P: int8\n  Y: A\n    P: int8\n", 8, "struct name A is taken"),
        (HEAD + "   X: int8\n", 6, "multiple of two"),
        (HEAD + "      X: int8\n", 6, "indented by 6"),
        (HEAD + "\tX: int8\n", 6, "tabs"),
        (HEAD + '  X: string = "a\n', 6, "not closed"),
        (HEAD + "request\n", 6, "has the section fields, and no other"),
        ("versions 0\n", 1, "a schema begins with"),
        ("message Sample\nversions 0\n\nfields\n", 4, "'flexible' is missing"),
        ("message Sample\nversions 0+\nflexible none\n\nfields\n", 2, "closed"),
        ("message Sample\nversions 0\nflexible 0-1\n\nfields\n", 3, "open ended"),
        ("message Sample\nversions 0\nflexible none\nlisteners broker\n\nfields\n", 4, "belongs to an api"),
        ("message Other\nversions 0\nflexible none\n\nfields\n", 1, "the file of Other is named other"),
        ("message Sample key 3\nversions 0-1\nflexible none\n\nfields\n", 1, "a new layout is a new type"),
        ("message Sample kind 3\nversions 0\nflexible none\n\nfields\n", 1, "expected `message NAME`"),
        ("message Sample\nversions 0\nversions 0\nflexible none\n\nfields\n", 3, "repeated"),
    ],
)
def test_every_rule_names_file_line_and_rule(text: str, line: int, rule: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text, "sample.msg")
    assert (caught.value.place, caught.value.line) == ("sample.msg", line)
    assert rule in caught.value.rule
    assert str(caught.value).startswith(f"sample.msg:{line}: ")


def test_the_tree_holds_95_apis_and_98_other_messages_and_all_are_formatted() -> None:
    schemas = []
    for path in schema_files():
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(SCHEMAS).as_posix()
        schemas.append(parse(text, place))
        assert format_schema(text, place) == text, place
    assert sum(isinstance(schema, ApiSchema) for schema in schemas) == 95
    assert sum(isinstance(schema, MessageSchema) for schema in schemas) == 98
    assert sum(len(list(schema.versions)) for schema in schemas if isinstance(schema, ApiSchema)) == 368


def test_the_formatter_changes_layout_only_and_keeps_comments() -> None:
    messy = (
        "# about\nmessage Sample\nflexible 2+  # tags\nversions 0-3\nfields\n\n  X:   int8    v1+\n"
        '  # of Y\n  Y: []A   v2+   # why\n    Z:  string = "a  #b"\n# end\n'
    )
    clean = (
        "# about\nmessage Sample\nversions 0-3\nflexible 2+  # tags\n\nfields\n  X: int8 v1+\n"
        '  # of Y\n  Y: []A v2+  # why\n    Z: string = "a  #b"\n# end\n'
    )
    assert format_schema(messy, "sample.msg") == clean
    assert format_schema(clean, "sample.msg") == clean


@pytest.mark.parametrize("name", ["ApiVersions", "KRaftVersionRecord", "DescribeUserScramCredentials"])
def test_a_file_stem_gives_the_message_name_back(name: str) -> None:
    assert camel_case(snake_case(name)) == name
