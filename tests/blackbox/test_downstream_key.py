"""downstream_key: the name by which a service knows an operation, and safe sending again by it."""
import json
import random
import re
import threading

import pytest

from harness.client import Closed
from harness.rules import (MEDIA, Honouring, eventually, needed, notes, operations, ruled, told)
from harness.upstream import answer, created, delayed, drop, half, reset

KEY = re.compile(r'[a-z2-7]{32}')
FIELDS = {'title': needed()}


def actions():
    return {
        'things.create': {'route': 'POST /v1/keyed/{book}', 'fields': FIELDS,
                          'downstream_key': 'Idempotency-Key'},
        'names.create': {'route': 'POST /v1/named/{book}', 'fields': FIELDS,
                         'downstream_key': {'header': 'X-Request-Name', 'for': '24h'}},
        'fields.create': {'route': 'POST /v1/fielded/{book}', 'fields': FIELDS, 'unknown_fields': 'keep',
                          'downstream_key': {'field': 'reference'}},
        'short.create': {'route': 'POST /v1/short/{book}', 'fields': FIELDS,
                         'downstream_key': {'header': 'Idempotency-Key', 'for': '1s'}},
        'plain.create': {'route': 'POST /v1/plain/{book}', 'fields': FIELDS},
        'orders.put': {'route': 'PUT /v1/orders/{book}', 'natural': True},
    }


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, actions())


@pytest.fixture
def keyed(number):
    return f'/v1/keyed/{number}'


def post(gate, path, token, account, title='t', **more):
    return gate.post(path, token, account=account, json={'title': title}, **more)


def test_the_key_in_its_header(gate, upstream, keyed, token, account):
    # Shows that the service gets 32 characters in the client's header's place, none of them the
    # client's, and that the operation's document has them.
    response = post(gate, keyed, token, account)
    [key] = upstream.last(keyed).all('Idempotency-Key')
    assert KEY.fullmatch(key) and key not in token
    assert gate.operation(response.operation, account)['downstream_key'] == key


def test_another_header(gate, upstream, number, token, account):
    # Shows that a header of another name is added, that the client's own token goes on beside it, and
    # that the client cannot choose the key.
    path = f'/v1/named/{number}'
    post(gate, path, token, account, headers={'X-Request-Name': 'mine'})
    seen = upstream.last(path)
    assert seen.all('Idempotency-Key') == [token]
    [key] = seen.all('X-Request-Name')
    assert KEY.fullmatch(key)


def test_every_sending_has_the_same(gate, upstream, keyed, token, account):
    # Shows that the key is the operation's: the same on each sending, another for each operation.
    upstream.plan(keyed, answer(503, works=False), answer(503, works=False), created())
    for _ in range(3):
        post(gate, keyed, token, account)
    post(gate, keyed, token + '-2', account)
    post(gate, keyed, token, account + '-other')
    keys = [seen.get('Idempotency-Key') for seen in upstream.seen(keyed)]
    assert len(keys) == 5 and len(set(keys[:3])) == 1 and len(set(keys)) == 3, keys


@pytest.mark.parametrize('body', [b'{"title":"t"}', b' { "title" : "t", "n":1.50,\n "e":"\\u00e9" } ',
                                  b'{"title":"t","more":{"reference":"theirs"}}'])
def test_the_key_in_the_body(gate, upstream, number, token, account, body):
    # Shows that the key is put into the body as a member, and that every other byte is the client's.
    path = f'/v1/fielded/{number}'
    assert gate.post(path, token, account=account, body=body, headers=MEDIA).outcome == 'created'
    sent = upstream.last(path)
    key = sent.json()['reference']
    assert KEY.fullmatch(key) and sent.get('Content-Length') == str(len(sent.body))
    without = {n: v for n, v in sent.json().items() if n != 'reference'}
    assert without == json.loads(body)
    inside = body.strip()[1:-1].strip()
    assert inside in sent.body
    assert sent.all('Idempotency-Key') == [token]


def test_the_client_cannot_send_the_field(gate, upstream, number, token, account):
    # Shows that a body which brings the member itself is refused, or has only the gate's: there are
    # never two, nor one that the client chose.
    path = f'/v1/fielded/{number}'
    response = gate.post(path, token, account=account, json={'title': 't', 'reference': 'mine'})
    assert response.status in (400, 422), response
    assert upstream.seen(path) == []


def test_of_the_upstream(start_gate, upstream, token, account, path):
    # Shows that an upstream's key is for every write to it, also of no declared action.
    gate = start_gate(upstream, ruled({'url': upstream.url, 'downstream_key': 'Idempotency-Key'}, actions()))
    gate.post(path, token, account=account)
    [key] = upstream.last(path).all('Idempotency-Key')
    assert KEY.fullmatch(key)


@pytest.mark.parametrize('fault', [drop(), drop(works=False), half(), reset(), answer(500, works=False)])
def test_it_is_sent_again_by_itself(gate, upstream, keyed, token, account, fault):
    # Shows that what became unknown is sent again under its key until there is an answer, with nobody
    # asking, and that the service makes one thing of it.
    service = Honouring()
    service.faults = [fault]
    upstream.always(keyed, service.behaviour)
    first = post(gate, keyed, token, account)
    assert first.slug == 'outcome-unknown'
    document = gate.wait_state(first.operation, 'completed', account=account)
    assert len(service.made) == 1
    assert len({seen.get('Idempotency-Key') for seen in upstream.seen(keyed)}) == 1
    assert any(a['by'] == 'reconciler' for a in document['attempts']), document
    again = post(gate, keyed, token, account)
    assert (again.status, again.outcome) == (201, 'replayed')
    assert again.json()['id'] == 'made_1'


def test_a_retry_sends_it_again_at_once(gate, upstream, keyed, token, account):
    # Shows that the caller's own retry finds out, and gets the answer.
    service = Honouring()
    service.faults = [drop()]
    upstream.always(keyed, service.behaviour)
    post(gate, keyed, token, account)
    again = post(gate, keyed, token, account, headers={'Prefer': 'wait=10'}, timeout=20)
    assert (again.status, again.state) == (201, 'completed')
    assert (len(service.made), service.resent) == (1, 1)


def test_a_failure_that_is_learned_late(gate, upstream, keyed, token, account):
    # Shows that the answer to the second sending counts, whatever it is.
    upstream.plan(keyed, drop(works=False), answer(422, body=b'no', works=False))
    first = post(gate, keyed, token, account)
    gate.wait_state(first.operation, 'failed', account=account)
    again = post(gate, keyed, token, account)
    assert (again.status, again.body, again.outcome) == (422, b'no', 'replayed')


def test_many_retries_are_one_sending_at_a_time(gate, upstream, keyed, token, account):
    # Shows that a crowd that retries an unknown operation does not make a crowd at the service.
    service = Honouring()
    service.faults = [drop(), delayed(0.5)]
    upstream.always(keyed, service.behaviour)
    post(gate, keyed, token, account)
    threads = [threading.Thread(target=told, args=(gate, keyed, token), daemon=True,
                                kwargs={'account': account, 'json': {'title': 't'}}) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    gate.wait_state(post(gate, keyed, token, account).operation, 'completed', account=account)
    assert len(service.made) == 1
    assert service.resent <= 2, 'each retry was sent'


def test_without_a_key_nothing_is_sent_again(gate, upstream, number, token, account):
    # Shows that where the service knows no key, the gate never guesses.
    path = f'/v1/plain/{number}'
    upstream.plan(path, drop())
    first = post(gate, path, token, account)
    for _ in range(3):
        threading.Event().wait(0.5)
        assert post(gate, path, token, account).slug == 'outcome-unknown'
    assert upstream.effects(path) == 1
    assert gate.operation(first.operation, account)['state'] == 'unknown'


def test_not_once_the_service_has_forgotten(start_gate, upstream, number, token, account):
    # Shows that a key older than the service remembers one is no reason to send again.
    gate = start_gate(upstream, ruled(upstream, actions()))
    path = f'/v1/short/{number}'
    upstream.plan(path, delayed(30))
    thread = threading.Thread(target=told, args=(gate, path, token), daemon=True,
                              kwargs={'account': account, 'json': {'title': 't'}})
    thread.start()
    upstream.wait_seen(path)
    gate.kill9()
    threading.Event().wait(1.1)
    gate.restart()
    for _ in range(2):
        threading.Event().wait(0.6)
        assert post(gate, path, token, account).slug == 'outcome-unknown'
    assert len(upstream.seen(path)) == 1
    thread.join(20)


def test_what_is_natural_is_put_again(gate, upstream, number, token, account):
    # Shows that a write whose own id makes it idempotent is sent again without any key, when it is retried.
    path = f'/v1/orders/{number}'
    upstream.plan(path, drop())
    first = gate.request('PUT', path, token=token, account=account, json={'a': 1})
    assert first.state == 'unknown'
    again = gate.request('PUT', path, token=token, account=account, json={'a': 1})
    assert (again.status, again.operation) == (201, first.operation)
    assert len(upstream.seen(path)) == 2


def test_after_a_crash(start_gate, upstream, keyed, token, account):
    # Shows that what a kill -9 interrupted is sent again after the restart, with nobody asking.
    gate = start_gate(upstream, ruled(upstream, actions()))
    service = Honouring()
    upstream.plan(keyed, delayed(30, drop()))
    upstream.always(keyed, service.behaviour)
    thread = threading.Thread(target=told, args=(gate, keyed, token), daemon=True,
                              kwargs={'account': account, 'json': {'title': 't'}})
    thread.start()
    upstream.wait_seen(keyed)
    gate.kill9()
    thread.join(20)
    gate.restart()
    eventually(lambda: len(service.made) == 1)
    [found] = eventually(lambda: operations(gate, account, state='completed'))
    [key] = service.made
    assert gate.operation(found['id'], account)['downstream_key'] == key
    assert key == upstream.seen(keyed)[0].get('Idempotency-Key')


def kill_rounds(start_gate, upstream, rounds, keyed, token, account):
    dice = random.Random(rounds)
    gate = start_gate(upstream, ruled(upstream, actions()))
    service = Honouring()
    upstream.always(keyed, service.behaviour)
    asked = set()
    for round in range(rounds):
        service.faults = [dice.choice([drop(), reset(works=False), half(), answer(500), delayed(0.05)])
                          for _ in range(3)]
        titles = [f'{round}-{n}' for n in range(6)]
        threads = [threading.Thread(target=told, args=(gate, keyed, f'{token}~{title}'), daemon=True,
                                    kwargs={'account': account, 'json': {'title': title}})
                   for title in titles]
        for thread in threads:
            thread.start()
        threading.Event().wait(dice.random() * 0.08)
        gate.kill9()
        for thread in threads:
            thread.join(20)
        gate.restart()
        asked.update(titles)
    for title in asked:
        def again():
            try:
                return post(gate, keyed, f'{token}~{title}', account, title).state == 'completed'
            except (Closed, OSError):
                return False
        eventually(again, 30, title)
    made = [body['title'] for body in service.bodies()]
    assert sorted(made) == sorted(asked)


def test_kills_and_faults(start_gate, upstream, keyed, token, account):
    # Shows over some kills with faults that every intention comes to its one effect, with nobody's help.
    kill_rounds(start_gate, upstream, 6, keyed, token, account)


@pytest.mark.long
def test_many_kills_and_faults(start_gate, upstream, keyed, token, account):
    # Shows the same over 100 kills.
    kill_rounds(start_gate, upstream, 100, keyed, token, account)


def test_with_the_practice_api(start_gate, sandbox, token, account):
    # Shows the whole of it with an API that honours keys: one payment, however often it was sent.
    sandbox.honour_keys()
    gate = start_gate(None, ruled(sandbox.url, {
        'payments.create': {'route': 'POST /v1/payments', 'downstream_key': 'Idempotency-Key'}}))
    sandbox.fault('drop')
    first = gate.post('/v1/payments', token, account=account, json={'amount': 5, 'currency': 'EUR'})
    document = gate.wait_state(first.operation, 'completed', account=account)
    assert notes(document, 'reconciler')
    effects = sandbox.effects()
    assert (effects['kinds']['payments'], effects['resent']) == (1, 1)
    assert effects['keys'] == {document['downstream_key']: 1}
