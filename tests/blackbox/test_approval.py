"""approval: nothing is sent before the people who are needed have agreed to exactly that, once."""
import concurrent.futures
import json
import threading
import time

import pytest

from harness.client import Closed, assert_problem
from harness.people import Person, cli, on_terminal
from harness.rules import eventually, needed, operations, ruled, text, told
from harness.upstream import Upstream, answer

FIELDS = {
    'amount': {'type': 'money', 'currency': 'currency', 'required': True},
    'currency': needed(),
    'invoice': needed(),
    'memo': text(secret=True),
    'place': text(),
}
QUICK = {'first_pause': '50ms', 'max_pause': '300ms', 'attempts': 1000}


def actions(**changes):
    def action(name, approval, **more):
        return {'route': f'POST /v1/{name}/{{book}}', 'fields': FIELDS, 'approval': approval,
                'summary': 'Pay {amount} for {invoice}', **more}
    return {
        'always.pay': action('always', {'when': 'always', 'consequence': 'Charges the customer',
                                        'reversible': False, 'class': 'money', **changes}),
        'over.pay': action('over', {'when': [{'field': 'amount', 'over': 100000}]}),
        'is.pay': action('is', {'when': [{'field': 'place', 'is': 'production'}]}),
        'in.pay': action('in', {'when': [{'field': 'place', 'in': ['eu', 'us']}]}),
        'matches.pay': action('matches', {'when': [{'field': 'invoice', 'matches': 'x-[0-9]+'}]}),
        'whole.pay': action('whole', {'when': [{'field': 'invoice', 'matches': '^x-[0-9]+$'}]}),
        'first.pay': action('first', {'when': [{'first_use': 'agent'}]}),
        'short.pay': action('short', {'when': 'always', 'expires': '1s'}),
        'unique.pay': action('unique', {'when': 'always'}, unique={'by': ['invoice'], 'for': '1h'}),
    }


def settings(upstream, declared=None, **sections):
    return ruled(upstream, actions() if declared is None else declared, outbox=QUICK, **sections)


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


@pytest.fixture
def book(number):
    """The path of one test's own writes, of an action: book('always')."""
    return lambda name: f'/v1/{name}/{number}'


@pytest.fixture
def somebody(gate):
    return Person(gate)


def pay(gate, path, token, account, amount=4900, invoice='i-1', wait=None, **more):
    headers = {'Prefer': f'wait={wait}'} if wait else {}
    value = {'amount': amount, 'currency': 'EUR', 'invoice': invoice, **more}
    return gate.post(path, token, account=account, json=value, headers=headers, timeout=40)


def assert_asked(response):
    assert (response.status, response.outcome, response.state) == (
        202, 'awaiting_approval', 'awaiting_approval'), response
    document = response.json()
    assert document['id'] == response.operation and document['state'] == 'awaiting_approval'
    assert document['retry']['advice'] in ('wait', 'human'), document
    assert response.one('Location').endswith(response.operation)
    assert int(response.one('Retry-After')) > 0
    return document


def assert_denied(response, slug, id):
    problem = assert_problem(response, 403, slug)
    assert (response.outcome, response.state, response.operation) == ('denied', 'cancelled', id), response
    return problem


# -- asked, answered, sent ----------------------------------------------------------


def test_asked_then_sent_once(gate, upstream, somebody, book, token, account):
    # Shows that nothing is sent before a person has agreed, that then it is, once, and that the same
    # request then gets the service's answer without asking again.
    path = book('always')
    first = pay(gate, path, token, account)
    document = assert_asked(first)
    approval = document['approval']
    assert (approval['needed'], approval['given'], approval['state']) == (1, 0, 'waiting')
    assert '4900' in approval['summary'] or '49' in approval['summary'], approval
    assert 'i-1' in approval['summary'] and approval['expires_at'] > document['created']
    assert upstream.seen(path) == []
    agreed = somebody.approve(first.operation, why='seen the invoice')
    assert agreed.status == 200 and agreed.json()['given'] == 1, agreed
    gate.wait_state(first.operation, 'completed', account=account)
    again = pay(gate, path, token, account)
    assert (again.status, again.outcome, again.operation) == (201, 'replayed', first.operation)
    assert upstream.effects(path) == 1
    assert somebody.see(first.operation)['answers'][0]['why'] == 'seen the invoice'


def test_what_a_person_sees(gate, somebody, book, token, account):
    # Shows that the question says where it goes, what it does, what it is, who asks and until when; and
    # nothing of a secret field.
    path = book('always')
    first = pay(gate, path, token, account, memo='geheim-geheim')
    seen = somebody.see(first.operation)
    assert seen['operation']['id'] == first.operation and seen['action'] == 'always.pay'
    assert seen['destination']['method'] == 'POST' and seen['destination']['url'].endswith(path)
    assert (seen['consequence'], seen['reversible'], seen['class']) == ('Charges the customer', False, 'money')
    assert seen['command']['invoice'] == 'i-1' and 'memo' in seen['command']
    assert (seen['needed'], seen['given'], seen['answers']) == (1, 0, [])
    assert seen['asked']['account'] == seen['operation']['account'] and seen['asked']['by']
    assert len(seen['fingerprint']) == 64 and seen['expires_at'] > seen['asked']['at']
    assert 'geheim' not in json.dumps(seen) and 'geheim' not in json.dumps(somebody.waiting())
    assert 'geheim' not in json.dumps(gate.operation(first.operation, account))


def test_the_caller_does_not_see_who_may(gate, somebody, book, token, account):
    # Shows that the status resource says how the question stands and what it is about, and names nobody.
    first = pay(gate, book('always'), token, account)
    approval = gate.operation(first.operation, account)['approval']
    assert not {'answers', 'asked_by', 'by', 'roles'} & set(approval), approval
    somebody.approve(first.operation)
    assert 'admin-token' not in json.dumps(gate.operation(first.operation, account)['approval'])


def test_sent_byte_for_byte(gate, upstream, somebody, book, token, account):
    # Shows that what is sent after an approval is what the caller sent, in its own spelling.
    path = book('always')
    body = b'{ "invoice":"\\u00e9",\r\n "currency":"EUR" , "amount" : 4.9e3 }'
    headers = {'Content-Type': 'application/json; charset=utf-8', 'X-Trace': 'abc'}
    first = gate.post(path + '?b=2&a=1', token, account=account, body=body, headers=headers)
    assert first.state == 'awaiting_approval', first
    somebody.approve(first.operation)
    gate.wait_state(first.operation, 'completed', account=account)
    sent = upstream.last(path)
    assert (sent.method, sent.target, sent.body) == ('POST', path + '?b=2&a=1', body)
    assert {n: sent.get(n) for n in headers} == headers and sent.get('Authorization') == account


@pytest.mark.parametrize('name, asked, not_asked', [
    ('over', {'amount': 100001}, {'amount': 100000}),
    ('is', {'place': 'production'}, {'place': 'staging'}),
    ('is', {'place': 'production'}, {}),
    ('in', {'place': 'us'}, {'place': 'uk'}),
    ('matches', {'invoice': 'x-17'}, {'invoice': 'y-17'}),
    ('matches', {'invoice': 'x-17'}, {'invoice': 'y-17', 'place': 'x-17'}),
    ('whole', {'invoice': 'x-17'}, {'invoice': 'x-17-'}),
    ('whole', {'invoice': 'x-17', 'place': 'y'}, {'invoice': ' x-17'}),
])
def test_when_a_person_is_asked(gate, upstream, book, token, account, name, asked, not_asked):
    # Shows each condition: true of one command, and not of its neighbour, which is sent at once.
    path = book(name)
    assert_asked(pay(gate, path, token, account, **asked))
    assert upstream.seen(path) == []
    assert pay(gate, path, token + '-2', account, **not_asked).outcome == 'created'
    assert upstream.effects(path) == 1


def test_first_use(gate, upstream, somebody, book, token, account):
    # Shows that an agent's first use of an action is asked about, and no later one; another agent's is.
    path = book('first')
    first = pay(gate, path, token, account)
    assert_asked(first)
    assert_asked(pay(gate, path, token + '-meanwhile', account, invoice='i-2'))
    somebody.approve(first.operation)
    gate.wait_state(first.operation, 'completed', account=account)
    assert pay(gate, path, token + '-later', account, invoice='i-3').outcome == 'created'
    assert_asked(pay(gate, path, token, account + '-other'))
    assert upstream.effects(path) == 2


# -- again while it waits -----------------------------------------------------------


def test_again_while_it_waits(gate, upstream, book, token, account):
    # Shows that the same request again is the same question, and another body under its token a conflict.
    path = book('always')
    first = pay(gate, path, token, account)
    again = pay(gate, path, token, account)
    assert_asked(again)
    assert again.operation == first.operation
    other = pay(gate, path, token, account, amount=1)
    assert_problem(other, 422, 'key-reused')
    assert other.outcome == 'conflict'
    assert upstream.seen(path) == []


def test_changed_body_under_a_new_token_is_a_new_question(gate, upstream, somebody, book, token, account):
    # Shows that an approval of one body is none of another: that one is asked about by itself.
    path = book('always')
    first = pay(gate, path, token, account)
    somebody.approve(first.operation)
    gate.wait_state(first.operation, 'completed', account=account)
    second = pay(gate, path, token + '-2', account, amount=9900)
    assert_asked(second)
    assert second.operation != first.operation and upstream.effects(path) == 1
    seen = somebody.see(second.operation)
    assert seen['previous']['operation'] == first.operation
    assert [c['path'].split('/')[1] for c in seen['changed']] == ['amount'], seen['changed']


def test_equal_questions_are_folded_and_decided_apart(gate, upstream, somebody, book, token, account):
    # Shows that equal questions of one agent name each other, and that an answer to one is none to
    # another.
    path = book('always')
    ids = [pay(gate, path, f'{token}-{n}', account).operation for n in range(3)]
    seen = somebody.see(ids[0])
    assert (seen['alike'], sorted(seen['alike_ids'])) == (2, sorted(ids[1:])), seen
    listed = {a['operation']['id']: a for a in somebody.waiting()}
    assert sorted(listed[ids[1]]['alike_ids']) == sorted([ids[0], ids[2]])
    somebody.approve(ids[0])
    gate.wait_state(ids[0], 'completed', account=account)
    assert {gate.operation(i, account)['state'] for i in ids[1:]} == {'awaiting_approval'}
    assert upstream.effects(path) == 1 and somebody.see(ids[1])['alike'] == 1


def test_prefer_wait_waits_for_its_end(gate, upstream, somebody, book, token, account):
    # Shows that whoever prefers to wait gets the service's answer on the very request.
    path = book('always')
    upstream.plan(path, answer(201, body=b'done'))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pay, gate, path, token, account, wait=30)
        found = eventually(lambda: operations(gate, account, token=token))[0]
        somebody.approve(found['id'])
        response = waiting.result(30)
    assert (response.status, response.body, response.outcome) == (201, b'done', 'created')
    assert upstream.effects(path) == 1


def test_prefer_wait_is_told_of_a_denial(gate, upstream, somebody, book, token, account):
    # Shows that a wait ends with the person's no.
    path = book('always')
    first = pay(gate, path, token, account)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pay, gate, path, token, account, wait=30)
        somebody.deny(first.operation, 'too much')
        assert_denied(waiting.result(30), 'approval-denied', first.operation)
    assert upstream.seen(path) == []


def test_reuse_of_what_waits(gate, upstream, somebody, book, token, account):
    # Shows that the same business identity under another token meets the question that waits.
    path = book('unique')
    first = pay(gate, path, token, account, invoice=token)
    second = pay(gate, path, token + '-2', account, invoice=token)
    assert (second.status, second.outcome, second.operation) == (202, 'awaiting_approval', first.operation)
    somebody.approve(first.operation)
    gate.wait_state(first.operation, 'completed', account=account)
    third = pay(gate, path, token + '-3', account, invoice=token)
    assert (third.outcome, third.operation) == ('reused', first.operation)
    assert upstream.effects(path) == 1


# -- no, not in time, taken back ----------------------------------------------------


def test_denied(gate, upstream, somebody, book, token, account):
    # Shows that a no is final: the same answer for each retry, with the reason; nothing is sent.
    path = book('always')
    first = pay(gate, path, token, account)
    assert somebody.deny(first.operation, 'wrong customer').status == 200
    for _ in range(3):
        problem = assert_denied(pay(gate, path, token, account), 'approval-denied', first.operation)
        assert 'wrong customer' in problem['detail'] and problem['retry']['advice'] == 'human'
    assert_problem(somebody.approve(first.operation), 409, 'approval-over', operation=False)
    document = gate.operation(first.operation, account)
    assert (document['state'], document['approval']['state']) == ('cancelled', 'denied')
    assert document['retry']['advice'] == 'human'
    assert upstream.seen(path) == []


def test_expired_though_nobody_asks(gate, upstream, somebody, book, token, account):
    # Shows that a question whose time is over ends by itself, and that an approval after that is refused.
    path = book('short')
    first = pay(gate, path, token, account)
    fingerprint = somebody.see(first.operation)['fingerprint']
    gate.wait_log('approval-expired')
    document = gate.wait_state(first.operation, 'cancelled', account=account)
    assert document['approval']['state'] == 'expired'
    assert_problem(somebody.approve(first.operation, fingerprint), 409, 'approval-over', operation=False)
    for _ in range(2):
        assert_denied(pay(gate, path, token, account), 'approval-expired', first.operation)
    assert_asked(pay(gate, path, token + '-2', account))
    assert upstream.seen(path) == []


def test_taken_back(gate, upstream, somebody, book, token, account):
    # Shows that whoever asked may withdraw the question, and that no answer counts after that.
    path = book('always')
    first = pay(gate, path, token, account)
    fingerprint = somebody.see(first.operation)['fingerprint']
    cancelled = gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel', account=account)
    assert cancelled.status == 200 and cancelled.json()['state'] == 'cancelled', cancelled
    assert_problem(somebody.approve(first.operation, fingerprint), 409, 'approval-over', operation=False)
    assert somebody.see(first.operation)['state'] == 'withdrawn'
    assert_problem(pay(gate, path, token, account), 409, 'operation-cancelled')
    assert first.operation not in [a['operation']['id'] for a in somebody.waiting()]
    assert upstream.seen(path) == []


# -- who, and for what --------------------------------------------------------------


def test_only_what_was_shown(gate, upstream, somebody, book, token, account):
    # Shows that an answer needs the fingerprint of the question, and its whole.
    path = book('always')
    first = pay(gate, path, token, account)
    fingerprint = somebody.see(first.operation)['fingerprint']
    other = fingerprint[:-1] + ('0' if fingerprint[-1] != '0' else '1')
    assert_problem(somebody.approve(first.operation, other), 409, 'approval-other', operation=False)
    assert_problem(somebody.approve(first.operation, fingerprint[:32]), 400, 'body-malformed', operation=False)
    nothing = somebody.ask(f'/api/approvals/{first.operation}/approve', 'POST', {})
    assert_problem(nothing, 400, 'body-malformed', operation=False)
    silent = somebody.ask(f'/api/approvals/{first.operation}/deny', 'POST', {'fingerprint': fingerprint})
    assert_problem(silent, 400, 'body-malformed', operation=False)
    assert gate.operation(first.operation, account)['state'] == 'awaiting_approval'
    assert upstream.seen(path) == []


def test_nobody_approves_their_own(gate, upstream, somebody, book, token):
    # Shows that the credential which made the write cannot agree to it, and can take it back.
    path = book('always')
    own = 'Bearer ' + (gate.data / 'admin-token').read_text().strip()
    first = pay(gate, path, token, own)
    refused = somebody.approve(first.operation)
    assert_problem(refused, 403, 'approval-own', operation=False)
    assert gate.operation(first.operation, own)['state'] == 'awaiting_approval'
    assert somebody.deny(first.operation).status == 200
    assert upstream.seen(path) == []


def test_what_was_never_asked(gate, somebody, book, token, account):
    # Shows that what nobody was asked about, and what is not there, is not found.
    sent = pay(gate, book('over'), token, account, amount=1)
    for id in (sent.operation, 'op_' + '0' * 26, 'op_nonsense'):
        for target, method, value in (('', 'GET', None), ('/approve', 'POST', {'fingerprint': '0' * 64}),
                                      ('/deny', 'POST', {'fingerprint': '0' * 64, 'why': 'w'})):
            assert somebody.ask(f'/api/approvals/{id}{target}', method, value).status == 404


def test_without_a_credential(gate, book, token, account):
    # Shows that neither questions nor answers are there for whoever has no key.
    first = pay(gate, book('always'), token, account)
    for target, method in (('', 'GET'), (f'/{first.operation}', 'GET'), (f'/{first.operation}/approve', 'POST'),
                           (f'/{first.operation}/deny', 'POST')):
        assert gate.admin('/api/approvals' + target, method, [('Authorization', account)], b'{}').status == 401


def test_a_list_in_pages(start_gate, upstream, number, token, account):
    # Shows that those that wait come first, each once, over pages; and that wrong filters are refused.
    gate = start_gate(upstream, settings(upstream))
    somebody, path = Person(gate), f'/v1/always/{number}'
    ids = [pay(gate, path, f'{token}-{n}', account, invoice=f'i-{n}').operation for n in range(7)]
    for id in ids[:3]:
        assert somebody.deny(id).status == 200
    seen, cursor = [], ''
    for _ in range(10):
        page = somebody.ask(f'/api/approvals?state=all&limit=2{cursor}').json()
        seen += [(a['operation']['id'], a['state']) for a in page['approvals']]
        if not page['next']:
            break
        cursor = '&cursor=' + page['next']
    assert sorted(i for i, _ in seen) == sorted(ids), seen
    assert [s for _, s in seen] == ['waiting'] * 4 + ['denied'] * 3
    assert {a['operation']['id'] for a in somebody.waiting()} == set(ids[3:])
    for wrong in ('state=some', 'limit=0', 'limit=201', 'cursor=x', 'who=me'):
        assert somebody.ask('/api/approvals?' + wrong).status == 400


# -- at once ------------------------------------------------------------------------


def test_racing_answers(gate, upstream, somebody, book, token, account):
    # Shows that however many agree, refuse and withdraw at once, there is one end and at most one effect.
    path = book('always')
    for n in range(10):
        first = pay(gate, path, f'{token}-{n}', account, invoice=f'i-{n}')
        fingerprint = somebody.see(first.operation)['fingerprint']
        deeds = ([lambda: somebody.approve(first.operation, fingerprint)] * 6 +
                 [lambda: somebody.deny(first.operation, 'no', fingerprint)] * 2 +
                 [lambda: gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel',
                                       account=account)])
        before = upstream.effects(path)
        with concurrent.futures.ThreadPoolExecutor(len(deeds)) as pool:
            answers = list(pool.map(lambda deed: deed(), deeds))
        document = gate.wait_state(first.operation, 'completed', 'cancelled', account=account)
        made = upstream.effects(path) - before
        assert made == (1 if document['state'] == 'completed' else 0), (document, answers)
        agreed = [a.status for a in answers[:6]].count(200)
        assert agreed == (1 if made else agreed) and agreed <= 1, answers
        assert upstream.effects(path) - before == made


def test_racing_copies(gate, upstream, somebody, book, token, account):
    # Shows that many copies of one request are one question, and one effect when it is agreed to.
    path = book('always')
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        told = list(pool.map(lambda _: pay(gate, path, token, account), range(24)))
    assert len({r.operation for r in told}) == 1
    assert {r.status for r in told} == {202}
    somebody.approve(told[0].operation)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        after = list(pool.map(lambda _: pay(gate, path, token, account, wait=20), range(12)))
    assert {(r.status, r.operation) for r in after} == {(201, told[0].operation)}
    assert upstream.effects(path) == 1


# -- crashes ------------------------------------------------------------------------


def test_killed_while_it_waits(start_gate, upstream, number, token, account):
    # Shows that a question outlives the gate: asked still, then agreed to, then sent once.
    gate = start_gate(upstream, settings(upstream))
    somebody, path = Person(gate), f'/v1/always/{number}'
    first = pay(gate, path, token, account)
    gate.kill9()
    gate.restart()
    assert_asked(pay(gate, path, token, account))
    assert somebody.approve(first.operation).status == 200
    gate.wait_state(first.operation, 'completed', account=account)
    assert upstream.effects(path) == 1


def test_killed_after_the_yes_before_it_is_sent(start_gate, number, token, account):
    # Shows that an approval outlives the gate: it is sent when the service can be reached, once.
    service = Upstream(listening=False)
    try:
        gate = start_gate(service, ruled(service, actions(), outbox={'first_pause': '3s', 'max_pause': '3s'}))
        somebody, path = Person(gate), f'/v1/always/{number}'
        first = pay(gate, path, token, account)
        assert somebody.approve(first.operation).status == 200
        deadline = time.monotonic() + 20
        while not any(a['outcome'] == 'not_sent' for a in gate.operation(first.operation, account)['attempts']):
            assert time.monotonic() < deadline, gate.operation(first.operation, account)
        gate.kill9()
        gate.restart()
        assert gate.operation(first.operation, account)['state'] in ('queued', 'running')
        service.listen()
        gate.wait_state(first.operation, 'completed', account=account)
        assert service.effects(path) == 1
    finally:
        service.stop()


def test_expired_while_the_gate_was_away(start_gate, upstream, number, token, account):
    # Shows that what nobody agreed to in time has expired when the gate is back.
    gate = start_gate(upstream, settings(upstream))
    path = f'/v1/short/{number}'
    first = pay(gate, path, token, account)
    gate.kill9()
    threading.Event().wait(1.1)
    gate.restart()
    gate.wait_state(first.operation, 'cancelled', account=account)
    assert_denied(pay(gate, path, token, account), 'approval-expired', first.operation)
    assert upstream.seen(path) == []


@pytest.mark.long
def test_killed_over_and_over(start_gate, number, account):
    # Shows over many kills with people answering: nothing is sent that nobody agreed to, what was agreed
    # to is sent once at most and, unless a kill met it inside the service, at last.
    service = Upstream()
    try:
        gate = start_gate(service, settings(service))
        somebody, agreed, refused = Person(gate), {}, {}
        for round in range(30):
            tokens = [f'over-{number}-{round}-{n}' for n in range(8)]
            asked = [told(gate, f'/v1/always/{number}-{t}', t, account=account,
                          json={'amount': 1, 'currency': 'EUR', 'invoice': t}) for t in tokens]

            def answer_all():
                for n, response in enumerate(asked):
                    try:
                        if n % 2:
                            somebody.deny(response.operation)
                            refused[response.operation] = tokens[n]
                        else:
                            agreed[response.operation] = tokens[n]
                            somebody.approve(response.operation)
                    except (Closed, OSError, AssertionError):
                        return
            person = threading.Thread(target=answer_all)
            person.start()
            threading.Event().wait(0.005 * (round % 12))
            gate.kill9()
            person.join(20)
            gate.restart()
            for token in tokens:
                effects = service.effects(f'/v1/always/{number}-{token}')
                assert effects <= (1 if token in agreed.values() else 0), token
        for id, token in agreed.items():
            document = gate.wait_state(id, 'completed', 'unknown', 'awaiting_approval', account=account)
            expected = {'completed': (1,), 'unknown': (0, 1), 'awaiting_approval': (0,)}[document['state']]
            assert service.effects(f'/v1/always/{number}-{token}') in expected, document
        for id, token in refused.items():
            assert service.effects(f'/v1/always/{number}-{token}') == 0
    finally:
        service.stop()


# -- another configuration ----------------------------------------------------------


def reload(gate, upstream, declared):
    since = len(gate.log)
    gate.reload(settings(upstream, declared))
    gate.wait_log('reload', since)


def test_the_rule_was_changed_while_it_waits(start_gate, upstream, number, token, account):
    # Shows that an answer to a question of an older rule counts for nothing: people are asked anew, by
    # the rule as it is now.
    gate = start_gate(upstream, settings(upstream))
    somebody, path = Person(gate), f'/v1/always/{number}'
    first = pay(gate, path, token, account)
    reload(gate, upstream, actions(consequence='Charges twice'))
    assert_problem(somebody.approve(first.operation), 409, 'approval-other', operation=False)
    seen = somebody.see(first.operation)
    assert (seen['consequence'], seen['given'], seen['state']) == ('Charges twice', 0, 'waiting')
    assert upstream.seen(path) == []
    assert somebody.approve(first.operation).status == 200
    gate.wait_state(first.operation, 'completed', account=account)
    assert upstream.effects(path) == 1


def test_the_rule_was_changed_before_it_is_sent(start_gate, number, token, account):
    # Shows that what was agreed to and could not be sent yet is asked about anew when its rule changes.
    service = Upstream(listening=False)
    try:
        gate = start_gate(service, settings(service))
        somebody, path = Person(gate), f'/v1/always/{number}'
        first = pay(gate, path, token, account)
        assert somebody.approve(first.operation).status == 200
        reload(gate, service, actions(consequence='Charges twice'))
        gate.wait_state(first.operation, 'awaiting_approval', account=account)
        service.listen()
        assert_asked(pay(gate, path, token, account))
        assert service.seen(path) == []
        assert somebody.approve(first.operation).status == 200
        gate.wait_state(first.operation, 'completed', account=account)
        assert service.effects(path) == 1
    finally:
        service.stop()


def test_nothing_is_asked_any_more(start_gate, upstream, number, token, account):
    # Shows that what was asked stays asked when its action asks nothing any more.
    gate = start_gate(upstream, settings(upstream))
    somebody, path = Person(gate), f'/v1/always/{number}'
    first = pay(gate, path, token, account)
    plain = actions()
    del plain['always.pay']['approval']
    reload(gate, upstream, plain)
    assert_asked(pay(gate, path, token, account))
    assert pay(gate, path, token + '-2', account).outcome == 'created'
    assert somebody.approve(first.operation).status == 200
    gate.wait_state(first.operation, 'completed', account=account)
    assert upstream.effects(path) == 2


def test_its_action_is_gone(start_gate, upstream, number, token, account):
    # Shows that there is nothing to agree to where the action is gone, and that it can be refused.
    gate = start_gate(upstream, settings(upstream))
    somebody, path = Person(gate), f'/v1/always/{number}'
    first = pay(gate, path, token, account)
    fewer = actions()
    del fewer['always.pay']
    reload(gate, upstream, fewer)
    refused = assert_problem(somebody.approve(first.operation), 409, 'approval-over', operation=False)
    assert 'not declared' in refused['detail']
    assert somebody.deny(first.operation).status == 200
    assert upstream.seen(path) == []


# -- from the terminal --------------------------------------------------------------


def test_approved_on_a_terminal(gate, upstream, book, token, account):
    # Shows that approve shows all there is to the question, asks, and sends the answer.
    path = book('always')
    first = pay(gate, path, token, account, invoice='i\x1b[2J\u202e-1')
    status, shown = on_terminal(gate, 'approve', first.operation)
    assert status == 0, shown
    for part in ('always.pay', 'Charges the customer', 'Reversible   no', path, 'Fingerprint', 'Until',
                 'invoice', 'queued, 1 of 1 approval given'):
        assert part in shown, (part, shown)
    assert '\x1b' not in shown and '\u202e' not in shown
    gate.wait_state(first.operation, 'completed', account=account)
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('said', ['no\n', 'y\n', 'YES\n', '\n', '\x04'])
def test_not_approved_on_a_terminal(gate, upstream, book, token, account, said):
    # Shows that anything but yes leaves the question as it was, and is 1.
    path = book('always')
    first = pay(gate, path, token, account)
    status, shown = on_terminal(gate, 'approve', first.operation, say=said)
    assert status == 1 and 'not approved' in shown, shown
    assert gate.operation(first.operation, account)['state'] == 'awaiting_approval'
    assert upstream.seen(path) == []


def test_without_a_terminal(gate, upstream, somebody, book, token, account):
    # Shows that without a terminal only --yes with the right fingerprint approves.
    path = book('always')
    first = pay(gate, path, token, account)
    fingerprint = somebody.see(first.operation)['fingerprint']
    assert cli(gate, 'approve', first.operation).returncode == 2
    assert cli(gate, 'approve', first.operation, '--yes').returncode == 2
    assert cli(gate, 'approve', first.operation, '--fingerprint', fingerprint).returncode == 2
    wrong = cli(gate, 'approve', first.operation, '--yes', '--fingerprint', '0' * 64)
    assert wrong.returncode == 1 and fingerprint in wrong.stderr
    assert gate.operation(first.operation, account)['state'] == 'awaiting_approval'
    done = cli(gate, 'approve', first.operation, '--yes', '--fingerprint', fingerprint, '--json')
    assert done.returncode == 0 and json.loads(done.stdout)['given'] == 1, done
    gate.wait_state(first.operation, 'completed', account=account)
    again = cli(gate, 'approve', first.operation, '--yes', '--fingerprint', fingerprint)
    assert again.returncode == 1 and 'completed' in again.stderr
    assert upstream.effects(path) == 1


def test_denied_from_the_command_line(gate, upstream, book, token, account):
    # Shows that deny needs a reason, which whoever asked is told.
    path = book('always')
    first = pay(gate, path, token, account)
    assert cli(gate, 'deny', first.operation).returncode == 2
    done = cli(gate, 'deny', first.operation, '--why', 'the wrong week')
    assert done.returncode == 0 and 'cancelled' in done.stdout, done
    problem = assert_denied(pay(gate, path, token, account), 'approval-denied', first.operation)
    assert 'the wrong week' in problem['detail']
    assert cli(gate, 'deny', first.operation, '--why', 'again').returncode == 1
    assert upstream.seen(path) == []
