"""What somebody with the data directory in hand can do to a gate's audit log, and what it is called.

Each damage is done to a copy of one log: two epochs, the first sealed, written by a real gate. The
forger knows the formats, and what is on the disk; where it says so, also today's signing key.
"""
import base64
import shutil
import types

import pytest

from harness.audit_log import (follow, leaf, origin_of, read_entries, root, sign, verifier_key, write_checkpoint,
                               write_tiles)
from harness.gate import command, config
from test_audit import SOON, close, flip, vkey
from test_audit_epochs import rotate, wait_erased


@pytest.fixture
def log(start_gate, upstream, path, token, tmp_path):
    """A copy of a log with its keys, and `older`, a copy from before its last entries."""
    gate = start_gate(None, config(upstream, audit=SOON))
    for n in range(140):
        gate.post(f'{path}/{n}', f'{token}-{n}')
    # Keys that are there are taken, in clear too: so this one is known to the forger.
    seed = bytes(range(100, 132))
    (gate.data / 'keys' / 'audit.1.key').write_bytes(seed)
    (gate.data / 'keys' / 'audit.1.key').chmod(0o600)
    rotate(gate)
    wait_erased(gate, 'audit.key')
    gate.post(path, token)
    close(gate)
    shutil.copytree(gate.data / 'audit', tmp_path / 'older')
    gate.restart()
    gate.post(path + '-last', token + '-last')
    close(gate)
    shutil.copytree(gate.data / 'audit', tmp_path / 'log')
    shutil.copy(tmp_path / 'log' / 'checkpoint', tmp_path / 'kept')
    folder = tmp_path / 'log'
    return types.SimpleNamespace(
        folder=folder, older=tmp_path / 'older', kept=tmp_path / 'kept', scratch=tmp_path, key=vkey(gate),
        seed=seed, entries=read_entries(folder))


def verify(log, *options, key=None):
    done = command('audit', 'verify', log.folder, '--vkey', key or log.key, *options)
    return done.stdout.split('\n')[0].split(':')[0]


def edited(entries, which):
    entry = bytearray(entries[which])
    entry[130] ^= 1
    return entries[:which] + [bytes(entry)] + entries[which + 1:]


def test_as_it_was(log):
    # Shows that the log verifies, and that these tests' own reading of it comes to the same root.
    assert verify(log) == 'ok'
    assert verify(log, '--since', log.kept) == 'ok'
    write_tiles(log.folder, log.entries)
    assert verify(log) == 'ok'
    assert len(log.entries) == 280 + 3 + 4


def test_edited(log):
    # Shows that an entry is tampered with where nothing else was changed, and where everything was
    # made to fit that is not signed.
    write_tiles(log.folder, edited(log.entries, 270))
    assert verify(log) == 'tampered'
    write_tiles(log.folder, follow(edited(log.entries, 270), 271))
    assert verify(log) == 'tampered'
    flip(log.folder / 'tile' / '0' / '000', 40)
    assert verify(log) == 'tampered'


def test_deleted(log):
    # Shows that an entry that was taken out is missed, also where those after it were renumbered.
    gone = log.entries[:100] + log.entries[101:]
    write_tiles(log.folder, gone)
    assert verify(log) == 'tampered'
    write_tiles(log.folder, follow(gone, 100))
    assert verify(log) == 'tampered'


def test_reordered(log):
    # Shows that two entries that changed places are found.
    swapped = log.entries[:50] + [log.entries[51], log.entries[50]] + log.entries[52:]
    write_tiles(log.folder, swapped)
    assert verify(log) == 'tampered'
    write_tiles(log.folder, follow(swapped, 50))
    assert verify(log) == 'tampered'


def test_ciphertexts_exchanged(log):
    # Shows that what two entries say cannot change places under their heads.
    one, other = log.entries[20], log.entries[22]
    exchanged = list(log.entries)
    exchanged[20], exchanged[22] = one[:114] + other[114:], other[:114] + one[114:]
    write_tiles(log.folder, exchanged)
    assert verify(log) == 'tampered'
    write_tiles(log.folder, follow(exchanged, 21))
    assert verify(log) == 'tampered'


def test_truncated(log):
    # Shows that a tail that was cut off is missed by the log's own checkpoint.
    write_tiles(log.folder, log.entries[:-2])
    assert verify(log) == 'truncated'
    write_tiles(log.folder, log.entries[:256])
    assert verify(log) == 'truncated'
    write_tiles(log.folder, log.entries)
    (log.folder / 'tile' / 'entries' / '000').unlink()
    assert verify(log) == 'tampered', 'a gap is no end'


def test_rolled_back(log):
    # Shows that an older copy agrees with itself, and with no checkpoint that was kept elsewhere.
    shutil.rmtree(log.folder)
    shutil.copytree(log.older, log.folder)
    assert verify(log) == 'ok'
    assert verify(log, '--since', log.kept) == 'rolled-back'


def test_forked(log):
    # Shows that with today's key another end can be signed, which a kept checkpoint gives away.
    other = follow(edited(log.entries, 285), 286)
    write_tiles(log.folder, other)
    write_checkpoint(log.folder, other, log.seed, log.scratch)
    assert verify(log) == 'ok', 'nobody can see that from the log alone'
    assert verify(log, '--since', log.kept) == 'forked'


def test_tip_and_key_replaced(log):
    # Shows that a whole log by another key under the same name is not this one.
    seed = bytes(range(32))
    other = follow(edited(log.entries[:280], 7), 8)
    write_tiles(log.folder, other)
    write_checkpoint(log.folder, other, seed, log.scratch)
    assert verify(log) == 'key-mismatch'
    assert verify(log, key=verifier_key(origin_of(log.folder), seed)) == 'ok', 'so it is a log'


def test_an_old_epoch_forged_with_todays_key(log):
    # Shows that whoever steals today's key cannot change what an older one sealed, whether they leave
    # its signatures, or let today's key sign in its place.
    other = follow(edited(log.entries, 100), 101)
    write_tiles(log.folder, other)
    write_checkpoint(log.folder, other, log.seed, log.scratch)
    assert verify(log) == 'forked'
    write_tiles(log.folder, other[:200])
    write_checkpoint(log.folder, other[:200], log.seed, log.scratch)
    assert verify(log) == 'key-mismatch'


def test_an_old_seal_signed_again(log):
    # Shows that a seal of an old epoch that today's key has signed is nobody's.
    other = follow(edited(log.entries, 100), 101)
    origin = origin_of(log.folder)
    for seq in (281, 282):
        entry = other[seq]
        text = entry[118:].decode().split('\\n\\n')[0].split('note":"')[-1]
        member, lines = text[2:].split('":"', 1)
        lines = lines.split('\\n')
        lines[4] = base64.b64encode(root([leaf(e) for e in other[:seq]])).decode()
        note = sign('\n'.join(lines) + '\n', origin, log.seed, log.scratch)
        payload = ('{"%s":"%s"}' % (member, note.replace('\n', '\\n'))).encode()
        other[seq] = entry[:114] + len(payload).to_bytes(4, 'big') + payload
        other = follow(other, seq)
    write_tiles(log.folder, other)
    write_checkpoint(log.folder, other, log.seed, log.scratch)
    assert verify(log) in ('key-mismatch', 'bad-signature')


def test_a_signature_changed(log):
    # Shows that a checkpoint whose signature does not hold is said to be that.
    text = (log.folder / 'checkpoint').read_text()
    at = len(text) - 20
    (log.folder / 'checkpoint').write_text(text[:at] + ('A' if text[at] != 'A' else 'B') + text[at + 1:])
    assert verify(log) == 'bad-signature'


def test_no_checkpoint(log):
    # Shows that entries that nobody has signed are not ok.
    (log.folder / 'checkpoint').unlink()
    shutil.rmtree(log.folder / 'checkpoints')
    assert verify(log) == 'missing-anchor'
