"""What is not protected passes as it is: no record, no header of an operation, as often as asked."""
import pytest

from harness.client import assert_problem
from harness.gate import config
from harness.upstream import answer, drop


def is_plain(response):
    return not any(n.lower().startswith('operation-') for n, _ in response.headers)


@pytest.mark.parametrize('method', ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PUT'])
def test_passes_every_time(gate, upstream, path, method):
    # Shows that reads, and PUT and DELETE without a token, are forwarded each time.
    for _ in range(2):
        response = gate.request(method, path)
        assert response.status < 300 and is_plain(response)
    assert [s.method for s in upstream.seen(path)] == [method, method]


@pytest.mark.parametrize('method', ['GET', 'HEAD', 'OPTIONS'])
def test_a_read_with_a_token_passes(gate, upstream, path, token, method):
    # Shows that a token on a read protects nothing, is passed on, and leaves no record.
    for _ in range(2):
        assert is_plain(gate.request(method, path, token=token))
    assert [s.all('Idempotency-Key') for s in upstream.seen(path)] == [[token], [token]]
    assert gate.post(path, token).outcome == 'created'


@pytest.mark.parametrize('method', ['PUT', 'DELETE'])
def test_put_and_delete_are_protected_with_a_token(gate, upstream, path, token, method):
    # Shows that a token makes PUT and DELETE protected: one effect, and the body counts.
    first = gate.request(method, path, token=token, body=b'one')
    again = gate.request(method, path, token=token, body=b'one')
    other = gate.request(method, path, token=token, body=b'two')
    assert (first.outcome, again.outcome, other.outcome) == ('created', 'replayed', 'conflict')
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('method', ['PUT', 'DELETE'])
def test_a_malformed_token_on_put_and_delete(gate, upstream, path, method):
    # Shows that a write that asks for protection with a malformed token is refused, not passed.
    assert_problem(gate.request(method, path, token='', body=b''), 400, 'key-malformed', operation=False)
    assert upstream.seen(path) == []


def test_a_failing_upstream_of_a_read(gate, upstream, path):
    # Shows that a read that gets no answer is 502 or 504 in the gate's own words, never a hang.
    upstream.always(path, drop(works=False))
    response = gate.get(path)
    assert response.status in (502, 504)
    assert_problem(response, response.status, operation=False)


@pytest.mark.parametrize('status', [204, 301, 304, 404, 429, 500, 503])
def test_every_status_passes(gate, upstream, path, status):
    # Shows that a read's answer is the service's own, whatever its status.
    upstream.plan(path, answer(status, body=b'' if status in (204, 304) else b'as it is',
                               headers=[('ETag', '"x"'), ('Retry-After', '3')]))
    response = gate.get(path)
    assert response.status == status
    assert response.body == (b'' if status in (204, 304) else b'as it is')
    assert response.one('ETag') == '"x"' and response.one('Retry-After') == '3'


def test_head_has_the_length_and_no_body(gate, upstream, path):
    # Shows that HEAD keeps its Content-Length, and that the connection stays in step.
    upstream.plan(path, answer(200, body=b'12345'))
    with gate.connect() as connection:
        head = connection.request('HEAD', path)
        assert head.one('Content-Length') == '5' and head.body == b''
        assert connection.request('GET', path).status == 200


def test_protect_is_configurable(start_gate, upstream, path, token):
    # Shows that `protect` names the methods: here PUT needs a token, and POST passes.
    gate = start_gate(upstream, config(upstream, protect=['PUT']))
    assert gate.request('PUT', path).slug == 'key-missing'
    assert is_plain(gate.post(path)) and is_plain(gate.post(path))
    assert upstream.effects(path) == 2


def test_undeclared_pass(start_gate, upstream, path):
    # Shows that with `undeclared: pass` writes that match no action pass without a token.
    gate = start_gate(upstream, config(upstream, undeclared='pass'))
    assert gate.post(path).status == 201
    assert upstream.effects(path) == 1


def test_undeclared_deny(start_gate, upstream, path, token):
    # Shows that with `undeclared: deny` such writes are refused, with and without a token; reads pass.
    gate = start_gate(upstream, config(upstream, undeclared='deny'))
    for refused in (gate.post(path), gate.post(path, token)):
        assert refused.status in (403, 404, 405)
        assert_problem(refused, refused.status, operation=False)
    assert upstream.effects(path) == 0
    assert gate.get(path).status == 200


def test_tokens_not_required(start_gate, upstream, path, token):
    # Shows that with `required: false` a write without a token passes, and one with it is protected.
    gate = start_gate(upstream, config(upstream, tokens={'required': False}))
    assert is_plain(gate.post(path)) and is_plain(gate.post(path))
    assert gate.post(path, token).outcome == 'created'
    assert gate.post(path, token).outcome == 'replayed'
    assert upstream.effects(path) == 3


def test_another_header_for_the_token(start_gate, upstream, path, token):
    # Shows that `tokens.header` names the header, and that the usual one then means nothing.
    gate = start_gate(upstream, config(upstream, tokens={'header': 'X-Request-Token'}))
    assert gate.post(path, token).slug == 'key-missing'
    assert gate.post(path, headers={'X-Request-Token': token}).outcome == 'created'
    assert gate.post(path, headers={'X-Request-Token': token}).outcome == 'replayed'
    assert upstream.effects(path) == 1
