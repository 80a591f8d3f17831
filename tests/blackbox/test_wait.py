"""Prefer: wait=N — a duplicate waits for the end of the operation instead of asking again."""
import concurrent.futures
import time

import pytest

from harness.gate import config
from harness.upstream import Hold, answer, held


@pytest.fixture
def running(gate, upstream, path, token, account):
    """An operation inside the service: (hold, future of the first answer)."""
    hold = Hold()
    upstream.plan(path, held(hold, answer(201, body=b'the one')))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token, account=account)
        hold.wait_entered()
        yield hold, first
        hold.release()


def test_the_end_comes_as_a_replay(gate, upstream, path, token, account, running):
    # Shows that a waiting duplicate gets the answer as a replay the moment it is there.
    hold, first = running
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(gate.post, path, token, account=account, headers={'Prefer': 'wait=10'})
        time.sleep(0.3)
        assert not waiter.done()
        hold.release()
        released = time.monotonic()
        replay = waiter.result()
    assert time.monotonic() - released < 2
    assert (replay.status, replay.body, replay.outcome) == (201, b'the one', 'replayed')
    assert first.result().outcome == 'created'
    assert upstream.effects(path) == 1


def test_a_wait_ends(gate, path, token, account, running):
    # Shows that after N seconds without an end the duplicate is told 409 as it would be at once.
    began = time.monotonic()
    response = gate.post(path, token, account=account, headers={'Prefer': 'wait=1'})
    assert 0.8 < time.monotonic() - began < 4
    assert response.slug == 'operation-running'


def test_without_the_wish_nobody_waits(gate, path, token, account, running):
    # Shows that without the header a duplicate is told at once.
    began = time.monotonic()
    assert gate.post(path, token, account=account).slug == 'operation-running'
    assert time.monotonic() - began < 1


@pytest.mark.parametrize('value', ['respond-async, wait=1', 'wait=1; x=y', 'handling=strict, Wait=1',
                                   'return=minimal,wait=1'])
def test_spellings(gate, path, token, account, running, value):
    # Shows that the wish is found among other preferences.
    began = time.monotonic()
    gate.post(path, token, account=account, headers={'Prefer': value})
    assert 0.8 < time.monotonic() - began < 4


@pytest.mark.parametrize('value', ['wait=-1', 'wait=soon', 'wait', 'wait=0', 'wait='])
def test_a_wish_that_makes_no_sense(gate, path, token, account, running, value):
    # Shows that a malformed preference is ignored, as preferences are.
    began = time.monotonic()
    assert gate.post(path, token, account=account, headers={'Prefer': value}).status == 409
    assert time.monotonic() - began < 1


def test_the_status_resource_waits_too(gate, path, token, account, running):
    # Shows that ?wait=N on the operation holds the answer until the state is terminal.
    hold, _ = running
    id = gate.post(path, token, account=account).operation
    began = time.monotonic()
    assert gate.get(f'/.counterfoil/operations/{id}?wait=1', account=account).json()['state'] == 'running'
    assert 0.8 < time.monotonic() - began < 4
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(gate.get, f'/.counterfoil/operations/{id}?wait=10', account=account)
        time.sleep(0.2)
        assert not waiter.done()
        hold.release()
        assert waiter.result(5).json()['state'] == 'completed'


def test_the_wait_is_bounded_by_configuration(start_gate, upstream, path, token):
    # Shows that tokens.max_wait is the longest anybody waits, whatever is wished.
    gate = start_gate(upstream, config(upstream, tokens={'max_wait': '1s'}))
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        began = time.monotonic()
        response = gate.post(path, token, headers={'Prefer': 'wait=600'})
        assert 0.8 < time.monotonic() - began < 4
        assert response.slug == 'operation-running'
        hold.release()
        assert first.result().outcome == 'created'
