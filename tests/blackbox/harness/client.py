"""A client that sends exactly the bytes it is told to, and reads one answer at a time.

Libraries repair, retry and re-use behind one's back; a test that counts effects cannot have
that. A `Connection` is one socket: what was written is what was sent, an answer that did not
come whole raises `Closed`, and nothing is ever sent twice.
"""
import json
import select
import socket
import ssl
import struct
import time

ADVICES = {'wait', 'query', 'same_key', 'new_key', 'fix', 'human', 'stop'}
PROBLEM = 'urn:counterfoil:problem:'


class Closed(Exception):
    """The peer closed or reset before a whole answer was there; `.partial` is what came."""

    def __init__(self, partial=b'', reason='closed'):
        super().__init__(f'{reason} after {len(partial)} bytes: {partial[:200]!r}')
        self.partial = partial


class Response:
    """One final answer: status, header lines in their order, body, and the 1xx before it."""

    def __init__(self, status, reason, headers, body, head, interim, sent_chunked):
        self.status, self.reason = status, reason
        self.headers, self.body, self.head = headers, body, head
        self.interim, self.sent_chunked = interim, sent_chunked

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def one(self, name):
        """The value of a header that must be there exactly once."""
        values = self.all(name)
        assert len(values) == 1, f'{name}: wanted once, got {values} in {self}'
        return values[0]

    def json(self):
        return json.loads(self.body)

    @property
    def outcome(self):
        return self.get('Operation-Outcome')

    @property
    def state(self):
        return self.get('Operation-State')

    @property
    def operation(self):
        return self.get('Operation-Id')

    @property
    def slug(self):
        """The problem's last word; None when this is no problem document."""
        if not (self.get('Content-Type') or '').startswith('application/problem+json'):
            return None
        return self.json()['type'].removeprefix(PROBLEM)

    def __repr__(self):
        return f'<{self.status} {self.headers} {self.body[:300]!r}>'


class Connection:
    """One connection. `tls` is an ssl.SSLContext; `receive_buffer` makes a slow reader."""

    def __init__(self, port, host='127.0.0.1', tls=None, timeout=15, receive_buffer=None):
        self.host, self.port, self.timeout = host, port, timeout
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(timeout)
        self.sock.connect((host, port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.sock = tls.wrap_socket(self.sock, server_hostname='localhost')
        self.buffer = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as broken:
            raise Closed(b'', str(broken)) from broken

    def send_request(self, method, target, headers=(), body=None):
        self.send(build(method, target, headers, body, host=f'{self.host}:{self.port}'))

    def request(self, method, target, headers=(), body=None):
        """Send and read. Where the peer answers before it took everything, that is read."""
        try:
            self.send_request(method, target, headers, body)
        except Closed:
            pass
        return self.read_response(method)

    def read_response(self, method='GET', timeout=None):
        """The next final answer. Raises Closed, or TimeoutError when none came in time."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        interim = []
        while True:
            head = self._until(b'\r\n\r\n', deadline)
            status, reason, headers = parse_head(head)
            if 100 <= status < 200 and status != 101:
                interim.append((status, headers))
                continue
            body, chunked = self._body(method, status, headers, head, deadline)
            return Response(status, reason, headers, body, head, interim, chunked)

    def read_interim(self, timeout=None):
        """One 1xx answer's status; for Expect: 100-continue."""
        head = self._until(b'\r\n\r\n', time.monotonic() + (timeout or self.timeout))
        return parse_head(head)[0]

    def read_head(self, timeout=None):
        """Only the head of an answer: (status, headers). The body stays unread."""
        head = self._until(b'\r\n\r\n', time.monotonic() + (timeout or self.timeout))
        status, _, headers = parse_head(head)
        return status, headers

    def read_all(self, timeout=None):
        """Everything until the peer closes; stops at the timeout and gives what came."""
        deadline = time.monotonic() + (timeout or self.timeout)
        try:
            while self._more(deadline):
                pass
        except (TimeoutError, Closed):
            pass
        data, self.buffer = self.buffer, b''
        return data

    def is_closed_within(self, seconds):
        """Does the peer close (or reset) within `seconds`? Bytes still coming are dropped."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if not self._more(deadline):
                    return True
            except TimeoutError:
                return False
            except Closed:
                return True

    def has_bytes_within(self, seconds):
        return bool(self.buffer) or bool(select.select([self.sock], [], [], seconds)[0])

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def abort(self):
        """Go away rudely: the peer gets a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()

    def _more(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f'no more bytes in time; so far {self.buffer[:300]!r}')
        self.sock.settimeout(left)
        try:
            piece = self.sock.recv(262144)
        except TimeoutError:
            raise TimeoutError(f'no more bytes in time; so far {self.buffer[:300]!r}') from None
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError) as reset:
            raise Closed(self.buffer, str(reset)) from reset
        self.buffer += piece
        return piece

    def _until(self, mark, deadline):
        while mark not in self.buffer:
            if not self._more(deadline):
                raise Closed(self.buffer)
        end = self.buffer.index(mark) + len(mark)
        taken, self.buffer = self.buffer[:end], self.buffer[end:]
        return taken

    def _exactly(self, count, deadline):
        pieces = [self.buffer]
        have = len(self.buffer)
        while have < count:
            self.buffer = b''
            piece = self._more(deadline)
            if not piece:
                raise Closed(b''.join(pieces))
            pieces.append(piece)
            have += len(piece)
        data = b''.join(pieces)
        self.buffer = data[count:]
        return data[:count]

    def _body(self, method, status, headers, head, deadline):
        if method == 'HEAD' or status in (204, 304):
            return b'', False
        low = {n.lower(): v for n, v in headers}
        if low.get('transfer-encoding', '').lower() == 'chunked':
            assert 'content-length' not in low, f'both framings in {head!r}'
            return self._chunks(deadline), True
        if 'content-length' in low:
            return self._exactly(int(low['content-length']), deadline), False
        while self._more(deadline):
            pass
        body, self.buffer = self.buffer, b''
        return body, False

    def _chunks(self, deadline):
        pieces = []
        while True:
            size = int(self._until(b'\r\n', deadline).split(b';')[0].strip(), 16)
            if size == 0:
                while self._until(b'\r\n', deadline) != b'\r\n':
                    pass
                return b''.join(pieces)
            pieces.append(self._exactly(size, deadline))
            assert self._exactly(2, deadline) == b'\r\n', 'a chunk does not end in CRLF'


def build(method, target, headers=(), body=None, host='gate.test'):
    """The bytes of a request. Host and Content-Length are added where they are not given."""
    headers = list(headers.items()) if isinstance(headers, dict) else list(headers)
    names = {n.lower() for n, _ in headers}
    if 'host' not in names:
        headers.insert(0, ('Host', host))
    if body is not None and not names & {'content-length', 'transfer-encoding'}:
        headers.append(('Content-Length', str(len(body))))
    lines = [f'{method} {target} HTTP/1.1'.encode()]
    for name, value in headers:
        value = value if isinstance(value, bytes) else value.encode('latin-1')
        lines.append(name.encode() + b': ' + value)
    return b'\r\n'.join(lines) + b'\r\n\r\n' + (body or b'')


def chunked(*pieces, trailers=b''):
    """A chunked body out of pieces, its end included."""
    framed = b''.join(b'%x\r\n%s\r\n' % (len(p), p) for p in pieces)
    return framed + b'0\r\n' + trailers + b'\r\n'


def parse_head(head):
    lines = head.split(b'\r\n')
    version, status, *reason = lines[0].split(b' ', 2)
    assert version in (b'HTTP/1.1', b'HTTP/1.0'), f'no status line: {head[:200]!r}'
    headers = []
    for line in lines[1:]:
        if line:
            name, _, value = line.partition(b':')
            headers.append((name.decode('latin-1'), value.strip().decode('latin-1')))
    return int(status), reason[0].decode('latin-1') if reason else '', headers


def assert_problem(response, status, slug=None, advice=None, operation=True):
    """The shape every answer of the gate itself has; gives back the document.

    `advice` is one word or the set of words an agent could follow safely here. With
    `operation`, the document must say which operation it is about, and its headers agree.
    """
    assert response.status == status, response
    assert response.one('Content-Type').split(';')[0] == 'application/problem+json', response
    problem = response.json()
    assert problem['type'].startswith(PROBLEM), problem
    if slug:
        assert problem['type'] == PROBLEM + slug, problem
    assert problem.get('status', status) == status, problem
    assert isinstance(problem.get('title'), str) and problem['title'], problem
    assert_retry(problem['retry'])
    if advice:
        assert problem['retry']['advice'] in ({advice} if isinstance(advice, str) else advice), problem
    if operation:
        about = problem['operation']
        assert about['id'].startswith('op_'), problem
        assert about['state'], problem
        assert about['status_url'].endswith(about['id']), problem
        assert '/.counterfoil/operations/' in about['status_url'], problem
        if response.operation:
            assert response.operation == about['id'], response
    help_link = [v for v in response.all('Link') if 'rel="describedby"' in v or 'rel=describedby' in v]
    assert any('/.counterfoil/help' in v for v in help_link), response
    return problem


def assert_retry(retry):
    assert retry['advice'] in ADVICES, retry
    after = retry.get('after')
    assert after is None or (isinstance(after, (int, float)) and after >= 0), retry
    if retry['advice'] == 'wait':
        assert after is not None, retry
