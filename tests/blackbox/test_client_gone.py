"""The caller goes away: a protected operation that was sent runs to its end all the same."""
import time

import pytest

from harness.client import build
from harness.gate import head_lines
from harness.upstream import Hold, answer, held


def start(gate, path, token, account, body=b'{"n": 1}'):
    """A POST under way, and the connection it came on."""
    connection = gate.connect()
    connection.send(build('POST', path, head_lines(token, account, json=1), body))
    return connection


@pytest.mark.parametrize('how', ['close', 'abort', 'half_close'])
def test_gone_while_it_runs(gate, upstream, path, token, account, how):
    # Shows that a caller that leaves stops nothing: the operation completes, and a retry replays it.
    hold = Hold()
    upstream.plan(path, held(hold, answer(201, body=b'done')))
    connection = start(gate, path, token, account)
    hold.wait_entered()
    getattr(connection, how)()
    running = gate.post(path, token, account=account)
    assert running.outcome == 'running'
    hold.release()
    gate.wait_state(running.operation, 'completed', account=account)
    again = gate.post(path, token, account=account)
    assert (again.status, again.body, again.outcome) == (201, b'done', 'replayed')
    assert upstream.effects(path) == 1
    connection.close()


def test_history_says_that_the_answer_was_lost(gate, upstream, path, token, account):
    # Shows that the attempt whose caller left has `delivered` false, and those that were answered have not.
    hold = Hold()
    upstream.plan(path, held(hold, answer(201, body=b'done')))
    connection = start(gate, path, token, account)
    hold.wait_entered()
    connection.abort()
    id = gate.post(path, token, account=account).operation
    hold.release()
    gate.wait_state(id, 'completed', account=account)
    other = gate.post(path + '-2', token + '-2', account=account).operation
    gate.post(path, token, account=account)  # its note comes last
    attempts = wait_attempts(gate, id, account, lambda all: len(all) == 3 and all[0]['delivered'] is not None)
    assert [(a['outcome'], a['delivered']) for a in attempts] == [
        ('created', False), ('running', True), ('replayed', True)]
    assert [a['delivered'] for a in gate.operation(other, account)['attempts']] == [None]


def wait_attempts(gate, id, account, is_done):
    """What is learned late about an attempt is written within a second or two."""
    deadline = time.monotonic() + 5
    while True:
        attempts = gate.operation(id, account)['attempts']
        if is_done(attempts):
            return attempts
        assert time.monotonic() < deadline, attempts
        time.sleep(0.05)


def test_gone_during_the_answer(gate, upstream, path, token, account):
    # Shows that an answer that never got out whole is whole for the one who asks again.
    big = b'x' * 900000
    upstream.plan(path, answer(200, body=big))
    connection = start(gate, path, token, account)
    connection.read_head()
    connection.abort()
    again = gate.post(path, token, account=account)
    assert again.outcome == 'replayed' and again.body == big
    assert upstream.effects(path) == 1


def test_gone_before_the_body_was_whole(gate, upstream, path, token, account):
    # Shows that an unfinished request is no intention: nothing is sent, and no record is made.
    with gate.connect() as connection:
        connection.send(build('POST', path, head_lines(token, account, json=1) + [('Content-Length', '100')]))
        connection.send(b'{"n"')
    listed = gate.get(f'/.counterfoil/operations?token={token}', account=account).json()
    assert listed['operations'] == []
    assert gate.post(path, token, account=account).outcome == 'created'
    assert upstream.effects(path) == 1


def test_many_callers_that_leave(gate, upstream, path, token, account):
    # Shows that thirty abandoned operations all end, each with one effect.
    for n in range(30):
        start(gate, f'{path}-{n}', f'{token}-{n}', account).abort()
    for n in range(30):
        final = gate.post(f'{path}-{n}', f'{token}-{n}', account=account, headers={'Prefer': 'wait=10'})
        assert final.outcome in ('created', 'replayed'), final
        assert upstream.effects(f'{path}-{n}') == 1


def test_gone_while_waiting(gate, upstream, path, token, account):
    # Shows that a waiting duplicate may leave too: the first gets its answer, the gate lives on.
    hold = Hold()
    upstream.plan(path, held(hold))
    first = start(gate, path, token, account)
    hold.wait_entered()
    for _ in range(5):
        waiter = gate.connect()
        waiter.send(build('POST', path, head_lines(token, account, {'Prefer': 'wait=10'}, json=1), b'{"n": 1}'))
        assert not waiter.has_bytes_within(0.05)
        waiter.abort()
    hold.release()
    assert first.read_response('POST').outcome == 'created'
    assert upstream.effects(path) == 1
