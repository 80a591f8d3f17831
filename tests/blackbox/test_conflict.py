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


JSON, TEXT = {'Content-Type': 'application/json'}, {'Content-Type': 'text/plain'}
OTHERS = {
    'method': ('PATCH', '', b'1', JSON),
    'path': ('POST', '/', b'1', JSON),
    'query': ('POST', '?a=1', b'1', JSON),
    'media type': ('POST', '', b'1', TEXT),
}


@pytest.mark.parametrize('other', OTHERS.values(), ids=OTHERS.keys())
def test_everything_that_is_the_intention_counts(gate, upstream, path, token, other):
    # Shows that method, path, query and media type each make another request.
    method, more, body, media = other
    first = gate.post(path, token, body=b'1', headers=JSON)
    assert_conflict(gate.request(method, path + more, token=token, body=body, headers=media),
                    first.operation, 'completed')
    assert len(upstream.seen(path)) == 1 and upstream.seen(path + '/') == []


def test_no_body_is_another_body(gate, upstream, path, token):
    # Shows that an empty body is not the same as one that is there.
    first = gate.post(path, token, body=b'1', headers=TEXT)
    assert_conflict(gate.post(path, token, body=b'', headers=TEXT), first.operation, 'completed')
    assert upstream.effects(path) == 1


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
