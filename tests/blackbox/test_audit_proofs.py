"""Proofs that stand alone, and operations recomputed from the log."""
import base64
import json
import shutil
import sqlite3

import pytest

from harness.gate import command, config
from harness.rules import eventually
from harness.upstream import answer, drop
from test_audit import SOON, close, vkey
from test_audit_epochs import erase, rotate, wait_erased


@pytest.fixture
def gate(start_gate, upstream):
    return start_gate(None, config(upstream, audit=SOON))


def prove(gate, out, *arguments):
    done = command('audit', 'prove', *arguments, '--data', gate.data, '--out', out)
    return done, [line for line in done.stdout.splitlines()]


def check(proof, key, *options):
    done = command('audit', 'verify', '--proof', proof, '--vkey', key, *options)
    return done.stdout.split('\n')[0], done.returncode


def test_prove(gate, path, token, tmp_path):
    # Shows that each entry of an operation gets a file that is checked with the public key alone, by
    # somebody who has no log; and that a changed file, or another key, is found out.
    for n in range(300):
        gate.post(f'{path}/{n}', f'{token}-{n}')
    made = gate.post(path, token)
    eventually(lambda: prove(gate, tmp_path, made.operation)[0].returncode == 0, what='a checkpoint')
    done, files = prove(gate, tmp_path, made.operation)
    assert len(files) == 2, done
    for file in files:
        assert check(file, vkey(gate), ) == ('ok', 0)
        lines = open(file).read().splitlines()
        assert lines[0] == 'c2sp.org/tlog-proof@v1' and lines[2].startswith('index ')
        entry = base64.b64decode(lines[1].split()[1])
        assert entry[:4] == b'CFA1' and token.encode() not in entry
    text = open(files[0]).read()
    extra = text.splitlines()[1].split()[1]
    entry = bytearray(base64.b64decode(extra))
    entry[150] ^= 1
    (tmp_path / 'changed').write_text(text.replace(extra, base64.b64encode(entry).decode()))
    assert check(tmp_path / 'changed', vkey(gate)) == ('false', 1)
    (tmp_path / 'empty').write_text('')
    assert check(tmp_path / 'empty', vkey(gate)) == ('malformed', 1)
    other = 'somebody.else+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    assert check(files[0], other)[1] == 2
    assert prove(gate, tmp_path, 'op_0' + '0' * 25)[0].returncode == 1
    assert prove(gate, tmp_path)[0].returncode == 2


def test_prove_since(gate, path, token, tmp_path):
    # Shows that the log is proven to begin with a checkpoint that was kept, and with no other.
    gate.post(path, token)
    newest = gate.data / 'audit' / 'checkpoint'
    eventually(newest.exists)
    kept = tmp_path / 'kept'
    shutil.copy(newest, kept)
    for n in range(5):
        gate.post(f'{path}/{n}', f'{token}-{n}')
    close(gate)
    done, files = prove(gate, tmp_path, '--entry', '0', '--since', kept)
    assert done.returncode == 0, done
    assert check(files[0], vkey(gate)) == ('ok', 0)
    assert files[1].endswith('.tlog-consistency')
    assert check(files[1], vkey(gate), '--since', kept) == ('ok', 0)
    assert check(files[1], vkey(gate), '--since', newest) == ('false', 1)
    assert check(files[1], vkey(gate)) == ('malformed', 1)


def test_prove_over_epochs(gate, path, token, tmp_path):
    # Shows that a proof is the newest epoch's, whose public key stays with the others.
    made = gate.post(path, token)
    rotate(gate)
    wait_erased(gate, 'audit.key')
    gate.post(path + '-2', token + '-2')
    close(gate)
    _, files = prove(gate, tmp_path, made.operation)
    assert check(files[0], vkey(gate)) == ('key-mismatch', 2)
    assert check(files[0], (gate.data / 'keys' / 'audit.1.vkey').read_text().strip()) == ('ok', 0)


# -- the state ---------------------------------------------------------------------


def state(gate, *options):
    done = command('audit', 'verify', '--vkey', vkey(gate), '--state', gate.data, *options)
    return done


def differing(gate):
    lines = [json.loads(line) for line in state(gate, '--json').stdout.splitlines()]
    return [(line['operation'], line['differs'], line['log'], line['store'])
            for line in lines if 'differs' in line]


def change(gate, sql):
    db = sqlite3.connect(gate.data / 'counterfoil.db')
    db.execute(sql)
    db.commit()
    db.close()


def test_state(gate, upstream, path, token):
    # Shows that what the log says of operations of every kind is what the store has, and that each
    # that somebody changed in the store is named, with what it is in either.
    made = gate.post(path, token)
    upstream.plan(path + '-bad', answer(400))
    gate.post(path + '-bad', token + '-bad')
    upstream.plan(path + '-busy', answer(503, works=False))
    gate.post(path + '-busy', token + '-busy')
    gate.post(path + '-busy', token + '-busy')
    upstream.plan(path + '-lost', drop())
    lost = gate.post(path + '-lost', token + '-lost')
    assert lost.outcome == 'unknown'
    eventually(lambda: (gate.data / 'audit' / 'checkpoint').exists(), what='a checkpoint')
    done = state(gate)
    assert done.returncode == 1 and 'in use by a running gate' in done.stderr
    close(gate)
    done = state(gate)
    assert done.returncode == 0 and 'state: ok' in done.stdout, done
    assert '4 in the store, 0 differ' in done.stdout
    change(gate, "UPDATE operation SET state = 5 WHERE token LIKE '%-lost'")
    assert differing(gate) == [(lost.operation, 'state', 'unknown', 'completed')]
    assert state(gate).returncode == 1
    change(gate, "UPDATE operation SET state = 4 WHERE token LIKE '%-lost'")
    change(gate, f"UPDATE operation SET fingerprint = zeroblob(32) WHERE token = '{token}'")
    change(gate, f"DELETE FROM operation WHERE token = '{token}-lost'")
    assert sorted(differing(gate)) == sorted([(made.operation, 'fingerprint', 'one', 'another'),
                                              (lost.operation, 'state', 'unknown', 'nothing')])


def test_state_after_a_crash(gate, upstream, path, token):
    # Shows that what no checkpoint covers yet is compared too.
    for n in range(20):
        gate.post(f'{path}/{n}', f'{token}-{n}')
    gate.kill9()
    done = state(gate)
    assert '20 in the store, 0 differ' in done.stdout, done


def test_state_without_keys(gate, path, token):
    # Shows that operations of an epoch whose key is erased are counted, not blamed.
    gate.post(path, token)
    rotate(gate)
    wait_erased(gate, 'audit.key')
    gate.post(path + '-2', token + '-2')
    erase(gate, 0)
    close(gate)
    done = state(gate)
    assert done.returncode == 0 and '2 in the store, 0 differ' in done.stdout, done
    assert '1 cannot be read' in done.stdout
