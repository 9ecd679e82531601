"""The parts of an X.509 certificate that this broker reads: subject, alternative names, end of validity.

Rules:
- Certificates come from clients. Every length is checked; CertificateError names what was expected.
- A subject is written as Java writes it (RFC 2253): the last part first, commas without blanks, keywords only for the
  types of that RFC. Any other type is OID=#hex of its value in DER.
- Only the certificates of peers that TLS has verified, and our own, are read here. Nothing is verified.
"""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_OID: Final = 0x06
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_UTC_TIME: Final = 0x17
_DNS, _IP = 0x82, 0x87
_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ENCODINGS: Final = {
    0x0C: "utf-8",  # UTF8String
    0x12: "ascii",  # NumericString
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # T61String, as Java reads it
    0x16: "ascii",  # IA5String
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}
_SPECIAL: Final = frozenset(',+"\\<>;')


class CertificateError(KafkaWireError):
    """A certificate that cannot be read."""


class Element(NamedTuple):
    """One element of DER: its tag, its content and all of its bytes."""

    tag: int
    content: bytes
    encoded: bytes


class Certificate(NamedTuple):
    """The subject, the alternative names and the end of validity of a certificate."""

    subject: str
    alternative_names: frozenset[str]
    expires: datetime


def read_certificate(der: bytes) -> Certificate:
    """The subject, the alternative names and the end of validity of a certificate."""
    (outer,) = _elements(der, "certificate", most=1)
    (signed, *_) = _elements(outer.content, "certificate")
    fields = [each for each in _elements(signed.content, "certificate") if each.tag != _VERSION]
    if len(fields) < 6:
        raise CertificateError(f"certificate: expected at least 6 fields, found {len(fields)}")
    extensions = [each for each in fields[6:] if each.tag == _EXTENSIONS]
    validity = list(_elements(fields[3].content, "validity"))
    if len(validity) != 2:
        raise CertificateError(f"validity: expected two times, found {len(validity)}")
    names = frozenset(_alternative_names(extensions[0].content)) if extensions else frozenset[str]()
    return Certificate(_subject(fields[4].content), names, _time(validity[1]))


def _elements(data: bytes, place: str, most: int | None = None) -> Iterator[Element]:
    position = count = 0
    while position < len(data):
        if most is not None and count == most:
            raise CertificateError(f"{place}: expected {most} element, found more bytes after it")
        start = position
        if len(data) - position < 2:
            raise CertificateError(f"{place}: expected a tag and a length at byte {position}, found the end")
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            if not 1 <= size <= 4 or len(data) - position < size:
                raise CertificateError(f"{place}: expected a length of 1 to 4 bytes at byte {position}, found {size}")
            length = int.from_bytes(data[position : position + size])
            position += size
        if length > len(data) - position:
            left = len(data) - position
            raise CertificateError(f"{place}: length {length} at byte {position} exceeds the {left} bytes left")
        yield Element(tag, data[position : position + length], data[start : position + length])
        position += length
        count += 1
    if most is not None and count < most:
        raise CertificateError(f"{place}: expected {most} element, found none")


def _subject(name: bytes) -> str:
    parts = []
    for part in _elements(name, "subject"):
        if part.tag != _SET:
            raise CertificateError(f"subject: expected a set, found tag {part.tag:#x}")
        parts.append("+".join(_attribute(each.content) for each in _elements(part.content, "subject")))
    return ",".join(reversed(parts))


def _attribute(content: bytes) -> str:
    pair = list(_elements(content, "subject"))
    if len(pair) != 2 or pair[0].tag != _OID:
        raise CertificateError("subject: expected a type and a value")
    kind, value = _oid(pair[0].content), pair[1]
    encoding = _ENCODINGS.get(value.tag)
    if kind not in _KEYWORDS or encoding is None:
        return f"{_KEYWORDS.get(kind, kind)}=#{value.encoded.hex()}"
    try:
        text = value.content.decode(encoding)
    except UnicodeDecodeError:
        raise CertificateError(f"subject: {_KEYWORDS[kind]} is not {encoding} text") from None
    return f"{_KEYWORDS[kind]}={_escape(text)}"


def _escape(text: str) -> str:
    r"""A value as RFC 2253 writes it.

    >>> _escape("a, b"), _escape(" #x "), _escape("")
    ('a\\, b', '\\ #x\\ ', '')
    """
    escaped = "".join(f"\\{each}" if each in _SPECIAL else each for each in text)
    if escaped[:1] in (" ", "#"):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if len(text) > 1 and text.endswith(" ") else escaped


def _oid(content: bytes) -> str:
    """An object identifier in dots.

    >>> _oid(bytes.fromhex("550403")), _oid(bytes.fromhex("2a864886f70d010901"))
    ('2.5.4.3', '1.2.840.113549.1.9.1')
    """
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers or content[-1] & 0x80:
        raise CertificateError(f"object identifier: expected complete numbers, found {content[:16].hex()}")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _alternative_names(extensions: bytes) -> Iterator[str]:
    (listed,) = _elements(extensions, "extensions", most=1)
    for extension in _elements(listed.content, "extensions"):
        parts = list(_elements(extension.content, "extension"))
        if len(parts) < 2 or parts[0].tag != _OID or _oid(parts[0].content) != _ALTERNATIVE_NAMES:
            continue
        (names,) = _elements(parts[-1].content, "subjectAltName", most=1)
        for name in _elements(names.content, "subjectAltName"):
            if name.tag == _IP and len(name.content) in (4, 16):
                yield f"IP:{ip_address(name.content)}"
            elif name.tag == _DNS:
                yield f"DNS:{name.content.decode('ascii', 'replace')}"
            else:
                yield f"{name.tag:#x}:{name.content.hex()}"


def _time(element: Element) -> datetime:
    text = element.content.decode("ascii", "replace")
    form = "%y%m%d%H%M%SZ" if element.tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        raise CertificateError(f"validity: expected a time, found {text!r}") from None
