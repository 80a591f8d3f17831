"""`audit verify` over the log of tests/vectors/audit.json, whole and damaged."""
import json

import pytest

from harness.gate import ROOT, command

VECTORS = json.loads((ROOT / 'tests' / 'vectors' / 'audit.json').read_text())
ENTRIES = [bytes.fromhex(entry['bytes']) for entry in VECTORS['entries']]


@pytest.fixture
def log(tmp_path):
    """The vectors' two entries as a gate would write them."""
    folder = tmp_path / 'audit'
    for part in ('checkpoints', 'tile/entries/000.p', 'tile/0/000.p'):
        (folder / part).mkdir(parents=True)
    (folder / 'checkpoint').write_text(VECTORS['checkpoint'])
    (folder / 'checkpoints' / '2').write_text(VECTORS['checkpoint'])
    (folder / 'tile/entries/000.p/2').write_bytes(
        b''.join(len(entry).to_bytes(2, 'big') + entry for entry in ENTRIES))
    (folder / 'tile/0/000.p/2').write_bytes(
        b''.join(bytes.fromhex(entry['leaf']) for entry in VECTORS['entries']))
    return folder


def verify(log, *options, vkey=VECTORS['vkey']):
    return command('audit', 'verify', log, '--vkey', vkey, *options)


def test_a_good_log(log):
    # Shows that a log which is as it was signed is ok, with its counts and head.
    done = verify(log)
    assert done.returncode == 0 and done.stderr == '', done
    assert done.stdout.startswith('ok\n')
    assert '2 entries, root OklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM=' in done.stdout


def test_for_a_program(log):
    # Shows that --json says the same in one object.
    done = verify(log, '--json')
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report['result'] == 'ok' and report['why'] is None
    assert report['entries'] == 2 and report['unsealed'] == 0
    assert report['head'] == {'size': 2, 'root': 'OklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM='}
    assert report['first_bad'] is None and report['first_unreadable'] is None


def test_the_default_folder(log, tmp_path):
    # Shows that the log is looked for in the data directory where none is named.
    (tmp_path / 'counterfoil-data').mkdir()
    log.rename(tmp_path / 'counterfoil-data' / 'audit')
    done = command('audit', 'verify', '--vkey', VECTORS['vkey'], cwd=tmp_path)
    assert done.returncode == 0, done


def test_tampered(log):
    # Shows that a changed byte of an entry is 1, with the entry.
    file = log / 'tile/entries/000.p/2'
    file.write_bytes(file.read_bytes()[:-1] + b'x')
    done = verify(log, '--json')
    assert done.returncode == 1
    assert json.loads(done.stdout)['result'] == 'tampered'
    assert json.loads(done.stdout)['first_bad'] == {'from': 1, 'to': 1}
    assert 'entry 1' in verify(log).stdout


def test_truncated(log):
    # Shows that an entry less than was signed is 1.
    (log / 'tile/entries/000.p/2').write_bytes(len(ENTRIES[0]).to_bytes(2, 'big') + ENTRIES[0])
    done = verify(log)
    assert done.returncode == 1 and done.stdout.startswith('truncated: ')


def test_bad_signature(log):
    # Shows that a signature that does not hold is 1.
    text = VECTORS['checkpoint']
    (log / 'checkpoint').write_text(text[:-8] + ('B' if text[-8] == 'A' else 'A') + text[-7:])
    done = verify(log)
    assert done.returncode == 1 and done.stdout.startswith('bad-signature: ')


def test_missing_anchor(log):
    # Shows that entries without any checkpoint are 2, not ok.
    (log / 'checkpoint').unlink()
    (log / 'checkpoints' / '2').unlink()
    done = verify(log)
    assert done.returncode == 2 and done.stdout.startswith('missing-anchor: ')


def test_since(log, tmp_path):
    # Shows that a checkpoint kept elsewhere is compared, and must be one.
    kept = tmp_path / 'kept'
    kept.write_text(VECTORS['checkpoint'])
    (log / 'checkpoint').unlink()
    (log / 'checkpoints' / '2').unlink()
    assert verify(log, '--since', kept).returncode == 0
    kept.write_text('')
    done = verify(log, '--since', kept)
    assert done.returncode == 2 and done.stdout.startswith('missing-anchor: ')
    done = verify(log, '--since', tmp_path / 'absent')
    assert done.returncode == 2 and 'absent' in done.stderr
    assert done.stdout.startswith('missing-anchor: ')
    assert json.loads(verify(log, '--since', tmp_path / 'absent', '--json').stdout)['result'] == 'missing-anchor'


def test_key_mismatch(log):
    # Shows that another log's key is 2.
    other = 'example.com/other+62b04a10+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4'
    done = verify(log, vkey=other)
    assert done.returncode == 2 and done.stdout.startswith('key-mismatch: ')


def test_no_folder(tmp_path):
    # Shows that a folder that is not there is said by name.
    done = verify(tmp_path / 'absent')
    assert done.returncode == 2 and 'absent' in done.stderr and done.stdout == ''
