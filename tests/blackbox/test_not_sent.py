"""Certain that the service did not act: 503 not-sent, and the same token may be tried again."""
import email.utils
import time

import pytest

from harness.client import assert_problem
from harness.gate import config
from harness.upstream import Upstream, answer, created


def assert_not_sent(response):
    problem = assert_problem(response, 503, 'not-sent', advice='same_key')
    assert (response.outcome, response.state) == ('not_sent', 'queued')
    assert int(response.one('Retry-After')) >= 0
    return problem


@pytest.fixture
def closed():
    """An upstream whose port refuses connections until it listens."""
    server = Upstream(listening=False)
    yield server
    server.stop()


def test_a_refused_connection(start_gate, closed, path, token):
    # Shows that a refused connection frees the token, and that a later try makes the one effect.
    gate = start_gate(closed)
    first = gate.post(path, token)
    assert_not_sent(first)
    second = gate.post(path, token)
    assert_not_sent(second)
    closed.listen()
    third = gate.post(path, token)
    assert (third.status, third.outcome) == (201, 'created')
    assert first.operation == second.operation == third.operation
    assert gate.post(path, token).outcome == 'replayed'
    assert closed.effects(path) == 1


def test_many_tries_at_once_are_one_effect(start_gate, closed, path, token):
    # Shows that tries of a free token do not race: when the service is back, one is sent.
    import concurrent.futures
    gate = start_gate(closed)
    assert_not_sent(gate.post(path, token))
    closed.listen()
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        outcomes = [r.outcome for r in pool.map(lambda _: gate.post(path, token), range(20))]
    assert outcomes.count('created') == 1, outcomes
    assert set(outcomes) <= {'created', 'running', 'replayed'}
    assert closed.effects(path) == 1


def test_a_name_that_does_not_resolve(start_gate, path, token):
    # Shows that an unknown host is certainly not reached.
    gate = start_gate('http://no-such-host.invalid:9')
    assert_not_sent(gate.post(path, token, timeout=40))


@pytest.mark.parametrize('status', [429, 503])
def test_statuses_that_say_not_done(gate, upstream, path, token, status):
    # Shows that by default 429 and 503 free the token; the next try is sent and counts.
    upstream.plan(path, answer(status, body=b'busy', works=False, headers=[('Retry-After', '7')]),
                  answer(status, body=b'busy', works=False), created())
    first = gate.post(path, token)
    assert_not_sent(first)
    assert_not_sent(gate.post(path, token))
    assert gate.post(path, token).outcome == 'created'
    assert gate.post(path, token).outcome == 'replayed'
    assert (upstream.effects(path), len(upstream.seen(path))) == (1, 3)


def test_the_service_says_when(gate, upstream, path, token):
    # Shows that the service's own Retry-After reaches the caller, in the header and as advice.
    upstream.plan(path, answer(429, body=b'busy', works=False, headers=[('Retry-After', '7')]))
    response = gate.post(path, token)
    problem = assert_not_sent(response)
    assert int(response.one('Retry-After')) == 7
    assert problem['retry']['after'] == 7


def test_the_service_says_when_by_a_date(gate, upstream, path, token):
    # Shows that a Retry-After which is a date is understood, and one that is no date of HTTP's is none.
    when = email.utils.formatdate(time.time() + 100, usegmt=True)
    upstream.plan(path, answer(429, works=False, headers=[('Retry-After', when)]),
                  answer(429, works=False, headers=[('Retry-After', when.replace('GMT', 'CET'))]))
    assert 90 <= int(gate.post(path, token).one('Retry-After')) <= 100
    assert int(gate.post(path, token).one('Retry-After')) < 10


def test_not_sent_outlives_a_restart(start_gate, closed, path, token):
    # Shows that a token that was freed is free after a restart too, and makes one effect.
    gate = start_gate(closed)
    first = gate.post(path, token)
    assert_not_sent(first)
    gate.kill9()
    gate.restart()
    closed.listen()
    second = gate.post(path, token)
    assert second.outcome == 'created' and second.operation == first.operation
    assert closed.effects(path) == 1


def test_nothing_is_sent_behind_the_callers_back(start_gate, closed, path, token):
    # Shows that a free token waits for its caller: the gate does not send it by itself.
    import time
    gate = start_gate(closed)
    assert_not_sent(gate.post(path, token))
    closed.listen()
    time.sleep(1.5)
    assert closed.seen(path) == []


def test_a_certificate_that_is_not_trusted(start_gate, certs, path, token):
    # Shows that TLS that cannot be verified is certainly not sent; with the right roots it works.
    server = Upstream(tls=certs.server())
    try:
        gate = start_gate(server)
        assert_not_sent(gate.post(path, token))
        assert server.seen(path) == []
        trusting = start_gate(server, config({'url': server.url, 'ca_file': certs.ca}))
        assert trusting.post(path, token).outcome == 'created'
        assert server.effects(path) == 1
    finally:
        server.stop()


def test_a_certificate_for_another_name(start_gate, certs, path, token):
    # Shows that trusted roots are not enough: the name has to be the upstream's.
    server = Upstream(tls=certs.server(other=True))
    try:
        gate = start_gate(server, config({'url': server.url, 'ca_file': certs.ca}))
        assert_not_sent(gate.post(path, token))
        assert server.seen(path) == []
    finally:
        server.stop()
