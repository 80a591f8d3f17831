"""A gate that verifies its own audit log while it runs: POST /api/audit/verify, and what the status says then."""
import json
import shutil
import threading

import pytest

from harness.audit_log import leaf, read_entries
from harness.client import assert_problem
from harness.gate import command, config
from harness.metrics import samples
from harness.people import Person, new_key
from harness.rules import eventually
from test_audit import SOON, close, flip, parts, vkey
from test_audit_epochs import erase, rotate, wait_erased
from test_console_api import Listener, session_of
from test_crash import Crowd

GOOD = {'ok', 'ok-unsealed'}


def status(gate):
    response = gate.operator('/api/audit/status')
    assert response.status == 200, response
    return response.json()


def verification(gate):
    return status(gate)['verification']


def verify(gate, person=None):
    """Have it verified, and wait for the end of that run: what it found."""
    person = person or Person(gate)
    before = verification(gate)
    assert not before['running'], before
    started = person.ask('/api/audit/verify', 'POST')
    assert started.status == 202, started
    return wait_end(gate, before['last'])


def wait_end(gate, before):
    found = eventually(lambda: (now := verification(gate)) and not now['running'] and now['last'] != before and now,
                       what='the end of a verification')
    return found['last']


def logged(gate):
    """The line of the run that ended last."""
    gate.wait_log('audit_verified')
    return [line for line in gate.log_lines() if line.get('event') == 'audit_verified'][-1]


def wait_published(gate, size):
    eventually(lambda: status(gate)['size'] >= size, what=f'{size} entries under a checkpoint')


@pytest.fixture
def gate(start_gate, upstream):
    return start_gate(None, config(upstream, audit=SOON))


@pytest.fixture
def written(gate, number):
    """A gate with 280 entries that are published, and nothing more to publish."""
    for n in range(140):
        gate.post(f'/written-{number}/{n}', f'written-{number}-{n}')
    wait_published(gate, 280)
    return gate


def test_nothing_is_there_yet(gate):
    # Shows that a gate that has written nothing was never verified, and finds nothing to verify.
    assert verification(gate) == {'running': False, 'key': vkey(gate), 'last': None}
    found = verify(gate)
    assert (found['result'], found['entries']) == ('missing-anchor', 0)


def test_in_the_words_of_the_command(written):
    # Shows that the gate finds what `audit verify --json` finds, in the same members, and says when.
    found = verify(written)
    done = command('audit', 'verify', written.data / 'audit', '--vkey', vkey(written), '--json')
    offline = json.loads(done.stdout)
    assert found['result'] == 'ok' and found['entries'] == 280 and found['head']['size'] == 280
    assert set(found) == {'begun', 'ended', *offline}
    # It counts the checkpoint that it began with once more.
    assert {**offline, 'checkpoints': 0} == {k: 0 if k == 'checkpoints' else found[k] for k in offline}
    assert found['begun'] <= found['ended']
    assert logged(written)['result'] == 'ok'


def test_who_may(written):
    # Shows that whoever reads the audit log may have it verified, an auditor of one account too, and
    # that nobody else may.
    for more in ({}, {'all_accounts': True}):
        auditor = Person(written, new_key(written, 'auditor', 'ada', **more)[1])
        assert verify(written, auditor)['result'] in GOOD
        assert auditor.ask('/api/audit/status').json()['verification']['last']['result'] in GOOD
    for role in ('approver', 'agent'):
        other = Person(written, new_key(written, role, 'eve')[1])
        assert other.ask('/api/audit/verify', 'POST').status in (401, 403)
    assert written.admin('/api/audit/verify', 'POST', body=b'').status == 401
    assert_problem(written.operator('/api/audit/verify'), 405, 'method-not-allowed', operation=False)


def test_an_entry_edited(written):
    # Shows that a changed byte is found under the running gate, and in which entry.
    flip(parts(written.data / 'audit', 'entries')[-1], 300)
    found = verify(written)
    assert found['result'] == 'tampered' and found['why']
    assert found['first_bad'] == {'from': 256, 'to': 256}
    assert (logged(written)['result'], logged(written)['level']) == ('tampered', 'error')


def test_a_tile_edited(written):
    # Shows that a changed hash of the tree is found under the running gate.
    file = written.data / 'audit' / 'tile' / '0' / '000'
    flip(file, 32 * 17)
    found = verify(written)
    assert (found['result'], found['first_bad']) == ('tampered', {'from': 17, 'to': 17})
    flip(file, 32 * 17)
    assert verify(written)['result'] == 'ok'


def test_a_bundle_removed(written):
    # Shows that entries that are gone are missed under the running gate, at the beginning and at the end.
    bundle = written.data / 'audit' / 'tile' / 'entries' / '000'
    bundle.rename(written.data / 'kept')
    found = verify(written)
    assert (found['result'], found['first_bad']) == ('tampered', {'from': 0, 'to': 0})
    (written.data / 'kept').rename(bundle)
    for part in parts(written.data / 'audit', 'entries'):
        part.unlink()
    found = verify(written)
    assert (found['result'], found['entries']) == ('truncated', 256)


def test_a_folder_removed(written):
    # Shows that a log that is gone is missed by who published it.
    assert verify(written)['result'] == 'ok'
    (written.data / 'audit').rename(written.data / 'gone')
    found = verify(written)
    assert (found['result'], found['entries']) == ('truncated', 0)


def test_a_checkpoint_rolled_back(written, tmp_path):
    # Shows that an older checkpoint, and a whole older log that agrees with itself, are rolled back for
    # the gate that published more, also before it has verified anything.
    log = written.data / 'audit'
    shutil.copytree(log, tmp_path / 'older')
    written.post('/later', 'later-1')
    wait_published(written, 282)
    shutil.copytree(log, tmp_path / 'newer')
    shutil.copy(tmp_path / 'older' / 'checkpoint', log / 'checkpoint')
    found = verify(written)
    assert found['result'] == 'rolled-back' and '280' in found['why'] and '282' in found['why']
    shutil.rmtree(log)
    shutil.copytree(tmp_path / 'older', log)
    assert command('audit', 'verify', log, '--vkey', vkey(written)).returncode == 0
    assert verify(written)['result'] == 'rolled-back'
    shutil.rmtree(log)
    shutil.copytree(tmp_path / 'newer', log)
    assert verify(written)['result'] == 'ok'


def test_rolled_back_to_before_this_gate(written, tmp_path):
    # Shows that a gate knows what was there when it began, too.
    log = written.data / 'audit'
    shutil.copytree(log, tmp_path / 'older')
    written.post('/later', 'later-1')
    wait_published(written, 282)
    close(written)
    written.restart()
    shutil.rmtree(log)
    shutil.copytree(tmp_path / 'older', log)
    assert verify(written)['result'] == 'rolled-back'


def test_the_key_is_the_gates_own(written):
    # Shows that a key put into the data directory later is not believed.
    other = 'other.example+62b04a10+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4'
    key = vkey(written)
    (written.data / 'keys' / 'audit.vkey').write_text(other + '\n')
    assert verify(written)['result'] == 'ok'
    assert verification(written)['key'] == key


def test_beside_a_busy_gate(gate, number):
    # Shows that a log that moves all the time, ends epochs and loses pruned entries is whole each time.
    crowd = Crowd(gate, f'busy-{number}')
    wait_published(gate, 1)
    results = set()
    for round in range(30):
        results.add(verify(gate)['result'])
        if round % 10 == 5:
            rotate(gate)
        if round == 20:
            wait_erased(gate, 'audit.key')
            erase(gate, 0, '--prune')
    crowd.join()
    assert results <= GOOD
    assert crowd.count > 50
    last = verify(gate)
    assert last['epochs'] == 4 and last['erased'] == 1
    close(gate)


def test_one_at_a_time(written):
    # Shows that many who ask at once are all told how it stands, and that what they get is whole.
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(written.operator('/api/audit/verify', 'POST')))
               for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status for answer in answers] == [202] * 20
    assert wait_end(written, None)['result'] == 'ok'
    runs = [line for line in written.log_lines() if line.get('event') == 'audit_verified']
    assert 1 <= len(runs) <= 20


def test_ended_with_the_gate(start_gate, upstream, number):
    # Shows that a gate that stops ends a verification, whenever that is.
    gate = start_gate(None, config(upstream, audit=SOON))
    for n in range(400):
        gate.post(f'/ends-{number}/{n}', f'ends-{number}-{n}')
    for _ in range(5):
        assert gate.operator('/api/audit/verify', 'POST').status == 202
        close(gate)
        gate.restart()
    assert verify(gate)['result'] == 'ok'


def test_leaves_are_what_they_were(written):
    # Shows that verifying changes no file: the entries and the newest checkpoint are what they were.
    log = written.data / 'audit'
    before = ([leaf(entry) for entry in read_entries(log)], (log / 'checkpoint').read_bytes())
    assert verify(written)['result'] == 'ok'
    assert ([leaf(entry) for entry in read_entries(log)], (log / 'checkpoint').read_bytes()) == before


def test_its_end_is_heard(gate):
    # Shows that pages that listen are told of a verification, and not what it found.
    cookie, _ = session_of(gate, {'key': (gate.data / 'admin-token').read_text().strip()})
    listener = Listener(gate, cookie)
    listener.wait(b'retry:')
    verify(gate)
    listener.wait(b'data: {"kind":"audit","id":null}')
    assert b'missing-anchor' not in listener.seen
    listener.close()


def test_the_status_is_as_described(written):
    # Shows that what a verification is told as has the members of the API's description, and no other.
    found = verify(written)
    schema = written.operator('/api/openapi.json').json()['components']['schemas']['Verification']
    assert set(schema['required']) == set(verification(written))
    assert set(found) == set(schema['properties']['last']['properties'])
    assert found['result'] in schema['properties']['last']['properties']['result']['enum']


def test_a_checkpoint_that_is_none(written):
    # Shows that the status and verification are told also where the newest checkpoint cannot be read.
    (written.data / 'audit' / 'checkpoint').write_bytes(b'nothing')
    assert verify(written)['result'] == 'bad-signature'
    now = status(written)
    assert (now['readable'], now['checkpoint'], now['size']) == (False, None, 0)


def test_by_itself(start_gate, upstream, number):
    # Shows that with audit.verify the gate looks again and again, and that what it finds is in its metrics.
    gate = start_gate(None, config(upstream, audit={**SOON, 'verify': '1s'}))

    def told():
        found = samples(gate)
        return [found['counterfoil_audit_' + name] for name in ('verified_timestamp_seconds', 'verification_bad')]

    for n in range(140):
        gate.post(f'/itself-{number}/{n}', f'itself-{number}-{n}')
    wait_published(gate, 280)
    first = eventually(lambda: (last := verification(gate)['last']) and last['entries'] == 280 and last, what='a look')
    assert first['result'] in GOOD
    assert told()[0] > 0 and told()[1] == 0
    eventually(lambda: verification(gate)['last']['begun'] > first['begun'], what='another look')
    flip(gate.data / 'audit' / 'tile' / 'entries' / '000', 300)
    eventually(lambda: told()[1] == 1, what='what it finds')
    assert verification(gate)['last']['result'] == 'tampered'
    assert [line['level'] for line in gate.log_lines() if line.get('event') == 'audit_verified'][-1] == 'error'


def test_not_by_itself(written):
    # Shows that by default it looks only when asked.
    found = samples(written)
    assert found['counterfoil_audit_verified_timestamp_seconds'] == found['counterfoil_audit_verification_bad'] == 0
    assert verify(written)['result'] in GOOD
    assert samples(written)['counterfoil_audit_verified_timestamp_seconds'] > 0
