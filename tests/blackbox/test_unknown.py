"""No certain answer: 504 outcome-unknown, and from then on never a second effect by itself."""
import time

import pytest

from harness.client import assert_problem
from harness.gate import config
from harness.upstream import Hold, answer, created, delayed, drop, half, hang, held, raw, reset, reset_at_head

SAFE = {'query', 'wait', 'human', 'stop'}
NO_ANSWER = {
    'closed without an answer': drop(),
    'reset without an answer': reset(),
    'half a body': half(),
    'half a chunked body': half(framing='chunked'),
    'half a head': half(framing='head'),
    'half a failure': half(status=404),
    'not HTTP': raw(b'SSH-2.0-OpenSSH_9.2p1\r\n'),
    'a wild status line': raw(b'HTTP/1.1 2xx OK\r\nContent-Length: 0\r\n\r\n'),
    'two lengths that differ': raw(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc'),
    'bad chunk size': raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n'),
    'only 1xx': raw(b'HTTP/1.1 103 Hints\r\n\r\n'),
}


def assert_unknown(gate, upstream, path, token, first, **options):
    """The first answer, the retries, the status resource and the effects agree."""
    problem = assert_problem(first, 504, 'outcome-unknown', advice=SAFE)
    assert (first.outcome, first.state) == ('unknown', 'unknown')
    assert problem['operation']['state'] == 'unknown'
    for _ in range(2):
        again = gate.post(path, token, **options)
        assert_problem(again, 409, 'outcome-unknown', advice=SAFE)
        assert (again.outcome, again.state) == ('unknown', 'unknown')
        assert again.operation == first.operation
    assert gate.operation(first.operation, options.get('account'))['state'] == 'unknown'
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('fault', NO_ANSWER.values(), ids=NO_ANSWER.keys())
def test_no_whole_answer(gate, upstream, path, token, fault):
    # Shows for each way of losing an answer: 504, retries are told 409, one effect.
    upstream.plan(path, fault)
    assert_unknown(gate, upstream, path, token, gate.post(path, token))


@pytest.mark.parametrize('status', [408, 500, 502, 504])
def test_statuses_that_say_nothing(gate, upstream, path, token, status):
    # Shows that by default these statuses of the service are no proof of anything.
    upstream.plan(path, answer(status, body=b'who knows'))
    assert_unknown(gate, upstream, path, token, gate.post(path, token))


@pytest.mark.parametrize('status', [509, 512, *range(520, 531), 599])
def test_statuses_that_no_standard_has(gate, upstream, path, token, status):
    # Shows that what only proxies say, having lost sight of the service, is no proof that it did not act.
    upstream.plan(path, answer(status, body=b'error code: 524'))
    assert_unknown(gate, upstream, path, token, gate.post(path, token))


@pytest.mark.parametrize('status', [501, 505, 506, 507, 508, 510, 511])
def test_statuses_that_say_it_was_not_carried_out(gate, upstream, path, token, status):
    # Shows that the other registered ones of 5xx are final, as their standards have them.
    upstream.plan(path, answer(status, works=False))
    first, again = gate.post(path, token), gate.post(path, token)
    assert (first.status, first.state, again.outcome, again.status) == (status, 'failed', 'replayed', status)
    assert len(upstream.seen(path)) == 1 and upstream.effects(path) == 0


def test_statuses_of_a_proxy_may_be_declared(start_gate, upstream, path, token):
    # Shows that one that no standard has goes by what is declared of it, else by what is declared of 500.
    gate = start_gate(upstream, config(upstream, statuses={'not_sent': [521], 'unknown': [502, 524]}))
    for status, outcome, state in ((521, 'not_sent', 'queued'), (524, 'unknown', 'unknown'), (520, 'created', 'failed')):
        here = f'{path}-{status}'
        upstream.plan(here, answer(status, works=status == 524))
        first = gate.post(here, f'{token}-{status}')
        assert (first.outcome, first.state) == (outcome, state)
        again = gate.post(here, f'{token}-{status}')
        assert again.outcome == ('created' if status == 521 else 'unknown' if status == 524 else 'replayed')
        assert upstream.effects(here) == (0 if status == 520 else 1)


def test_a_reset_before_the_body_was_read(gate, upstream, path, token):
    # Shows that bytes that left make it unknown, even when the service never read them all.
    upstream.plan(path, reset_at_head())
    first = gate.post(path, token, json={'n': 'x' * 300000})
    assert_problem(first, 504, 'outcome-unknown', advice=SAFE)
    assert_problem(gate.post(path, token, json={'n': 'x' * 300000}), 409, 'outcome-unknown', advice=SAFE)
    assert upstream.seen(path) == []


def test_an_answer_in_time_is_no_timeout(start_gate, upstream, path, token):
    # Shows that a slow service within the limit is waited for, and one beyond it is unknown.
    gate = start_gate(upstream, config({'url': upstream.url, 'timeout': '1s'}))
    upstream.plan(path, delayed(0.3))
    assert gate.post(path, token).outcome == 'created'
    upstream.plan(path + '-slow', hang())
    began = time.monotonic()
    first = gate.post(path + '-slow', token + '-slow')
    assert 0.8 < time.monotonic() - began < 5
    assert_unknown(gate, upstream, path + '-slow', token + '-slow', first)


def test_a_dribbling_answer_ends(start_gate, upstream, path, token):
    # Shows that the limit holds to the last byte: one byte now and then does not prolong it.
    gate = start_gate(upstream, config({'url': upstream.url, 'timeout': '1s'}))

    def dribble(ex):
        ex.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n')
        for _ in range(100):
            ex.send(b'.')
            ex.wait(0.1)
    upstream.plan(path, dribble)
    began = time.monotonic()
    assert_unknown(gate, upstream, path, token, gate.post(path, token))
    assert time.monotonic() - began < 6


def test_an_answer_after_the_timeout_comes_too_late(start_gate, upstream, path, token):
    # Shows that a service that answers after the limit has its effect once and the state stays.
    gate = start_gate(upstream, config({'url': upstream.url, 'timeout': '1s'}))
    hold = Hold()
    upstream.plan(path, held(hold))
    first = gate.post(path, token)
    hold.release()
    time.sleep(0.3)
    assert_unknown(gate, upstream, path, token, first)


def test_unknown_outlives_restart(start_gate, upstream, path, token):
    # Shows that no restart, kind or unkind, moves an operation out of unknown.
    gate = start_gate(upstream)
    upstream.plan(path, drop())
    first = gate.post(path, token)
    gate.terminate()
    assert gate.wait_exit() == 0
    gate.restart()
    assert_unknown(gate, upstream, path, token, first)
    gate.kill9()
    gate.restart()
    assert_unknown(gate, upstream, path, token, first)


def test_unknown_outlives_retention(start_gate, upstream, path, token):
    # Shows that an open operation is never forgotten, however old.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '1s', 'tombstones': '0s'}))
    upstream.plan(path, drop())
    first = gate.post(path, token)
    time.sleep(2.5)
    assert_unknown(gate, upstream, path, token, first)


def test_a_waiting_retry_is_told_in_the_end(gate, upstream, path, token):
    # Shows that Prefer: wait on an unknown operation ends with 409, never with another try.
    upstream.plan(path, drop())
    gate.post(path, token)
    waited = gate.post(path, token, headers={'Prefer': 'wait=1'})
    assert_problem(waited, 409, 'outcome-unknown', advice=SAFE)
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('what', ['not_sent', 'unknown', 'final'])
def test_statuses_can_be_declared(start_gate, upstream, path, token, what):
    # Shows that the configuration says what a status means, in place of the defaults.
    gate = start_gate(upstream, config(upstream, statuses={'not_sent': [423], 'unknown': [418, 500]}))
    if what == 'unknown':
        upstream.plan(path, answer(418))
        assert_unknown(gate, upstream, path, token, gate.post(path, token))
    elif what == 'not_sent':
        upstream.plan(path, answer(423, works=False), created())
        assert gate.post(path, token).outcome == 'not_sent'
        assert gate.post(path, token).outcome == 'created'
        assert upstream.effects(path) == 1
    else:
        upstream.plan(path, answer(502, body=b'final here'))
        first, again = gate.post(path, token), gate.post(path, token)
        assert (first.status, first.state) == (502, 'failed')
        assert again.outcome == 'replayed' and again.body == b'final here'
        assert upstream.effects(path) == 1
