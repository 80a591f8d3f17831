"""Counterfoil-Retry-Of: a business retry under a new token, only where the first one failed."""
import pytest

from harness.client import assert_problem
from harness.upstream import answer, created, drop


def retry(gate, path, token, of, account):
    return gate.post(path, token, account=account, headers={'Counterfoil-Retry-Of': of})


def test_after_a_failure(gate, upstream, path, token, account):
    # Shows that a failed operation may be tried again under a new token: a new operation, a new effect.
    upstream.plan(path, answer(422), created())
    first = gate.post(path, token, account=account)
    second = retry(gate, path, token + '-again', first.operation, account)
    assert second.outcome == 'created' and second.operation != first.operation
    assert gate.post(path, token, account=account).status == 422
    assert len(upstream.seen(path)) == 2


@pytest.mark.parametrize('state', ['completed', 'unknown', 'queued'])
def test_not_after_anything_else(gate, upstream, path, token, account, state):
    # Shows that an operation that succeeded, or may have, or may yet, is no reason to write again.
    upstream.plan(path, {'completed': created(), 'unknown': drop(), 'queued': answer(503, works=False)}[state])
    first = gate.post(path, token, account=account)
    assert first.state == state
    count = len(upstream.seen(path))
    assert_problem(retry(gate, path, token + '-again', first.operation, account), 409, operation=False)
    assert len(upstream.seen(path)) == count
    upstream.plan(path, created())
    assert gate.post(path, token + '-again', account=account).outcome == 'created'


def test_after_a_cancellation(gate, upstream, path, token, account):
    # Shows that a cancelled operation may be tried again under a new token.
    upstream.plan(path, answer(503, works=False), created())
    first = gate.post(path, token, account=account)
    gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel', account=account)
    assert retry(gate, path, token + '-again', first.operation, account).outcome == 'created'
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('of', ['op_00000000000000000000000000', 'op_short', 'nonsense', ''])
def test_of_nothing(gate, upstream, path, token, account, of):
    # Shows that a retry of an operation that is not there is refused, and leaves the token free.
    assert retry(gate, path, token, of, account).status in (400, 409)
    assert upstream.seen(path) == []
    assert gate.post(path, token, account=account).outcome == 'created'


def test_of_another_account(gate, upstream, path, token, account):
    # Shows that another account's failed operation is nothing to build on, nor told about.
    upstream.plan(path, answer(422))
    theirs = gate.post(path, token, account=account + '-2')
    refused = retry(gate, path, token, theirs.operation, account)
    none = retry(gate, path, token, 'op_00000000000000000000000000', account)
    assert refused.status == none.status == 409
    assert refused.json()['type'] == none.json()['type']
    assert len(upstream.seen(path)) == 1
