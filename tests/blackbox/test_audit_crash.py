"""A gate that is killed while its audit log grows: what it did and what the log says stay the same.

Checkpoints never come, so what is not published is in bundles and in rows; or they come all the time.
"""
import random
import sqlite3

import pytest

from harness.gate import command, config
from harness.rules import eventually
from test_audit import close, verify, vkey
from test_crash import Crowd

NEVER = {'checkpoint_interval': '1h', 'checkpoint_entries': 1000000}
OFTEN = {'checkpoint_interval': '100ms', 'checkpoint_entries': 1}


def compare(gate):
    """Hold the log against the store: how many operations there are, none of which differs."""
    done = command('audit', 'verify', '--vkey', vkey(gate), '--state', gate.data)
    assert done.returncode == 0 and ' 0 differ' in done.stdout, done


def gap(gate):
    """How many entries neither checkpoint nor database has: bundles alone keep them."""
    db = sqlite3.connect(gate.data / 'counterfoil.db')
    first = db.execute('SELECT min(seq) FROM audit').fetchone()[0]
    db.close()
    return first - int((gate.data / 'audit' / 'checkpoint').read_text().split('\n')[1])


def kill_again_and_again(gate, upstream, name, rounds, writes, turns=False):
    """With so many writes at least before each kill. The gap at each, and what clients were told."""
    dice, told, gaps = random.Random(name), {}, []
    gate.post(f'/v1/{name}', f'first-{name}')
    close(gate)
    gate.start()
    for round in range(rounds):
        crowd = Crowd(gate, f'{name}-{round}')
        wanted = writes + dice.randrange(200)
        eventually(lambda: crowd.count > wanted, what=f'{wanted} writes', seconds=60)
        if turns and round % 2 == 0:
            assert command('audit', 'rotate', '--data', gate.data).returncode == 0
        gate.kill9()
        crowd.join()
        told.update(crowd.told)
        compare(gate)
        gaps.append(gap(gate))
        gate.start()
    return gaps, told


def check(gate, upstream, told, every=1):
    for key, answer in told.items():
        assert upstream.effects(f'/v1/{key}') <= 1
    for key, answer in list(told.items())[::every]:
        before = upstream.effects(f'/v1/{key}')
        again = gate.post(f'/v1/{key}', 'crash-token-' + key)
        if answer is not None:
            assert (again.outcome, again.body, again.operation) == ('replayed', answer.body, answer.operation)
            assert (before, upstream.effects(f'/v1/{key}')) == (1, 1)
    close(gate)
    compare(gate)
    assert verify(gate)[0] == 'ok'


def test_while_nothing_is_published(start_gate, upstream, number):
    # Shows that the log goes on from checkpoint, bundles and rows wherever a gate died.
    gate = start_gate(None, config(upstream, audit=NEVER))
    gaps, told = kill_again_and_again(gate, upstream, f'never-{number}', 1, 1500)
    assert max(gaps) > 0, gaps
    check(gate, upstream, told, every=10)


def test_while_all_is_published(start_gate, upstream, number):
    # Shows the same where each moment may be one between a tile, its checkpoint and the database.
    gate = start_gate(None, config(upstream, audit=OFTEN))
    _, told = kill_again_and_again(gate, upstream, f'often-{number}', 3, 50)
    check(gate, upstream, told)


def test_while_epochs_end(start_gate, upstream, number):
    # Shows the same where the keys have just changed, of what was not published before.
    gate = start_gate(None, config(upstream, audit=NEVER))
    _, told = kill_again_and_again(gate, upstream, f'turns-{number}', 1, 1300, turns=True)
    check(gate, upstream, told, every=10)


@pytest.mark.long
@pytest.mark.parametrize('audit', [NEVER, OFTEN], ids=['never', 'often'])
@pytest.mark.parametrize('turns', [False, True], ids=['one', 'epochs'])
def test_many_times(start_gate, upstream, number, audit, turns):
    # Shows the same over many kills.
    gate = start_gate(None, config(upstream, audit=audit))
    for round in range(30):
        _, told = kill_again_and_again(gate, upstream, f'many-{number}-{round}', 4, 100 * round, turns=turns)
        check(gate, upstream, told)
        gate.start()
