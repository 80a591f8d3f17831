"""notify: somebody outside is told of questions to people: signed, and as often as it takes."""
import base64
import hashlib
import hmac
import json
import os
import time

import pytest

from harness.client import assert_problem
from harness.people import Person
from harness.rules import eventually, needed, ruled, text
from harness.upstream import Hold, Upstream, answer, drop, held

KEY = b'0123456789abcdef01234567'
OTHER = b'another-secret-of-enough-bytes'
HOOK = '/hooks/approvals'


def secret_file(folder, *keys):
    file = folder / 'notify.secret'
    lines = ['whsec_' + base64.b64encode(k).decode() if k == KEY else k.decode() for k in keys]
    file.write_text('\n'.join(lines) + '\n')
    os.chmod(file, 0o600)
    return file


def settings(upstream, listener, folder, *keys, url=None, **sections):
    fields = {'invoice': needed(), 'memo': text(secret=True)}
    actions = {name: {'route': f'POST /v1/{name}/{{book}}', 'fields': fields, 'summary': 'Pay {invoice}',
                      'approval': {'when': 'always', **more}}
               for name, more in (('pay', {'consequence': 'Charges'}), ('short', {'expires': '1s'}))}
    notify = {'url': url or listener.url + HOOK, 'secret_file': str(secret_file(folder, *(keys or (KEY,)))),
              'timeout': '5s', **sections}
    return ruled(upstream, actions, notify=notify, console={'url': 'https://gate.example.test:8081'})


@pytest.fixture
def listener():
    """Whoever is told."""
    server = Upstream()
    server.default = answer(204)
    yield server
    server.stop()


@pytest.fixture
def told_gate(start_gate, upstream, listener, tmp_path):
    return start_gate(upstream, settings(upstream, listener, tmp_path))


def pay(gate, path, token, account, **more):
    response = gate.post(path, token, account=account, json={'invoice': 'i-1', 'memo': 'geheim-geheim', **more})
    assert response.state == 'awaiting_approval', response
    return response


def signature(seen, key):
    signed = b'.'.join([seen.get('webhook-id').encode(), seen.get('webhook-timestamp').encode(), seen.body])
    return 'v1,' + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def heard(listener, count=1, type=None):
    """What came in and was taken, in order, once there are `count`; each with a good signature."""
    def look():
        seen = [s for s in listener.seen(HOOK) if type is None or s.json()['type'] == type]
        return seen if len(seen) >= count else None
    seen = eventually(look, what=f'{count} notices')
    for one in seen:
        assert signature(one, KEY) in one.get('webhook-signature').split(' '), one.headers
        assert abs(int(one.get('webhook-timestamp')) - time.time()) < 60
        assert one.method == 'POST' and one.get('Content-Type') == 'application/json'
    return seen


def test_told_and_signed(told_gate, upstream, listener, number, token, account):
    # Shows that a question is told with a signature, what it is about and where to answer; no secret.
    path = f'/v1/pay/{number}'
    first = pay(told_gate, path, token, account)
    seen, = heard(listener)
    assert seen.json()['type'] == 'approval.asked'
    data = seen.json()['data']
    assert (data['operation'], data['action'], data['consequence']) == (first.operation, 'pay', 'Charges')
    assert data['link'] == f'https://gate.example.test:8081/#/approvals/{first.operation}'
    assert 'i-1' in data['summary'] and data['needed'] == 1 and data['expires_at']
    assert b'geheim' not in seen.body and token.encode() not in seen.body
    assert upstream.seen(path) == []


def test_every_end_is_told(told_gate, listener, number, token, account):
    # Shows that yes, no, too late and taken back are each told once, under ids of their own.
    somebody, path = Person(told_gate), f'/v1/pay/{number}'
    agreed = pay(told_gate, path, token + '-1', account).operation
    denied = pay(told_gate, path, token + '-2', account).operation
    withdrawn = pay(told_gate, path, token + '-3', account).operation
    late = pay(told_gate, f'/v1/short/{number}', token + '-4', account).operation
    assert somebody.approve(agreed).status == 200 and somebody.deny(denied).status == 200
    told_gate.request('POST', f'/.counterfoil/operations/{withdrawn}/cancel', account=account)
    seen = heard(listener, 8)
    told = {(s.json()['type'], s.json()['data']['operation']) for s in seen}
    assert told == {('approval.asked', i) for i in (agreed, denied, withdrawn, late)} | {
        ('approval.approved', agreed), ('approval.denied', denied), ('approval.withdrawn', withdrawn),
        ('approval.expired', late)}
    assert len({s.get('webhook-id') for s in seen}) == 8


@pytest.mark.parametrize('takes_back', ['caller', 'operator'])
def test_taken_back_while_nothing_else_happens(told_gate, listener, number, token, account, takes_back):
    # Shows that a question that is taken back is told of at once, not when something else comes about.
    first = pay(told_gate, f'/v1/pay/{number}', token, account).operation
    told_gate.wait_log('"notified"')
    if takes_back == 'caller':
        done = told_gate.request('POST', f'/.counterfoil/operations/{first}/cancel', account=account)
    else:
        done = told_gate.operator(f'/api/operations/{first}/cancel', 'POST', json={'why': 'not needed'})
    assert done.status == 200, done
    assert heard(listener, 2)[1].json()['type'] == 'approval.withdrawn'


@pytest.mark.parametrize('fault', [answer(500), answer(302, headers=[('Location', '/elsewhere')]), drop()])
def test_told_until_it_is_taken(told_gate, listener, number, token, account, fault):
    # Shows that what was not taken is told again, the same under the same id; no redirect is followed.
    listener.plan(HOOK, fault, fault)
    pay(told_gate, f'/v1/pay/{number}', token, account)
    seen = heard(listener, 3)
    assert len({s.get('webhook-id') for s in seen}) == 1 and len({s.body for s in seen}) == 1
    assert seen[1].at - seen[0].at >= 0.7 and listener.seen('/elsewhere') == []
    told_gate.wait_log('"notified"')
    assert len(listener.seen(HOOK)) == 3


def test_killed_before_it_was_told(start_gate, upstream, tmp_path, number, token, account):
    # Shows that what could not be told when the gate died is told after the next start.
    listener = Upstream(listening=False)
    listener.default = answer(204)
    try:
        gate = start_gate(upstream, settings(upstream, listener, tmp_path))
        first = pay(gate, f'/v1/pay/{number}', token, account)
        gate.wait_log('notice-not-taken')
        gate.kill9()
        listener.listen()
        gate.restart()
        seen = heard(listener)
        assert seen[0].json()['data']['operation'] == first.operation
    finally:
        listener.stop()


def test_killed_while_it_was_told(told_gate, listener, number, token, account):
    # Shows that where nobody knows whether it was taken it is told again, under the same id.
    hold = Hold()
    listener.plan(HOOK, held(hold))
    pay(told_gate, f'/v1/pay/{number}', token, account)
    hold.wait_entered()
    told_gate.kill9()
    hold.release()
    told_gate.restart()
    first, second = heard(listener, 2)
    assert first.get('webhook-id') == second.get('webhook-id')


def test_nobody_there_holds_nothing_up(start_gate, upstream, listener, tmp_path, number, token, account):
    # Shows that an answer counts, and is carried out, while nobody can be told; and that the gate stops.
    hold = Hold()
    listener.always(HOOK, held(hold))
    gate = start_gate(upstream, settings(upstream, listener, tmp_path))
    path = f'/v1/pay/{number}'
    first = pay(gate, path, token, account)
    assert Person(gate).approve(first.operation).status == 200
    gate.wait_state(first.operation, 'completed', account=account)
    assert upstream.effects(path) == 1
    gate.terminate()
    assert gate.wait_exit() == 0
    hold.release()


def test_two_secrets_sign_both(start_gate, upstream, listener, tmp_path, number, token, account):
    # Shows that while one secret replaces another each is told to be genuine.
    gate = start_gate(upstream, settings(upstream, listener, tmp_path, KEY, OTHER))
    pay(gate, f'/v1/pay/{number}', token, account)
    seen, = heard(listener)
    assert seen.get('webhook-signature').split(' ') == [signature(seen, KEY), signature(seen, OTHER)]


def test_a_certificate_is_checked(start_gate, upstream, tmp_path, certs, number, token, account):
    # Shows that nobody is told whose certificate is not trusted, and that whose is, is.
    listener = Upstream(tls=certs.server())
    listener.default = answer(204)
    try:
        gate = start_gate(upstream, settings(upstream, listener, tmp_path))
        pay(gate, f'/v1/pay/{number}', token, account)
        gate.wait_log('notice-not-taken')
        assert listener.seen(HOOK) == []
        gate.reload(settings(upstream, listener, tmp_path, ca_file=str(certs.ca)))
        heard(listener)
    finally:
        listener.stop()


def test_nobody_is_told_where_nobody_is_named(start_gate, upstream, listener, tmp_path, number, token, account):
    # Shows that questions without notify are asked all the same.
    without = json.loads(settings(upstream, listener, tmp_path))
    del without['notify']
    gate = start_gate(upstream, json.dumps(without))
    first = pay(gate, f'/v1/pay/{number}', token, account)
    assert_problem(Person(gate).approve(first.operation, '0' * 64), 409, 'approval-other', operation=False)
    assert listener.seen(HOOK) == []
