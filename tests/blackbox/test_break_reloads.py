"""Rules against what changes under them: reloads, retries in other bytes, writes that came later."""
import threading

import pytest

from harness.rules import MEDIA, eventually, needed, ruled, said
from harness.upstream import Upstream, answer, drop

FIELDS = {'name': needed(), 'note': {'type': 'string'}}
PATH = '/v1/things'
FIND = '/v1/find'
NATURAL = {'natural': True}
PROBE = {'get': FIND + '?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
         'absent': {'status': 200, 'empty': '/data'}, 'settle': '100ms', 'every': '100ms', 'timeout': '2s'}
QUICK = {'first_pause': '50ms', 'max_pause': '100ms', 'attempts': 1000}


@pytest.fixture
def upstream():
    server = Upstream()
    yield server
    server.stop()


def settings(upstream, *, default=None, **action):
    base = {'route': 'POST ' + PATH, 'fields': FIELDS}
    return ruled({'url': upstream.url, **(default or {})}, {'things.create': {**base, **action}}, outbox=QUICK)


def reload(gate, text):
    since = len(gate.log)
    gate.reload(text)
    gate.wait_log('"reloaded"', since)


def post(gate, token, account, name='n', **more):
    return gate.post(PATH, token, account=account, json={'name': name}, **more)


def stays_at(upstream, count, path=PATH, seconds=1.3):
    threading.Event().wait(seconds)
    assert len(upstream.seen(path)) == count, upstream.seen(path)


def test_a_key_that_came_with_a_reload(start_gate, upstream, token, account):
    # Shows that what was sent without a key is not sent again under one that a reload brought: the
    # service does not know it.
    gate = start_gate(config=settings(upstream, probe=PROBE))
    upstream.always(FIND, answer(500, works=False))
    upstream.plan(PATH, drop())
    first = post(gate, token, account)
    assert first.slug == 'outcome-unknown'
    reload(gate, settings(upstream, probe=PROBE, downstream_key='Idempotency-Key'))
    assert post(gate, token, account).slug == 'outcome-unknown'
    stays_at(upstream, 1)
    assert gate.operation(first.operation, account)['state'] == 'unknown'


@pytest.mark.parametrize('then', [{'downstream_key': 'X-Other'}, {'downstream_key': {'field': 'reference'}}])
def test_a_key_whose_place_a_reload_changed(start_gate, upstream, token, account, then):
    # Shows that what was sent with its key in one place is not sent again with it in another.
    gate = start_gate(config=settings(upstream, probe=PROBE, downstream_key='X-One'))
    upstream.always(FIND, answer(200, headers=MEDIA, body=b'{}x', works=False))
    upstream.plan(PATH, drop(), drop(), drop())
    first = post(gate, token, account)
    assert first.slug == 'outcome-unknown'
    reload(gate, settings(upstream, probe=PROBE, **then))
    before = len(upstream.seen(PATH))
    assert post(gate, token, account).slug == 'outcome-unknown'
    stays_at(upstream, before)


@pytest.mark.parametrize('how', [{'downstream_key': 'Idempotency-Key'}, {'probe': PROBE}, NATURAL])
def test_a_service_that_a_reload_changed(start_gate, upstream, token, account, how):
    # Shows that whoever is at another URL by now is neither sent nor asked what the first service was
    # sent: it has never seen the key, what it does not have says nothing, and what it does is another effect.
    gate = start_gate(config=settings(upstream, **how))
    upstream.always(PATH, drop())
    upstream.always(FIND, answer(500, works=False))
    other = Upstream()
    try:
        other.always(FIND, said({'data': []}, works=False))
        first = post(gate, token, account)
        assert first.slug == 'outcome-unknown'
        reload(gate, settings(other, **how))
        assert post(gate, token, account).slug == 'outcome-unknown'
        stays_at(other, 0)
        stays_at(other, 0, FIND, 0.1)
        shown = gate.operation(first.operation, account)
        assert shown['state'] == 'unknown' and shown['retry']['advice'] != 'same_key'
    finally:
        other.stop()


@pytest.mark.parametrize('how', [{'downstream_key': 'Idempotency-Key'}, {'probe': PROBE}, NATURAL])
@pytest.mark.parametrize('before, after', [('pay_test', 'pay_live'), (None, 'pay_live'), ('pay_test', None)])
def test_a_name_that_a_reload_changed(start_gate, upstream, token, account, how, before, after):
    # Shows the same of a service that is another one for another credential, as a practice side is: it has not
    # seen the key of what was sent in the first name, and does not show that name's effects.
    def named(name):
        return settings(upstream, default={'credential': name} if name else None, **how)
    gate = start_gate(config=named(before))
    for name in ('pay_test', 'pay_live'):
        assert gate.operator(f'/api/secrets/{name}', 'PUT', {'value': name}).status in (200, 201, 204)
    upstream.always(PATH, drop())
    upstream.always(FIND, answer(500, works=False))
    first = post(gate, token, account)
    assert first.slug == 'outcome-unknown'
    reload(gate, named(after))
    upstream.always(PATH, answer(201))
    upstream.always(FIND, said({'data': []}, works=False))
    sent, asked = len(upstream.seen(PATH)), len(upstream.seen(FIND))
    assert post(gate, token, account).slug == 'outcome-unknown'
    stays_at(upstream, sent)
    stays_at(upstream, asked, FIND, 0.1)
    assert gate.operation(first.operation, account)['state'] == 'unknown'
    reload(gate, named(before))
    assert eventually(lambda: post(gate, token, account).status == 201)


def test_a_probe_that_a_reload_changed(start_gate, upstream, token, account):
    # Shows that the answer to the old question is not read by the new question's rules: it would look
    # as if nothing were there.
    gate = start_gate(config=settings(upstream, probe={**PROBE, 'every': '1s', 'settle': '2s'}))
    upstream.always(FIND, said({'data': [{'id': 'a'}]}, works=False))
    upstream.always('/v2/find', said({'items': [{'id': 'a'}]}, works=False))
    upstream.plan(PATH, drop())
    first = post(gate, token, account)
    reload(gate, settings(upstream, probe={
        **PROBE, 'get': '/v2/find?n={name}', 'found': {'status': 200, 'at': '/items/0', 'as': 201},
        'absent': {'status': 200, 'empty': '/items'}}))
    threading.Event().wait(2.5)
    again = post(gate, token, account)
    assert len(upstream.seen(PATH)) == 1, 'it was sent again'
    assert again.state in ('unknown', 'completed'), again


def test_a_retry_in_other_bytes_is_what_is_sent_again(start_gate, token, account):
    # Shows that what is sent again is byte for byte what was sent, not what an earlier attempt brought
    # that did not arrive: a service may compare.
    upstream = Upstream(listening=False)
    gate = start_gate(config=settings(upstream, downstream_key='Idempotency-Key'))
    one, two = b'{"name":"n","note":"x"}', b'{ "note":"x", "name":"n" }'
    assert gate.post(PATH, token, account=account, body=one, headers=MEDIA).slug == 'not-sent'
    upstream.listen()
    upstream.plan(PATH, drop())
    lost = gate.post(PATH, token, account=account, body=two, headers=MEDIA)
    assert lost.slug == 'outcome-unknown', lost
    gate.wait_state(lost.operation, 'completed', account=account)
    assert [seen.body for seen in upstream.seen(PATH)] == [two, two]
    upstream.stop()


def test_a_later_write_is_not_undone(start_gate, upstream, token, account):
    # Shows that a natural write of which nobody knows is not sent again by the gate once a later one to
    # the same resource was made: that would bring the old value back.
    gate = start_gate(config=ruled(upstream, {'orders.put': {'route': 'PUT /v1/orders/{id}', 'natural': True}}))
    path = '/v1/orders/7'
    upstream.plan(path, drop(works=False))
    gate.request('PUT', path, token=token, account=account, json={'v': 1})
    assert gate.request('PUT', path, token=token + '-2', account=account, json={'v': 2}).status == 201
    threading.Event().wait(1.6)
    assert [seen.json()['v'] for seen in upstream.seen(path)][-1] == 2


def test_a_natural_write_of_which_nobody_knows(start_gate, upstream, token, account):
    # Shows that its caller is told to send it again, and that this brings its end.
    gate = start_gate(config=ruled(upstream, {'orders.put': {'route': 'PUT /v1/orders/{id}', 'natural': True}}))
    path = '/v1/orders/7'
    upstream.plan(path, drop())
    lost = gate.request('PUT', path, token=token, account=account, json={'v': 1})
    assert lost.json()['retry']['advice'] == 'query'
    assert gate.operation(lost.operation, account)['retry']['advice'] == 'same_key'
    again = gate.request('PUT', path, token=token, account=account, json={'v': 1})
    assert (again.status, again.operation) == (201, lost.operation)


@pytest.mark.parametrize('wish', ['200000', '99999999999999999999'])
def test_a_service_that_wants_much_time(start_gate, upstream, token, account, wish):
    # Shows that a pause that the service asks for is kept, also where it is longer than the gate's bound.
    gate = start_gate(config=settings(upstream, dispatch='outbox'))
    upstream.plan(PATH, answer(503, works=False, headers=[('Retry-After', wish)]))
    post(gate, token, account)
    upstream.wait_seen(PATH)
    stays_at(upstream, 1, seconds=1)


def test_a_key_and_a_number_of_the_callers(start_gate, upstream, token, account):
    # Shows that a caller cannot bring a key or a fencing number of its own beside the gate's, in no
    # spelling that a service could take for it.
    gate = start_gate(config=settings(upstream, downstream_key='X-Key', lock={'on': ['name'], 'fencing': 'X-Fence'}))
    post(gate, token, account, headers={n: '999' for n in ('x-key', 'X_Key', 'X_FENCE', 'x-fence', 'X-Other')})
    sent = {n.lower().replace('_', '-'): v for n, v in upstream.last(PATH).headers if v == '999'}
    assert list(sent) == ['x-other']


def test_what_was_put_back_was_not_tried(start_gate, upstream, token, account):
    # Shows that being taken up without its declaration is none of an operation's tries: only what was
    # sent and did not arrive is.
    gate = start_gate(config=settings(upstream, dispatch='outbox'))
    upstream.always(PATH, answer(503, works=False))
    first = post(gate, token, account)
    upstream.wait_seen(PATH)
    reload(gate, settings(upstream, dispatch='outbox').replace('things.create', 'things.make'))
    gate.wait_log('its action is no longer declared')
    document = eventually(lambda: (lambda d: d if d['state'] == 'queued' else None)(
        gate.operation(first.operation, account)))
    assert document['tries'] == len(upstream.seen(PATH))
