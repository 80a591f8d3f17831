"""OAuth 2.0 client credentials: one token for all, renewed in time, and never a write sent twice for it."""
import base64
import itertools
import json
import os
import threading
import urllib.parse

import pytest

from harness.client import assert_problem, build
from harness.gate import command
from harness.rules import MEDIA, at_once, eventually, needed, said
from harness.upstream import Hold, Upstream, answer, behaviour, drop, hang

TOKEN_PATH = '/oauth/token'


class Endpoint:
    """A token endpoint: the next token each time, and how often it was asked."""

    def __init__(self):
        self.server = Upstream()
        self.numbers = itertools.count(1)
        self.life, self.hold, self.given = 3600, None, []
        self.server.always(TOKEN_PATH, behaviour(lambda ex: self._give(ex)))

    def _give(self, ex):
        if self.hold:
            self.hold.entered.set()
            self.hold.released.wait(30)
        token = f'access-token-{next(self.numbers)}-{os.urandom(6).hex()}'
        self.given.append(token)
        content = {'access_token': token, 'token_type': 'Bearer'}
        if self.life is not None:
            content['expires_in'] = self.life
        ex.answer(200, MEDIA, json.dumps(content).encode())

    @property
    def asked(self):
        return self.server.seen(TOKEN_PATH)

    def plan(self, *behaviours):
        self.server.plan(TOKEN_PATH, *behaviours)


@pytest.fixture
def endpoint():
    one = Endpoint()
    yield one
    one.server.stop()


def settings(upstream, endpoint, threads=4, as_=None, **oauth2):
    credential = {'secret': 'client_secret',
                  'oauth2': {'token_url': endpoint.server.url + TOKEN_PATH, 'client_id': 'the gate',
                             **oauth2}, **(as_ or {})}
    question = {'get': '/v1/find/{book}?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
                'absent': {'status': 200, 'empty': '/data'}, 'settle': '100ms', 'every': '1h', 'timeout': '5s'}
    return json.dumps({
        'threads': threads,
        'upstreams': {'default': {'url': upstream.url, 'credential': credential, 'timeout': '20s'}},
        'actions': {'probed.create': {'route': 'POST /v1/probed/{book}', 'fields': {'name': needed()},
                                      'probe': question},
                    'later.create': {'route': 'POST /v1/later/{book}', 'fields': {'name': needed()},
                                     'dispatch': 'outbox'}},
        'outbox': {'first_pause': '50ms', 'max_pause': '100ms'}})


@pytest.fixture
def secret():
    return f'client-secret-{os.urandom(8).hex()}'


@pytest.fixture
def own(start_gate, upstream, endpoint, secret):
    gate = start_gate(config=settings(upstream, endpoint))
    put(gate, secret)
    yield gate
    for given in endpoint.given:
        assert given not in '\n'.join(gate.log)


def put(gate, value):
    done = command('secret', 'set', 'client_secret', '--data', gate.data, stdin=value)
    assert done.returncode == 0, done.stderr
    gate.secrets.add(value)


def bearers(upstream, path):
    return [seen.get('Authorization') for seen in upstream.seen(path)]


def test_what_is_asked(own, endpoint, upstream, path, token, account, secret):
    # Shows the question: the grant, the client by Basic with both parts form-encoded, no more; and that
    # the service gets the token in place of the caller's credential.
    assert own.post(path, token, account=account).status == 201
    assert bearers(upstream, path) == [f'Bearer {endpoint.given[0]}']
    asked = endpoint.asked[0]
    assert asked.method == 'POST' and asked.get('Content-Type') == 'application/x-www-form-urlencoded'
    assert asked.body == b'grant_type=client_credentials'
    kind, _, pair = asked.get('Authorization').partition(' ')
    assert (kind, base64.b64decode(pair).decode()) == ('Basic', f'the%20gate:{secret}')


def test_the_client_in_the_body(start_gate, upstream, endpoint, path, token, secret):
    # Shows auth: post, scope and audience.
    gate = start_gate(config=settings(upstream, endpoint, auth='post', scope='a b', audience='https://x/'))
    put(gate, secret)
    assert gate.post(path, token).status == 201
    asked = endpoint.asked[0]
    assert asked.get('Authorization') is None
    assert dict(urllib.parse.parse_qsl(asked.body.decode())) == {
        'grant_type': 'client_credentials', 'scope': 'a b', 'audience': 'https://x/', 'client_id': 'the gate',
        'client_secret': secret}


def test_in_a_header_of_its_own(start_gate, upstream, endpoint, path, token, account, secret):
    # Shows that a service may read the token elsewhere.
    gate = start_gate(config=settings(upstream, endpoint, as_={'as': 'header', 'header': 'X-Token'}))
    put(gate, secret)
    assert gate.post(path, token, account=account).status == 201
    assert upstream.last(path).all('X-Token') == endpoint.given
    assert upstream.last(path).get('Authorization') is None


def test_one_fetch_for_all(own, endpoint, upstream, path, token):
    # Shows that many at once, on all threads, wait for one fetch, and that each is one effect.
    endpoint.hold = Hold()
    threading.Thread(target=lambda: (endpoint.hold.wait_entered(), endpoint.hold.release()), daemon=True).start()
    answers = at_once(24, lambda n: own.post(path, f'{token}-{n}', timeout=30))
    assert [a.status for a in answers] == [201] * 24
    assert len(endpoint.asked) == 1
    assert set(bearers(upstream, path)) == {f'Bearer {endpoint.given[0]}'}
    assert upstream.effects(path) == 24
    assert own.get(path).status == 200
    assert len(endpoint.asked) == 1


def test_expired(own, endpoint, upstream, path, token):
    # Shows that a token is not used past its life, and that nobody fetches when nothing is sent.
    endpoint.life = 0
    for n in range(3):
        assert own.post(path, f'{token}-{n}').status == 201
    assert len(endpoint.asked) == 3
    assert bearers(upstream, path) == [f'Bearer {given}' for given in endpoint.given]


def test_renewed_ahead(own, endpoint, upstream, path, token):
    # Shows that the next token is fetched before the last has ended, and that the write that brings it
    # about does not wait for it.
    endpoint.life = 3
    assert own.post(path, token).status == 201
    endpoint.hold = Hold()
    count = 0
    while not endpoint.hold.entered.is_set():
        count += 1
        assert own.post(path, f'{token}-{count}').status == 201
        endpoint.hold.entered.wait(0.05)
    assert set(bearers(upstream, path)) == {f'Bearer {endpoint.given[0]}'}
    assert len(endpoint.asked) == 2
    endpoint.hold.release()
    endpoint.hold = None
    eventually(lambda: own.post(path, f'{token}-later-{os.urandom(4).hex()}').status == 201 and
               bearers(upstream, path)[-1] == f'Bearer {endpoint.given[1]}')


@pytest.mark.parametrize('fault', [
    answer(401, MEDIA, b'{"error": "invalid_client"}'), answer(500, (), b'no'), answer(302, [('Location', '/')], b''),
    answer(200, MEDIA, b'{"access_token": "a b", "token_type": "Bearer"}'), answer(200, MEDIA, b'{"token_type'),
    answer(200, MEDIA, b'{"access_token": "a", "token_type": "mac"}'),
    answer(200, MEDIA, b'"' + b'x' * 100000 + b'"'), drop()])
def test_no_token_no_write(own, endpoint, upstream, path, token, fault):
    # Shows that without a token nothing is sent, that this is certain, and that the same token may
    # try again, which makes one effect.
    endpoint.plan(fault)
    response = own.post(path, token, timeout=30)
    assert_problem(response, 503, 'not-sent')
    assert response.state == 'queued' and 'access token' in response.json()['detail']
    assert upstream.seen(path) == []
    assert own.wait_log('token-not-fetched')
    assert own.post(path, token).status == 201
    assert upstream.effects(path) == 1


def test_an_endpoint_that_hangs(start_gate, upstream, endpoint, path, token, secret):
    # Shows that nobody waits longer for a token than its time.
    gate = start_gate(config=settings(upstream, endpoint, timeout='500ms'))
    put(gate, secret)
    endpoint.plan(hang())
    assert_problem(gate.post(path, token), 503, 'not-sent')
    assert upstream.seen(path) == []


def test_nobody_there(own, endpoint, upstream, path, token):
    # Shows the same where the endpoint takes no connection.
    endpoint.server.stop()
    assert_problem(own.post(path, token), 503, 'not-sent')
    assert upstream.seen(path) == []


def test_all_who_wait_are_told(own, endpoint, upstream, path, token):
    # Shows that a fetch that fails fails for everybody who waits for it, once.
    endpoint.plan(*[answer(500, (), b'no')] * 24)
    answers = at_once(12, lambda n: own.post(path, f'{token}-{n}', timeout=30))
    assert [a.status for a in answers] == [503] * 12
    assert upstream.seen(path) == [] and len(endpoint.asked) <= 12


def test_a_401_sends_nothing_again(own, endpoint, upstream, path, token):
    # Shows that a write that is refused for its token is answered as it was, is not sent again, and
    # that the next one has a new token.
    assert own.post(path, token).status == 201
    upstream.plan(path, answer(401, works=False))
    refused = own.post(path, token + '-b')
    assert (refused.status, refused.state) == (401, 'failed')
    assert len(upstream.seen(path)) == 2
    assert own.post(path, token + '-c').status == 201
    assert bearers(upstream, path)[-1] == f'Bearer {endpoint.given[1]}'
    assert own.post(path, token + '-b').status == 401
    assert len(upstream.seen(path)) == 3 and len(endpoint.asked) == 2
    retried = own.post(path, token + '-d', headers=[('Counterfoil-Retry-Of', refused.operation)])
    assert retried.status == 201 and upstream.effects(path) == 3


def test_a_401_that_is_declared_not_sent(start_gate, upstream, endpoint, path, token, secret):
    # Shows that where the service is known not to act before it says 401, the same token may try again.
    document = json.loads(settings(upstream, endpoint))
    gate = start_gate(config=json.dumps({**document, 'statuses': {'not_sent': [401, 429, 503]}}))
    put(gate, secret)
    upstream.plan(path, answer(401, works=False))
    refused = gate.post(path, token)
    assert_problem(refused, 503, 'not-sent')
    again = gate.post(path, token)
    assert (again.status, again.operation) == (201, refused.operation)
    assert upstream.effects(path) == 1 and len(endpoint.asked) == 2


def test_a_question_is_asked_again_once(own, endpoint, upstream, number, token, account):
    # Shows that a probe that meets a token that has run out is asked again with a new one; a second
    # 401 is an answer.
    path, find = f'/v1/probed/{number}', f'/v1/find/{number}'
    upstream.plan(path, drop())
    upstream.plan(find, answer(401, works=False))
    upstream.always(find, said({'data': [{'id': 'obj_1'}]}, works=False))
    lost = own.post(path, token, account=account, json={'name': 'n'})
    own.wait_state(lost.operation, 'completed', account=account)
    assert bearers(upstream, find) == [f'Bearer {given}' for given in endpoint.given[:2]]
    assert len(upstream.seen(path)) == 1

    other = f'/v1/find/{number}b'
    upstream.plan(f'/v1/probed/{number}b', drop())
    upstream.always(other, answer(401, works=False))
    lost = own.post(f'/v1/probed/{number}b', token + '-b', account=account, json={'name': 'n'})
    eventually(lambda: any('in vain' in (a.get('note') or '') for a in
                           own.operation(lost.operation, account)['attempts']))
    assert len(upstream.seen(other)) == 2


def test_another_secret_another_token(own, endpoint, upstream, path, token, secret):
    # Shows that a token that was had with an old secret is not used any more.
    assert own.post(path, token).status == 201
    put(own, secret + '-new')
    assert own.post(path, token + '-b').status == 201
    assert bearers(upstream, path) == [f'Bearer {given}' for given in endpoint.given] and len(endpoint.given) == 2
    assert base64.b64decode(endpoint.asked[1].get('Authorization').split()[1]).decode().endswith('-new')


def test_a_secret_that_changes_during_a_fetch(own, endpoint, upstream, path, token, secret):
    # Shows that who waits gets a token of the new secret.
    endpoint.hold = hold = Hold()
    result = []
    thread = threading.Thread(target=lambda: result.append(own.post(path, token)))
    thread.start()
    hold.wait_entered()
    put(own, secret + '-new')
    endpoint.hold = None
    hold.release()
    thread.join()
    assert result[0].status == 201 and len(endpoint.asked) == 2
    assert bearers(upstream, path) == [f'Bearer {endpoint.given[1]}']


def test_not_set(start_gate, upstream, endpoint, path, token):
    # Shows that without the client's secret nobody is asked anything.
    gate = start_gate(config=settings(upstream, endpoint))
    response = gate.post(path, token)
    assert_problem(response, 503, 'not-sent')
    assert 'secret set client_secret' in response.json()['detail']
    assert endpoint.asked == [] and upstream.seen(path) == []


def test_the_dispatcher_waits_for_one(own, endpoint, upstream, number, token, account):
    # Shows that an outbox goes on trying while there is no token, and sends once.
    path = f'/v1/later/{number}'
    endpoint.plan(answer(500, (), b'no'), answer(500, (), b'no'))
    queued = own.post(path, token, account=account, json={'name': 'n'})
    assert queued.status == 202
    own.wait_state(queued.operation, 'completed', account=account)
    assert len(endpoint.asked) == 3 and upstream.effects(path) == 1


def test_a_client_that_goes_while_it_waits(own, endpoint, upstream, path, token):
    # Shows that a read whose client has gone is given up while it waits for a token, and that a write is
    # made all the same.
    endpoint.hold = hold = Hold()
    with own.connect() as reader, own.connect() as writer:
        reader.send(build('GET', path))
        writer.send(build('POST', path, [('Idempotency-Key', token)], b''))
        hold.wait_entered()
        reader.abort()
        own.wait_log('"method":"GET"')
        writer.abort()
        eventually(lambda: own.post(path, token, body=b'').outcome == 'running')
    endpoint.hold = None
    hold.release()
    upstream.wait_seen(path, 1)
    eventually(lambda: own.post(path, token, body=b'').status == 201)
    assert [seen.method for seen in upstream.seen(path)] == ['POST']


def test_stopping_while_a_token_is_fetched(own, endpoint, upstream, path, token):
    # Shows that a gate that stops waits for a fetch as for a call, and the write is made once.
    endpoint.hold = hold = Hold()
    result = []
    thread = threading.Thread(target=lambda: result.append(own.post(path, token)))
    thread.start()
    hold.wait_entered()
    own.terminate()
    own.wait_log('draining')
    endpoint.hold = None
    hold.release()
    thread.join()
    assert own.wait_exit() == 0
    assert result[0].status == 201 and upstream.effects(path) == 1


def test_a_reload_during_a_fetch(own, endpoint, upstream, path, token):
    # Shows that requests end with the settings they began with, and later ones have a token of theirs.
    endpoint.hold = hold = Hold()
    result = []
    thread = threading.Thread(target=lambda: result.append(own.post(path, token)))
    thread.start()
    hold.wait_entered()
    since = len(own.log)
    own.signal_reload()
    own.wait_log('reloaded', since)
    endpoint.hold = None
    hold.release()
    thread.join()
    assert result[0].status == 201
    assert own.post(path, token + '-b').status == 201
    assert upstream.effects(path) == 2
