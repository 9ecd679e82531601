"""One client's connection.

Rules:
- One request is under way at a time. The next one is served when its response is sent. So responses leave in order, and
  a client that stops reading stops being served.
- Responses of requests that arrived together leave together. A response about records that are held in memory is kept
  as a `Call`. Its bytes exist, and can be sent, only after `Dispatcher.finish` has written the records.
- A connection is served for one turn at a time (`turns`). Its further requests wait while others are served.
- Reading stops when enough requests wait, when the peer does not read, or when the broker's memory is used up
  (`budget`). Memory of frames, of requests under way and of unsent responses is counted.
- A client that exceeds a quota gets its response at once. Then its connection is not read, and its next requests are
  not served, for the throttle time (KIP-219).
- A violation of the protocol closes its connection, with one line in the log that contains the reason.
"""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from kafkawire import _platforms as platforms
from kafkawire.broker._dispatch.dispatcher import RefusedRequestError
from kafkawire.broker._dispatch.route import PRODUCE
from kafkawire.broker._dispatch.turns import TURN_SECONDS
from kafkawire.broker._net.listeners import Endpoint
from kafkawire.broker._net.receive_rate import WINDOW_SECONDS, ReceiveRate
from kafkawire.broker._net.send_queue import send_queue
from kafkawire.broker._ops.event_log import debug_enabled, log_event
from kafkawire.broker._security.peer import Peer
from kafkawire.exceptions import KafkaWireError
from kafkawire.wire.receive_buffer import ReceiveBuffer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

    from kafkawire._codec.parts import Part
    from kafkawire.broker._clock import Timer
    from kafkawire.broker._dispatch.call import Call
    from kafkawire.broker._dispatch.dispatcher import Dispatcher
    from kafkawire.broker._net.server import Server
    from kafkawire.broker._security.listeners import ListenerSecurity
    from kafkawire.broker._security.tls import ListenerTls

_log = logging.getLogger("kafkawire.broker")
RECORDED: Final = 64 * 1024
"""Frames of at least this size are used to measure the speed of their connection."""
SCRATCH: Final = 256 * 1024
FIRST_ROOM: Final = 256 * 1024
READ_SIZE: Final = 256 * 1024  # libuv repeats a full read up to 32 times before it looks at another connection


class Connection(asyncio.BufferedProtocol):
    """Receives frames and sends responses."""

    def __init__(self, server: Server, dispatcher: Dispatcher, security: ListenerSecurity, socket: socket) -> None:
        self._server = server
        self._budget = server.budget
        self._socket = socket
        self._dispatcher = dispatcher
        self._security = security
        self.peer = Peer(security.name, security.protocol)
        self._received = ReceiveBuffer(
            server.max_request, server.scratch, first_room=FIRST_ROOM, read_size=READ_SIZE, maps_memory=True
        )
        self._task: asyncio.Task[None] | None = None
        self._reading = True
        self._unsent = False  # whether the transport has bytes that the peer has not taken
        self._is_queued = False  # whether requests wait for this connection's next turn
        self._held: list[Call] = []  # in order; their responses leave when their records are written
        self.active = server.loop.time()
        self._rate = ReceiveRate(self.active)
        # since when the peer does not read, and the system's unsent bytes then; None if the system does not report them
        self._blocked: tuple[float, int | None] = (0.0, 0)
        self.accounted = 0  # bytes of memory that the budget counts for this connection
        self.owes = False  # whether the budget lent memory to the frame that arrives
        self._under_way = 0  # bytes of the request under way
        self._muted: Timer | None = None  # runs while a quota is exceeded
        self._parked = 0.0  # since when it waits because its client asked for it; 0 if it waits for the broker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # with a limit of 0 a TLS transport would pause after every write, and resume within the next one
        self._transport.set_write_buffer_limits(1 if self.peer.protocol.uses_tls else 0, 0)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.peer.address = (str(peer[0]), int(peer[1]))
        self._queue = send_queue(self._transport, self._socket)
        if debug_enabled():
            log_event("connection opened", level=logging.DEBUG, client=self._client, listener=self.peer.listener)
        refusal = self._server.admit(self)
        if refusal:
            self.refuse("limit", refusal)
        elif self._security.tls is not None:
            self._identify(self._security.tls)

    def connection_lost(self, error: Exception | None) -> None:
        if debug_enabled():
            log_event("connection lost", level=logging.DEBUG, client=self._client, reason=str(error or "closed"))
        self._queue.close()
        self._received.clear()
        if self._muted is not None:
            self._muted.cancel()
        if self._task is not None:
            self._task.cancel()
        self._dispatcher.node.disconnected(self.peer)
        self._server.forget(self)

    def _identify(self, tls: ListenerTls) -> None:
        """Take the principal from the client's certificate; with SASL it does not name the user."""
        if not self.peer.protocol.uses_sasl:
            from kafkawire.broker._security.tls import UnknownSubjectError

            certificate = self._transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            try:
                self.peer.principal = tls.principal(certificate)
            except UnknownSubjectError as error:
                self.refuse("authentication", str(error))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._received.buffer(tight=self._budget.is_tight)

    def buffer_updated(self, count: int) -> None:
        received = self._received
        self.active = now = self._server.loop.time()
        begins = not received.held
        if not begins:
            self._rate.add(count, now)
        elif count >= RECORDED:
            self._rate.restart(now, count)
        received.add(count)
        self._proceed()
        if begins and count < RECORDED and received.held:  # most small reads are whole frames
            self._rate.restart(now, count)

    def pause_writing(self) -> None:
        self._unsent = True
        self._blocked = (self._server.loop.time(), platforms.unsent_bytes(self._socket))

    def resume_writing(self) -> None:
        self._unsent = False
        self.active = now = self._server.loop.time()
        self._rate.restart(now)
        self._proceed()

    @property
    def _client(self) -> str:
        return str(Endpoint(*self.peer.address))

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way or waits for its turn, or a response is not sent yet."""
        return self.is_waiting or self._unsent or self._queue.is_busy

    @property
    def is_waiting(self) -> bool:
        """Whether a request waits for its response, or the next one for the end of a throttle time."""
        return self._task is not None or self._is_queued or self._muted is not None

    @property
    def is_parked(self) -> bool:
        """Whether a request waits because its client asked for it, such as a long poll."""
        return self._task is not None and self._parked > 0

    @property
    def is_sending(self) -> bool:
        """Whether a frame is incomplete and the broker waits for the peer to continue."""
        return self._reading and not self.is_busy and self._received.held > 0

    @property
    def lacking(self) -> int:
        """Bytes of the large frame that have not arrived yet."""
        return self._received.lacking

    @property
    def unread(self) -> int:
        """Bytes that the system has received and the broker has not read."""
        return platforms.unread_bytes(self._socket)

    @property
    def speed(self) -> float:
        """Bytes per second of this connection's last large frames; 0 before the first."""
        return self._rate.speed

    def pace(self, now: float, unread: int = 0) -> float | None:
        """Bytes per second that the peer sends or reads; None while it waits for the broker, or if it is too early."""
        if self.is_waiting:
            return 0.0 if self.is_parked and now - self._parked > WINDOW_SECONDS else None
        if self.is_busy:
            since, queued = self._blocked
            left, age = platforms.unsent_bytes(self._socket), now - since
            return None if age < WINDOW_SECONDS or queued is None or left is None else (queued - left) / age
        return self._rate.rate(now, unread) if self._reading else None

    def grant(self) -> None:
        """Continue the frame that waits for memory, because memory is free again."""
        if self._grow():
            self._account()
            self._resume()

    def refuse(self, kind: str, reason: str) -> None:
        """Close the connection, and log the reason."""
        log_event("connection closed", level=logging.WARNING, client=self._client, kind=kind, reason=reason)
        self._server.metrics.refuse(kind)
        self.abort()

    def abort(self) -> None:
        """Close the connection without waiting for anything."""
        self._transport.abort()

    def _proceed(self) -> None:
        """Serve the requests that have arrived, and continue reading if there is room."""
        try:
            self._queue.flush()
            try:
                self._serve_waiting()
            finally:
                self._answer_pending()
                self._queue.flush()
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
            self.refuse("fault", "internal error of this broker")
            return
        self._make_room()

    def _serve_waiting(self) -> None:
        received, queue, transport, budget = self._received, self._queue, self._transport, self._budget
        turn_ends = perf_counter() + TURN_SECONDS
        while not self._is_queued and self._task is None and not self._unsent and self._muted is None:
            if queue.is_busy or transport.is_closing():
                return
            frame = received.take(tight=budget.is_tight)
            if frame is None:
                return
            if len(frame) >= RECORDED:
                self._rate.finish(self.active)
            if self.owes:
                budget.repay(self)
            if self._serve(frame):
                queue.flush()
            if not received.has_more:
                return
            if perf_counter() > turn_ends:
                self._is_queued = True
                self._dispatcher.turns.call(self._begin_turn)

    def _begin_turn(self) -> bool:
        self._is_queued = False
        if self._transport.is_closing():
            return False
        self._proceed()
        return True

    def _serve(self, frame: bytes | memoryview) -> bool:
        """Serve a request; returns whether the responses should leave before the next one."""
        call = self._dispatcher.begin(frame, self.peer, more=self._received.has_more, may_join=True)
        if call is None:  # its response leaves with those of the run
            self._answer_before_run()
            return False
        if self._dispatcher.run.answers:
            self._queue.put(*self._dispatcher.run.take_answers())
        if isinstance(call, bytes):
            response: tuple[Sequence[Part], int] = [call], len(call)
        elif call.frame is not None:
            response = call.frame
        elif call.is_waiting:
            self._under_way = call.size
            self._parked = 0.0 if call.context.api.key == PRODUCE else self._server.loop.time()
            self._task = self._server.loop.create_task(self._wait(call))
            return False
        else:
            self._held.append(call)
            if call.context.throttle_ms:
                self._mute(call)
            return False
        if self._held:
            self._answer_held()
        if not isinstance(call, bytes) and call.context.throttle_ms:
            self._mute(call)
        return self._queue.put(*response)

    def _mute(self, call: Call) -> None:
        """Serve and read nothing for the throttle time of a request."""
        if not call.context.throttle_ms:
            return
        if self._muted is not None:
            self._muted.cancel()
        self._muted = self._dispatcher.node.clock.call_later(call.context.throttle_ms, self._unmute)

    def _unmute(self) -> None:
        self._muted = None
        self.active = now = self._server.loop.time()
        self._rate.restart(now)
        if not self._transport.is_closing():
            self._proceed()

    def _answer_before_run(self) -> None:
        """Send the responses about held records, which come before those of a run that has begun."""
        if self._held:
            try:
                self._answer_held()
            except BaseException:
                self._dispatcher.run.drop()  # the connection is closed, and no response may follow a missing one
                raise

    def _answer_pending(self) -> None:
        """Write all records that wait in memory, and send the responses about them."""
        dispatcher = self._dispatcher
        if self._held or dispatcher.node.held is not None:
            self._answer_held()
        if dispatcher.run.requests:
            dispatcher.write_run()
        if dispatcher.run.answers:
            self._queue.put(*dispatcher.run.take_answers())

    def _answer_held(self) -> None:
        """Write the records that are held in memory, and send the responses about them."""
        self._dispatcher.node.write_held()
        calls, self._held = self._held, []
        for call in calls:
            self._queue.put(*self._dispatcher.finish(call))
            self._mute(call)

    async def _wait(self, call: Call) -> None:
        try:
            await self._dispatcher.wait(call)
            if not self._transport.is_closing():
                self._queue.put(*self._dispatcher.finish(call))
                self._mute(call)
        except RefusedRequestError as error:
            self.refuse("request", str(error))
        except Exception:
            _log.exception("serving a request failed")
            self.refuse("fault", "internal error of this broker")
        finally:
            self._task = None
            self._under_way = 0
        self.active = now = self._server.loop.time()
        self._rate.restart(now)
        if not self._transport.is_closing():
            self._proceed()

    def _make_room(self) -> None:
        if self._transport.is_closing():
            return
        received = self._received
        if received.wants_room and not self.is_busy:
            self._account()
            if not self._budget.reserve(self, received.wanted, received.frame_size):
                self._pause()
                return
            if not self._grow():
                return
        self._account()
        if self._muted is not None or received.is_full(tight=self._budget.is_tight and self.is_busy):
            self._pause()
        else:
            self._resume()

    def _grow(self) -> bool:
        try:
            self._received.grow()
        except KafkaWireError as error:
            self.refuse("memory", str(error))
            return False
        return True

    def _account(self) -> None:
        held = self._received.held + self._under_way + self._queue.held
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
            self._rate.restart(self._server.loop.time())
            self._transport.resume_reading()
