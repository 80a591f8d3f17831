"""approval: who may answer, and who does not count: keys, roles, accounts, and one person twice."""
import concurrent.futures

import pytest

from harness.client import assert_problem
from harness.people import ACCOUNT, Person, cli, new_key, person
from harness.rules import eventually, needed, notes, ruled, text
from harness.upstream import Hold, held

FIELDS = {'invoice': needed(), 'memo': text()}


def actions():
    def action(name, **approval):
        return {'route': f'POST /v1/{name}/{{book}}', 'fields': FIELDS, 'approval': {'when': 'always', **approval}}
    return {'one.pay': action('one'), 'two.pay': action('two', approvers=2),
            'chief.pay': action('chief', by={'roles': ['operator']}),
            'platform.pay': action('platform', by={'accounts': ['platform']}),
            'line.pay': {**action('line'), 'lock': {'on': ['book'], 'held': 'queue'}}}


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, actions(), accounts={'from': 'key'})


@pytest.fixture
def agent(gate, number):
    """The Authorization value of an agent of the account."""
    return 'Bearer ' + new_key(gate, 'agent', f'bot-{number}')[1]


@pytest.fixture
def ask(gate, number, token, agent):
    """ask('two'): a question of the agent's; its id."""
    def ask(name, token=token, account=agent):
        response = gate.post(f'/v1/{name}/{number}', token, account=account, json={'invoice': 'i-1'})
        assert response.state == 'awaiting_approval', response
        return response.operation
    return ask


def state(gate, id, agent):
    return gate.operation(id, agent)['state']


def test_two_people(gate, upstream, number, ask, agent):
    # Shows that where two are needed one is not enough, nor one of them twice; and that both are.
    id, path = ask('two'), f'/v1/two/{number}'
    ann, bob = person(gate, f'ann-{number}'), person(gate, f'bob-{number}')
    first = ann.approve(id)
    assert first.status == 200 and (first.json()['given'], first.json()['needed']) == (1, 2)
    assert state(gate, id, agent) == 'awaiting_approval' and upstream.seen(path) == []
    assert gate.operation(id, agent)['approval']['given'] == 1
    assert_problem(ann.approve(id), 409, 'approval-twice', operation=False)
    assert bob.approve(id).status == 200
    gate.wait_state(id, 'completed', account=agent)
    assert upstream.effects(path) == 1
    assert [a['by'] for a in bob.see(id)['answers']] == [ann.id, bob.id]
    assert bob.see(id)['approved_by'] == [ann.id, bob.id]
    assert bob.ask(f'/api/operations/{id}').json()['approval']['approved_by'] == [ann.id, bob.id]


def test_one_person_with_two_keys(gate, upstream, number, ask, agent):
    # Shows that two keys of one agent are one person.
    id = ask('two')
    one, other = person(gate, f'ann-{number}'), person(gate, f'ann-{number}')
    assert one.id != other.id and one.approve(id).status == 200
    assert_problem(other.approve(id), 409, 'approval-twice', operation=False)
    assert state(gate, id, agent) == 'awaiting_approval' and upstream.seen(f'/v1/two/{number}') == []


def test_a_revoked_yes_is_none(gate, upstream, number, ask, agent):
    # Shows that who agrees after the key of another one who did was revoked agrees alone.
    id, path = ask('two'), f'/v1/two/{number}'
    ann, bob, carl = (person(gate, f'{name}-{number}') for name in ('ann', 'bob', 'carl'))
    assert ann.approve(id).status == 200
    gate.revoke(ann.id)
    assert_problem(bob.approve(id), 409, 'approval-other', operation=False)
    assert state(gate, id, agent) == 'awaiting_approval' and upstream.seen(path) == []
    assert any('revoked' in (note or '') for note in notes(gate.operation(id, agent), 'operator'))
    first = bob.approve(id)
    assert (first.json()['given'], first.json()['needed']) == (1, 2)
    assert carl.approve(id).status == 200
    gate.wait_state(id, 'completed', account=agent)
    assert upstream.effects(path) == 1
    assert bob.see(id)['approved_by'] == [bob.id, carl.id]


def test_revoked_before_it_is_sent(gate, upstream, number, token, ask, agent):
    # Shows that what somebody agreed to, and waits for its turn, is asked anew once their key is revoked;
    # and that the key's end, as opposed to its revocation, takes nothing back.
    path, hold = f'/v1/line/{number}', Hold()
    upstream.plan(path, held(hold))
    ann, bob = person(gate, f'ann-{number}'), person(gate, f'bob-{number}')
    ids = [ask('line', f'{token}-{n}') for n in range(3)]
    assert ann.approve(ids[0]).status == 200
    hold.wait_entered()
    soon = person(gate, f'eve-{number}', expires_in='3s')
    assert soon.approve(ids[1]).status == 200 and ann.approve(ids[2]).status == 200
    gate.revoke(ann.id)
    eventually(lambda: soon.ask('/api/approvals').status == 401, what='the end of the key')
    hold.release()
    for id in ids[:2]:
        gate.wait_state(id, 'completed', account=agent)
    asked = gate.wait_state(ids[2], 'awaiting_approval', account=agent)
    assert any('revoked' in (note or '') for note in notes(asked, 'dispatcher')), asked
    assert asked['approval']['given'] == 0 and upstream.effects(path) == 2
    assert bob.approve(ids[2]).status == 200
    gate.wait_state(ids[2], 'completed', account=agent)
    assert upstream.effects(path) == 3 and bob.see(ids[2])['approved_by'] == [bob.id]


def test_one_person_in_two_accounts(gate, upstream, number, ask, agent):
    # Shows that somebody of all accounts is not counted beside the one of that name in the account,
    # and agrees to nothing that an agent of their name has asked for.
    id = ask('two')
    one, other, twin = person(gate, f'ann-{number}'), *(
        Person(gate, gate.key(agent=f'{name}-{number}', role='approver', all_accounts=True)['key']) for name in ('ann', 'bot'))
    assert one.approve(id).status == 200
    assert_problem(other.approve(id), 409, 'approval-twice', operation=False)
    assert_problem(twin.approve(id), 403, 'approval-own', operation=False)
    assert state(gate, id, agent) == 'awaiting_approval' and upstream.seen(f'/v1/two/{number}') == []


def test_one_no_after_a_yes(gate, upstream, number, ask, agent):
    # Shows that the second person's no ends it, whoever has agreed.
    id = ask('two')
    assert person(gate, f'ann-{number}').approve(id).status == 200
    assert person(gate, f'bob-{number}').deny(id).status == 200
    assert state(gate, id, agent) == 'cancelled' and upstream.seen(f'/v1/two/{number}') == []


def test_many_at_once_where_two_are_needed(gate, upstream, number, ask, agent, token):
    # Shows that however many people agree at once, two of them count, and it is sent once.
    people = [person(gate, f'p{n}-{number}') for n in range(5)]
    for round in range(5):
        id = ask('two', f'{token}-{round}')
        fingerprint = people[0].see(id)['fingerprint']
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda p: p.approve(id, fingerprint).status, people * 2))
        assert answers.count(200) == 2, answers
        gate.wait_state(id, 'completed', account=agent)
        assert upstream.effects(f'/v1/two/{number}') == round + 1


def test_nobody_with_the_requesters_name(gate, number, ask, agent):
    # Shows that a person's key under the agent's own name agrees to nothing that it has asked for.
    id = ask('one')
    twin = person(gate, f'bot-{number}')
    assert_problem(twin.approve(id), 403, 'approval-own', operation=False)
    assert state(gate, id, agent) == 'awaiting_approval'


@pytest.mark.parametrize('role', ['agent', 'auditor'])
def test_roles_that_may_not_answer(gate, number, ask, agent, role):
    # Shows that neither agents nor auditors answer, not even for another's question.
    id = ask('one')
    somebody = person(gate, f'other-{number}', role)
    fingerprint = Person(gate).see(id)['fingerprint']
    assert somebody.approve(id, fingerprint).status in (401, 403)
    assert somebody.deny(id, 'no', fingerprint).status in (401, 403)
    assert somebody.ask('/api/approvals').status == (200 if role == 'auditor' else 403)
    assert state(gate, id, agent) == 'awaiting_approval'


def test_only_whom_the_action_names(gate, number, ask, agent, token):
    # Shows that by.roles and by.accounts say who may answer, yes or no.
    approver, operator = person(gate, f'a-{number}'), person(gate, f'o-{number}', 'operator')
    chief, platform = ask('chief', token + '-1'), ask('platform', token + '-2')
    for somebody, id in ((approver, chief), (approver, platform), (operator, platform)):
        assert_problem(somebody.approve(id), 403, 'forbidden', operation=False)
        assert_problem(somebody.deny(id), 403, 'forbidden', operation=False)
        assert state(gate, id, agent) == 'awaiting_approval'
    assert operator.approve(chief).status == 200
    other = person(gate, f'p-{number}', account='platform', all_accounts=True)
    assert other.approve(platform).status == 200
    for id in (chief, platform):
        gate.wait_state(id, 'completed', account=agent)


def test_another_accounts_question_is_not_there(gate, number, ask, agent):
    # Shows that who belongs to another account sees no question of this one, in no way.
    id = ask('one')
    stranger = person(gate, f's-{number}', 'operator', account='elsewhere')
    fingerprint = Person(gate).see(id)['fingerprint']
    assert stranger.ask(f'/api/approvals/{id}').status == 404
    assert stranger.approve(id, fingerprint).status == 404 and stranger.deny(id, 'no', fingerprint).status == 404
    assert id not in [a['operation']['id'] for a in stranger.waiting()]
    assert stranger.ask(f'/api/approvals?account={ACCOUNT}').status in (403, 404)
    assert id in [a['operation']['id'] for a in person(gate, f'a-{number}').waiting()]
    assert state(gate, id, agent) == 'awaiting_approval'


def test_a_revoked_key_answers_nothing(gate, number, ask, agent):
    # Shows that whose key was revoked answers no more.
    id, ann = ask('one'), person(gate, f'ann-{number}')
    fingerprint = ann.see(id)['fingerprint']
    assert gate.operator(f'/api/keys/{ann.id}/revoke', 'POST', json={'why': 'left'}).status in (200, 204)
    assert ann.approve(id, fingerprint).status == 401
    assert state(gate, id, agent) == 'awaiting_approval'


def test_a_denial_names_nobody_to_the_agent(gate, number, ask, agent, token):
    # Shows that the agent is told why, and not who.
    id, ann = ask('one'), person(gate, f'ann-{number}')
    ann.deny(id, 'not this week')
    again = gate.post(f'/v1/one/{number}', token, account=agent, json={'invoice': 'i-1'})
    problem = assert_problem(again, 403, 'approval-denied')
    assert 'not this week' in problem['detail']
    approval = gate.operation(id, agent)['approval']
    assert ann.id not in str(problem) + str(approval) and f'ann-{number}' not in str(problem) + str(approval)


def test_with_a_key_on_the_command_line(gate, upstream, number, ask, agent):
    # Shows that approve answers with the caller's own key, where it is given.
    from harness.gate import command
    id, ann = ask('two'), person(gate, f'ann-{number}')
    fingerprint = ann.see(id)['fingerprint']
    done = command('approve', id, '--yes', '--fingerprint', fingerprint, '--data', gate.data,
                   env={'COUNTERFOIL_KEY': ann.key})
    assert done.returncode == 0, done
    assert cli(gate, 'approve', id, '--yes', '--fingerprint', fingerprint).returncode == 0
    gate.wait_state(id, 'completed', account=agent)
    assert {a['by'] for a in ann.see(id)['answers']} == {ann.id, 'admin-token'}
    assert upstream.effects(f'/v1/two/{number}') == 1


def test_the_audit_log_names_who_answered(start_gate, upstream, token):
    # Shows that an answer's entry names the person and their role, on a line too, and is found by their name.
    gate = start_gate(upstream, ruled(upstream, actions(), accounts={'from': 'key'}))
    ann, (_, bot) = person(gate, 'ann'), new_key(gate, 'agent', 'bot')
    id = gate.post('/v1/one/1', token, account='Bearer ' + bot, json={'invoice': 'i-1'}).operation
    assert ann.deny(id, 'not this week').status == 200
    gate.terminate()
    assert gate.wait_exit() == 0
    done = cli(gate, 'audit', 'show', '--agent', 'ann')
    [made], [denied] = ([line for line in done.stdout.splitlines() if event in line.split()]
                        for event in ('key_created', 'denied'))
    assert f'subject {ann.id}' in made and 'role approver' in made
    assert id in denied and f'by {ann.id}  answerer ann  role approver' in denied, denied
