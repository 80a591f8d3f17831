"""What is on disk and in the log while a gate runs, after a kill and after its end: nothing of what was said.

Each place where something is said has a marker of its own, which is then looked for in every file of the
data directory, in every file the gate could have left behind, and in all that it printed.
"""
import pathlib
import resource
import shutil
import signal
import sqlite3

import pytest

from harness.gate import command, files_of
from harness.rules import eventually, needed, ruled, text
from harness.upstream import Hold, answer, drop, held

PARTS = ('authorization', 'cookie', 'field', 'query', 'answerhead', 'answerbody', 'secretvalue', 'refused', 'asked')
MARK = {part: f'zq7-{part}-xk9-unheard-of' for part in PARTS}
ACCOUNT = 'Bearer ' + MARK['authorization']
FIELDS = {'service': needed(), 'customer': text(), 'password': text(secret=True), 'size': {'type': 'integer', 'secret': True}}
ACTIONS = {'notes.create': {'route': 'POST /v1/notes/{book}', 'fields': FIELDS},
           'paid.create': {'route': 'POST /v1/paid/{book}', 'fields': FIELDS, 'approval': {'when': 'always'}},
           'jobs.create': {'route': 'POST /v1/jobs/{book}', 'fields': FIELDS, 'dispatch': 'outbox'},
           'asked.create': {'route': 'POST /v1/asked/{book}', 'fields': FIELDS,
                            'probe': {'get': '/v1/asked?customer={customer}', 'found': {'status': 200},
                                      'absent': {'status': 404}, 'settle': '1h'}}}
SAID = answer(201, headers=[('Content-Type', 'text/plain'), ('X-Told', MARK['answerhead'])],
              body=f'told: {MARK["answerbody"]}'.encode())
SOON = {'checkpoint_interval': '100ms'}


def post(gate, path, token, **more):
    return gate.post(path + '?q=' + MARK['query'], token, account=ACCOUNT,
                     headers={'Cookie': 'session=' + MARK['cookie']},
                     json={'service': 'web', 'customer': MARK['asked'], 'password': MARK['field'], **more})


def assert_unheard_of(gate, *more):
    files = [(file, content) for file, content in files_of(gate.directory) if file != gate.config_file]
    assert any(file.name == 'counterfoil.db' for file, _ in files)
    for file, content in [*files, *((file, file.read_bytes()) for file in more)]:
        for part, mark in MARK.items():
            assert mark.encode() not in content, f'{part} is in {file}'
    printed = '\n'.join(gate.log + gate.stdout)
    for part, mark in MARK.items():
        assert mark not in printed, f'{part} was printed'


@pytest.fixture
def hold():
    held_back = Hold()
    yield held_back
    held_back.release()


@pytest.fixture
def told(start_gate, upstream, number, hold):
    """A gate with something of each kind in its files, one of each not ended."""
    gate = start_gate(None, ruled(upstream, ACTIONS, audit=SOON))
    paths = {kind: f'/v1/{kind}/{number}' for kind in ('notes', 'jobs', 'asked', 'paid')}
    upstream.plan(paths['notes'], SAID)
    upstream.plan(paths['jobs'], held(hold, SAID))
    upstream.plan(paths['asked'], drop())
    made = post(gate, paths['notes'], 'note-1')
    assert (made.status, made.outcome) == (201, 'created')
    again = post(gate, paths['notes'], 'note-1')
    assert (again.outcome, again.body) == ('replayed', made.body)
    assert post(gate, paths['jobs'], 'job-1').status == 202
    eventually(lambda: upstream.effects(paths['jobs']), what='the sending of the job')
    assert post(gate, paths['asked'], 'asked-1').status == 504
    waiting = post(gate, paths['paid'], 'paid-1')
    assert (waiting.status, waiting.outcome) == (202, 'awaiting_approval')
    refused = post(gate, paths['notes'], 'note-2', size=MARK['refused'])
    assert refused.status == 422 and MARK['refused'].encode() not in refused.body
    set_up = command('secret', 'set', 'pay_key', '--data', gate.data, stdin=MARK['secretvalue'])
    assert set_up.returncode == 0, set_up.stderr
    gate.paths, gate.made = paths, made
    return gate


def test_nothing_is_in_clear_while_it_runs_and_afterwards(told, hold, tmp_path):
    # Shows that no file and no line has what was said: while it runs, after a kill, and after an orderly end.
    assert (told.data / 'counterfoil.db-wal').stat().st_size > 0
    assert_unheard_of(told)
    told.kill9()
    assert_unheard_of(told)
    told.restart()
    replay = post(told, told.paths['notes'], 'note-1')
    assert (replay.outcome, replay.body) == ('replayed', told.made.body)
    assert replay.one('X-Told') == MARK['answerhead']
    exported = tmp_path / 'exported'
    eventually(lambda: 'replayed' in command('audit', 'show', told.data).stdout, what='the replay in the log')
    assert command('audit', 'export', told.data, exported).returncode == 0
    hold.release()
    told.terminate()
    assert told.wait_exit(40) == 0
    assert_unheard_of(told, exported)


def test_the_search_finds_what_is_there(told):
    # Shows that the search is not blind: what is known to be in clear is found by it.
    (told.data / 'planted').write_bytes(b'\0' * 5000 + MARK['field'].encode())
    with pytest.raises(AssertionError, match='field is in'):
        assert_unheard_of(told)


def test_abort_leaves_no_core(told):
    # Shows that a gate which is made to abort leaves nothing of its memory behind, whatever its limits were.
    limits = pathlib.Path(f'/proc/{told.pid}/limits').read_text()
    core = next(line for line in limits.splitlines() if line.startswith('Max core file size'))
    assert core.split()[4:6] == ['0', '0']
    assert resource.getrlimit(resource.RLIMIT_CORE)[1] != 0, 'the gate had one to give up'
    told.process.send_signal(signal.SIGABRT)
    told.process.wait(10)
    told._join()
    assert told.process.returncode == -signal.SIGABRT
    assert not [file for file, _ in files_of(told.directory) if file.name.startswith('core')]
    assert_unheard_of(told)


def test_stolen_directory_without_its_master_key_opens_nothing(told, hold, tmp_path):
    # Shows that a copy of the directory without the master key starts no gate and shows no entry.
    hold.release()
    told.terminate()
    assert told.wait_exit(40) == 0
    stolen = tmp_path / 'stolen'
    shutil.copytree(told.data, stolen)
    (stolen / 'keys' / 'master.key').unlink()
    for asked in (['serve', '--upstream', 'http://127.0.0.1:9', '--listen', '127.0.0.1:0', '--admin',
                   '127.0.0.1:0', '--data', stolen], ['audit', 'show', stolen], ['vault', 'show', '--data', stolen]):
        done = command(*asked)
        assert done.returncode == 1, done.stdout
        assert 'master.key is missing: put the master key back' in done.stderr
    (stolen / 'keys' / 'master.key').write_bytes(b'x' * 32)
    (stolen / 'keys' / 'master.key').chmod(0o600)
    done = command('audit', 'show', stolen)
    assert done.returncode == 1 and 'the master key does not open' in done.stderr


def answer_keys(gate):
    """Which data keys have sealed the kept answers, of a gate that has ended."""
    with sqlite3.connect(gate.data / 'counterfoil.db') as db:
        return [int.from_bytes(body[1:5], 'big') for body, in db.execute('SELECT body FROM answer ORDER BY op')]


def test_rotation_without_an_interruption(start_gate, upstream, path, token):
    # Shows that master and data key are replaced while the gate answers, and that every answer replays after it.
    upstream.plan(path, answer(201, body=b'first'), answer(201, body=b'second'), answer(201, body=b'third'))
    gate = start_gate(None, ruled(upstream, {}))
    assert gate.post(path, token + '-1').body == b'first'
    before = (gate.data / 'keys' / 'master.key').read_bytes()
    assert command('vault', 'rewrap', '--data', gate.data).returncode == 0
    assert (gate.data / 'keys' / 'master.key').read_bytes() != before
    assert gate.post(path, token + '-2').body == b'second'
    assert command('vault', 'rotate', '--data', gate.data).returncode == 0
    gate.signal_reload()
    gate.wait_log('"reloaded"')
    assert gate.post(path, token + '-3').body == b'third'
    gate.kill9()
    gate.restart()
    for number, body in enumerate([b'first', b'second', b'third'], 1):
        again = gate.post(path, f'{token}-{number}')
        assert (again.outcome, again.body) == ('replayed', body)
    assert upstream.effects(path) == 3
    gate.terminate()
    assert gate.wait_exit() == 0
    assert answer_keys(gate) == [1, 1, 2]


def test_master_key_elsewhere(start_gate, upstream, path, token, tmp_path):
    # Shows that the key may lie outside of the directory, move to a passphrase, and is then needed to read.
    key, words = tmp_path / 'master', tmp_path / 'words'
    key.write_text('0f' * 32 + '\n')
    words.write_text('twelve bytes or more\n')
    for file in (key, words):
        file.chmod(0o600)
    gate = start_gate(None, ruled(upstream, {}, master_key={'file': str(key)}, audit=SOON))
    assert not (gate.data / 'keys' / 'master.key').exists()
    upstream.plan(path, answer(201, body=b'once'))
    assert gate.post(path, token).body == b'once'
    assert command('audit', 'show', gate.data).returncode == 1
    assert command('audit', 'show', gate.data, '--config', gate.config_file).returncode == 0
    moved = command('vault', 'rewrap', '--config', gate.config_file, '--data', gate.data,
                    '--to-passphrase-file', words)
    assert moved.returncode == 0, moved.stderr
    gate.signal_reload()
    gate.wait_log('reload-refused')
    assert gate.post(path, token).outcome == 'replayed'
    gate.reload(ruled(upstream, {}, master_key={'passphrase_file': str(words)}, audit=SOON))
    gate.wait_log('"reloaded"')
    gate.kill9()
    gate.restart()
    assert gate.post(path, token).body == b'once'


def test_lost_or_older_keys_are_refused(start_gate, upstream, path, token):
    # Shows that a gate does not begin anew with keys that cannot read what is there.
    gate = start_gate(None, ruled(upstream, {}))
    gate.post(path, token)
    gate.kill9()
    vault = gate.data / 'keys' / 'vault.json'
    kept = vault.read_bytes()
    vault.unlink()
    gate.launch()
    assert gate.wait_exit() == 1
    assert 'keys/vault.json does not have: put that file back' in gate.tail()
    vault.write_bytes(kept)
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'


def test_wrong_settings_are_said(upstream, tmp_path):
    # Shows that a key in two places is an error with its line, before anything is made.
    file = tmp_path / 'two.yaml'
    file.write_text(ruled(upstream, {}, master_key={'file': '/k', 'credential': 'c'}))
    done = command('config', 'check', file)
    assert done.returncode == 2
    assert 'the master key cannot be in several places' in done.stderr + done.stdout
