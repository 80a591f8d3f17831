"""Credentials of the gate's own: what the service is sent, when it counts, and where it never stands."""
import base64
import json
import os
import pty
import threading

import pytest

from harness.client import assert_problem
from harness.gate import BINARY, command, files_of
from harness.rules import eventually, needed, said
from harness.upstream import Hold, answer, drop, held

KINDS = {
    'bearer': 'bearer_key',
    'basic': {'secret': 'basic_login', 'as': 'basic'},
    'header': {'secret': 'header_key', 'as': 'header', 'header': 'X-Api-Key'},
    'raw': {'secret': 'raw_key', 'as': 'header', 'header': 'Authorization'},
    'plain': None,
}


def settings(upstream, attempts=2):
    def action(kind, **more):
        return {'route': f'POST /v1/{kind}/{{book}}', 'upstream': kind.rstrip('2'),
                'fields': {'name': needed()}, **more}

    def question(**more):
        return {'get': '/v1/find/{book}?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
                'absent': {'status': 200, 'empty': '/data'}, **more}

    actions = {f'{kind}.create': action(kind) for kind in KINDS}
    actions['probed.create'] = {**action('probed'), 'upstream': 'bearer',
                                'probe': question(settle='100ms', every='100ms', timeout='1s')}
    actions['found.create'] = {**action('found'), 'upstream': 'bearer', 'lookup': question(timeout='1s'),
                               'unique': {'by': ['name'], 'for': '30d'}}
    actions['later.create'] = {**action('later'), 'upstream': 'bearer', 'dispatch': 'outbox'}
    upstreams = {'default': {'url': upstream.url, 'credential': 'bearer_key'}}
    for kind, credential in KINDS.items():
        upstreams[kind] = {'url': upstream.url, **({'credential': credential} if credential else {})}
    return json.dumps({'upstreams': upstreams, 'actions': actions,
                       'outbox': {'first_pause': '50ms', 'max_pause': '200ms', 'attempts': attempts}})


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


@pytest.fixture
def own(start_gate, upstream):
    """A gate of this test alone, in which nothing is set."""
    return start_gate(config=settings(upstream))


def secret(gate, *arguments, stdin=None):
    return command('secret', *arguments, '--data', gate.data, stdin=stdin)


def put(gate, name, value):
    done = secret(gate, 'set', name, stdin=value)
    assert done.returncode == 0, done.stderr
    assert value.strip() not in done.stdout + done.stderr
    gate.secrets.add(value.strip())


def fresh(name='secret'):
    return f'{name}-value-{os.urandom(12).hex()}'


def write(gate, kind, number, token, account=None, **options):
    return gate.post(f'/v1/{kind}/{number}', token, account=account, json={'name': f'n{number}'}, **options)


# -- what is sent ----------------------------------------------------------------------


@pytest.mark.parametrize('kind, name, line', [
    ('bearer', 'bearer_key', lambda value: ('Authorization', f'Bearer {value}')),
    ('basic', 'basic_login', lambda value: (
        'Authorization', 'Basic ' + base64.b64encode(value.encode()).decode())),
    ('header', 'header_key', lambda value: ('X-Api-Key', value)),
    ('raw', 'raw_key', lambda value: ('Authorization', value)),
])
def test_each_form(gate, upstream, number, token, account, kind, name, line):
    # Shows that the service is sent the credential in the form that it wants, once, and the caller's
    # own not at all; nor the caller's line of the credential's own name.
    value = fresh('user:pass') if kind == 'basic' else fresh()
    put(gate, name, value)
    response = write(gate, kind, number, token, account, headers=[('X-Api-Key', 'of-the-caller')])
    assert (response.status, response.outcome) == (201, 'created')
    header, expected = line(value)
    seen = upstream.last(f'/v1/{kind}/{number}')
    assert seen.all(header) == [expected]
    assert account.encode() not in seen.head
    if header != 'Authorization':
        assert seen.all('Authorization') == []


def test_without_one_the_callers_goes_on(gate, upstream, number, token, account):
    # Shows that nothing changes where the gate has no credential of its own.
    assert write(gate, 'plain', number, token, account).status == 201
    assert upstream.last(f'/v1/plain/{number}').all('Authorization') == [account]


def test_unprotected_requests_have_it_too(gate, upstream, path, account):
    # Shows that a read goes with the gate's credential and without the caller's.
    value = fresh()
    put(gate, 'bearer_key', value)
    assert gate.get(path, account=account).status == 200
    assert upstream.last(path).all('Authorization') == [f'Bearer {value}']


def test_questions_have_it_too(gate, upstream, number, token, account):
    # Shows that probes and look-ups ask with the gate's credential.
    value = fresh()
    put(gate, 'bearer_key', value)
    find = f'/v1/find/{number}'
    upstream.always(find, said({'data': [{'id': 'obj_1'}]}, works=False))
    upstream.plan(f'/v1/probed/{number}', drop())
    lost = write(gate, 'probed', number, token, account)
    assert lost.state == 'unknown'
    gate.wait_state(lost.operation, 'completed', account=account)
    assert write(gate, 'found', number, token + '-b', account).outcome == 'reused'
    asked = upstream.seen(find)
    assert len(asked) >= 2
    assert all(seen.all('Authorization') == [f'Bearer {value}'] for seen in asked)
    assert upstream.seen(f'/v1/found/{number}') == []


def test_the_dispatcher_has_the_one_of_the_moment(own, upstream, number, token, account):
    # Shows that what is sent later is sent with the credential as it is then, and that the request
    # was kept without the caller's.
    first, second = fresh(), fresh()
    path = f'/v1/later/{number}'
    put(own, 'bearer_key', first)
    hold = Hold()
    upstream.plan(path, held(hold, answer(503, works=False)))
    queued = write(own, 'later', number, token, account)
    hold.wait_entered()
    put(own, 'bearer_key', second)
    hold.release()
    own.wait_state(queued.operation, 'completed', 'failed', account=account)
    assert [seen.get('Authorization') for seen in upstream.seen(path)] == [f'Bearer {first}', f'Bearer {second}']
    assert upstream.effects(path) == 1
    assert not found_in_data(own, account)


def test_two_callers_stay_two_accounts(gate, upstream, number, token, account):
    # Shows that one credential towards the service makes no two callers one: the same token of two
    # accounts is two operations, and neither sees the other's.
    put(gate, 'bearer_key', fresh())
    mine = write(gate, 'bearer', number, token, account)
    other = write(gate, 'bearer', number, token, account + '-b')
    assert mine.operation != other.operation and mine.body != other.body
    assert upstream.effects(f'/v1/bearer/{number}') == 2
    assert gate.get(f'/.counterfoil/operations/{mine.operation}', account=account + '-b').status == 404
    assert write(gate, 'bearer', number, token, account).body == mine.body
    assert upstream.effects(f'/v1/bearer/{number}') == 2


# -- when it counts --------------------------------------------------------------------


def test_a_change_counts_at_once(gate, upstream, number, token, account):
    # Shows that the next request is sent with the new value, on every thread, without a reload.
    for turn in range(8):
        value = fresh()
        put(gate, 'bearer_key', value)
        assert write(gate, 'bearer', number, f'{token}-{turn}', account).status == 201
        assert upstream.last(f'/v1/bearer/{number}').get('Authorization') == f'Bearer {value}'


def test_not_set(own, upstream, number, token, account):
    # Shows that nothing is sent while the secret is not set, that the answer says how to mend it,
    # that the token is free for the same write then, and that the start warned of it.
    assert 'bearer_key' in own.wait_log('secret-not-set')
    response = write(own, 'bearer', number, token, account)
    assert_problem(response, 503, 'not-sent')
    assert 'counterfoil secret set bearer_key' in response.json()['detail']
    assert (response.state, response.outcome) == ('queued', 'not_sent')
    assert upstream.seen(f'/v1/bearer/{number}') == []
    put(own, 'bearer_key', fresh())
    again = write(own, 'bearer', number, token, account)
    assert (again.status, again.operation) == (201, response.operation)
    assert upstream.effects(f'/v1/bearer/{number}') == 1


def test_not_set_is_no_try_of_the_dispatchers(start_gate, upstream, number, token, account):
    # Shows that an outbox waits for a secret longer than it would for a service, and then sends once.
    own = start_gate(config=settings(upstream, attempts=1))
    response = write(own, 'later', number, token, account)
    eventually(lambda: came_back(own.operation(response.operation, account)))
    put(own, 'bearer_key', fresh())
    own.wait_state(response.operation, 'completed', account=account, seconds=20)
    assert upstream.effects(f'/v1/later/{number}') == 1


def came_back(document):
    """The dispatcher had it, and did not send it."""
    return document['state'] == 'queued' and document['tries'] == 0 and any(
        (a['by'], a['outcome']) == ('dispatcher', 'not_sent') for a in document['attempts'])


def test_reads_without_it(own, upstream, path, account):
    # Shows that an unprotected request is not sent without the secret either.
    response = own.get(path, account=account)
    assert response.status == 502 and 'secret set bearer_key' in response.json()['detail']
    assert upstream.seen(path) == []


def test_removed(own, upstream, number, token, account):
    # Shows that nothing is sent with a secret that was removed.
    put(own, 'bearer_key', fresh())
    assert write(own, 'bearer', number, token, account).status == 201
    done = secret(own, 'rm', 'bearer_key')
    assert (done.returncode, done.stdout) == (0, 'bearer_key is removed\n')
    assert_problem(write(own, 'bearer', number, token + '-b', account), 503, 'not-sent')
    assert upstream.effects(f'/v1/bearer/{number}') == 1
    gone = secret(own, 'rm', 'bearer_key')
    assert gone.returncode == 1 and 'no secret of that name' in gone.stderr


def test_no_password(own, number, token, account):
    # Shows that a secret that is no user:password is not sent as one.
    put(own, 'basic_login', fresh())
    response = write(own, 'basic', number, token, account)
    assert_problem(response, 503, 'not-sent')
    assert 'user:password' in response.json()['detail']


def test_a_restart_keeps_it(own, upstream, number, token, account):
    # Shows that a secret is there again after the gate has been killed.
    value = fresh()
    put(own, 'bearer_key', value)
    own.kill9()
    own.restart()
    assert write(own, 'bearer', number, token, account).status == 201
    assert upstream.last(f'/v1/bearer/{number}').get('Authorization') == f'Bearer {value}'


def test_a_401_is_the_services_answer(own, upstream, number, token, account):
    # Shows that a refused credential is told and logged, and that nothing is sent again.
    put(own, 'bearer_key', fresh())
    path = f'/v1/bearer/{number}'
    upstream.plan(path, answer(401, works=False))
    response = write(own, 'bearer', number, token, account)
    assert (response.status, response.state) == (401, 'failed')
    assert 'bearer_key' in own.wait_log('credential-refused')
    assert write(own, 'bearer', number, token, account).status == 401
    assert len(upstream.seen(path)) == 1


# -- where it never stands -------------------------------------------------------------


def found_in_data(gate, text):
    """The files of the data directory that have it."""
    return [str(file) for file, content in files_of(gate.data) if text.encode() in content]


def test_nothing_shows_it(own, upstream, number, token, account):
    # Shows that no answer of the gate, no line of its log and no entry of the audit log has a value.
    value, other = fresh(), fresh()
    put(own, 'bearer_key', value)
    put(own, 'unused', other)
    upstream.plan(f'/v1/probed/{number}', drop())
    ids = [write(own, kind, number, f'{token}-{kind}', account).operation for kind in ('bearer', 'later', 'probed')]
    shown = [own.operator('/api/secrets').body, own.operator('/api/operations').body, own.operator('/metrics').body,
             secret(own, 'list').stdout.encode(), secret(own, 'list', '--json').stdout.encode(),
             command('config', 'check', own.config_file, '--json').stdout.encode()]
    shown += [own.operator(f'/api/operations/{id}').body for id in ids]
    own.stop()
    audit = command('audit', 'show', own.data, '--json')
    assert audit.returncode == 0, audit.stderr
    shown += [audit.stdout.encode(), '\n'.join(own.log).encode()]
    for text in shown:
        assert value.encode() not in text and other.encode() not in text
        assert base64.b64encode(value.encode()) not in text


def test_no_file_has_it(own, number, token, account):
    # Shows that no file of the data directory has a value in clear, while the gate runs and after it.
    value = fresh()
    put(own, 'bearer_key', value)
    assert write(own, 'later', number, token, account).status == 202
    assert found_in_data(own, value) == []
    own.stop()
    assert found_in_data(own, value) == []


def test_changes_are_in_the_audit_log(own):
    # Shows who changed which secret, and how.
    put(own, 'bearer_key', fresh())
    assert secret(own, 'rm', 'bearer_key').returncode == 0
    own.stop()
    entries = [json.loads(line) for line in command('audit', 'show', own.data, '--json').stdout.splitlines()]
    told = [(event, entry['subject'], entry['by']) for entry in entries if entry.get('subject')
            for event in entry['events']]
    assert told == [('secret_set', 'bearer_key', 'admin-token'), ('secret_removed', 'bearer_key', 'admin-token')]


# -- the commands ----------------------------------------------------------------------


def test_list(own):
    # Shows that the list has what is set and what is missing, and who wants it.
    put(own, 'bearer_key', fresh())
    listed = {s['name']: s for s in own.operator('/api/secrets').json()['secrets']}
    assert listed['bearer_key']['set'] and listed['bearer_key']['updated_at'].endswith('Z')
    assert listed['bearer_key']['upstreams'] == ['default', 'bearer']
    assert listed['raw_key'] == {'name': 'raw_key', 'set': False, 'updated_at': None, 'upstreams': ['raw']}
    text = secret(own, 'list').stdout
    assert [line.split()[0] for line in text.splitlines()][:2] == ['SECRET', 'bearer_key']
    assert 'not set' in text


@pytest.mark.parametrize('value, kept', [('abc-def-ghi\n', 'abc-def-ghi'), ('abc-def-ghi', 'abc-def-ghi'),
                                         ('päss:wörd', 'päss:wörd'), ('x' * 16384 + '\n', 'x' * 16384)])
def test_what_is_taken(gate, upstream, number, token, account, value, kept):
    # Shows that one line end is cut off, and nothing else.
    put(gate, 'raw_key', value)
    assert write(gate, 'raw', number, token, account).status == 201
    assert upstream.last(f'/v1/raw/{number}').get('Authorization').encode('latin-1') == kept.encode()


@pytest.mark.parametrize('value, why', [('', 'empty'), ('\n', 'empty'), ('a\nb', 'line break'), ('a\n\n', 'line break'),
                                        ('a\r\n', 'line break'), ('a\0b', 'control'), (' a', 'blank'),
                                        ('x' * 16385, '16 KiB')])
def test_what_is_refused(own, value, why):
    # Shows that what could not be sent as it is is not kept.
    done = secret(own, 'set', 'bearer_key', stdin=value)
    assert done.returncode == 1 and why in done.stderr and not done.stdout
    response = own.operator('/api/secrets/bearer_key', 'PUT', json={'value': value.removesuffix('\n')})
    assert response.status == 400 or value.endswith('\r\n') and response.status == 400
    assert not any(s['set'] for s in own.operator('/api/secrets').json()['secrets'])


@pytest.mark.parametrize('name', ['', 'a b', '../a', '-a', 'x' * 65])
def test_names_that_are_none(gate, name):
    # Shows that a name that no configuration could have is refused.
    assert command('secret', 'set', '--data', gate.data, '--', name, stdin='v').returncode == 2


def test_bodies_that_are_none(own):
    # Shows what the admin API refuses.
    for body in ({}, {'value': 1}, {'value': None}, {'value': ''}, {'value': 'a\nb'}):
        assert own.operator('/api/secrets/a', 'PUT', json=body).status == 400
    assert own.operator('/api/secrets/a%20b', 'PUT', json={'value': 'a'}).status == 400
    assert own.operator('/api/secrets/a').status == 405
    assert own.admin('/api/secrets').status == 401
    assert own.admin('/api/secrets/a', 'PUT', body=b'{"value":"v"}').status == 401


def test_no_utf8(own):
    # Shows that bytes that are no text are refused, not altered.
    import subprocess
    done = subprocess.run([BINARY, 'secret', 'set', 'a', '--data', own.data], input=b'ab\xff', capture_output=True)
    assert done.returncode == 1 and b'UTF-8' in done.stderr


def test_a_terminal_shows_nothing(own, upstream, number, token, account):
    # Shows that what is typed is not echoed, and that the terminal echoes again afterwards.
    value = fresh()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(BINARY, [str(BINARY), 'secret', 'set', 'bearer_key', '--data', str(own.data)])
    shown = b''
    while b'(not shown)' not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, value.encode() + b'\n')
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    os.close(terminal)
    assert value.encode() not in shown and b'bearer_key is set' in shown
    assert write(own, 'bearer', number, token, account).status == 201
    assert upstream.last(f'/v1/bearer/{number}').get('Authorization') == f'Bearer {value}'


def test_many_at_once(own, upstream, number, token, account):
    # Shows that under constant change each request has one whole value, the old or the new.
    values = [fresh() for _ in range(12)]
    put(own, 'bearer_key', values[0])
    stop = threading.Event()

    def rotate():
        for value in values[1:]:
            put(own, 'bearer_key', value)
        stop.set()
    thread = threading.Thread(target=rotate)
    thread.start()
    count = 0
    while not stop.is_set():
        assert write(own, 'bearer', number, f'{token}-{count}', account).status == 201
        count += 1
    thread.join()
    used = {seen.get('Authorization') for seen in upstream.seen(f'/v1/bearer/{number}')}
    assert used <= {f'Bearer {value}' for value in values}
    assert upstream.effects(f'/v1/bearer/{number}') == count
