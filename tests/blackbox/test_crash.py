"""kill -9 at any moment: nobody's effect is made twice, and what was acknowledged stays true."""
import random
import threading

import pytest

from harness.client import Closed
from harness.upstream import Hold, Upstream, answer, created, delayed, held

CLIENTS = 6


@pytest.fixture
def service():
    """An upstream of this test alone, which takes its time so that kills meet work."""
    server = Upstream()
    dice = random.Random(7)

    def slowly(ex):
        ex.wait(dice.random() * 0.01)
        created()(ex)
    server.default = slowly
    yield server
    server.stop()


class Crowd:
    """Clients that write under fresh tokens until the gate dies; what each was told is kept."""

    def __init__(self, gate, name):
        self.gate, self.name, self.told = gate, name, {}
        self.lock, self.count, self.is_over = threading.Lock(), 0, threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.is_over.is_set():
            with self.lock:
                self.count += 1
                key = f'{self.name}-{self.count}'
                self.told[key] = None
            try:
                response = self.gate.post(f'/v1/{key}', 'crash-token-' + key, timeout=10)
            except (Closed, OSError):
                return
            with self.lock:
                self.told[key] = response

    def join(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(15)


def check(gate, service, told):
    """After the restart: what every token says now, and what happened."""
    seen = {'acknowledged': 0, 'unknown': 0, 'replayed': 0, 'created': 0}
    for key, before in told.items():
        effects = service.effects(f'/v1/{key}')
        assert effects <= 1, f'{key}: {effects} effects'
        now = gate.post(f'/v1/{key}', 'crash-token-' + key)
        after = service.effects(f'/v1/{key}')
        if before is not None:
            assert before.outcome == 'created', before
            assert (now.outcome, now.status, now.body) == ('replayed', before.status, before.body)
            assert now.operation == before.operation
            assert after == 1
            seen['acknowledged'] += 1
            continue
        assert now.outcome in ('unknown', 'replayed', 'created'), f'{key}: {now}'
        assert after <= 1, f'{key}: sent again after the crash'
        if now.outcome == 'created':
            assert effects == 0 and after == 1
        if now.outcome == 'replayed':
            assert effects == 1
        if now.outcome == 'unknown':
            assert after == effects
            assert gate.operation(now.operation)['state'] == 'unknown'
        seen[now.outcome] += 1
    running = gate.get('/.counterfoil/operations?state=running').json()['operations']
    assert running == [], 'nothing stays running after a crash'
    return seen


def kill_loop(start_gate, service, rounds, seed):
    dice, total = random.Random(seed), {}
    gate = start_gate(service)
    for round in range(rounds):
        crowd = Crowd(gate, f'{seed}-{round}')
        threading.Event().wait(0.02 + dice.random() * 0.15)
        gate.kill9()
        crowd.join()
        gate.restart()
        for name, count in check(gate, service, crowd.told).items():
            total[name] = total.get(name, 0) + count
    return total


def test_killed_at_random_moments(start_gate, service):
    # Shows over two dozen kills under load: one effect at most, acknowledged answers replay,
    # interrupted ones are unknown, none stays running.
    total = kill_loop(start_gate, service, 24, 1)
    assert total['acknowledged'] > 100, total
    assert total['unknown'] > 0, f'no kill met work in flight: {total}'


@pytest.mark.long
def test_killed_three_hundred_times(start_gate, service):
    # Shows the same over 300 kills.
    kill_loop(start_gate, service, 300, 2)


def test_killed_while_it_runs(start_gate, upstream, path, token):
    # Shows that an operation inside the service when the gate dies is unknown, for good.
    gate = start_gate(upstream)
    hold = Hold()
    upstream.plan(path, held(hold))
    told = []

    def first():
        try:
            told.append(gate.post(path, token))
        except (Closed, OSError):
            pass
    thread = threading.Thread(target=first)
    thread.start()
    hold.wait_entered()
    gate.kill9()
    hold.release()
    thread.join(10)
    assert told == []
    gate.restart()
    for _ in range(2):
        again = gate.post(path, token)
        assert again.slug == 'outcome-unknown' and again.status == 409
    assert upstream.effects(path) == 1


def test_whose_it_was_is_known_after_a_crash(start_gate, upstream, path, token):
    # Shows that what was in flight is found by its task, with its step, its request and no outcome
    # but that nobody knows.
    gate = start_gate(upstream)
    hold = Hold()
    upstream.plan(path, held(hold))
    headers = {'Counterfoil-Task': 'task-7', 'Counterfoil-Step': 'step-b', 'X-Request-Id': 'req-7'}
    thread = threading.Thread(target=quiet(gate.post), args=(path, token), kwargs={'headers': headers})
    thread.start()
    hold.wait_entered()
    [before] = gate.get('/.counterfoil/operations?task=task-7').json()['operations']
    assert before['state'] == 'running'
    [attempt] = gate.operation(before['id'])['attempts']
    assert attempt['outcome'] == 'running' and attempt['at'] >= before['created']
    gate.kill9()
    hold.release()
    thread.join(10)
    gate.restart()
    [found] = gate.get('/.counterfoil/operations?task=task-7').json()['operations']
    assert (found['id'], found['state']) == (before['id'], 'unknown')
    [attempt] = gate.operation(found['id'])['attempts']
    assert (attempt['task'], attempt['step'], attempt['request_id']) == ('task-7', 'step-b', 'req-7')
    assert (attempt['outcome'], attempt['delivered']) == ('unknown', None)


def test_killed_right_after_an_answer(start_gate, upstream, path, token):
    # Shows that the moment a client has an answer, it is safe on disk.
    gate = start_gate(upstream)
    for round in range(10):
        body = f'answer {round}'.encode()
        upstream.plan(f'{path}-{round}', answer(201, body=body))
        assert gate.post(f'{path}-{round}', f'{token}-{round}').body == body
        gate.kill9()
        gate.restart()
        again = gate.post(f'{path}-{round}', f'{token}-{round}')
        assert (again.outcome, again.body) == ('replayed', body)
    assert sum(upstream.effects(f'{path}-{round}') for round in range(10)) == 10


def test_killed_during_recovery(start_gate, service):
    # Shows that a gate that is killed again and again while it starts loses nothing.
    gate = start_gate(service)
    crowd = Crowd(gate, 'recovery')
    threading.Event().wait(0.3)
    gate.kill9()
    crowd.join()
    for n in range(8):
        gate.launch()
        threading.Event().wait(0.002 * 2 ** n)
        gate.kill9()
    gate.restart()
    check(gate, service, crowd.told)


def test_waiters_of_a_dead_gate(start_gate, upstream, path, token):
    # Shows that duplicates that waited when the gate died find the operation unknown, not free.
    gate = start_gate(upstream)
    upstream.plan(path, delayed(30))
    threads = [threading.Thread(target=quiet(gate.post), args=(path, token), daemon=True,
                                kwargs={'headers': {'Prefer': 'wait=20'}}) for _ in range(5)]
    for thread in threads:
        thread.start()
    upstream.wait_seen(path)
    gate.kill9()
    gate.restart()
    assert gate.post(path, token).slug == 'outcome-unknown'
    assert upstream.effects(path) == 1


def quiet(function):
    def run(*args, **kwargs):
        try:
            function(*args, **kwargs)
        except (Closed, OSError):
            pass
    return run
