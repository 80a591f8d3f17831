"""Lives that end in the wrong order: waiters, drains, small memories, two signals at once.

These are the places where something could be used after its end, or wait for something that
never comes. Run under a sanitizer they say more; without one they still look at what must
hold: nobody is left in the waiting room, no end is held up, no gate dies.
"""
import concurrent.futures
import os
import re
import signal
import time

import pytest

from harness.client import Closed, assert_problem, build
from harness.gate import command, config, head_lines
from harness.upstream import Hold, answer, created, delayed, drop, held


def gauge(gate, name):
    text = gate.operator('/metrics').body.decode()
    return int(re.search(rf'^counterfoil_{name} (\d+)$', text, re.M).group(1))


def wait_gauge(gate, name, wanted, seconds=5):
    deadline = time.monotonic() + seconds
    while gauge(gate, name) != wanted:
        assert time.monotonic() < deadline, f'{name} is {gauge(gate, name)}, not {wanted}'
        time.sleep(0.05)


def test_an_end_between_two_looks(gate, upstream, path, token, account):
    # Shows that duplicates which are about to wait when the operation ends leave the waiting
    # room again, however the two meet.
    rounds, crowd = 10, 150
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for n in range(rounds):
            hold = Hold()
            upstream.plan(path, held(hold, answer(201, body=b'the one')))
            first = pool.submit(gate.post, path, f'{token}-{n}', account=account)
            hold.wait_entered()
            lines = head_lines(f'{token}-{n}', account, [('Prefer', 'wait=10')], {'n': 1})
            request = build('POST', path, lines, b'{"n": 1}')
            others = [gate.connect() for _ in range(crowd)]
            hold.release()
            for other in others:
                other.send(request)
            assert first.result().outcome == 'created'
            for other in others:
                with other:
                    assert other.read_response().outcome == 'replayed'
    assert upstream.effects(path) == rounds
    wait_gauge(gate, 'waiters', 0)


def test_a_wait_for_what_was_not_sent(gate, upstream, path, token, account):
    # Shows that a duplicate which waited may carry the operation out itself when the first
    # attempt is known not to have acted, and that the room is empty afterwards.
    hold = Hold()
    upstream.plan(path, held(hold, answer(503, works=False)))
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        first = pool.submit(gate.post, path, token, account=account)
        hold.wait_entered()
        others = [pool.submit(gate.post, path, token, account=account,
                              headers={'Prefer': 'wait=10'}) for _ in range(8)]
        time.sleep(0.2)
        hold.release()
        assert first.result().outcome == 'not_sent'
        outcomes = [o.result().outcome for o in others]
    assert outcomes.count('created') == 1, outcomes
    assert set(outcomes) <= {'created', 'replayed', 'running'}, outcomes
    assert upstream.effects(path) == 1
    wait_gauge(gate, 'waiters', 0)


def test_an_end_does_not_wait_for_those_who_only_ask(start_gate, upstream, path, token):
    # Shows that SIGTERM lets go of requests that merely wait for news: of an operation whose
    # outcome is unknown there may be none for days.
    gate = start_gate(upstream)
    upstream.plan(path, drop())
    id = gate.post(path, token).operation
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asker = pool.submit(gate.get, f'/.counterfoil/operations/{id}?wait=25', timeout=30)
        wait_gauge(gate, 'waiters', 1)
        began = time.monotonic()
        gate.terminate()
        assert asker.result().json()['state'] == 'unknown'
        assert gate.wait_exit() == 0
    assert time.monotonic() - began < 8


def test_a_statement_wakes_those_who_wait(gate, upstream, path, token):
    # Shows that whoever waits for the end of an operation that is unknown learns of it as soon as
    # the operator has said what happened.
    upstream.plan(path, drop())
    id = gate.post(path, token).operation
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        askers = [pool.submit(gate.get, f'/.counterfoil/operations/{id}?wait=25', timeout=30)
                  for _ in range(5)]
        wait_gauge(gate, 'waiters', 5)
        began = time.monotonic()
        done = command('op', 'resolve', id, '--happened', '--why', 'seen', '--data', gate.data)
        assert done.returncode == 0, done.stderr
        assert [a.result().json()['state'] for a in askers] == ['completed'] * 5
        assert time.monotonic() - began < 5


def test_a_second_request_behind_the_last_word(gate, upstream, path, token):
    # Shows that of two requests in one breath, after which the client closes its side, the second
    # has either an answer or no effect, and can be sent again.
    upstream.plan(path, delayed(0.3, created()))
    second = f'{path}-second'
    with gate.connect() as connection:
        connection.send(build('POST', path, head_lines(token), b'{"n": 1}') +
                        build('POST', second, head_lines(token + '-second'), b'{"n": 1}'))
        connection.half_close()
        assert connection.read_response('POST').outcome == 'created'
        rest = connection.read_all(timeout=5)
    assert upstream.effects(second) == rest.count(b'HTTP/1.1 201')
    again = gate.post(second, token + '-second', body=b'{"n": 1}')
    assert again.outcome == ('replayed' if rest else 'created')
    assert upstream.effects(second) == 1


def test_an_end_tells_waiting_duplicates(start_gate, upstream, path, token):
    # Shows that a duplicate which waits for a running operation is told at once when the gate
    # ends, and the operation itself is finished.
    gate = start_gate(upstream)
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        other = pool.submit(gate.post, path, token, headers={'Prefer': 'wait=25'}, timeout=30)
        wait_gauge(gate, 'waiters', 1)
        gate.terminate()
        assert_problem(other.result(5), 409, 'operation-running')
        hold.release()
        assert first.result().outcome == 'created'
        assert gate.wait_exit() == 0


@pytest.mark.parametrize('size', [60_000, 90_000, 125_000])
def test_a_long_head(start_gate, upstream, path, token, size):
    # Shows that a head as long as max_head allows arrives, also in small pieces.
    gate = start_gate(upstream, config(upstream, limits={'max_head': '128KiB'}))
    lines = head_lines(token, None, [(f'X-Filler-{n}', 'f' * 1000) for n in range(size // 1000)][:90] +
                       [('X-Rest', 'f' * max(0, size - 90_000))])
    request = build('POST', path, lines, b'{}')
    with gate.connect(timeout=5) as connection:
        for start in range(0, len(request), 30_000):
            connection.send(request[start:start + 30_000])
            time.sleep(0.01)
        response = connection.read_response()
    assert response.status == 201, response
    assert upstream.effects(path) == 1


def test_two_signals_at_once(start_gate, upstream, path):
    # Shows that a second signal on the heels of the first ends the gate at once.
    for _ in range(8):
        gate = start_gate(upstream)
        assert gate.get(path).status == 200
        os.kill(gate.pid, signal.SIGTERM)
        os.kill(gate.pid, signal.SIGINT)
        gate.wait_exit(5)


@pytest.mark.parametrize('method, target', [('POST', ''), ('GET', ''), ('GET', '/.counterfoil/help')])
def test_a_head_that_takes_all_memory(start_gate, upstream, path, token, method, target):
    # Shows that heads around the size of a request's memory are refused or served, and the
    # gate lives on.
    gate = start_gate(upstream, config(upstream, limits={
        'max_head': '128KiB', 'request_memory': '64KiB', 'max_body': '1KiB', 'max_response': 0}))
    for size in range(100_000, 131_000, 500):
        lines = [('X-Filler', 'f' * size)]
        with gate.connect() as connection:
            try:
                response = gate.request(method, target or path, token=f'{token}-{size}',
                                        headers=lines, body=b'', connection=connection)
            except Closed:
                response = None
        assert gate.is_running, gate.tail()
        assert response is None or response.status in (200, 201, 413, 431, 500, 503), response
    assert gate.get(path).status == 200
