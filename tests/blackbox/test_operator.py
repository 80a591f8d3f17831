"""`counterfoil op`: operations from the operator's side."""
import json
import pathlib
import stat
import time

import pytest

from harness.client import Connection, build
from harness.gate import Gate, command, files_of
from harness.upstream import answer, created, drop


TEXT = {'type': 'string', 'required': True}
MONEY = {'amount': {'type': 'money', 'currency': 'EUR', 'required': True}}
ACTIONS = {
    'deploy': {'route': 'POST /deploy', 'fields': {'service': TEXT},
               'lock': {'on': ['service'], 'held': 'queue'}},
    'post': {'route': 'POST /post', 'fields': {'title': TEXT}, 'dispatch': 'outbox'},
    'pay': {'route': 'POST /pay', 'fields': MONEY, 'opens_budget': {'id': 'response/id', 'amount': 'amount'}},
    'refund': {'route': 'POST /refund', 'fields': {'payment': TEXT, **MONEY},
               'budget': {'of': 'payment', 'amount': 'amount'}},
}


def op(gate, *arguments):
    return command('op', *arguments, '--data', gate.data)


def op_json(gate, *arguments):
    done = op(gate, *arguments, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope='module')
def ruled(upstream, tmp_path_factory):
    """A gate whose actions have rules."""
    text = json.dumps({'upstreams': {'default': {'url': upstream.url}}, 'actions': ACTIONS})
    running = Gate(tmp_path_factory.mktemp('ruled'), None, text).start()
    yield running
    running.stop()


def test_list(gate, upstream, path, token, account):
    # Shows that the operator sees the operations of all accounts, newest first.
    ids = [gate.post(path, f'{token}-{n}', account=f'{account}-{n}').operation for n in range(3)]
    listed = [o['id'] for o in op_json(gate, 'list')['operations']]
    assert [i for i in listed if i in ids] == sorted(ids, reverse=True)
    text = op(gate, 'list')
    assert text.returncode == 0 and all(i in text.stdout for i in ids)


def test_list_by_state(gate, upstream, path, token):
    # Shows the question an operator asks: what is unknown?
    upstream.plan(path, drop())
    unknown = gate.post(path, token).operation
    known = gate.post(path + '-2', token + '-2').operation
    listed = [o['id'] for o in op_json(gate, 'list', '--state', 'unknown')['operations']]
    assert unknown in listed and known not in listed


def test_list_by_reference(gate, upstream, path, token):
    # Shows that what the service calls an effect leads to its operation.
    upstream.plan(path, drop())
    id = gate.post(path, token).operation
    gate.post(path + '-2', token + '-2')
    assert op(gate, 'resolve', id, '--happened', '--why', 'seen', '--reference', f'o {token}').returncode == 0
    assert [o['id'] for o in op_json(gate, 'list', '--reference', f'o {token}')['operations']] == [id]
    assert op_json(gate, 'list', '--reference', f'no {token}')['operations'] == []


def test_show(gate, path, token):
    # Shows one operation with its state, request and attempts.
    id = gate.post(path, token).operation
    document = op_json(gate, 'show', id)
    assert document['id'] == id and document['state'] == 'completed'
    text = op(gate, 'show', id)
    assert text.returncode == 0 and id in text.stdout and 'completed' in text.stdout


def test_show_nothing(gate):
    # Shows that what is not there is 1, and what is no id at all is 2.
    assert op(gate, 'show', 'op_00000000000000000000000000').returncode == 1
    assert op(gate, 'show', 'nonsense').returncode == 2


@pytest.fixture
def unknown(gate, upstream, path, token):
    upstream.plan(path, drop(), created())
    first = gate.post(path, token)
    assert first.state == 'unknown'
    return first.operation


def test_resolve_happened(gate, upstream, path, token, unknown):
    # Shows that "it happened" completes the operation for good: retries are told so, nothing is sent.
    done = op(gate, 'resolve', unknown, '--happened', '--why', 'seen in the ledger', '--reference', 'obj_77')
    assert done.returncode == 0, done.stderr
    document = op_json(gate, 'show', unknown)
    assert document['state'] == 'completed'
    assert 'seen in the ledger' in json.dumps(document) and 'obj_77' in json.dumps(document)
    again = gate.post(path, token)
    assert again.state == 'completed' and again.outcome != 'created'
    assert upstream.effects(path) == 1


def test_resolve_did_not(gate, upstream, path, token, unknown):
    # Shows that "it did not" frees the token: the caller's next try is sent, under the same operation.
    done = op(gate, 'resolve', unknown, '--did-not', '--why', 'no trace of it')
    assert done.returncode == 0, done.stderr
    assert op_json(gate, 'show', unknown)['state'] in ('queued', 'failed')
    count = len(upstream.seen(path))
    again = gate.post(path, token)
    if again.outcome == 'created':
        assert again.operation == unknown and len(upstream.seen(path)) == count + 1
        assert gate.post(path, token).outcome == 'replayed'
    else:
        assert again.state == 'failed' and len(upstream.seen(path)) == count


def test_what_is_sent_after_all_is_nobodys_decision(gate, path, token, unknown):
    # Shows that a decision that a later answer has overtaken is in the time line, and no longer the
    # reason of the operation.
    op(gate, 'resolve', unknown, '--did-not', '--why', 'no trace of it')
    assert gate.post(path, token).outcome == 'created'
    document = op_json(gate, 'show', unknown)
    assert (document['state'], document['reason'], document['decided_by']) == ('completed', None, None)
    assert ('operator', 'resolved: it did not happen; no trace of it') in [
        (a['by'], a['note']) for a in document['attempts']]
    assert 'operator: resolved: it did not happen; no trace of it' in op(gate, 'show', unknown).stdout


def test_resolve_asks_for_a_reason(gate, unknown):
    # Shows that a decision without a reason, or without a side, is not one.
    assert op(gate, 'resolve', unknown, '--happened').returncode == 2
    assert op(gate, 'resolve', unknown, '--why', 'because').returncode == 2
    assert op(gate, 'resolve', unknown, '--happened', '--did-not', '--why', 'both').returncode == 2
    assert op_json(gate, 'show', unknown)['state'] == 'unknown'


def test_resolve_only_what_is_unknown(gate, path, token):
    # Shows that facts cannot be overruled: a completed operation stays completed.
    id = gate.post(path, token).operation
    for side in ('--happened', '--did-not'):
        assert op(gate, 'resolve', id, side, '--why', 'I say so').returncode == 1
    assert op_json(gate, 'show', id)['state'] == 'completed'


def test_resolve_twice(gate, unknown):
    # Shows that the first decision stands.
    assert op(gate, 'resolve', unknown, '--happened', '--why', 'one').returncode == 0
    assert op(gate, 'resolve', unknown, '--did-not', '--why', 'two').returncode == 1
    assert op_json(gate, 'show', unknown)['state'] == 'completed'


def test_resolve_survives_a_crash(start_gate, upstream, path, token):
    # Shows that a decision is durable when the command returns.
    gate = start_gate(upstream)
    upstream.plan(path, drop())
    id = gate.post(path, token).operation
    assert op(gate, 'resolve', id, '--happened', '--why', 'seen').returncode == 0
    gate.kill9()
    gate.restart()
    assert op_json(gate, 'show', id)['state'] == 'completed'
    assert upstream.effects(path) == 1


def test_cancel(gate, upstream, path, token):
    # Shows that what was not sent can be cancelled by the operator, and then never runs.
    upstream.plan(path, answer(503, works=False))
    id = gate.post(path, token).operation
    assert op(gate, 'cancel', id, '--why', 'no longer wanted').returncode == 0
    assert op_json(gate, 'show', id)['state'] == 'cancelled'
    assert gate.post(path, token).state == 'cancelled'
    assert upstream.effects(path) == 0


def test_cancel_comes_too_late(gate, path, token):
    # Shows that what was sent cannot be.
    id = gate.post(path, token).operation
    late = op(gate, 'cancel', id, '--why', 'oops')
    assert late.returncode == 1 and 'has not been sent' in late.stderr
    assert op_json(gate, 'show', id)['state'] == 'completed'


def test_without_a_gate(start_gate, upstream):
    # Shows that commands say plainly that no gate is there.
    gate = start_gate(upstream)
    gate.terminate()
    assert gate.wait_exit() == 0
    done = op(gate, 'list')
    assert done.returncode == 1 and done.stderr.strip()
    assert done.stdout == ''


def test_the_operators_secret_is_private(gate):
    # Shows that what lets the operator in is readable by the gate's user alone.
    for file, facts in files_of(gate.data, pathlib.Path.stat):
        if 'token' in file.name or 'key' in file.name:
            assert stat.S_IMODE(facts.st_mode) & 0o077 == 0, file


def statement(gate, id, document):
    """A resolution over the admin API, as the bytes of its head and of its body."""
    key = (gate.data / 'admin-token').read_text().strip()
    body = json.dumps(document).encode()
    head = build('POST', f'/api/operations/{id}/resolve',
                 [('Authorization', 'Bearer ' + key), ('Content-Length', str(len(body)))])
    return head, body


@pytest.mark.parametrize('retry', ['false', 0, None, [], {}])
def test_resolve_reads_no_word_into_a_flag(gate, upstream, path, token, unknown, retry):
    # Shows that "did not happen" with a `retry` that is neither true nor false is refused: taken
    # for true, it would let the caller send again what the operator meant to end.
    with Connection(gate.admin_port) as connection:
        head, body = statement(gate, unknown, {'happened': False, 'retry': retry, 'why': 'looked'})
        connection.send(head + body)
        assert connection.read_response('POST').status == 400
    assert gate.post(path, token).slug == 'outcome-unknown'
    assert upstream.effects(path) == 1


def test_resolve_says_nothing_of_a_retry(gate, upstream, path, token, unknown):
    # Shows that "did not happen" alone ends it: its caller sends again only where somebody has said so.
    with Connection(gate.admin_port) as connection:
        head, body = statement(gate, unknown, {'happened': False, 'why': 'looked'})
        connection.send(head + body)
        assert connection.read_response('POST').json()['state'] == 'failed'
    gate.post(path, token)
    assert upstream.effects(path) == 1


def test_resolve_while_the_gate_ends(start_gate, upstream, path, token):
    # Shows that a statement whose end is still coming in when the gate stops is taken and answered.
    gate = start_gate(upstream)
    upstream.plan(path, drop())
    id = gate.post(path, token).operation
    with Connection(gate.admin_port) as connection:
        head, body = statement(gate, id, {'happened': False, 'retry': False, 'why': 'looked'})
        connection.send(head + body[:7])
        gate.get(path)
        gate.terminate()
        gate.wait_log('draining')
        time.sleep(0.5)
        connection.send(body[7:])
        response = connection.read_response('POST')
        assert (response.status, response.json()['state']) == (200, 'failed')
    assert gate.wait_exit() == 0
    gate.restart()
    assert gate.operation(id)['state'] == 'failed'


def test_list_says_where_to_read_of_queued_ones(gate, upstream, path, token, account):
    # Shows that a list with something queued in it says how to see what that waits for.
    upstream.plan(path, answer(503, works=False))
    gate.post(path, token, account=account)
    gate.post(path + '-2', token + '-2', account=account + '-2')
    assert 'op show' in op(gate, 'list', '--state', 'queued').stderr
    assert 'op show' not in op(gate, 'list', '--state', 'completed').stderr


@pytest.fixture
def lost(ruled, upstream, token):
    """An unknown operation that holds a lock."""
    upstream.plan('/deploy', drop())
    first = ruled.post('/deploy', token, json={'service': token})
    assert first.state == 'unknown'
    return first.operation


def locks_named(gate, name, *options):
    return [lock for lock in op_json(gate, 'locks', *options)['locks'] if name in lock['name']]


def test_locks_by_what_is_asked(ruled, token, lost):
    # Shows that locks can be asked for by being held and by being waited for, for people and programs.
    assert len(locks_named(ruled, token)) == len(locks_named(ruled, token, '--held')) == 1
    assert locks_named(ruled, token, '--waiting') == []
    waiting = ruled.post('/deploy', token + '-2', json={'service': token}).operation
    [lock] = locks_named(ruled, token, '--held', '--waiting')
    assert lock['holder']['id'] == lost and lock['waiters'] == [waiting] and lock['waiting'] == 1
    assert all(id in op(ruled, 'locks', '--waiting').stdout for id in (lost, waiting))


def test_show_says_what_a_queued_one_waits_for(ruled, token, lost):
    # Shows that the page of one that waits for a lock names the lock and who holds it.
    waiting = ruled.post('/deploy', token + '-2', json={'service': token}).operation
    shown = op(ruled, 'show', waiting).stdout
    assert f'service={token}' in shown and f'waits for it; held by {lost}' in shown
    assert 'held by it' in op(ruled, 'show', lost).stdout


@pytest.mark.parametrize('side', ['--happened', '--did-not'])
def test_resolve_lets_the_next_one_in(ruled, token, lost, side):
    # Shows that what is known about a lock's holder, either way, gives the lock to who waits for it.
    waiting = ruled.post('/deploy', token + '-2', json={'service': token}).operation
    assert op(ruled, 'resolve', lost, side, '--why', 'looked').returncode == 0
    ruled.wait_state(waiting, 'completed')


def test_release_asks_for_a_reason(ruled, token, lost):
    # Shows that a lock is not taken away without a reason, over the admin API either.
    assert op(ruled, 'release', lost).returncode == 2
    key = (ruled.data / 'admin-token').read_text().strip()
    response = ruled.admin(f'/api/operations/{lost}/release', 'POST', [('Authorization', 'Bearer ' + key)], b'{}')
    assert response.status == 400
    assert [lock['holder']['id'] for lock in locks_named(ruled, token)] == [lost]


def test_resolve_did_not_of_what_the_gate_sends(ruled, upstream, token):
    # Shows that an operation of the dispatcher's is sent again by it once a person says that it did
    # not arrive: its caller has long gone.
    upstream.plan('/post', drop())
    id = ruled.post('/post', token, json={'title': token}).operation
    ruled.wait_state(id, 'unknown')
    assert op(ruled, 'resolve', id, '--did-not', '--why', 'no trace of it').returncode == 0
    ruled.wait_state(id, 'completed')


def test_resolve_without_a_reference_opens_no_budget(ruled, upstream, token):
    # Shows that nobody can spend from a payment that happened, as long as nobody says which it is.
    upstream.plan('/pay', drop())
    id = ruled.post('/pay', token, json={'amount': 500}).operation
    assert op(ruled, 'resolve', id, '--happened', '--why', 'seen').returncode == 0
    refused = ruled.post('/refund', token + '-r', json={'payment': token, 'amount': 1})
    assert refused.slug == 'budget-unknown'


def test_resolve_is_about_the_sending_that_was_looked_at(gate, upstream, path, token):
    # Shows that with --epoch a word about an earlier sending decides nothing about a later one, which
    # may have acted; and that of the right one it counts.
    upstream.plan(path, drop(works=False), drop())
    unknown = gate.post(path, token).operation
    epoch = str(op_json(gate, 'show', unknown)['epoch'])
    said = ('--did-not', '--why', 'looked', '--epoch', epoch)
    assert op(gate, 'resolve', unknown, *said).returncode == 0
    again = gate.post(path, token)
    assert (again.operation, again.state) == (unknown, 'unknown')
    late = op(gate, 'resolve', unknown, *said)
    assert late.returncode == 1 and 'sent again' in late.stderr, late
    assert op_json(gate, 'show', unknown)['state'] == 'unknown'
    assert op(gate, 'resolve', unknown, '--did-not', '--why', 'x', '--epoch', 'x').returncode == 2
