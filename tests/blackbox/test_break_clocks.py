"""A wall clock that steps, while the gate has to send by itself, and to find out by itself."""
import threading

import pytest

from harness.fault import Machine, needs_machine
from harness.rules import Directory, eventually, needed, operations, ruled, said
from harness.upstream import answer, drop

pytestmark = needs_machine
HOUR_MS = 3600 * 1000
YEAR_MS = 365 * 24 * HOUR_MS
SETTLE = 3


def actions():
    name = {'name': needed()}
    probe = {'get': '/v1/find?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
             'absent': {'status': 200, 'empty': '/data'}, 'settle': f'{SETTLE}s', 'every': '200ms'}
    return {
        'pays.create': {'route': 'POST /v1/pays', 'fields': name, 'probe': probe},
        'jobs.create': {'route': 'POST /v1/jobs', 'fields': name, 'dispatch': 'outbox'},
        'lines.create': {'route': 'POST /v1/lines', 'fields': name, 'dispatch': 'outbox',
                         'lock': {'on': ['name'], 'held': 'queue'}},
    }


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, tmp_path / 'data')


@pytest.fixture
def gate(start_gate, upstream, machine, tmp_path):
    upstream.forget()
    settings = ruled(upstream, actions(), outbox={'first_pause': '50ms', 'max_pause': '200ms'})
    return start_gate(config=settings, data=tmp_path / 'data', env=machine.env)


def test_an_absence_while_the_clock_runs_ahead(gate, machine, upstream, token):
    # Shows that a clock which steps ahead does not end the time that a service has to show what it
    # made: what it is only slow to show is found later, and was never sent twice.
    upstream.always('/v1/find', said({'data': []}, works=False))
    upstream.plan('/v1/pays', drop())
    first = gate.post('/v1/pays', token, json={'name': 'n'})
    assert first.slug == 'outcome-unknown'
    machine.clock_ms = HOUR_MS
    for _ in range(5):
        assert gate.post('/v1/pays', token, json={'name': 'n'}).slug == 'outcome-unknown'
    upstream.wait_seen('/v1/find')
    upstream.always('/v1/find', said({'data': [{'id': 'there'}]}, works=False))
    eventually(lambda: gate.post('/v1/pays', token, json={'name': 'n'}).status == 201)
    assert upstream.effects('/v1/pays') == 1


@pytest.mark.parametrize('path', ['/v1/jobs', '/v1/lines'])
def test_a_clock_that_goes_back_holds_up_nobody(gate, machine, upstream, path, token):
    # Shows that what waits to be sent does not wait for the time at which it would have been due by
    # a clock that was wrong.
    machine.clock_ms = YEAR_MS
    upstream.always(path, answer(503, works=False))
    ids = [gate.post(path, f'{token}-{n}', json={'name': 'n'}).operation for n in range(3)]
    upstream.wait_seen(path, 2)
    machine.clock_ms = 0
    upstream.always(path, answer(201))
    for id in ids:
        gate.wait_state(id, 'completed', seconds=25)
    assert upstream.effects(path) == 3


def test_a_clock_that_goes_back_makes_no_key_live_longer(start_gate, machine, upstream, tmp_path, token):
    # Shows that a service is not taken to know a key still, after the time that it keeps one, because
    # the clock was set back meanwhile.
    upstream.forget()
    action = {'route': 'POST /v1/keyed', 'fields': {'name': needed()},
              'downstream_key': {'header': 'Idempotency-Key', 'for': '3s'}, 'timeout': '500ms'}
    gate = start_gate(config=ruled(upstream, {'keyed.create': action}), data=tmp_path / 'data', env=machine.env)
    upstream.always('/v1/keyed', drop())
    assert gate.post('/v1/keyed', token, json={'name': 'n'}).slug == 'outcome-unknown'
    machine.clock_ms = -HOUR_MS
    threading.Event().wait(3.2)
    before = len(upstream.seen('/v1/keyed'))
    assert gate.post('/v1/keyed', token, json={'name': 'n'}).slug == 'outcome-unknown'
    assert len(upstream.seen('/v1/keyed')) == before
