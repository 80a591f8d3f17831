"""One token, another request: 422 key-reused, and not a byte of what is stored under it."""
import concurrent.futures

import pytest

from harness.client import assert_problem
from harness.upstream import Hold, answer, drop, held

SECRET = b'this-is-only-for-the-one-who-made-it'


def assert_conflict(response, operation, state):
    problem = assert_problem(response, 422, 'key-reused', advice={'new_key', 'fix', 'stop'})
    assert problem['operation']['id'] == operation
    assert problem['operation']['state'] == state
    assert (response.outcome, response.state) == ('conflict', state)
    assert SECRET not in response.head + response.body
    assert response.get('Idempotent-Replayed') is None


@pytest.mark.parametrize('status, state', [(201, 'completed'), (404, 'failed')])
def test_another_body_after_the_end(gate, upstream, path, token, status, state):
    # Shows that a finished operation's token refuses another body, and says nothing of the first.
    upstream.plan(path, answer(status, body=SECRET, headers=[('Location', '/' + SECRET.decode())]))
    first = gate.post(path, token, json={'amount': 1})
    assert_conflict(gate.post(path, token, json={'amount': 2}), first.operation, state)
    assert gate.post(path, token, json={'amount': 1}).body == SECRET
    assert upstream.effects(path) == 1


def test_another_body_while_the_first_runs(gate, upstream, path, token, account):
    # Shows that the conflict is told at once, also while the first is inside the service.
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token, account=account, json={'amount': 1})
        hold.wait_entered()
        other = gate.post(path, token, account=account, json={'amount': 2})
        hold.release()
        assert first.result().outcome == 'created'
    assert_conflict(other, first.result().operation, 'running')
    assert upstream.effects(path) == 1


def test_another_body_while_it_is_unknown(gate, upstream, path, token):
    # Shows that an unknown operation's token refuses another body as any other's does.
    upstream.plan(path, drop())
    first = gate.post(path, token, json={'amount': 1})
    assert first.outcome == 'unknown'
    assert_conflict(gate.post(path, token, json={'amount': 2}), first.operation, 'unknown')
    assert upstream.effects(path) == 1


def test_another_body_after_not_sent(gate, upstream, path, token):
    # Shows that a token is bound to its request even when nothing has been sent yet.
    upstream.plan(path, answer(503, body=b'later', works=False))
    first = gate.post(path, token, json={'amount': 1})
    assert first.outcome == 'not_sent'
    assert_conflict(gate.post(path, token, json={'amount': 2}), first.operation, 'queued')
    assert gate.post(path, token, json={'amount': 1}).status == 201
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('what', ['method', 'path', 'query', 'media type', 'no body'])
def test_everything_that_is_the_intention_counts(gate, upstream, path, token, what):
    # Shows that method, path, query, media type and an absent body each make another request.
    first = gate.post(path, token, body=b'{"a":1}', headers={'Content-Type': 'application/json'})
    method, target, body, media = 'POST', path, b'{"a":1}', {'Content-Type': 'application/json'}
    if what == 'method':
        method = 'PATCH'
    elif what == 'path':
        target += '/'
    elif what == 'query':
        target += '?'
        target += 'a=1'
    elif what == 'media type':
        media = {'Content-Type': 'text/plain'}
    else:
        body = b''
    assert_conflict(gate.request(method, target, token=token, body=body, headers=media),
                    first.operation, 'completed')
    assert len(upstream.seen(path)) == 1 and upstream.seen(path + '/') == []


def test_a_waiting_conflict_does_not_wait(gate, upstream, path, token):
    # Shows that Prefer: wait does not delay the bad news of a conflict.
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token, json={'n': 1})
        hold.wait_entered()
        other = gate.post(path, token, json={'n': 2}, headers={'Prefer': 'wait=10'}, timeout=5)
        assert not first.done()
        hold.release()
        assert_conflict(other, first.result().operation, 'running')
