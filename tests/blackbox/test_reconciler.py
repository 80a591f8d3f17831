"""probe: what became of an unknown operation is found out by asking, never by guessing."""
import random
import threading

import pytest

from harness.client import Closed
from harness.rules import (MEDIA, Directory, Honouring, at_once, eventually, money, needed, notes, op,
                           operations, ruled, said, told)
from harness.upstream import answer, delayed, drop, half, hang, reset

FIELDS = {'name': needed()}
SETTLE = 0.2


def probe(path, **more):
    return {'get': f'/v1/find/{path}/{{book}}?name={{name}}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
            'absent': {'status': 200, 'empty': '/data'}, 'settle': '200ms', 'every': '100ms',
            'give_up': '1h', 'timeout': '500ms', **more}


def actions():
    return {
        'pays.create': {'route': 'POST /v1/pays/{book}', 'fields': FIELDS, 'probe': probe('pays'),
                        'response': {'reference': '/id'}},
        'late.create': {'route': 'POST /v1/late/{book}', 'fields': FIELDS,
                        'probe': probe('late', settle='2s')},
        'brief.create': {'route': 'POST /v1/brief/{book}', 'fields': FIELDS,
                         'probe': probe('brief', give_up='1s')},
        'jobs.create': {'route': 'POST /v1/jobs/{book}', 'fields': FIELDS, 'probe': probe('jobs'),
                        'dispatch': 'outbox'},
        'both.create': {'route': 'POST /v1/both/{book}', 'fields': FIELDS, 'probe': probe('both'),
                        'downstream_key': 'Idempotency-Key'},
        'byid.create': {'route': 'POST /v1/byid/{book}', 'fields': FIELDS,
                        'probe': probe('byid', get='/v1/find/byid/{book}/{operation}/{token}')},
        'locks.create': {'route': 'POST /v1/locks/{book}', 'fields': FIELDS, 'probe': probe('locks'),
                         'lock': {'on': ['name']}},
        'opens.create': {'route': 'POST /v1/opens/{book}', 'fields': {**FIELDS, **money()},
                         'probe': probe('opens'), 'opens_budget': {'id': 'response/id', 'amount': 'amount'}},
        'spends.create': {'route': 'POST /v1/spends/{book}', 'fields': {'of': needed(), **money()},
                          'budget': {'of': 'of', 'amount': 'amount'}},
    }


def settings(upstream):
    return ruled(upstream, actions(), outbox={'first_pause': '50ms', 'max_pause': '200ms'})


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


class Desk:
    """One action's write path, and the path of the question about it."""

    def __init__(self, gate, upstream, kind, number, token, account):
        self.gate, self.upstream, self.token, self.account = gate, upstream, token, account
        self.path, self.find = f'/v1/{kind}/{number}', f'/v1/find/{kind}/{number}'

    def post(self, key='', name='n', wait=None, **more):
        headers = {'Prefer': f'wait={wait}'} if wait else {}
        return self.gate.post(self.path, self.token + key, account=self.account, headers=headers, timeout=40,
                              json={'name': name, **more})

    def tell(self, *found, status=200):
        """What every question is answered from now on."""
        self.upstream.always(self.find, said({'data': list(found)}, status, works=False))

    def lose(self, fault=None, **more):
        self.upstream.plan(self.path, fault or drop())
        first = self.post(**more)
        assert first.slug == 'outcome-unknown', first
        return first

    def wait(self, response, *states):
        return self.gate.wait_state(response.operation, *states or ('completed',), account=self.account)

    def sent(self):
        return len(self.upstream.seen(self.path))


@pytest.fixture
def desk_of(gate, upstream, number, token, account):
    return lambda kind: Desk(gate, upstream, kind, number, token, account)


@pytest.fixture
def desk(desk_of):
    return desk_of('pays')


THING = {'id': 'obj_7', 'name': 'n', 'amount': 5}


def test_found_on_a_retry(desk):
    # Shows that a retry asks the service, and gets what is there as the answer that was lost.
    desk.tell(THING)
    first = desk.lose()
    again = desk.post(wait=10)
    assert (again.status, again.state, again.operation) == (201, 'completed', first.operation)
    assert again.json() == THING
    assert again.outcome == 'replayed' and again.one('Content-Type').startswith('application/json')
    replay = desk.post()
    assert (replay.body, replay.outcome) == (again.body, 'replayed')
    assert desk.sent() == 1


def test_found_in_the_background(desk, gate):
    # Shows that it is found with nobody asking, and that the history says who found what.
    desk.tell(THING)
    document = desk.wait(desk.lose())
    assert document['reference'] == 'obj_7'
    assert any(notes(document, 'reconciler')), document
    assert desk.sent() == 1


def test_the_question(desk, upstream):
    # Shows what is asked: the filled in path, with the caller's own credentials and no body, and the
    # name percent-encoded so that it stays one value.
    desk.tell(THING)
    desk.wait(desk.lose(name='a b&c=d/é'))
    asked = upstream.last(desk.find)
    assert asked.method == 'GET' and asked.length == 0
    assert asked.target.partition('?name=')[2] == 'a%20b%26c%3Dd%2F%C3%A9'
    assert asked.get('Authorization') == desk.account
    assert asked.get('Idempotency-Key') is None


def test_questions_by_operation_and_token(desk_of, upstream, token):
    # Shows that a question can name the operation and its token.
    desk = desk_of('byid')
    first = desk.lose()
    find = f'{desk.find}/{first.operation}/{token}'
    upstream.always(find, said({'data': [THING]}, works=False))
    desk.wait(first)


def test_absent_is_sent_again_by_the_caller(desk, upstream):
    # Shows that what is not there once it had time to settle may be sent again with the same token,
    # and not before.
    desk.tell()
    first = desk.lose(drop(works=False))
    desk.wait(first, 'queued')
    again = desk.post()
    assert (again.status, again.outcome, again.operation) == (201, 'created', first.operation)
    once, twice = upstream.seen(desk.path)
    assert twice.at - once.at >= SETTLE * 0.9
    assert upstream.effects(desk.path) == 1
    assert desk.post().outcome == 'replayed'


def test_absent_at_once_counts_for_nothing(desk_of, upstream):
    # Shows that an absence before the settling time does not free the token, however often one retries:
    # what is only slow to be seen is found later, and was never sent twice.
    desk = desk_of('late')
    desk.tell()
    first = desk.lose()
    for _ in range(5):
        assert desk.post().slug == 'outcome-unknown'
    upstream.wait_seen(desk.find)
    desk.tell(THING)
    document = desk.wait(first)
    assert document['state'] == 'completed'
    assert desk.sent() == 1


DOUBTS = {
    'two': said({'data': [THING, THING]}, works=False),
    'another status': said({'data': [THING]}, 202, works=False),
    'an undeclared 404': said({'data': []}, 404, works=False),
    'an error': answer(500, works=False),
    'no right to ask': answer(401, works=False),
    'nothing at all': answer(200, body=b'', works=False),
    'an end too early': answer(200, headers=MEDIA, body=b'{"data": [', works=False),
    'no answer': drop(works=False),
    'half of one': half(200),
    'silence': hang(),
}


def test_doubt_stays_doubt(gate, upstream, number, token, account):
    # Shows that two matches, or no certain answer of whichever kind, decide nothing: it stays unknown,
    # is asked again, and is found once there is a clear answer. All kinds at once, as it takes its time.
    desks = {kind: Desk(gate, upstream, 'pays', f'{number}-{n}', f'{token}-{n}', account)
             for n, kind in enumerate(DOUBTS)}
    lost = {}
    for kind, desk in desks.items():
        upstream.always(desk.find, DOUBTS[kind])
        lost[kind] = desk.lose()
    for kind, desk in desks.items():
        upstream.wait_seen(desk.find, 3)
        assert desk.post().slug == 'outcome-unknown', kind
        document = gate.operation(lost[kind].operation, account)
        assert (document['state'], desk.sent()) == ('unknown', 1), kind
        assert any(notes(document, 'reconciler')), kind
        desk.tell(THING)
    for kind, desk in desks.items():
        found = eventually(lambda: (lambda r: r if r.status == 201 else None)(desk.post(wait=5)))
        assert (found.json(), desk.sent()) == (THING, 1), kind


def test_never_by_age(desk_of, upstream, gate):
    # Shows that when the gate gives up asking by itself the operation stays unknown, and that a retry
    # asks once more.
    desk = desk_of('brief')
    desk.tell(THING, THING)
    first = desk.lose()
    threading.Event().wait(1.5)

    def has_given_up():
        before = len(upstream.seen(desk.find))
        threading.Event().wait(1)
        return len(upstream.seen(desk.find)) == before
    eventually(has_given_up, 20)
    assert gate.operation(first.operation, desk.account)['state'] == 'unknown'
    desk.tell(THING)
    again = desk.post(wait=10)
    assert (again.status, again.json()) == (201, THING)
    assert desk.sent() == 1


def test_pauses_between_questions(desk, upstream):
    # Shows that questions come with growing pauses: never a storm.
    desk.tell(THING, THING)
    desk.lose()
    upstream.wait_seen(desk.find, 5)
    at = [seen.at for seen in upstream.seen(desk.find)][:5]
    pauses = [later - earlier for earlier, later in zip(at, at[1:])]
    assert all(pause >= 0.07 for pause in pauses) and pauses[-1] >= 0.2, pauses


def test_askers_do_not_put_it_off(desk):
    # Shows that however often a caller asks, the gate finds it out by itself soon after: whoever waits
    # for its lock is not kept waiting by somebody's impatience.
    desk.tell(THING, THING)
    first = desk.lose()
    for _ in range(14):
        assert desk.post().slug == 'outcome-unknown'
    desk.tell(THING)
    desk.wait(first)


def test_what_was_taken_on_is_sent_again_by_itself(desk_of, upstream):
    # Shows that an absence of what the gate took on is no matter of the caller's: it is sent again.
    desk = desk_of('jobs')
    desk.tell()
    upstream.plan(desk.path, drop(works=False))
    first = desk.post()
    assert first.status == 202
    document = desk.wait(first)
    assert desk.sent() == 2 and upstream.effects(desk.path) == 1
    assert {a['by'] for a in document['attempts']} >= {'dispatcher', 'reconciler'}, document


def test_a_key_where_the_probe_is_in_doubt(desk_of, upstream):
    # Shows that where asking tells nothing it is sent again under its key.
    desk = desk_of('both')
    service = Honouring()
    service.faults = [drop()]
    upstream.always(desk.path, service.behaviour)
    upstream.always(desk.find, answer(500, works=False))
    first = desk.post()
    desk.wait(first)
    assert (len(service.made), service.resent) == (1, 1)
    assert upstream.seen(desk.find), 'the probe comes first'


def test_the_history_says_what_was_asked_and_done(desk_of, upstream, gate):
    # Shows that each line of the reconciler's begins with what it did; that one of a second sending
    # says what the question before it had learned.
    desk = desk_of('both')
    service = Honouring()
    service.faults = [drop()]
    upstream.always(desk.path, service.behaviour)
    upstream.always(desk.find, answer(500, works=False))
    first = desk.post()
    desk.wait(first)

    def lines():
        said = notes(gate.operation(first.operation, desk.account), 'reconciler')
        return said if len(said) > 1 else None
    sent, ended = eventually(lines)
    assert sent.startswith('sent again under its downstream key after asking in vain: '), sent
    assert ended == 'sent again: it was answered', ended


def test_a_probe_that_finds_it_sends_nothing(desk_of, upstream):
    # Shows that where asking tells, nothing is sent again, and that the history says so.
    desk = desk_of('both')
    desk.tell(THING)
    document = desk.wait(desk.lose())
    assert desk.sent() == 1
    assert notes(document, 'reconciler')[-1].startswith('asked: it is there'), document


def test_a_crowd_of_retries(desk, upstream):
    # Shows that when the service says that nothing is there, a crowd that retries makes one sending.
    desk.tell()
    first = desk.lose(drop(works=False))
    desk.wait(first, 'queued')
    upstream.plan(desk.path, delayed(0.2))
    outcomes = [r.outcome for r in at_once(20, lambda n: desk.post())]
    assert outcomes.count('created') == 1, outcomes
    assert set(outcomes) <= {'created', 'running', 'replayed'}, outcomes
    assert upstream.effects(desk.path) == 1


def test_a_crowd_asks_one_question_at_a_time(desk, upstream):
    # Shows that a crowd that retries an unknown operation is no crowd at the service, and that all of
    # it learns what was found.
    first = desk.lose(drop())
    upstream.always(desk.find, delayed(0.3, said({'data': [THING]}, works=False)))
    answers = at_once(20, lambda n: desk.post(wait=10))
    desk.wait(first)
    assert {a.status for a in answers} <= {201, 409}, answers
    assert len(upstream.seen(desk.find)) <= 4
    assert desk.sent() == 1


def test_found_frees_the_lock(desk_of, upstream):
    # Shows that a found operation is a success like any other: the lock is free, its version raised.
    desk = desk_of('locks')
    desk.upstream.always(desk.find, answer(500, works=False))
    first = desk.lose()
    assert desk.post('-2').slug == 'lock-held'
    desk.tell(THING)
    desk.wait(first)
    assert desk.post('-2').outcome == 'created'


def test_found_opens_the_budget(desk_of, gate, number, token, account):
    # Shows that the budget of a found payment is opened by what was found.
    desk = desk_of('opens')
    id = f'pay-{token}'
    desk.tell({**THING, 'id': id})
    desk.wait(desk.lose(amount=500, currency='EUR'))

    def spend(key, amount):
        return gate.post(f'/v1/spends/{number}', f'{token}-{key}', account=account,
                         json={'of': id, 'amount': amount, 'currency': 'EUR'})
    assert spend('a', 500).outcome == 'created'
    assert spend('b', 1).slug == 'budget-exceeded'


def test_the_operators_word_comes_first(desk, gate):
    # Shows that a person may settle it while the gate is still asking, and that this stands.
    desk.upstream.always(desk.find, answer(500, works=False))
    first = desk.lose()
    done = op(gate, 'resolve', first.operation, '--did-not', '--no-retry', '--why', 'looked myself')
    assert done.returncode == 0, done.stderr
    desk.tell(THING)
    threading.Event().wait(0.5)
    assert gate.operation(first.operation, desk.account)['state'] == 'failed'


def test_after_a_crash(start_gate, upstream, number, token, account):
    # Shows that what a kill -9 interrupted is asked after, with nobody retrying.
    gate = start_gate(upstream, settings(upstream))
    desk = Desk(gate, upstream, 'pays', number, token, account)
    upstream.plan(desk.path, delayed(30))
    thread = threading.Thread(target=told, args=(gate, desk.path, token), daemon=True,
                              kwargs={'account': account, 'json': {'name': 'n'}})
    thread.start()
    upstream.wait_seen(desk.path)
    gate.kill9()
    thread.join(20)
    desk.tell(THING)
    gate.restart()
    [found] = eventually(lambda: operations(gate, account, state='completed'))
    again = desk.post()
    assert (again.operation, again.status, again.json()) == (found['id'], 201, THING)
    assert desk.sent() == 1


def kill_rounds(start_gate, upstream, rounds, kind, number, token, account):
    """A naive service with faults, and a gate that is killed: the probe alone sorts it out."""
    dice = random.Random(rounds)
    gate = start_gate(upstream, settings(upstream))
    desk = Desk(gate, upstream, kind, number, token, account)
    service = Directory('name')
    upstream.always(desk.path, service.writes)
    upstream.always(desk.find, service.asks)
    asked = []
    for round in range(rounds):
        service.faults = [dice.choice([drop(), reset(), half(), drop(works=False), answer(500),
                                       answer(500, works=False), answer(503, works=False)])
                          for _ in range(3)]
        names = [f'{round}-{n}' for n in range(5)]
        asked += names
        threads = [threading.Thread(target=told, args=(gate, desk.path, f'{token}~{name}'), daemon=True,
                                    kwargs={'account': account, 'json': {'name': name}}) for name in names]
        for thread in threads:
            thread.start()
        threading.Event().wait(dice.random() * 0.1)
        gate.kill9()
        for thread in threads:
            thread.join(20)
        gate.restart()
    for name in asked:
        def is_done():
            try:
                return desk.post(f'~{name}', name).state == 'completed'
            except (Closed, OSError):
                return False
        eventually(is_done, 30, name)
        assert service.count(name) == 1, f'{name}: {service.count(name)}'


def test_kills_and_faults(start_gate, upstream, number, token, account):
    # Shows over some kills with faults, at a service that knows no key, that every intention comes to
    # exactly one effect by asking alone.
    kill_rounds(start_gate, upstream, 5, 'pays', number, token, account)


@pytest.mark.long
@pytest.mark.parametrize('kind', ['pays', 'jobs'])
def test_many_kills_and_faults(start_gate, upstream, number, token, account, kind):
    # Shows the same over 80 kills, by the caller's retries and by the gate alone.
    kill_rounds(start_gate, upstream, 80, kind, number, token, account)


def sandbox_config(sandbox, **more):
    return ruled(sandbox.url, {'payments.create': {
        'route': 'POST /v1/payments', 'downstream_key': {'field': 'reference'}, 'fields': money(),
        'probe': {**probe('x', get='/v1/payments?reference={downstream_key}', settle='600ms'), **more}}})


def test_with_the_practice_api(start_gate, sandbox, token, account):
    # Shows the whole of it with the practice API, whose answer is lost and which shows what it made only
    # later: one payment, found.
    gate = start_gate(None, sandbox_config(sandbox))
    sandbox.fault('hide=300,drop')
    first = gate.post('/v1/payments', token, account=account, json={'amount': 5, 'currency': 'EUR'})
    assert first.slug == 'outcome-unknown'
    # Nothing is sent again meanwhile: not even under its key, which this API does not honour.
    sandbox.fault('status=500', path='/v1/payments', method='POST', times=1000)
    document = gate.wait_state(first.operation, 'completed', account=account)
    assert len(sandbox.list(f'/v1/payments?reference={document["downstream_key"]}')) == 1
    assert sandbox.kinds()['payments'] == 1
