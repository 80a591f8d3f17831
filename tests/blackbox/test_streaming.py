"""What passes is streamed: bounded memory, back-pressure, both ways."""
import hashlib
import threading
import time

import pytest

from harness.client import build
from harness.upstream import Hold, answer, behaviour, stream

MIB = 1 << 20
LARGE = 50 * MIB
GROWTH_MAX = 24 * MIB        # what 50 MiB on their way may cost in memory
IN_FLIGHT_MAX = 24 * MIB     # what sockets and gate may hold for a reader that does not read


@pytest.fixture
def small(gate):
    """The gate; afterwards its memory must not have grown with what passed."""
    gate.reset_peak()
    before = gate.rss()
    yield gate
    assert gate.rss_peak() - before < GROWTH_MAX, f'{before} -> {gate.rss_peak()}'


def read_stream(connection, total):
    """Read a body of known length without keeping it; its digest."""
    sha, have = hashlib.sha256(connection.buffer), len(connection.buffer)
    while have < total:
        piece = connection.sock.recv(MIB)
        assert piece, f'ended after {have} of {total}'
        sha.update(piece)
        have += len(piece)
    return sha.hexdigest()


def digest_of(block, count):
    sha = hashlib.sha256()
    for _ in range(count):
        sha.update(block)
    return sha.hexdigest()


def test_a_large_answer(small, upstream, path):
    # Shows that 50 MiB come through a gate that does not grow.
    upstream.plan(path, stream(LARGE))
    with small.connect(timeout=60) as connection:
        connection.send(build('GET', path))
        status, headers = connection.read_head()
        assert status == 200
        assert dict((n.lower(), v) for n, v in headers)['content-length'] == str(LARGE)
        assert read_stream(connection, LARGE) == digest_of(b'\xa5' * MIB, 50)


@pytest.mark.parametrize('framing', ['length', 'chunked'])
def test_a_large_body(small, upstream, path, framing):
    # Shows that 50 MiB go up through a gate that does not grow, in either framing.
    block = bytes(range(256)) * 4096
    with small.connect(timeout=60) as connection:
        if framing == 'length':
            connection.send(build('PUT', path, {'Content-Length': str(LARGE)}))
            for _ in range(50):
                connection.send(block)
        else:
            connection.send(build('PUT', path, {'Transfer-Encoding': 'chunked'}))
            for _ in range(50):
                connection.send(b'%x\r\n%s\r\n' % (len(block), block))
            connection.send(b'0\r\n\r\n')
        assert connection.read_response('PUT').status == 201
    seen = upstream.last(path)
    assert (seen.length, seen.digest) == (LARGE, digest_of(block, 50))


def test_a_reader_that_does_not_read(small, upstream, path):
    # Shows back-pressure: for a client that stops reading, the service is stopped too.
    sent = [0]
    upstream.plan(path, stream(LARGE, counter=sent))
    with small.connect(timeout=60, receive_buffer=65536) as connection:
        connection.send(build('GET', path))
        connection.read_head()
        assert settled(sent) < IN_FLIGHT_MAX, f'{sent[0]} bytes were taken for a client that reads none'
        assert small.request('GET', path + '-other').status == 200
        assert read_stream(connection, LARGE) == digest_of(b'\xa5' * MIB, 50)


def test_a_service_that_does_not_read(small, upstream, path):
    # Shows back-pressure upwards: a body is not taken faster than the service takes it.
    hold, sent = Hold(), [0]

    def act(ex):
        hold.entered.set()
        hold.released.wait(30)
        ex.read_body()
        answer(200)(ex)
    upstream.plan(path, behaviour(act, at_head=True))
    with small.connect(timeout=60) as connection:
        connection.send(build('PUT', path, {'Content-Length': str(LARGE)}))

        def pump():
            for _ in range(LARGE // 65536):
                connection.send(b'\x5a' * 65536)
                sent[0] += 65536
        thread = threading.Thread(target=pump, daemon=True)
        thread.start()
        hold.wait_entered()
        assert settled(sent) < IN_FLIGHT_MAX
        hold.release()
        assert connection.read_response('PUT').status == 200
        thread.join(10)
    assert upstream.last(path).digest == digest_of(b'\x5a' * MIB, 50)


def test_a_reader_that_goes_away(small, upstream, path):
    # Shows that an abandoned stream is given up: the service's connection ends soon.
    sent, ended = [0], threading.Event()
    flow = stream(LARGE * 4, counter=sent)

    def act(ex):
        try:
            flow(ex)
        finally:
            ended.set()
    upstream.plan(path, act)
    connection = small.connect()
    connection.send(build('GET', path))
    connection.read_head()
    connection.abort()
    assert ended.wait(10), 'the service still sends to nobody'
    assert sent[0] < LARGE * 4


def test_an_answer_that_breaks_off_is_not_made_whole(gate, upstream, path):
    # Shows that a passing answer that ends early ends early for the client too.
    from harness.client import Closed

    def act(ex):
        ex.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n')
        ex.close()
    upstream.plan(path, act)
    with gate.connect() as connection, pytest.raises(Closed):
        response = connection.request('GET', path)
        if response.status in (502, 504):      # nothing had been passed on yet: also honest
            raise Closed


def test_first_bytes_come_first(gate, upstream, path):
    # Shows that a passing answer is not held back until it is whole: events arrive as they happen.
    hold = Hold()

    def act(ex):
        ex.send(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
                b'9\r\ndata: 1\n\n\r\n')
        hold.released.wait(20)
        ex.send(b'9\r\ndata: 2\n\n\r\n0\r\n\r\n')
    upstream.plan(path, act)
    with gate.connect() as connection:
        connection.send(build('GET', path))
        deadline = time.monotonic() + 5
        while b'data: 1' not in connection.buffer:
            connection._more(deadline)
        assert b'data: 2' not in connection.buffer
        hold.release()
        assert connection.read_response().body == b'data: 1\n\ndata: 2\n\n'


def test_an_early_answer(gate, upstream, path):
    # Shows that a service that answers before it has read the body is heard.
    def act(ex):
        ex.answer(413, [('Connection', 'close')], b'too much')
        ex.close()
    upstream.plan(path, behaviour(act, at_head=True))
    with gate.connect() as connection:
        response = connection.request('PUT', path, {'Content-Length': '1000000'}, b'x' * 1000000)
    assert response.status in (413, 502)


def settled(counter, seconds=8):
    """The counter's value once it has stood still for a second."""
    deadline, last, since = time.monotonic() + seconds, -1, 0
    while time.monotonic() < deadline:
        if counter[0] != last:
            last, since = counter[0], time.monotonic()
        elif time.monotonic() - since > 1:
            break
        time.sleep(0.05)
    return counter[0]
