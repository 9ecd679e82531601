"""A document: bytes that are being looked at, and their trees, addressed by node and by buffer.

Rules:
- A document never changes. Other options, such as another version, make another document.
- A node is named by its place: the number of the frame and those of the children, with dots. `i` enters the
  decompressed bytes of a node: `0.2.13.i.0`.
- Frames that lie in one buffer share it. A buffer is named `b` and its number, decompressed bytes by their node.
- Children are kept for the nodes that were asked for last, because a tree makes them again on each call.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.inspect import joined_path
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.inspect import Asked, ExplainedNode, ExplainedSpace, Explanation

_KEPT: Final = 256


class Place(NamedTuple):
    """A node, where it is, and its path in the schema."""

    id: str
    node: ExplainedNode
    space: ExplainedSpace
    buffer: str
    path: str
    frame: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of bytes, so that a link can name them: a title, and the address of the view."""

    title: str = ""
    link: str = ""


class Document:
    """Bytes with their trees."""

    def __init__(
        self,
        frames: Sequence[Explanation],
        asked: Asked,
        *,
        note: str = "",
        unknown: bool = False,
        origin: Origin | None = None,
    ) -> None:
        self.frames = list(frames)
        self.asked, self.note, self.unknown = asked, note, unknown
        self.origin = origin or Origin()
        self.buffers: list[memoryview] = []
        self._buffer_of: list[str] = []
        for frame in frames:
            data = frame.space.data
            at = next((n for n, each in enumerate(self.buffers) if each is data or each.obj is data.obj), None)
            if at is None:
                at = len(self.buffers)
                self.buffers.append(data)
            self._buffer_of.append(f"b{at}")
        self._children: OrderedDict[str, Sequence[ExplainedNode]] = OrderedDict()
        self._lock = Lock()

    def roots(self) -> list[Place]:
        """The frames."""
        return [
            Place(str(number), frame.space.root, frame.space, self._buffer_of[number], "", number)
            for number, frame in enumerate(self.frames)
        ]

    def children(self, place: Place) -> Sequence[ExplainedNode]:
        """The children of a node, or those of its decompressed bytes."""
        with self._lock:
            if place.id in self._children:
                self._children.move_to_end(place.id)
                return self._children[place.id]
        found = place.node.children()
        if not found and place.node.inner is not None:
            found = place.node.inner.root.children()
        with self._lock:
            self._children[place.id] = found
            if len(self._children) > _KEPT:
                self._children.popitem(last=False)
        return found

    def below(self, place: Place, number: int, node: ExplainedNode) -> Place:
        """The place of a child."""
        path = joined_path(place.path, node.name)
        inner = place.node.inner
        if inner is not None and not place.node.children():
            return Place(f"{place.id}.i.{number}", node, inner, place.id, path, place.frame)
        return Place(f"{place.id}.{number}", node, place.space, place.buffer, path, place.frame)

    def place(self, name: str) -> Place:
        """The node of this name."""
        steps = [step for step in name.split(".") if step != "i"]
        if not steps or not all(step.isdecimal() and len(step) < 10 for step in steps):
            raise Problem(f"{name!r} is not a node", status=404)
        roots = self.roots()
        if int(steps[0]) >= len(roots):
            raise Problem(f"there is no frame {steps[0]}", status=404)
        place = roots[int(steps[0])]
        for step in steps[1:]:
            children = self.children(place)
            if int(step) >= len(children):
                raise Problem(f"{name!r} is not a node", status=404)
            place = self.below(place, int(step), children[int(step)])
        return place

    def buffer(self, name: str) -> memoryview:
        """The bytes of a buffer."""
        if name[:1] == "b" and name[1:].isdecimal() and len(name) < 10 and int(name[1:]) < len(self.buffers):
            return self.buffers[int(name[1:])]
        inner = self.place(name).node.inner
        if inner is None:
            raise Problem(f"{name!r} is not a buffer", status=404)
        return inner.data

    def at_offset(self, buffer: str, offset: int) -> list[Place]:
        """The nodes that contain a byte, the outermost first."""
        if buffer[:1] == "b":
            chain = [each for each in self.roots() if each.buffer == buffer and _contains(each.node, offset)][:1]
        else:
            chain = [self.place(buffer)]
        while chain:
            children = self.children(chain[-1])
            low, high = 0, len(children)
            while low < high:  # children are in the order of their offsets
                middle = (low + high) // 2
                if children[middle].end <= offset:
                    low = middle + 1
                else:
                    high = middle
            if low >= len(children) or not _contains(children[low], offset):
                break
            inside = self.below(chain[-1], low, children[low])
            if inside.buffer != buffer:
                break
            chain.append(inside)
        return chain

    def at_path(self, frame: int, path: str) -> Place | None:
        """The node with a path."""
        place, left = self.roots()[frame], path
        while left:
            for number, node in enumerate(self.children(place)):
                rest = left[len(node.name) :]
                if node.name and left.startswith(node.name) and (not rest or rest[0] in ".["):
                    place, left = self.below(place, number, node), rest.removeprefix(".")
                    break
            else:
                return None
        return place


def _contains(node: ExplainedNode, offset: int) -> bool:
    return node.offset <= offset < node.end
