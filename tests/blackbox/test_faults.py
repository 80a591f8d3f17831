"""A disk that fails at every single call in turn: one effect at most, and no broken promise.

One small story is told again and again, each time with the fault at another call that changes
the data directory (harness/fault.py). Afterwards the gate is killed and started on a healthy
machine, and what it says must agree with what its clients were told and with what happened.
"""
import contextlib
import itertools
import shutil
import threading
import time

import pytest

from harness.client import Closed
from harness.fault import FOREVER, Machine, needs_machine
from harness.upstream import Hold, answer, created, drop, held

pytestmark = needs_machine

EIO, ENOSPC = 5, 28
STORY_CALLS_MAX = 1000
FINAL = ('created', 'replayed')
numbers = itertools.count(1)


class Story:
    """A few writes of every kind, and all that their clients were told."""

    def __init__(self, gate, upstream):
        self.gate, self.upstream, self.told = gate, upstream, {}
        self.name = f'story-{next(numbers)}'
        self.loses_power = 'FAULT_SYNCED' in gate.env

    def path(self, key):
        return f'/v1/{self.name}-{key}'

    def begin(self, key, *behaviours):
        self.told[key] = []
        self.upstream.plan(self.path(key), *behaviours)

    def post(self, key, **options):
        """One attempt; None when the gate died on it, and then it has been started again."""
        try:
            response = self.gate.post(self.path(key), f'{self.name}-token-{key}', **options)
        except (Closed, OSError):
            self.bring_up()
            return None
        self.told[key].append(response)
        return response

    def kill(self):
        self.gate.kill9()
        if self.loses_power:
            self.gate.machine.cut_power()

    def bring_up(self):
        self.kill()
        try:
            self.gate.start()
        except AssertionError:
            self.gate.machine.disarm()
            self.kill()
            self.gate.start()

    def stop(self):
        """SIGTERM; one that cannot settle what it holds would wait, and is killed."""
        self.gate.terminate()
        deadline = time.monotonic() + 0.5
        while self.gate.is_running and time.monotonic() < deadline:
            time.sleep(0.005)

    def tell(self):
        self.begin('plain')
        self.begin('queued', answer(503, works=False), answer(503, works=False), created())
        self.begin('dropped', drop())
        self.begin('refused', answer(404, body=b'no such thing'))
        self.begin('again')
        for key in ('plain', 'plain', 'queued', 'dropped', 'queued', 'refused', 'dropped', 'queued'):
            self.post(key)
        refused = [r for r in self.told['refused'] if r.outcome in FINAL]
        if refused:
            self.post('again', headers={'Counterfoil-Retry-Of': refused[0].operation})
        self.stop()
        self.bring_up()
        for key in ('plain', 'queued', 'again'):
            self.post(key)

    # -- what must be true -------------------------------------------------------------

    def running(self):
        return self.gate.get('/.counterfoil/operations?state=running').json()['operations']

    def check_settled(self, seconds=8):
        """On a healthy disk whatever could not be settled is, while the process lives."""
        self.gate.machine.disarm()
        deadline = time.monotonic() + seconds
        while self.running():
            assert time.monotonic() < deadline, f'for ever running: {self.running()}'
            time.sleep(0.02)

    def check(self):
        self.check_settled()
        self.kill()
        self.gate.start()
        assert self.running() == [], 'nothing runs after a restart'
        for key, told in self.told.items():
            self.check_one(key, told)

    def check_one(self, key, told):
        before = self.upstream.effects(self.path(key))
        assert before <= 1, f'{key}: {before} effects; told {told}'
        now = self.gate.post(self.path(key), f'{self.name}-token-{key}')
        after = self.upstream.effects(self.path(key))
        finals = [r for r in told if r.outcome in FINAL]
        for response in finals:
            assert (now.status, now.body) == (response.status, response.body), f'{key}: {now} {told}'
            assert now.operation == response.operation and now.outcome == 'replayed', f'{key}: {now}'
        if now.outcome == 'replayed' or now.slug == 'outcome-unknown' and now.status == 409:
            assert after == before, f'{key}: sent again; {now} {told}'
            assert before == 1 or now.outcome == 'unknown', f'{key}: a replay of nothing; {now} {told}'
        else:
            assert now.outcome in ('created', 'not_sent', 'unknown'), f'{key}: {now} {told}'
            assert before == 0, f'{key}: sent again; {now} {told}'
        if key == 'dropped' and before:
            assert now.outcome == 'unknown', now


@pytest.fixture
def tell(start_gate, upstream, tmp_path):
    """tell(kind, nth, times, number): the story with that fault, checked. Gives the story."""
    def run(kind, nth, times=1, number=EIO, loses_power=False):
        directory = tmp_path / f'{kind}-{nth}-{times}-{number}'
        directory.mkdir()
        machine = Machine(directory, directory / 'data')
        if loses_power:
            machine.keep_synced()
        gate = start_gate(upstream, launch_only=True, data=directory / 'data', env=machine.env)
        gate.kill9()
        gate.machine = machine
        machine.arm(kind, nth, times, number)
        story = Story(gate, upstream)
        story.bring_up()
        story.tell()
        story.calls = machine.calls
        story.check()
        gate.stop()
        return story
    return run


def sweep(tell, kind, step, begin=1, end=STORY_CALLS_MAX, **options):
    """Tell it with the fault at every `step`th call, up to the one that no story gets to."""
    for nth in range(begin, end, step):
        if tell(kind, nth, **options).calls < nth:
            return
    assert end < STORY_CALLS_MAX, 'the story never ends'


# kind, how many calls from the nth on, errno
FAULTS = [('error', 1, EIO), ('error', FOREVER, EIO), ('error', 1, ENOSPC), ('error', FOREVER, ENOSPC),
          ('no_sync', 1, EIO), ('no_sync', FOREVER, EIO), ('short', FOREVER, 0), ('kill', 1, 0),
          ('killed', 1, 0), ('torn', 1, 0)]
NAMES = [f'{kind}-{"once" if times == 1 else "on"}-{number}' for kind, times, number in FAULTS]


@pytest.mark.parametrize('kind, times, number', FAULTS, ids=NAMES)
def test_a_fault_here_and_there(tell, kind, times, number):
    # Shows for each kind of fault, at a few of its places, that no promise is broken.
    sweep(tell, kind, 67, begin=1 + FAULTS.index((kind, times, number)) * 3, times=times, number=number)


@pytest.mark.long
@pytest.mark.parametrize('kind, times, number', FAULTS, ids=NAMES)
def test_a_fault_at_every_call(tell, kind, times, number):
    # Shows the same at every place.
    sweep(tell, kind, 1, times=times, number=number)


def test_a_power_cut_here_and_there(tell):
    # Shows that what clients were told survives a cut that takes all that was not synced.
    sweep(tell, 'kill', 29, loses_power=True)


@pytest.mark.long
def test_a_power_cut_at_every_call(tell):
    # Shows the same at every place.
    sweep(tell, 'kill', 1, loses_power=True)


@pytest.fixture
def broken(start_gate, upstream, tmp_path):
    """A running gate on a machine that can be broken: gate.machine."""
    machine = Machine(tmp_path, tmp_path / 'data')
    gate = start_gate(upstream, data=tmp_path / 'data', env=machine.env)
    gate.machine = machine
    return gate


def post_until(gate, path, token, outcome, seconds=8, **options):
    """Retry until the answer has this outcome, and give it."""
    deadline = time.monotonic() + seconds
    while (response := gate.post(path, token, **options)).outcome != outcome:
        assert time.monotonic() < deadline, f'never {outcome}: {response}'
        time.sleep(0.05)
    return response


def test_a_retry_whose_claim_is_uncertain(broken, upstream, path, token):
    # Shows that an operation that a retry picked up, when nobody knew whether that was durable, is
    # free for the next retry once the disk is well: it does not run for ever in nobody's hands.
    upstream.plan(path, answer(503, works=False), created())
    first = broken.post(path, token)
    assert first.state == 'queued'
    broken.machine.arm('no_sync', times=FOREVER)
    assert broken.post(path, token).slug == 'store-unavailable'
    broken.machine.disarm()
    assert post_until(broken, path, token, 'created').operation == first.operation
    assert upstream.effects(path) == 1


def test_what_a_dead_gate_left_unsynced(broken, upstream, path, token):
    # Shows that an answer that was written, but not synced when the gate died, is synced by the
    # next one before it is replayed: no client learns what a power cut could still take back.
    for nth in range(1, 80):
        key = f'{token}-{nth}'
        broken.machine.arm('unsynced', nth, FOREVER)
        with contextlib.suppress(Closed, OSError):
            broken.post(f'{path}-{nth}', key)
            continue
        broken.machine.disarm()
        broken.kill9()
        broken.machine.log_syncs = 0
        broken.start()
        if broken.post(f'{path}-{nth}', key).outcome == 'replayed':
            assert broken.machine.log_syncs > 0, f'killed at call {nth}'
            return
    raise AssertionError('no kill fell between an answer and its sync')


def test_a_data_directory_that_is_removed(broken, upstream, path, token):
    # Shows that a gate whose files are gone promises nothing more: writes are refused unsent.
    assert broken.post(path, token).outcome == 'created'
    shutil.rmtree(broken.data)
    refused = broken.post(path + '-2', token + '-2')
    assert refused.slug == 'store-unavailable' and upstream.effects(path + '-2') == 0
    assert broken.admin('/readyz').status == 503


def test_a_data_directory_that_is_moved_away_and_back(broken, upstream, path, token):
    # Shows the same for one that is moved, and that all is well when it is back.
    first = broken.post(path, token)
    away = broken.data.with_name('away')
    broken.data.rename(away)
    assert broken.post(path + '-2', token + '-2').slug == 'store-unavailable'
    away.rename(broken.data)
    assert broken.post(path + '-2', token + '-2').outcome == 'created'
    assert broken.post(path, token).body == first.body
    assert upstream.effects(path) == upstream.effects(path + '-2') == 1


def test_a_database_that_is_removed_is_not_made_anew(broken, upstream, path, token):
    # Shows that a gate that has to open its file again after a failure does not begin with an
    # empty one where its own has been removed: that would have forgotten every token.
    assert broken.post(path, token).outcome == 'created'
    for file in broken.data.glob('counterfoil.db*'):
        file.unlink()
    broken.machine.arm('no_sync', times=FOREVER)
    broken.post(path + '-2', token + '-2')
    broken.machine.disarm()
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        assert broken.post(path, token).outcome != 'created'
        time.sleep(0.05)
    assert upstream.effects(path) == 1
