"""Before anything of a record is shown, the service says whether the credential still holds."""
import json
import threading

import pytest

from harness.client import assert_problem
from harness.gate import config
from harness.upstream import Hold, answer, drop, hang, held

ME = '/v1/me'


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return config(upstream, auth={'check': {'get': ME, 'cache': '0s', 'timeout': '2s'}})


def asked(upstream, account):
    return [r for r in upstream.seen(ME) if r.get('Authorization') == account]


def problem_says_nothing(response, first, slug, status):
    """The problem, without a word of the record that is there."""
    assert_problem(response, status, slug, operation=False)
    assert 'operation' not in response.json()
    assert response.operation is None and response.state is None and response.outcome is None
    assert first.operation not in response.body.decode() and first.body not in response.body


def test_a_first_write_is_not_asked_about(gate, upstream, path, token, account):
    # Shows that the service judges a first write itself: one request reaches it, the write.
    assert gate.post(path, token, account=account).outcome == 'created'
    assert upstream.effects(path) == 1 and asked(upstream, account) == []


def test_a_replay_asks_with_the_callers_credential(gate, upstream, path, token, account):
    # Shows that each replay asks once, by GET, with the caller's Authorization and nothing of the write.
    first = gate.post(path, token, account=account)
    again = gate.post(path, token, account=account)
    assert again.outcome == 'replayed' and again.body == first.body
    question, = asked(upstream, account)
    assert question.method == 'GET' and question.body == b'' and not question.all('Idempotency-Key')
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('status', [401, 403])
def test_a_credential_that_has_ended_gets_no_replay(gate, upstream, path, token, account, status):
    # Shows that a credential the service no longer takes gets 401 and nothing of the record; and
    # that this is not remembered: once the service takes it again, so does the gate.
    first = gate.post(path, token, account=account)
    upstream.plan(ME, answer(status))
    problem_says_nothing(gate.post(path, token, account=account), first, 'unauthenticated', 401)
    assert gate.post(path, token, account=account).body == first.body
    assert upstream.effects(path) == 1


def test_not_even_a_conflict_is_told(gate, upstream, path, token, account):
    # Shows that who may not see a record does not learn that its token was used for something else.
    first = gate.post(path, token, account=account)
    upstream.plan(ME, answer(401))
    other = gate.post(path, token, account=account, json={'n': 2})
    problem_says_nothing(other, first, 'unauthenticated', 401)
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('trouble', [answer(500), answer(302, [('Location', '/')]), answer(404), drop()],
                         ids=['500', '302', '404', 'drop'])
def test_what_says_neither_is_refused(gate, upstream, path, token, account, trouble):
    # Shows that where the service says neither yes nor no the answer is 503 with the advice to
    # try the same token again, that nothing is shown or sent, and that trying again is enough.
    first = gate.post(path, token, account=account)
    upstream.plan(ME, trouble)
    refused = gate.post(path, token, account=account)
    problem_says_nothing(refused, first, 'credential-unchecked', 503)
    assert refused.json()['retry']['advice'] == 'same_key' and int(refused.get('Retry-After')) > 0
    assert gate.post(path, token, account=account).body == first.body
    assert upstream.effects(path) == 1


def test_a_service_that_does_not_answer_is_not_waited_for(gate, upstream, path, token, account):
    # Shows that the question ends after auth.check.timeout.
    first = gate.post(path, token, account=account)
    upstream.plan(ME, hang())
    problem_says_nothing(gate.post(path, token, account=account), first, 'credential-unchecked', 503)


def test_the_status_resource_asks_too(gate, upstream, path, token, account):
    # Shows that the operation, its kept answer, the list and a cancellation each ask the service,
    # and that none of them says anything to a credential that has ended.
    first = gate.post(path, token, account=account)
    base = f'/.counterfoil/operations/{first.operation}'
    calls = [('GET', base), ('GET', base + '/response'), ('GET', '/.counterfoil/operations'),
             ('GET', f'/.counterfoil/operations?token={token}'), ('POST', base + '/cancel')]
    for method, target in calls:
        before = len(asked(upstream, account))
        good = gate.request(method, target, account=account)
        assert good.slug == 'not-cancellable' if method == 'POST' else good.status in (200, 201), target
        assert len(asked(upstream, account)) == before + 1, target
        upstream.plan(ME, answer(401))
        bad = gate.request(method, target, account=account)
        assert_problem(bad, 401, 'unauthenticated', operation=False)
        assert first.body not in bad.body and token not in bad.body.decode(), target


def test_help_and_an_empty_list_ask_nobody(gate, upstream, account):
    # Shows that the service is asked about records alone.
    for page in ('help', 'actions', 'operations'):
        assert gate.get(f'/.counterfoil/{page}', account=account).status == 200
    assert asked(upstream, account) == []


def test_who_waited_is_asked_about_at_the_end(gate, upstream, path, token, account):
    # Shows that a credential which ends while its caller waits for the first attempt gets no replay.
    hold = Hold()
    upstream.plan(path, held(hold))
    first = threading.Thread(target=gate.post, args=(path, token), kwargs={'account': account})
    first.start()
    hold.wait_entered()
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(gate.post(
        path, token, account=account, headers=[('Prefer', 'wait=30')])))
    waiter.start()
    upstream.wait_seen(ME, len(upstream.seen(ME)) + 1)
    upstream.plan(ME, answer(401))
    hold.release()
    waiter.join(30)
    first.join(30)
    assert_problem(answers[0], 401, 'unauthenticated', operation=False)
    assert upstream.effects(path) == 1


def test_that_it_holds_is_remembered(start_gate, upstream, path, token, account):
    # Shows that within auth.check.cache a worker asks once for a credential, and that another one
    # is asked about for itself.
    gate = start_gate(upstream, config(upstream, threads=1, auth={'check': {'get': ME, 'cache': '1h'}}))
    for who in (account, account + '-b'):
        gate.post(path, token, account=who)
        for _ in range(3):
            assert gate.post(path, token, account=who).outcome == 'replayed'
        assert len(asked(upstream, who)) == 1
    assert upstream.effects(path) == 2


def test_where_nobody_says_it_may_be_allowed(start_gate, upstream, path, token, account):
    # Shows that with if_unknown: allow a service that does not say lets replays through, and one
    # that says no still does not.
    gate = start_gate(upstream, config(
        upstream, auth={'check': {'get': ME, 'cache': '1h', 'if_unknown': 'allow'}}))
    first = gate.post(path, token, account=account)
    upstream.plan(ME, answer(500), answer(403))
    assert gate.post(path, token, account=account).body == first.body
    problem_says_nothing(gate.post(path, token, account=account), first, 'unauthenticated', 401)


def test_a_service_has_a_path_of_its_own_or_none(start_gate, upstream, path, token, account):
    # Shows that auth_check of an upstream stands in for the general path, and `none` for no question.
    text = json.dumps({
        'upstreams': {'default': {'url': upstream.url, 'auth_check': '/own/me'},
                      'other': {'url': upstream.url, 'auth_check': 'none'}},
        'auth': {'check': {'get': ME, 'cache': '0s'}},
        'actions': {'a': {'route': f'POST {path}-other', 'upstream': 'other', 'unknown_fields': 'keep',
                          'fields': {'n': {'type': 'integer'}}}}})
    gate = start_gate(upstream, text)
    for target, key in ((path, token), (path + '-other', token + '-2')):
        gate.post(target, key, account=account)
        assert gate.post(target, key, account=account).outcome == 'replayed'
    assert [r.get('Authorization') for r in upstream.seen('/own/me')] == [account]
    assert asked(upstream, account) == []


def test_a_large_answer_is_checked_too(start_gate, upstream, path, token, account):
    # Shows that memory is there for an answer that is read once before and once after the question.
    body = b'x' * (1 << 20)
    gate = start_gate(upstream, config(upstream, auth={'check': {'get': ME, 'cache': '0s'}},
                                       limits={'max_body': '16KiB', 'request_memory': '64KiB'}))
    upstream.plan(path, answer(201, [('Content-Type', 'text/plain')], body))
    assert gate.post(path, token, account=account).body == body
    assert gate.post(path, token, account=account).body == body
    assert upstream.effects(path) == 1
