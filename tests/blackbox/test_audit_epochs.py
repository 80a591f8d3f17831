"""Epochs of the audit log: its keys change, old ones are erased, and what they signed stays."""
import json
import threading

import pytest

from harness.gate import command, config
from harness.rules import eventually
from test_audit import SOON, close, events, shown, verify, vkey
from test_crash import Crowd


def audit(gate, *arguments):
    return command('audit', *arguments, '--data', gate.data)


def rotate(gate):
    done = audit(gate, 'rotate', '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)['epoch']


def erase(gate, epoch, *options):
    done = audit(gate, 'erase', '--epoch', str(epoch), *options)
    assert done.returncode == 0, done.stderr


def is_there(gate, name):
    return (gate.data / 'keys' / name).exists()


def wait_erased(gate, name):
    eventually(lambda: not is_there(gate, name), what=f'{name} to be erased')


def report(gate, *options):
    done = command('audit', 'verify', gate.data / 'audit', '--vkey', vkey(gate), '--json', *options)
    return json.loads(done.stdout)


@pytest.fixture
def gate(start_gate, upstream):
    return start_gate(None, config(upstream, audit=SOON))


def test_rotate(gate, path, token):
    # Shows that an epoch ends with a certificate, a seal and a checkpoint, that its key is gone then,
    # and that the first verifier key, which stays, checks what the next one signs.
    first_key = vkey(gate)
    gate.post(path, token)
    done = audit(gate, 'rotate', '--why', 'a new year')
    assert done.returncode == 0 and 'epoch 1' in done.stdout
    gate.post(path + '-2', token + '-2')
    wait_erased(gate, 'audit.key')
    assert is_there(gate, 'audit.1.key') and is_there(gate, 'audit-data.key')
    assert vkey(gate) == first_key
    close(gate)
    assert verify(gate, key=first_key) == ('ok', 0)
    found = report(gate)
    assert (found['epochs'], found['seals'], found['unsealed']) == (2, 1, 0)
    entries = shown(gate)
    assert [e['type'] for e in entries[2:5]] == ['administration', 'certificate', 'seal']
    assert (entries[2]['events'], entries[2]['reason']) == (['epoch_ended'], 'a new year')
    assert events(gate, '--token', token + '-2') == ['attempted+sent', 'completed']


def test_rotate_and_rotate(gate, path, token):
    # Shows that epochs may be empty, that a gate that is started again goes on, and that a gate
    # whose newest key is gone does not start.
    gate.post(path, token)
    for epoch in range(1, 4):
        assert rotate(gate) == epoch
        wait_erased(gate, f'audit.{epoch - 1}.key' if epoch > 1 else 'audit.key')
    close(gate)
    gate.restart()
    gate.post(path, token)
    assert rotate(gate) == 4
    close(gate)
    assert verify(gate) == ('ok', 0)
    assert report(gate)['seals'] == 4
    assert [p.name for p in (gate.data / 'keys').glob('audit.*key') if p.name.endswith('.key')] == ['audit.4.key']
    (gate.data / 'keys' / 'audit.4.key').unlink()
    gate.launch()
    assert gate.wait_exit() != 0 and 'audit.4.key is missing' in gate.tail() + str(gate.stdout)


def test_killed_while_an_epoch_ends(start_gate, upstream):
    # Shows that whenever a gate dies, its log goes on in one epoch or the next and has no gap.
    gate = start_gate(None, config(upstream, audit=SOON))
    for round in range(8):
        crowd = Crowd(gate, f'epoch-{round}')
        eventually(lambda: crowd.count > 20, what='work')
        killer = threading.Timer(0.01 + 0.01 * round, gate.kill9)
        killer.start()
        audit(gate, 'rotate')
        killer.join()
        crowd.join()
        gate.restart()
        eventually(lambda: verify(gate)[0] in ('ok', 'ok-unsealed'), what='a log that verifies')
        seeds = [p.name for p in (gate.data / 'keys').glob('audit.*') if p.name.endswith('.key')]
        assert 1 <= len(seeds) <= 2
    rotate(gate)
    gate.kill9()
    gate.restart()
    close(gate)
    assert verify(gate) == ('ok', 0)
    assert report(gate)['seals'] >= 1


def test_erase(gate, path, token):
    # Shows that what an epoch says can be made unreadable, that the log says so and verifies, and
    # that neither the current epoch nor an erased one can be.
    gate.post(path, token)
    assert audit(gate, 'erase', '--epoch', '0').returncode == 1
    rotate(gate)
    gate.post(path + '-2', token + '-2')
    wait_erased(gate, 'audit.key')
    erase(gate, 0, '--why', 'they asked')
    assert not is_there(gate, 'audit-data.key')
    assert audit(gate, 'erase', '--epoch', '0').returncode == 1
    assert audit(gate, 'erase', '--epoch', '7').returncode == 1
    close(gate)
    assert verify(gate) == ('ok', 0)
    assert report(gate)['erased'] == 1
    assert events(gate, '--token', token + '-2') == ['attempted+sent', 'completed']
    assert events(gate, '--token', token) == []
    text = command('audit', 'show', gate.data)
    assert text.returncode == 0
    assert text.stdout.count('its key is erased') == 3
    assert '3 entries cannot be read any more' in text.stderr
    said = shown(gate, '--event', 'audit_key_erased')
    assert [(e['subject'], e['reason']) for e in said] == [('epoch 0', 'they asked')]
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'


def test_prune(gate, upstream, number):
    # Shows that entries that nobody can read may go, and their proofs stay: verification counts them,
    # and calls it tampering where others are gone.
    for n in range(400):
        gate.post(f'/prune-{number}/{n}', f'prune-{number}-{n}')
    rotate(gate)
    for n in range(400):
        gate.post(f'/prune-{number}/{n}', f'prune-{number}-{n}')
    wait_erased(gate, 'audit.key')
    bundles = gate.data / 'audit' / 'tile' / 'entries'
    assert (bundles / '000').exists()
    erase(gate, 0, '--prune')
    eventually(lambda: not (bundles / '000').exists() and not (bundles / '002').exists(), seconds=20)
    close(gate)
    gate.restart()
    close(gate)
    assert (bundles / '003').exists(), 'the end of the epoch stays'
    assert verify(gate) == ('ok', 0)
    assert report(gate)['pruned'] == 768
    assert events(gate, '--event', 'replayed').count('replayed') == 400
    (bundles / '003').unlink()
    assert verify(gate) == ('tampered', 1)


def test_who_may(gate):
    # Shows that the log's keys are for whoever has the admin token.
    for target in ('/api/audit/rotate', '/api/audit/erase'):
        assert gate.admin(target, method='POST', body=b'{}').status == 401
    assert gate.operator('/api/audit/erase', method='POST', json={'epoch': 'x'}).status == 400
