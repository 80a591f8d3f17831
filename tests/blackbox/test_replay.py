"""Replays: the stored status, headers and body, byte for byte, and never a second effect."""
import pytest

from harness.client import assert_problem
from harness.gate import config
from harness.upstream import answer, chunks

NEVER_KEPT = ('Set-Cookie', 'WWW-Authenticate', 'RateLimit-Limit', 'RateLimit-Remaining',
              'RateLimit-Reset', 'RateLimit', 'RateLimit-Policy', 'X-RateLimit-Limit',
              'X-RateLimit-Remaining', 'X-RateLimit-Reset')
OWN = ('operation-id', 'operation-state', 'operation-outcome', 'operation-expires',
       'idempotent-replayed', 'date', 'connection', 'keep-alive', 'content-length',
       'transfer-encoding', 'via', 'x-request-id')


def end_to_end(response, without=()):
    """What the service itself said, in its order."""
    skipped = OWN + tuple(n.lower() for n in without)
    return [(n.lower(), v) for n, v in response.headers if n.lower() not in skipped]


@pytest.mark.parametrize('status', [200, 201, 202, 400, 401, 403, 404, 409, 410, 418, 422, 451, 501])
def test_a_final_answer_replays_byte_for_byte(gate, upstream, path, token, status):
    # Shows for successes and failures alike: same status, headers and body, one effect.
    body = b'{"at": 1.50,\n "text": "\xc3\xa9\\u00e9" }'
    upstream.plan(path, answer(status, body=body, headers=[
        ('Content-Type', 'application/vnd.thing+json; v=2'), ('Location', f'{path}/1?x=%2F'),
        ('ETag', 'W/"1"'), ('Link', '<a>; rel=next'), ('Link', '<b>; rel=prev'),
        ('Cache-Control', 'no-store'), ('X-Empty', ''), ('x-lower', 'Kept As Sent')]))
    first = gate.post(path, token)
    assert (first.status, first.outcome) == (status, 'created')
    assert first.state == ('completed' if status < 400 else 'failed')
    for _ in range(3):
        again = gate.post(path, token)
        assert again.status == status
        assert again.body == first.body == body
        assert end_to_end(again) == end_to_end(first)
        assert again.operation == first.operation and again.state == first.state
        assert again.outcome == 'replayed'
        assert again.one('Idempotent-Replayed') == 'true'
    assert upstream.effects(path) == 1


def test_what_belongs_to_one_answer_alone_is_never_kept(gate, upstream, path, token):
    # Shows that cookies, challenges, rate limits and the date reach the first caller only.
    date = 'Tue, 01 Jan 2019 00:00:00 GMT'
    once = [(name, 'once') for name in NEVER_KEPT]

    def act(ex):
        head = ''.join(f'{n}: {v}\r\n' for n, v in once)
        ex.send(f'HTTP/1.1 401 No\r\nDate: {date}\r\n{head}X-Kept: yes\r\n'
                'Content-Length: 2\r\n\r\nno'.encode())
    upstream.plan(path, act)
    first = gate.post(path, token)
    again = gate.post(path, token)
    for name in NEVER_KEPT:
        assert first.all(name) == ['once'], name
        assert again.all(name) == [], name
    assert first.all('Date') == [date]
    assert len(again.all('Date')) <= 1 and again.get('Date') != date
    assert again.one('X-Kept') == 'yes'
    assert end_to_end(again) == end_to_end(first, without=NEVER_KEPT)


def test_framing_is_made_anew(gate, upstream, path, token):
    # Shows that a chunked answer and its replay have the same bytes, whatever their framing.
    upstream.plan(path, chunks(b'one,', b'two,', b'three', status=201,
                               headers=[('Content-Type', 'text/plain'), ('Trailer', 'X-T')],
                               trailers=b'X-T: 1\r\n'))
    first, again = gate.post(path, token), gate.post(path, token)
    assert first.body == again.body == b'one,two,three'
    assert again.outcome == 'replayed'
    assert first.get('X-T') is None and again.get('X-T') is None


def test_an_answer_without_length_ends_with_its_connection(gate, upstream, path, token):
    # Shows that an HTTP/1.0-like answer that ends by closing is whole, and replays.
    def act(ex):
        ex.send(b'HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\nto the end')
        ex.close()
    upstream.plan(path, act)
    first, again = gate.post(path, token), gate.post(path, token)
    assert first.body == again.body == b'to the end'
    assert (first.status, again.status, again.outcome) == (201, 201, 'replayed')
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('status', [204, 205])
def test_an_answer_without_content(gate, upstream, path, token, status):
    # Shows that an empty success replays as the same empty success.
    upstream.plan(path, answer(status, body=b'', headers=[('ETag', '"e"')]))
    first, again = gate.post(path, token), gate.post(path, token)
    assert (first.status, first.body) == (again.status, again.body) == (status, b'')
    assert again.one('ETag') == '"e"' and again.outcome == 'replayed'
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('status', [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer(gate, upstream, path, token, status):
    # Shows that a redirect is passed on and replayed, and that the gate never goes there.
    upstream.plan(path, answer(status, body=b'', headers=[('Location', f'{path}-elsewhere')]))
    first, again = gate.post(path, token), gate.post(path, token)
    # The same request at another place: it was not carried out at this one.
    assert (first.status, first.state) == (status, 'failed' if status in (307, 308) else 'completed')
    assert first.one('Location') == again.one('Location') == f'{path}-elsewhere'
    assert again.outcome == 'replayed'
    assert upstream.effects(path) == 1
    assert upstream.seen(f'{path}-elsewhere') == []


def test_no_coding_that_was_not_asked_for(gate, upstream, path, token):
    # Shows that protected requests ask the service for the identity coding, whatever the client takes.
    gate.post(path, token, headers={'Accept-Encoding': 'gzip, br, zstd'})
    asked = [v.strip().lower() for v in upstream.last(path).all('Accept-Encoding')]
    assert asked in ([], ['identity']), asked


def test_a_replay_from_another_connection_and_client(gate, path, token):
    # Shows that neither connection, user agent nor tracing ties a token to its first sender.
    trace = '00-' + 'a' * 32 + '-' + 'b' * 16 + '-01'
    first = gate.post(path, token, headers={'User-Agent': 'one/1', 'traceparent': trace})
    again = gate.post(path, token, headers={'User-Agent': 'two/2', 'X-Request-Id': 'other'})
    assert again.outcome == 'replayed' and again.body == first.body


def test_replays_over_one_connection(gate, upstream, path, token):
    # Shows that many requests of one kept connection are answered each in turn.
    with gate.connect() as connection:
        first = gate.post(path, token, connection=connection)
        for _ in range(20):
            assert gate.post(path, token, connection=connection).body == first.body
    assert upstream.effects(path) == 1


def test_different_tokens_are_different_intentions(gate, upstream, path, token):
    # Shows that the same body under another token is a second effect: the token is the intention.
    bodies = {gate.post(path, f'{token}-{n}').body for n in range(5)}
    assert len(bodies) == 5
    assert upstream.effects(path) == 5


def test_head_of_a_replay_does_not_grow(gate, upstream, path, token):
    # Shows that many headers are kept, and kept once.
    many = [(f'X-Header-{n}', 'v' * 40) for n in range(60)]
    upstream.plan(path, answer(200, headers=many, body=b'ok'))
    first, again = gate.post(path, token), gate.post(path, token)
    assert end_to_end(again) == end_to_end(first)
    assert len([1 for n, _ in again.headers if n.startswith('X-Header-')]) == 60


def test_an_answer_larger_than_the_memory_for_it(start_gate, upstream, path, token):
    # Shows that after limits were lowered, an answer that was kept under the old ones and has no
    # room any more is told as not retained, its operation can be looked at, and raising the limits
    # brings it back.
    large = config(upstream, limits={'max_response': '4MiB', 'request_memory': '1MiB', 'max_body': '64KiB'})
    gate = start_gate(config=large)
    upstream.plan(path, answer(201, [('Location', path + '/1')], b'z' * (3 << 20)))
    first = gate.post(path, token)
    gate.terminate()
    assert gate.wait_exit() == 0
    gate.write_config(config(upstream, limits={'max_response': '64KiB', 'request_memory': '1MiB',
                                               'max_body': '64KiB'}))
    gate.restart()
    again = gate.post(path, token)
    assert_problem(again, 410, 'response-not-retained')
    assert (again.get('Location'), again.state) == (path + '/1', 'completed')
    assert gate.operation(first.operation)['state'] == 'completed'
    assert gate.get(f'/.counterfoil/operations/{first.operation}/response').status == 410
    gate.terminate()
    assert gate.wait_exit() == 0
    gate.write_config(large)
    gate.restart()
    assert gate.post(path, token).body == first.body
    assert upstream.effects(path) == 1
