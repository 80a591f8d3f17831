"""One HTTP exchange on a connection of its own, and nothing else: never sent a second time, no
redirect followed.

What a caller has to know afterwards is one of three things: no byte of the request left; bytes
left and no whole answer came back; a whole answer. Nothing here is raised.
"""
from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import threading
import time
from base64 import b64encode
from typing import Any, BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import unquote, urlsplit

from .proxy import PORT, proxy_for

NOT_LEFT, UNCLEAR, ANSWERED = 'not left', 'unclear', 'answered'
ANSWER_BYTES_MAX = 64 * 1024 * 1024
PIECE_BYTES = 64 * 1024

Headers = List[Tuple[str, str]]


class Reply(NamedTuple):
    kind: str
    why: str = ''
    status: int = 0
    headers: Headers = []
    body: bytes = b''

    def get(self, name: str) -> Optional[str]:
        return next((value for key, value in self.headers if key.lower() == name), None)


class Route(NamedTuple):
    """How a service is reached."""
    ca_file: Optional[str] = None      # instead of the system's certificates
    client_cert: Optional[str] = None  # PEM, with its key unless that is in a file of its own
    client_key: Optional[str] = None
    insecure: bool = False             # the server's certificate is not checked
    proxy: Optional[str] = None        # http://[user:password@]host:port; "": none; None: the environment's
    no_proxy: Optional[str] = None     # hosts that are reached without it; None: the environment's
    connect_timeout: float = 10.0      # seconds until the connection stands, TLS and a tunnel in it


def exchange(method: str, url: str, headers: Headers, body: Optional[bytes], timeout_s: float,
             route: Route) -> Reply:
    """Send one request; all of it takes `timeout_s` at most."""
    end = time.monotonic() + timeout_s
    try:
        connection, target, more = _connection(url, timeout_s, route)
    except (OSError, ValueError) as error:
        return Reply(NOT_LEFT, f'{type(error).__name__}: {error}')
    with contextlib.closing(connection), _Line(connection) as line:
        try:
            line.connect(min(route.connect_timeout, timeout_s))
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Reply(NOT_LEFT, f'not connected: {error}')
        with line.deadline(end - time.monotonic()) as is_over:
            try:
                reply = _talk(connection, method, target, headers + more, body)
                return Reply(UNCLEAR, 'no whole answer in time') if is_over.is_set() else reply
            except (OSError, http.client.HTTPException, ValueError) as error:
                return Reply(UNCLEAR, f'no whole answer: {type(error).__name__} {error}'.rstrip())


class _Lines:
    """A connection's file that remembers the last line read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.last = file, b''

    def readline(self, *limit: int) -> bytes:
        self.last = self.file.readline(*limit)
        return self.last

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class _Response(http.client.HTTPResponse):
    """http.client takes the end of a connection inside the head for the head's end; this does not."""

    def begin(self) -> None:
        lines = _Lines(self.fp)
        self.fp = lines  # type: ignore[assignment]
        super().begin()
        if lines.last.strip(b'\r\n') or not lines.last:
            raise http.client.IncompleteRead(lines.last)


def _talk(connection: http.client.HTTPConnection, method: str, target: str, headers: Headers,
          body: Optional[bytes]) -> Reply:
    names = {name.lower() for name, _ in headers}
    connection.putrequest(method, target, skip_host='host' in names, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value.encode('latin-1'))
    if body is not None or method != 'GET':
        connection.putheader('Content-Length', str(len(body or b'')))
    connection.putheader('Connection', 'close')
    connection.response_class = _Response
    connection.endheaders(body)
    answer = connection.getresponse()
    return Reply(ANSWERED, '', answer.status, answer.getheaders(), _content(answer))


def _content(answer: http.client.HTTPResponse) -> bytes:
    content = bytearray()
    while piece := answer.read(PIECE_BYTES):
        content += piece
        if len(content) > ANSWER_BYTES_MAX:
            raise ValueError(f'the answer is larger than {ANSWER_BYTES_MAX} bytes')
    if answer.length:
        raise http.client.IncompleteRead(bytes(content), answer.length)
    return bytes(content)


def _connection(url: str, timeout_s: float, route: Route
                ) -> Tuple[http.client.HTTPConnection, str, Headers]:
    """A connection that is not open yet, what to ask it for, and what its proxy has to be told."""
    parts = urlsplit(url)
    target = url[len(f'{parts.scheme}://{parts.netloc}'):]
    secure = _context(route) if parts.scheme == 'https' else None
    through = proxy_for(url, route.proxy, route.no_proxy, os.environ)
    if not through:
        return _to(parts.hostname, parts.port, secure, timeout_s), target, []
    proxy = urlsplit(through)
    if proxy.scheme != 'http' or not proxy.hostname:
        raise ValueError('a proxy is given as http://host:port')
    told = _proxy_headers(proxy.username, proxy.password)
    if secure is None:
        return _to(proxy.hostname, proxy.port or PORT, None, timeout_s), url, list(told.items())
    connection = _to(proxy.hostname, proxy.port or PORT, secure, timeout_s)
    connection.set_tunnel(parts.hostname or '', parts.port or 443, headers=told)
    return connection, target, []


def _to(host: Optional[str], port: Optional[int], secure: Optional[ssl.SSLContext],
        timeout_s: float) -> http.client.HTTPConnection:
    if secure is None:
        return http.client.HTTPConnection(host or '', port, timeout=timeout_s)
    return http.client.HTTPSConnection(host or '', port, timeout=timeout_s, context=secure)


def _context(route: Route) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=route.ca_file)
    if route.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if route.client_cert:
        context.load_cert_chain(route.client_cert, route.client_key)
    return context


def _proxy_headers(user: Optional[str], password: Optional[str]) -> Dict[str, str]:
    if user is None:
        return {}
    pair = f'{unquote(user)}:{unquote(password or "")}'
    return {'Proxy-Authorization': 'Basic ' + b64encode(pair.encode()).decode()}


class _Line:
    """A connection's socket, and when it has to be done with: a socket's own time-out begins anew with
    each byte, and with each address that is tried; this one does not."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection, self.end = connection, 0.0
        self.sock: Optional[socket.socket] = None  # the connection's, below its TLS
        connection._create_connection = self._reach  # type: ignore[attr-defined]

    def __enter__(self) -> '_Line':
        return self

    def __exit__(self, *_: Any) -> None:
        if self.sock:
            self.sock.close()

    def connect(self, seconds: float) -> None:
        """TCP, a proxy's tunnel and TLS, within so many seconds."""
        lasting, self.end = self.connection.timeout, time.monotonic() + seconds
        with self.deadline(seconds) as is_over:
            try:
                self.connection.timeout = seconds
                self.connection.connect()
            except OSError as error:
                raise OSError('no connection in time') if is_over.is_set() else error
        if is_over.is_set():
            raise OSError('no connection in time')
        self.connection.sock.settimeout(lasting)

    def _reach(self, address: Tuple[str, int], *_: Any) -> socket.socket:
        """The first of its addresses that answers."""
        refusal: OSError = OSError('no address was found')
        for family, kind, protocol, _, place in self._addresses(address):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(max(self.end - time.monotonic(), 0.001))
                sock.connect(place)
                self.sock = sock.dup()  # TLS takes the socket itself away
                return sock
            except OSError as error:
                sock.close()
                refusal = error
        raise refusal

    def _addresses(self, address: Tuple[str, int]) -> List[Any]:
        """What the resolver has; it knows no time-out, so it is not waited for beyond the end."""
        found: List[Any] = []

        def ask() -> None:
            try:
                found.append(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                found.append(error)
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(max(self.end - time.monotonic(), 0))
        if not found:
            raise OSError('the name was not resolved in time')
        if isinstance(found[0], Exception):
            raise OSError(str(found[0])) from found[0]
        return found[0]

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[threading.Event]:
        """Hang up when the time is over; the event says that it was."""
        is_over = threading.Event()

        def end() -> None:
            is_over.set()
            with contextlib.suppress(OSError):
                if self.sock:
                    self.sock.shutdown(socket.SHUT_RDWR)
        timer = threading.Timer(max(seconds, 0), end)
        timer.daemon = True
        timer.start()
        try:
            yield is_over
        finally:
            timer.cancel()
