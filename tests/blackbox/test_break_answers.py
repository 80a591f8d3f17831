"""Answers on their way: limits of nothing, cut answers, half-closed and slow clients."""
import concurrent.futures
import socket
import ssl
import time

import pytest

from harness.client import Closed, Connection, assert_problem, build
from harness.gate import config
from harness.upstream import Hold, answer, chunks, half, held, raw, stream


@pytest.mark.parametrize('limit', [0, 1, '1KiB', '16KiB'])
@pytest.mark.parametrize('size', [1, 1025, 40_000, 300_000])
def test_a_limit_of_next_to_nothing(start_gate, upstream, path, token, limit, size):
    # Shows that answers over a tiny max_response are passed on whole and at once.
    gate = start_gate(upstream, config(upstream, limits={'max_response': limit}))
    upstream.plan(path, answer(201, body=b'y' * size))
    began = time.monotonic()
    first = gate.post(path, token)
    assert (first.outcome, first.body) == ('created', b'y' * size)
    assert time.monotonic() - began < 5
    assert gate.post(path, token).outcome == 'replayed'
    assert upstream.effects(path) == 1


def old_request(path, token=None):
    lines = f'Idempotency-Key: {token}\r\nContent-Length: 0\r\n' if token else ''
    method = 'POST' if token else 'GET'
    return f'{method} {path} HTTP/1.0\r\nHost: gate.test\r\n{lines}\r\n'.encode()


def cut_in_chunks(size, status=200):
    """A chunked answer that ends before its last chunk."""
    piece = b'%x\r\n%s\r\n' % (65536, b'z' * 65536)
    return raw(f'HTTP/1.1 {status} Cut\r\nTransfer-Encoding: chunked\r\n\r\n'.encode()
               + piece * (size // 65536))


@pytest.mark.parametrize('is_protected', [False, True])
def test_an_old_client_sees_a_cut(gate, upstream, path, token, is_protected):
    # Shows that an HTTP/1.0 client, to whom only the end of the connection says that the answer
    # is over, is not given such an end when the answer broke off.
    upstream.plan(path, cut_in_chunks(2 << 20, 201))
    with gate.connect() as connection:
        connection.send(old_request(path, token if is_protected else None))
        status, headers = connection.read_head()
        assert status == 201 and 'content-length' not in {n.lower() for n, _ in headers}
        with pytest.raises(Closed):
            while connection._more(time.monotonic() + 5):
                pass


@pytest.mark.parametrize('is_protected', [False, True])
def test_an_old_client_gets_a_whole_answer(gate, upstream, path, token, is_protected):
    # Shows that without a length a whole answer ends for an HTTP/1.0 client with the connection.
    upstream.plan(path, chunks(*[b'z' * 65536] * 24, status=201))
    with gate.connect() as connection:
        connection.send(old_request(path, token if is_protected else None))
        connection.read_head()
        while connection._more(time.monotonic() + 5):
            pass
        assert connection.buffer == b'z' * 65536 * 24


@pytest.mark.parametrize('lines', [[('Connection', 'close')], []])
@pytest.mark.parametrize('is_protected', [False, True])
def test_half_closed_in_the_middle_of_the_answer(gate, upstream, path, token, lines, is_protected):
    # Shows that a client which closes its own side while a long answer comes still gets it whole.
    size = 6 << 20
    upstream.plan(path, stream(size))
    with gate.connect(receive_buffer=16384) as connection:
        if is_protected:
            lines = [*lines, ('Idempotency-Key', token)]
        connection.send(build('POST' if is_protected else 'GET', path, lines,
                              b'' if is_protected else None))
        connection.read_head()
        connection.half_close()
        time.sleep(0.2)
        while connection._more(time.monotonic() + 10):
            pass
        assert len(connection.buffer) == size


def both_framings(status, body, first):
    lines = ['Transfer-Encoding: chunked', f'Content-Length: {first}']
    return raw(('HTTP/1.1 %d Both\r\n' % status + '\r\n'.join(lines) + '\r\n\r\n').encode() + body)


@pytest.mark.parametrize('length', [3, 5, 4000])
def test_an_answer_with_two_framings(gate, upstream, path, token, length):
    # Shows that an answer whose end two readers would see in two places is passed to nobody,
    # and that a protected operation that got one is unknown.
    body = b'5\r\nhello\r\n0\r\n\r\n'
    upstream.plan(path, both_framings(201, body, length), both_framings(200, body, length))
    first = gate.post(path, token)
    assert_problem(first, 504, 'outcome-unknown')
    assert gate.get(path).status == 502
    assert upstream.effects(path) == 2


NO_STATUS_LINES = [
    b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n',
    b'HTTP/1.0 101 Switching Protocols\r\n', b'HTTP/1.1 101 Here\r\nContent-Length: 3\r\n',
    b'HTTP/1.1 000 None\r\n', b'HTTP/1.1 099 Low\r\n', b'HTTP/1.1 42 Short\r\n',
    b'HTTP/1.1  200 Two spaces\r\n', b'HTTP/1.1\t200 Tab\r\n', b'HTTP/1.1 2000 Long\r\n',
    b'HTTP/1.1 +20 Sign\r\n', b'HTTP/1.1 2x0 Letter\r\n', b'HTTP/2 200 Two\r\n',
    b'HTTP/3 200 Three\r\n', b'RTSP/1.0 200 Other\r\n', b'\r\nHTTP/1.1 200 Late\r\n', b'']


@pytest.mark.parametrize('line', NO_STATUS_LINES)
def test_an_answer_with_an_odd_status_line(gate, upstream, path, token, line):
    # Shows that an answer whose status is none, or asks for another protocol, is passed to nobody
    # and harms nobody else, and that a protected operation that got one is unknown.
    upstream.always(path, raw(line + b'\r\nabc'))
    assert_problem(gate.post(path, token), 504, 'outcome-unknown')
    assert upstream.effects(path) == 1
    assert gate.get(path).status == 502
    assert gate.request('HEAD', path).status == 502
    assert gate.post('/v1/another', f'{token}-after').outcome == 'created'


@pytest.mark.parametrize('version', [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_tls_client_that_says_all_at_once(start_gate, upstream, certs, path, token, version):
    # Shows that a request is served whose client closes its side of TLS in the same breath.
    gate = start_gate(upstream, config(upstream, tls={'certificate': certs.certificate,
                                                      'key': certs.key}), tls=certs.client())
    context = certs.client()
    context.minimum_version = context.maximum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname='localhost')
    with Connection(gate.port) as connection:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sock.sendall(outgoing.read())
                incoming.write(connection.sock.recv(65536))
        tls.write(build('POST', path, [('Idempotency-Key', token)], b'{}'))
        with pytest.raises(ssl.SSLWantReadError):
            tls.unwrap()
        connection.sock.sendall(outgoing.read())
        upstream.wait_seen(path)
    assert upstream.effects(path) == 1


def test_a_slow_reader_decides_nothing(start_gate, upstream, path, token):
    # Shows that an answer which its client takes longer over than the service's time limit is
    # still passed on whole, and the operation completed: it was the client that was slow.
    size = 24 << 20
    gate = start_gate(upstream, config({'url': upstream.url, 'timeout': '2s'}))
    upstream.plan(path, stream(size, status=201))
    with gate.connect(receive_buffer=65536) as connection:
        connection.send(build('POST', path, [('Idempotency-Key', token)], b''))
        status, headers = connection.read_head()
        id = dict(headers)['Operation-Id']
        for _ in range(4):
            time.sleep(0.8)
            connection._exactly(65536, time.monotonic() + 5)
            size -= 65536
        while size:
            piece = min(size, 1 << 20)
            connection._exactly(piece, time.monotonic() + 10)
            size -= piece
    assert gate.wait_state(id, 'completed', 'unknown')['state'] == 'completed'


def test_a_service_that_stops_in_a_long_answer(start_gate, upstream, path, token):
    # Shows that a service which falls silent in the middle of a long answer is given up after
    # its time limit, and the operation is unknown.
    hold = Hold()

    def act(ex):
        ex.send(b'HTTP/1.1 201 Long\r\nContent-Length: 9000000\r\n\r\n' + b'q' * 3_000_000)
        held(hold)(ex)
    act.works, act.at_head = True, False
    gate = start_gate(upstream, config({'url': upstream.url, 'timeout': '2s'}))
    upstream.plan(path, act)
    with gate.connect() as connection:
        connection.send(build('POST', path, [('Idempotency-Key', token)], b''))
        _, headers = connection.read_head()
        began = time.monotonic()
        assert connection.is_closed_within(15)    # its speed is a mean over five seconds
        assert time.monotonic() - began > 0.5
    hold.release()
    assert gate.wait_state(dict(headers)['Operation-Id'], 'unknown')


@pytest.mark.parametrize('is_protected', [False, True])
def test_no_turn_in_time(start_gate, upstream, path, token, is_protected):
    # Shows that a call whose turn never comes ends in time, and is known not to have been sent.
    gate = start_gate(upstream, config({'url': upstream.url, 'timeout': '2s', 'max_connections': 1},
                                       threads=1))
    hold = Hold()
    counter = [0]
    upstream.plan(path + '-long', stream(64 << 20, counter=counter))
    with gate.connect(receive_buffer=16384, timeout=20) as slow:
        slow.send(build('GET', path + '-long'))
        slow.read_head()
        began = time.monotonic()
        if is_protected:
            assert gate.post(path, token).outcome == 'not_sent'
        else:
            assert gate.get(path).status == 502
        assert time.monotonic() - began < 8
    hold.release()
    assert upstream.effects(path) == 0
