"""The practice API, alone and behind a gate: no idempotency of its own, and faults on demand."""
import pytest

from harness.client import Closed

TICKET = b'{"project": "p", "title": "t"}'
JSON = [('Content-Type', 'application/json')]
BODIES = {
    'tickets': TICKET,
    'payments': b'{"amount": 1200, "currency": "EUR", "invoice_id": "i-1"}',
    'deployments': b'{"environment": "staging", "service": "web", "artifact": "sha256:' + b'a' * 64 + b'"}',
}


@pytest.mark.parametrize('kind', BODIES)
def test_every_post_is_an_effect(sandbox, kind):
    # Shows that the same POST twice is two things with two ids: nothing is deduplicated here.
    first = sandbox.request('POST', f'/v1/{kind}', BODIES[kind], [('Idempotency-Key', 'k')])
    second = sandbox.request('POST', f'/v1/{kind}', BODIES[kind], [('Idempotency-Key', 'k')])
    assert first.status == second.status == 201
    assert first.json()['id'] != second.json()['id']
    assert sandbox.kinds()[kind] == 2
    assert sandbox.request('GET', f'/v1/{kind}').status == 200


def test_refunds_are_of_payments(sandbox):
    # Shows that a refund names a payment that is there, and is an effect each time.
    def refund(of):
        body = b'{"payment_id": "%s", "amount": 100, "currency": "EUR"}' % of.encode()
        return sandbox.request('POST', '/v1/refunds', body)
    assert refund('absent').status in (404, 422)
    payment = sandbox.request('POST', '/v1/payments', BODIES['payments']).json()['id']
    assert refund(payment).status == refund(payment).status == 201
    assert sandbox.kinds()['refunds'] == 2


@pytest.mark.parametrize('kind', ['tickets', 'payments'])
def test_what_was_made_can_be_read(sandbox, kind):
    # Shows that a thing is found under its id.
    made = sandbox.request('POST', f'/v1/{kind}', BODIES[kind]).json()
    assert sandbox.request('GET', f'/v1/{kind}/{made["id"]}').json()['id'] == made['id']
    assert sandbox.request('GET', f'/v1/{kind}/absent').status == 404


def test_orders_are_put(sandbox):
    # Shows the one kind whose own id makes it idempotent.
    for _ in range(2):
        assert sandbox.request('PUT', '/v1/orders/7', b'{"a": 1}').status in (200, 201)
    assert sandbox.request('GET', '/v1/orders/7').status == 200


def test_environments(sandbox):
    # Shows that an environment tells what was deployed to it.
    sandbox.request('POST', '/v1/deployments', BODIES['deployments'])
    assert b'sha256:' in sandbox.request('GET', '/v1/environments/staging').body


@pytest.mark.parametrize('fault, works', [('drop', True), ('half', True), ('reset', False)])
def test_faults_by_header(sandbox, fault, works):
    # Shows that a fault loses the answer, with or without the work.
    with pytest.raises(Closed):
        sandbox.request('POST', '/v1/tickets', TICKET, [('Sandbox-Fault', fault)])
    assert sandbox.kinds().get('tickets', 0) == (1 if works else 0)


def test_status_faults(sandbox):
    # Shows that a status may come with or without the work.
    assert sandbox.request('POST', '/v1/tickets', TICKET, [('Sandbox-Fault', 'status=503')]).status == 503
    assert sandbox.kinds().get('tickets', 0) == 0
    assert sandbox.request('POST', '/v1/tickets', TICKET, [('Sandbox-Fault', 'status=500;work')]).status == 500
    assert sandbox.kinds()['tickets'] == 1


@pytest.mark.parametrize('method', ['GET', 'HEAD'])
def test_a_header_is_no_fault_of_a_question(sandbox, method):
    # Shows that a write's own fault does no harm to the question about it that carries its headers;
    # that of a question is queued.
    fault = [('Sandbox-Fault', 'status=503')]
    assert sandbox.request(method, '/v1/tickets', headers=fault).status == 200
    sandbox.request('PUT', '/faults', b'{"fault": "status=500", "method": "%s"}' % method.encode())
    assert sandbox.request(method, '/v1/tickets', headers=fault).status == 500


def test_delay(sandbox):
    # Shows that an answer can be late.
    import time
    began = time.monotonic()
    assert sandbox.request('POST', '/v1/tickets', TICKET, [('Sandbox-Fault', 'delay=400')]).status == 201
    assert time.monotonic() - began >= 0.4


def test_faults_that_wait(sandbox):
    # Shows that PUT /faults is for the next request, once.
    assert sandbox.request('PUT', '/faults', b'{"fault": "drop"}').status in (200, 201, 204)
    with pytest.raises(Closed):
        sandbox.request('POST', '/v1/tickets', TICKET)
    assert sandbox.request('POST', '/v1/tickets', TICKET).status == 201
    assert sandbox.kinds()['tickets'] == 2


def test_walk_through(sandbox, start_gate, token):
    # Shows the first hour with Counterfoil: a ticket through the gate, twice; a lost answer; the
    # truth at /effects.
    gate = start_gate(sandbox.url)
    post = {'headers': JSON, 'body': TICKET}
    first = gate.request('POST', '/v1/tickets', token=token, **post)
    again = gate.request('POST', '/v1/tickets', token=token, **post)
    assert first.status == again.status == 201 and first.body == again.body
    assert again.one('Idempotent-Replayed') == 'true'
    assert sandbox.kinds()['tickets'] == 1
    sandbox.request('PUT', '/faults', b'{"fault": "drop"}')
    lost = gate.request('POST', '/v1/tickets', token=token + '-lost', **post)
    assert (lost.status, lost.slug) == (504, 'outcome-unknown')
    for _ in range(3):
        assert gate.request('POST', '/v1/tickets', token=token + '-lost', **post).status == 409
    assert sandbox.kinds()['tickets'] == 2
    sandbox.request('PUT', '/faults', b'{"fault": "status=503"}')
    busy = gate.request('POST', '/v1/tickets', token=token + '-busy', **post)
    assert busy.slug == 'not-sent'
    assert gate.request('POST', '/v1/tickets', token=token + '-busy', **post).status == 201
    assert sandbox.kinds()['tickets'] == 3


def test_lists_are_searched_by_members(sandbox):
    # Shows that a look-up by a name of the caller's own finds what came with it, and nothing else.
    for event in ('e-1', 'e-2'):
        sandbox.request('POST', '/v1/tickets', b'{"title": "t", "event": "%s"}' % event.encode())
    [found] = sandbox.list('/v1/tickets?event=e-2')
    assert found['event'] == 'e-2'
    assert sandbox.list('/v1/tickets?event=e-3') == []


def test_a_payment_that_is_declined(sandbox):
    # Shows a failure in a 200, which is no effect.
    sandbox.fault('decline')
    declined = sandbox.request('POST', '/v1/payments', BODIES['payments'])
    assert (declined.status, declined.json()['status']) == (200, 'failed')
    assert sandbox.kinds()['payments'] == 0


def test_keys_are_honoured_on_request(sandbox):
    # Shows one effect for each key once the service has been asked to honour them, and naive before.
    key = [('Idempotency-Key', '"k"')]
    sandbox.honour_keys()
    first = sandbox.request('POST', '/v1/payments', BODIES['payments'], key)
    again = sandbox.request('POST', '/v1/payments', BODIES['payments'], key)
    assert (first.status, again.status) == (201, 200)
    assert first.json() == again.json()
    effects = sandbox.effects()
    assert (effects['keys'], effects['resent']) == ({'k': 1}, 1)
    sandbox.request('DELETE', '/faults')
    assert sandbox.request('POST', '/v1/payments', BODIES['payments'], key).status == 201


def test_what_a_question_is_told(sandbox):
    # Shows the three ways in which asking misleads: an error, a thing not seen yet, one seen twice.
    where = {'path': '/v1/payments', 'method': 'GET'}
    sandbox.fault('hide=600000,drop')
    with pytest.raises(Closed):
        sandbox.request('POST', '/v1/payments', BODIES['payments'])
    assert sandbox.list('/v1/payments') == [] and sandbox.kinds()['payments'] == 1
    sandbox.request('POST', '/v1/payments', BODIES['payments'])
    sandbox.fault('twice', **where)
    first, second = sandbox.list('/v1/payments')
    assert first == second
    sandbox.fault('status=500', **where)
    assert sandbox.request('GET', '/v1/payments').status == 500
    assert len(sandbox.list('/v1/payments')) == 1


def test_fences_and_events_are_seen(sandbox):
    # Shows that headers which tests look for are read: a fencing number, an event's id.
    sandbox.request('POST', '/v1/deployments', BODIES['deployments'], [('X-Fence', '12')])
    assert sandbox.request('GET', '/v1/environments/staging').json()['fence'] == 12
    assert sandbox.request('POST', '/hooks/pay', b'{}', [('webhook-id', 'evt_1')]).status == 200
    assert sandbox.effects()['keys'] == {'evt_1': 1}
