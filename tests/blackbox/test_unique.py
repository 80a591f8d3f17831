"""unique: one effect for each business identity, across tokens, callers and crashes."""
import datetime
import threading

import pytest

from harness.client import assert_problem
from harness.rules import at_once, eventually, needed, op, op_json, resolve, ruled, text, told
from harness.upstream import Hold, answer, created, delayed, drop, held

FIELDS = {'project': needed(), 'title': text(),
          'source_event_id': text(nullable=True), 'number': {'type': 'integer'}}
BY = {'by': ['project', 'source_event_id'], 'for': '30d'}
MANY = 200


def actions():
    return {
        'tickets.create': {'route': 'POST /v1/tickets/{book}', 'fields': FIELDS, 'unique': BY},
        'notes.create': {'route': 'POST /v1/notes/{book}', 'fields': FIELDS, 'unique': BY},
        'briefs.create': {'route': 'POST /v1/briefs/{book}', 'fields': FIELDS,
                          'unique': {'by': ['/project'], 'for': '1s'}},
        'pages.create': {'route': 'POST /v1/pages/{book}', 'fields': FIELDS,
                         'unique': {'by': ['book', 'number'], 'for': 'forever'}},
    }


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, actions())


@pytest.fixture
def tickets(number):
    return f'/v1/tickets/{number}'


def ticket(event='evt-1', **more):
    return {'project': 'apollo', 'source_event_id': event, **more}


def open_ticket(gate, target, token, account, event='evt-1', wait=None, **more):
    headers = {'Prefer': f'wait={wait}'} if wait else {}
    return gate.post(target, token, account=account, json=ticket(event, **more), headers=headers,
                     timeout=40)


def assert_reused(response, first):
    assert (response.status, response.body) == (first.status, first.body), response
    assert (response.outcome, response.state) == ('reused', 'completed'), response
    assert response.operation == first.operation
    assert response.one('Idempotent-Replayed') == 'true'


def test_hundreds_of_tokens_are_one_effect(gate, upstream, tickets, token, account):
    # Shows that of hundreds of simultaneous tokens with one identity one is sent, and that the
    # others are told of that one operation.
    upstream.plan(tickets, delayed(0.3))
    answers = at_once(MANY, lambda n: open_ticket(gate, tickets, f'{token}-{n}', account))
    outcomes = [a.outcome for a in answers]
    assert outcomes.count('created') == 1, outcomes
    assert set(outcomes) <= {'created', 'running', 'reused'}, outcomes
    assert len({a.operation for a in answers}) == 1
    assert upstream.effects(tickets) == 1
    first = answers[outcomes.index('created')]
    assert_reused(open_ticket(gate, tickets, f'{token}-late', account), first)
    assert upstream.effects(tickets) == 1


def test_those_that_wait_get_the_answer(gate, upstream, tickets, token, account):
    # Shows that whoever waits for the first one gets its answer, byte for byte.
    hold = Hold()
    upstream.plan(tickets, held(hold))
    threading.Thread(target=lambda: (hold.wait_entered(), threading.Event().wait(0.3), hold.release()),
                     daemon=True).start()
    answers = at_once(40, lambda n: open_ticket(gate, tickets, f'{token}-{n}', account, wait=20))
    [first] = [a for a in answers if a.outcome == 'created']
    for other in answers:
        if other is not first:
            assert_reused(other, first)
    assert upstream.effects(tickets) == 1


def test_the_identity_alone_counts(gate, upstream, tickets, token, account):
    # Shows that the rest of the command need not agree: another title is the same ticket.
    first = open_ticket(gate, tickets, token, account, title='Valve sticks')
    assert first.outcome == 'created'
    assert_reused(open_ticket(gate, tickets, token + '-2', account, title='VALVE STICKS!'), first)
    assert open_ticket(gate, tickets, token + '-3', account, 'evt-2').outcome == 'created'
    assert upstream.effects(tickets) == 2


def test_nothing_is_kept_of_the_second_token(gate, upstream, tickets, token, account):
    # Shows that the token of a reuse stays free for something else.
    first = open_ticket(gate, tickets, token, account)
    assert_reused(open_ticket(gate, tickets, token + '-2', account), first)
    listed = gate.get(f'/.counterfoil/operations?token={token}-2', account=account).json()
    assert listed['operations'] == []
    assert open_ticket(gate, tickets, token + '-2', account, 'evt-9').outcome == 'created'
    assert upstream.effects(tickets) == 2


def test_the_first_one_tells_of_the_second(gate, tickets, token, account):
    # Shows that a reuse stands in the history of the operation that was reused.
    first = open_ticket(gate, tickets, token, account)
    open_ticket(gate, tickets, token + '-2', account)
    eventually(lambda: 'reused' in [a['outcome'] for a in
                                    gate.operation(first.operation, account)['attempts']])


def test_its_own_token_still_replays(gate, upstream, tickets, token, account):
    # Shows that the first token is what it was, and that another command under it is a conflict.
    first = open_ticket(gate, tickets, token, account)
    again = open_ticket(gate, tickets, token, account)
    assert (again.outcome, again.body) == ('replayed', first.body)
    assert_problem(open_ticket(gate, tickets, token, account, title='other'), 422, 'key-reused')
    assert upstream.effects(tickets) == 1


def test_failure_frees_the_identity(gate, upstream, tickets, token, account):
    # Shows that what failed made nothing: a new token may try again.
    upstream.plan(tickets, answer(422, works=False), created())
    failed = open_ticket(gate, tickets, token, account)
    assert failed.state == 'failed'
    second = open_ticket(gate, tickets, token + '-2', account)
    assert second.outcome == 'created' and second.operation != failed.operation
    assert_reused(open_ticket(gate, tickets, token + '-3', account), second)
    assert upstream.effects(tickets) == 1


def test_failures_under_a_crowd(gate, upstream, tickets, token, account):
    # Shows that when the first ones fail, exactly one of the later ones is the effect.
    upstream.plan(tickets, *[answer(422, works=False)] * 5)
    for n in range(20):
        open_ticket(gate, tickets, f'{token}-{n}', account)
    answers = at_once(20, lambda n: open_ticket(gate, tickets, f'{token}-b{n}', account))
    assert {a.outcome for a in answers} == {'reused'}
    assert upstream.effects(tickets) == 1


def test_cancellation_frees_the_identity(gate, upstream, tickets, token, account):
    # Shows that what was cancelled before it was sent stands in nobody's way.
    upstream.plan(tickets, answer(503, works=False), created())
    first = open_ticket(gate, tickets, token, account)
    assert first.state == 'queued'
    gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel', account=account)
    assert open_ticket(gate, tickets, token + '-2', account).outcome == 'created'
    assert upstream.effects(tickets) == 1


def test_what_was_not_sent_still_holds_it(gate, upstream, tickets, token, account):
    # Shows that an operation that may yet be sent keeps its identity: a second token makes no other.
    upstream.plan(tickets, answer(503, works=False))
    first = open_ticket(gate, tickets, token, account)
    assert first.state == 'queued'
    second = open_ticket(gate, tickets, token + '-2', account)
    assert second.operation == first.operation, second
    assert open_ticket(gate, tickets, token, account).outcome in ('created', 'replayed')
    assert upstream.effects(tickets) == 1


def test_what_was_not_sent_gives_way_to_another_wording(gate, upstream, tickets, token, account):
    # Shows that one which was not sent, and which only its own caller would send, does not keep off
    # for ever whoever comes with other words: those are sent, once, and the first is told so.
    upstream.plan(tickets, answer(503, works=False))
    first = open_ticket(gate, tickets, token, account, title='Disk full')
    assert first.state == 'queued'
    second = open_ticket(gate, tickets, token + '-2', account, title='The disk is full')
    assert (second.outcome, second.status) == ('created', 201), second
    again = open_ticket(gate, tickets, token, account, title='Disk full')
    assert again.slug == 'operation-cancelled', again
    assert 'identity' in gate.operation(first.operation, account)['reason']
    assert_reused(open_ticket(gate, tickets, token + '-3', account, title='Disk full'), second)
    assert upstream.effects(tickets) == 1


def test_many_wordings_of_what_was_not_sent(gate, upstream, tickets, token, account):
    # Shows that of a crowd in which each has its own words, at a service that takes nothing at first,
    # one is the effect.
    upstream.plan(tickets, *[answer(503, works=False)] * 10)
    for round in range(3):
        at_once(16, lambda n: open_ticket(gate, tickets, f'{token}-{round}-{n}', account, title=f'{n}', wait=5))
    last = open_ticket(gate, tickets, f'{token}-last', account, title='last')
    assert last.status == 201 and last.outcome in ('created', 'reused'), last
    assert upstream.effects(tickets) == 1


def test_unknown_holds_it(gate, upstream, tickets, token, account):
    # Shows that while nobody knows what became of the first, a second token is told just that.
    upstream.plan(tickets, drop())
    first = open_ticket(gate, tickets, token, account)
    for n in range(2):
        second = open_ticket(gate, tickets, f'{token}-{n}', account)
        assert_problem(second, 409, 'outcome-unknown')
        assert second.operation == first.operation
    assert upstream.effects(tickets) == 1
    resolve(gate, first.operation, 'did-not', '--no-retry')
    assert open_ticket(gate, tickets, token + '-9', account).outcome == 'created'


def test_the_window_ends(gate, upstream, number, token, account):
    # Shows that the identity is free once its time is over, and not before.
    path = f'/v1/briefs/{number}'
    first = open_ticket(gate, path, token, account)
    assert_reused(open_ticket(gate, path, token + '-2', account), first)
    tokens = iter(range(1000))
    later = eventually(lambda: next((r for r in [open_ticket(gate, path, f'{token}-l{next(tokens)}', account)]
                                     if r.outcome == 'created'), None))
    assert later.operation != first.operation
    sent = upstream.seen(path)
    assert len(sent) == 2 and sent[1].at - sent[0].at > 0.9


def test_it_is_kept_as_long_as_it_counts(gate, tickets, token, account):
    # Shows that an answer which may be reused for 30 days is kept that long, whatever the retention.
    response = open_ticket(gate, tickets, token, account)
    expires = datetime.datetime.fromisoformat(response.one('Operation-Expires').replace('Z', '+00:00'))
    ahead = expires - datetime.datetime.now(datetime.timezone.utc)
    assert datetime.timedelta(days=29) < ahead < datetime.timedelta(days=31)


@pytest.mark.parametrize('body', [{'project': 'apollo'}, {'project': 'apollo', 'source_event_id': None}])
def test_without_all_its_parts_there_is_no_identity(gate, upstream, tickets, token, account, body):
    # Shows that the rule does not apply where a part is absent or null.
    for n in range(2):
        assert gate.post(tickets, f'{token}-{n}', account=account, json=body).outcome == 'created'
    assert upstream.effects(tickets) == 2


def test_other_accounts_have_their_own(gate, upstream, tickets, token, account):
    # Shows that an account never gets, nor learns of, the answer of another one.
    mine = open_ticket(gate, tickets, token, account)
    theirs = open_ticket(gate, tickets, token + '-2', account + '-other')
    assert theirs.outcome == 'created' and theirs.operation != mine.operation
    assert theirs.body != mine.body
    assert upstream.effects(tickets) == 2


def test_other_actions_have_their_own(gate, upstream, number, token, account):
    # Shows that the same parts of another action are another identity.
    for name in ('tickets', 'notes'):
        assert open_ticket(gate, f'/v1/{name}/{number}', f'{token}-{name}', account).outcome == 'created'
        assert upstream.effects(f'/v1/{name}/{number}') == 1


def test_parts_of_the_route_and_numbers(gate, upstream, number, token, account):
    # Shows that a parameter of the route is a part, and that one number has one value.
    path = f'/v1/pages/{number}'

    def page(target, key, spelling):
        return gate.post(target, f'{token}-{key}', account=account, headers=[('Content-Type', 'application/json')],
                         body=b'{"project": "p", "number": %s}' % spelling)
    first = page(path, 1, b'7')
    assert_reused(page(path, 2, b'7.0'), first)
    assert page(path, 3, b'8').outcome == 'created'
    assert page(path + '-b', 4, b'7').outcome == 'created'
    assert (upstream.effects(path), upstream.effects(path + '-b')) == (2, 1)


def test_it_outlives_a_crash(start_gate, upstream, tickets, token, account):
    # Shows that the identity of an answer that was given is taken after kill -9, too.
    gate = start_gate(upstream, ruled(upstream, actions()))
    first = open_ticket(gate, tickets, token, account)
    gate.kill9()
    gate.restart()
    assert_reused(open_ticket(gate, tickets, token + '-2', account), first)
    assert upstream.effects(tickets) == 1


def kill_rounds(start_gate, upstream, rounds, tickets, token, account):
    gate = start_gate(upstream, ruled(upstream, actions()))
    for round in range(rounds):
        path = f'{tickets}-{round}'
        upstream.always(path, delayed(0.02 * (round % 4)))
        threads = [threading.Thread(target=told, args=(gate, path, f'{token}-{round}-{n}'), daemon=True,
                                    kwargs={'account': account, 'json': ticket(f'evt-{round}')}) for n in range(10)]
        for thread in threads:
            thread.start()
        threading.Event().wait(0.015 * (round % 6))
        gate.kill9()
        for thread in threads:
            thread.join(20)
        gate.restart()
        for n in range(3):
            open_ticket(gate, path, f'{token}-{round}-later-{n}', account, f'evt-{round}')
        assert upstream.effects(path) <= 1, f'round {round}'
        last = open_ticket(gate, path, f'{token}-{round}-last', account, f'evt-{round}')
        assert last.outcome in ('reused', 'unknown'), last
        assert upstream.effects(path) == 1 or last.outcome == 'unknown'


def test_crowds_and_kills(start_gate, upstream, tickets, token, account):
    # Shows over some kills in the middle of a crowd that an identity never has two effects.
    kill_rounds(start_gate, upstream, 8, tickets, token, account)


@pytest.mark.long
def test_many_crowds_and_kills(start_gate, upstream, tickets, token, account):
    # Shows the same over 150 kills.
    kill_rounds(start_gate, upstream, 150, tickets, token, account)


def test_an_operator_sees_the_one_operation(gate, tickets, token, account):
    # Shows that the operator finds one operation, under the token that made it.
    first = open_ticket(gate, tickets, token, account)
    open_ticket(gate, tickets, token + '-2', account)
    assert op_json(gate, 'list', '--token', token)['operations'][0]['id'] == first.operation
    assert op_json(gate, 'list', '--token', token + '-2')['operations'] == []
    assert op(gate, 'show', first.operation).returncode == 0
