"""lookup: before the first sending the service is asked whether the effect is there already."""
import threading

import pytest

from harness.client import assert_problem
from harness.rules import MEDIA, at_once, eventually, needed, ruled, said, text
from harness.upstream import answer, created, delayed, drop, half, hang

THING = {'id': 'obj_1', 'source_event_id': 'evt-1'}


def lookup(get):
    return {'get': get, 'found': {'status': 200, 'at': '/data/0', 'as': 200},
            'absent': {'status': 200, 'empty': '/data'}, 'timeout': '500ms'}


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, {
        'tickets.create': {
            'route': 'POST /v1/tickets/{book}',
            'fields': {'source_event_id': text(), 'title': needed()},
            'unique': {'by': ['source_event_id'], 'for': '30d'},
            'response': {'reference': '/id'},
            'lookup': lookup('/v1/find/{book}?event={source_event_id}')}})


class Desk:
    def __init__(self, gate, upstream, number, token, account):
        self.gate, self.upstream, self.token, self.account = gate, upstream, token, account
        self.path, self.find = f'/v1/tickets/{number}', f'/v1/find/{number}'

    def post(self, key='', event='evt-1'):
        body = {'title': 't'} if event is None else {'title': 't', 'source_event_id': event}
        return self.gate.post(self.path, self.token + key, account=self.account, json=body, timeout=30)

    def tell(self, *found):
        self.upstream.always(self.find, said({'data': list(found)}, works=False))

    def asked(self):
        return len(self.upstream.seen(self.find))

    def sent(self):
        return len(self.upstream.seen(self.path))


@pytest.fixture
def desk(gate, upstream, number, token, account):
    return Desk(gate, upstream, number, token, account)


def test_there_already(desk, gate):
    # Shows that what somebody made past the gate is the answer, and that nothing is sent.
    desk.tell(THING)
    response = desk.post()
    assert (response.status, response.json(), response.outcome) == (200, THING, 'reused')
    assert response.state == 'completed'
    assert desk.sent() == 0
    again = desk.post()
    assert (again.body, again.outcome) == (response.body, 'replayed')
    other = desk.post('-2')
    assert (other.body, other.outcome, other.operation) == (response.body, 'reused', response.operation)
    assert desk.asked() == 1, 'what is known is not asked again'
    assert gate.operation(response.operation, desk.account)['reference'] == 'obj_1'


def test_not_there(desk, upstream):
    # Shows that what is not there is made, once, and not asked after again.
    desk.tell()
    assert desk.post().outcome == 'created'
    assert desk.post().outcome == 'replayed'
    assert desk.post('-2').outcome == 'reused'
    assert (desk.sent(), desk.asked()) == (1, 1)
    asked = upstream.last(desk.find)
    assert asked.target == f'{desk.find}?event=evt-1'
    assert asked.method == 'GET' and asked.get('Authorization') == desk.account


@pytest.mark.parametrize('answered', [
    said({'data': [THING, THING]}, works=False), answer(500, works=False), answer(404, works=False),
    answer(200, headers=MEDIA, body=b'{', works=False), drop(works=False), half(200), hang(),
], ids=['two', '500', '404', 'no JSON', 'dropped', 'half', 'hangs'])
def test_doubt_sends_nothing(desk, upstream, answered):
    # Shows that without a certain answer nothing is sent, and that the same token may come again.
    upstream.plan(desk.find, answered, answered)
    for _ in range(2):
        response = desk.post()
        assert_problem(response, 503, 'not-sent', advice='same_key')
        assert (response.outcome, response.state) == ('not_sent', 'queued')
    assert desk.sent() == 0
    desk.tell()
    again = desk.post()
    assert (again.outcome, again.operation) == ('created', response.operation)
    assert upstream.effects(desk.path) == 1


def test_doubt_that_clears_up_to_found(desk, upstream):
    # Shows that a later try may find it after all.
    upstream.plan(desk.find, answer(500, works=False))
    assert desk.post().outcome == 'not_sent'
    desk.tell(THING)
    response = desk.post()
    assert (response.status, response.json(), response.state) == (200, THING, 'completed')
    assert desk.sent() == 0


def test_a_service_that_is_away_is_asked_again_later(desk, upstream):
    # Shows that after a sending that did not arrive the next try is sent as it should be.
    desk.tell()
    upstream.plan(desk.path, answer(503, works=False), created())
    assert desk.post().outcome == 'not_sent'
    assert desk.post().outcome == 'created'
    assert upstream.effects(desk.path) == 1


def test_without_its_parts_nothing_is_asked(desk):
    # Shows that a command without the identity is sent as it is.
    desk.tell(THING)
    for n in range(2):
        assert desk.post(f'-{n}', event=None).outcome == 'created'
    assert (desk.asked(), desk.sent()) == (0, 2)


def test_a_crowd(desk, upstream):
    # Shows that a crowd with one identity asks once, and makes one effect.
    upstream.always(desk.find, delayed(0.2, said({'data': []}, works=False)))
    outcomes = [r.outcome for r in at_once(30, lambda n: desk.post(f'-{n}'))]
    assert outcomes.count('created') == 1, outcomes
    assert set(outcomes) <= {'created', 'running', 'reused'}, outcomes
    assert (desk.asked(), upstream.effects(desk.path)) == (1, 1)


def test_killed_while_it_asks(start_gate, upstream, config_of_file, number, token, account):
    # Shows that a gate which is killed while it asks has sent nothing, and never sends it twice.
    gate = start_gate(upstream, config_of_file)
    desk = Desk(gate, upstream, number, token, account)
    upstream.plan(desk.find, delayed(30, said({'data': []}, works=False)))

    def first():
        try:
            desk.post()
        except Exception:  # pylint: disable=broad-except
            pass
    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    upstream.wait_seen(desk.find)
    gate.kill9()
    thread.join(20)
    gate.restart()
    desk.tell()
    assert desk.sent() == 0
    again = desk.post()
    assert again.outcome in ('created', 'unknown'), again
    assert desk.sent() <= 1


def test_with_the_practice_api(start_gate, sandbox, token, account):
    # Shows the whole of it: a ticket that was made past the gate is found by its event.
    gate = start_gate(None, ruled(sandbox.url, {'tickets.create': {
        'route': 'POST /v1/tickets', 'fields': {'source_event_id': needed(), 'title': needed()},
        'unique': {'by': ['source_event_id']},
        'lookup': lookup('/v1/tickets?source_event_id={source_event_id}')}}))
    made = sandbox.request('POST', '/v1/tickets', b'{"title": "t", "source_event_id": "evt/1 a"}').json()

    def post(key, event):
        return gate.post('/v1/tickets', token + key, account=account, json={'title': 't', 'source_event_id': event})
    found = post('-1', 'evt/1 a')
    assert (found.outcome, found.json()['id']) == ('reused', made['id'])
    assert post('-2', 'evt-2').outcome == 'created'
    assert sandbox.kinds()['tickets'] == 2
    eventually(lambda: 'reused' in str(gate.operation(found.operation, account)['attempts']))
