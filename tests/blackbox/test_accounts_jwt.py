"""Accounts from signed tokens: who is let in, what is the same account, and how keys are renewed."""
import base64
import json
import time

import pytest

from harness.client import assert_problem
from harness.gate import command, config
from harness.tokens import Issuer, accounts, b64
from harness.upstream import Hold, Upstream, answer, held

KEYS = '/jwks.json'


@pytest.fixture(scope='module')
def issuer(tmp_path_factory):
    issuer = Issuer(tmp_path_factory.mktemp('issuer'))
    issuer.add('rsa', 'RS256')
    issuer.add('ec')
    return issuer


@pytest.fixture(scope='module')
def config_of_file(upstream, issuer):
    file = issuer.folder / 'jwks.json'
    file.write_text(issuer.jwks())
    return config(upstream, accounts=accounts(file))


@pytest.fixture
def published():
    """A server that publishes a key set: publish(issuer, …) says which."""
    server = Upstream()
    yield server
    server.stop()


def publish(server, text, status=200):
    server.always(KEYS, answer(status, [('Content-Type', 'application/json')], text.encode()))


def refused(gate, upstream, path, token, account, slug='unauthenticated', status=401):
    answer = gate.post(path, token, account=account)
    assert_problem(answer, status, slug, operation=False)
    assert answer.operation is None and upstream.effects(path) == 0
    return answer


# -- who is let in -----------------------------------------------------------------------


@pytest.mark.parametrize('nth', [0, 1], ids=['RS256', 'ES256'])
def test_a_good_token_is_let_in_and_goes_on(gate, upstream, issuer, path, token, nth):
    # Shows that a token by each kind of key is taken, and reaches the service as it came.
    bearer = issuer.bearer(issuer.keys[nth])
    assert gate.post(path, token, account=bearer).outcome == 'created'
    assert upstream.last(path).all('Authorization') == [bearer]
    assert upstream.effects(path) == 1


def test_a_renewed_token_is_the_same_account(gate, upstream, issuer, path, token):
    # Shows that the account is the claim: a token of another key, time and text replays.
    first = gate.post(path, token, account=issuer.bearer(issuer.keys[0], sub='one'))
    again = gate.post(path, token, account=issuer.bearer(issuer.keys[1], sub='one', jti='renewed'))
    assert again.outcome == 'replayed' and again.body == first.body
    assert upstream.effects(path) == 1


def test_another_account_sees_nothing(gate, upstream, issuer, path, token):
    # Shows that the same token of another account is another operation, and its status is 404.
    first = gate.post(path, token, account=issuer.bearer(org='one'))
    second = gate.post(path, token, account=issuer.bearer(org='two'))
    assert second.outcome == 'created' and second.body != first.body
    target = f'/.counterfoil/operations/{first.operation}'
    assert gate.get(target, account=issuer.bearer(org='two')).status == 404
    assert gate.get(target, account=issuer.bearer(org='one')).status == 200
    assert upstream.effects(path) == 2


def test_an_agent_of_the_account_shares_its_tokens(gate, upstream, issuer, path, token):
    # Shows that two agents of one account are one scope of tokens: one effect.
    first = gate.post(path, token, account=issuer.bearer(sub='one'))
    assert gate.post(path, token, account=issuer.bearer(sub='two')).body == first.body
    assert upstream.effects(path) == 1


def past(seconds):
    return int(time.time()) - seconds


def bad_tokens(issuer, strangers):
    good = issuer.token()
    head, body, signature = good.split('.')
    claims = json.loads(base64.urlsafe_b64decode(body + '=='))
    forged = b64(json.dumps({**claims, 'org': 'victim'}).encode())
    none = b64(json.dumps({'alg': 'none'}).encode())
    return {
        'expired': issuer.token(exp=past(60)),
        'no expiry': issuer.token(exp=None),
        'not yet': issuer.token(nbf=past(-600)),
        'from the future': issuer.token(iat=past(-600)),
        'other issuer': issuer.token(iss='https://evil.example.test'),
        'other audience': issuer.token(aud='another-service'),
        'no audience': issuer.token(aud=None),
        'no account': issuer.token(org=None),
        'account is a number': issuer.token(org=7),
        'no agent': issuer.token(sub=None),
        'tampered': f'{head}.{forged}.{signature}',
        'unsigned': f'{none}.{body}.',
        'unsigned with a signature': f'{none}.{body}.{signature}',
        'another key of that name': issuer.token(strangers.keys[0]),
        'an algorithm of another key': issuer.token(issuer.keys[1], header={'kid': 'rsa'}),
        'critical': issuer.token(header={'crit': ['exp']}),
        'no token at all': 'Bearer-less',
    }


NAMES = list(bad_tokens(type('I', (), {'token': lambda *a, **k: 'e30.e30.x', 'keys': [0, 0]}),
                        type('S', (), {'keys': [0]})))


@pytest.fixture(scope='module')
def strangers(tmp_path_factory):
    strangers = Issuer(tmp_path_factory.mktemp('strangers'))
    strangers.add('ec')
    return strangers


@pytest.mark.parametrize('name', NAMES)
def test_a_bad_token_is_refused(start_gate, config_of_file, upstream, issuer, strangers, path, token, name):
    # Shows that whatever is wrong with a token, it gets 401 and nothing reaches the service. A gate
    # of its own each: many failures of one address are a matter of their own.
    gate = start_gate(upstream, config_of_file)
    bad = bad_tokens(issuer, strangers)[name]
    answer = refused(gate, upstream, path, token, 'Bearer ' + bad)
    assert bad not in answer.body.decode()


def test_without_a_token(gate, upstream, path, token):
    # Shows that no credential, and one that is no bearer's, are refused.
    refused(gate, upstream, path, token, None)
    refused(gate, upstream, path, token, 'Basic dXNlcjpwYXNz')


def test_an_expired_token_gets_no_replay_and_no_status(gate, upstream, issuer, path, token):
    # Shows that a record is as closed to an expired token as a write is.
    first = gate.post(path, token, account=issuer.bearer())
    old = issuer.bearer(exp=past(60))
    for response in (gate.post(path, token, account=old),
                     gate.get(f'/.counterfoil/operations/{first.operation}', account=old),
                     gate.get('/.counterfoil/operations', account=old)):
        assert_problem(response, 401, 'unauthenticated', operation=False)
        assert first.body not in response.body
    assert upstream.effects(path) == 1


def test_the_clocks_may_differ_a_little(start_gate, upstream, issuer, path, token):
    # Shows that accounts.jwt.tolerance is how long after its end a token is taken.
    file = issuer.folder / 'jwks.json'
    gate = start_gate(upstream, config(upstream, accounts=accounts(file, tolerance='5m')))
    assert gate.post(path, token, account=issuer.bearer(exp=past(60))).outcome == 'created'
    refused(gate, upstream, path + '-2', token, issuer.bearer(exp=past(400)))


# -- keys --------------------------------------------------------------------------------


def test_keys_from_a_url_and_their_rotation(start_gate, upstream, published, tmp_path, path, token):
    # Shows that the first token with a new key has the set fetched again, is let in with it as the
    # same account, and that a key which is no longer published opens nothing after that.
    issuer = Issuer(tmp_path / 'issuer')
    old = issuer.add('old')
    publish(published, issuer.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS)))
    first = gate.post(path, token, account=issuer.bearer(old))
    assert first.outcome == 'created'
    new = issuer.add('new')
    publish(published, issuer.jwks(new))
    again = gate.post(path, token, account=issuer.bearer(new))
    assert again.outcome == 'replayed' and again.body == first.body
    refused(gate, upstream, path + '-2', token, issuer.bearer(old))
    assert upstream.effects(path) == 1


def test_an_unknown_key_is_looked_for_once_for_all(start_gate, upstream, published, issuer, strangers, path, token):
    # Shows that however many tokens name keys that do not exist, the set is fetched rarely, and each
    # of them is refused.
    publish(published, issuer.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS)))
    gate.post(path + '-ok', token, account=issuer.bearer())
    before, began = len(published.seen(KEYS)), time.monotonic()
    for n in range(10):
        bad = issuer.bearer(strangers.keys[0], header={'kid': f'nobody-{n}'})
        assert gate.post(path, token, account=bad).status in (401, 429)
    fetched = len(published.seen(KEYS)) - before
    assert 1 <= fetched <= time.monotonic() - began + 2
    assert upstream.effects(path) == 0


def test_the_last_good_keys_stay_in_force(start_gate, upstream, published, issuer, strangers, path, token):
    # Shows that a set that cannot be had, or is none, changes nothing for known keys; and that a token
    # with an unknown key is then told to come again, since nobody knows.
    publish(published, issuer.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS, refresh='1s')))
    first = gate.post(path, token, account=issuer.bearer())
    assert first.outcome == 'created'
    for text, status in ((issuer.jwks(), 500), ('{"keys": []}', 200), ('<html>', 200)):
        publish(published, text, status)
        since = len(gate.log)
        gate.wait_log('keys-not-read', since)
        assert gate.post(path, token, account=issuer.bearer()).body == first.body
    unknown = issuer.bearer(strangers.keys[0], header={'kid': 'unheard-of'})
    answer = refused(gate, upstream, path + '-2', token, unknown, 'keys-unavailable', 503)
    assert answer.json()['retry']['advice'] == 'same_key'


def test_a_start_without_keys(start_gate, upstream, published, issuer, path, token):
    # Shows that a gate which has no keys yet lets nobody in and says that it is not the token's
    # fault; and does as soon as they can be had.
    publish(published, issuer.jwks(), 503)
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS)))
    refused(gate, upstream, path, token, issuer.bearer(), 'keys-unavailable', 503)
    publish(published, issuer.jwks())
    assert gate.post(path, token, account=issuer.bearer()).outcome == 'created'
    assert upstream.effects(path) == 1


def test_a_token_waits_while_its_key_is_fetched(start_gate, upstream, published, issuer, path, token):
    # Shows that a request whose key is being fetched waits for it instead of being refused; its body is
    # read after that.
    hold = Hold()
    published.plan(KEYS, held(hold, answer(200, [], issuer.jwks().encode())))
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS)))
    hold.wait_entered()
    with gate.connect() as connection:
        bearer = issuer.bearer()
        body = b'{"n": 1}'
        connection.send(f'POST {path} HTTP/1.1\r\nHost: h\r\nIdempotency-Key: {token}\r\n'
                        f'Authorization: {bearer}\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body)
        assert gate.get('/.counterfoil/help').status in (200, 401)
        assert upstream.effects(path) == 0
        hold.release()
        assert connection.read_response().outcome == 'created'
    assert upstream.effects(path) == 1


def test_a_client_that_leaves_while_its_key_is_fetched(start_gate, upstream, published, issuer, path, token):
    # Shows that a client that goes away in the middle of its body, before its caller is known, has no
    # effect and does no harm.
    hold = Hold()
    published.plan(KEYS, held(hold, answer(200, [], issuer.jwks().encode())))
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS)))
    hold.wait_entered()
    with gate.connect() as connection:
        connection.send(f'POST {path} HTTP/1.1\r\nHost: h\r\nIdempotency-Key: {token}\r\n'
                        f'Authorization: {issuer.bearer()}\r\nContent-Length: 2\r\n\r\n{{'.encode())
    hold.release()
    assert gate.post(path + '-2', token + '-2', account=issuer.bearer()).outcome == 'created'
    assert upstream.effects(path) == 0


def test_a_file_is_read_again_when_it_changes(start_gate, upstream, tmp_path, path, token):
    # Shows that another set in the file is in force without a reload, at once where a token asks for it.
    issuer = Issuer(tmp_path / 'issuer')
    old = issuer.add('old')
    file = tmp_path / 'jwks.json'
    file.write_text(issuer.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(file)))
    first = gate.post(path, token, account=issuer.bearer(old))
    new = issuer.add('new')
    file.write_text(issuer.jwks(new))
    assert gate.post(path, token, account=issuer.bearer(new)).body == first.body
    refused(gate, upstream, path + '-2', token, issuer.bearer(old))
    since = len(gate.log)
    file.write_text('{"keys": ')
    gate.wait_log('keys-not-read', since)
    assert gate.post(path, token, account=issuer.bearer(new)).body == first.body
    assert upstream.effects(path) == 1


def test_a_reload_takes_another_source(start_gate, upstream, published, tmp_path, path, token):
    # Shows that after a reload to another source its keys are in force, and the old one's are not.
    old, new = Issuer(tmp_path / 'old'), Issuer(tmp_path / 'new')
    old.add('a')
    new.add('b')
    file = tmp_path / 'jwks.json'
    file.write_text(old.jwks())
    publish(published, new.jwks())
    gate = start_gate(upstream, config(upstream, accounts=accounts(file)))
    first = gate.post(path, token, account=old.bearer())
    gate.reload(config(upstream, accounts=accounts(published.url + KEYS)))
    gate.wait_log('reloaded')
    assert gate.post(path, token, account=new.bearer()).body == first.body
    refused(gate, upstream, path + '-2', token, old.bearer())
    file.write_text('no keys')
    gate.reload(config(upstream, accounts=accounts(file)))
    assert 'no key set' in gate.wait_log('reload-refused')
    assert gate.post(path, token, account=new.bearer()).body == first.body


def test_a_gate_does_not_start_with_a_file_that_is_no_set(tmp_path, upstream):
    # Shows that a file without keys ends the start with a sentence that says which and why.
    file = tmp_path / 'jwks.json'
    file.write_text('{"keys": []}')
    (tmp_path / 'gate.yaml').write_text(json.dumps(config(upstream.url, accounts=accounts(str(file)))))
    ended = command('serve', '--config', tmp_path / 'gate.yaml', '--data', tmp_path / 'data',
                    '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0')
    assert ended.returncode != 0 and 'accounts.jwt.jwks' in ended.stderr and str(file) in ended.stderr


def test_the_operation_names_the_agent_of_each_attempt(gate, upstream, issuer, path, token):
    # Shows that attempts are kept under the agent of their token.
    first = gate.post(path, token, account=issuer.bearer(sub='deploy-bot'))
    gate.post(path, token, account=issuer.bearer(sub='other-bot'))
    deadline, agents = time.monotonic() + 10, []
    while len(agents) < 2 and time.monotonic() < deadline:  # replays are noted a little later
        shown = gate.get(f'/.counterfoil/operations/{first.operation}', account=issuer.bearer()).json()
        agents = [attempt['agent'] for attempt in shown['attempts']]
    assert agents == ['deploy-bot', 'other-bot']


def test_many_bad_tokens_are_slowed_down(start_gate, config_of_file, upstream, issuer, path, token):
    # Shows that failed tokens count by address, and that a good one is let in all the same.
    gate = start_gate(upstream, config_of_file)
    slugs = [gate.post(path, token, account=issuer.bearer(aud='other')).slug for _ in range(40)]
    assert slugs[0] == 'unauthenticated' and slugs[-1] == 'too-many-attempts'
    assert upstream.effects(path) == 0
    assert gate.post(path, token, account=issuer.bearer()).outcome == 'created'


def test_a_gate_stops_while_keys_are_fetched(start_gate, upstream, published, issuer, path, token):
    # Shows that a server of keys that does not answer holds up neither whoever waits for it nor the end.
    hold = Hold()
    published.plan(KEYS, held(hold))
    gate = start_gate(upstream, config(upstream, accounts=accounts(published.url + KEYS)))
    hold.wait_entered()
    with gate.connect() as connection:
        connection.send_request('POST', path, [('Idempotency-Key', token), ('Authorization', issuer.bearer())], b'{}')
        assert gate.get('/.counterfoil/help').status == 200
        gate.terminate()
        assert_problem(connection.read_response('POST'), 503, 'keys-unavailable', operation=False)
    assert gate.wait_exit() == 0
    hold.release()
    assert upstream.effects(path) == 0
