"""Our reading and writing of .proto files against protoc."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor_pool import DescriptorPool

from kafkawire.values import SchemaError
from kafkawire.values._protobuf.parser import parse_proto
from kafkawire.values._protobuf.printer import print_proto

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXTS = {
    "proto3": """
// a comment
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import public "google/protobuf/wrappers.proto";
option java_package = "x.y";
message Order {
  option deprecated = true;
  string id = 1 [json_name="ID", deprecated=true];
  optional int32 n = 2; repeated .shop.v1.Order.Line lines = 3; /* x */
  map<string, Line> by_name = 4; map<int64, double> m_2 = 14;
  oneof pay { string card = 5; Cash cash = 6; }
  google.protobuf.Timestamp at = 7; .shop.v1.State state = 8;
  message Line { string sku = 1; uint64 count = 2; Order parent = 3; }
  message Cash { }
  reserved 9, 10 to 12, 100 to max; reserved "old", 'older';
  repeated int32 packed_off = 13 [packed = false]; optional bytes message = 15;
}
enum State { option allow_alias = true; UNKNOWN = 0; OPEN = 1; ALSO = 1; NEG = -5; reserved 7, 8 to max; }
service S { rpc A (Order) returns (stream Order) { } }
""",
    "proto2": """syntax = "proto2";
message A {
  required int32 a = 1 [default = -3]; optional string s = 2 [default = "a\\"b\\n"];
  optional bytes b = 3 [default = "\\001x\\377"]; optional group G = 4 { optional int32 z = 1; }
  extensions 100 to 199; enum E { X = 1; Y = 0x10; } optional E e = 5 [default = Y];
  optional double d = 6 [default = -inf]; optional bool t = 7 [default = true];
  extend B { optional int32 q = 120; }
}
message B { extensions 100 to max; }
extend A { optional int32 ext = 126; }
""",
    "edition": """edition = "2023";
option features.field_presence = IMPLICIT;
message A { int32 a = 1; int32 b = 2 [features.field_presence = EXPLICIT]; }
""",
}


def built(file: pb.FileDescriptorProto) -> pb.FileDescriptorProto:
    """A file as the pool has it: names resolved, and nothing that the two may write differently."""
    pool = DescriptorPool()
    for name in file.dependency:
        module: Any = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    found = pb.FileDescriptorProto()
    pool.FindFileByName(file.name).CopyToProto(found)
    found.ClearField("service")
    _normalize(found.message_type)
    for field in found.extension:
        field.ClearField("json_name")
    return found


def _normalize(messages: Iterable[pb.DescriptorProto]) -> None:
    for message in messages:
        nested = sorted(message.nested_type, key=lambda each: each.name)
        del message.nested_type[:]
        message.nested_type.extend(nested)
        for field in (*message.field, *message.extension):
            if field.json_name != "ID":
                field.ClearField("json_name")  # protoc states the usual one, too
        _normalize(message.nested_type)


def by_protoc(text: str, folder: Path) -> pb.FileDescriptorProto:
    import grpc_tools
    from grpc_tools import protoc

    (folder / "a.proto").write_text(text)
    included = Path(str(grpc_tools.__file__)).parent / "_proto"
    arguments = ["protoc", f"-I{folder}", f"-I{included}", f"--descriptor_set_out={folder}/out", f"{folder}/a.proto"]
    assert protoc.main(arguments) == 0
    return pb.FileDescriptorSet.FromString((folder / "out").read_bytes()).file[0]


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_gives_the_descriptor_of_protoc(name: str, tmp_path: Path) -> None:
    assert str(built(parse_proto(TEXTS[name], "a.proto"))) == str(built(by_protoc(TEXTS[name], tmp_path)))


@pytest.mark.parametrize("name", TEXTS)
def test_a_printed_descriptor_of_protoc_is_read_again_as_the_same(name: str, tmp_path: Path) -> None:
    file = by_protoc(TEXTS[name], tmp_path)
    again = built(parse_proto(print_proto(file), "a.proto"))
    first = built(file)
    for each in (first, again):
        each.options.ClearField("java_package")
        for message in each.message_type:
            message.options.ClearField("deprecated")
            fields = sorted(message.field, key=lambda field: field.number)
            del message.field[:]
            message.field.extend(fields)
    assert str(again) == str(first)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("message A { int32 a = 0; }", "line 1 .* number 0"),
        ("message A {\n int32 a 1; }", "line 2 .*expected '='"),
        ("message A {", "expected a name|too early"),
        ("message A { map<bytes, int32> a = 1; }", "keys of type 'bytes'"),
        ('syntax = "proto9";', "expected proto2 or proto3"),
        ("message A { # }", "unexpected '#"),
        ("message A {" * 100 + "}" * 100, "nested deeper"),
        ("blah", "unexpected 'blah'"),
        ("enum E { A = 99999999999; }", "more than 32 bits"),
    ],
)
def test_a_wrong_text_is_an_error_with_its_line(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        parse_proto(text, "a.proto")
