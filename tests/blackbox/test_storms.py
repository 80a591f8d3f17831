"""Many hands on one token, while the gate, its disk, its clock or its operator do their worst."""
import collections
import contextlib
import random
import signal
import threading
import time

import pytest

from harness.client import Closed
from harness.fault import FOREVER, Machine, needs_machine
from harness.gate import command, config
from harness.upstream import Hold, Upstream, answer, created, delayed, drop, held

HOUR_MS = 3600 * 1000


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, tmp_path / 'data')


@pytest.fixture
def start(start_gate, upstream, machine, tmp_path):
    """start(**sections): a gate on `machine`."""
    def run(**sections):
        return start_gate(config=config(upstream, **sections), data=tmp_path / 'data', env=machine.env)
    return run


def all_at_once(functions):
    """Run them in threads, begun together; their results, exceptions of the wire as None."""
    results, barrier = [None] * len(functions), threading.Barrier(len(functions))

    def run(index, function):
        barrier.wait()
        with contextlib.suppress(Closed, OSError):
            results[index] = function()
    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def told(responses):
    return collections.Counter(r.outcome or r.slug for r in responses if r is not None)


@needs_machine
def test_clients_that_give_up_on_a_slow_disk(start, machine, upstream, path, token):
    # Shows that with a disk slower than its clients' patience, who retry and retry, there is one
    # effect, and all who were told are told the same.
    gate = start()
    machine.sync_ms = 120

    def impatient():
        for patience in (0.02, 0.1, 0.15, 0.3, 5, 5, 5, 5):
            with contextlib.suppress(TimeoutError, Closed, OSError):
                response = gate.post(path, token, timeout=patience)
                if response.outcome in ('created', 'replayed'):
                    return response
    answers = all_at_once([impatient] * 20)
    assert upstream.effects(path) == 1
    assert {a.body for a in answers if a} == {gate.post(path, token).body}


@needs_machine
def test_an_answer_that_cannot_be_recorded_yet(start, machine, upstream, path, token):
    # Shows that an answer which a failing disk did not take is recorded once it does, and then
    # replays as the service gave it; meanwhile a retry is told that it runs, and sends nothing.
    gate, hold = start(), Hold()
    upstream.plan(path, held(hold, answer(201, body=b'the one answer')))
    first = []
    thread = threading.Thread(target=lambda: first.append(gate.post(path, token)))
    thread.start()
    hold.wait_entered()
    machine.arm('error', times=FOREVER, number=28)
    hold.release()
    thread.join(10)
    assert first[0].slug == 'outcome-unknown'
    for _ in range(5):
        assert gate.post(path, token).slug in ('operation-running', 'store-unavailable')
    machine.disarm()
    gate.wait_state(first[0].operation, 'completed')
    again = gate.post(path, token)
    assert (again.outcome, again.status, again.body) == ('replayed', 201, b'the one answer')
    assert upstream.effects(path) == 1


@needs_machine
def test_a_clock_that_steps(start, machine, upstream, path, token):
    # Shows that a wall clock that steps over the retention and back makes nothing run twice, and
    # that an unknown operation is there whatever the clock says.
    gate = start()
    upstream.plan(path + '-lost', drop())
    first, lost = gate.post(path, token), gate.post(path + '-lost', token + '-lost')
    for hours in (-48, 0, 25, -1000, 25, 24 * 20, 0, -1):
        machine.clock_ms = hours * HOUR_MS
        time.sleep(0.15)
        again = gate.post(path, token)
        assert again.outcome in ('replayed', 'expired'), f'{hours} h: {again}'
        assert again.outcome == 'expired' or again.body == first.body
        assert gate.post(path + '-lost', token + '-lost').operation == lost.operation
        fresh = f'{token}-{hours}-{random.random()}'
        assert gate.post(path + '-new', fresh).outcome == 'created'
        assert gate.post(path + '-new', fresh).outcome == 'replayed'
    gate.kill9()
    gate.start()
    assert gate.post(path, token).outcome in ('replayed', 'expired')
    assert upstream.effects(path) == upstream.effects(path + '-lost') == 1


@needs_machine
def test_a_clock_that_is_wrong_for_a_moment(start, machine, upstream, path, token):
    # Shows that a clock which is years ahead for two rounds of the janitor, and then right again,
    # has not made the gate forget what it knows.
    gate = start()
    first = gate.post(path, token)
    machine.clock_ms = 24 * 365 * 3 * HOUR_MS
    end = time.monotonic() + 2.2
    while time.monotonic() < end:
        assert gate.post(path, token).body == first.body
        time.sleep(0.1)
    machine.clock_ms = 0
    assert gate.post(path, token).body == first.body
    assert upstream.effects(path) == 1


@needs_machine
def test_new_tokens_after_a_restart_in_the_past(start, machine, upstream, path, token):
    # Shows that tokens of a gate that started with its clock set back are known after restarts.
    gate = start()
    for round in range(4):
        assert gate.post(path, f'{token}-{round}').outcome == 'created'
        gate.kill9()
        machine.clock_ms -= 24 * HOUR_MS
        gate.start()
        for known in range(round + 1):
            assert gate.post(path, f'{token}-{known}').outcome == 'replayed'
    assert upstream.effects(path) == 4


@pytest.mark.parametrize('tombstones', ['0s', '1s'])
def test_retries_at_the_moment_of_expiry(start_gate, upstream, path, token, tombstones):
    # Shows that retries and replays racing with expiry and purge make one effect for each time
    # that the token was free, never two.
    gate = start_gate(config=config(upstream, tokens={'retention': '1s', 'tombstones': tombstones}))
    end, answers = time.monotonic() + 4.5, []

    def hammer():
        while time.monotonic() < end:
            answers.append(gate.post(path, token))
            time.sleep(0.002)
    all_at_once([hammer] * 12)
    made = [a for a in answers if a.outcome == 'created']
    assert len(made) == upstream.effects(path) == len({a.operation for a in made}), told(answers)
    assert 2 <= len(made) <= 5, told(answers)
    bodies = {a.operation: a.body for a in made}
    for each in answers:
        if each.outcome == 'replayed':
            assert each.body == bodies[each.operation]
    assert set(told(answers)) <= {'created', 'replayed', 'running', 'expired'}, told(answers)


def test_cancel_against_retries(start_gate, upstream, path, token):
    # Shows that a queued operation is either cancelled or sent: who was told that it is cancelled
    # can rely on it.
    gate = start_gate(upstream)
    for n in range(25):
        at, key = f'{path}-{n}', f'{token}-{n}'
        upstream.plan(at, answer(503, works=False))
        id = gate.post(at, key).operation
        cancel = f'/.counterfoil/operations/{id}/cancel'
        answers = all_at_once([lambda: gate.request('POST', cancel)] + [lambda: gate.post(at, key)] * 4)
        is_cancelled = answers[0].status == 200
        assert upstream.effects(at) == (0 if is_cancelled else 1), told(answers)
        assert gate.operation(id)['state'] == ('cancelled' if is_cancelled else 'completed')


def test_the_operator_against_retries(start_gate, upstream, path, token):
    # Shows that "it did not happen", said while many retry, lets exactly one of them through.
    gate = start_gate(upstream)
    for n in range(4):
        at, key = f'{path}-{n}', f'{token}-{n}'
        upstream.plan(at, drop(works=False))
        id = gate.post(at, key).operation

        is_over = threading.Event()

        def resolve():
            try:
                return command('op', 'resolve', id, '--did-not', '--why', 'looked', '--data', gate.data)
            finally:
                is_over.set()

        def retry():
            answers, was_over = [], False
            while not was_over:
                was_over = is_over.is_set()
                answers.append(gate.post(at, key))
            return answers
        results = all_at_once([retry] * 6 + [resolve])
        assert results[-1].returncode == 0, results[-1].stderr
        answers = [a for each in results[:-1] for a in each]
        assert upstream.effects(at) == 1, told(answers)
        assert told(answers)['created'] == 1, told(answers)


def test_waiters_that_look_again_as_it_ends(start_gate, upstream, path, token):
    # Shows that a duplicate which was about to wait when the operation ended leaves nothing behind:
    # after hundreds of them there is still a place for one more to wait in.
    gate = start_gate(config=config(upstream, tokens={'max_waiters': 12}))
    wait = {'Prefer': 'wait=5'}
    for n in range(120):
        at, key = f'{path}-{n}', f'{token}-{n}'
        upstream.plan(at, delayed(random.random() * 0.004))
        answers = all_at_once([lambda: gate.post(at, key, headers=wait)] * 10)
        assert set(told(answers)) <= {'created', 'replayed'}, told(answers)
        assert upstream.effects(at) == 1
    hold = Hold()
    upstream.plan(path, held(hold))
    first = threading.Thread(target=gate.post, args=(path, token))
    first.start()
    hold.wait_entered()
    threading.Timer(0.3, hold.release).start()
    assert gate.post(path, token, headers=wait).outcome == 'replayed'
    first.join(5)


class Mob:
    """Fifty clients on a handful of tokens, who retry until they are told an end."""

    def __init__(self, gate, name, tokens=5, clients=50):
        self.gate, self.name, self.lock = gate, name, threading.Lock()
        self.answers = collections.defaultdict(list)
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(n % tokens,), daemon=True)
                        for n in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, n):
        while not self.is_over.is_set():
            try:
                response = self.gate.post(f'/v1/{self.name}-{n}', f'mob-{self.name}-token-{n}', timeout=3,
                                          headers={'Prefer': 'wait=1'})
            except (Closed, OSError):
                time.sleep(0.01)
                continue
            with self.lock:
                self.answers[n].append(response)
            if response.outcome in ('created', 'replayed', 'unknown'):
                return

    def join(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(10)


def storm(start_gate, rounds, seed):
    service, dice = Upstream(), random.Random(seed)
    try:
        def slowly(ex):
            ex.wait(dice.random() * 0.03)
            dice.choice([created(), created(), drop(), answer(503, works=False)])(ex)
        gate = start_gate(config=config(service, limits={'drain_timeout': '1s'}))
        for round in range(rounds):
            strike(gate, dice, service, slowly, f'storm-{seed}-{round}')
    finally:
        service.stop()


def strike(gate, dice, service, slowly, name):
    for n in range(5):
        service.always(f'/v1/{name}-{n}', behaviour_once(slowly))
    mob = Mob(gate, name)
    time.sleep(dice.random() * 0.08)
    what = dice.choice(['kill', 'term', 'reload', 'reload and kill'])
    if 'reload' in what:
        for _ in range(3):
            gate.signal_reload()
            time.sleep(dice.random() * 0.01)
    if what == 'term':
        gate.terminate()
        gate.wait_exit()
        gate.start()
    elif 'kill' in what:
        gate.kill9()
        gate.start()
    time.sleep(0.2)
    mob.join()
    check_mob(gate, service, mob, what)


def check_mob(gate, service, mob, what):
    for n in range(5):
        at = f'/v1/{mob.name}-{n}'
        finals = [a for a in mob.answers[n] if a.outcome in ('created', 'replayed')]
        seen = service.seen(at)
        acts = sum(1 for each in seen if getattr(each, 'acted', True))
        assert acts <= 1, f'{what}: {acts} effects: {mob.answers[n]}'
        assert len({a.body for a in finals}) <= 1
        now = gate.post(at, f'mob-{mob.name}-token-{n}', headers={'Prefer': 'wait=3'})
        if finals:
            assert (now.outcome, now.body) == ('replayed', finals[0].body), f'{what}: {now}'


def behaviour_once(act):
    """`act`, with what it did written on the request: a 503 says that it did nothing."""
    def run(ex):
        ex.request.acted = True
        sent = ex.send

        def send(data):
            ex.request.acted = b' 503 ' not in data[:16]
            sent(data)
        ex.send = send
        act(ex)
    return run


def test_a_storm(start_gate):
    # Shows over ten rounds that duplicates in dozens, and a gate that is killed, drained and
    # reloaded among them, make one effect at most; what was told stays told.
    storm(start_gate, 10, 1)


@pytest.mark.long
def test_a_hundred_storms(start_gate):
    # Shows the same over many more.
    storm(start_gate, 100, 2)


def settled(gate, path, token, seconds=8):
    """Retry while it is said to run; what is said then."""
    deadline = time.monotonic() + seconds
    while (response := gate.post(path, token)).outcome == 'running':
        assert time.monotonic() < deadline, f'for ever running: {response}'
        time.sleep(0.05)
    return response


def without_memory(gate, machine, upstream, at, key, nth):
    """One write with its nth allocation failing."""
    machine.fail_allocation(nth)
    first = all_at_once([lambda: gate.post(at, key, timeout=3)])[0]
    machine.disarm()
    if first is None or not gate.is_running:
        gate.kill9()
        gate.start()
    before = upstream.effects(at)
    now = settled(gate, at, key)
    assert upstream.effects(at) <= 1, f'{nth}: {first} {now}'
    if first is not None and first.outcome == 'created':
        assert (now.outcome, now.body) == ('replayed', first.body), f'{nth}'
    assert now.outcome in ('created', 'replayed', 'unknown'), f'{nth}: {first} {now}'
    assert before == 0 or now.outcome != 'created', f'{nth}'


@needs_machine
def test_no_memory(start, machine, upstream, path, token):
    # Shows that an allocation that fails, at places all along a request's way, makes no second
    # effect and no lost answer: the gate refuses, or ends, and the next one knows.
    gate = start()
    for nth in range(1, 220, 9):
        without_memory(gate, machine, upstream, f'{path}-{nth}', f'{token}-{nth}', nth)


@needs_machine
@pytest.mark.long
def test_no_memory_at_all_places(start, machine, upstream, path, token):
    # Shows the same for every allocation of the first write after a start.
    gate = start()
    for nth in range(1, 400):
        without_memory(gate, machine, upstream, f'{path}-{nth}', f'{token}-{nth}', nth)


@needs_machine
def test_no_memory_for_a_connection(start, machine):
    # Shows that a connection for which there is no memory at first is served a moment later, and
    # that those after it are.
    gate = start()
    for nth in range(1, 5):
        machine.fail_allocation(nth)
        all_at_once([lambda: gate.get('/v1/things', timeout=3)] * 4)
        machine.disarm()
        answers = all_at_once([lambda: gate.get('/v1/things', timeout=3)] * 12)
        assert [a.status for a in answers if a] == [200] * 12, f'{nth}: {answers}'


def test_two_gates_by_two_names(start_gate, upstream, path, token, tmp_path):
    # Shows that another name of the same directory is the same directory.
    first = start_gate(upstream)
    other = tmp_path / 'another-name'
    other.symlink_to(first.data)
    second = start_gate(upstream, launch_only=True, data=other)
    assert second.wait_exit() in (1, 2)
    assert first.post(path, token).outcome == 'created'


def test_two_gates_and_no_lock_file(start_gate, upstream, path, token):
    # Shows that a second gate is kept out, and the first goes on, where somebody removed the lock.
    first = start_gate(upstream)
    assert first.post(path, token).outcome == 'created'
    (first.data / 'lock').unlink()
    second = start_gate(upstream, launch_only=True, data=first.data)
    assert second.wait_exit() in (1, 2)
    assert first.post(path, token).outcome == 'replayed'
    assert first.post(path, token + '-2').outcome == 'created'
