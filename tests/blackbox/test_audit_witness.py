"""Checkpoints that go elsewhere over HTTP: to anchors that keep them, to witnesses that cosign them."""
import json
import shutil
import threading

import pytest

from harness.gate import command, config
from harness.rules import eventually
from harness.witness import Anchor, Witness
from test_audit import SOON, close, outlive, put_back, verify, vkey


@pytest.fixture
def witness(tmp_path):
    folder = tmp_path / 'witness'
    folder.mkdir()
    server = Witness(folder)
    yield server
    server.stop()


@pytest.fixture
def anchor():
    server = Anchor()
    yield server
    server.stop()


def checkpoint(gate):
    file = gate.data / 'audit' / 'checkpoint'
    return file.read_text() if file.exists() else ''


def witnessed(gate, witness, *options):
    return verify(gate, '--witness', witness.vkey, *options)


def close_cosigned(gate, witness):
    """At the end nothing is waited for long: let it be cosigned before."""
    eventually(lambda: witnessed(gate, witness) == ('ok', 0), what='a cosigned log')
    close(gate)


@pytest.fixture
def watched(start_gate, upstream, witness):
    """A gate whose log the witness knows; one write is cosigned."""
    gate = start_gate(None, config(upstream, audit={**SOON, 'witnesses': [witness.setting]}))
    witness.trust(vkey(gate))
    return gate


def test_cosigned(watched, upstream, witness, number):
    # Shows that each published checkpoint gets a cosignature, in `checkpoint` and in the history, once
    # the witness has seen that the log has only grown; and that verifying can ask for it.
    for n in range(3):
        watched.post(f'/w/{number}-{n}', f'w-{number}-{n}')
        eventually(lambda: len(witness.cosigned) > n and f'— {witness.name} ' in checkpoint(watched))
        eventually(lambda: witnessed(watched, witness) == ('ok', 0), what='a cosigned log')
    told = watched.operator('/api/audit/status').json()['witnesses']
    assert [(one['name'], one['url']) for one in told] == [(witness.name, witness.url)]
    eventually(lambda: watched.operator('/api/audit/status').json()['witnesses'][0]['cosigned_s'])
    close(watched)
    assert witness.cosigned == sorted(set(witness.cosigned)) and witness.refused == []
    newest = checkpoint(watched)
    assert newest.count('— ') == 2 and newest.split('\n')[1] == str(witness.cosigned[-1])
    assert (watched.data / 'audit' / 'checkpoints' / newest.split('\n')[1]).read_text() == newest
    assert witnessed(watched, witness) == ('ok', 0)
    assert verify(watched) == ('ok', 0), 'it is passed over by who does not ask'


def test_started_again(watched, witness, path, token):
    # Shows that after a restart the witness's size is found out, and one cosignature is left.
    watched.post(path, token)
    close_cosigned(watched, witness)
    before = checkpoint(watched)
    assert before.count(witness.name) == 1
    watched.restart()
    watched.post(path + '-2', token + '-2')
    close_cosigned(watched, witness)
    assert checkpoint(watched).count(witness.name) == 1 and checkpoint(watched) != before
    assert witnessed(watched, witness) == ('ok', 0)


def test_a_cosignature_that_is_missing_or_wrong(watched, witness, path, token, tmp_path):
    # Shows that verifying says so when the witness has not cosigned, or its cosignature does not hold.
    watched.post(path, token)
    close_cosigned(watched, witness)
    file = watched.data / 'audit' / 'checkpoint'
    good = file.read_text()
    line = good.splitlines(True)[-1]
    at = len(line) - 20
    file.write_text(good.replace(line, line[:at] + ('A' if line[at] != 'A' else 'B') + line[at + 1:]))
    assert witnessed(watched, witness) == ('bad-signature', 1)
    assert verify(watched) == ('ok', 0)
    file.write_text(good.replace(line, ''))
    assert witnessed(watched, witness) == ('not-witnessed', 2)
    other = Witness(tmp_path, name='other.test/w2', seed=bytes(32))
    other.stop()
    file.write_text(good)
    assert verify(watched, '--witness', other.vkey) == ('not-witnessed', 2)
    assert verify(watched, '--witness', vkey(watched))[1] == 2, 'the key of a log is no witness\'s'


def test_a_witness_that_is_down(start_gate, upstream, witness, number):
    # Shows that a gate starts, writes, signs and ends without its witness, says so once, and has its
    # checkpoint cosigned when the witness is back.
    witness.stop()
    gate = start_gate(None, config(upstream, audit={**SOON, 'witnesses': [witness.setting]}))
    witness.trust(vkey(gate))
    assert gate.post(f'/d/{number}', f'd-{number}').outcome == 'created'
    gate.wait_log('audit_witness_unreachable')
    assert gate.post(f'/d/{number}-2', f'd-{number}-2').outcome == 'created'
    eventually(lambda: verify(gate) == ('ok', 0))
    assert witnessed(gate, witness) == ('not-witnessed', 2)
    witness.start()
    eventually(lambda: witnessed(gate, witness) == ('ok', 0), what='its cosignature')
    assert len([line for line in gate.log_lines() if line.get('event') == 'audit_witness_unreachable']) == 1
    close(gate)


def test_some_that_never_answer(start_gate, upstream, witness, anchor, number):
    # Shows that neither writes nor signing nor the gate's end wait for an anchor or a witness that takes
    # connections and says nothing.
    held = threading.Event()
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor.url], 'witnesses': [witness.setting]}))
    witness.trust(vkey(gate))
    for server in (anchor, witness):
        server.handle = lambda *arguments: held.wait(60) and (503, {}, b'')
    try:
        gate.post(f'/n/{number}', f'n-{number}')
        eventually(lambda: anchor.requests, what='a call')
        for n in range(20):
            assert gate.post(f'/n/{number}-{n}', f'n-{number}-{n}').outcome == 'created'
        eventually(lambda: verify(gate) == ('ok', 0), what='a signed log')
        assert not held.is_set() and 'checkpoint' not in anchor.files
        close(gate)
    finally:
        held.set()


def test_a_witness_that_does_not_know_the_log(start_gate, upstream, witness, path, token):
    # Shows that a witness that was never told of the log is named in the gate's log, with what to do.
    gate = start_gate(None, config(upstream, audit={**SOON, 'witnesses': [witness.setting]}))
    gate.post(path, token)
    gate.wait_log('audit_witness_refused')
    assert 'give its operator keys/audit.vkey' in gate.tail()
    close(gate)
    assert witnessed(gate, witness) == ('not-witnessed', 2)


def test_an_answer_that_is_not_its(start_gate, upstream, witness, path, token):
    # Shows that a cosignature by another key, or of another text, is not published.
    forger = witness.cosign
    witness.cosign = lambda text: forger('x' + text)
    gate = start_gate(None, config(upstream, audit={**SOON, 'witnesses': [witness.setting]}))
    witness.trust(vkey(gate))
    gate.post(path, token)
    gate.wait_log('without a cosignature by its key')
    close(gate)
    assert witness.name not in checkpoint(gate)


def test_rolled_back_and_forked(watched, witness, number, tmp_path):
    # Shows that an older data directory is told of by the witness when the gate has started from it,
    # that another history grown from there is never cosigned, and that verifying says so.
    watched.post(f'/f/{number}', f'f-{number}')
    close_cosigned(watched, witness)
    shutil.copytree(watched.data, tmp_path / 'backup')
    watched.restart()
    for n in range(3):
        watched.post(f'/f/{number}-a{n}', f'f-{number}-a{n}')
    close_cosigned(watched, witness)
    cosigned = list(witness.cosigned)
    put_back(watched, tmp_path / 'backup')
    watched.restart()
    watched.wait_log('audit_witness_refused')
    assert 'rolled back' in watched.tail()
    for n in range(8):
        watched.post(f'/f/{number}-b{n}', f'f-{number}-b{n}')
    eventually(lambda: (422, 'no consistency') in witness.refused, what='the refusal of the fork')
    close(watched)
    assert witness.cosigned == cosigned
    assert verify(watched) == ('ok', 0), 'alone it agrees with itself'
    assert witnessed(watched, witness) == ('not-witnessed', 2)


def test_after_a_rotation(watched, witness, path, token):
    # Shows that the next epoch's key is another that the witness has to be told of.
    watched.post(path, token)
    eventually(lambda: witness.cosigned)
    first = vkey(watched)
    assert command('audit', 'rotate', '--data', watched.data).returncode == 0
    watched.post(path + '-2', token + '-2')
    watched.wait_log('audit_witness_refused')
    assert 'does not know the key that signs now' in watched.tail()
    witness.trust((watched.data / 'keys' / 'audit.1.vkey').read_text().strip())
    eventually(lambda: verify(watched, '--witness', witness.vkey, key=first) == ('ok', 0), what='its cosignature')
    close(watched)


def test_anchored_by_put(start_gate, upstream, anchor, number):
    # Shows that each checkpoint is PUT under both of its names.
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor.url + '/']}))
    gate.post(f'/p/{number}', f'p-{number}')
    eventually(lambda: 'checkpoint' in anchor.files)
    gate.post(f'/p/{number}-2', f'p-{number}-2')
    close(gate)
    newest = checkpoint(gate)
    assert anchor.files['checkpoint'] == newest
    assert anchor.files['checkpoints/' + newest.split('\n')[1]] == newest
    history = {name: text for name, text in anchor.files.items() if name != 'checkpoint'}
    assert len(history) >= 2
    for name, text in history.items():
        assert (gate.data / 'audit' / name).read_text() == text


def test_cosigned_and_anchored(start_gate, upstream, witness, anchor, path, token, tmp_path):
    # Shows that anchors of both kinds get the cosignatures as well.
    folder = tmp_path / 'folder'
    folder.mkdir()
    audit = {**SOON, 'anchors': [anchor.url, folder], 'witnesses': [witness.setting]}
    gate = start_gate(None, config(upstream, audit=audit))
    witness.trust(vkey(gate))
    gate.post(path, token)
    eventually(lambda: witness.name in anchor.files.get('checkpoint', ''))
    close(gate)
    assert anchor.files['checkpoint'] == checkpoint(gate) == (folder / 'checkpoint').read_text()


def test_an_anchor_catches_an_older_copy(start_gate, upstream, anchor, path, token, tmp_path):
    # Shows that a data directory put back from a backup does not start beside its anchor, and that
    # nothing there is written over.
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor.url]}))
    outlive(gate, path, token, tmp_path / 'backup')
    kept = dict(anchor.files)
    newest = tmp_path / 'newest'
    shutil.copytree(gate.data, newest)
    put_back(gate, tmp_path / 'backup')
    gate.launch()
    assert gate.wait_exit() != 0
    assert 'rolled back' in gate.tail() + str(gate.stdout)
    assert anchor.files == kept
    put_back(gate, newest)
    gate.restart()


def test_an_anchor_that_comes_late(start_gate, upstream, anchor, path, token, tmp_path):
    # Shows that a gate starts without an anchor it cannot reach, that what the anchor has is compared
    # before it is written to, and never written over where it contradicts the log.
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor.url]}))
    gate.post(path, token)
    close(gate)
    shutil.copytree(gate.data, tmp_path / 'backup')
    gate.restart()
    gate.post(path + '-2', token + '-2')
    close(gate)
    kept = dict(anchor.files)
    put_back(gate, tmp_path / 'backup')
    anchor.status = 503
    gate.restart()
    gate.wait_log('audit_anchor_unreachable')
    anchor.status = None
    gate.wait_log('audit_anchor_contradicts')
    assert 'rolled back' in gate.tail()
    assert gate.post(path + '-3', token + '-3').outcome == 'created', 'it runs: a person has to decide'
    close(gate)
    assert anchor.files == kept


@pytest.mark.parametrize('section, said', [
    ({'anchors': ['http://anchor.example.com/x']}, 'without TLS'),
    ({'anchors': ['http://127.example.com/x']}, 'without TLS'),
    ({'anchors': ['https://anchor.example.com/x?y=1']}, 'has a query'),
    ({'witnesses': ['https://witness.example.com']}, 'is not a URL and the key of a witness'),
    ({'witnesses': ['http://witness.example.com witness.example.com+7e62d793'
                    '+BHm1Vi6P5lT5QHixEuipi6eQH4U65pW+1+DjkQutBJZk']}, 'without TLS'),
])
def test_settings_that_cannot_be(upstream, tmp_path, section, said):
    # Shows that a wrong address or key is refused, with its place in the file.
    file = tmp_path / 'gate.yaml'
    file.write_text(json.dumps(config(upstream, audit=section)))
    done = command('config', 'check', file)
    assert done.returncode != 0 and said in done.stdout + done.stderr
    assert f'{file}:' in done.stdout + done.stderr
