"""Answers over max_response: passed on whole, not kept, and the operation never runs again."""
import hashlib

import pytest

from harness.client import Closed, assert_problem
from harness.gate import config
from harness.upstream import answer, chunks

BIG = 2 << 20
CONTENT = bytes(range(256)) * (BIG // 256)


@pytest.mark.parametrize('framing', ['length', 'chunked'])
def test_a_large_answer(gate, upstream, path, token, account, framing):
    # Shows that 2 MiB arrive whole, and that a retry gets 410 with the Location and no second effect.
    headers = [('Location', f'{path}/7'), ('Content-Type', 'application/x-big')]
    if framing == 'length':
        upstream.plan(path, answer(201, headers, CONTENT))
    else:
        upstream.plan(path, chunks(*[CONTENT[i:i + 65536] for i in range(0, BIG, 65536)],
                                   status=201, headers=headers))
    first = gate.post(path, token, account=account)
    assert (first.status, first.outcome) == (201, 'created')
    assert first.body == CONTENT and first.one('Location') == f'{path}/7'
    for _ in range(2):
        again = gate.post(path, token, account=account)
        assert_problem(again, 410, 'response-not-retained', advice={'stop', 'query', 'human'})
        assert again.one('Location') == f'{path}/7'
        assert again.state == 'completed' and again.operation == first.operation
        assert CONTENT[:64] not in again.body
    assert upstream.effects(path) == 1


def test_what_is_kept_of_it(gate, upstream, path, token, account):
    # Shows that status, length and digest of what was not kept can be looked up.
    upstream.plan(path, answer(201, body=CONTENT))
    first = gate.post(path, token, account=account)
    document = gate.operation(first.operation, account)
    text = str(document)
    assert document['state'] == 'completed'
    assert '201' in text and str(BIG) in text
    assert hashlib.sha256(CONTENT).hexdigest() in text
    response = gate.get(f'/.counterfoil/operations/{first.operation}/response', account=account)
    assert_problem(response, 410, 'response-not-retained')


def test_the_limit_is_exact(start_gate, upstream, path, token):
    # Shows that an answer of exactly max_response bytes is kept, and one byte more is not.
    gate = start_gate(upstream, config(upstream, limits={'max_response': '64KiB'}))
    upstream.plan(path, answer(200, body=b'x' * 65536))
    upstream.plan(path + '-1', answer(200, body=b'x' * 65537))
    gate.post(path, token)
    gate.post(path + '-1', token + '-1')
    assert gate.post(path, token).outcome == 'replayed'
    assert gate.post(path + '-1', token + '-1').slug == 'response-not-retained'


def test_a_large_failure(gate, upstream, path, token):
    # Shows that a failure that was too large is known as a failure, and not run again either.
    upstream.plan(path, answer(404, body=CONTENT))
    assert gate.post(path, token).status == 404
    again = gate.post(path, token)
    assert again.slug == 'response-not-retained' and again.state == 'failed'
    assert upstream.effects(path) == 1


def test_a_large_answer_that_breaks_off(gate, upstream, path, token):
    # Shows that a large answer that ends early is unknown, and that nobody is told it was whole.
    def act(ex):
        ex.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % BIG + CONTENT[:BIG - 10])
        ex.close()
    upstream.plan(path, act)
    try:
        assert gate.post(path, token).status == 504
    except Closed:
        pass          # its head was out already: then the connection breaks off as the service's did
    assert gate.post(path, token).slug == 'outcome-unknown'
    assert upstream.effects(path) == 1


def test_it_survives_a_restart(start_gate, upstream, path, token):
    # Shows that after a crash an answer that was not kept is still known to have been given.
    gate = start_gate(upstream)
    upstream.plan(path, answer(201, [('Location', '/x')], CONTENT))
    first = gate.post(path, token)
    gate.kill9()
    gate.restart()
    again = gate.post(path, token)
    assert again.slug == 'response-not-retained' and again.one('Location') == '/x'
    assert again.operation == first.operation
    assert upstream.effects(path) == 1
