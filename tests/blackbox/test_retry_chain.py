"""Chains of business retries, and how they meet the rules of their action."""
import pytest

from harness.rules import at_once, eventually, money, needed, op_json, ruled, said
from harness.upstream import answer, created, drop


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, {
        'plain.create': {'route': 'POST /v1/plain/{book}', 'fields': {'name': needed()},
                         'failed_when': [{'at': '/status', 'is': 'failed'}]},
        'once.create': {'route': 'POST /v1/once/{book}', 'fields': {'name': needed()},
                        'unique': {'by': ['name']}},
        'pays.create': {'route': 'POST /v1/pays/{book}', 'fields': money(),
                        'opens_budget': {'id': 'response/id', 'amount': 'amount'}},
        'refunds.create': {'route': 'POST /v1/refunds/{book}', 'fields': {'of': needed(), **money()},
                           'budget': {'of': 'of', 'amount': 'amount'}},
        'jobs.create': {'route': 'POST /v1/jobs/{book}', 'fields': {'name': needed()}, 'dispatch': 'outbox'},
    })


@pytest.fixture
def send(gate, token, account):
    def send(path, key, of=None, body=None):
        headers = {'Counterfoil-Retry-Of': of} if of else {}
        return gate.post(path, f'{token}-{key}', account=account, headers=headers, json=body or {'name': 'n'})
    return send


def test_a_chain_is_told_from_both_ends(gate, upstream, send, number, account):
    # Shows that each retry names the one that it retries, and that one names its retries.
    path = f'/v1/plain/{number}'
    upstream.plan(path, answer(422, works=False), said({'status': 'failed'}, works=False), created())
    first = send(path, 1)
    second = send(path, 2, first.operation)
    third = send(path, 3, second.operation)
    assert [r.state for r in (first, second, third)] == ['failed', 'failed', 'completed']
    ends = [gate.operation(r.operation, account) for r in (first, second, third)]
    assert [e['retry_of'] for e in ends] == [None, first.operation, second.operation]
    assert [e['retried_by'] for e in ends] == [[second.operation], [third.operation], []]
    assert op_json(gate, 'show', first.operation)['retried_by'] == [second.operation]
    assert upstream.effects(path) == 1


def test_each_of_it_replays_its_own(upstream, send, number):
    # Shows that no retry changes what an earlier one was answered.
    path = f'/v1/plain/{number}'
    upstream.plan(path, answer(422, body=b'one', works=False), answer(409, body=b'two', works=False), created())
    first = send(path, 1)
    second = send(path, 2, first.operation)
    send(path, 3, second.operation)
    assert [(r.status, r.body, r.outcome) for r in (send(path, 1), send(path, 2, first.operation))] == \
        [(422, b'one', 'replayed'), (409, b'two', 'replayed')]
    assert upstream.effects(path) == 1


def test_the_end_of_a_chain_is_no_reason(upstream, send, number):
    # Shows that once a retry succeeded it cannot be retried in its turn.
    path = f'/v1/plain/{number}'
    upstream.plan(path, answer(422, works=False), created())
    first = send(path, 1)
    second = send(path, 2, first.operation)
    assert send(path, 3, second.operation).status == 409
    assert upstream.effects(path) == 1


def test_retries_of_one_identity(upstream, send, number):
    # Shows that of a crowd that retries one failed operation, with one identity, one is the effect.
    path = f'/v1/once/{number}'
    upstream.plan(path, answer(422, works=False))
    first = send(path, 'first')
    answers = at_once(20, lambda n: send(path, n, first.operation))
    outcomes = [a.outcome for a in answers]
    assert outcomes.count('created') == 1 and set(outcomes) <= {'created', 'running', 'reused'}, outcomes
    assert upstream.effects(path) == 1


def test_an_unknown_one_is_retried_by_nobody(upstream, send, number):
    # Shows that a business retry is no way around an operation of which nobody knows what became.
    path = f'/v1/once/{number}'
    upstream.plan(path, drop())
    first = send(path, 1)
    assert first.state == 'unknown'
    assert send(path, 2, first.operation).status == 409
    assert upstream.effects(path) == 1


def test_a_retry_spends_again(upstream, send, number, token):
    # Shows that a failed refund gave its part back, and that its retry takes it anew.
    pays, refunds, id = f'/v1/pays/{number}', f'/v1/refunds/{number}', f'pay-{token}'
    upstream.plan(pays, said({'id': id}, 201))
    send(pays, 'pay', body={'amount': 1000, 'currency': 'EUR'})

    def refund(key, amount, retry_of=None):
        return send(refunds, key, retry_of, {'of': id, 'amount': amount, 'currency': 'EUR'})
    upstream.plan(refunds, answer(422, works=False), created())
    failed = refund(1, 1000)
    assert failed.state == 'failed'
    assert refund(2, 1000, failed.operation).outcome == 'created'
    assert refund(3, 1).slug == 'budget-exceeded'
    assert upstream.effects(refunds) == 1


def test_a_retry_that_is_taken_on(gate, upstream, send, number, account):
    # Shows that the gate's own sendings are retried like any: refused while it is under way, allowed
    # once it has failed.
    path = f'/v1/jobs/{number}'
    upstream.plan(path, answer(422, works=False), created())
    first = send(path, 1)
    gate.wait_state(first.operation, 'failed', account=account)
    second = send(path, 2, first.operation)
    assert second.status == 202
    gate.wait_state(second.operation, 'completed', account=account)
    eventually(lambda: gate.operation(first.operation, account)['retried_by'] == [second.operation])
    assert upstream.effects(path) == 1
