"""Two accounts never see each other's tokens, answers or existence."""
from harness.client import assert_problem
from harness.upstream import answer

OTHER = 'Bearer somebody-else-altogether'


def test_the_same_token_of_two_accounts(gate, upstream, path, token, account):
    # Shows that a token means something inside its account only: two effects, two answers.
    mine, theirs = gate.post(path, token, account=account), gate.post(path, token, account=OTHER)
    assert mine.outcome == theirs.outcome == 'created'
    assert mine.operation != theirs.operation and mine.body != theirs.body
    assert gate.post(path, token, account=account).body == mine.body
    assert gate.post(path, token, account=OTHER).body == theirs.body
    assert upstream.effects(path) == 2


def test_another_body_of_another_account_is_no_conflict(gate, upstream, path, token, account):
    # Shows that not even a conflict tells that someone else has used a token.
    gate.post(path, token, account=account, json={'n': 1})
    assert gate.post(path, token, account=OTHER, json={'n': 2}).outcome == 'created'
    assert upstream.effects(path) == 2


def test_without_credentials_is_an_account_of_its_own(gate, upstream, path, token, account):
    # Shows that requests without Authorization share one account, which is nobody else's.
    first = gate.post(path, token)
    assert gate.post(path, token, account=account).outcome == 'created'
    assert gate.post(path, token).body == first.body
    assert upstream.effects(path) == 2


def test_the_status_resource_is_the_owners(gate, path, token, account):
    # Shows that another account gets 404 for the operation, its answer and its cancellation, in
    # the very words of an operation that does not exist.
    mine = gate.post(path, token, account=account)
    base = f'/.counterfoil/operations/{mine.operation}'
    absent = '/.counterfoil/operations/op_00000000000000000000000000'
    for method, tail in (('GET', ''), ('GET', '/response'), ('POST', '/cancel')):
        other = gate.request(method, base + tail, account=OTHER)
        nobody = gate.request(method, base + tail)
        none = gate.request(method, absent + tail, account=OTHER)
        assert other.status == nobody.status == none.status == 404
        assert_problem(other, 404, operation=False)
        assert other.json()['type'] == none.json()['type']
        assert mine.operation not in other.body.decode().replace(base, '')
    assert gate.get(base, account=account).status == 200


def test_lists_hold_the_owners_alone(gate, path, token, account):
    # Shows that neither listing nor looking up by token shows another account's operations.
    mine = gate.post(path, token, account=account)
    gate.post(path, token, account=account + '-2')
    listed = gate.get('/.counterfoil/operations', account=account).json()['operations']
    assert [o['id'] for o in listed] == [mine.operation]
    by_token = gate.get(f'/.counterfoil/operations?token={token}', account=account).json()['operations']
    assert [o['id'] for o in by_token] == [mine.operation]
    assert gate.get(f'/.counterfoil/operations?token={token}', account=account + '-3').json()['operations'] == []


def test_the_credential_goes_on_to_the_service(gate, upstream, path, token, account):
    # Shows that Authorization reaches the service unchanged: it still decides who may do what.
    gate.post(path, token, account=account)
    assert upstream.last(path).all('Authorization') == [account]


def test_the_credentials_bytes_are_the_account(gate, upstream, path, token, account):
    # Shows that another spelling of a credential is another account: nothing is guessed.
    gate.post(path, token, account=account)
    assert gate.post(path, token, account=account.replace('Bearer', 'bearer')).outcome == 'created'
    assert upstream.effects(path) == 2


def test_two_credentials_are_refused(gate, upstream, path, token, account):
    # Shows that two Authorization lines make no account: refused, nothing sent.
    response = gate.post(path, token, headers=[('Authorization', account), ('Authorization', OTHER)])
    assert response.status in (400, 401)
    assert upstream.seen(path) == []


def test_a_refusal_of_the_service_is_the_accounts_own(gate, upstream, path, token, account):
    # Shows that a 401 of the service replays to the one who got it and to nobody else.
    upstream.plan(path, answer(401, body=b'who are you'))
    assert gate.post(path, token, account=account).status == 401
    assert gate.post(path, token, account=OTHER).status == 201
    assert gate.post(path, token, account=account).status == 401
