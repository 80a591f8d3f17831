"""`counterfoil call`, killed at any point and run by many at once: one effect."""
import random
import sqlite3
import time

import pytest

from harness.upstream import Hold, delayed, drop, held

BODY = {'project': 'apollo', 'title': 'Valve sticks'}


def finish(caller, url, **words):
    """Run it until its end is certain, as an agent would."""
    for _ in range(10):
        done = caller.call(url, BODY, **words)
        if done.status in (0, 11, 14):
            return done
    return done


@pytest.mark.parametrize('rounds', [12, pytest.param(300, marks=pytest.mark.long)])
def test_killed_at_any_moment_and_run_again(caller, gate, upstream, url, path, rounds):
    """SIGKILL after a random while, again and again, each time another step: each ends with one effect."""
    upstream.plan(path, *[delayed(0.02)] * rounds * 4)
    moments = random.Random(7)
    for number in range(rounds):
        step = f'step-{number}'
        for _ in range(2):
            process = caller.begin(url, BODY, step=step)
            time.sleep(moments.uniform(0, 0.06))
            caller.kill9(process)
        done = finish(caller, url, step=step, wait=10)
        assert (done.status, done['state']) == (0, 'done'), done
        sent = [seen for seen in upstream.seen(path)
                if seen.get('Idempotency-Key') == done['token'] and seen.method == 'POST']
        assert len(sent) == 1


def test_killed_while_the_service_works(caller, gate, upstream, url, path):
    """The one that comes after finds out, and does not send."""
    hold = Hold()
    upstream.plan(path, held(hold))
    process = caller.begin(url, BODY)
    hold.wait_entered()
    caller.kill9(process)
    hold.release()
    done = finish(caller, url, wait=10)
    assert (done.status, done['outcome']) == (0, 'replayed')
    assert upstream.effects(path) == 1


def test_killed_in_front_of_a_bare_api(caller, upstream, bare, path):
    """What was under way is unknown for good, and is not sent again; a deliberate new action is."""
    hold = Hold()
    upstream.plan(path, held(hold))
    process = caller.begin(bare, BODY)
    hold.wait_entered()
    caller.kill9(process)
    hold.release()
    for _ in range(2):
        assert caller.call(bare, BODY, wait=1).status == 11
    assert upstream.effects(path) == 1
    anew = caller.call(bare, BODY, more=['--new'])
    assert anew.status == 0 and 'second effect' in anew.stderr


@pytest.mark.parametrize('through', ['gate', 'bare'])
def test_many_at_once_of_one_step(caller, gate, upstream, url, bare, path, through):
    """Ten processes, one journal, one step: one effect, and nobody is told a failure."""
    upstream.plan(path, delayed(0.3))
    where = url if through == 'gate' else bare
    running = [caller.begin(where, BODY, wait=30) for _ in range(10)]
    ends = [caller.end(process) for process in running]
    assert {end.status for end in ends} == {0}
    assert sorted(end['outcome'] for end in ends) == ['created'] + ['replayed'] * 9
    assert len({end['token'] for end in ends}) == 1
    assert upstream.effects(path) == 1


def test_many_steps_at_once(caller, gate, upstream, url, path):
    """Twenty steps by twenty processes on one journal: twenty effects, none lost, none twice."""
    running = [caller.begin(url, BODY, step=f'step-{number}', wait=30) for number in range(20)]
    ends = [caller.end(process) for process in running]
    assert {end.status for end in ends} == {0}
    assert upstream.effects(path) == 20
    keys = [seen.get('Idempotency-Key') for seen in upstream.seen(path)]
    assert len(set(keys)) == 20
    with sqlite3.connect(caller.journal) as db:
        assert db.execute('PRAGMA integrity_check').fetchone() == ('ok',)


def test_the_gate_dies_in_the_middle(caller, start_gate, upstream, path):
    """The gate is killed while the service works: the caller is told that nobody knows, and it stays one effect."""
    gate = start_gate(upstream)
    hold = Hold()
    upstream.plan(path, held(hold))
    process = caller.begin(f'http://127.0.0.1:{gate.port}{path}', BODY, wait=20)
    hold.wait_entered()
    gate.kill9()
    gate.restart()
    hold.release()
    done = caller.end(process)
    assert (done.status, done['outcome']) == (11, 'unknown')
    assert upstream.effects(path) == 1


def test_a_journal_that_cannot_be_written_sends_nothing(caller, gate, upstream, url, path):
    """Without its token on disk nothing leaves."""
    caller.call(url, BODY)
    with sqlite3.connect(caller.journal) as db:
        db.execute('BEGIN IMMEDIATE')
        refused = caller.call(url, BODY, step='other')
        assert refused.status == 1 and 'locked' in refused.stderr
    assert upstream.effects(path) == 1


def test_somebody_elses_database_is_left_alone(caller, gate, upstream, url, path):
    """A file of another program is refused, and not a byte of it changes."""
    caller.journal.parent.mkdir(parents=True)
    with sqlite3.connect(caller.journal) as db:
        db.execute('CREATE TABLE theirs (x)')
    caller.journal.chmod(0o600)
    before = caller.journal.read_bytes()
    refused = caller.call(url, BODY)
    assert refused.status == 1 and 'another program' in refused.stderr
    assert caller.journal.read_bytes() == before and upstream.effects(path) == 0


def test_a_newer_journal_is_left_alone(caller, gate, upstream, url, path):
    """A later format is refused, not guessed at."""
    caller.call(url, BODY)
    with sqlite3.connect(caller.journal) as db:
        db.execute('PRAGMA user_version = 2')
    refused = caller.call(url, BODY, step='other')
    assert refused.status == 1 and 'newer' in refused.stderr
    assert upstream.effects(path) == 1


def test_dropped_answers_of_a_storm(caller, gate, upstream, url, path):
    """Five steps whose answers are all lost: five effects, and each says unknown."""
    upstream.plan(path, *[drop()] * 5)
    running = [caller.begin(url, BODY, step=f'lost-{number}', wait=2) for number in range(5)]
    assert {caller.end(process).status for process in running} == {11}
    assert {caller.call(url, BODY, step=f'lost-{number}', wait=0).status for number in range(5)} == {11}
    assert upstream.effects(path) == 5
