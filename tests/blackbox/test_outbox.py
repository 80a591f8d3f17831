"""dispatch: outbox — what is taken on is sent by the gate itself: each once, none lost."""
import random
import threading

import pytest

from harness.client import assert_problem
from harness.rules import (Exclusive, Honouring, eventually, needed, operations, ruled, text, told)
from harness.upstream import Hold, Upstream, answer, created, delayed, drop, half, held, reset

FIELDS = {'job': needed(), 'line': text(default='one')}
QUICK = {'first_pause': '50ms', 'max_pause': '300ms', 'attempts': 4}


def actions():
    outbox = {'fields': FIELDS, 'dispatch': 'outbox'}
    return {
        'jobs.create': {'route': 'POST /v1/jobs/{book}', **outbox},
        'lines.create': {'route': 'POST /v1/lines/{book}', **outbox,
                         'lock': {'on': ['line'], 'held': 'queue'}},
        'keyed.create': {'route': 'POST /v1/keyed/{book}', **outbox, 'downstream_key': 'Idempotency-Key'},
        'keyed.lines': {'route': 'POST /v1/keyedlines/{book}', **outbox, 'downstream_key': 'Idempotency-Key',
                        'lock': {'on': ['line'], 'held': 'queue'}},
    }


def settings(upstream, **outbox):
    return ruled(upstream, actions(), outbox={**QUICK, **outbox})


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


@pytest.fixture
def jobs(number):
    return f'/v1/jobs/{number}'


@pytest.fixture
def closed():
    """A service that refuses connections until it listens."""
    server = Upstream(listening=False)
    yield server
    server.stop()


def post(gate, path, token, account, job='j', wait=None, line='one', headers=()):
    wish = {'Prefer': f'wait={wait}'} if wait else {}
    return gate.post(path, token, account=account, json={'job': job, 'line': line}, timeout=40,
                     headers={**wish, **dict(headers)})


def assert_taken_on(response):
    assert (response.status, response.outcome) == (202, 'queued'), response
    assert response.state in ('queued', 'running'), 'it may be under way when it is told'
    document = response.json()
    assert (document['id'], document['state']) == (response.operation, response.state)
    assert response.one('Location').endswith(f'/.counterfoil/operations/{response.operation}')
    assert int(response.one('Retry-After')) >= 0


def test_taken_on_and_sent(gate, upstream, jobs, token, account):
    # Shows that the caller is told 202 with where to look, that the gate sends it, once, and that the
    # same request then gets the service's answer.
    first = post(gate, jobs, token, account)
    assert_taken_on(first)
    document = gate.wait_state(first.operation, 'completed', account=account)
    assert any(a['by'] == 'dispatcher' for a in document['attempts']), document
    again = post(gate, jobs, token, account)
    assert (again.status, again.outcome, again.operation) == (201, 'replayed', first.operation)
    assert gate.get(first.one('Location'), account=account).json()['state'] == 'completed'
    assert upstream.effects(jobs) == 1


def test_what_is_sent(gate, upstream, jobs, token, account):
    # Shows that the service gets target, headers and body as the caller sent them.
    body = b'{ "job":"\\u00e9",\r\n "line" : "one" }'
    headers = {'Content-Type': 'application/json; charset=utf-8', 'X-Trace': 'abc', 'Accept-Language': 'de'}
    first = gate.post(jobs + '?b=2&a=1', token, account=account, body=body, headers=headers)
    gate.wait_state(first.operation, 'completed', account=account)
    sent = upstream.last(jobs)
    assert (sent.method, sent.target, sent.body) == ('POST', jobs + '?b=2&a=1', body)
    assert {n: sent.get(n) for n in headers} == headers
    assert sent.get('Authorization') == account


def test_whoever_prefers_to_wait_gets_the_answer(gate, upstream, jobs, token, account):
    # Shows that with Prefer: wait the answer of the service comes on the very request.
    upstream.plan(jobs, delayed(0.2, answer(201, body=b'done', headers=[('ETag', '"1"')])))
    response = post(gate, jobs, token, account, wait=20)
    assert (response.status, response.body, response.outcome) == (201, b'done', 'created')
    again = post(gate, jobs, token, account)
    assert (again.body, again.outcome, again.get('ETag')) == (b'done', 'replayed', '"1"')
    assert upstream.effects(jobs) == 1


def test_a_wait_that_ends_early(gate, upstream, jobs, token, account):
    # Shows that a wait which ends before the service answers leaves the operation under way.
    hold = Hold()
    upstream.plan(jobs, held(hold))
    response = post(gate, jobs, token, account, wait=1)
    assert response.status in (202, 409) and response.state in ('queued', 'running'), response
    hold.release()
    gate.wait_state(response.operation, 'completed', account=account)
    assert upstream.effects(jobs) == 1


def test_again_while_it_is_queued(start_gate, closed, jobs, token, account):
    # Shows that the same request again is the same operation, told 202 again, and that another body
    # under the token is a conflict.
    gate = start_gate(closed, settings(closed, first_pause='10s', max_pause='10s'))
    first = post(gate, jobs, token, account)
    assert_taken_on(first)
    again = eventually(lambda: (lambda r: r if r.status == 202 else None)(post(gate, jobs, token, account)))
    assert again.operation == first.operation
    assert_problem(post(gate, jobs, token, account, 'other'), 422, 'key-reused')


def test_again_while_it_is_sent(gate, upstream, jobs, token, account):
    # Shows that while the service has it, a duplicate is told so as of any operation.
    hold = Hold()
    upstream.plan(jobs, held(hold))
    first = post(gate, jobs, token, account)
    hold.wait_entered()
    assert_problem(post(gate, jobs, token, account), 409, 'operation-running')
    hold.release()
    gate.wait_state(first.operation, 'completed', account=account)
    assert upstream.effects(jobs) == 1


def test_not_before_the_service_wants_it(gate, upstream, jobs, token, account):
    # Shows that the pause is never shorter than the service's own Retry-After.
    upstream.plan(jobs, answer(503, works=False, headers=[('Retry-After', '1')]), created())
    first = post(gate, jobs, token, account)
    gate.wait_state(first.operation, 'completed', account=account)
    once, again = upstream.seen(jobs)
    assert again.at - once.at >= 0.95
    assert upstream.effects(jobs) == 1


def test_a_failure_tells_why(start_gate, upstream, jobs, token, account):
    # Shows that whoever repeats what was given up learns why it was.
    gate = start_gate(upstream, settings(upstream, attempts=2))
    upstream.always(jobs, answer(503, works=False))
    first = post(gate, jobs, token, account)
    gate.wait_state(first.operation, 'failed', account=account)
    again = post(gate, jobs, token, account)
    assert_problem(again, 409, 'operation-failed')
    assert again.json()['detail'].startswith('gave up after 2 sendings that did not arrive: ')


def test_the_callers_own_sending_is_the_first(start_gate, upstream, number, token, account):
    # Shows that where one sending is all there may be, and its caller made it, the dispatcher makes no
    # other: it has failed, and what it held is free.
    path = f'/v1/own/{number}'
    action = {'route': 'POST /v1/own/{book}', 'fields': FIELDS, 'lock': {'on': ['line'], 'held': 'queue'}}
    gate = start_gate(upstream, ruled(upstream, {'own.create': action}, outbox={**QUICK, 'attempts': 1}))
    upstream.plan(path, answer(503, works=False))
    for _ in range(2):
        told_so = post(gate, path, token, account)
        assert_problem(told_so, 409, 'operation-failed')
        assert told_so.json()['detail'].startswith('gave up after 1 sending that did not arrive: ')
    document = gate.operation(told_so.operation, account)
    first = document['attempts'][0]
    assert (document['state'], document['tries']) == ('failed', 1)
    assert (first['by'], first['outcome']) == ('caller', 'not_sent')
    assert post(gate, path, token + '-next', account).status == 201
    assert len(upstream.seen(path)) == 2


def test_pauses_grow(start_gate, upstream, jobs, token, account):
    # Shows that each pause is about twice the one before: never less than a quarter under it.
    gate = start_gate(upstream, settings(upstream, first_pause='100ms', max_pause='10s', attempts=20))
    upstream.plan(jobs, *[answer(429, works=False)] * 3)
    first = post(gate, jobs, token, account)
    gate.wait_state(first.operation, 'completed', account=account)
    at = [seen.at for seen in upstream.seen(jobs)]
    for n, pause in enumerate((0.1, 0.2, 0.4)):
        assert at[n + 1] - at[n] >= pause * 0.7, at


def test_what_cannot_be_sent_is_given_up(gate, upstream, jobs, token, account):
    # Shows that after as many sendings as are allowed that did not arrive it has failed, and says so.
    upstream.always(jobs, answer(503, works=False))
    first = post(gate, jobs, token, account)
    document = gate.wait_state(first.operation, 'failed', account=account)
    assert len(upstream.seen(jobs)) == 4
    assert 'gave up' in str(document), document
    again = post(gate, jobs, token, account)
    assert again.state == 'failed' and not 200 <= again.status < 300, again
    upstream.always(jobs, created())
    retried = post(gate, jobs, token + '-2', account, headers={'Counterfoil-Retry-Of': first.operation})
    gate.wait_state(retried.operation, 'completed', account=account)
    assert upstream.effects(jobs) == 1


def test_a_service_that_is_away(start_gate, closed, jobs, token, account):
    # Shows that what is taken on while the service is down is delivered when it is back, each once.
    gate = start_gate(closed, settings(closed, attempts=1000))
    taken = [post(gate, jobs, f'{token}-{n}', account, f'j{n}') for n in range(20)]
    threading.Event().wait(0.3)
    closed.listen()
    for response in taken:
        gate.wait_state(response.operation, 'completed', account=account)
    assert closed.by(lambda seen: seen.json()['job']) == {f'j{n}': 1 for n in range(20)}


def test_a_refusal_is_final(gate, upstream, jobs, token, account):
    # Shows that a failure of the service ends it, and replays.
    upstream.plan(jobs, answer(422, body=b'no', works=False))
    first = post(gate, jobs, token, account)
    gate.wait_state(first.operation, 'failed', account=account)
    again = post(gate, jobs, token, account)
    assert (again.status, again.body, again.outcome) == (422, b'no', 'replayed')
    assert len(upstream.seen(jobs)) == 1


@pytest.mark.parametrize('fault', [drop(), half(), reset(), answer(500)])
def test_what_is_lost_from_sight_is_unknown(gate, upstream, jobs, token, account, fault):
    # Shows that the dispatcher never sends again what may have arrived.
    upstream.plan(jobs, fault)
    first = post(gate, jobs, token, account)
    gate.wait_state(first.operation, 'unknown', account=account)
    threading.Event().wait(0.5)
    assert post(gate, jobs, token, account).slug == 'outcome-unknown'
    assert upstream.effects(jobs) == 1


def test_cancelled_before_it_was_sent(start_gate, closed, jobs, token, account):
    # Shows that what is cancelled while it is queued is never sent.
    gate = start_gate(closed, settings(closed, attempts=1000))
    first = post(gate, jobs, token, account)

    def cancel():
        done = gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel', account=account)
        return done.status == 200
    eventually(cancel)
    closed.listen()
    other = post(gate, jobs, token + '-2', account)
    gate.wait_state(other.operation, 'completed', account=account)
    assert len(closed.seen(jobs)) == 1
    assert gate.operation(first.operation, account)['state'] == 'cancelled'


def test_so_many_and_no_more(start_gate, closed, jobs, token, account):
    # Shows that over outbox.max_waiting a new one is refused as overload, and its token stays free.
    gate = start_gate(closed, settings(closed, max_waiting=5, attempts=1000))
    for n in range(5):
        assert_taken_on(post(gate, jobs, f'{token}-{n}', account, f'j{n}'))
    refused = eventually(lambda: (lambda r: r if r.status == 503 else None)(
        post(gate, jobs, f'{token}-{random.random()}', account, 'extra')))
    assert_problem(refused, 503, 'overloaded', operation=False)
    assert post(gate, jobs, f'{token}-0', account, 'j0').status in (202, 409)
    closed.listen()
    eventually(lambda: post(gate, jobs, f'{token}-last', account, 'last').status in (201, 202))


def test_order_behind_a_lock(gate, upstream, number, token, account):
    # Shows that what waits for one lock is sent in the order in which it came, one at a time, also
    # where some could not be sent at once; other locks do not wait for it.
    path = f'/v1/lines/{number}'
    service = Exclusive('job')
    upstream.plan(path, answer(503, works=False), answer(503, works=False))
    upstream.always(path, service.behaviour)
    taken = [post(gate, path, f'{token}-{n}', account, f'j{n}') for n in range(15)]
    for response in taken:
        gate.wait_state(response.operation, 'completed', account=account)
    assert service.order == [f'j{n}' for n in range(15)]
    service.assert_alone()


def test_other_locks_do_not_wait(gate, upstream, number, token, account):
    # Shows that one line that is stuck does not hold up another.
    path = f'/v1/lines/{number}'
    hold = Hold()
    upstream.plan(path, held(hold))
    stuck = post(gate, path, token, account, 'stuck', line='two')
    hold.wait_entered()
    free = post(gate, path, token + '-2', account, 'free', line='three')
    gate.wait_state(free.operation, 'completed', account=account)
    hold.release()
    gate.wait_state(stuck.operation, 'completed', account=account)


def test_a_stop_in_good_order(start_gate, closed, jobs, token, account):
    # Shows that what is queued at SIGTERM is sent after the next start.
    gate = start_gate(closed, settings(closed, attempts=1000))
    taken = [post(gate, jobs, f'{token}-{n}', account, f'j{n}') for n in range(5)]
    gate.terminate()
    assert gate.wait_exit() == 0
    closed.listen()
    gate.restart()
    for response in taken:
        gate.wait_state(response.operation, 'completed', account=account)
    assert closed.effects(jobs) == 5


def test_killed_right_after_it_was_taken_on(start_gate, closed, number, token, account):
    # Shows that the moment a caller has its 202 the intention is safe, and is sent with nobody asking;
    # one that was on its way at the kill by its key.
    gate = start_gate(closed, settings(closed, attempts=1000))
    for n in range(6):
        assert_taken_on(post(gate, f'/v1/keyed/{number}', f'{token}-{n}', account, f'j{n}'))
        gate.kill9()
        gate.restart()
    closed.listen()
    eventually(lambda: len(operations(gate, account, state='completed')) == 6, 80)
    assert closed.by(lambda seen: seen.json()['job']) == {f'j{n}': 1 for n in range(6)}


LOSSES = [drop(), half(), answer(500)]
PAUSES = [answer(503, works=False), delayed(0.02)]


def kill_rounds(start_gate, upstream, rounds, path, token, account, faults=tuple(LOSSES + PAUSES)):
    """Kills at random moments; every 202 is a promise. A lost one takes seconds until it is sent again."""
    dice = random.Random(rounds)
    gate = start_gate(upstream, settings(upstream, attempts=1000))
    service = Honouring()
    upstream.always(path, service.behaviour)
    promised, asked = set(), set()
    for round in range(rounds):
        service.faults = [dice.choice(faults) for _ in range(3)]

        def send(job):
            response = told(gate, path, f'{token}~{job}', account=account, json={'job': job, 'line': 'one'})
            if response is not None and response.status in (201, 202):
                promised.add(job)
        jobs = [f'{round}-{n}' for n in range(6)]
        asked.update(jobs)
        threads = [threading.Thread(target=send, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        threading.Event().wait(dice.random() * 0.1)
        gate.kill9()
        for thread in threads:
            thread.join(20)
        gate.restart()

    def is_quiet(): # one list: what moves between two of them would be in neither
        return not {o['state'] for o in operations(gate, account)} & {'queued', 'running', 'unknown'}
    eventually(is_quiet, 90 + 10 * rounds, 'quiet')
    made = [body['job'] for body in service.bodies()]
    assert len(made) == len(set(made)), 'an intention had two effects'
    assert promised <= set(made), f'lost: {promised - set(made)}'
    assert set(made) <= asked
    assert {o['state'] for o in operations(gate, account)} <= {'completed'}
    return len(promised)


def test_kills_at_random(start_gate, upstream, number, token, account):
    # Shows over some kills with faults that each intention that was taken on has one effect, none lost.
    assert kill_rounds(start_gate, upstream, 5, f'/v1/keyed/{number}', token, account) > 3


def test_kills_at_random_behind_a_lock(start_gate, upstream, number, token, account):
    # Shows the same of intentions that wait for one lock.
    kill_rounds(start_gate, upstream, 3, f'/v1/keyedlines/{number}', token, account, PAUSES)


@pytest.mark.long
@pytest.mark.parametrize('kind, rounds', [('keyed', 100), ('keyedlines', 25)])
def test_many_kills_at_random(start_gate, upstream, number, token, account, kind, rounds):
    # Shows the same over many kills.
    kill_rounds(start_gate, upstream, rounds, f'/v1/{kind}/{number}', token, account)
