"""lock: one holder for each resource, in order of arrival, through everything."""
import random
import threading

import pytest

from harness.client import assert_problem
from harness.rules import (Exclusive, at_once, eventually, needed, notes, op, op_json, operations,
                           resolve, ruled, told)
from harness.upstream import Hold, answer, created, drop, held

FIELDS = {'environment': needed(), 'service': needed(), 'artifact': needed(),
          'expected_version': {'type': 'integer'}}
LOCK = {'on': ['environment', 'service'], 'version': 'expected_version', 'fencing': 'X-Fence',
        'resource': 'deployments'}
QUICK = {'first_pause': '50ms', 'max_pause': '200ms'}


def actions():
    return {
        'deployments.create': {'route': 'POST /v1/deployments/{book}', 'fields': FIELDS, 'lock': LOCK},
        'deployments.queue': {'route': 'POST /v1/queued/{book}', 'fields': FIELDS,
                              'lock': {**LOCK, 'held': 'queue'}},
        'others.create': {'route': 'POST /v1/others/{book}', 'fields': FIELDS,
                          'lock': {**LOCK, 'resource': 'others'}},
    }


def settings(upstream):
    return ruled(upstream, actions(), outbox=QUICK)


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


@pytest.fixture
def refusing(number):
    return f'/v1/deployments/{number}'


@pytest.fixture
def queueing(number):
    return f'/v1/queued/{number}'


class Deployer:
    """Deploys to one environment of one account."""

    def __init__(self, gate, account, token):
        self.gate, self.account, self.token = gate, account, token

    def body(self, artifact, environment='production', service='web', version=None):
        body = {'environment': environment, 'service': service, 'artifact': artifact}
        return body if version is None else {**body, 'expected_version': version}

    def __call__(self, path, artifact, wait=None, headers=(), **more):
        wish = {'Prefer': f'wait={wait}'} if wait else {}
        return self.gate.post(path, f'{self.token}-{artifact}', account=self.account, timeout=40,
                              json=self.body(artifact, **more), headers={**wish, **dict(headers)})

    def wait(self, response, *states):
        return self.gate.wait_state(response.operation, *states or ('completed',), account=self.account)


@pytest.fixture
def deploy(gate, account, token):
    return Deployer(gate, account, token)


class Held:
    """A deployment that is inside the service, and so holds the lock."""

    def __init__(self, deploy, upstream, path, then=None, **more):
        self.hold = Hold()
        upstream.plan(path, held(self.hold, then))
        self.response = None
        self.thread = threading.Thread(target=self._run, args=(deploy, path, more), daemon=True)
        self.thread.start()
        self.hold.wait_entered()
        self.id = operations(deploy.gate, deploy.account, state='running')[0]['id']

    def _run(self, deploy, path, more):
        self.response = told(deploy.gate, path, f'{deploy.token}-holder', account=deploy.account,
                             json=deploy.body('holder', **more))

    def release(self):
        self.hold.release()
        self.thread.join(20)
        return self.response


def assert_locked(response, holder=None):
    problem = assert_problem(response, 423, 'lock-held', advice='wait', operation=False)
    assert response.outcome == 'locked'
    if holder:
        assert holder in str(problem) + str(response.headers), problem


def assert_queued(response):
    assert (response.status, response.outcome) == (202, 'queued'), response
    assert response.state in ('queued', 'running'), 'its turn may have come when it is told'
    assert response.json()['id'] == response.operation
    assert response.one('Location').endswith(response.operation)
    assert int(response.one('Retry-After')) >= 0


def test_held_refuse(gate, upstream, deploy, refusing):
    # Shows that a second one is refused, told who holds it, and may come again with its token.
    holder = Held(deploy, upstream, refusing)
    assert_locked(deploy(refusing, 'b'), holder.id)
    assert len(upstream.seen(refusing)) == 1
    assert holder.release().outcome == 'created'
    assert deploy(refusing, 'b').outcome == 'created'
    assert upstream.effects(refusing) == 2


def test_a_refused_one_is_not_kept(gate, upstream, deploy, refusing, account, token):
    # Shows that a refusal by the lock records nothing under the token.
    holder = Held(deploy, upstream, refusing)
    assert_locked(deploy(refusing, 'b'))
    assert operations(gate, account, token=f'{token}-b') == []
    holder.release()


def test_crowds_never_meet_inside_the_service(gate, upstream, deploy, refusing):
    # Shows that of many at once only one at a time is inside, and each is sent or told it is locked.
    service = Exclusive('artifact')
    upstream.always(refusing, service.behaviour)
    total = 0
    for round in range(4):
        answers = at_once(25, lambda n: deploy(refusing, f'r{round}-{n}'))
        outcomes = [a.outcome for a in answers]
        assert set(outcomes) <= {'created', 'locked'}, outcomes
        assert outcomes.count('created') >= 1
        total += outcomes.count('created')
    service.assert_alone()
    assert upstream.effects(refusing) == len(service.order) == total


def test_queues_are_worked_off_one_by_one(gate, upstream, deploy, queueing):
    # Shows that of a crowd that queues each is sent once, never two at a time, and that every
    # sending has a greater fencing number than the one before.
    service = Exclusive('artifact')
    upstream.always(queueing, service.behaviour)
    answers = at_once(30, lambda n: deploy(queueing, f'a{n}'))
    assert {a.outcome for a in answers} <= {'created', 'queued'}
    for response in answers:
        deploy.wait(response)
    service.assert_alone()
    assert sorted(service.order) == sorted(f'a{n}' for n in range(30))
    fences = [int(f) for f in service.fences]
    assert fences == sorted(set(fences)), fences


def test_queues_keep_the_order_of_arrival(gate, upstream, deploy, queueing):
    # Shows that those that wait get their turn in the order in which they came.
    service = Exclusive('artifact')
    holder = Held(deploy, upstream, queueing)
    upstream.always(queueing, service.behaviour)
    waiting = [deploy(queueing, f'a{n}') for n in range(12)]
    for response in waiting:
        assert_queued(response)
    assert len(upstream.seen(queueing)) == 1
    holder.release()
    for response in waiting:
        deploy.wait(response)
    assert service.order == [f'a{n}' for n in range(12)]
    service.assert_alone()
    again = deploy(queueing, 'a3')
    assert (again.status, again.outcome) == (201, 'replayed')


def test_whoever_waits_in_the_queue_gets_its_answer(gate, upstream, deploy, queueing):
    # Shows that with Prefer: wait the turn and its answer come on the same request.
    holder = Held(deploy, upstream, queueing)
    threading.Timer(0.3, holder.release).start()
    response = deploy(queueing, 'b', wait=20)
    assert (response.status, response.outcome, response.state) == (201, 'created', 'completed')
    assert upstream.effects(queueing) == 2


@pytest.mark.parametrize('one, other', [('Production', 'pRODUCTION'), ('Straße', 'STRASSE'),
                                        ('caf\u00e9', 'CAFE\u0301')])
def test_names_compare_without_case(gate, upstream, deploy, refusing, one, other):
    # Shows that two spellings of a name, in case or composition, are one resource.
    holder = Held(deploy, upstream, refusing, environment=one)
    assert_locked(deploy(refusing, 'b', environment=other), holder.id)
    holder.release()


def test_other_resources_are_free(gate, upstream, deploy, refusing, number):
    # Shows that another name, another kind of resource and another account's are other locks.
    holder = Held(deploy, upstream, refusing)
    assert deploy(refusing, 'b', environment='staging').outcome == 'created'
    assert deploy(refusing, 'c', service='api').outcome == 'created'
    assert deploy(f'/v1/others/{number}', 'd').outcome == 'created'
    other = Deployer(gate, deploy.account + '-other', deploy.token)
    assert other(refusing, 'e').outcome == 'created'
    assert_locked(deploy(refusing, 'f'))
    holder.release()


def test_parts_do_not_run_together(gate, upstream, deploy, refusing):
    # Shows that ("a", "bc") and ("ab", "c") are two resources.
    holder = Held(deploy, upstream, refusing, environment='a', service='bc')
    assert deploy(refusing, 'b', environment='ab', service='c').outcome == 'created'
    holder.release()


def test_actions_share_a_resource(gate, upstream, deploy, refusing, queueing):
    # Shows that a lock is the resource's, whichever action takes it.
    holder = Held(deploy, upstream, refusing)
    queued = deploy(queueing, 'b')
    assert_queued(queued)
    assert_locked(deploy(refusing, 'c'))
    assert upstream.seen(queueing) == []
    holder.release()
    deploy.wait(queued)


def test_nobody_overtakes_a_queue(gate, upstream, deploy, refusing, queueing):
    # Shows that whoever would rather be refused is, while others wait before it.
    holder = Held(deploy, upstream, queueing)
    hold = Hold()
    upstream.plan(queueing, held(hold))
    queued = deploy(queueing, 'b')
    holder.release()
    hold.wait_entered()
    assert_locked(deploy(refusing, 'c'), queued.operation)
    hold.release()
    deploy.wait(queued)


def test_unknown_keeps_the_lock(gate, upstream, deploy, refusing, queueing):
    # Shows that a holder of whom nobody knows what became of it keeps the others out, until a
    # person says so.
    upstream.plan(refusing, drop())
    lost = deploy(refusing, 'a')
    assert lost.state == 'unknown'
    queued = deploy(queueing, 'b')
    assert_queued(queued)
    assert_locked(deploy(refusing, 'c'), lost.operation)
    assert upstream.seen(queueing) == []
    resolve(gate, lost.operation, 'happened')
    assert deploy.wait(queued)['state'] == 'completed'
    assert deploy(refusing, 'd', version=2).outcome == 'created'


def test_a_failure_frees_the_lock(gate, upstream, deploy, refusing):
    # Shows that a failed holder leaves the lock, and its version as it was.
    upstream.plan(refusing, answer(422, works=False), created())
    assert deploy(refusing, 'a').state == 'failed'
    assert deploy(refusing, 'b', version=0).outcome == 'created'


def test_what_was_not_sent_holds_nothing(gate, upstream, deploy, refusing):
    # Shows that a holder that could not be sent lets others by, and takes its turn when it is retried.
    upstream.plan(refusing, answer(503, works=False), created(), created())
    first = deploy(refusing, 'a')
    assert (first.outcome, first.state) == ('not_sent', 'queued')
    assert deploy(refusing, 'b').outcome == 'created'
    again = deploy(refusing, 'a')
    assert (again.outcome, again.operation) == ('created', first.operation)
    assert upstream.effects(refusing) == 2


def test_a_queue_is_not_overtaken_while_its_head_cannot_be_sent(gate, upstream, deploy, queueing):
    # Shows that one that could not be sent goes back to the head of its queue, not behind it.
    service = Exclusive('artifact')
    upstream.plan(queueing, *[answer(503, works=False)] * 3)
    upstream.always(queueing, service.behaviour)
    waiting = [deploy(queueing, f'a{n}') for n in range(5)]
    assert_queued(waiting[0])
    for response in waiting:
        deploy.wait(response)
    assert service.order == [f'a{n}' for n in range(5)]
    assert upstream.effects(queueing) == 5


def assert_version(response, current):
    problem = assert_problem(response, 412, 'version-mismatch', advice='fix', operation=False)
    assert response.outcome == 'refused'
    assert problem['version'] == current, problem


def test_versions(gate, upstream, deploy, refusing):
    # Shows that each success raises the version, that another one than is expected is refused and
    # told the current one, and that its token is still free.
    assert deploy(refusing, 'a', version=0).outcome == 'created'
    assert_version(deploy(refusing, 'b', version=0), 1)
    assert_version(deploy(refusing, 'b', version=7), 1)
    assert deploy(refusing, 'b', version=1).outcome == 'created'
    assert deploy(refusing, 'c').outcome == 'created'
    assert_version(deploy(refusing, 'd', version=2), 3)
    assert upstream.effects(refusing) == 3


def test_one_of_many_with_the_same_version(gate, upstream, deploy, refusing, queueing):
    # Shows that of a crowd that expects the same version exactly one is the effect.
    answers = at_once(20, lambda n: deploy(refusing, f'a{n}', version=0))
    assert [a.outcome for a in answers].count('created') == 1
    assert upstream.effects(refusing) == 1
    answers = at_once(8, lambda n: deploy(queueing, f'b{n}', version=1))
    for response in answers:
        if response.outcome == 'queued':
            deploy.wait(response, 'completed', 'cancelled', 'failed')
    assert upstream.effects(queueing) == 1


def test_a_version_that_moved_while_it_waited(gate, upstream, deploy, queueing):
    # Shows that one whose version has gone by when its turn comes is never sent, and says why; and
    # that one which can never match is refused at once.
    holder = Held(deploy, upstream, queueing, version=0)
    first, second, third = [deploy(queueing, a, version=1) for a in ('a', 'b', 'c')]
    for response in (first, second, third):
        assert_queued(response)
    holder.release()
    deploy.wait(first)
    for response in (second, third):
        document = deploy.wait(response, 'cancelled', 'failed')
        assert 'version' in str(document).lower()
    assert_version(deploy(queueing, 'd', version=1), 2)
    assert upstream.effects(queueing) == 2


def test_who_waits_is_told_at_once_that_the_version_moved(gate, upstream, deploy, queueing):
    # Shows that one which is cancelled when its turn comes keeps nobody waiting any longer.
    holder = Held(deploy, upstream, queueing)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(deploy(queueing, 'b', wait=30, version=0)))
    waiting.start()
    eventually(lambda: operations(gate, deploy.account, state='queued'))
    holder.release()
    waiting.join(8)
    assert answers and answers[0].slug == 'operation-cancelled', answers
    assert answers[0].json()['detail'].startswith('when its turn came, the lock was at version ')
    waiting.join(30)


def test_the_fencing_number(gate, upstream, deploy, refusing):
    # Shows that every sending has a number of its own in the header that is named, never the client's.
    upstream.plan(refusing, answer(503, works=False))
    deploy(refusing, 'a')
    deploy(refusing, 'a', headers={'X-Fence': '999'})
    deploy(refusing, 'b', headers={'X-Fence': '999'})
    lines = [seen.all('X-Fence') for seen in upstream.seen(refusing)]
    assert all(len(each) == 1 for each in lines), lines
    numbers = [int(each[0]) for each in lines]
    assert numbers == sorted(set(numbers)) and numbers[-1] < 999, numbers
    other = deploy(refusing, 'c', environment='staging')
    assert other.outcome == 'created'


def test_a_waiter_that_is_cancelled(gate, upstream, deploy, queueing, account):
    # Shows that one which is cancelled while it waits never runs, and holds up nobody.
    holder = Held(deploy, upstream, queueing)
    first, second = deploy(queueing, 'a'), deploy(queueing, 'b')
    done = gate.request('POST', f'/.counterfoil/operations/{first.operation}/cancel', account=account)
    assert done.status == 200, done
    holder.release()
    deploy.wait(second)
    assert [s.json()['artifact'] for s in upstream.seen(queueing)] == ['holder', 'b']
    assert gate.operation(first.operation, account)['state'] == 'cancelled'


def test_an_operator_sees_locks(gate, upstream, deploy, queueing):
    # Shows who holds a lock and who waits for it.
    holder = Held(deploy, upstream, queueing, environment='Berlin')
    waiting = deploy(queueing, 'a', environment='berlin')
    [lock] = [each for each in op_json(gate, 'locks')['locks'] if each['holder'] and
              each['holder']['id'] == holder.id]
    assert 'Berlin' in lock['name'] and 'web' in lock['name']
    assert waiting.operation in str(lock['waiters'])
    shown = op(gate, 'locks')
    assert shown.returncode == 0 and holder.id in shown.stdout
    holder.release()
    deploy.wait(waiting)


def test_release_by_force(gate, upstream, deploy, refusing, queueing, account):
    # Shows that an operator can take a lock away, with a reason that stays in the history; that the
    # operation is no better known for it; and that the next one has a greater fencing number.
    upstream.plan(refusing, drop())
    lost = deploy(refusing, 'a')
    queued = deploy(queueing, 'b')
    assert op(gate, 'release', lost.operation).returncode == 2
    assert_locked(deploy(refusing, 'c'))
    done = op(gate, 'release', lost.operation, '--why', 'the host is gone')
    assert done.returncode == 0, done.stderr
    deploy.wait(queued)
    document = gate.operation(lost.operation, account)
    assert document['state'] == 'unknown'
    assert any('the host is gone' in (note or '') for note in notes(document, 'operator')), document
    before, after = upstream.last(refusing), upstream.last(queueing)
    assert int(after.get('X-Fence')) > int(before.get('X-Fence'))
    assert op(gate, 'release', lost.operation, '--why', 'again').returncode == 1


def test_release_is_for_holders(gate, deploy, refusing):
    # Shows that there is nothing to release of an operation that has ended, or never was.
    done = deploy(refusing, 'a')
    assert op(gate, 'release', done.operation, '--why', 'x').returncode == 1
    assert op(gate, 'release', 'op_00000000000000000000000000', '--why', 'x').returncode == 1


def test_a_late_end_after_release(gate, upstream, deploy, refusing):
    # Shows that a holder which lost its lock ends by itself, and frees nobody else's hold.
    first = Held(deploy, upstream, refusing)
    done = op(gate, 'release', first.id, '--why', 'it hangs')
    assert done.returncode == 0, done.stderr
    hold = Hold()
    upstream.plan(refusing, held(hold))
    thread = threading.Thread(target=deploy, args=(refusing, 'b'), daemon=True)
    thread.start()
    hold.wait_entered()
    assert first.release().status == 201
    assert_locked(deploy(refusing, 'c'))
    hold.release()
    thread.join(20)
    assert deploy(refusing, 'd').outcome == 'created'


def test_a_queue_outlives_kill_9(start_gate, upstream, queueing, account, token):
    # Shows that after kill -9 the lock is still held by what it interrupted, and that those that
    # waited get their turn in their order.
    gate = start_gate(upstream, settings(upstream))
    deploy = Deployer(gate, account, token)
    holder = Held(deploy, upstream, queueing)
    waiting = [deploy(queueing, f'a{n}') for n in range(6)]
    service = Exclusive('artifact')
    upstream.always(queueing, service.behaviour)
    gate.kill9()
    holder.release()
    gate.restart()
    assert gate.operation(holder.id, account)['state'] == 'unknown'
    assert_queued(deploy(queueing, 'a2'))
    assert service.order == []
    resolve(gate, holder.id, 'happened')
    for response in waiting:
        deploy.wait(response)
    assert service.order == [f'a{n}' for n in range(6)]
    service.assert_alone()


def settle_all(gate, service, account, send):
    """As people would: what is unknown happened where the service has seen it; what its caller is
    to send again is sent again."""
    def is_quiet():
        for each in operations(gate, account, state='unknown'):
            happened = each['token'].rpartition('~')[2] in service.order
            op(gate, 'resolve', each['id'], '--happened' if happened else '--did-not', '--why', 'looked')
        for each in operations(gate, account, state='queued'):
            if not each['dispatched']:
                send(each['token'].rpartition('~')[2])
        return not {each['state'] for each in operations(gate, account)} & {'queued', 'running', 'unknown'}
    eventually(is_quiet, 40, 'quiet')


def kill_rounds(start_gate, upstream, rounds, queueing, account, token):
    dice = random.Random(rounds)
    gate = start_gate(upstream, settings(upstream))
    service = Exclusive('artifact')
    upstream.always(queueing, service.behaviour)
    for round in range(rounds):
        names = [f'{round}.{n}' for n in range(8)]
        answers = {}

        def send(name):
            answers[name] = told(gate, queueing, f'{token}~{name}', account=account,
                                 json={'environment': 'e', 'service': 's', 'artifact': name})
        threads = [threading.Thread(target=send, args=(name,), daemon=True) for name in names]
        for thread in threads:
            thread.start()
        threading.Event().wait(0.01 + dice.random() * 0.1)
        gate.kill9()
        for thread in threads:
            thread.join(20)
        gate.restart()
        threading.Event().wait(0.1)     # what was on its way to the service arrives
        settle_all(gate, service, account, send)
        for name in names:
            if answers[name] is not None:
                assert service.order.count(name) == 1, f'{name}: {service.order.count(name)}'
        service.assert_alone()
    assert len(service.order) == len(set(service.order))


def test_kills_among_a_queue(start_gate, upstream, queueing, account, token):
    # Shows over some kills that what was taken on is sent once, and never two at a time.
    kill_rounds(start_gate, upstream, 6, queueing, account, token)


@pytest.mark.long
def test_many_kills_among_a_queue(start_gate, upstream, queueing, account, token):
    # Shows the same over 100 kills.
    kill_rounds(start_gate, upstream, 100, queueing, account, token)
