"""The status resource: what an operation is, was told, and answered."""
import concurrent.futures
import re

import pytest

from harness.client import assert_problem, assert_retry
from harness.upstream import Hold, answer, drop, held

ID = re.compile(r'op_[0-9A-HJKMNP-TV-Z]{26}')


def listed(gate, account, query=''):
    return gate.get('/.counterfoil/operations' + query, account=account).json()


def test_by_id(gate, path, token, account):
    # Shows that the operation says what it is: id, state, fingerprint, times, attempts, advice.
    first = gate.post(path, token, account=account)
    response = gate.get(f'/.counterfoil/operations/{first.operation}', account=account)
    assert response.status == 200
    assert response.one('Content-Type').split(';')[0] == 'application/json'
    document = response.json()
    assert document['id'] == first.operation
    assert document['state'] == 'completed'
    assert re.search(r'[0-9a-f]{64}', document['fingerprint'])
    assert len(document['attempts']) == 1
    assert document['attempts'][0]['outcome'] == 'created'
    assert_retry(document['retry'])


def test_asking_is_no_attempt_and_no_effect(gate, upstream, path, token, account):
    # Shows that looking neither sends anything nor counts as an attempt.
    first = gate.post(path, token, account=account)
    for _ in range(3):
        gate.operation(first.operation, account)
    assert len(gate.operation(first.operation, account)['attempts']) == 1
    assert upstream.effects(path) == 1


def test_it_is_not_the_services_to_answer(gate, upstream):
    # Shows that everything under the prefix is the gate's own, also what does not exist.
    for target in ('/.counterfoil/nothing/', '/.counterfoil/nothing', '/.counterfoil/operations/op_x',
                   '/.counterfoil/operations/' + 'x' * 500, '/%2Ecounterfoil/nothing'):
        assert gate.get(target).status in (400, 404), target
        assert upstream.seen(target) == []


def test_lower_case_ids(gate, path, token, account):
    # Shows that an id is found in either case, as Crockford's base32 has it.
    first = gate.post(path, token, account=account)
    lower = 'op_' + first.operation[3:].lower()
    assert gate.operation(lower, account)['id'] == first.operation


def test_by_token(gate, path, token, account):
    # Shows that an operation is found by its token, without having seen its id.
    first = gate.post(path, token, account=account)
    gate.post(path, token + '-other', account=account)
    found = listed(gate, account, f'?token={token}')
    assert [o['id'] for o in found['operations']] == [first.operation]
    assert listed(gate, account, '?token=never-used')['operations'] == []


def test_by_an_escaped_token(gate, path, account):
    # Shows that a token with reserved characters is found percent-encoded.
    key = 'a+b/c=d&e?f#g%h'
    first = gate.post(path, key, account=account)
    quoted = ''.join('%%%02X' % ord(c) for c in key)
    assert [o['id'] for o in listed(gate, account, f'?token={quoted}')['operations']] == [first.operation]


def test_by_state(gate, upstream, path, token, account):
    # Shows that a list can be of one state.
    upstream.plan(path, answer(201), answer(404), drop())
    ids = {gate.post(path, f'{token}-{n}', account=account).operation: state
           for n, state in enumerate(('completed', 'failed', 'unknown'))}
    for id, state in ids.items():
        assert [o['id'] for o in listed(gate, account, f'?state={state}')['operations']] == [id]
    assert gate.get('/.counterfoil/operations?state=wrong', account=account).status == 400


def test_pages_newest_first(gate, path, token, account):
    # Shows that a list goes from new to old in pages without gap or repetition.
    made = [gate.post(path, f'{token}-{n}', account=account).operation for n in range(7)]
    got, query = [], '?limit=3'
    for _ in range(5):
        page = listed(gate, account, query)
        assert len(page['operations']) <= 3
        got += [o['id'] for o in page['operations']]
        if not page.get('next'):
            break
        query = f'?limit=3&cursor={page["next"]}'
    assert got == sorted(made, reverse=True)


@pytest.mark.parametrize('query', ['?limit=0', '?limit=-1', '?limit=x', '?cursor=nonsense'])
def test_a_query_that_makes_no_sense(gate, account, query):
    # Shows that a wrong limit or cursor is 400, not a guess.
    assert_problem(gate.get('/.counterfoil/operations' + query, account=account), 400, operation=False)


def test_task_and_step_are_kept_with_each_attempt(gate, path, token, account):
    # Shows that the workflow's ids stand with every attempt that carried them, and are searchable.
    def of(task, step):
        return {'Counterfoil-Task': task, 'Counterfoil-Step': step}
    first = gate.post(path, token, account=account, headers=of('task-1', 'step-a'))
    gate.post(path, token, account=account, headers=of('task-2', 'step-b'))
    gate.post(path, token, account=account, json={'n': 'other'})
    attempts = wait_attempts(gate, first.operation, account, 3)
    assert [(a.get('task'), a.get('step'), a['outcome']) for a in attempts] == [
        ('task-1', 'step-a', 'created'), ('task-2', 'step-b', 'replayed'), (None, None, 'conflict')]
    assert [o['id'] for o in listed(gate, account, '?task=task-1')['operations']] == [first.operation]
    assert listed(gate, account, '?task=task-9')['operations'] == []


def test_the_kept_answer_verbatim(gate, upstream, path, token, account):
    # Shows that /response is the stored answer itself: status, headers, body.
    upstream.plan(path, answer(404, [('Content-Type', 'text/x-odd'), ('ETag', '"7"')], b'\x00\xff raw'))
    first = gate.post(path, token, account=account)
    kept = gate.get(f'/.counterfoil/operations/{first.operation}/response', account=account)
    assert (kept.status, kept.body) == (404, b'\x00\xff raw')
    assert kept.one('Content-Type') == 'text/x-odd' and kept.one('ETag') == '"7"'


def test_no_answer_yet(gate, upstream, path, token, account):
    # Shows that while it runs, and when it is unknown, there is no answer to get.
    upstream.plan(path, drop())
    first = gate.post(path, token, account=account)
    response = gate.get(f'/.counterfoil/operations/{first.operation}/response', account=account)
    assert response.status in (404, 409)
    assert_problem(response, response.status)


@pytest.mark.parametrize('state', ['completed', 'failed', 'unknown', 'running'])
def test_cancel_comes_too_late(gate, upstream, path, token, account, state):
    # Shows that what has been sent cannot be cancelled: 409, and nothing changes.
    hold = Hold()
    plan = {'completed': answer(201), 'failed': answer(404), 'unknown': drop(), 'running': held(hold)}
    upstream.plan(path, plan[state])
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token, account=account)
        upstream.wait_seen(path)
        if state == 'running':
            hold.wait_entered()
            id = gate.post(path, token, account=account).operation
        else:
            id = first.result().operation
        refused = gate.request('POST', f'/.counterfoil/operations/{id}/cancel', account=account)
        assert_problem(refused, 409)
        assert gate.operation(id, account)['state'] == state
        hold.release()
    assert upstream.effects(path) == 1


def test_cancel_what_was_not_sent(gate, upstream, path, token, account):
    # Shows that a queued operation can be cancelled, and its token then never runs again.
    upstream.plan(path, answer(503, works=False))
    first = gate.post(path, token, account=account)
    assert first.state == 'queued'
    done = gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel', account=account)
    assert done.status in (200, 204), done
    assert gate.operation(first.operation, account)['state'] == 'cancelled'
    again = gate.post(path, token, account=account)
    assert again.state == 'cancelled' and again.status >= 400
    assert again.outcome == 'replayed' and again.one('Idempotent-Replayed') == 'true'
    assert_problem(again, again.status, advice={'new_key', 'stop'})
    assert upstream.effects(path) == 0


@pytest.mark.parametrize('method', ['DELETE', 'PUT', 'PATCH', 'POST'])
def test_it_cannot_be_written(gate, path, token, account, method):
    # Shows that an operation is read and cancelled, nothing else.
    first = gate.post(path, token, account=account)
    response = gate.request(method, f'/.counterfoil/operations/{first.operation}', account=account, body=b'')
    assert response.status in (404, 405)
    assert gate.operation(first.operation, account)['state'] == 'completed'


def test_actions(gate):
    # Shows that a gate without declared actions has an empty list of them.
    response = gate.get('/.counterfoil/actions')
    assert response.status == 200
    assert response.json() in ([], {'actions': []})


def test_help(gate, upstream):
    # Shows the page every problem links to: how tokens are used here, and what each problem means.
    page = gate.get('/.counterfoil/help')
    assert page.status == 200
    text = page.body.decode().lower()
    for word in ('idempotency-key', '24h', 'post', 'patch', 'key-missing', 'key-malformed', 'key-reused',
                 'operation-running', 'outcome-unknown', 'not-sent', 'key-expired', 'response-not-retained'):
        assert word in text or (word == '24h' and '24 h' in text), word
    assert upstream.seen('/.counterfoil/help') == []


def wait_attempts(gate, id, account, count):
    """Attempts are noted lazily: within a second or two."""
    import time
    deadline = time.monotonic() + 5
    while True:
        attempts = gate.operation(id, account)['attempts']
        if len(attempts) >= count:
            return attempts
        assert time.monotonic() < deadline, attempts
        time.sleep(0.05)


@pytest.mark.parametrize('method, protected', [('POST', True), ('PATCH', True), ('PUT', True), ('GET', False)])
def test_whether_a_write_is_protected(gate, token, method, protected):
    """Who finds no record is told whether there would be one, and only who asks for it."""
    found = gate.get(f'/.counterfoil/operations?token={token}&method={method}&path=%2Fv1%2Fthings').json()
    assert found == {'operations': [], 'next': None, 'protected': protected}
    assert 'protected' not in gate.get(f'/.counterfoil/operations?token={token}').json()


def test_whether_an_action_is_protected(start_gate, upstream, token):
    """With `undeclared: pass` what is declared is protected, and nothing else."""
    gate = start_gate(config={'upstreams': {'default': {'url': f'http://127.0.0.1:{upstream.port}'}},
                              'undeclared': 'pass', 'actions': {'pay': {'route': 'POST /v1/pay/{id}'}}})
    asked = f'/.counterfoil/operations?token={token}&method=POST&path='
    assert gate.get(asked + '%2Fv1%2Fpay%2F7').json()['protected'] is True
    assert gate.get(asked + '%2Fv1%2Fother').json()['protected'] is False
