"""What a service's status means: one table, for the gate and for whoever calls without one."""
import pytest

from harness.speakers import ALL
from harness.upstream import answer

COMPLETED, FAILED, QUEUED, UNKNOWN = 'completed', 'failed', 'queued', 'unknown'
MEANS = {200: COMPLETED, 201: COMPLETED, 202: COMPLETED, 204: COMPLETED, 301: COMPLETED, 302: COMPLETED,
         303: COMPLETED, 307: FAILED, 308: FAILED, 400: FAILED, 402: FAILED, 404: FAILED, 408: UNKNOWN, 409: FAILED,
         422: FAILED, 429: QUEUED, 499: FAILED, 500: UNKNOWN, 501: FAILED, 502: UNKNOWN, 503: QUEUED, 504: UNKNOWN,
         505: FAILED, 507: FAILED, 511: FAILED, 520: UNKNOWN, 521: UNKNOWN, 524: UNKNOWN, 530: UNKNOWN, 599: UNKNOWN}
OF_THE_JOURNAL = {COMPLETED: 'done', FAILED: 'failed', QUEUED: 'new', UNKNOWN: 'unknown'}


@pytest.mark.parametrize('status', MEANS)
def test_the_gate_and_every_client_read_it_alike(gate, upstream, path, token, tmp_path, status):
    # Shows that one status means the same behind a gate and without one, in each language, and is sent once.
    meaning, works = MEANS[status], MEANS[status] in (COMPLETED, UNKNOWN)
    here = f'{path}-gate'
    upstream.plan(here, answer(status, works=works))
    assert gate.post(here, token).state == meaning
    assert (len(upstream.seen(here)), upstream.effects(here)) == (1, int(works))
    for speaker in ALL:
        here = f'{path}-{speaker}'
        upstream.plan(here, answer(status, works=works))
        told = speaker.ask('send', journal=str(tmp_path / repr(speaker) / 'journal.db'), method='POST', task='t',
                           step='s', url=upstream.url + here, json={}, wait=0)
        assert told['state'] == OF_THE_JOURNAL[meaning], (speaker, told)
        assert (len(upstream.seen(here)), upstream.effects(here)) == (1, int(works)), speaker


@pytest.mark.parametrize('status', [307, 308])
def test_what_was_sent_elsewhere_frees_its_identity(start_gate, upstream, path, token, status):
    # Shows that a redirect that nobody followed takes no business identity: a mended one is made, once.
    gate = start_gate(upstream, {'upstreams': {'default': {'url': upstream.url}}, 'actions': {'invoices.pay': {
        'route': f'POST {path}', 'fields': {'invoice': {'type': 'string', 'required': True}},
        'unique': {'by': ['invoice']}}}})
    upstream.plan(path, answer(status, headers=[('Location', f'{path}-elsewhere')], works=False))
    first = gate.post(path, token, json={'invoice': '1'})
    assert (first.status, first.state) == (status, 'failed')
    assert gate.post(path, token, json={'invoice': '1'}).outcome == 'replayed'
    made = gate.post(path, token + '-2', json={'invoice': '1'})
    assert (made.outcome, made.state) == ('created', 'completed')
    assert gate.post(path, token + '-3', json={'invoice': '1'}).outcome == 'reused'
    assert (upstream.effects(path), upstream.seen(f'{path}-elsewhere')) == (1, [])


@pytest.mark.parametrize('status', [307, 308])
def test_a_second_sending_that_is_sent_elsewhere_decides_nothing(start_gate, upstream, path, token, status):
    # Shows that the answer was lost, and the redirect of the sending under the same key is no end of it.
    gate = start_gate(upstream, {'upstreams': {'default': {'url': upstream.url, 'downstream_key': 'X-Key'}}})
    upstream.plan(path, answer(500), answer(status, works=False), answer(status, works=False))
    first = gate.post(path, token)
    assert first.state == 'unknown'
    gate.post(path, token)
    assert gate.operation(first.operation)['state'] == 'unknown'
    assert upstream.effects(path) == 1
