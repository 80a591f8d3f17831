"""`audit rotate` and `audit erase` where no gate runs: on the store itself, as a gate would do it."""
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.gate import BINARY, command, config
from harness.rules import eventually
from test_audit import SOON, close, events, outlive, put_back, shown, verify, vkey
from test_audit_epochs import is_there, report
from test_crash import Crowd


def rotate(gate, *options):
    return command('audit', 'rotate', '--data', gate.data, *options)


def erase(gate, epoch, *options):
    return command('audit', 'erase', '--epoch', str(epoch), '--data', gate.data, *options)


@pytest.fixture
def gate(start_gate, upstream):
    return start_gate(None, config(upstream, audit=SOON))


def test_on_a_store_that_rests(gate, path, token):
    # Shows that the epoch ends with certificate, seal and checkpoint, that its key is gone, that the first
    # verifier key checks it, and that the next gate goes on in the new one.
    first_key = vkey(gate)
    gate.post(path, token)
    close(gate)
    done = rotate(gate, '--why', 'before the move')
    assert done.returncode == 0 and done.stderr == '', done
    assert done.stdout == 'epoch 1 has begun; the key before it has signed its last checkpoint and is erased\n'
    assert not is_there(gate, 'audit.key') and is_there(gate, 'audit.1.key') and is_there(gate, 'audit-data.key')
    assert verify(gate, key=first_key) == ('ok', 0)
    assert (report(gate)['epochs'], report(gate)['seals'], report(gate)['unsealed']) == (1, 1, 0)
    ended = shown(gate)[2]
    assert (ended['events'], ended['reason'], ended['by']) == (['epoch_ended'], 'before the move', 'operator')
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'
    assert gate.post(path + '-2', token + '-2').outcome == 'created'
    close(gate)
    assert verify(gate, key=first_key) == ('ok', 0)
    assert events(gate, '--token', token + '-2') == ['attempted+sent', 'completed']


def test_again_and_for_a_program(gate, path, token):
    # Shows that epochs end one after the other, empty ones too, and that --json says which has begun.
    gate.post(path, token)
    close(gate)
    for epoch in range(1, 4):
        assert json.loads(rotate(gate, '--json').stdout) == {'epoch': epoch}
    assert verify(gate) == ('ok', 0)
    assert report(gate)['seals'] == 3


def test_keys_of_epochs_before(gate, path, token):
    # Shows that a key that an ended epoch signed with does not stay: neither one that was to be erased
    # when the command was killed, nor one that came back with a copy of the folder.
    gate.post(path, token)
    close(gate)
    first = gate.data / 'keys' / 'audit.key'
    kept = first.read_bytes()

    def comes_back():
        assert not first.exists()
        first.touch(0o600)
        first.write_bytes(kept)

    assert rotate(gate).returncode == 0
    comes_back()
    assert rotate(gate).returncode == 0
    comes_back()
    assert rotate(gate).returncode == 0
    comes_back()
    gate.restart()
    close(gate)
    assert not first.exists() and is_there(gate, 'audit.3.key')
    assert verify(gate) == ('ok', 0)


def test_a_gate_that_runs_is_asked(gate, path, token):
    # Shows that the store is not taken from a gate that runs: it rotates itself, and goes on.
    gate.post(path, token)
    done = rotate(gate)
    assert done.returncode == 0 and 'signs its last checkpoint' in done.stdout, done
    assert gate.post(path + '-2', token + '-2').outcome == 'created'
    close(gate)
    assert verify(gate) == ('ok', 0)
    assert report(gate)['seals'] == 1


def test_after_a_kill(gate, upstream, number):
    # Shows that a gate that was killed in the middle of work leaves a store that can be rotated: what was
    # running is unknown then, as after a start.
    crowd = Crowd(gate, f'here-{number}')
    eventually(lambda: crowd.count > 20, what='work')
    gate.kill9()
    crowd.join()
    assert (gate.data / 'gate.json').exists()
    done = rotate(gate)
    assert done.returncode == 0, done
    assert verify(gate) == ('ok', 0)
    gate.restart()
    close(gate)
    assert verify(gate) == ('ok', 0)
    told = [entry for entry in shown(gate) if entry.get('to')]
    last = {entry['operation']: entry['to'] for entry in told}
    assert set(last.values()) <= {'completed', 'unknown'}


def test_killed_while_it_rotates(gate, path, token):
    # Shows that whenever the command dies, the log goes on in one epoch or the next and has no gap.
    gate.post(path, token)
    close(gate)
    for round in range(12):
        child = subprocess.Popen([BINARY, 'audit', 'rotate', '--data', gate.data], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(0.004 * round)
        child.kill()
        child.wait(10)
        if round % 3 == 2:
            gate.restart()
            close(gate)
            assert verify(gate) == ('ok', 0)
    assert rotate(gate).returncode == 0
    assert verify(gate) == ('ok', 0)
    assert report(gate)['seals'] >= 1
    seeds = [p.name for p in (gate.data / 'keys').glob('audit.*') if p.name.endswith('.key')]
    assert len(seeds) == 1


def test_by_its_configuration(start_gate, upstream, path, token, tmp_path):
    # Shows that --config says where master key and anchors are: the last checkpoint is copied there; and
    # that a store whose master key is elsewhere says so without it.
    anchor, key = tmp_path / 'elsewhere', tmp_path / 'master'
    anchor.mkdir()
    key.write_text('37' * 32 + '\n')
    key.chmod(0o600)
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor]}, master_key={'file': key}))
    gate.post(path, token)
    close(gate)
    size = int((anchor / 'checkpoint').read_text().split('\n')[1])
    refused = rotate(gate)
    assert refused.returncode != 0 and '--config' in refused.stderr, refused
    done = rotate(gate, '--config', gate.config_file)
    assert done.returncode == 0, done
    assert int((anchor / 'checkpoint').read_text().split('\n')[1]) == size + 3
    assert verify(gate, '--since', anchor / 'checkpoint') == ('ok', 0)
    gate.write_config(config(upstream, data=gate.data, master_key={'file': key}))
    assert command('audit', 'rotate', '--config', gate.config_file).returncode == 0
    assert report(gate)['seals'] == 2


def test_what_would_keep_a_gate_from_starting(start_gate, upstream, path, token, tmp_path):
    # Shows that an older copy of a data directory is refused, and not changed.
    anchor = tmp_path / 'elsewhere'
    anchor.mkdir()
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor]}))
    outlive(gate, path, token, tmp_path / 'backup')
    put_back(gate, tmp_path / 'backup')
    done = rotate(gate, '--config', gate.config_file)
    assert done.returncode == 1 and 'rolled back' in done.stderr, done
    assert is_there(gate, 'audit.key') and not is_there(gate, 'audit.1.key')
    assert report(gate)['seals'] == 0


def test_without_any_store(tmp_path):
    # Shows that a directory that is no gate's is refused, and nothing is made there.
    done = command('audit', 'rotate', '--data', tmp_path)
    assert done.returncode == 1 and 'no gate runs' in done.stderr, done
    assert list(tmp_path.iterdir()) == []


def test_erasing_on_a_store_that_rests(gate, path, token):
    # Shows that a data key is erased and an entry says so, that the log verifies, and that the next gate
    # goes on; that the epoch that lasts, one that is erased and one that is not there are refused.
    first_key = vkey(gate)
    gate.post(path, token)
    close(gate)
    refused = erase(gate, 0)
    assert refused.returncode == 1 and 'has not ended' in refused.stderr, refused
    assert rotate(gate).returncode == 0
    done = erase(gate, 0, '--why', 'they asked')
    assert done.returncode == 0 and done.stderr == '', done
    assert done.stdout == 'the data key of epoch 0 is erased here; copies of it are yours to erase\n'
    assert not is_there(gate, 'audit-data.key') and is_there(gate, 'audit-data.1.key')
    assert verify(gate, key=first_key) == ('ok', 0)
    assert (report(gate)['erased'], report(gate)['unsealed']) == (1, 0)
    said = shown(gate, '--event', 'audit_key_erased')
    assert [(entry['reason'], entry['by']) for entry in said] == [('they asked', 'operator')]
    for epoch, why in ((0, 'is erased already'), (1, 'has not ended'), (7, 'has not ended')):
        refused = erase(gate, epoch)
        assert refused.returncode == 1 and why in refused.stderr, refused
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'
    close(gate)
    assert verify(gate, key=first_key) == ('ok', 0)


def test_pruning_on_a_store_that_rests(gate, path, token):
    # Shows that whole bundles of the epoch go too, that --json says it, and that a gate that runs is asked.
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: gate.post(f'{path}/{i}', f'{token}-{i}'), range(300)))
    close(gate)
    assert rotate(gate).returncode == 0
    assert (gate.data / 'audit' / 'tile' / 'entries' / '000').exists()
    done = erase(gate, 0, '--prune', '--json')
    assert done.returncode == 0 and json.loads(done.stdout) == {'epoch': 0, 'pruned': True}, done
    assert not (gate.data / 'audit' / 'tile' / 'entries' / '000').exists()
    assert verify(gate) == ('ok', 0) and report(gate)['pruned'] == 512
    assert rotate(gate).returncode == 0
    gate.restart()
    done = erase(gate, 1, '--json')
    assert done.returncode == 0 and json.loads(done.stdout) == {'epoch': 1, 'pruned': False}, done
    close(gate)
    assert verify(gate) == ('ok', 0)


def test_killed_while_it_erases(gate, path, token):
    # Shows that whenever the command dies, the key is gone and the log says so, or neither at the next end.
    gate.post(path, token)
    close(gate)
    for round in range(10):
        assert rotate(gate).returncode == 0
        child = subprocess.Popen([BINARY, 'audit', 'erase', '--epoch', str(round), '--prune', '--data', gate.data],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.006 * round)
        child.kill()
        child.wait(10)
    gate.restart()
    close(gate)
    assert verify(gate) == ('ok', 0)
    gone = [round for round in range(10) if not is_there(gate, f'audit-data.{round}.key' if round else 'audit-data.key')]
    assert report(gate)['erased'] == len(gone)
