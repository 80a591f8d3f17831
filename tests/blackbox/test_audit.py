"""The audit log of a gate: what it tells, what it does not hold, and what it finds out."""
import json
import shutil
import sqlite3
import stat

import pytest

from harness.gate import command, config
from harness.rules import eventually, needed, op, ruled
from harness.upstream import answer, drop
from test_crash import Crowd

SOON = {'checkpoint_interval': '100ms'}
SECRET = 'Bearer never-in-the-audit-log-31'
ACTIONS = {'deploy': {'route': 'POST /deploy/{book}',
                      'fields': {'service': needed(), 'password': {'type': 'string', 'secret': True}},
                      'lock': {'on': ['service']}}}


def vkey(gate):
    return (gate.data / 'keys' / 'audit.vkey').read_text().strip()


def verify(gate, *options, data=None, key=None):
    done = command('audit', 'verify', (data or gate.data) / 'audit', '--vkey', key or vkey(gate), *options)
    return done.stdout.split('\n')[0].split(':')[0], done.returncode


def shown(gate, *options):
    """What `audit show` prints, as objects."""
    done = command('audit', 'show', gate.data, '--json', *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def events(gate, *options):
    return ['+'.join(entry['events']) for entry in shown(gate, *options)]


def close(gate):
    gate.terminate()
    assert gate.wait_exit() == 0


def outlive(gate, path, token, copy):
    """Write, keep a copy of the data directory as it is then, write once more, and stop."""
    gate.post(path, token)
    close(gate)
    shutil.copytree(gate.data, copy)
    gate.restart()
    gate.post(path + '-2', token + '-2')
    close(gate)


def put_back(gate, copy):
    shutil.rmtree(gate.data)
    shutil.copytree(copy, gate.data)


@pytest.fixture
def audited(start_gate, upstream):
    return start_gate(None, ruled(upstream, ACTIONS, audit=SOON))


def test_four_questions(audited, upstream, path, token):
    # Shows which request sent a write, under which token and fingerprint, and what the service said.
    upstream.plan(path, answer(201, body=b'{"id": 7}'))
    headers = {'Counterfoil-Task': 'nightly', 'Counterfoil-Step': 'pay', 'X-Request-Id': 'run-77'}
    made = audited.post(path, token, headers=headers)
    audited.post(path, token)
    audited.post(path, token, json={'n': 2})
    close(audited)
    assert events(audited, '--token', token) == ['attempted+sent', 'completed', 'replayed', 'conflict']
    sent, outcome = shown(audited, '--op', made.operation)[:2]
    assert (sent['task'], sent['step'], sent['by']) == ('nightly', 'pay', 'caller')
    assert sent['token'] == token and len(sent['fingerprint']) == 64
    assert (sent['method'], sent['path'], sent['to']) == ('POST', path, 'running')
    assert sent['request']
    assert (outcome['status'], outcome['from'], outcome['to']) == (201, 'running', 'completed')
    assert outcome['length'] == 9 and len(outcome['digest']) == 64
    assert outcome['fingerprint'] == sent['fingerprint']
    text = command('audit', 'show', '--data', audited.data, '--event', 'completed').stdout
    assert made.operation in text and 'status 201' in text and 'running>completed' in text


def test_filters(audited, upstream, path, token):
    # Shows that entries are found by account, event and time, and that a time that is none is refused.
    audited.post(path, token)
    audited.post(path + '-2', token + '-2', account='Bearer somebody-else-77')
    close(audited)
    entries = shown(audited)
    assert len(shown(audited, '--account', entries[0]['account'])) == 2
    assert len(shown(audited, '--event', 'completed')) == 2
    assert len(shown(audited, '--since', entries[-1]['time'])) >= 1
    assert shown(audited, '--since', '2999-01-01T00:00:00Z') == []
    assert command('audit', 'show', audited.data, '--since', 'yesterday').returncode == 2


def test_filters_that_find_nothing(audited, path, token):
    # Shows that an id that is none is refused, that one may be in any case, and that who misspells an
    # event learns which the log tells of.
    made = audited.post(path, token)
    audited.post(path, token)
    close(audited)
    assert len(shown(audited, '--op', made.operation.lower())) == 3
    wrong = command('audit', 'show', audited.data, '--op', made.operation[:-1])
    assert wrong.returncode == 2 and 'is no operation id' in wrong.stderr
    none = command('audit', 'show', audited.data, '--event', 'complete')
    assert (none.returncode, none.stdout) == (0, '')
    assert 'tells of no "complete"; it tells of attempted, sent, completed, replayed' in none.stderr
    found = command('audit', 'show', audited.data, '--event', 'completed', '--until', '2001-01-01T00:00:00Z')
    assert 'tells of no' not in found.stderr


def test_unknown_resolved_and_lock_released(audited, upstream, number, token):
    # Shows that what people decide is in the log, with their reason.
    upstream.plan(f'/deploy/{number}', drop())
    body = {'service': f'web-{number}'}
    first = audited.post(f'/deploy/{number}', token, json=body)
    assert first.outcome == 'unknown'
    refused = audited.post(f'/deploy/{number}', token + '-2', json=body)
    assert refused.outcome == 'locked'
    assert op(audited, 'release', first.operation, '--why', 'looked at it').returncode == 0
    assert op(audited, 'resolve', first.operation, '--did-not', '--no-retry', '--why', 'asked them').returncode == 0
    close(audited)
    assert events(audited, '--op', first.operation) == ['attempted+sent', 'unknown', 'lock_forced',
                                                        'resolved+failed']
    forced, resolved = shown(audited, '--op', first.operation)[2:]
    assert (forced['by'], forced['reason']) == ('operator', 'looked at it')
    assert (resolved['by'], resolved['reason']) == ('operator', 'asked them')
    assert events(audited, '--token', token + '-2') == ['refused']
    assert verify(audited) == ('ok', 0)


def test_outbox_and_cancelling(start_gate, upstream, number, token):
    # Shows what the gate does by itself, and what a caller takes back.
    actions = {'post': {'route': 'POST /out/{book}', 'dispatch': 'outbox', 'fields': {'n': {'type': 'integer'}}}}
    gate = start_gate(None, ruled(upstream, actions, audit=SOON))
    made = gate.post(f'/out/{number}', token)
    gate.wait_state(made.operation, 'completed')
    close(gate)
    assert events(gate, '--op', made.operation) == ['attempted', 'sent', 'completed']
    assert [e['by'] for e in shown(gate, '--op', made.operation)[:2]] == ['caller', 'dispatcher']


def test_beside_a_running_gate(audited, upstream, path, token):
    # Shows that checkpoints come by themselves, and that show and verify work while the gate runs.
    audited.post(path, token)
    eventually(lambda: (audited.data / 'audit' / 'checkpoint').exists(), what='a checkpoint')
    eventually(lambda: events(audited, '--token', token) == ['attempted+sent', 'completed'])
    assert verify(audited) == ('ok', 0)
    said = command('audit', 'show', audited.data).stderr
    assert 'missing here' in said


def test_verified_while_it_is_written(audited, upstream, number):
    # Shows that whoever verifies beside a busy gate finds a whole log each time.
    crowd = Crowd(audited, f'busy-{number}')
    eventually(lambda: (audited.data / 'audit' / 'checkpoint').exists())
    results = {verify(audited) for _ in range(20)}
    crowd.join()
    assert results <= {('ok', 0), ('ok-unsealed', 0)}
    close(audited)
    assert verify(audited) == ('ok', 0)


def test_export(audited, upstream, path, token, tmp_path):
    # Shows that the whole log goes into a file of its owner's, and never over one that is there.
    audited.post(path, token)
    close(audited)
    out = tmp_path / 'out.jsonl'
    assert command('audit', 'export', audited.data, out).returncode == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == shown(audited)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert command('audit', 'export', audited.data, out).returncode == 1


def test_nothing_secret(audited, upstream, number, token):
    # Shows that bodies, secret fields and credentials are not in the log, and nothing is in the clear.
    path = f'/deploy/{number}'
    upstream.plan(path, answer(201, body=b'{"note": "an-answer-of-theirs"}'))
    audited.post(path, token, account=SECRET, headers={'Counterfoil-Task': 'a-task-of-ours'},
                 json={'service': 'a-field-of-ours', 'password': 'hunter-222222'})
    audited.post(path, token, account=SECRET, json={'service': 'changed-by-us'})
    close(audited)
    told = json.dumps(shown(audited))
    for word in (SECRET[7:], 'hunter-222222', 'an-answer-of-theirs', 'a-field-of-ours', 'changed-by-us'):
        assert word not in told, word
    words = [w.encode() for w in (SECRET[7:], 'hunter-222222', 'an-answer-of-theirs', 'a-field-of-ours',
                                  'a-task-of-ours', token, path)]
    files = [f for f in (audited.data / 'audit').rglob('*') if f.is_file()]
    assert len(files) >= 5
    db = sqlite3.connect(audited.data / 'counterfoil.db')
    rows = db.execute('SELECT entry FROM audit').fetchall()
    db.close()
    assert len(rows) == 3
    for bytes_ in [f.read_bytes() for f in files] + [row[0] for row in rows]:
        for word in words:
            assert word not in bytes_, word


def test_keys(start_gate, upstream, path, token):
    # Shows that keys are their owner's alone, that the public one is told, and that a gate whose key
    # is gone or was open to others does not start.
    gate = start_gate(None, config(upstream, audit=SOON))
    gate.post(path, token)
    keys = gate.data / 'keys'
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    for name in ('audit.key', 'audit-data.key'):
        assert stat.S_IMODE((keys / name).stat().st_mode) == 0o600
    assert vkey(gate).startswith('counterfoil.')
    assert vkey(gate) in [line.get('verifier_key') for line in gate.log_lines()]
    close(gate)
    (keys / 'audit.key').rename(gate.data / 'kept')
    gate.launch()
    assert gate.wait_exit() != 0 and 'audit.key is missing' in gate.tail() + str(gate.stdout)
    (gate.data / 'kept').rename(keys / 'audit.key')
    (keys / 'audit.key').chmod(0o644)
    gate.launch()
    assert gate.wait_exit() != 0 and 'chmod 600' in gate.tail() + str(gate.stdout)
    (keys / 'audit.key').chmod(0o600)
    gate.restart()


def test_killed_again_and_again(start_gate, upstream):
    # Shows that after kills under load each acknowledged write is in the log, which verifies.
    gate = start_gate(None, config(upstream, audit={**SOON, 'checkpoint_entries': 50}))
    acknowledged = {}
    for round in range(8):
        crowd = Crowd(gate, f'audit-{round}')
        eventually(lambda: crowd.count > 60)
        gate.kill9()
        crowd.join()
        acknowledged.update({key: r for key, r in crowd.told.items() if r is not None})
        assert verify(gate)[0] in ('ok', 'ok-unsealed', 'missing-anchor')
        gate.restart()
    close(gate)
    assert verify(gate) == ('ok', 0)
    told = {}
    for entry in shown(gate):
        told.setdefault(entry.get('operation'), []).extend(entry['events'])
    assert len(acknowledged) > 100
    for response in acknowledged.values():
        assert told[response.operation] == ['attempted', 'sent', 'completed']
    for happened in told.values():
        assert happened[:2] == ['attempted', 'sent'] and happened[2:] in (['completed'], ['unknown'])


def flip(file, at):
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def parts(folder, level):
    """What the newest checkpoint needs comes last; narrower parts are outdated."""
    return sorted((folder / 'tile' / level).rglob('*.p/*'), key=lambda file: int(file.name))


def test_tampering_is_found(audited, upstream, path, token, tmp_path):
    # Shows which word verification has for each kind of damage to the files.
    for n in range(5):
        audited.post(f'{path}-{n}', f'{token}-{n}')
    close(audited)

    def damaged(damage):
        copy = tmp_path / 'copy'
        shutil.copytree(audited.data, copy)
        damage(copy / 'audit')
        result = verify(audited, data=copy)
        shutil.rmtree(copy)
        return result
    assert damaged(lambda log: None) == ('ok', 0)
    assert damaged(lambda log: flip(parts(log, 'entries')[-1], 300)) == ('tampered', 1)
    assert damaged(lambda log: flip(parts(log, '0')[-1], 40)) == ('tampered', 1)
    assert damaged(lambda log: parts(log, 'entries')[-1].write_bytes(b''))[1] == 1
    assert damaged(lambda log: flip(log / 'checkpoint', -10))[0] in ('bad-signature', 'key-mismatch')
    other = 'somebody.else+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    assert verify(audited, key=other)[1] == 2


def test_rows_that_were_changed_are_not_signed(audited, upstream, path, token):
    # Shows that a gate finds out that its database was changed before it signs it.
    audited.post(path, token)
    audited.kill9()
    shutil.rmtree(audited.data / 'audit', ignore_errors=True)
    db = sqlite3.connect(audited.data / 'counterfoil.db', isolation_level=None)
    db.execute('UPDATE audit SET entry = zeroblob(200) WHERE seq = 0')
    db.execute('UPDATE counter SET value = 0 WHERE id = 11')
    db.close()
    audited.launch()
    assert audited.wait_exit() != 0
    assert 'tampered' in audited.tail() + str(audited.stdout)


def test_an_older_copy_is_rolled_back(start_gate, upstream, path, token, tmp_path):
    # Shows that a data directory put back from a backup is found by the anchor, by the gate that
    # would have gone on with it and by whoever verifies; without an anchor neither could.
    anchor = tmp_path / 'elsewhere'
    anchor.mkdir()
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor]}))
    outlive(gate, path, token, tmp_path / 'backup')
    assert verify(gate, '--since', anchor / 'checkpoint') == ('ok', 0)
    put_back(gate, tmp_path / 'backup')
    gate.launch()
    assert gate.wait_exit() != 0
    assert 'rolled back' in gate.tail() + str(gate.stdout)
    assert verify(gate) == ('ok', 0)
    assert verify(gate, '--since', anchor / 'checkpoint') == ('rolled-back', 1)


def test_an_anchor_that_is_away(start_gate, upstream, path, token, tmp_path):
    # Shows that a gate goes on without an anchor that cannot be reached, and says so.
    anchor = tmp_path / 'not-mounted'
    gate = start_gate(None, config(upstream, audit={**SOON, 'anchors': [anchor]}))
    gate.wait_log('audit_anchor_unreachable')
    assert gate.post(path, token).outcome == 'created'
    anchor.mkdir()
    gate.post(path + '-2', token + '-2')
    eventually(lambda: (anchor / 'checkpoint').exists(), what='the anchor')


def test_origin(start_gate, upstream, path, token):
    # Shows that the log has the name it was given, in key and checkpoint.
    gate = start_gate(None, config(upstream, audit={**SOON, 'origin': 'gate.test/payments'}))
    gate.post(path, token)
    close(gate)
    assert vkey(gate).startswith('gate.test/payments+')
    assert (gate.data / 'audit' / 'checkpoint').read_text().startswith('gate.test/payments\n2\n')
