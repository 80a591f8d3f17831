"""`audit verify --state`: what the service calls an effect, in the entries and in the store."""
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.rules import eventually, op, ruled, said
from harness.upstream import drop
from test_audit import SOON, close
from test_audit_epochs import erase, rotate, wait_erased
from test_audit_proofs import change, differing, state

ACTIONS = {'things.create': {'route': 'POST /things/{book}',
                             'response': {'reference': '/id', 'resource': 'response/url'}}}


@pytest.fixture
def gate(start_gate, upstream):
    return start_gate(None, ruled(upstream, ACTIONS, audit=SOON))


@pytest.fixture
def make(gate, upstream, number):
    """Have something made that its service calls `reference`: the operation's id."""
    def make(key, reference='obj-77', **more):
        path = f'/things/{number}-{key}'
        upstream.plan(path, said({'id': reference, 'url': f'/v1/obj/{key}', **more}, 201))
        return gate.post(path, f'state-{number}-{key}', json={'n': 1}).operation
    return make


def test_references_agree(gate, make, upstream, number):
    # Shows that references of answers, of people and none at all are the same in both, also after retries.
    make('a')
    make('b', reference='\u00e9\u202e\n')
    gate.post(f'/things/{number}-a', f'state-{number}-a', json={'n': 1})
    gate.post(f'/elsewhere/{number}', f'state-{number}-none')
    upstream.plan(f'/things/{number}-lost', drop())
    lost = gate.post(f'/things/{number}-lost', f'state-{number}-lost', json={'n': 1})
    assert lost.outcome == 'unknown'
    assert op(gate, 'resolve', lost.operation, '--happened', '--why', 'seen', '--reference', 'T-17').returncode == 0
    close(gate)
    done = state(gate)
    assert done.returncode == 0 and 'state: ok' in done.stdout and '4 in the store, 0 differ' in done.stdout, done


def test_a_reference_edited_in_the_database(gate, make):
    # Shows that a reference, and a resource, that somebody changed in the store are named, with both.
    first, second = make('a'), make('b', reference='obj-78')
    close(gate)
    change(gate, "UPDATE operation SET reference = 'obj-666' WHERE reference = 'obj-77'")
    assert differing(gate) == [(first, 'reference', 'obj-77', 'obj-666')]
    done = state(gate)
    assert done.returncode == 1 and 'state: differs' in done.stdout
    assert f'{first}  reference: the log says obj-77, the store obj-666\n' in done.stdout
    assert json.loads(state(gate, '--json').stdout.splitlines()[-1])['result'] == 'differs'
    change(gate, "UPDATE operation SET reference = 'obj-77' WHERE reference = 'obj-666'")
    assert state(gate).returncode == 0
    change(gate, "UPDATE operation SET resource = '/v1/obj/c' WHERE reference = 'obj-78'")
    assert differing(gate) == [(second, 'resource', '/v1/obj/b', '/v1/obj/c')]


def test_a_reference_removed_or_added(gate, make, number):
    # Shows that one that is gone, or that no service gave, is named too.
    made = make('a')
    other = gate.post(f'/elsewhere/{number}', f'state-{number}-none').operation
    close(gate)
    change(gate, f"UPDATE operation SET reference = '' WHERE token = 'state-{number}-a'")
    change(gate, f"UPDATE operation SET reference = 'new' WHERE token = 'state-{number}-none'")
    assert sorted(differing(gate)) == sorted([(made, 'reference', 'obj-77', 'nothing'),
                                              (other, 'reference', 'nothing', 'new')])


def test_texts_of_services_stay_texts(gate, make):
    # Shows that a terminal is not told to do anything by a reference, and that JSON stays JSON.
    made = make('a', reference='obj"\x1b[31m\u202e')
    close(gate)
    change(gate, "UPDATE operation SET reference = 'x' || char(27) || '[2J' WHERE reference <> ''")
    assert differing(gate) == [(made, 'reference', 'obj"\x1b[31m\u202e', 'x\x1b[2J')]
    shown = state(gate).stdout
    assert '\x1b' not in shown and '\u202e' not in shown and '\\x1b[2J' in shown


def test_long_references(gate, upstream, number):
    # Shows that the longest texts that a service or a person may give are whole in both.
    path = f'/things/{number}-' + 'p' * 7000
    upstream.plan(path, drop())
    lost = gate.post(path, f'state-{number}-long', json={'n': 1})
    response = gate.operator(f'/api/operations/{lost.operation}/resolve', 'POST',
                             {'happened': True, 'why': '"' * 2000, 'reference': '"' * 200})
    assert response.status == 200, response
    path = path + 'q'
    upstream.plan(path, said({'id': '"' * 1024, 'url': '\u00e9' * 512}, 201))
    assert gate.post(path, f'state-{number}-longer', json={'n': 1}).status == 201
    close(gate)
    assert state(gate).returncode == 0, state(gate)
    change(gate, "UPDATE operation SET reference = reference || 'x'")
    assert [found[1] for found in differing(gate)] == ['reference'] * 2


def test_what_cannot_be_read_is_not_blamed(gate, make, number):
    # Shows that a reference, or all, that was told under a key that is erased is not missed, also where
    # a retry was told of later.
    made = make('a')
    rotate(gate)
    wait_erased(gate, 'audit.key')
    assert gate.post(f'/things/{number}-a', f'state-{number}-a', json={'n': 1}).outcome == 'replayed'
    eventually(lambda: gate.operator(f'/api/audit?operation={made}&event=replayed').json()['entries'])
    erase(gate, 0)
    close(gate)
    done = state(gate)
    assert done.returncode == 0 and '1 cannot be read' in done.stdout, done


def test_entries_that_only_files_keep(start_gate, upstream, number):
    # Shows that after a crash entries are found that no checkpoint covers and the database has no more.
    gate = start_gate(None, ruled(upstream, {}, audit={'checkpoint_interval': '1h', 'checkpoint_entries': 1000000}))
    gate.post(f'/kept/{number}', f'kept-{number}-first')
    close(gate)
    gate.start()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: gate.post(f'/kept/{number}', f'kept-{number}-{i}'), range(1400)))
    assert {answer.outcome for answer in answers} == {'created'}
    gate.kill9()
    db = sqlite3.connect(gate.data / 'counterfoil.db')
    first = db.execute('SELECT min(seq) FROM audit').fetchone()[0]
    assert first > 500
    db.close()
    bundle = gate.data / 'audit' / 'tile' / 'entries' / f'{(first - 1) // 256:03}'
    bundle.rename(gate.data / 'away')
    done = state(gate)
    assert done.returncode == 1 and 'cannot be found; see counterfoil audit verify' in done.stderr, done
    (gate.data / 'away').rename(bundle)
    done = state(gate)
    assert done.returncode == 0 and '1401 in the store, 0 differ' in done.stdout, done
    gate.start()
    close(gate)
    done = state(gate)
    assert done.returncode == 0 and '1401 in the store, 0 differ' in done.stdout, done
    assert upstream.effects(f'/kept/{number}') == 1401
