"""What waits while something else is slow: a service's questions, and what is to be sent to it."""
import pytest

from harness.rules import needed, ruled
from harness.upstream import Upstream, drop, hang

NAME = {'name': needed()}
PROBE = {'get': '/v1/find?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
         'absent': {'status': 200, 'empty': '/data'}, 'settle': '0s', 'every': '100ms', 'timeout': '3s'}


@pytest.fixture
def upstream():
    server = Upstream()
    yield server
    server.stop()


def settings(upstream, connections):
    service = {'url': upstream.url, 'max_connections': connections, 'timeout': '1s'}
    return ruled(service, {
        'pays.create': {'route': 'POST /v1/pays', 'fields': NAME, 'probe': PROBE},
        'jobs.create': {'route': 'POST /v1/jobs', 'fields': NAME, 'dispatch': 'outbox'},
    }, outbox={'first_pause': '50ms', 'max_pause': '100ms', 'attempts': 2}, threads=1)


@pytest.mark.parametrize('connections', [8, 1])
def test_slow_questions_take_no_tries(start_gate, upstream, token, connections):
    # Shows that questions which hang take none of the connections that what is to be sent needs:
    # waiting for one would be a try that it never had, and end it.
    gate = start_gate(config=settings(upstream, connections))
    upstream.always('/v1/find', hang())
    upstream.always('/v1/pays', drop())
    for n in range(12):
        assert gate.post('/v1/pays', f'{token}-{n}', json={'name': f'n{n}'}).slug == 'outcome-unknown'
    upstream.wait_seen('/v1/find', 2)
    job = gate.post('/v1/jobs', token, json={'name': 'n'})
    gate.wait_state(job.operation, 'completed', seconds=15)
    assert upstream.effects('/v1/jobs') == 1
