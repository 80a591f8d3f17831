"""Time: what may be forgotten, when, and what a token that was known says afterwards."""
import time

import pytest

from harness.client import assert_problem
from harness.gate import config


def wait_for(seconds, look):
    """The first answer `look()` gives that is not None."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, 'it never happened'
        time.sleep(0.1)
    return found


def expired(gate, path, token):
    def look():
        response = gate.post(path, token)
        return None if response.outcome == 'replayed' else response
    return wait_for(12, look)


def test_with_a_tombstone(start_gate, upstream, path, token):
    # Shows that a token whose record has expired answers 410, for any body, and never runs again.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '1s', 'tombstones': '30d'}))
    gate.post(path, token)
    response = expired(gate, path, token)
    assert_problem(response, 410, 'key-expired', operation=False, advice={'stop', 'human', 'new_key', 'query'})
    assert response.outcome == 'expired'
    assert gate.post(path, token, json={'other': True}).slug in ('key-expired', 'key-reused')
    assert upstream.effects(path) == 1


def test_a_tombstone_survives_a_crash(start_gate, upstream, path, token):
    # Shows that what was forgotten stays known as forgotten over a restart.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '1s', 'tombstones': '30d'}))
    gate.post(path, token)
    expired(gate, path, token)
    gate.kill9()
    gate.restart()
    assert gate.post(path, token).slug == 'key-expired'
    assert upstream.effects(path) == 1


def test_without_tombstones(start_gate, upstream, path, token):
    # Shows that with `tombstones: 0s` a forgotten token is a new one: another operation, another effect.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '1s', 'tombstones': '0s'}))
    first = gate.post(path, token)
    response = expired(gate, path, token)
    assert response.outcome == 'created' and response.operation != first.operation
    assert upstream.effects(path) == 2


def test_not_before_its_time(start_gate, upstream, path, token):
    # Shows that within the retention every retry replays.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '1h'}))
    first = gate.post(path, token)
    for _ in range(6):
        time.sleep(0.3)
        assert gate.post(path, token).body == first.body
    assert upstream.effects(path) == 1


def test_the_record_is_gone(start_gate, upstream, path, token, account):
    # Shows that an expired operation can no longer be looked up.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '1s', 'tombstones': '30d'}))
    first = gate.post(path, token, account=account)
    def look():
        status = gate.get(f'/.counterfoil/operations/{first.operation}', account=account).status
        return None if status == 200 else status
    assert wait_for(12, look) in (404, 410)


@pytest.mark.long
def test_many_expire_while_others_are_made(start_gate, upstream, path, token):
    # Shows that forgetting thousands neither stops new writes nor forgets an unexpired one.
    gate = start_gate(upstream, config(upstream, tokens={'retention': '2s', 'tombstones': '30d'}))
    with gate.connect(timeout=60) as connection:
        for n in range(3000):
            assert gate.post(path, f'{token}-{n}', connection=connection).outcome == 'created'
    assert expired(gate, path, f'{token}-0').slug == 'key-expired'
    assert expired(gate, path, f'{token}-2999').slug == 'key-expired'
    assert upstream.effects(path) == 3000
