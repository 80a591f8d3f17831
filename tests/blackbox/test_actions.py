"""Declared actions through the running gate: commands, tokens, routes, and what is of an action's own.

What they are compared by is counted at the upstream; what is refused leaves no record, which is
shown by using its token again.
"""
import concurrent.futures
import gzip
import json
import pathlib
import re
import time

import pytest

from harness.client import assert_problem
from harness.gate import Gate, command
from harness.upstream import Hold, Upstream, answer, delayed, held

VECTORS = pathlib.Path(__file__).resolve().parents[1] / 'vectors' / 'fingerprint.json'
PAIRS = json.loads(VECTORS.read_text())['typed']
DIGEST = 'sha256:' + 'a' * 64
SECRET = 'a-secret-value-of-a-field'

TITLE = {'title': {'type': 'string', 'required': True}}
PAYMENT = {'amount': {'type': 'money', 'currency': 'currency', 'unit': 'major', 'required': True, 'minimum': 1},
           'currency': {'type': 'string', 'required': True}}
ACTIONS = {
    'strict': {'route': 'POST /strict', 'summary': 'Make {title}', 'fields': {
        'title': {'type': 'string', 'required': True, 'min_length': 2, 'max_length': 5, 'description': 'Its name'},
        'priority': {'type': 'string', 'enum': ['low', 'normal', 'high'], 'default': 'normal'},
        'count': {'type': 'integer', 'minimum': 1, 'maximum': 9},
        'code': {'type': 'string', 'pattern': '^[A-Z]{2}$'},
        'artifact': {'type': 'reference'},
        'made_at': {'type': 'timestamp', 'server_assigned': True},
        'note': {'type': 'string', 'nullable': True},
        'labels': {'type': 'array', 'max_items': 2, 'items': {'type': 'string'}},
        'address': {'type': 'object', 'fields': {'a/b': {'type': 'boolean', 'required': True}}}}},
    'secrets': {'route': 'POST /secrets', 'fields': {
        'pin': {'type': 'string', 'secret': True, 'pattern': '^[0-9]+$'},
        'kind': {'type': 'string', 'secret': True, 'enum': ['one', 'two']},
        'born': {'type': 'timestamp', 'secret': True},
        'image': {'type': 'reference', 'secret': True},
        'sum': {'type': 'money', 'currency': 'EUR', 'secret': True},
        'card': {'type': 'object', 'secret': True, 'fields': {'number': {'type': 'integer'}}},
        'cards': {'type': 'array', 'secret': True, 'items': {'type': 'integer'}}}},
    'keeping': {'route': 'POST /keeping', 'unknown_fields': 'keep', 'fields': TITLE},
    'payments': {'route': 'POST /payments', 'fields': PAYMENT},
    'things.any': {'route': 'POST /things/{id}', 'fields': {'a': {'type': 'integer', 'required': True}}},
    'things.special': {'route': 'POST /things/special', 'fields': {'b': {'type': 'integer', 'required': True}}},
    'things.parts': {'route': 'POST /things/{id}/parts/{part}', 'fields': TITLE},
    'small': {'route': 'POST /small', 'max_body': '64'},
    'large': {'route': 'POST /large', 'max_response': '32KiB'},
    'brief': {'route': 'POST /brief', 'timeout': '300ms'},
    'moody': {'route': 'POST /moody', 'statuses': {'not_sent': [423], 'unknown': [418]}},
    'tenant': {'route': 'POST /tenant', 'headers': ['X-Tenant'], 'fields': TITLE},
    'in_body': {'route': 'POST /in-body', 'token': {'from': 'body', 'pointer': '/request_id'}, 'fields': TITLE},
    'in_body.other': {'route': 'POST /in-body-other', 'token': {'from': 'body', 'pointer': '/meta/token'},
                      'fields': {**TITLE, 'meta': {'type': 'object'}}},
    'orders.put': {'route': 'PUT /orders/{order_id}', 'natural': True, 'fields': TITLE},
    'drop': {'route': 'DELETE /orders/{order_id}'},
    'elsewhere': {'route': 'POST /elsewhere', 'upstream': 'other'},
}
TYPED = {f'typed.{n}': {'route': f'POST /typed/{n}', 'fields': pair['fields']} for n, pair in enumerate(PAIRS)}


def document(upstream, actions, **sections):
    """A configuration file: JSON, which YAML reads."""
    upstreams = {'default': {'url': upstream.url}, **sections.pop('upstreams', {})}
    return json.dumps({'upstreams': upstreams, **sections, 'actions': actions}, indent=1)


@pytest.fixture(scope='module')
def other():
    server = Upstream()
    yield server
    server.stop()


@pytest.fixture(scope='module')
def gate(upstream, other, tmp_path_factory):
    """One gate with all actions of this file."""
    text = document(upstream, {**ACTIONS, **TYPED}, upstreams={'other': {'url': other.url}})
    running = Gate(tmp_path_factory.mktemp('actions'), None, text).start()
    yield running
    running.stop()


@pytest.fixture
def mark(upstream):
    return upstream.mark()


def send(gate, target, body, token, **options):
    """A JSON body, as text or as a value."""
    text = body if isinstance(body, str) else json.dumps(body)
    headers = [*options.pop('headers', []), ('Content-Type', 'application/json')]
    return gate.request(options.pop('method', 'POST'), target, token=token, headers=headers,
                        body=text.encode(), **options)


def has_no_record(gate, token):
    return gate.get(f'/.counterfoil/operations?token={token}').json()['operations'] == []


def assert_refused(gate, response, token, slugs=('command-invalid', 'reference-mutable')):
    problem = assert_problem(response, 422, advice='fix', operation=False)
    assert response.slug in slugs and response.outcome in (None, 'refused'), response
    assert problem['errors'] and 'operation' not in problem
    assert has_no_record(gate, token)
    return {error['pointer']: error['detail'] for error in problem['errors']}


# -- commands ----------------------------------------------------------------------------


@pytest.mark.parametrize('turned', [False, True], ids=['a-b', 'b-a'])
@pytest.mark.parametrize('number', range(len(PAIRS)), ids=[p['name'] for p in PAIRS])
def test_typed_pair(gate, upstream, token, mark, number, turned):
    # Shows that two spellings of one command are one effect, two commands a conflict, and that
    # what is refused leaves its token free, or an operation that has it as it was.
    pair, target = PAIRS[number], f'/typed/{number}'
    sides = [('a', pair['a']), ('b', pair['b'])]
    is_done = None
    for name, body in reversed(sides) if turned else sides:
        response = send(gate, target, body, token)
        if pair['want'] in (f'refuse_{name}', 'refuse_both'):
            assert_problem(response, 422, operation=False)
            assert response.slug == ('reference-mutable' if 'mutable' in pair['name'] else 'command-invalid')
            assert is_done or has_no_record(gate, token)
        elif is_done:
            assert response.outcome == ('replayed' if pair['want'] == 'same' else 'conflict'), response
            assert response.status == (201 if pair['want'] == 'same' else 422)
        else:
            assert response.outcome == 'created', response
            is_done = body
    assert upstream.effects(since=mark) == (1 if is_done else 0)
    assert [r.body.decode() for r in upstream.seen(since=mark)] == ([is_done] if is_done else [])


def test_all_faults_at_once(gate, upstream, token, mark):
    # Shows that one answer names each wrong field, and that the token works once all are mended.
    wrong = {'title': 'toolong', 'priority': 'urgent', 'count': 10, 'code': 'abc', 'artifact': 7,
             'made_at': 'yesterday', 'note': 5, 'labels': ['x', 2, 'y'], 'address': {}, 'prioritty': 1}
    faults = assert_refused(gate, send(gate, '/strict', wrong, token), token, ['command-invalid'])
    assert {'/title', '/priority', '/count', '/code', '/artifact', '/made_at', '/note',
            '/address/a~1b', '/prioritty'} <= set(faults)
    assert '/labels' in faults or '/labels/1' in faults
    assert all(detail.endswith(('.', '?')) for detail in faults.values())
    right = {'title': 'fine', 'address': {'a/b': True}, 'labels': ['x'], 'note': None, 'code': 'AB',
             'artifact': DIGEST, 'count': 9}
    assert send(gate, '/strict', right, token).outcome == 'created'
    assert upstream.effects(since=mark) == 1


def test_only_mutable_references(gate, token):
    # Shows that a reference that can change has its own problem, unless more is wrong.
    assert '/artifact' in assert_refused(gate, send(gate, '/strict', {'title': 'abc', 'artifact': 'main'}, token),
                                         token, ['reference-mutable'])
    assert_refused(gate, send(gate, '/strict', {'title': 'a', 'artifact': 'main'}, token), token, ['command-invalid'])


def test_many_faults_are_bounded(gate, token):
    # Shows that an answer lists so many faults and counts the others.
    response = send(gate, '/strict', {f'extra{n}': n for n in range(100)}, token)
    problem = assert_problem(response, 422, 'command-invalid', operation=False)
    assert len(problem['errors']) == 32 and problem['errors_left_out'] == 69


@pytest.mark.parametrize('body', ['[]', '"text"', 'null', '17'])
def test_a_command_is_an_object(gate, upstream, token, mark, body):
    # Shows that other JSON is no command.
    assert_refused(gate, send(gate, '/strict', body, token), token, ['command-invalid'])
    assert upstream.effects(since=mark) == 0


@pytest.mark.parametrize('body', ['{"title": "abc", "title": "abd"}', '{"title": "ab', '{"title": "\\ud800"}'])
def test_malformed_bodies(gate, upstream, token, mark, body):
    # Shows that a body that can be read in two ways, or not at all, is 400 for an action, too.
    assert_problem(send(gate, '/strict', body, token), 400, 'body-malformed', operation=False)
    assert has_no_record(gate, token) and upstream.effects(since=mark) == 0


@pytest.mark.parametrize('wrong', [
    {'pin': SECRET}, {'kind': SECRET}, {'born': SECRET}, {'image': SECRET}, {'sum': SECRET}, {'pin': [SECRET]},
    {'card': SECRET}, {'card': {'number': SECRET}}, {'cards': [SECRET]}, {'cards': {'a': SECRET}},
    {'card': {'numbre': SECRET}}, {'unknown': SECRET}])
def test_secrets_are_not_told(gate, token, wrong):
    # Shows that no answer and no log line has the value of a secret field, right or wrong.
    gate.secrets.add(SECRET)
    response = send(gate, '/secrets', wrong, token)
    faults = assert_refused(gate, response, token)
    if 'unknown' not in wrong:
        assert SECRET.encode() not in response.body
    assert len(faults) == 1
    assert SECRET not in '\n'.join(gate.log)


def test_names_inside_a_secret_are_not_told(gate, token):
    # Shows that a name inside a secret field is as secret as a value.
    gate.secrets.add(SECRET)
    response = send(gate, '/secrets', {'card': {SECRET: 1}}, token)
    assert_refused(gate, response, token)
    assert SECRET.encode() not in response.body


def test_many_copies_in_many_spellings(gate, upstream, token, mark):
    # Shows that copies of one command that meet each other, each written its own way, are one effect.
    bodies = ['{"amount": %s, "currency": "%s"}' % (amount, currency)
              for amount in ('7', '7.0', '"7"', '"7.00"', '70e-1') for currency in ('USD', 'usd', 'Usd', 'uSD')]
    wait = [('Prefer', 'wait=10')]
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        answers = list(pool.map(lambda body: send(gate, '/payments', body, token, headers=wait), bodies))
    assert sorted(a.outcome for a in answers) == ['created'] + (len(bodies) - 1) * ['replayed']
    assert len({a.body for a in answers}) == 1 and upstream.effects(since=mark) == 1


def test_defaults(gate, upstream, token, mark):
    # Shows that a default that is left out, or written, is one command, and is never added to the bytes.
    first = send(gate, '/strict', '{"title":"abc"}', token)
    second = send(gate, '/strict', '{"priority":"normal","title":"abc"}', token)
    assert (first.outcome, second.outcome) == ('created', 'replayed')
    assert_problem(send(gate, '/strict', '{"title":"abc","priority":"low"}', token), 422, 'key-reused')
    assert [r.body for r in upstream.seen(since=mark)] == [b'{"title":"abc"}']


def test_absent_and_null(gate, token):
    # Shows that null is another value than absence where it is one at all, and refused elsewhere.
    assert send(gate, '/strict', {'title': 'abc', 'note': None}, token).outcome == 'created'
    assert_problem(send(gate, '/strict', {'title': 'abc'}, token), 422, 'key-reused')
    assert '/count' in assert_refused(gate, send(gate, '/strict', {'title': 'abc', 'count': None}, token + 'n'),
                                      token + 'n')


def test_server_assigned(gate, upstream, token, mark):
    # Shows that what the service decides does not count, is checked all the same, and is passed on.
    bodies = [{'title': 'abc', 'made_at': '2026-01-01T00:00:00Z'}, {'title': 'abc'},
              {'title': 'abc', 'made_at': '2027-01-01T00:00:00Z'}]
    assert [send(gate, '/strict', b, token).outcome for b in bodies] == ['created', 'replayed', 'replayed']
    assert [r.json() for r in upstream.seen(since=mark)] == bodies[:1]


def test_unknown_fields_kept(gate, upstream, token, mark):
    # Shows that members which are kept reach the service and are part of the command.
    first = send(gate, '/keeping', {'title': 'x', 'more': [1.0]}, token)
    second = send(gate, '/keeping', {'more': [1], 'title': 'x'}, token)
    assert (first.outcome, second.outcome) == ('created', 'replayed')
    assert_problem(send(gate, '/keeping', {'title': 'x', 'more': [2]}, token), 422, 'key-reused')
    assert_problem(send(gate, '/keeping', {'title': 'x'}, token), 422, 'key-reused')
    assert [r.json() for r in upstream.seen(since=mark)] == [{'title': 'x', 'more': [1.0]}]


def test_the_exact_bytes(gate, upstream, token, mark):
    # Shows that the service gets the client's own bytes, however they are written.
    body = '{ "currency" : "u\\u0073d",\r\n\t"amount": 49.000 }\n'
    assert send(gate, '/payments?b=2&a=%31', body, token).outcome == 'created'
    seen, = upstream.seen(since=mark)
    assert seen.body == body.encode() and seen.target == '/payments?b=2&a=%31'


def test_money_in_any_spelling(gate, upstream, token, mark):
    # Shows that an amount is compared as what it is worth.
    bodies = ['{"amount": 49.00, "currency": "USD"}', '{"amount": "49", "currency": "usd"}',
              '{"amount": 4.9e1, "currency": "USD"}', '{"currency": "USD", "amount": "49.00"}']
    assert [send(gate, '/payments', b, token).outcome for b in bodies] == ['created'] + 3 * ['replayed']
    assert_problem(send(gate, '/payments', '{"amount": 49.01, "currency": "USD"}', token), 422, 'key-reused')
    assert upstream.effects(since=mark) == 1


def test_refused_after_it_was_done(gate, upstream, token, mark):
    # Shows that a wrong command under a token that is used tells nothing and changes nothing.
    body = {'amount': '5', 'currency': 'USD'}
    first = send(gate, '/payments', body, token)
    refused = send(gate, '/payments', {'amount': '0', 'currency': 'USD'}, token)
    assert_problem(refused, 422, operation=False)
    assert first.operation.encode() not in refused.body
    assert send(gate, '/payments', body, token).body == first.body
    assert upstream.effects(since=mark) == 1


# -- bodies ------------------------------------------------------------------------------


@pytest.mark.parametrize('media', ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])
def test_other_bodies(gate, upstream, token, mark, media):
    # Shows that a command in another form than JSON is 415, with no record.
    response = gate.post('/strict', token, body=b'title=abc', headers=[('Content-Type', media)])
    problem = assert_problem(response, 415, advice='fix', operation=False)
    assert 'application/json' in json.dumps(problem)
    assert 'gzip' not in json.dumps(problem), 'the body had no coding'
    assert has_no_record(gate, token) and upstream.effects(since=mark) == 0


def test_no_media_type(gate, token):
    # Shows that a body without a media type is not taken for JSON.
    assert_problem(gate.post('/strict', token, body=b'{"title": "abc"}'), 415, operation=False)


@pytest.mark.parametrize('headers', [[], [('Content-Type', 'application/json')]])
def test_empty_body(gate, upstream, token, mark, headers):
    # Shows that the answer to an empty body says what is expected.
    response = gate.post('/strict', token, body=b'', headers=headers)
    assert response.status in (400, 415, 422), response
    problem = assert_problem(response, response.status, advice='fix', operation=False)
    assert 'strict' in problem['detail'] and 'JSON object' in problem['detail'] and 'empty' in problem['detail']
    assert has_no_record(gate, token) and upstream.effects(since=mark) == 0


def test_gzip(gate, upstream, token, mark):
    # Shows that a compressed command is the same command, and goes on as it came.
    packed = gzip.compress(b'{"title": "abc"}')
    headers = [('Content-Type', 'application/json'), ('Content-Encoding', 'gzip')]
    assert gate.post('/strict', token, body=packed, headers=headers).outcome == 'created'
    assert send(gate, '/strict', {'title': 'abc'}, token).outcome == 'replayed'
    seen, = upstream.seen(since=mark)
    assert seen.body == packed and seen.get('Content-Encoding') == 'gzip'
    wrong = gate.post('/strict', token + 'w', body=gzip.compress(b'{"title": "a"}'), headers=headers)
    assert '/title' in assert_refused(gate, wrong, token + 'w')


def test_vendor_json(gate, token):
    # Shows that +json is JSON.
    response = gate.post('/strict', token, body=b'{"title": "abc"}',
                         headers=[('Content-Type', 'application/vnd.shop+json; charset=utf-8')])
    assert response.outcome == 'created'


# -- routes ------------------------------------------------------------------------------


def test_the_more_specific_route(gate, token):
    # Shows that the literal segment wins, whatever the order in the file.
    assert send(gate, '/things/special', {'b': 1}, token + '1').outcome == 'created'
    assert set(assert_refused(gate, send(gate, '/things/special', {'a': 1}, token + '2'), token + '2')) == {'/a', '/b'}
    assert send(gate, '/things/other', {'a': 1}, token + '3').outcome == 'created'


@pytest.mark.parametrize('target', ['/%73trict', '/s%74ric%74', '/strict?x=1', '/strict?'])
def test_escapes_do_not_leave_the_action(gate, upstream, token, mark, target):
    # Shows that a path written another way is the same action, with its rules.
    assert_refused(gate, send(gate, target, {'titel': 'abc'}, token), token)
    assert send(gate, target, {'title': 'abc'}, token).outcome == 'created'
    if '?' not in target:
        assert send(gate, '/strict', {'title': 'abc'}, token).outcome == 'replayed'
    assert [r.target for r in upstream.seen(since=mark)] == [target]


def test_parameters_count(gate, upstream, token, mark):
    # Shows that parameters are part of the request: another one is another command.
    body = {'title': 'x'}
    assert send(gate, '/things/7/parts/a%20b', body, token).outcome == 'created'
    assert send(gate, '/things/%37/parts/a%20b', body, token).outcome == 'replayed'
    assert_problem(send(gate, '/things/8/parts/a%20b', body, token), 422, 'key-reused')
    assert_problem(send(gate, '/things/7/parts/a%2Fb', body, token), 422, 'key-reused')
    assert upstream.effects(since=mark) == 1


def test_one_token_two_actions(gate, token):
    # Shows that a token stands for one action's command alone.
    assert send(gate, '/strict', {'title': 'abc'}, token).outcome == 'created'
    assert_problem(send(gate, '/keeping', {'title': 'abc'}, token), 422, 'key-reused')
    assert_problem(gate.post('/undeclared', token, json={'title': 'abc'}), 422, 'key-reused')


@pytest.mark.parametrize('undeclared', ['protect', 'pass', 'deny'])
def test_undeclared(start_gate, upstream, token, mark, undeclared):
    # Shows what becomes of writes that match no action: another path, another method.
    gate = start_gate(upstream, document(upstream, {'strict': ACTIONS['strict']}, undeclared=undeclared))
    assert_refused(gate, send(gate, '/strict', {}, token), token)
    for method, target in (('POST', '/strictest'), ('POST', '/strict/x'), ('PATCH', '/strict'), ('PUT', '/strict')):
        for name in (None, f'{token}-{method}{len(target)}'):
            twice = [send(gate, target, {}, name, method=method) for _ in range(2)]
            if undeclared == 'deny':
                for response in twice:
                    assert_problem(response, 403, 'undeclared', operation=False)
            elif undeclared == 'pass' or (name is None and method == 'PUT'):
                assert [r.outcome for r in twice] == [None, None] and twice[0].status == 201
            elif name is None:
                assert_problem(twice[0], 400, 'key-missing', operation=False)
            else:
                assert [r.outcome for r in twice] == ['created', 'replayed']
    assert gate.get('/strict').status == 200
    writes = [r for r in upstream.seen(since=mark) if r.method != 'GET']
    assert len(writes) == {'protect': 6, 'pass': 16, 'deny': 0}[undeclared]
    assert send(gate, '/strict', {'title': 'abc'}, token).outcome == 'created'


WAYS_ROUND = ['/x/../strict', '/./strict', '/x/%2e%2e/strict', '/strict%00', '/str%zzict', '/strict/', '//strict', '/Strict',
              '/strict;a=b', '/strict%3Ba', '/%2Fstrict', '/strict%2f', '/strict%5c', '/strict.', '/strict%20', '/strict.json',
              '/%53TRICT//;x']


@pytest.mark.parametrize('undeclared', ['pass', 'protect', 'deny'])
def test_no_way_round_an_action(start_gate, upstream, token, mark, undeclared):
    # Shows that a path which services may take for an action's is not passed on, whatever else is.
    gate = start_gate(upstream, document(upstream, {'strict': ACTIONS['strict']}, undeclared=undeclared))
    for number, target in enumerate(WAYS_ROUND):
        for name in (None, f'{token}-{number}'):
            response = send(gate, target, {'title': 'abc'}, name)
            assert_problem(response, 403 if undeclared == 'deny' and number > 4 else 400, operation=False)
    assert upstream.effects(since=mark) == 0


@pytest.mark.parametrize('undeclared', ['protect', 'pass', 'deny'])
def test_no_override_of_an_action(start_gate, upstream, token, mark, undeclared):
    # Shows that a method override cannot turn an unprotected request into a declared one.
    actions = {'things.remove': {'route': 'DELETE /things/{id}'}}
    gate = start_gate(upstream, document(upstream, actions, undeclared=undeclared))
    response = gate.request('GET', '/things/1', headers=[('X-HTTP-Method-Override', 'DELETE')])
    assert_problem(response, 400, 'method-override', operation=False)
    response = gate.request('PUT', '/things/1', body=b'', headers=[('X-HTTP-Method-Override', 'DELETE')])
    assert_problem(response, 400, 'method-override', operation=False)
    response = gate.request('DELETE', '/things/1', token=token, headers=[('X-Method-Override', 'patch')])
    assert_problem(response, 400, 'method-override', operation=False)
    response = gate.request('GET', '/things/1', headers=[('X_HTTP_Method_Override', 'DELETE')])
    assert_problem(response, 400, 'method-override', operation=False)
    for query in ('_method=DELETE', 'a=b&%5fmethod=%44elete', '_method=get&_method=delete',
                  '_method=put&_method=put'):
        response = gate.request('PUT', f'/things/1?{query}', body=b'')
        assert_problem(response, 400, 'method-override', operation=False)
    two = [('X-HTTP-Method', 'GET'), ('X-HTTP-Method', 'delete')]
    assert_problem(gate.request('GET', '/things/1', headers=two), 400, 'method-override', operation=False)
    assert upstream.effects(since=mark) == 0
    response = gate.request('DELETE', '/things/1', token=token, headers=[('X-Method-Override', 'DELETE')])
    assert response.outcome == 'created'
    elsewhere = gate.request('GET', '/else', headers=[('X-HTTP-Method-Override', 'DELETE')])
    assert elsewhere.status == (400 if undeclared == 'deny' else 200)


# -- what is of an action's own ----------------------------------------------------------


def test_its_upstream(gate, upstream, other, token, mark):
    # Shows that an action's requests go to the service it names, the others do not.
    before = other.mark()
    first, second = gate.post('/elsewhere', token), gate.post('/elsewhere', token)
    assert (first.outcome, second.outcome) == ('created', 'replayed')
    assert (upstream.effects(since=mark), other.effects(since=before)) == (0, 1)
    assert gate.post('/somewhere', token + '2').outcome == 'created'
    assert other.effects(since=before) == 1


def test_its_statuses(gate, upstream, token):
    # Shows that an action's statuses mean what it says, and only for it.
    upstream.plan('/moody', answer(423, works=False), answer(418), answer(503), answer(500))
    assert gate.post('/moody', token).outcome == 'not_sent'
    assert_problem(gate.post('/moody', token), 504, 'outcome-unknown')
    final = gate.post('/moody', token + '2')
    assert (final.status, final.outcome, final.state) == (503, 'created', 'failed')
    assert gate.post('/moody', token + '2').outcome == 'replayed'
    assert gate.post('/moody', token + '3').status == 500
    upstream.plan('/cheerful', answer(423), answer(503, works=False))
    assert gate.post('/cheerful', token + '4').status == 423
    assert gate.post('/cheerful', token + '5').outcome == 'not_sent'


def test_its_timeout(gate, upstream, token):
    # Shows that an action's timeout ends its calls, and leaves others alone.
    upstream.plan('/brief', delayed(5))
    upstream.plan('/patient', delayed(1))
    began = time.monotonic()
    assert_problem(gate.post('/brief', token), 504, 'outcome-unknown')
    assert time.monotonic() - began < 4
    assert gate.post('/patient', token + '2').outcome == 'created'


def test_its_largest_body(gate, upstream, token, mark):
    # Shows that an action may take less than the others.
    response = gate.post('/small', token, body=b'x' * 65)
    assert_problem(response, 413, 'body-too-large', operation=False)
    assert gate.post('/small', token, body=b'x' * 64).outcome == 'created'
    assert gate.post('/not-small', token + '2', body=b'x' * 65).outcome == 'created'
    assert upstream.effects(since=mark) == 2


def test_its_largest_response(gate, upstream, token):
    # Shows that answers over an action's own limit are passed on whole and not kept.
    upstream.plan('/large', answer(201, body=b'y' * 40000), answer(201, body=b'z' * 30000))
    assert len(gate.post('/large', token).body) == 40000
    assert_problem(gate.post('/large', token), 410, 'response-not-retained')
    assert gate.post('/large', token + '2').body == gate.post('/large', token + '2').body == b'z' * 30000
    upstream.plan('/not-large', answer(201, body=b'y' * 40000))
    assert gate.post('/not-large', token + '3').body == gate.post('/not-large', token + '3').body


def test_a_larger_response_than_the_others(start_gate, upstream, token):
    # Shows that an action may keep more than the general limit.
    actions = {'large': {'route': 'POST /larger', 'max_response': '2MiB'}}
    gate = start_gate(upstream, document(upstream, actions, limits={'max_response': '1KiB'}))
    upstream.plan('/larger', answer(201, body=b'y' * 1500000))
    first, second = gate.post('/larger', token), gate.post('/larger', token)
    assert len(first.body) == 1500000 and first.body == second.body and second.outcome == 'replayed'


def test_a_reload_raises_what_is_kept(start_gate, upstream, token):
    # Shows that a larger limit of an action is in force after a reload.
    def actions(size):
        return document(upstream, {'large': {'route': 'POST /grown', 'max_response': size, 'summary': size}})

    gate = start_gate(upstream, actions('1KiB'))
    upstream.plan('/grown', answer(201, body=b'y' * 9000000))
    gate.reload(actions('16MiB'))
    until(lambda: gate.get('/.counterfoil/actions').json()['actions'][0]['summary'] == '16MiB')
    first, second = gate.post('/grown', token), gate.post('/grown', token)
    assert len(first.body) == 9000000 and first.body == second.body and second.outcome == 'replayed'


def test_its_retention(start_gate, upstream, token):
    # Shows that an action's operations may be forgotten sooner, and others are not.
    actions = {'short': {'route': 'POST /short', 'retention': '300ms'}}
    gate = start_gate(upstream, document(upstream, actions))
    assert gate.post('/short', token).outcome == gate.post('/long', token + '2').outcome == 'created'
    short, long = gate.post('/short', token + '3'), gate.post('/long', token + '4')
    assert short.one('Operation-Expires') != long.one('Operation-Expires')
    until(lambda: gate.post('/short', token).status == 410)
    assert_problem(gate.post('/short', token), 410, 'key-expired', operation=False)
    assert gate.post('/long', token + '2').outcome == 'replayed'


def test_selected_headers(gate, upstream, token, mark):
    # Shows that a header which the service acts on is part of the command, others are not.
    def attempt(tenant, *more):
        headers = [('x-tenant', tenant)] if tenant else []
        return send(gate, '/tenant', {'title': 'x'}, token, headers=[*headers, *more])

    assert attempt('north').outcome == 'created'
    assert attempt('north', ('X-Other', '1')).outcome == 'replayed'
    assert_problem(attempt('south'), 422, 'key-reused')
    assert_problem(attempt(None), 422, 'key-reused')
    assert_problem(attempt('north', ('X-Tenant', 'south')), 422, 'key-reused')
    assert upstream.effects(since=mark) == 1 and upstream.seen(since=mark)[0].get('X-Tenant') == 'north'


# -- tokens ------------------------------------------------------------------------------


def test_token_in_the_body(gate, upstream, token, mark):
    # Shows that the token in the body is the operation's, and no part of its command.
    body = {'title': 'x', 'request_id': token}
    gate.secrets.add(token)
    first, second = send(gate, '/in-body', body, None), send(gate, '/in-body', body, None)
    assert (first.outcome, second.outcome) == ('created', 'replayed') and first.body == second.body
    assert gate.operation(first.operation)['token'] == token
    assert_problem(send(gate, '/in-body', {**body, 'title': 'y'}, None), 422, 'key-reused')
    assert send(gate, '/in-body', {**body, 'request_id': token + '2'}, None).outcome == 'created'
    assert upstream.effects(since=mark) == 2


def test_token_in_the_body_is_the_same_elsewhere(gate, upstream, token, mark):
    # Shows that tokens of bodies and headers are of one kind: one token, one action.
    first = send(gate, '/in-body', {'title': 'x', 'request_id': token}, None)
    assert first.outcome == 'created'
    conflict = assert_problem(send(gate, '/in-body-other', {'title': 'x', 'meta': {'token': token}}, None),
                              422, 'key-reused')
    assert conflict['operation']['id'] == first.operation
    assert_problem(send(gate, '/strict', {'title': 'abc'}, token), 422, 'key-reused')
    assert upstream.effects(since=mark) == 1


@pytest.mark.parametrize('value, slug', [
    (None, 'key-malformed'), ('', 'key-malformed'), (' ', 'key-malformed'), (17, 'key-malformed'),
    (['a'], 'key-malformed'), ('ü', 'key-malformed'), ('a b', 'key-malformed'), ('t' * 256, 'key-malformed'),
    ('absent', 'key-missing')])
def test_no_good_token_in_the_body(gate, upstream, mark, value, slug):
    # Shows that an action whose token is in the body needs a good one there; the header does not help.
    body = {'title': 'x'} if value == 'absent' else {'title': 'x', 'request_id': value}
    for header in (None, 'some-token-in-a-header'):
        problem = assert_problem(send(gate, '/in-body', body, header), 400, slug, 'fix', operation=False)
        assert slug != 'key-missing' or '/request_id' in problem['detail']
    assert upstream.effects(since=mark) == 0


@pytest.mark.parametrize('body', [b'', b'{"title": "x"', b'[]'])
def test_no_body_for_the_token(gate, upstream, mark, body):
    # Shows that a body which cannot hold the token is refused.
    response = gate.post('/in-body', body=body, headers=[('Content-Type', 'application/json')])
    assert response.status in (400, 422), response
    assert_problem(response, response.status, advice='fix', operation=False)
    assert upstream.effects(since=mark) == 0


def test_a_compressed_token(gate, upstream, token, mark):
    # Shows that the token is found in a compressed body.
    headers = [('Content-Type', 'application/json'), ('Content-Encoding', 'gzip')]
    packed = gzip.compress(json.dumps({'title': 'x', 'request_id': token}).encode())
    assert gate.post('/in-body', body=packed, headers=headers).outcome == 'created'
    assert send(gate, '/in-body', {'title': 'x', 'request_id': token}, None).outcome == 'replayed'
    assert upstream.effects(since=mark) == 1


def test_tokens_that_are_not_required(start_gate, upstream, token, mark):
    # Shows that a declared action needs its token where undeclared writes do not.
    gate = start_gate(upstream, document(upstream, {'strict': ACTIONS['strict']}, tokens={'required': False}))
    assert_problem(send(gate, '/strict', {'title': 'abc'}, None), 400, 'key-missing', operation=False)
    assert send(gate, '/else', {'title': 'abc'}, None).outcome is None
    assert upstream.effects(since=mark) == 1


def test_the_status_resource_knows_it(gate, token):
    # Shows that an operation whose token was in the body is found by it.
    first = send(gate, '/in-body', {'title': 'x', 'request_id': token}, None)
    found = gate.get(f'/.counterfoil/operations?token={token}').json()['operations']
    assert [o['id'] for o in found] == [first.operation] and found[0]['action'] == 'in_body'


def test_natural(gate, upstream, token, mark):
    # Shows that a natural action needs no token, and is one effect with one.
    body = {'title': 'x'}
    twice = [send(gate, '/orders/1', body, None, method='PUT') for _ in range(2)]
    assert [r.outcome for r in twice] == [None, None] and upstream.effects(since=mark) == 2
    twice = [send(gate, '/orders/1', body, token, method='PUT') for _ in range(2)]
    assert [r.outcome for r in twice] == ['created', 'replayed'] and upstream.effects(since=mark) == 3
    assert_refused(gate, send(gate, '/orders/1', {}, token + '2', method='PUT'), token + '2')


def test_declared_needs_a_token(gate, upstream, mark):
    # Shows that a declared action needs one whatever its method.
    assert_problem(gate.request('DELETE', '/orders/1'), 400, 'key-missing', operation=False)
    assert upstream.effects(since=mark) == 0


# -- what is told about actions ----------------------------------------------------------


def test_actions_are_listed(gate):
    # Shows each action with its route, its token's place and the schema of its command.
    listed = {a['name']: a for a in gate.get('/.counterfoil/actions').json()['actions']}
    assert set(listed) == {*ACTIONS, *TYPED}
    for name, declared in {**ACTIONS, **TYPED}.items():
        shown = listed[name]
        assert f'{shown["method"]} {shown["path"]}' == declared['route']
        assert shown['summary'] == declared.get('summary', '')
        assert shown['upstream'] == declared.get('upstream', 'default')
        assert shown['natural'] is declared.get('natural', False)
        pointer = declared.get('token', {}).get('pointer')
        assert shown['token'] == ({'pointer': pointer} if pointer else {'header': 'Idempotency-Key'})
        assert set(declared.get('fields', ())) <= set(shown['command'].get('properties', ()))
    strict = listed['strict']['command']
    assert strict['required'] == ['title'] and strict['additionalProperties'] is False
    title = strict['properties']['title']
    assert (title['type'], title['minLength'], title['maxLength']) == ('string', 2, 5)
    assert 'Its name' in title['description']
    assert strict['properties']['priority']['enum'] == ['low', 'normal', 'high']
    assert strict['properties']['priority']['default'] == 'normal'
    assert listed['keeping']['command']['additionalProperties'] is True
    assert listed['secrets']['command']['properties']['pin']['writeOnly'] is True
    assert 'request_id' in listed['in_body']['command']['properties']


def test_as_many_as_a_file_can_hold(start_gate, upstream):
    # Shows that the list of actions is whole where a file declares as much as it may.
    quotes = 36 * '"'  # each is two bytes in JSON
    fields = ', '.join(f"'{quotes}{n}': {{type: reference}}" for n in range(250))
    text = (f'upstreams: {{default: {{url: "{upstream.url}"}}}}\nactions:\n' +
            ''.join(f'  a{n}: {{route: POST /r{n}, fields: {{{fields}}}}}\n' for n in range(64)))
    gate = start_gate(upstream, text)
    response = gate.get('/.counterfoil/actions')
    assert response.status == 200 and len(response.body) > 4 << 20
    assert [len(a['command']['properties']) for a in response.json()['actions']] == 64 * [250]


def fits(schema, value):
    """The few rules of JSON Schema that schemas of commands are made of; all that is asked here."""
    known = {'$schema', 'title', 'description', 'type', 'properties', 'required', 'additionalProperties',
             'enum', 'default', 'minLength', 'maxLength', 'minimum', 'maximum', 'pattern', 'items', 'minItems',
             'maxItems', 'anyOf', 'oneOf', 'format', 'readOnly', 'writeOnly', 'const', 'examples', 'not'}
    assert set(schema) <= known, set(schema) - known
    types = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'null': type(None)}
    wanted = schema.get('type', [])
    wanted = [wanted] if isinstance(wanted, str) else wanted

    def is_of(name):
        if name in ('integer', 'number'):
            return isinstance(value, (int, float)) and not isinstance(value, bool) and \
                (name == 'number' or value == int(value))
        return isinstance(value, types[name])

    if wanted and not any(is_of(name) for name in wanted):
        return False
    if 'enum' in schema and value not in schema['enum']:
        return False
    if 'anyOf' in schema and not any(fits(s, value) for s in schema['anyOf']):
        return False
    if 'oneOf' in schema and sum(fits(s, value) for s in schema['oneOf']) != 1:
        return False
    if isinstance(value, str):
        return schema.get('minLength', 0) <= len(value) <= schema.get('maxLength', len(value)) and \
            bool(re.search(schema.get('pattern', ''), value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return schema.get('minimum', value) <= value <= schema.get('maximum', value)
    if isinstance(value, list):
        return schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', len(value)) and \
            all(fits(schema.get('items', {}), v) for v in value)
    if isinstance(value, dict):
        properties, rest = schema.get('properties', {}), schema.get('additionalProperties', True)
        return set(schema.get('required', ())) <= set(value) and \
            all(fits(properties[k], v) if k in properties else rest is not False for k, v in value.items())
    return True


def test_schemas_take_every_good_command(gate):
    # Shows that no schema refuses what the gate takes, and that it refuses some of what it does not.
    listed = {a['name']: a['command'] for a in gate.get('/.counterfoil/actions').json()['actions']}
    for number, pair in enumerate(PAIRS):
        for side in 'ab':
            if pair['want'] not in (f'refuse_{side}', 'refuse_both'):
                assert fits(listed[f'typed.{number}'], json.loads(pair[side])), (pair['name'], side)
    good = {'title': 'fine', 'address': {'a/b': True}, 'labels': ['x'], 'note': None, 'code': 'AB',
            'artifact': DIGEST, 'count': 9, 'made_at': '2026-01-01T00:00:00Z', 'priority': 'low'}
    assert fits(listed['strict'], good)
    for name, wrong in {'title': 'toolong', 'count': 10, 'address': {}, 'labels': 'x', 'priority': 'p', 'x': 1}.items():
        assert not fits(listed['strict'], {**good, name: wrong}), name
    assert fits(listed['in_body'], {'title': 'x', 'request_id': 'r'})
    assert fits(listed['in_body.other'], {'title': 'x', 'meta': {'token': 'r'}})


def test_the_help_page(gate):
    # Shows that the help page speaks of declared actions and of what they refuse.
    text = gate.get('/.counterfoil/help').body.decode()
    for word in ('GET /.counterfoil/actions', 'command-invalid (422, fix)', 'reference-mutable (422, fix)',
                 'Declared actions are protected', 'These requests are protected: POST PATCH;'):
        assert word in text, word


@pytest.mark.parametrize('undeclared, rule', [('pass', 'passes, and is not protected'), ('deny', 'is refused')])
def test_the_help_page_on_undeclared_writes(start_gate, upstream, undeclared, rule):
    # Shows that the help page does not promise protection that the configuration takes away.
    gate = start_gate(upstream, document(upstream, {'strict': ACTIONS['strict']}, undeclared=undeclared))
    text = gate.get('/.counterfoil/help').body.decode()
    assert 'A write that is not declared ' + rule in text and 'POST PATCH' not in text


def test_the_action_is_shown(gate, token):
    # Shows that an operation names its action, to its caller and to the log.
    first = send(gate, '/strict', {'title': 'abc'}, token)
    assert gate.operation(first.operation)['action'] == 'strict'
    until(lambda: any(line.get('action') == 'strict' and line.get('operation') == first.operation
                      for line in gate.log_lines()))
    before = len(gate.log)
    assert_refused(gate, send(gate, '/strict', {}, token + '2'), token + '2')
    line = json.loads(gate.wait_log('"outcome":"refused"', since=before))
    assert (line['action'], line['problem']) == ('strict', 'command-invalid')


# -- reloading ---------------------------------------------------------------------------


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, 'it never became true'
        time.sleep(0.05)


def names(gate):
    return {a['name'] for a in gate.get('/.counterfoil/actions').json()['actions']}


def test_reload(start_gate, upstream, token, mark):
    # Shows that actions come, change and go with a reload, and that what runs ends as it began.
    one = {'one': {'route': 'POST /reloaded', 'fields': TITLE}}
    gate = start_gate(upstream, document(upstream, one))
    hold = Hold()
    upstream.plan('/reloaded', held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(send, gate, '/reloaded', {'title': 'x'}, token)
        hold.wait_entered()
        stricter = {'one': {'route': 'POST /reloaded', 'fields': {'title': {'type': 'integer'}}},
                    'two': {'route': 'POST /second', 'fields': TITLE}}
        gate.reload(document(upstream, stricter))
        until(lambda: names(gate) == {'one', 'two'})
        assert_problem(send(gate, '/reloaded', {'title': 'x'}, token), 422, 'command-invalid', operation=False)
        hold.release()
        assert running.result(15).outcome == 'created'
    assert_refused(gate, send(gate, '/second', {}, token + '2'), token + '2')
    gate.reload(document(upstream, {}))
    until(lambda: names(gate) == set())
    assert send(gate, '/second', {}, token + '2').outcome == 'created'
    # without its action it is another request
    assert_problem(send(gate, '/reloaded', {'title': 'x'}, token), 422, 'key-reused')
    gate.reload(document(upstream, one))
    until(lambda: names(gate) == {'one'})
    assert send(gate, '/reloaded', {'title': 'x'}, token).outcome == 'replayed'
    assert upstream.effects(since=mark) == 2


def test_a_changed_action_is_compared_as_it_is_now(start_gate, upstream, token, mark):
    # Shows that a kept operation is compared by what its action says now: rules that leave the
    # command as it was replay, those that change it are a conflict, and neither acts again.
    def actions(**more):
        return document(upstream, {'one': {'route': 'POST /changed', 'fields': {**TITLE, **more}}})

    gate = start_gate(upstream, actions())
    first = send(gate, '/changed', {'title': 'x'}, token)
    gate.reload(actions(count={'type': 'integer'}))
    until(lambda: send(gate, '/changed', {'title': 'x', 'count': 1}, token).slug == 'key-reused')
    assert send(gate, '/changed', {'title': 'x'}, token).body == first.body
    gate.reload(actions(count={'type': 'integer', 'default': 3}))
    until(lambda: send(gate, '/changed', {'title': 'x'}, token).slug == 'key-reused')
    assert upstream.effects(since=mark) == 1


# -- the command line --------------------------------------------------------------------

WRONG = """\
upstreams: {default: {url: "http://127.0.0.1:9000"}}
actions:
  1st: {route: POST /first}
  two: {route: /second}
  three:
    route: POST /third
    upstream: nowhere
    fields:
      amount: {type: money, currency: nothing}
      kind: {type: strng}
      code: {type: string, pattern: "["}
      deep: {type: object, fields: {x: {type: integer, enum: [a]}}}
    unknown_fields: maybe
    token: {from: body}
    headers: [Idempotency-Key]
    natural: perhaps
  four: {route: "POST /things/{a}"}
  five: {route: "POST /things/{b}"}
  six: {summary: None}
  seven: {route: POST /seven, unique: {by: [a]}}
"""
WRONG_AT = {3: '1st', 4: 'route', 7: 'nowhere', 9: 'currency', 10: 'strng', 11: 'pattern', 12: 'enum', 13: 'maybe',
            14: 'token', 15: 'headers', 16: 'natural', 18: 'four', 19: 'route', 20: 'unique'}


def test_check_of_actions(tmp_path):
    # Shows that all that is wrong with actions is said at once, each with line and column.
    file = tmp_path / 'wrong.yaml'
    file.write_text(WRONG)
    done = command('config', 'check', file)
    assert done.returncode == 2 and done.stdout == ''
    lines = done.stderr.splitlines()
    for number, word in WRONG_AT.items():
        assert any(re.match(rf'\S*wrong\.yaml:{number}:\d+: ', line) and word in line for line in lines), \
            (number, word, lines)
    reported = {int(m[1]) for m in re.finditer(r'^\S*wrong\.yaml:(\d+):\d+: ', done.stderr, re.MULTILINE)}
    assert reported == set(WRONG_AT)
    assert command('serve', '--config', file, '--data', tmp_path / 'data').returncode == 2


def test_schema_of_configurations(tmp_path):
    # Shows that the schema for editors is JSON and knows what actions are made of.
    done = command('config', 'schema')
    assert done.returncode == 0 and done.stderr == ''
    schema = json.loads(done.stdout)
    assert schema['$schema'].startswith('https://json-schema.org/')
    for word in ('actions', 'route', 'unknown_fields', 'server_assigned', 'money'):
        assert f'"{word}"' in done.stdout


OPENAPI = """\
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "UPSTREAM"}]
paths:
  /v1/orders:
    get: {responses: {}}
    post:
      operationId: createOrder
      summary: Open an order
      requestBody:
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Order"}
  /v1/orders/{id}:
    put:
      operationId: replaceOrder
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
    delete: {operationId: removeOrder}
components:
  schemas:
    Order:
      type: object
      required: [item, quantity]
      additionalProperties: false
      properties:
        item: {type: string, maxLength: 20}
        quantity: {type: integer, minimum: 1}
        speed: {type: string, enum: [slow, fast], default: slow}
"""


def test_import_openapi(start_gate, upstream, tmp_path, token, mark):
    # Shows that a configuration made from an API's own description passes its check and works.
    file, made = tmp_path / 'shop.yaml', tmp_path / 'gate.yaml'
    file.write_text(OPENAPI.replace('UPSTREAM', upstream.url))
    done = command('config', 'import-openapi', file)
    assert done.returncode == 0 and done.stderr == '', done
    made.write_text(done.stdout)
    assert command('config', 'check', made).returncode == 0
    gate = start_gate(upstream, done.stdout)
    routes = {f'{a["method"]} {a["path"]}' for a in gate.get('/.counterfoil/actions').json()['actions']}
    assert routes == {'POST /v1/orders', 'PUT /v1/orders/{id}', 'DELETE /v1/orders/{id}'}
    faults = assert_refused(gate, send(gate, '/v1/orders', {'item': 'x' * 21, 'quantity': 0}, token), token)
    assert set(faults) == {'/item', '/quantity'}
    order = {'item': 'lamp', 'quantity': 2}
    assert send(gate, '/v1/orders', order, token).outcome == 'created'
    assert send(gate, '/v1/orders', {**order, 'speed': 'slow'}, token).outcome == 'replayed'
    assert upstream.effects(since=mark) == 1


@pytest.mark.parametrize('text', ['', '{}', 'openapi: 2.0.0\npaths: {}\n', 'swagger: "2.0"\n', 'a: [\n', '\0'])
def test_import_refuses(tmp_path, text):
    # Shows that what is no OpenAPI document is refused with its place, never half imported.
    file = tmp_path / 'api.yaml'
    file.write_text(text)
    done = command('config', 'import-openapi', file)
    assert done.returncode == 2 and done.stdout == '' and 'api.yaml' in done.stderr
    assert command('config', 'import-openapi', tmp_path / 'nothing').returncode == 2
