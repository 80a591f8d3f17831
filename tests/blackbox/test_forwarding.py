"""What the gate changes on the way, and what it does not: the duties of an intermediary."""
import re

import pytest

from harness.client import build
from harness.gate import config
from harness.upstream import answer, chunks

HOP = {'Keep-Alive': 'timeout=5', 'Proxy-Connection': 'keep-alive', 'TE': 'trailers',
       'Upgrade': 'websocket', 'Proxy-Authorization': 'Basic eDp5'}


@pytest.mark.parametrize('method', ['GET', 'POST'])
def test_hop_by_hop_headers_stay_here(gate, upstream, path, token, method):
    # Shows that headers of this connection, and those Connection names, do not reach the service.
    headers = [*HOP.items(), ('Connection', 'keep-alive, X-Mine , x-other'), ('X-Mine', '1'),
               ('X-Other', '2'), ('X-Stays', '3')]
    gate.request(method, path, token=token, headers=headers)
    seen = upstream.last(path)
    for name in [*HOP, 'X-Mine', 'X-Other']:
        assert seen.all(name) == [], name
    assert seen.all('X-Stays') == ['3']
    assert 'x-mine' not in (seen.get('Connection') or '').lower()


@pytest.mark.parametrize('method', ['GET', 'POST'])
def test_hop_by_hop_headers_of_the_service_stay_there(gate, upstream, path, token, method):
    # Shows the same for the answer, first and replayed.
    upstream.plan(path, answer(200, body=b'ok', headers=[
        ('Connection', 'keep-alive, X-Theirs'), ('Keep-Alive', 'timeout=77'), ('X-Theirs', '1'),
        ('Proxy-Authenticate', 'Basic'), ('X-Stays', '2')]))
    for response in [gate.request(method, path, token=token) for _ in range(2 if method == 'POST' else 1)]:
        assert response.all('X-Theirs') == [] and response.all('Proxy-Authenticate') == []
        assert 'timeout=77' not in response.all('Keep-Alive')
        assert response.one('X-Stays') == '2'


def test_connection_cannot_take_the_protection_away(gate, upstream, path, token):
    # Shows that naming the token or the credential in Connection does not make them vanish.
    account = 'Bearer of-the-named-one'
    first = gate.post(path, token, account=account,
                      headers={'Connection': 'Idempotency-Key, Authorization'})
    if first.status == 400:
        assert upstream.seen(path) == []
        return
    assert first.outcome == 'created'
    assert gate.post(path, token, account=account).outcome == 'replayed'
    assert upstream.effects(path) == 1


def test_who_asked_and_where(gate, upstream, path, token):
    # Shows the headers that tell the service of the original request.
    gate.get(path, headers={'Host': 'api.example.test:8443'})
    seen = upstream.last(path)
    assert len(seen.all('Host')) == 1
    assert seen.all('X-Forwarded-For') == ['127.0.0.1']
    assert seen.all('X-Forwarded-Proto') == ['http']
    assert seen.all('X-Forwarded-Host') == ['api.example.test:8443']
    assert len(seen.all('X-Request-Id')) == 1 and seen.get('X-Request-Id')
    assert any(re.match(r'(HTTP/)?1\.1 ', via) for via in seen.all('Via')), seen.headers


def test_strangers_cannot_say_who_they_are(gate, upstream, path):
    # Shows that X-Forwarded-* from an untrusted client is not believed.
    gate.get(path, headers={'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https',
                            'X-Forwarded-Host': 'evil.test'})
    seen = upstream.last(path)
    assert seen.all('X-Forwarded-For') == ['127.0.0.1']
    assert seen.all('X-Forwarded-Proto') == ['http']
    assert 'evil.test' not in str(seen.headers)


def test_a_trusted_proxy_is_believed(start_gate, upstream, path):
    # Shows that from a trusted address the chain is kept and continued.
    gate = start_gate(upstream, config(upstream, trusted_proxies=['127.0.0.0/8']))
    gate.get(path, headers={'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https',
                            'X-Forwarded-Host': 'api.test'})
    seen = upstream.last(path)
    assert [p.strip() for p in ','.join(seen.all('X-Forwarded-For')).split(',')] == ['203.0.113.9', '127.0.0.1']
    assert seen.all('X-Forwarded-Proto') == ['https']
    assert seen.all('X-Forwarded-Host') == ['api.test']


def test_via_in_the_answer_or_chain(gate, upstream, path):
    # Shows that Via of the client is continued, not replaced.
    gate.get(path, headers={'Via': '1.0 first'})
    seen = upstream.last(path)
    assert ','.join(seen.all('Via')).startswith('1.0 first') and len(','.join(seen.all('Via')).split(',')) == 2


def test_a_base_path_of_the_upstream(start_gate, upstream, path):
    # Shows that an upstream's own path goes before that of the request.
    gate = start_gate(upstream, config(upstream.url + '/base'))
    gate.get(path + '?a=b')
    assert upstream.last('/base' + path).target == f'/base{path}?a=b'


def test_trailers_are_dropped(gate, upstream, path, token):
    # Shows that trailers of a request reach nobody, protected or not.
    body = b'5\r\n12345\r\n0\r\nX-Trailer: 1\r\nAuthorization: evil\r\n\r\n'
    for method in ('POST', 'PUT'):
        headers = [('Transfer-Encoding', 'chunked'), ('Trailer', 'X-Trailer')]
        if method == 'POST':
            headers.append(('Idempotency-Key', token))
        with gate.connect() as connection:
            assert connection.request(method, path, headers, body).status == 201
        seen = upstream.last(path)
        assert seen.body == b'12345' and seen.trailers == b''
        assert seen.get('X-Trailer') is None and seen.get('Authorization') is None


def test_trailers_of_the_service_are_dropped(gate, upstream, path):
    # Shows the same for an answer that passes.
    upstream.plan(path, chunks(b'abc', trailers=b'X-Trailer: 1\r\n'))
    with gate.connect() as connection:
        response = connection.request('GET', path)
        assert response.body == b'abc' and response.get('X-Trailer') is None
        assert connection.request('GET', path).status == 200


@pytest.mark.parametrize('method', ['POST', 'PUT'])
def test_expect_100_continue(gate, upstream, path, token, method):
    # Shows that a client that waits for permission to send gets it.
    headers = [('Expect', '100-continue'), ('Content-Length', '5'), ('Content-Type', 'text/plain')]
    if method == 'POST':
        headers.append(('Idempotency-Key', token))
    with gate.connect() as connection:
        connection.send(build(method, path, headers))
        assert connection.read_interim() == 100
        connection.send(b'12345')
        assert connection.read_response(method).status == 201
    assert upstream.last(path).body == b'12345'


def test_expect_100_continue_of_a_refused_one(gate, upstream, path):
    # Shows that a request that is refused by its head is refused without asking for the body.
    headers = [('Expect', '100-continue'), ('Content-Length', '5')]
    with gate.connect() as connection:
        connection.send(build('POST', path, headers))
        response = connection.read_response('POST')
    assert response.slug == 'key-missing' and response.interim == []
    assert upstream.seen(path) == []


def test_http_10(gate, upstream, path, token):
    # Shows that a client of HTTP/1.0 is served and its connection closed; no chunks for it.
    upstream.plan(path, chunks(b'one', b'two'))
    with gate.connect() as connection:
        connection.send(f'GET {path} HTTP/1.0\r\nHost: gate.test\r\n\r\n'.encode())
        response = connection.read_response()
        assert response.body == b'onetwo' and not response.sent_chunked
        assert connection.is_closed_within(2)


def test_close_is_honoured(gate, path):
    # Shows that Connection: close gets an answer and then the end.
    with gate.connect() as connection:
        assert connection.request('GET', path, {'Connection': 'close'}).status == 200
        assert connection.is_closed_within(2)


def test_pipelined_requests_are_answered_in_order(gate, upstream, path, token):
    # Shows that requests sent ahead are answered one after the other, slow ones first.
    from harness.upstream import delayed
    upstream.plan(path + '-0', delayed(0.4, answer(200, body=b'0')))
    requests = []
    for n in range(8):
        if n:
            upstream.plan(f'{path}-{n}', answer(200, body=str(n).encode()))
        key = [('Idempotency-Key', f'{token}-{n}')] if n % 2 else []
        requests.append(build('POST' if n % 2 else 'GET', f'{path}-{n}', key, b'' if n % 2 else None))
    with gate.connect() as connection:
        connection.send(b''.join(requests))
        bodies = [connection.read_response().body for _ in range(8)]
    assert bodies == [str(n).encode() for n in range(8)]


def test_a_head_in_single_bytes(gate, upstream, path, token):
    # Shows that how a message is cut into packets makes no difference.
    data = build('POST', path, [('Idempotency-Key', token), ('Content-Type', 'application/json')], b'{"a": 1}')
    with gate.connect() as connection:
        for n in range(len(data)):
            connection.send(data[n:n + 1])
        assert connection.read_response('POST').outcome == 'created'
    assert gate.post(path, token, json={'a': 1}).outcome == 'replayed'
    assert upstream.effects(path) == 1


def test_cors_preflight_passes(gate, upstream, path):
    # Shows that a browser's preflight is the service's to answer, and needs no token.
    upstream.plan(path, answer(204, body=b'', headers=[
        ('Access-Control-Allow-Origin', 'https://app.test'), ('Access-Control-Allow-Headers', 'Idempotency-Key')]))
    response = gate.request('OPTIONS', path, headers={
        'Origin': 'https://app.test', 'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'idempotency-key'})
    assert response.status == 204
    assert response.one('Access-Control-Allow-Origin') == 'https://app.test'
    assert upstream.last(path).get('Access-Control-Request-Method') == 'POST'


def test_browsers_may_read_the_operations_headers(gate, upstream, path, token):
    # Shows that where the service allows an origin, the gate's headers are exposed to it; else not.
    allow = [('Access-Control-Allow-Origin', 'https://app.test'), ('Access-Control-Expose-Headers', 'X-Own')]
    upstream.plan(path, answer(201, headers=allow), answer(201))
    origin = {'Origin': 'https://app.test'}
    for response in (gate.post(path, token, headers=origin), gate.post(path, token, headers=origin)):
        exposed = ','.join(response.all('Access-Control-Expose-Headers')).lower()
        for name in ('x-own', 'operation-id', 'operation-state', 'operation-outcome', 'idempotent-replayed'):
            assert name in exposed, response
    silent = gate.post(path, token + '-2', headers=origin)
    assert silent.all('Access-Control-Expose-Headers') == []


def test_a_name_that_was_looked_up(start_gate, upstream, path, token):
    # Shows that looking a name up leaves nothing behind that takes a later client's place.
    gate = start_gate(upstream, config('http://no-such-host.invalid:9', threads=1))
    for n in range(3):
        assert gate.post(path, f'{token}-{n}', timeout=40).outcome == 'not_sent'
    connections = [gate.connect(timeout=5) for _ in range(20)]
    for connection in connections:
        connection.send(b'GET /.counterfoil/help HTTP/1.1\r\nHost: gate.test\r\n\r\n')
        assert connection.read_response().status == 200
    for connection in connections:
        connection.close()
