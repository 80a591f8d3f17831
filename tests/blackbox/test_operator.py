"""`counterfoil op`: operations from the operator's side."""
import json
import time

import pytest

from harness.client import Connection, build
from harness.gate import command
from harness.upstream import answer, created, drop


def op(gate, *arguments):
    return command('op', *arguments, '--data', gate.data)


def op_json(gate, *arguments):
    done = op(gate, *arguments, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
    assert late.returncode == 1 and 'queued' in late.stderr
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
    import os
    import stat
    for root, _, files in os.walk(gate.data):
        for name in files:
            if 'token' in name or 'key' in name:
                assert stat.S_IMODE(os.stat(os.path.join(root, name)).st_mode) & 0o077 == 0, name


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
