"""Names of services for the pods of the tests: `names.py ADDRESS URL AUTHORITY TOKEN`.

Rules:
- `SERVICE.NAMESPACE.svc.cluster.local` is the address of the service, or of its pods if the service has none.
- Every other name does not exist. Only IPv4 is served.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import sys
import urllib.error
import urllib.request
from typing import Any, Final

_HEADER: Final = struct.Struct(">HHHHHH")
_IPV4: Final = 1
_NO_SUCH_NAME: Final = 3
_SUFFIX: Final = ("svc", "cluster", "local")


def main(address: str, url: str, authority: str, token: str) -> None:
    trusted = ssl.create_default_context(cafile=authority)

    def ask(path: str) -> Any:
        request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=10, context=trusted) as response:
                return json.load(response)
        except urllib.error.HTTPError:
            return None

    def addresses(labels: tuple[str, ...]) -> list[str] | None:
        if len(labels) != 5 or labels[2:] != _SUFFIX:
            return None
        path = f"/api/v1/namespaces/{labels[1]}"
        service = ask(f"{path}/services/{labels[0]}")
        if service is None:
            return None
        if (own := service["spec"].get("clusterIP", "None")) != "None":
            return [own]
        subsets = (ask(f"{path}/endpoints/{labels[0]}") or {}).get("subsets") or ()
        kinds = ("addresses", "notReadyAddresses")  # a driver is not ready before its executors are there
        return [each["ip"] for subset in subsets for kind in kinds for each in subset.get(kind, ())]

    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        query, client = server.recvfrom(4096)
        try:
            labels, kind, end = _question(query)
            found = addresses(labels)
        except (OSError, IndexError, struct.error, ValueError) as error:
            sys.stderr.write(f"{client}: {error}\n")
            continue
        server.sendto(_answer(query, end, kind, found), client)


def _question(query: bytes) -> tuple[tuple[str, ...], int, int]:
    labels, at = [], _HEADER.size
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    (kind,) = struct.unpack_from(">H", query, at + 1)
    return tuple(labels), kind, at + 5


def _answer(query: bytes, end: int, kind: int, found: list[str] | None) -> bytes:
    given = (found or []) if kind == _IPV4 else []
    number, flags, *_ = _HEADER.unpack_from(query)
    status = 0x8400 | (flags & 0x0100) | (_NO_SUCH_NAME if found is None else 0)
    records = b"".join(struct.pack(">HHHIH", 0xC00C, _IPV4, 1, 5, 4) + socket.inet_aton(each) for each in given)
    return _HEADER.pack(number, status, 1, len(given), 0, 0) + query[_HEADER.size : end] + records


if __name__ == "__main__":
    main(*sys.argv[1:])
