"""Attempts to be somebody else, to be let in for longer than one may, and to see what is another's."""
import json
import socket
import time

import pytest

from harness.client import Connection, assert_problem
from harness.gate import command, config, files_of
from harness.people import new_key
from harness.rules import eventually
from harness.tokens import AUDIENCE, NAME, Issuer, accounts, b64
from harness.upstream import Upstream, answer, delayed
from test_console_api import Listener, session_of, sign_in
from test_keys import bearer, in_background


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return config(upstream, accounts={'from': 'key'})


@pytest.fixture
def acme(gate, number):
    return gate.key(f'acme-{number}', 'bot')


def proxied(upstream, **more):
    header = {'account': 'X-Account', 'agent': 'X-Agent', 'trusted': ['127.0.0.1']}
    return config(upstream, accounts={'from': 'header', 'header': header}, **more)


def named(account, agent='bot'):
    return [('X-Account', account), ('X-Agent', agent)]


def events_of(gate, name):
    return gate.operator(f'/api/audit?event={name}').json()['entries']


# -- let in for longer -------------------------------------------------------------------


@pytest.mark.parametrize('end', ['revoked', 'expired'])
def test_the_bell_stops_with_the_key_of_its_session(gate, end):
    # Shows that a stream of a session ends when the session's key does, though nobody asks for anything else.
    more = {'expires_in': '3s'} if end == 'expired' else {}
    id, key = new_key(gate, 'auditor', 'eve', **more)
    cookie, _ = session_of(gate, {'key': key})
    listener = Listener(gate, cookie)
    listener.wait(b'retry:')
    if end == 'revoked':
        gate.revoke(id)
    listener.wait(b'\r\n0\r\n\r\n', seconds=15)
    listener.close()
    assert gate.admin('/api/session', headers=cookie).status == 401


def test_a_bell_belongs_to_the_credential_that_rang_it(gate):
    # Shows that a stream which was let in by a bearer token ends with that one, whatever cookie it brought too.
    own, _ = session_of(gate, {'key': new_key(gate, 'auditor', 'ada')[1]})
    id, key = new_key(gate, 'auditor', 'eve')
    name, value = own[0]
    listener = Listener(gate, [('Authorization', f'Bearer {key}\r\n{name}: {value}')])
    listener.wait(b'retry:')
    gate.revoke(id)
    listener.wait(b'\r\n0\r\n\r\n', seconds=15)
    listener.close()


@pytest.mark.parametrize('what', ['duplicate', 'status'])
def test_a_token_that_expires_while_it_waits(start_gate, upstream, tmp_path, path, token, what):
    # Shows that who waits by a signed token which expires meanwhile is told nothing of the operation.
    issuer = Issuer(tmp_path / 'issuer')
    issuer.add('ec')
    (tmp_path / 'jwks.json').write_text(issuer.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(tmp_path / 'jwks.json', tolerance='0s')))
    good = issuer.bearer()
    upstream.plan(path, delayed(4))
    first, made = in_background(lambda: gate.post(path, token, account=good))
    eventually(lambda: gate.get('/.counterfoil/operations', account=good).json()['operations'])
    [operation] = gate.get('/.counterfoil/operations', account=good).json()['operations']
    short = issuer.bearer(exp=int(time.time()) + 2)
    if what == 'duplicate':
        late = gate.post(path, token, account=short, headers={'Prefer': 'wait=30'})
    else:
        late = gate.get(f'/.counterfoil/operations/{operation["id"]}?wait=30', account=short)
    first.join(15)
    assert made[0].outcome == 'created' and upstream.effects(path) == 1
    assert_problem(late, 401, 'unauthenticated', operation=False)
    assert late.operation is None and operation['id'] not in late.body.decode()


def test_a_key_that_is_forgotten(start_gate, upstream, path, token):
    # Shows that a key which is not in force can be forgotten, one that is cannot, nor another account's; and that it
    # stays nobody's, over a restart too.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    gone, kept = gate.key('acme', 'bot'), gate.key('acme', 'bot')
    assert gate.post(path, token, account=bearer(gone)).outcome == 'created'
    refused = command('key', 'rm', gone['id'], '--data', gate.data)
    assert refused.returncode != 0 and 'revoke it first' in refused.stderr, refused
    assert gate.post(path, token, account=bearer(gone)).outcome == 'replayed'
    gate.revoke(gone['id'])
    stranger = new_key(gate, 'operator', 'eve', account='globex')[1]
    assert gate.admin(f'/api/keys/{gone["id"]}', 'DELETE', [('Authorization', 'Bearer ' + stranger)]).status == 404
    removed = command('key', 'rm', gone['id'], '--data', gate.data)
    assert removed.returncode == 0 and removed.stdout == f'{gone["id"]} is forgotten\n', removed
    assert command('key', 'rm', gone['id'], '--data', gate.data).returncode != 0
    eventually(lambda: [entry for entry in events_of(gate, 'key_removed') if entry['subject'] == gone['id']])
    for _ in range(2):
        assert_problem(gate.post(path, token, account=bearer(gone)), 401, 'unauthenticated', operation=False)
        assert gate.post(path, token, account=bearer(kept)).outcome == 'replayed'
        listed = [key['id'] for key in gate.operator('/api/keys').json()['keys']]
        assert kept['id'] in listed and gone['id'] not in listed
        gate.terminate()
        gate.wait_exit()
        gate.restart()
    assert upstream.effects(path) == 1


# -- another's account -------------------------------------------------------------------


@pytest.mark.parametrize('account', ['inbox/hooks', 'inbox/'])
def test_nobody_is_an_inbox(start_gate, upstream, tmp_path, path, token, account):
    # Shows that neither a proxy nor an issuer can name a caller whose account is that of events that come in.
    gate = start_gate(upstream, proxied(upstream))
    refused = [gate.post(path, token, headers=named(account)),
               gate.get('/.counterfoil/operations', headers=named(account))]
    issuer = Issuer(tmp_path / 'issuer')
    issuer.add('ec')
    (tmp_path / 'jwks.json').write_text(issuer.jwks())
    signed = start_gate(upstream, config(upstream, accounts=accounts(tmp_path / 'jwks.json')))
    refused += [signed.post(path, token, account=issuer.bearer(org=account)),
                signed.get('/.counterfoil/operations', account=issuer.bearer(org=account))]
    for response in refused:
        assert_problem(response, 401, 'unauthenticated', operation=False)
    assert upstream.effects(path) == 0


def test_a_name_that_is_no_text(start_gate, upstream, path, token):
    # Shows that a name of a proxy that is no UTF-8, or has control characters, is nobody's.
    gate = start_gate(upstream, proxied(upstream))
    for name in (b'\xff\xfe', b'a\tb', b'\xc3', b'\xed\xa0\x80'):
        for headers in (named(name), named('acme', name)):
            response = gate.post(path, token, headers=headers)
            assert_problem(response, 401, 'unauthenticated', operation=False)
    assert gate.post(path, token, headers=named('b\u00fc'.encode())).outcome == 'created'
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('smuggled', ['X_Account', 'x_account', 'X-Agent_', 'X_Agent', 'X.Account', 'X+account', 'X~Agent'])
def test_a_name_in_another_spelling(start_gate, upstream, path, token, smuggled):
    # Shows that a header which a service could take for the proxy's own is not let through beside it.
    gate = start_gate(upstream, proxied(upstream))
    response = gate.post(path, token, headers=[*named('acme'), (smuggled, 'victim')])
    if smuggled.endswith('_'):
        assert response.outcome == 'created'
    else:
        assert_problem(response, 401, 'unauthenticated', operation=False)
        assert upstream.effects(path) == 0


def test_two_keys_are_nobodys(gate, upstream, path, token, acme, number):
    # Shows that of two lines Counterfoil-Key none is chosen, and that neither reaches the service.
    other = gate.key(f'globex-{number}', 'bot')
    lines = [('Counterfoil-Key', acme['key']), ('counterfoil-key', other['key'])]
    for headers in (lines, lines[::-1]):
        assert_problem(gate.post(path, token, headers=headers), 401, 'unauthenticated', operation=False)
        assert_problem(gate.get(path, headers=headers), 401, 'unauthenticated', operation=False)
    assert upstream.effects(path) == 0


def test_the_consoles_cookie_stays_here(gate, upstream, path, token, acme):
    # Shows that the console's cookie, which a browser sends to every port of the host, goes to no service.
    cookie, _ = session_of(gate, {'key': new_key(gate, 'operator', 'ann')[1]})
    name, session = cookie[0]
    rows = ((session, []), (f'a=1; {session}; b="2"', ['a=1; b="2"']), (f'{session};c=3', ['c=3']),
            ('a=1;  b=2', ['a=1;  b=2']))
    for nth, (value, rest) in enumerate(rows):
        mark = upstream.mark()
        gate.post(path, f'{token}-{nth}', account=bearer(acme), headers=[(name, value)])
        gate.get(path, account=bearer(acme), headers=[(name, value)])
        seen = upstream.seen(path, since=mark)
        assert len(seen) == 2 and [one.all('Cookie') for one in seen] == [rest, rest]
        assert session.split('=')[1] not in repr([one.headers for one in seen])


def test_cursors_of_another_account(gate, path, token, number):
    # Shows that a page that begins at another account's operation has only one's own, wherever it begins.
    mine, theirs = gate.key(f'mine-{number}', 'bot'), gate.key(f'theirs-{number}', 'bot')
    ours = [gate.post(path, f'{token}-{n}', account=bearer(mine)).operation for n in range(2)]
    other = gate.post(path, token, account=bearer(theirs)).operation
    ours += [gate.post(path, f'{token}-{n}', account=bearer(mine)).operation for n in range(2, 4)]
    for cursor in (other, 'op_' + '0' * 26, 'op_' + '7' + 'Z' * 25):
        page = gate.get(f'/.counterfoil/operations?cursor={cursor}', account=bearer(mine))
        if page.status == 200:
            assert {one['id'] for one in page.json()['operations']} <= set(ours)
            assert other not in page.body.decode()
    for verb in ('', '/response'):
        assert gate.get(f'/.counterfoil/operations/{other}{verb}?wait=1', account=bearer(mine)).status == 404
    assert gate.post(f'/.counterfoil/operations/{other}/cancel', account=bearer(mine)).status == 404


# -- people ------------------------------------------------------------------------------


def test_of_one_account_nothing_of_another(gate, upstream, path, token, number):
    # Shows that no endpoint tells people of one account an id, a token or a name of another's.
    theirs = gate.key(f'theirs-{number}', 'secret-agent')
    other = gate.post(path, token, account=bearer(theirs)).operation
    words = [other, token, f'theirs-{number}', 'secret-agent', theirs['id']]
    for role in ('approver', 'operator', 'auditor'):
        key = new_key(gate, role, 'mallory', account=f'mine-{number}')[1]
        for target in ('/api/operations', f'/api/operations/{other}', f'/api/operations?cursor={other}',
                       f'/api/operations?token={token}', '/api/locks', '/api/approvals?state=all',
                       f'/api/approvals/{other}', '/api/audit', f'/api/audit?operation={other}', f'/api/audit?token={token}',
                       f'/api/audit?agent=secret-agent', '/api/keys', '/metrics', '/api/outcomes', '/api/secrets',
                       '/api/audit/status', '/api/session', '/api/endpoints'):
            response = gate.admin(target, headers=[('Authorization', 'Bearer ' + key)])
            shown = response.body.decode()
            assert not [word for word in words if word in shown and word not in target], (role, target, shown)
            assert response.status != 500
        for target in (f'/api/operations/{other}/cancel', f'/api/operations/{other}/resolve',
                       f'/api/operations/{other}/release', f'/api/keys/{theirs["id"]}/revoke',
                       f'/api/approvals/{other}/approve', f'/api/approvals/{other}/deny', '/api/audit/rotate'):
            body = json.dumps({'why': 'x', 'fingerprint': '0' * 64, 'outcome': 'completed', 'state': 'completed'}).encode()
            response = gate.admin(target, 'POST', [('Authorization', 'Bearer ' + key)], body)
            assert response.status in (400, 403, 404), (role, target, response)
            assert token not in response.body.decode()


def test_a_link_that_is_none_is_counted(gate):
    # Shows that who tries links is told of in the audit log, as who tries keys is.
    before = len(events_of(gate, 'authentication_failed'))
    assert_problem(sign_in(gate, {'link': 'f' * 64}), 401, 'unauthenticated', operation=False)
    eventually(lambda: len(events_of(gate, 'authentication_failed')) > before)


def test_a_link_is_raced_for(start_gate, upstream):
    # Shows that of many who bring the same link at once one is signed in.
    gate = start_gate(upstream)
    link = next(line.split('#/link/')[1][:64] for line in gate.stdout if '#/link/' in line)
    body = json.dumps({'link': link}).encode()
    open_ones = [Connection(gate.admin_port) for _ in range(12)]
    head = (f'POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n').encode()
    for one in open_ones:
        one.sock.sendall(head + body[:-1])
    for one in open_ones:
        one.sock.sendall(body[-1:])
    statuses = [one.read_response('POST').status for one in open_ones]
    assert sorted(statuses)[0] == 201 and statuses.count(201) == 1, statuses
    gate.terminate()
    gate.wait_exit()
    gate.restart()
    assert sign_in(gate, {'link': link}).status == 401


def test_signing_in_is_audited(gate):
    # Shows that the audit log says who began a session.
    id, _ = new_key(gate, 'auditor', 'joan')
    id, key = new_key(gate, 'auditor', 'joan')
    session_of(gate, {'key': key})
    eventually(lambda: [entry for entry in events_of(gate, 'signed_in') if entry.get('by') == id])


def test_fixation(gate):
    # Shows that a session's cookie is never one that the browser brought.
    id, key = new_key(gate, 'auditor', 'ada')
    chosen = 'counterfoil_session=' + 'a' * 64
    response = sign_in(gate, {'key': key}, [('Cookie', chosen)])
    assert response.status == 201 and 'a' * 64 not in response.one('Set-Cookie')
    assert gate.admin('/api/session', headers=[('Cookie', chosen)]).status == 401


@pytest.mark.parametrize('cookie', ['counterfoil_session=', 'counterfoil_session="{}"x', 'Counterfoil_Session={}',
                                    'counterfoil_session={}0', ' =counterfoil_session={}', 'counterfoil_session={}, a=b'])
def test_cookies_that_are_none(gate, cookie):
    # Shows that what only looks like the cookie lets nobody in.
    own, _ = session_of(gate, {'key': new_key(gate, 'auditor', 'ada')[1]})
    text = own[0][1].split('=')[1]
    assert gate.admin('/api/session', headers=[('Cookie', cookie.format(text))]).status == 401
    huge = 'a=' + 'x' * 30000 + '; ' + own[0][1]
    assert gate.admin('/api/session', headers=[('Cookie', huge)]).status in (200, 431)


@pytest.mark.parametrize('lines', [[], [('X-Counterfoil-CSRF', '')], [('X-Counterfoil-CSRF', '0' * 64)],
                                   [('Content-Type', 'text/plain')], [('Origin', 'https://evil.example')],
                                   [('X-HTTP-Method-Override', 'GET')]])
def test_forged_requests(gate, lines):
    # Shows that what another page makes a browser send changes nothing.
    own, csrf = session_of(gate, {'key': new_key(gate, 'operator', 'ann')[1]})
    victim = gate.key('acme', 'bot')
    wish = json.dumps({'account': 'acme', 'agent': 'evil', 'why': 'x', 'value': 'x'}).encode()
    for method, target in (('POST', '/api/keys'), ('POST', f'/api/keys/{victim["id"]}/revoke'),
                           ('PUT', '/api/secrets/x'), ('DELETE', '/api/secrets/x'), ('DELETE', '/api/session')):
        response = gate.admin(target, method, [*own, *lines], wish)
        assert response.status == 401, (method, target, response)
        assert not response.all('Access-Control-Allow-Origin')
    assert gate.admin('/api/session', headers=own).status == 200
    agents = [key['agent'] for key in gate.operator('/api/keys').json()['keys'] if key['state'] == 'active']
    assert 'evil' not in agents


def test_a_key_that_is_revoked_while_an_order_is_arriving(gate, number):
    # Shows that who is revoked while the body still arrives has nothing done, by a bearer token or by a cookie.
    id, key = new_key(gate, 'operator', 'ann')
    own, csrf = session_of(gate, {'key': key})
    body = json.dumps({'account': 'acme', 'agent': f'late-{number}'}).encode()
    lines = [[('Authorization', 'Bearer ' + key)], [*own, ('X-Counterfoil-CSRF', csrf)]]
    open_ones = []
    for headers in lines:
        one = Connection(gate.admin_port)
        head = ''.join(f'{n}: {v}\r\n' for n, v in headers)
        one.sock.sendall(f'POST /api/keys HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {len(body)}\r\n\r\n'.encode() + body[:5])
        open_ones.append(one)
    time.sleep(0.2)
    gate.revoke(id)
    for one in open_ones:
        one.sock.sendall(body[5:])
        assert one.read_response('POST').status == 401
    assert f'late-{number}' not in gate.operator('/api/keys').body.decode()


# -- what is declared --------------------------------------------------------------------


@pytest.mark.parametrize('host', ['127.evil.example', '127.0.0.1.evil.example'])
def test_a_name_that_begins_like_this_machine(tmp_path, upstream, host):
    # Shows that no name of another machine is taken for this one where plain http would tell or decide secrets.
    file = tmp_path / 'gate.yaml'
    file.write_text(config_text(config(upstream, accounts=accounts(f'http://{host}/jwks.json'))))
    run = command('config', 'check', file)
    assert run.returncode != 0 and 'without TLS' in run.stderr + run.stdout, run
    oauth2 = {'token_url': f'http://{host}/token', 'client_id': 'x'}
    file.write_text(config_text(config({'url': upstream.url, 'credential': {'secret': 'x', 'oauth2': oauth2}})))
    run = command('config', 'check', file)
    assert run.returncode != 0 and 'without TLS' in run.stderr + run.stdout, run


def test_a_service_with_the_gates_credential_is_not_shown_the_callers(tmp_path, upstream):
    # Shows that auth.check and a credential of the gate's own do not go together, and what to write.
    both = config({'url': upstream.url, 'credential': 'x'}, auth={'check': {'get': '/me'}})
    file = tmp_path / 'gate.yaml'
    file.write_text(config_text(both))
    run = command('config', 'check', file)
    assert run.returncode != 0 and 'auth_check: none' in run.stderr + run.stdout, run
    file.write_text(config_text(config({'url': upstream.url, 'credential': 'x', 'auth_check': '/me'})))
    assert command('config', 'check', file).returncode != 0
    both['upstreams']['default']['auth_check'] = 'none'
    file.write_text(config_text(both))
    run = command('config', 'check', file)
    assert run.returncode == 0, run


def config_text(value):
    from harness.gate import yaml
    return yaml(value)


# -- a hostile issuer ---------------------------------------------------------------------


@pytest.mark.parametrize('trick', ['redirect', 'huge', 'garbage', 'many keys', 'a name twice', 'private', 'symmetric'])
def test_hostile_keys(start_gate, upstream, tmp_path, path, token, trick):
    # Shows that no answer in place of a key set lets anybody in, or hurts the gate.
    server, elsewhere = Upstream(), Issuer(tmp_path / 'evil')
    elsewhere.add('k')
    good = elsewhere.jwks()
    key = json.loads(good)['keys'][0]
    many = json.dumps({'keys': [{**key, 'kid': str(n)} for n in range(5000)]})
    bodies = {'huge': b'{"keys": [' + b' ' * (9 << 20) + b']}', 'garbage': b'\xff\x00{', 'many keys': many.encode(),
              'a name twice': good.replace('"kid": "k"', '"kid": "k", "kid": "k"').encode(),
              'private': json.dumps({'keys': [{**key, 'd': key['x']}]}).encode(),
              'symmetric': json.dumps({'keys': [{'kty': 'oct', 'kid': 'k', 'k': 'AAAA', 'alg': 'HS256'}]}).encode()}
    server.always('/elsewhere', answer(200, [('Content-Type', 'application/json')], good.encode()))
    if trick == 'redirect':
        server.always('/jwks.json', answer(302, [('Location', server.url + '/elsewhere')], b''))
    else:
        server.always('/jwks.json', answer(200, [('Content-Type', 'application/json')], bodies[trick]))
    gate = start_gate(upstream, config(upstream, accounts=accounts(server.url + '/jwks.json')))
    response = gate.post(path, token, account=elsewhere.bearer())
    assert response.status in (401, 503) and response.slug in ('keys-unavailable', 'unauthenticated'), response
    assert upstream.effects(path) == 0 and gate.is_running
    server.stop()


def resigned(key, head, body):
    """A token of these very texts, well signed."""
    text = f'{b64(head.encode())}.{b64(body.encode())}'
    return f'Bearer {text}.{b64(key.sign(text.encode()))}'


def tricks(issuer):
    key, now = issuer.keys[-1], int(time.time())
    jwk = key.jwk()
    own = json.dumps({'iss': NAME, 'aud': AUDIENCE, 'sub': 'bot', 'org': 'acme', 'exp': now + 600})
    head = json.dumps({'alg': 'ES256', 'kid': 'ec', 'typ': 'JWT'})

    def claims(**more):
        return resigned(key, head, json.dumps({**json.loads(own), **more}))

    def heads(**more):
        return resigned(key, json.dumps({**json.loads(head), **more}), own)

    return {
        'exp is a text': claims(exp=str(now + 600)), 'exp is negative': claims(exp=-1), 'exp is a list': claims(exp=[now + 600]),
        'exp is null': claims(exp=None), 'exp is huge': resigned(key, head, own.replace(str(now + 600), '1e400')),
        'exp is no number': resigned(key, head, own.replace(str(now + 600), 'Infinity')),
        'nbf is a text': claims(nbf=str(now)), 'aud has a number': claims(aud=[AUDIENCE, 1]), 'aud is empty': claims(aud=[]),
        'aud is an object': claims(aud={AUDIENCE: True}), 'iss is a list': claims(iss=[NAME]), 'no iss': claims(iss=None),
        'account is empty': claims(org=''), 'account is a list': claims(org=['acme']), 'account is long': claims(org='x' * 256),
        'account with a break': claims(org='ac\nme'),
        'account twice': resigned(key, head, own[:-1] + ', "org": "victim"}'),
        'exp twice': resigned(key, head, own[:-1] + f', "exp": {now + 900}}}'),
        'alg twice': resigned(key, head[:-1] + ', "alg": "none"}', own),
        'claims are a list': resigned(key, head, f'[{own}]'), 'claims go on': resigned(key, head, own + '{}'),
        'HS256 by the public key': heads(alg='HS256'), 'alg in lower case': heads(alg='es256'), 'alg is a list': heads(alg=['ES256']),
        'another curve': heads(alg='ES384'), 'RSA by EC': heads(alg='RS256'), 'no kid that is': heads(kid='../../dev/null'),
        'kid is an injection': heads(kid="ec' OR '1'='1"), 'kid is a number': heads(kid=1), 'kid is empty': heads(kid=''),
        'crit': heads(crit=['b64'], b64=False), 'nested': heads(cty='JWT', typ='JWE'),
        'a key of its own': resigned_by_stranger(issuer, head, own, jwk=True), 'jku': resigned_by_stranger(issuer, head, own),
        'padding': claims() + '=', 'four parts': claims() + '.e30', 'a blank': claims().replace('.', '. ', 1),
        'a signature of nothing': '.'.join(claims().split('.')[:2]) + '.' + b64(b'\0' * 64),
        'a short signature': '.'.join(claims().split('.')[:2]) + '.' + b64(b'\1' * 63),
        'too long': claims(more='x' * 17000),
    }


def resigned_by_stranger(issuer, head, body, jwk=False):
    stranger = Issuer(issuer.folder / ('one' if jwk else 'two')).add('ec')
    more = {'jwk': stranger.jwk()} if jwk else {'jku': 'http://127.0.0.1:1/jwks', 'x5u': 'http://127.0.0.1:1/x'}
    return resigned(stranger, json.dumps({**json.loads(head), **more}), body)


def test_tokens_that_try_something(start_gate, upstream, tmp_path, path, token):
    # Shows that no token which is not just what it should be is taken, whoever signed it.
    issuer = Issuer(tmp_path / 'issuer')
    issuer.add('rsa', 'RS256')
    issuer.add('ec')
    (tmp_path / 'jwks.json').write_text(issuer.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(tmp_path / 'jwks.json')))
    for name, bad in tricks(issuer).items():
        response = gate.post(path, token, account=bad)
        assert response.status in (401, 429), (name, response)
        assert upstream.effects(path) == 0, name
    good = issuer.token(aud=['another', AUDIENCE], exp=time.time() + 600.5, jku='http://127.0.0.1:1/')
    assert gate.post(path, token, account='bearer  ' + good).outcome == 'created'


def test_what_is_shown_wrongly_is_kept_nowhere(start_gate, upstream, path):
    # Shows that secrets and keys in bodies that are refused, in paths and in queries stand in no answer, log or file.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    secret = 'hunter2-very-secret-indeed'
    key = gate.key('acme', 'bot')
    for body in ('{"value": "%s', '{"value": "%s"} x', '{"value": "a", "value": "%s"}', '"%s"', '%s', '{"value": ["%s"]}',
                 '{"value": " %s"}', '{"value": "%s\\n"}'):
        body = body.replace('%s', secret).encode()
        response = gate.operator('/api/secrets/x', 'PUT', body=body)
        assert response.status == 400 and secret not in response.body.decode(), response
        response = sign_in_raw(gate, body.replace(b'value', b'key'))
        assert response.status in (400, 401, 429) and secret not in response.body.decode(), response
    for target in (f'/api/keys/{secret}', f'/api/{secret}', f'/api/operations?token={secret}&x={secret}'):
        gate.admin(target, headers=[('Authorization', 'Bearer ' + secret)])
        gate.operator(target)
    gate.post(path, account='Bearer ' + secret)
    gate.post(path, account=bearer(key), headers={'X-Api-Key': secret})
    gate.terminate()
    gate.wait_exit()
    assert secret not in '\n'.join(gate.log + gate.stdout)
    for file, content in files_of(gate.data):
        assert secret.encode() not in content and key['key'].encode() not in content, file


def sign_in_raw(gate, body):
    return gate.admin('/api/session', 'POST', [('Content-Type', 'text/plain')], body)
