"""Bounds: slow, large, many and greedy clients cost the gate little and the others nothing."""
import concurrent.futures
import gzip
import resource
import time

import pytest

from harness.client import Closed, Connection, assert_problem, build, chunked
from harness.gate import config, head_lines
from harness.upstream import Hold, answer, held

MIB = 1 << 20


@pytest.fixture(scope='module')
def impatient(upstream, tmp_path_factory):
    """A gate that waits half a second for anything a client owes it."""
    from harness.gate import Gate
    gate = Gate(tmp_path_factory.mktemp('impatient'), None, config(upstream, limits={
        'head_timeout': '500ms', 'idle_timeout': '500ms', 'body_timeout': '500ms'})).start()
    yield gate
    gate.stop()


@pytest.fixture
def many_files():
    """As many open files as the system lets us have, for us and the gates we start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# -- slow ------------------------------------------------------------------------------


def test_a_head_that_dribbles(impatient, upstream, path, token):
    # Shows that a head that comes a byte at a time is cut after head_timeout, however lively.
    data = build('POST', path, head_lines(token), b'')
    began = time.monotonic()
    with impatient.connect() as connection:
        try:
            for n in range(len(data) - 1):
                connection.send(data[n:n + 1])
                if connection.has_bytes_within(0.05):
                    break
        except Closed:
            pass
        assert connection.is_closed_within(2)
    assert 0.3 < time.monotonic() - began < 4
    assert upstream.seen(path) == []


def test_a_slow_head_gets_408(impatient):
    # Shows that a client whose head does not come is told 408, and the connection ends.
    with impatient.connect() as connection:
        connection.send(b'POST /v1/x HTTP/1.1\r\nHost:')
        assert connection.read_response().status == 408
        assert connection.is_closed_within(2)


def test_an_idle_connection_ends(impatient):
    # Shows that a connection between requests is closed after idle_timeout, without a word.
    with impatient.connect() as connection:
        assert connection.request('GET', '/v1/x').status == 200
        began = time.monotonic()
        assert connection.read_all(4) == b''
        assert 0.3 < time.monotonic() - began < 3


def test_a_body_that_stops(impatient, upstream, path, token):
    # Shows that a body without progress is cut, nothing is forwarded, and the token is free.
    with impatient.connect() as connection:
        connection.send(build('POST', path, head_lines(token, headers={'Content-Length': '8'}, json=1)))
        connection.send(b'{"n"')
        assert connection.read_response().status == 408
        assert connection.is_closed_within(2)
    assert upstream.seen(path) == []
    assert impatient.post(path, token).outcome == 'created'


def test_a_slow_body_with_progress_is_heard(impatient, upstream, path, token):
    # Shows that a body that keeps coming may take longer than body_timeout altogether.
    with impatient.connect() as connection:
        connection.send(build('POST', path, head_lines(token, headers={'Content-Length': '8'}, json=1)))
        for byte in b'{"n": 1}':
            connection.send(bytes([byte]))
            time.sleep(0.15)
        assert connection.read_response('POST').outcome == 'created'


def test_a_slow_service_is_no_slow_client(impatient, upstream, path, token):
    # Shows that none of the clients' time limits runs while the service is working.
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(impatient.post, path, token)
        hold.wait_entered()
        time.sleep(1.5)
        hold.release()
        assert first.result().outcome == 'created'


# -- large -----------------------------------------------------------------------------


def test_a_large_head(gate, upstream, path):
    # Shows that a head over its limit is 431, and one under it passes.
    assert gate.get(path, headers={'X-A': 'x' * 20000}).status == 200
    assert gate.get(path, headers={'X-A': 'x' * 40000}).status == 431
    assert len(upstream.seen(path)) == 1


def test_an_endless_head(gate):
    # Shows that a head that never ends is refused at its limit, not at its end.
    with gate.connect() as connection:
        try:
            connection.send(b'GET /v1/x HTTP/1.1\r\nHost: gate.test\r\n')
            for _ in range(2000):
                connection.send(b'X-A: ' + b'x' * 1000 + b'\r\n')
        except Closed:
            pass
        try:
            assert connection.read_response().status == 431
        except Closed:
            pass               # reset because we were still sending: cut all the same
        assert connection.is_closed_within(2)


def test_many_fields(gate, upstream, path):
    # Shows that too many header lines are 431.
    assert gate.get(path, headers=[(f'X-{n}', '1') for n in range(80)]).status == 200
    assert gate.get(path, headers=[(f'X-{n}', '1') for n in range(1000)]).status == 431
    assert len(upstream.seen(path)) == 1


def test_a_long_target(gate, upstream, path):
    # Shows that a target over its limit is 414 (or 431, as part of the head).
    assert gate.get(path + '?' + 'a' * 4000).status == 200
    assert gate.get(path + '?' + 'a' * 20000).status in (414, 431)
    assert len(upstream.seen(path)) == 1


def test_a_large_body_is_refused_by_its_length(gate, upstream, path, token):
    # Shows that 413 comes at the head already, before a byte of the body was sent.
    with gate.connect() as connection:
        connection.send(build('POST', path, head_lines(token, headers={'Content-Length': str(MIB + 1)}, json=1)))
        assert_problem(connection.read_response('POST'), 413, advice='fix', operation=False)
        assert connection.is_closed_within(2)
    assert upstream.seen(path) == []
    assert gate.post(path, token).outcome == 'created'


def test_a_large_chunked_body_is_refused_on_the_way(gate, upstream, path, token):
    # Shows that a body without a length is refused when it passes the limit, not at its end.
    sent = 0
    with gate.connect() as connection:
        connection.send(build('POST', path, head_lines(token, headers={'Transfer-Encoding': 'chunked'}, json=1)))
        try:
            while sent < 64 * MIB and not connection.has_bytes_within(0):
                connection.send(b'10000\r\n' + b'x' * 65536 + b'\r\n')
                sent += 65536
        except Closed:
            pass
        try:
            assert connection.read_response('POST').status == 413
        except Closed:
            pass
    assert sent < 32 * MIB
    assert upstream.seen(path) == []
    assert gate.post(path, token).outcome == 'created'


def test_a_body_of_exactly_the_limit(gate, upstream, path, token):
    # Shows that max_body bytes pass, by length and in chunks.
    body = b'x' * MIB
    for framing, headers, data in (('length', [], body),
                                   ('chunked', [('Transfer-Encoding', 'chunked')], chunked(body[:1000], body[1000:]))):
        response = gate.request('POST', path, token=f'{token}-{framing}', body=data,
                                headers=[('Content-Type', 'text/plain'), *headers])
        assert response.outcome == 'created', response
        assert upstream.last(path).length == MIB


def test_a_compressed_bomb(gate, upstream, path, token):
    # Shows that a body is measured after decoding: a small gzip of 300 MiB is 413 and costs little.
    bomb = gzip.compress(b'\0' * (300 * MIB), 9)
    assert len(bomb) < MIB
    gate.reset_peak()
    before = gate.rss()
    response = gate.request('POST', path, token=token, body=bomb, headers={
        'Content-Type': 'application/json', 'Content-Encoding': 'gzip'})
    assert_problem(response, 413, operation=False)
    assert gate.rss_peak() - before < 40 * MIB
    assert upstream.seen(path) == []


def test_a_deep_document(gate, upstream, path, token):
    # Shows that a million brackets are refused, not recursed into.
    response = gate.post(path, token, body=b'[' * 1000000, headers={'Content-Type': 'application/json'})
    assert response.status == 400 and upstream.seen(path) == []


# -- many ------------------------------------------------------------------------------


def idle(gate, count):
    """Open `count` connections that have sent half a head."""
    connections = []
    for _ in range(count):
        connection = gate.connect()
        connection.send(b'GET /v1/idle HTTP/1.1\r\n')
        connections.append(connection)
    return connections


def check_idle(gate, count, growth_max):
    before = gate.rss()
    connections = idle(gate, count)
    try:
        began = time.monotonic()
        assert gate.get('/v1/x').status == 200
        assert time.monotonic() - began < 2
        grown = gate.rss() - before
        assert grown < growth_max, f'{count} connections: {grown} bytes'
    finally:
        for connection in connections:
            connection.close()


def test_a_thousand_idle_connections(gate, many_files):
    # Shows that a thousand half-sent requests cost little memory and nobody else's time.
    check_idle(gate, 1000, 32 * MIB)


@pytest.mark.long
def test_ten_thousand_idle_connections(many_files, start_gate, upstream):
    # Shows the same for ten thousand, and that their files are given back.
    if many_files < 11000:    # a process may have that many
        pytest.skip(f'only {many_files} files may be open')
    gate = start_gate(upstream)
    files = gate.open_files()
    check_idle(gate, 10000, 160 * MIB)
    deadline = time.monotonic() + 10
    while gate.open_files() > files + 50:
        assert time.monotonic() < deadline, f'{gate.open_files()} files are still open'
        time.sleep(0.2)


def test_more_connections_than_allowed(start_gate, upstream, path):
    # Shows that over max_connections new ones are turned away and logged, and that the gate
    # serves again when there is room.
    gate = start_gate(upstream, config(upstream, limits={'max_connections': 20}))
    before = len(gate.log)
    connections = []
    served = 0
    for _ in range(40):
        connection = gate.connect(timeout=1)
        connections.append(connection)
        try:
            served += connection.request('GET', path).status == 200
        except (Closed, OSError):
            pass
    assert 15 <= served <= 20, served
    line = gate.wait_log('connection', since=before)
    assert line
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + 5
    while True:
        try:
            assert gate.get(path, timeout=1).status == 200
            break
        except (Closed, OSError):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_more_waiters_than_allowed(start_gate, upstream, path, token):
    # Shows that when max_waiters wait already, one more is answered without waiting.
    gate = start_gate(upstream, config(upstream, tokens={'max_waiters': 2}))
    hold = Hold()
    upstream.plan(path, held(hold))
    wish = {'Prefer': 'wait=20'}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        waiters = [pool.submit(gate.post, path, token, headers=wish) for _ in range(5)]
        done, waiting = concurrent.futures.wait(waiters, timeout=2)
        hold.release()
        assert (len(done), len(waiting)) == (3, 2)
        assert {w.result().slug for w in done} == {'operation-running'}
        assert {w.result().outcome for w in waiting} == {'replayed'}
        assert first.result().outcome == 'created'
    assert upstream.effects(path) == 1


def test_more_work_than_the_service_takes(start_gate, upstream, path, token):
    # Shows that over the upstream's max_connections nobody is lost: each write is made once, or
    # told that it was not sent.
    gate = start_gate(upstream, config({'url': upstream.url, 'max_connections': 2}))
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: gate.post(f'{path}-{n}', f'{token}-{n}'), range(40)))
    for n, response in enumerate(answers):
        assert response.outcome in ('created', 'not_sent'), response
        assert upstream.effects(f'{path}-{n}') == (1 if response.outcome == 'created' else 0)
    assert any(a.outcome == 'created' for a in answers)


def test_pipelining_without_reading(gate, upstream, path):
    # Shows that a client that asks and asks and reads nothing does not fill the gate's memory.
    upstream.always(path, answer(200, body=b'x' * MIB))
    gate.reset_peak()
    before = gate.rss()
    with gate.connect(receive_buffer=16384) as connection:
        connection.sock.settimeout(2)
        try:
            for _ in range(150):
                connection.send(build('GET', path))
        except (Closed, OSError):
            pass
        time.sleep(1.5)
        assert gate.rss_peak() - before < 40 * MIB
        assert len(upstream.seen(path)) < 60
    assert gate.get(path + '-other').status == 200


def test_connections_that_come_and_go(gate, upstream):
    # Shows that hundreds of aborted connections leave no open file behind.
    gate.get('/v1/x')
    files = gate.open_files()
    for n in range(300):
        connection = Connection(gate.port)
        if n % 3:
            connection.send(b'POST /v1/x HTTP/1.1\r\nContent-Length: 10\r\n' + (b'\r\n' if n % 2 else b''))
        connection.abort()
    deadline = time.monotonic() + 5
    while gate.open_files() > files + 20:
        assert time.monotonic() < deadline, f'{files} -> {gate.open_files()}'
        time.sleep(0.1)
    assert gate.get('/v1/x').status == 200
