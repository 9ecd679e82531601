"""One client's connection.

Rules:
- One request is under way at a time; the next is served when its answer is out. So answers leave in order, and a
  client that does not read is not served.
- Answers of requests that came together leave together. An answer about records that are held in memory is queued as
  a call: its bytes exist, and can be sent, only after `Dispatcher.finish` has written the records.
- A connection is served for one turn at a time (`turns`); its further requests wait while others are served.
- Reading stops when enough waits unserved, when the peer does not read, or when the broker's memory is taken
  (`budget`). Memory of frames, of requests under way and of answers that the peer has not taken is counted.
- What a connection does wrong closes that connection, with one line in the log that says why.
"""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from kafkawire import platforms
from kafkawire.broker.dispatch import PRODUCE, Call, RefusedRequestError
from kafkawire.broker.events import tell, tells_all
from kafkawire.broker.inbox import Inbox
from kafkawire.broker.listeners import Endpoint
from kafkawire.broker.outbox import Outbox
from kafkawire.broker.pace import WINDOW_SECONDS, Pace
from kafkawire.broker.turns import TURN_SECONDS
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from socket import socket

    from kafkawire.broker.dispatch import Dispatcher
    from kafkawire.broker.server import Server

_log = logging.getLogger("kafkawire.broker")
RECORDED: Final = 64 * 1024
"""A frame of this size says something about the speed of its connection."""


class Connection(asyncio.BufferedProtocol):
    """Frames in, answers out."""

    def __init__(self, server: Server, dispatcher: Dispatcher, listener: str, socket: socket) -> None:
        self._server = server
        self._budget = server.budget
        self._socket = socket
        self._dispatcher = dispatcher
        self._listener = listener
        self._inbox = Inbox(server.scratch, server.max_request)
        self._task: asyncio.Task[None] | None = None
        self._reading = True
        self._unsent = False  # whether the transport holds bytes that the peer has not taken
        self._is_queued = False  # whether requests wait for this connection's next turn
        self._unwritten: list[Call] = []  # served, in order, and not answered until their records are written
        self.address = ("", 0)
        self.active = server.loop.time()
        self._pace = Pace(self.active)
        # since when the peer takes no answers, and what the system had to send then; None where it does not say
        self._blocked: tuple[float, int | None] = (0.0, 0)
        self.accounted = 0  # bytes of memory that the budget counts for this connection
        self.owes = False  # whether the budget lent memory to the frame that comes
        self._under_way = 0  # bytes of the request that is waited for
        self._parked = 0.0  # since when it waits for its client's own wish; 0 if it waits for the broker's work

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(0)
        peer = transport.get_extra_info("peername")
        self.address = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else ("", 0)
        self._outbox = Outbox(self._transport, self._socket)
        if tells_all():
            tell("connection opened", level=logging.DEBUG, client=self._client, listener=self._listener)
        refusal = self._server.admit(self)
        if refusal:
            self.refuse("limit", refusal)

    def connection_lost(self, error: Exception | None) -> None:
        if tells_all():
            tell("connection lost", level=logging.DEBUG, client=self._client, reason=str(error or "closed"))
        self._outbox.close()
        self._inbox.clear()
        if self._task is not None:
            self._task.cancel()
        self._server.forget(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._inbox.buffer(tight=self._budget.is_tight)

    def buffer_updated(self, count: int) -> None:
        inbox = self._inbox
        self.active = now = self._server.loop.time()
        if not inbox.held:
            self._pace.restart(now)
        inbox.received(count)
        self._pace.move(count, now)
        self._proceed()

    def pause_writing(self) -> None:
        self._unsent = True
        self._blocked = (self._server.loop.time(), platforms.unsent_bytes(self._socket))

    def resume_writing(self) -> None:
        self._unsent = False
        self.active = now = self._server.loop.time()
        self._pace.restart(now)
        self._proceed()

    @property
    def _client(self) -> str:
        return str(Endpoint(*self.address))

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way or waits for its turn, or an answer is not out yet."""
        return self._task is not None or self._is_queued or self._unsent or self._outbox.is_busy

    @property
    def is_waiting(self) -> bool:
        """Whether a request waits for its answer."""
        return self._task is not None or self._is_queued

    @property
    def is_parked(self) -> bool:
        """Whether a request waits as long as its client wants, a long poll say."""
        return self._task is not None and self._parked > 0

    @property
    def is_sending(self) -> bool:
        """Whether a frame is not whole and the broker waits for the peer to go on with it."""
        return self._reading and not self.is_busy and self._inbox.held > 0

    @property
    def lacking(self) -> int:
        """Bytes of the large frame that have not come yet."""
        return self._inbox.lacking

    @property
    def unread(self) -> int:
        """Bytes that the system has received and the broker has not."""
        return platforms.unread_bytes(self._socket)

    @property
    def speed(self) -> float:
        """Bytes per second of this connection's last large frames; 0 before the first."""
        return self._pace.speed

    def pace(self, now: float, unread: int = 0) -> float | None:
        """Bytes per second that the peer moves; None while it waits for the broker, or if it is too early to say."""
        if self.is_waiting:
            return 0.0 if self.is_parked and now - self._parked > WINDOW_SECONDS else None
        if self.is_busy:
            since, queued = self._blocked
            left, age = platforms.unsent_bytes(self._socket), now - since
            return None if age < WINDOW_SECONDS or queued is None or left is None else (queued - left) / age
        return self._pace.rate(now, unread) if self._reading else None

    def grant(self) -> None:
        """Memory is free again for the frame that waits for it."""
        if self._grow():
            self._account()
            self._resume()

    def refuse(self, kind: str, reason: str) -> None:
        """Close the connection, and say why."""
        tell("connection closed", level=logging.WARNING, client=self._client, kind=kind, reason=reason)
        self._server.metrics.refuse(kind)
        self.abort()

    def abort(self) -> None:
        """Close the connection without waiting for anything."""
        self._transport.abort()

    def _proceed(self) -> None:
        """Serve what can be served, and read on if there is room."""
        try:
            self._outbox.flush()
            try:
                self._serve_waiting()
            finally:
                self._answer_unwritten()
                self._outbox.flush()
        except KafkaWireError as error:
            self.refuse("request", str(error))
            return
        except ConnectionError:
            self.abort()
            return
        except OSError as error:
            self.refuse("network", f"sending failed: {error}")
            return
        except Exception:
            _log.exception("serving a request failed")
            self.refuse("fault", "a fault of this broker")
            return
        self._make_room()

    def _serve_waiting(self) -> None:
        inbox, outbox, transport, budget = self._inbox, self._outbox, self._transport, self._budget
        turn_ends = perf_counter() + TURN_SECONDS
        while not self._is_queued and self._task is None and not self._unsent:
            if outbox.is_busy or transport.is_closing():
                return
            frame = inbox.take(tight=budget.is_tight)
            if frame is None:
                return
            if len(frame) >= RECORDED:
                self._pace.finish(self.active)
            if self.owes:
                budget.settle(self)
            if self._serve(frame):
                outbox.flush()
            if perf_counter() > turn_ends and inbox.has_more:
                self._is_queued = True
                self._dispatcher.turns.call(self._begin_turn)

    def _begin_turn(self) -> bool:
        self._is_queued = False
        if self._transport.is_closing():
            return False
        self._proceed()
        return True

    def _serve(self, frame: bytes | memoryview) -> bool:
        """Serve a request; whether the answers should leave before the next."""
        call = self._dispatcher.begin(frame, self.address, self._listener, more=self._inbox.has_more)
        if isinstance(call, Call):
            if call.is_waiting:
                self._under_way = call.size
                self._parked = 0.0 if call.context.api.key == PRODUCE else self._server.loop.time()
                self._task = self._server.loop.create_task(self._wait(call))
                return False
            if call.is_unwritten:
                self._unwritten.append(call)
                return False
        if self._unwritten:
            self._answer_unwritten()
        return self._outbox.put(*self._dispatcher.finish(call)) if isinstance(call, Call) else self._put(call)

    def _put(self, answer: bytes) -> bool:
        return self._outbox.put([answer], len(answer))

    def _answer_unwritten(self) -> None:
        """Answer the requests whose records are held in memory; this writes the records."""
        self._dispatcher.node.write_held()
        calls, self._unwritten = self._unwritten, []
        for call in calls:
            self._outbox.put(*self._dispatcher.finish(call))

    async def _wait(self, call: Call) -> None:
        try:
            await self._dispatcher.wait(call)
            if not self._transport.is_closing():
                self._outbox.put(*self._dispatcher.finish(call))
        except RefusedRequestError as error:
            self.refuse("request", str(error))
        except Exception:
            _log.exception("serving a request failed")
            self.refuse("fault", "a fault of this broker")
        finally:
            self._task = None
            self._under_way = 0
        self.active = now = self._server.loop.time()
        self._pace.restart(now)
        if not self._transport.is_closing():
            self._proceed()

    def _make_room(self) -> None:
        if self._transport.is_closing():
            return
        inbox = self._inbox
        if inbox.wants_room and not self.is_busy:
            self._account()
            if not self._budget.reserve(self, inbox.wanted, inbox.frame_size):
                self._pause()
                return
            if not self._grow():
                return
        self._account()
        if inbox.is_full(tight=self._budget.is_tight and self.is_busy):
            self._pause()
        else:
            self._resume()

    def _grow(self) -> bool:
        try:
            self._inbox.grow()
        except KafkaWireError as error:
            self.refuse("memory", str(error))
            return False
        return True

    def _account(self) -> None:
        held = self._inbox.held + self._under_way + self._outbox.held
        if self._unsent:
            held += self._transport.get_write_buffer_size()
        if held != self.accounted:
            change, self.accounted = held - self.accounted, held
            self._budget.account(change, self)

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _resume(self) -> None:
        if not self._reading and not self._transport.is_closing():
            self._reading = True
            self._pace.restart(self._server.loop.time())
            self._transport.resume_reading()
