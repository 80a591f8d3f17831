"""Never twice: a re-used connection that reads the request and closes is one effect, unknown."""
import warnings

import pytest

from harness.upstream import answer, created, drop, half, hang, reset

ROUNDS = 25


@pytest.mark.parametrize('fault', [drop, reset, half], ids=['closed', 'reset', 'half an answer'])
def test_a_reused_connection_that_dies_after_reading(gate, upstream, path, token, fault):
    # Shows, round after round, that a request on a kept connection is not sent again when the
    # service closes it after having read it.
    reused = 0
    for round in range(ROUNDS):
        here, key = f'{path}-{round}', f'{token}-{round}'
        upstream.plan(here, created())
        upstream.plan(here + '-b', fault())
        with gate.connect() as connection:
            assert gate.post(here, key + '-a', connection=connection).outcome == 'created'
            lost = gate.post(here + '-b', key + '-b', connection=connection)
        assert (lost.status, lost.outcome) == (504, 'unknown')
        assert upstream.effects(here) == 1
        assert upstream.effects(here + '-b') == 1, f'sent twice in round {round}'
        reused += upstream.last(here + '-b').nth > 1
    if not reused:
        warnings.warn('no upstream connection was re-used: the trap was not set')


def test_a_connection_closed_while_idle(gate, upstream, path, token):
    # Shows that a kept connection the service has closed meanwhile costs nobody an effect.
    for round in range(10):
        here, key = f'{path}-{round}', f'{token}-{round}'
        assert gate.post(here, key + '-a').outcome == 'created'
        upstream.hang_up_all()
        after = gate.post(here + '-b', key + '-b')
        assert after.outcome in ('created', 'not_sent', 'unknown'), after
        assert upstream.effects(here + '-b') <= 1
        if after.outcome == 'created':
            assert upstream.effects(here + '-b') == 1
        if after.outcome == 'not_sent':
            assert upstream.effects(here + '-b') == 0


def test_closing_at_the_very_moment(gate, upstream, path, token):
    # Shows that an answer that says keep-alive and closes at once never leads to a second send.
    def answer_and_close(ex):
        answer(201)(ex)
        ex.close()
    for round in range(ROUNDS):
        here, key = f'{path}-{round}', f'{token}-{round}'
        upstream.plan(here, answer_and_close)
        with gate.connect() as connection:
            assert gate.post(here, key, connection=connection).outcome == 'created'
            gate.post(here + '-b', key + '-b', connection=connection)
        assert upstream.effects(here) == 1
        assert upstream.effects(here + '-b') <= 1


@pytest.mark.parametrize('fault', ['reset', 'close'])
def test_a_connection_that_dies_before_it_is_read(start_gate, upstream, path, token, fault):
    # Shows that a new connection that dies unread is at most unknown, and never two effects.
    gate = start_gate(upstream)
    for round in range(10):
        upstream.hang_up_all()
        upstream.on_connect(fault)
        here, key = f'{path}-{round}', f'{token}-{round}'
        first = gate.post(here, key)
        assert first.outcome in ('unknown', 'not_sent'), first
        again = gate.post(here, key)
        assert again.outcome == ('unknown' if first.outcome == 'unknown' else 'created')
        assert upstream.effects(here) == (0 if first.outcome == 'unknown' else 1)


def test_a_redirect_is_never_followed(gate, upstream, path, token):
    # Shows that a redirect, also back to itself or to another method, makes no second request.
    for status in (301, 302, 303, 307, 308):
        here = f'{path}-{status}'
        upstream.plan(here, answer(status, headers=[('Location', here)], body=b''))
        assert gate.post(here, f'{token}-{status}').status == status
        assert len(upstream.seen(here)) == 1


def test_a_challenge_is_never_answered(gate, upstream, path, token):
    # Shows that a 401 with a challenge is passed on; no second request with credentials is made.
    upstream.plan(path, answer(401, headers=[('WWW-Authenticate', 'Basic realm="x"')], body=b''))
    assert gate.post(path, token, account='Basic dTpw').status == 401
    assert len(upstream.seen(path)) == 1


def test_expectation_is_the_gates_own_matter(gate, upstream, path, token):
    # Shows that a service that refuses an expectation is not asked twice: 417 is an answer.
    upstream.plan(path, answer(417, body=b'no'))
    first = gate.post(path, token, json={'p': 'x' * 100000})
    assert len(upstream.seen(path)) == 1
    assert first.status == 417
    assert upstream.last(path).get('Expect') is None
