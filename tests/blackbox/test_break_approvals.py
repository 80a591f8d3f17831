"""approval, as an adversary and an unlucky operator would have it: effects are counted at the service."""
import concurrent.futures
import json

import pytest

from harness.client import assert_problem
from harness.people import Person, cli, new_key, on_terminal, person
from harness.rules import eventually, needed, ruled, text
from harness.upstream import Hold, Upstream, answer, held

FIELDS = {'invoice': needed(), 'memo': text(secret=True), 'extra': {'type': 'any'}}
VALUES = 100000
QUICK = {'first_pause': '50ms', 'max_pause': '300ms', 'attempts': 1000}


def actions(fields=None, **more):
    return {'pay': {'route': 'POST /v1/pay/{book}', 'fields': fields or FIELDS,
                    'summary': 'Pay into {book}', 'approval': {'when': 'always'}, **more}}


def settings(upstream, declared=None, **sections):
    return ruled(upstream, actions() if declared is None else declared, outbox=QUICK, **sections)


def reload(gate, config):
    since = len(gate.log)
    gate.reload(config)
    gate.wait_log('reload', since)


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


@pytest.fixture
def path(number):
    return f'/v1/pay/{number}'


def ask(gate, path, token, account, body=None, **more):
    body = body or json.dumps({'invoice': 'i-1', **more}).encode()
    response = gate.request('POST', path, token=token, account=account, body=body, timeout=40,
                            headers=[('Content-Type', 'application/json')])
    assert response.state == 'awaiting_approval', response
    return response.operation


# -- what a person is shown ---------------------------------------------------------


def test_secret_ones_are_not_called_the_same(gate, path, token, account):
    # Shows that where a secret field is another one, nobody is told that nothing is.
    first = ask(gate, path, token, account, memo='to account 1')
    assert Person(gate).approve(first).status == 200
    gate.wait_state(first, 'completed', account=account)
    second = ask(gate, path, token + '-2', account, memo='to account 2')
    page = on_terminal(gate, 'approve', second, say='no\n')[1]
    assert 'Secret fields may differ; they are not compared.' in page and 'to account' not in page
    third = ask(gate, path, token + '-3', account)
    assert 'Secret fields' not in on_terminal(gate, 'approve', third, say='no\n')[1]


def test_all_that_the_service_acts_on_is_shown(start_gate, upstream, number, token, account):
    # Shows that headers that the service acts on, the path and the query are shown, and told when they differ from
    # the last one's, though the command is the same; and that what is not declared, such as a credential, is not.
    gate = start_gate(upstream, settings(upstream, actions(headers=['X-Account-Of', 'Target'])))
    somebody = Person(gate)

    def asked(book, name, *values, query=''):
        lines = [('Content-Type', 'application/json'), ('X-Secret', 'not-shown-7'), *(('x-account-of', v) for v in values)]
        response = gate.request('POST', f'/v1/pay/{book}{query}', token=f'{token}-{name}', account=account, headers=lines,
                                body=b'{"invoice": "i-1"}')
        assert response.state == 'awaiting_approval', response
        return response.operation
    first = asked(f'a{number}', 1, 'ours')
    seen = somebody.see(first)
    assert seen['sent'] == {'target': f'/v1/pay/a{number}', 'headers': {'X-Account-Of': 'ours', 'Target': None}}
    assert 'not-shown-7' not in json.dumps(seen) and seen['sent_changed'] is None
    shown = cli(gate, 'approve', first, '--yes', '--fingerprint', seen['fingerprint'])
    assert shown.returncode == 0
    gate.wait_state(first, 'completed', account=account)
    second = asked(f'b{number}', 2, 'the\u202eirs'.encode(), 'more', query='?live=1')
    seen = somebody.see(second)
    assert seen['changed'] == []
    assert {c['path']: (c['from'], c['to']) for c in seen['sent_changed']} == {
        '/target': (f'/v1/pay/a{number}', f'/v1/pay/b{number}?live=1'),
        '/headers/X-Account-Of': ('ours', 'the\\u{202E}irs, more')}
    status, page = on_terminal(gate, 'approve', second, say='yes\n')
    assert status == 0 and 'X-Account-Of' in page and ': nothing' not in page and '?live=1' in page
    gate.wait_state(second, 'completed', account=account)
    assert upstream.last(f'/v1/pay/b{number}').all('X-Account-Of') == ['the\u202eirs'.encode().decode('latin-1'), 'more']
    same = somebody.see(asked(f'b{number}', 3, 'the\u202eirs, more'.encode(), query='?live=1'))
    assert same['changed'] == same['sent_changed'] == []


@pytest.mark.parametrize('depth', [100, 125, 126, 127])
def test_depth_hides_nothing(gate, upstream, path, token, account, depth):
    # Shows that a command as deep as one may be is shown whole, and its secret ones are not.
    nested = '[' * depth + ']' * depth
    body = f'{{"invoice": "i-1", "memo": "geheim-geheim", "extra": {nested}}}'.encode()
    seen = Person(gate).see(ask(gate, path, token, account, body))
    assert 'geheim' not in json.dumps(seen)
    assert seen['summary'].startswith('Pay into “') and seen['command']['extra'] is not None, seen
    assert 'geheim' not in json.dumps(Person(gate).waiting())
    assert cli(gate, 'deny', seen['operation']['id'], '--why', 'too deep').returncode == 0


def test_size_hides_nobody(gate, upstream, number, account):
    # Shows that one who asks with as many values as fit in a body keeps nobody from looking.
    body = b'{"invoice": "i-1", "extra": [' + b'0,' * VALUES + b'0]}'
    first = ask(gate, f'/v1/pay/{number}', f'{number}-small', account)
    ids = [ask(gate, f'/v1/pay/{number}', f'{number}-{n}', account, body) for n in range(8)]
    found, cursor, somebody = [], '', Person(gate)
    while cursor is not None and first not in found:
        page = somebody.ask('/api/approvals?state=waiting&limit=200' + (cursor and '&cursor=' + cursor))
        assert page.status == 200
        found += [a['operation']['id'] for a in page.json()['approvals']]
        cursor = page.json()['next']
    assert set(ids + [first]) <= set(found)
    assert somebody.approve(ids.pop()).status == 200
    for id in ids:
        assert len(somebody.see(id)['command']['extra']) == VALUES + 1
        assert somebody.deny(id).status == 200


# -- another declaration ------------------------------------------------------------


def test_another_address_is_another_question(start_gate, upstream, path, token, account):
    # Shows that what was agreed to for one service goes to no other: people are asked anew.
    first, other = Upstream(listening=False), Upstream()
    try:
        gate = start_gate(first, settings(first))
        somebody = Person(gate)
        id = ask(gate, path, token, account)
        assert first.url in somebody.see(id)['destination']['url']
        assert somebody.approve(id).status == 200
        reload(gate, settings(other))
        gate.wait_state(id, 'awaiting_approval', account=account)
        assert other.seen(path) == []
        seen = somebody.see(id)
        assert other.url in seen['destination']['url'] and seen['given'] == 0
        assert somebody.approve(id).status == 200
        gate.wait_state(id, 'completed', account=account)
        assert other.effects(path) == 1
    finally:
        first.stop()
        other.stop()


def test_another_address_while_it_waits(start_gate, upstream, path, token, account):
    # Shows that whoever looked at one address agrees to no other.
    other = Upstream()
    try:
        gate = start_gate(upstream, settings(upstream))
        somebody = Person(gate)
        id = ask(gate, path, token, account)
        reload(gate, settings(other))
        assert_problem(somebody.approve(id), 409, 'approval-other', operation=False)
        assert other.seen(path) == [] and upstream.seen(path) == []
        assert somebody.approve(id).status == 200
        gate.wait_state(id, 'completed', account=account)
        assert other.effects(path) == 1
    finally:
        other.stop()


@pytest.mark.parametrize('has_agreed', [False, True])
@pytest.mark.parametrize('before, after', [('pay_test', 'pay_live'), (None, 'pay_live'), ('pay_test', None)])
def test_another_credential_is_another_question(start_gate, token, account, path, before, after, has_agreed):
    # Shows that what was agreed to in one name is sent in no other: one address may have a practice side and a real one.
    service = Upstream(listening=False)
    try:
        def shown(name):
            return settings({'url': service.url, **({'credential': name} if name else {})})
        gate = start_gate(service, shown(before))
        for name in ('pay_test', 'pay_live'):
            assert gate.operator(f'/api/secrets/{name}', 'PUT', {'value': name}).status in (200, 201, 204)
        somebody, id = Person(gate), ask(gate, path, token, account)
        if has_agreed:
            assert somebody.approve(id).status == 200
        reload(gate, shown(after))
        if has_agreed:
            gate.wait_state(id, 'awaiting_approval', account=account)
        else:
            assert_problem(somebody.approve(id), 409, 'approval-other', operation=False)
        assert somebody.see(id)['given'] == 0
        service.listen()
        assert somebody.approve(id).status == 200
        gate.wait_state(id, 'completed', account=account)
        assert service.effects(path) == 1
    finally:
        service.stop()


def test_asked_anew_behind_ones_back(start_gate, upstream, path, token, account):
    # Shows that whoever looked before it was asked anew, for whatever reason, agrees to nothing.
    other = Upstream()
    try:
        gate = start_gate(upstream, settings(upstream))
        id = ask(gate, path, token, account)
        ann, bob = person(gate, 'ann', all_accounts=True), person(gate, 'bob', all_accounts=True)
        seen = ann.see(id)
        reload(gate, settings(other))
        assert_problem(bob.approve(id), 409, 'approval-other', operation=False)
        looked_at = {name: seen[name] for name in ('fingerprint', 'question')}
        late = ann.ask(f'/api/approvals/{id}/approve', 'POST', looked_at)
        assert_problem(late, 409, 'approval-other', operation=False)
        assert gate.operation(id, account)['state'] == 'awaiting_approval' and other.seen(path) == []
        assert ann.see(id)['question'] != seen['question']
    finally:
        other.stop()


@pytest.mark.parametrize('before, after', [
    ({'amount': {'type': 'money', 'currency': 'currency', 'unit': 'minor'}, 'currency': text()},
     {'amount': {'type': 'money', 'currency': 'currency', 'unit': 'major'}, 'currency': text()}),
    ({'currency': text(), 'amount': {'type': 'integer'}, 'level': text(default='low')},
     {'currency': text(), 'amount': {'type': 'integer'}, 'level': text(default='high')}),
    ({'currency': text(), 'amount': {'type': 'integer'}},
     {'currency': text(secret=True), 'amount': {'type': 'integer'}}),
])
def test_another_reading_is_another_question(start_gate, upstream, path, token, account, before, after):
    # Shows that where the declaration reads the same bytes in another way, people are asked anew.
    gate = start_gate(upstream, settings(upstream, actions(before)))
    somebody = Person(gate)
    id = ask(gate, path, token, account, b'{"amount": 1000, "currency": "EUR"}')
    shown = somebody.see(id)['command']
    reload(gate, settings(upstream, actions(after)))
    assert_problem(somebody.approve(id), 409, 'approval-other', operation=False)
    seen = somebody.see(id)
    assert seen['command'] != shown and seen['given'] == 0 and upstream.seen(path) == []
    assert somebody.approve(id).status == 200
    gate.wait_state(id, 'completed', account=account)
    assert upstream.effects(path) == 1


def test_a_retry_under_a_stricter_rule(start_gate, upstream, path, token, account):
    # Shows that what could not be sent before people were to be asked is not sent by a retry without them.
    plain = actions()
    del plain['pay']['approval']
    service = Upstream(listening=False)
    try:
        gate = start_gate(service, settings(service, plain))
        body = {'invoice': 'i-1'}
        assert_problem(gate.post(path, token, account=account, json=body), 503, 'not-sent')
        reload(gate, settings(service))
        service.listen()
        assert_problem(gate.post(path, token, account=account, json=body), 409, 'operation-cancelled')
        assert gate.post(path, token + '-2', account=account, json=body).outcome == 'awaiting_approval'
        assert service.seen(path) == []
    finally:
        service.stop()


def test_an_end_is_none_to_the_next(gate, upstream, path, token, account):
    # Shows that the business retry of what was refused, or agreed to, is a question of its own.
    somebody = Person(gate)
    id = ask(gate, path, token, account)
    assert somebody.deny(id).status == 200
    again = gate.post(path, token + '-2', account=account, json={'invoice': 'i-1'},
                      headers={'Counterfoil-Retry-Of': id})
    assert again.outcome == 'awaiting_approval' and upstream.seen(path) == []


# -- one's own question -------------------------------------------------------------


def own_ways(gate, key, id, fingerprint):
    """The ways by which the holder of a key may show it to the admin listener."""
    body = json.dumps({'fingerprint': fingerprint}).encode()
    target = f'/api/approvals/{id}/approve'
    for value in (f'Bearer {key}', f'bearer {key}', f'Bearer   {key}'):
        yield gate.admin(target, 'POST', [('Authorization', value)], body)
    yield gate.admin(target, 'POST', [('Counterfoil-Key', key)], body)
    begun = gate.admin('/api/session', 'POST', [('Content-Type', 'application/json')],
                       json.dumps({'key': key}).encode())
    assert begun.status in (200, 201), begun
    cookie = begun.one('Set-Cookie').split(';')[0]
    session = gate.admin('/api/session', headers=[('Cookie', cookie)]).json()
    yield gate.admin(target, 'POST', [('Cookie', cookie), ('X-Counterfoil-CSRF', session['csrf'])], body)


def test_ones_own_in_any_spelling(gate, upstream, number, path, token):
    # Shows that whoever asked with a key agrees with that key in no way, however it is shown.
    _, key = new_key(gate, 'operator', f'ann-{number}', all_accounts=True)
    id = ask(gate, path, token, f'Bearer {key}')
    fingerprint = Person(gate).see(id)['fingerprint']
    answers = [r.status for r in own_ways(gate, key, id, fingerprint)]
    assert 200 not in answers, answers
    assert upstream.seen(path) == []


# -- whoever is told outside --------------------------------------------------------


@pytest.mark.parametrize('fault', ['hangs', 'redirects', 'is huge'])
def test_a_bad_listener_holds_nothing_up(start_gate, upstream, tmp_path, number, account, fault):
    # Shows that one who is told and answers badly holds up no question, and gets no answer in its place.
    secret = tmp_path / 'secret'
    secret.write_text('0123456789abcdef0123456789abcdef\n')
    secret.chmod(0o600)
    listener, elsewhere = Upstream(), Upstream()
    try:
        listener.default = {'hangs': held(Hold()), 'is huge': answer(200, body=b'x' * (4 << 20)),
                            'redirects': answer(307, headers=[('Location', elsewhere.url + '/x')])}[fault]
        gate = start_gate(upstream, settings(upstream, notify={
            'url': listener.url + '/hook', 'secret_file': str(secret), 'timeout': '1s'}))
        for n in range(20):
            path = f'/v1/pay/{number}-{n}'
            id = ask(gate, path, f'{number}-{n}', account)
            assert Person(gate).approve(id).status == 200
            gate.wait_state(id, 'completed', account=account)
            assert upstream.effects(path) == 1
        eventually(lambda: listener.seen('/hook'), what='a notice')
        assert elsewhere.seen('/x') == [] and gate.rss() < 200 << 20
    finally:
        listener.stop()
        elsewhere.stop()


# -- many ---------------------------------------------------------------------------


def test_a_thousand_questions(start_gate, upstream, number, account):
    # Shows that a page is as long as was asked for however many wait, and that all of them are found.
    gate = start_gate(upstream, settings(upstream))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = set(pool.map(lambda n: ask(gate, f'/v1/pay/{number}', f'{number}-{n}', account), range(1000)))
    found, cursor, somebody = [], '', Person(gate)
    while cursor is not None:
        page = somebody.ask('/api/approvals?state=waiting&limit=100' + (cursor and '&cursor=' + cursor)).json()
        assert 0 < len(page['approvals']) <= 100
        found += [a['operation']['id'] for a in page['approvals']]
        cursor = page['next']
    assert len(found) == 1000 and set(found) == asked
    seen = somebody.see(found[0])
    assert 0 < len(seen['alike_ids']) < 1000
    assert upstream.seen(f'/v1/pay/{number}') == []


def test_taken_back_and_agreed_to_at_once(gate, upstream, number, account):
    # Shows that where the caller takes it back while somebody agrees, it is sent as the record says.
    somebody = Person(gate)
    for n in range(20):
        path = f'/v1/pay/{number}-{n}'
        id = ask(gate, path, f'{number}-{n}', account)
        fingerprint = somebody.see(id)['fingerprint']
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            back = pool.submit(gate.post, f'/.counterfoil/operations/{id}/cancel', account=account)
            yes = pool.submit(somebody.approve, id, fingerprint)
        state = gate.wait_state(id, 'completed', 'cancelled', account=account)
        assert upstream.effects(path) == (state['state'] == 'completed')
        assert back.result().status == (409 if state['state'] == 'completed' else 200)
        assert yes.result().status in (200, 409)
