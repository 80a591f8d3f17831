"""The gate's own keys: who is let in, to what, until when, and that no key is ever found anywhere."""
import json
import threading
import time

import pytest

from harness.client import Connection, assert_problem, build
from harness.gate import command, config, files_of
from harness.upstream import delayed, drop

TEXT = {'type': 'string', 'required': True}
ACTIONS = {
    'tickets.create': {'route': 'POST /tickets', 'fields': {'title': TEXT}},
    'tickets.close': {'route': 'POST /tickets/close', 'fields': {'title': TEXT}},
    'payments.create': {'route': 'POST /payments', 'fields': {'title': TEXT}},
    'reports.create': {'route': 'POST /reports', 'fields': {'title': TEXT}, 'dispatch': 'outbox'},
}


def bearer(key):
    return 'Bearer ' + key['key']


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return config(upstream, accounts={'from': 'key'}, actions=ACTIONS)


@pytest.fixture
def acme(gate, number):
    return gate.key(f'acme-{number}', 'bot')


@pytest.fixture
def other(gate, number):
    return gate.key(f'other-{number}', 'bot')


def nobody(response):
    assert_problem(response, 401, 'unauthenticated', operation=False)
    assert response.one('WWW-Authenticate') == 'Bearer'
    assert not response.operation and not response.outcome


@pytest.mark.parametrize('credential', [None, 'Bearer nonsense', 'Basic YTpi',
                                        'Bearer cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'])
def test_who_has_no_key_is_nobody(gate, upstream, path, token, credential):
    # Shows that without a key that is in force nothing is forwarded, protected or not, and nothing is told.
    mark = upstream.mark()
    nobody(gate.post(path, token, account=credential))
    nobody(gate.get(path, account=credential))
    nobody(gate.request('OPTIONS', path, account=credential))
    nobody(gate.get('/.counterfoil/operations', account=credential))
    nobody(gate.get('/.counterfoil/actions', account=credential))
    assert upstream.seen(since=mark) == []
    assert gate.get('/.counterfoil/help').status == 200


def test_the_key_is_asked_before_the_token(gate, path, acme):
    # Shows the order: who, then the token.
    nobody(gate.post(path))
    assert gate.post(path, account=bearer(acme)).slug == 'key-missing'


def test_two_accounts(gate, upstream, path, token, acme, other):
    # Shows that two keys of two accounts have each their own tokens, and see nothing of the other.
    first = gate.post(path, token, account=bearer(acme))
    second = gate.post(path, token, account=bearer(other))
    assert first.outcome == second.outcome == 'created' and first.operation != second.operation
    assert upstream.effects(path) == 2
    assert gate.operation(first.operation, account=bearer(acme))['state'] == 'completed'
    for target in (f'/.counterfoil/operations/{first.operation}',
                   f'/.counterfoil/operations/{first.operation}/response'):
        assert gate.get(target, account=bearer(other)).status == 404
    listed = gate.get('/.counterfoil/operations', account=bearer(other)).json()['operations']
    assert [o['id'] for o in listed] == [second.operation]


def test_two_keys_of_one_account(gate, upstream, path, token, acme, number):
    # Shows that the account is the key's, not the key: a new key replays what the old one made.
    first = gate.post(path, token, account=bearer(acme))
    renewed = gate.key(f'acme-{number}', 'bot-2')
    again = gate.post(path, token, account=bearer(renewed))
    assert (again.outcome, again.operation) == ('replayed', first.operation)
    assert upstream.effects(path) == 1
    deadline = time.monotonic() + 10
    while len(seen := gate.operation(first.operation, account=bearer(acme))['attempts']) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [a['agent'] for a in seen] == ['bot', 'bot-2'] and all('credential' not in a for a in seen)
    told = gate.operator(f'/api/operations/{first.operation}').json()
    assert told['account'] == f'acme-{number}'
    assert [a['credential'] for a in told['attempts']] == [acme['id'], renewed['id']]


def test_either_header(gate, upstream, path, token, acme):
    # Shows that Counterfoil-Key leaves Authorization to the service, and that no key goes there.
    gate.post(path, token, account=bearer(acme))
    gate.post(path, token + '-2', headers={'Counterfoil-Key': acme['key'], 'Authorization': 'Bearer the-services-own'})
    gate.get(path, headers={'Counterfoil-Key': acme['key'], 'Authorization': 'bearer ' + acme['key']})
    first, second, third = upstream.seen(path)
    assert first.all('Authorization') == [] and third.all('Authorization') == []
    assert second.all('Authorization') == ['Bearer the-services-own']
    for seen in (first, second, third):
        assert seen.all('Counterfoil-Key') == []
        assert acme['key'] not in repr(seen.headers)


def test_patterns(gate, upstream, number, token):
    # Shows that a key of certain actions makes those writes alone; what only reads is let through.
    key = bearer(gate.key(f'acme-{number}', 'bot', actions=['tickets.*', 'reports.create']))
    assert gate.post('/tickets', token, account=key, json={'title': token}).outcome == 'created'
    assert gate.post('/tickets/close', token + '-2', account=key, json={'title': token}).outcome == 'created'
    mark = upstream.mark()
    for target in ('/payments', '/undeclared'):
        refused = gate.post(target, token + '-3', account=key, json={'title': token})
        assert_problem(refused, 403, 'action-forbidden', 'stop', operation=False)
    assert_problem(gate.request('DELETE', '/tickets/1', account=key), 403, 'action-forbidden', operation=False)
    assert upstream.seen(since=mark) == []
    assert gate.get('/payments', account=key).status == 200
    free = bearer(gate.key(f'acme-{number}', 'bot'))
    assert gate.post('/payments', token + '-3', account=free, json={'title': token}).outcome == 'created'


def test_actions_that_are_listed(gate, number):
    # Shows that a key of certain actions is told of those alone.
    def listed(**options):
        answer = gate.get('/.counterfoil/actions', account=bearer(gate.key(f'acme-{number}', 'bot', **options)))
        return [action['name'] for action in answer.json()['actions']]

    assert sorted(listed()) == sorted(ACTIONS)
    assert sorted(listed(actions=['tickets.*'])) == ['tickets.close', 'tickets.create']
    assert listed(actions=['reports.create', 'nothing.*']) == ['reports.create']


@pytest.mark.parametrize('method', ['GET', 'HEAD', 'OPTIONS'])
def test_no_write_dressed_as_a_read(gate, upstream, number, method):
    # Shows that a key of certain actions makes no other write by a request that only says it reads.
    key = bearer(gate.key(f'acme-{number}', 'bot', actions=['tickets.*']))
    mark = upstream.mark()
    for name in ('X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X_HTTP_Method_Override'):
        response = gate.request(method, '/things/1', account=key, headers=[(name, 'delete')])
        assert response.status == 403, response
    for query in ('_method=DELETE', 'a=b&%5fmethod=put', '_METHOD=Delete', '_method=GET&_method=DELETE'):
        assert gate.request(method, '/things/1?' + query, account=key).status in (400, 403)
    assert upstream.seen(since=mark) == []
    assert gate.request(method, '/things/1?_method=GET', account=key, headers=[('X-HTTP-Method', 'HEAD')]).status == 200
    free = bearer(gate.key(f'acme-{number}', 'bot'))
    assert gate.request(method, '/things/1?_method=DELETE', account=free).status == 200


def test_a_person_makes_no_writes(gate, upstream, path, token, number):
    # Shows that the roles of people are for the admin listener.
    mark = upstream.mark()
    for role in ('approver', 'operator', 'auditor'):
        key = bearer(gate.key(f'acme-{number}', 'ann', role))
        for response in (gate.post(path, token, account=key), gate.get(path, account=key),
                         gate.get('/.counterfoil/operations', account=key)):
            assert_problem(response, 403, 'forbidden', operation=False)
    assert upstream.seen(since=mark) == []


def test_revoked_at_once(gate, upstream, path, token, acme):
    # Shows that a revoked key gets no replay, no status and no new write.
    first = gate.post(path, token, account=bearer(acme))
    gate.revoke(acme['id'])
    nobody(gate.post(path, token, account=bearer(acme)))
    nobody(gate.post(path, token + '-2', account=bearer(acme)))
    nobody(gate.get(f'/.counterfoil/operations/{first.operation}', account=bearer(acme)))
    nobody(gate.get(path, account=bearer(acme)))
    assert upstream.effects(path) == 1
    [listed] = [k for k in gate.operator('/api/keys').json()['keys'] if k['id'] == acme['id']]
    assert listed['state'] == 'revoked' and listed['revoked_by'] == 'admin-token' and listed['revoked_why'] == 'test'


def in_background(call):
    box = []
    thread = threading.Thread(target=lambda: box.append(call()))
    thread.start()
    return thread, box


def waiting(gate, count):
    """Wait until so many requests are under way."""
    deadline = time.monotonic() + 10
    while f'counterfoil_requests_open {count}\n'.encode() not in gate.operator('/metrics').body:
        assert time.monotonic() < deadline, gate.operator('/metrics').body
        time.sleep(0.02)


@pytest.mark.parametrize('what', ['duplicate', 'status'])
def test_revoked_while_it_waits(start_gate, upstream, path, token, what):
    # Shows that who waits by a key that is revoked is told so then, and nothing of the operation; who waits by
    # another key of the account waits on, and gets its end.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    maker, lost, kept = (gate.key('acme', name) for name in ('maker', 'lost', 'kept'))
    upstream.plan(path, delayed(4))
    first, _ = in_background(lambda: gate.post(path, token, account=bearer(maker)))
    waiting(gate, 1)

    def wait(key):
        if what == 'duplicate':
            return gate.post(path, token, account=bearer(key), headers={'Prefer': 'wait=30'})
        [id] = [o['id'] for o in gate.get('/.counterfoil/operations', account=bearer(key)).json()['operations']]
        return gate.get(f'/.counterfoil/operations/{id}?wait=30', account=bearer(key))

    a, told_lost = in_background(lambda: wait(lost))
    b, told_kept = in_background(lambda: wait(kept))
    waiting(gate, 3)
    gate.revoke(lost['id'])
    a.join(3)
    assert told_lost, 'it still waits'
    nobody(told_lost[0])
    b.join(15)
    first.join(15)
    assert told_kept[0].status in (200, 201) and upstream.effects(path) == 1


def test_revoked_while_its_body_comes(gate, upstream, path, token, acme):
    # Shows that a key that is revoked while the request is being read claims nothing.
    with gate.connect() as connection:
        head = build('POST', path, [('Authorization', bearer(acme)), ('Idempotency-Key', token),
                                    ('Content-Type', 'application/json'), ('Content-Length', '8')])
        connection.send(head + b'{"n"')
        waiting(gate, 1)
        gate.revoke(acme['id'])
        connection.send(b': 1}')
        nobody(connection.read_response('POST'))
    assert upstream.effects(path) == 0


def test_over_at_its_time(gate, upstream, path, token, number):
    # Shows that a key ends by itself.
    key = gate.key(f'acme-{number}', 'bot', expires_in='1s')
    deadline = time.monotonic() + 10
    n = 0
    while gate.post(path, f'{token}-{n}', account=bearer(key)).status != 401:
        assert time.monotonic() < deadline
        n += 1
        time.sleep(0.1)
    nobody(gate.post(path, f'{token}-{n}', account=bearer(key)))
    assert n > 0 and upstream.effects(path) == n


def test_keys_stay_over_a_restart(start_gate, upstream, path, token):
    # Shows that keys and revocations are durable, also where the gate is killed.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    good, bad = gate.key('acme', 'bot'), gate.key('acme', 'bad')
    first = gate.post(path, token, account=bearer(good))
    gate.revoke(bad['id'])
    gate.kill9()
    gate.restart()
    assert gate.post(path, token, account=bearer(good)).operation == first.operation
    nobody(gate.post(path, token, account=bearer(bad)))


def test_no_key_is_found_anywhere(start_gate, upstream, path, token):
    # Shows that the text of a key is in no file, no log line and in nothing that the service or the admin sees.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}, actions=ACTIONS,
                                       log={'level': 'debug'}))
    key = gate.key('acme', 'bot')
    mark = upstream.mark()
    gate.post(path, token, account=bearer(key))
    upstream.plan(path, drop())
    gate.post(path, token + '-2', account=bearer(key))
    queued = gate.post('/reports', token + '-3', account=bearer(key), json={'title': 'x'})
    gate.get(path + '?x=1', headers={'Counterfoil-Key': key['key']})
    gate.wait_state(queued.operation, 'completed', account=bearer(key))
    gate.revoke(key['id'])
    gate.post(path, token, account=bearer(key))
    seen = repr([(s.headers, s.body) for s in upstream.seen(since=mark)])
    pages = [gate.operator(p).body.decode() for p in ('/api/keys', '/api/operations', '/metrics',
                                                      f'/api/operations/{queued.operation}')]
    gate.terminate()
    assert gate.wait_exit() == 0
    secret = key['key'].removeprefix('cfk_')
    assert secret not in seen and not any(secret in page for page in pages)
    for file, content in files_of(gate.data):
        assert secret.encode() not in content, file
    assert secret not in '\n'.join(gate.log)


def test_failed_attempts_are_limited(start_gate, upstream, path, token):
    # Shows that who guesses is told to wait, that a good key of the same address still is let in, and that the
    # audit log says so without growing by each guess.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    key = gate.key('acme', 'bot')
    answers = [gate.post(path, token, account=f'Bearer cfk_{n:043}') for n in range(40)]
    assert {a.status for a in answers[:10]} == {401}
    limited = [a for a in answers if a.status == 429]
    assert len(limited) >= 10
    assert_problem(limited[-1], 429, 'too-many-attempts', 'wait', operation=False)
    assert int(limited[-1].one('Retry-After')) > 0
    assert gate.post(path, token, account=bearer(key)).outcome == 'created'
    assert gate.operator('/api/operations').status == 200
    assert gate.admin('/api/operations', headers=[('Authorization', 'Bearer wrong')]).status == 429
    assert gate.admin('/api/operations').status == 401
    assert upstream.effects(path) == 1


def test_last_use_is_told(gate, path, token, acme):
    # Shows that one sees which keys are in use.
    def used():
        [listed] = [k for k in gate.operator('/api/keys').json()['keys'] if k['id'] == acme['id']]
        return listed['last_used_at']

    assert used() is None
    gate.post(path, token, account=bearer(acme))
    assert used() is not None


def test_the_audit_log_says_who(start_gate, upstream, path, token):
    # Shows that keys made and revoked, failed attempts, and the key of each attempt are in the audit log.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    key = gate.key('acme', 'bot', label='of the night')
    operation = gate.post(path, token, account=bearer(key)).operation
    gate.post(path, token, account='Bearer cfk_' + 43 * 'A')
    gate.revoke(key['id'], 'left on a train')
    gate.terminate()
    assert gate.wait_exit() == 0
    done = command('audit', 'show', gate.data, '--json')
    entries = [json.loads(line) for line in done.stdout.splitlines()]

    def told(event):
        return [e for e in entries if event in e['events']]

    [made], [ended], [failed] = told('key_created'), told('key_revoked'), told('authentication_failed')
    assert made['by'] == ended['by'] == 'admin-token' and made['account'] == ended['account'] == 'acme'
    assert [(e['agent'], e['role']) for e in (made, ended)] == [('bot', 'agent')] * 2
    assert key['id'] in json.dumps(made) and 'left on a train' in json.dumps(ended)
    assert '127.0.0.1' in json.dumps(failed)
    attempt = next(e for e in told('attempted') if e['operation'] == operation)
    assert (attempt['agent'], attempt['credential'], attempt['account']) == ('bot', key['id'], 'acme')
    assert key['key'] not in done.stdout


def test_the_command_line(gate, tmp_path, number):
    # Shows keys made, listed, used in place of admin-token and revoked from the command line.
    def run(*arguments, key=None, env=None):
        where = ['--key-file', key] if key else []
        return command(*arguments, '--data', gate.data, *where, env=env)

    made = run('key', 'create', '--account', f'cli-{number}', '--agent', 'ann', '--role', 'operator', '--json')
    document = json.loads(made.stdout)
    gate.secrets.add(document['key'])
    file = tmp_path / 'ann.key'
    file.write_text(document['key'] + '\n')
    file.chmod(0o644)
    assert run('op', 'list', key=file).returncode == 1  # others can read it
    file.chmod(0o600)
    assert run('op', 'list', key=file).returncode == 0
    own = run('key', 'create', '--agent', 'bot', '--actions', 'tickets.*, reports.create', '--expires', '30d', key=file)
    gate.secrets.add(own.stdout.strip())
    assert own.returncode == 0 and own.stdout.startswith('cfk_') and own.stdout.count('\n') == 1
    listed = json.loads(run('key', 'list', '--json', env={'COUNTERFOIL_KEY': document['key']}).stdout)['keys']
    assert [k['agent'] for k in listed] == ['ann', 'bot'] and listed[1]['actions'] == ['tickets.*', 'reports.create']
    assert all(k['account'] == f'cli-{number}' for k in listed)
    refused = run('key', 'create', '--account', 'another', key=file)
    assert refused.returncode == 1 and 'one account' in refused.stderr
    assert run('key', 'revoke', document['id'], '--why', 'gone').returncode == 0
    assert run('op', 'list', key=file).returncode == 1
    assert run('key', 'create', '--role', 'king').returncode == 2
    assert run('key', 'revoke', 'key_0').returncode == 1


# -- the admin side ----------------------------------------------------------------------

def as_key(gate, key, target, method='GET', document=None):
    body = None if document is None else json.dumps(document).encode()
    return gate.admin(target, method, [('Authorization', bearer(key))], body)


NEEDS = {'look': {'approver', 'operator', 'auditor'}, 'decide': {'approver', 'operator'}, 'operate': {'operator'},
         'administer': {'operator'}, 'audit': {'operator', 'auditor'}}


def test_roles_by_endpoint(gate):
    # Shows for each role and each endpoint whether it is let in.
    rows = gate.operator('/api/endpoints').json()['endpoints']
    keys = {role: gate.key(None if role != 'agent' else 'acme', role, role, all_accounts=role != 'agent')
            for role in ('agent', 'approver', 'operator', 'auditor')}
    for row in rows:
        if row['power'] is None or row['path'] == '/api/events':  # which does not end
            continue
        target = row['path'].replace('{operation}', 'op_00000000000000000000000000').replace('{', '').replace('}', '')
        for role, key in keys.items():
            document = None if row['method'] == 'GET' else {}
            response = as_key(gate, key, target, row['method'], document)
            is_let_in = role in NEEDS[row['power']]
            assert (response.slug != 'forbidden') == is_let_in, (role, row, response)
            assert response.status != 401, (role, row, response)
    with Connection(gate.admin_port) as connection:
        connection.send_request('GET', '/api/events', [('Authorization', bearer(keys['auditor']))])
        assert connection.read_head()[0] == 200
    assert as_key(gate, keys['agent'], '/api/events').slug == 'forbidden'


@pytest.fixture
def unknown(gate, upstream, path, token, acme):
    upstream.plan(path, drop())
    return gate.post(path, token, account=bearer(acme)).operation


@pytest.mark.parametrize('role', ['approver', 'operator', 'auditor'])
def test_a_person_of_one_account_sees_that_one(gate, upstream, path, token, number, unknown, other, role):
    # Shows that people of one account see its operations alone, in lists and one by one.
    theirs = gate.post(path + '-2', token, account=bearer(other)).operation
    key = gate.key(f'acme-{number}', 'ann', role)
    listed = as_key(gate, key, '/api/operations').json()['operations']
    assert [o['id'] for o in listed] == [unknown]
    assert as_key(gate, key, f'/api/operations?account=other-{number}').slug == 'forbidden'
    assert as_key(gate, key, '/api/operations?account=nobody').slug == 'forbidden'
    assert as_key(gate, key, f'/api/operations/{unknown}').status == 200
    assert as_key(gate, key, f'/api/operations/{theirs}').status == 404
    if role == 'operator':
        wish = {'why': 'x', 'happened': True}
        assert as_key(gate, key, f'/api/operations/{theirs}/resolve', 'POST', wish).status == 404
        assert as_key(gate, key, f'/api/operations/{theirs}/release', 'POST', {'why': 'x'}).status == 404
        done = as_key(gate, key, f'/api/operations/{unknown}/resolve', 'POST', wish)
        assert done.status == 200 and done.json()['state'] == 'completed'
        assert key['id'] in json.dumps(done.json()) and 'ann' in json.dumps(done.json())


def test_an_operator_of_one_account_makes_its_keys(gate, number, other):
    # Shows that keys made by an operator of one account are of that account, and no others are seen or revoked.
    boss = gate.key(f'acme-{number}', 'boss', 'operator')
    made = as_key(gate, boss, '/api/keys', 'POST', {'agent': 'bot'})
    assert made.status == 201 and made.json()['account'] == f'acme-{number}'
    assert made.json()['created_by'] == boss['id']
    for wish in ({'account': f'other-{number}'}, {'role': 'operator', 'all_accounts': True}):
        assert as_key(gate, boss, '/api/keys', 'POST', wish).slug == 'forbidden'
    seen = [k['id'] for k in as_key(gate, boss, '/api/keys').json()['keys']]
    assert seen == [boss['id'], made.json()['id']]
    assert as_key(gate, boss, f'/api/keys/{other["id"]}/revoke', 'POST', {}).status == 404
    assert as_key(gate, boss, f'/api/keys/{made.json()["id"]}/revoke', 'POST', {}).status == 200


@pytest.mark.parametrize('wish', [
    {}, {'account': ''}, {'account': 7}, {'account': 'a', 'role': 'king'}, {'account': 'a', 'role': None},
    {'account': 'a', 'all_accounts': True}, {'account': 'a', 'all_accounts': 'yes', 'role': 'auditor'},
    {'account': 'inbox/stripe'}, {'account': 'a\n'}, {'account': 'a' * 201}, {'account': 'a', 'agent': 'b' * 201},
    {'account': 'a', 'actions': 'tickets.*'}, {'account': 'a', 'actions': ['a*b']}, {'account': 'a', 'actions': ['']},
    {'account': 'a', 'actions': ['x'] * 33}, {'account': 'a', 'role': 'approver', 'actions': ['x']},
    {'account': 'a', 'expires_in': 'soon'}, {'account': 'a', 'expires_in': 60}, {'account': 'a', 'expires_in': '0s'},
    {'account': 'a', 'expires_at': '2020-01-01T00:00:00Z'}, {'account': 'a', 'expires_at': 'tomorrow'},
    {'account': 'a', 'expires_at': '2999-01-01T00:00:00Z', 'expires_in': '1d'},
])
def test_wishes_that_make_no_key(gate, wish):
    # Shows that a key whose limits are not understood is not made.
    count = len(gate.operator('/api/keys').json()['keys'])
    assert_problem(gate.operator('/api/keys', 'POST', wish), 400, 'body-malformed', operation=False)
    assert len(gate.operator('/api/keys').json()['keys']) == count


def test_expiry_is_as_it_was_asked(gate, number):
    # Shows both ways of saying when a key ends, and that nothing said is no end.
    assert gate.key(f'a-{number}', expires_at='2999-06-01T12:00:00+02:00')['expires_at'].startswith('2999-06-01T10:00:00')
    assert gate.key(f'a-{number}', expires_in='30d')['expires_at'] is not None
    assert gate.key(f'a-{number}')['expires_at'] is None
    assert gate.key(f'a-{number}', expires_in='forever')['expires_at'] is None


def test_an_agent_is_no_person(gate, acme):
    # Shows that an agent's key opens nothing on the admin listener but health.
    for target in ('/api/operations', '/api/keys', '/api/locks', '/metrics', '/api/endpoints'):
        assert_problem(as_key(gate, acme, target), 403, 'forbidden', operation=False)
    gate.revoke(acme['id'])
    assert as_key(gate, acme, '/api/operations').status in (401, 429)
