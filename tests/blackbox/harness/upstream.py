"""The service behind the gate, as unreliable as a test wants it.

It has no idempotency of its own: every request that it has READ to the end is an effect,
unless the behaviour says that no work was done. Answers are what the gate may believe;
`effects()` and `seen()` are what happened. Each request is kept with its exact bytes.

A behaviour is a function of one `Exchange`. `plan(path, first, second, …)` queues them for a
path, one for each request; without a plan a write is answered 201 with an id that no other
answer has, and a read 200. `on_connect('reset', …)` is for connections, before anything is
read. A behaviour marked `at_head` runs before the body has been read.
"""
import collections
import hashlib
import itertools
import json
import socket
import struct
import threading
import time

BODY_KEPT = 4 << 20        # longer bodies are kept as length and digest only
WAIT_MAX = 60              # seconds a held or hanging exchange lives at most


class Seen:
    """One request as it arrived."""

    def __init__(self, connection, nth):
        self.connection, self.nth = connection, nth    # which connection; 1st, 2nd… on it
        self.method = self.target = self.version = ''
        self.headers, self.head = [], b''
        self.body, self.length, self.digest = b'', 0, ''
        self.framing, self.trailers = 'none', b''
        self.is_effect, self.at = True, 0.0

    @property
    def path(self):
        return self.target.split('?')[0]

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name, default=None):
        return (self.all(name) or [default])[0]

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f'<{self.method} {self.target} #{self.nth} on {self.connection}>'


class Gone(Exception):
    """The peer went away, or the upstream is being stopped."""


class Exchange:
    """One request on its connection, and what to do about it."""

    def __init__(self, upstream, sock, request):
        self.upstream, self.sock, self.request = upstream, sock, request
        self.is_open = True
        self.read_body = lambda: None

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError as broken:
            raise Gone from broken

    def answer(self, status=200, headers=(), body=b'', length=True):
        lines = [f'HTTP/1.1 {status} Whatever', 'Date: ' + self.upstream.date()]
        lines += [f'{name}: {value}' for name, value in headers]
        if length and status not in (204, 304):
            lines.append(f'Content-Length: {len(body)}')
        head = '\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n'
        self.send(head if self.request.method == 'HEAD' else head + body)

    def wait(self, seconds):
        if self.upstream.is_stopping.wait(seconds):
            raise Gone

    def close(self):
        self.is_open = False
        hang_up(self.sock)

    def reset(self):
        self.is_open = False
        reset_socket(self.sock)


class Hold:
    """A request that waits inside the service: `entered` when it was read, until `release()`."""

    def __init__(self):
        self.entered = threading.Event()
        self.released = threading.Event()

    def wait_entered(self, seconds=10):
        assert self.entered.wait(seconds), 'the request never reached the upstream'

    def release(self):
        self.released.set()


class Upstream:
    def __init__(self, tls=None, listening=True):
        self.tls, self.lock = tls, threading.Lock()
        self.numbers = itertools.count(1)
        self.is_stopping = threading.Event()
        self.sockets, self.threads = set(), []
        self.forget()
        self.listener = new_listener(0)
        self.port = self.listener.getsockname()[1]
        self.is_listening = False
        if listening:
            self.listen()

    # -- what happened ---------------------------------------------------------------

    def seen(self, path=None, since=0):
        """Requests read to their end, in order; of one path, or since a mark."""
        with self.lock:
            return [r for r in self._seen[since:] if path is None or r.path == path]

    def effects(self, path=None, since=0):
        return sum(1 for r in self.seen(path, since) if r.is_effect)

    def mark(self):
        with self.lock:
            return len(self._seen)

    def by(self, key):
        """A Counter of effects by `key(seen)`."""
        return collections.Counter(key(r) for r in self.seen() if r.is_effect)

    def last(self, path):
        return self.seen(path)[-1]

    def wait_seen(self, path, count=1, seconds=10):
        deadline = time.monotonic() + seconds
        while len(self.seen(path)) < count:
            assert time.monotonic() < deadline, f'{path}: {len(self.seen(path))} of {count} arrived'
            time.sleep(0.01)

    # -- what is to happen -----------------------------------------------------------

    def plan(self, path, *behaviours):
        with self.lock:
            self._plans[path].extend(behaviours)

    def always(self, path, behaviour):
        with self.lock:
            self._always[path] = behaviour

    def on_connect(self, *faults):
        """'reset' or 'close' for the next connections, one each, before a byte is read."""
        with self.lock:
            self._faults.extend(faults)

    def forget(self):
        with self.lock:
            self._seen, self.bytes_in, self.connections = [], 0, 0
            self._plans = collections.defaultdict(collections.deque)
            self._always, self._faults = {}, collections.deque()
            self.default = created()   # for paths without a plan
            self.broken = []           # (connection, bytes) of requests that never got whole

    def date(self):
        return time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())

    @property
    def url(self):
        return f'http{"s" if self.tls else ""}://{"localhost" if self.tls else "127.0.0.1"}:{self.port}'

    # -- sockets ---------------------------------------------------------------------

    def listen(self):
        """Start accepting; before this, connections to the port are refused."""
        self.listener.listen(4096)
        self.is_listening = True
        self._spawn(self._accept)

    def hang_up_all(self):
        """Close every connection from this side."""
        with self.lock:
            sockets = list(self.sockets)
        for sock in sockets:
            hang_up(sock)

    def stop(self):
        self.is_stopping.set()
        hang_up(self.listener)
        self.listener.close()
        self.hang_up_all()
        for thread in self.threads:
            thread.join(timeout=5)

    def _spawn(self, function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        while not self.is_stopping.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.sockets.add(sock)
                self.connections += 1
                number = self.connections
                fault = self._faults.popleft() if self._faults else None
            if fault == 'reset':
                reset_socket(sock)
            elif fault == 'close':
                hang_up(sock)
            else:
                self._spawn(self._serve, sock, number)

    def _serve(self, sock, number):
        raw = sock
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            reader = Reader(self, sock)
            for nth in itertools.count(1):
                if not self._one(reader, sock, Seen(number, nth)):
                    return
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.sockets.discard(raw)
            hang_up(sock)
            sock.close()

    def _one(self, reader, sock, request):
        """Read and answer one request; False when the connection is to end."""
        if not reader.head(request):
            return False
        behaviour = self._pick(request)
        exchange = Exchange(self, sock, request)

        def read_body():
            try:
                reader.body(request)
            except Gone:
                with self.lock:
                    self.broken.append((request.connection, request.head))
                raise
            self._note(request, behaviour)

        if getattr(behaviour, 'at_head', False):
            exchange.read_body = read_body
        else:
            read_body()
        behaviour(exchange)
        return exchange.is_open and (request.get('Connection') or '').lower() != 'close'

    def _pick(self, request):
        with self.lock:
            plans = self._plans.get(request.path)
            if plans:
                return plans.popleft()
            return self._always.get(request.path, self.default)

    def _note(self, request, behaviour):
        request.at = time.monotonic()
        request.is_effect = getattr(behaviour, 'works', True)
        with self.lock:
            self._seen.append(request)


class Reader:
    """Requests off one connection. Lenient on purpose: what it is sent, it acts on."""

    def __init__(self, upstream, sock):
        self.upstream, self.sock, self.buffer = upstream, sock, b''

    def head(self, request):
        while b'\r\n\r\n' not in self.buffer:
            if not self._more():
                if self.buffer:
                    with self.upstream.lock:
                        self.upstream.broken.append((request.connection, self.buffer))
                return False
        request.head, self.buffer = self._split(self.buffer.index(b'\r\n\r\n') + 4)
        first, *lines = request.head.decode('latin-1').split('\r\n')
        request.method, request.target, request.version = first.split(' ')
        request.headers = [(n, v.strip()) for n, _, v in (l.partition(':') for l in lines if l)]
        return True

    def body(self, request):
        sha, pieces = hashlib.sha256(), []
        for piece in self._pieces(request):
            sha.update(piece)
            request.length += len(piece)
            if request.length <= BODY_KEPT:
                pieces.append(piece)
        request.digest = sha.hexdigest()
        request.body = b''.join(pieces) if request.length <= BODY_KEPT else None

    def _pieces(self, request):
        if (request.get('Transfer-Encoding') or '').lower() == 'chunked':
            request.framing = 'chunked'
            yield from self._chunks(request)
        elif request.get('Content-Length'):
            request.framing = 'length'
            yield from self._run(int(request.get('Content-Length')))

    def _run(self, left):
        while left:
            if not self.buffer and not self._more():
                raise Gone
            piece, self.buffer = self._split(min(left, len(self.buffer)))
            left -= len(piece)
            yield piece

    def _chunks(self, request):
        while True:
            size = int(self._line().split(b';')[0].strip(), 16)
            if size == 0:
                while (line := self._line()) != b'\r\n':
                    request.trailers += line
                return
            yield from self._run(size)
            self._line()

    def _line(self):
        while b'\r\n' not in self.buffer:
            if not self._more():
                raise Gone
        line, self.buffer = self._split(self.buffer.index(b'\r\n') + 2)
        return line

    def _split(self, at):
        return self.buffer[:at], self.buffer[at:]

    def _more(self):
        try:
            piece = self.sock.recv(262144)
        except OSError as broken:
            raise Gone from broken
        with self.upstream.lock:
            self.upstream.bytes_in += len(piece)
        self.buffer += piece
        return piece


# -- behaviours ------------------------------------------------------------------------


def behaviour(function, works=True, at_head=False):
    function.works, function.at_head = works, at_head
    return function


def answer(status=201, headers=(), body=None, works=True, keep=True):
    """A whole answer; without `body`, a JSON object whose id no other answer has."""
    def act(ex):
        if body is None:
            content = json.dumps({'id': f'obj_{next(ex.upstream.numbers)}',
                                  'path': ex.request.path}).encode()
            fields = [('Content-Type', 'application/json'), *headers]
        else:
            content, fields = body, list(headers)
        if not keep:
            fields.append(('Connection', 'close'))
        ex.answer(status, fields, b'' if status in (204, 304) else content)
        if not keep:
            ex.close()
    return behaviour(act, works)


def created():
    def act(ex):
        is_read = ex.request.method in ('GET', 'HEAD', 'OPTIONS')
        return answer(200 if is_read else 201)(ex)
    return behaviour(act)


def echo():
    """200 with the body that came, under its own media type."""
    def act(ex):
        media = ex.request.get('Content-Type', 'application/octet-stream')
        ex.answer(200, [('Content-Type', media)], ex.request.body or b'')
    return behaviour(act)


def drop(works=True):
    """Do the work, then close without a byte of an answer."""
    return behaviour(lambda ex: ex.close(), works)


def reset(works=True):
    """Do the work, then reset the connection."""
    return behaviour(lambda ex: ex.reset(), works)


def reset_at_head():
    """Reset as soon as the head was read, the body not."""
    return behaviour(lambda ex: ex.reset(), at_head=True)


def half(status=201, framing='length'):
    """Do the work, then close in the middle of the answer."""
    def act(ex):
        if framing == 'length':
            ex.send(b'HTTP/1.1 %d Half\r\nContent-Type: application/json\r\nContent-Length: 100\r\n'
                    b'\r\n{"id": "ha' % status)
        elif framing == 'chunked':
            ex.send(b'HTTP/1.1 %d Half\r\nContent-Type: application/json\r\n'
                    b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n' % status)
        else:
            ex.send(b'HTTP/1.1 %d Half\r\nContent-Ty' % status)
        ex.close()
    return behaviour(act)


def raw(data, close=True):
    """Exactly these bytes for an answer."""
    def act(ex):
        ex.send(data)
        if close:
            ex.close()
    return behaviour(act)


def delayed(seconds, then=None):
    then = then or created()

    def act(ex):
        ex.wait(seconds)
        then(ex)
    return behaviour(act, then.works)


def held(hold, then=None):
    """Wait inside the service until the test lets go."""
    then = then or created()

    def act(ex):
        hold.entered.set()
        deadline = time.monotonic() + WAIT_MAX
        while not hold.released.wait(0.05) and time.monotonic() < deadline:
            ex.wait(0)
        then(ex)
    return behaviour(act, then.works)


def hang():
    """Do the work and never answer."""
    return behaviour(lambda ex: ex.wait(WAIT_MAX))


def interim(*statuses, then=None, headers=()):
    """Informational answers before the final one."""
    then = then or created()

    def act(ex):
        for status in statuses:
            lines = ''.join(f'{n}: {v}\r\n' for n, v in headers)
            ex.send(f'HTTP/1.1 {status} Wait\r\n{lines}\r\n'.encode())
        then(ex)
    return behaviour(act, then.works)


def chunks(*pieces, status=200, headers=(), trailers=b''):
    """A chunked answer out of these pieces."""
    def act(ex):
        lines = ''.join(f'{n}: {v}\r\n' for n, v in headers)
        ex.send(f'HTTP/1.1 {status} Chunks\r\nTransfer-Encoding: chunked\r\n{lines}\r\n'.encode())
        for piece in pieces:
            ex.send(b'%x\r\n%s\r\n' % (len(piece), piece))
        ex.send(b'0\r\n' + trailers + b'\r\n')
    return behaviour(act)


def stream(total, piece=65536, counter=None, status=200):
    """`total` bytes with a length, in pieces; `counter[0]` grows as the peer takes them."""
    block = b'\xa5' * piece

    def act(ex):
        ex.send(f'HTTP/1.1 {status} Long\r\nContent-Type: application/octet-stream\r\n'
                f'Content-Length: {total}\r\n\r\n'.encode())
        sent = 0
        while sent < total:
            ex.send(block[:min(piece, total - sent)])
            sent += min(piece, total - sent)
            if counter is not None:
                counter[0] = sent
    return behaviour(act)


# -- sockets ---------------------------------------------------------------------------


def new_listener(port):
    """Bound, not listening: a connection to it is refused, and nobody else can take it."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    return listener


def reset_socket(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    sock.close()


def hang_up(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
