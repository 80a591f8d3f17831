"""All rules at once, while the gate is killed and its disk fails: identities, locks, lines, budgets
and the outbox are held to what the service has seen.

One service, five actions, many commands, each under two tokens. A blow falls in the middle of
each round; then everything is brought to its end as people would, and counted.
"""
import collections
import json
import random
import threading
import time

import pytest

from harness.client import Closed
from harness.fault import FOREVER, Machine, needs_machine
from harness.rules import MEDIA, eventually, money, needed, op, op_json, operations, ruled, told
from harness.upstream import Upstream, behaviour

EIO, ENOSPC = 5, 28
CAPTURED = 5000
ACCOUNT = 'Bearer the-shop-of-all-rules'


def actions():
    name = {'name': needed()}
    by_name = {'by': ['name']}
    return {
        'tickets.create': {'route': 'POST /v1/tickets', 'fields': {**name, 'title': needed()},
                           'unique': by_name},
        'deployments.create': {'route': 'POST /v1/deployments', 'fields': {**name, 'env': needed()},
                               'unique': by_name,
                               'lock': {'on': ['env'], 'held': 'queue', 'fencing': 'X-Fence'}},
        'jobs.create': {'route': 'POST /v1/jobs', 'fields': {**name, 'env': needed()},
                        'unique': by_name, 'dispatch': 'outbox',
                        'lock': {'on': ['env'], 'held': 'queue', 'fencing': 'X-Fence', 'resource': 'jobs'}},
        'payments.create': {'route': 'POST /v1/payments', 'fields': {**name, **money()},
                            'unique': by_name, 'opens_budget': {'id': 'response/id', 'amount': 'amount'}},
        'refunds.create': {'route': 'POST /v1/refunds', 'fields': {**name, 'env': needed(), **money()},
                           'unique': by_name, 'budget': {'of': 'env', 'amount': 'amount'},
                           'lock': {'on': ['env'], 'held': 'queue', 'fencing': 'X-Fence',
                                    'resource': 'payments'}},
    }


class Service:
    """Acts, refuses, loses answers; and knows of every effect, and of every two that met."""

    def __init__(self, dice):
        self.dice, self.lock, self.is_kind = dice, threading.Lock(), True
        self.effects, self.inside, self.met, self.fences = [], collections.Counter(), [], {}
        self.keys = set()
        self.upstream = Upstream()
        self.upstream.default = behaviour(lambda ex: self.act(ex))

    def enter(self, place, seen):
        self.inside[place] += 1
        if self.inside[place] > 1 and place:
            self.met.append((place, seen))
        if place:
            fence = int(seen.get('X-Fence'))
            if fence <= self.fences.get(place, 0):
                self.met.append((place, fence, self.fences[place]))
            self.fences[place] = fence

    def act(self, ex):
        body, kind = ex.request.json(), ex.request.path.rpartition('/')[2]
        place = (kind, body['env']) if 'env' in body else None
        with self.lock:
            self.enter(place, ex.request)
            what = 'done' if self.is_kind else self.dice.choice(
                ['done'] * 5 + ['not sent', 'refused', 'lost', 'lost', 'gone'])
            pause = self.dice.random() * 0.006
        ex.wait(pause)
        with self.lock:
            if what in ('done', 'lost'):
                self.effects.append((kind, body))
            self.inside[place] -= 1
        if what in ('lost', 'gone'):
            ex.close()
        elif what == 'done':
            ex.answer(201, MEDIA, b'{"id": "%s"}' % body['name'].encode())
        else:
            ex.answer(503 if what == 'not sent' else 422, MEDIA, b'{}')

    def names(self):
        with self.lock:
            return [body['name'] for _, body in self.effects]

    def is_empty(self):
        with self.lock:
            return not any(self.inside.values())


class Town:
    """The commands, their tokens, and what was told of them."""

    def __init__(self, gate, dice, machine=None):
        self.gate, self.dice, self.machine = gate, dice, machine
        self.commands, self.told, self.lock = {}, collections.defaultdict(list), threading.Lock()

    def add(self, kind, name, **body):
        self.commands[name] = (f'/v1/{kind}', {'name': name, **body})

    def post(self, token):
        name = token.rpartition('~')[0]
        path, body = self.commands[name]
        response = told(self.gate, path, token, account=ACCOUNT, json=body, timeout=10)
        if response is not None:
            with self.lock:
                self.told[name].append(response)
        return response

    def fill(self, round):
        """The commands of a round, and the tokens under which each comes."""
        payment = f'pay{round}'
        self.add('payments', payment, amount=CAPTURED, currency='EUR')
        eventually(lambda: (r := self.post(f'{payment}~a')) is not None and r.status == 201, what=payment)
        for n in range(6):
            self.add('tickets', f'ticket{round}.{n}', title='t')
            self.add('deployments', f'deploy{round}.{n}', env=f'e{round % 3}')
            self.add('jobs', f'job{round}.{n}', env=f'e{round % 2}')
            self.add('refunds', f'refund{round}.{n}', env=payment, currency='EUR',
                     amount=self.dice.randrange(500, 1800))
        tokens = [f'{name}~{side}' for name in self.commands for side in 'ab'
                  if f'{round}.' in name and name.split('.')[0].endswith(str(round))]
        self.dice.shuffle(tokens)
        return tokens

    def crowd(self, tokens, blow):
        left = list(tokens)

        def run():
            while True:
                with self.lock:
                    if not left:
                        return
                    token = left.pop()
                response = self.post(token)
                if response is None:
                    time.sleep(0.01)
                elif self.dice.random() < 0.05 and response.operation:
                    told(self.gate, f'/.counterfoil/operations/{response.operation}/cancel', None,
                         account=ACCOUNT)
        threads = [threading.Thread(target=run, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        blow()
        for thread in threads:
            thread.join(30)

    def bring_up(self):
        if self.machine:
            self.machine.disarm()
        for _ in range(5):    # a fault that was under way when it was disarmed may still end it
            try:
                if self.gate.is_running and self.gate.process.poll() is None:
                    return self.gate.wait_ready()
            except (OSError, Closed):
                pass
            self.gate.kill9()
            self.gate.restart()
        self.gate.wait_ready()

    def end(self, service):
        """As people would: what is unknown is looked up, what its caller is to send is sent."""
        service.is_kind = True
        self.bring_up()

        def is_over():
            left = [o for o in operations(self.gate, ACCOUNT)
                    if o['state'] in ('queued', 'running', 'unknown')]
            for each in left:
                self.push(service, each)
            self.left = left
            return not left
        try:
            eventually(is_over, 100)    # STORE_LEASE_MS is a minute
        except AssertionError:
            whole = [self.gate.operation(each['id'], ACCOUNT) for each in self.left[:3]]
            raise AssertionError(f'{len(self.left)} never end, the first: {json.dumps(whole, indent=1)}')

    def push(self, service, each):
        name = each['token'].rpartition('~')[0]
        if each['state'] == 'unknown' and service.is_empty():
            side = '--happened' if name in service.names() else '--did-not'
            op(self.gate, 'resolve', each['id'], side, '--why', 'looked')
        if each['state'] == 'queued' and not each['dispatched']:
            self.post(each['token'])


def check(town, service):
    assert service.met == [], 'two at once, or a number that did not grow'
    ended = operations(town.gate, ACCOUNT)
    done = {o['token'].rpartition('~')[0]: o for o in ended if o['state'] == 'completed'}
    names = service.names()
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    assert twice == [], f'two effects: {[town.gate.operation(o["id"], ACCOUNT) for o in ended if o["token"].rpartition("~")[0] in twice]}'
    assert sorted(done) == sorted(names), 'what is completed happened, and nothing else did'
    check_told(town, ended)
    check_order(service, ended, done)
    check_budgets(town, service)
    assert [lock for lock in op_json(town.gate, 'locks')['locks'] if lock['holder'] or lock['waiting']] == []


def check_told(town, ended):
    states = {o['id']: o['state'] for o in ended}
    for name, answers in town.told.items():
        for each in answers:
            if each.operation and each.outcome not in ('unknown', 'not_sent'):
                assert each.operation in states, f'{name}: lost: {each}'
            if each.status == 201:
                assert states[each.operation] == 'completed', f'{name}: {each}'


def check_order(service, ended, done):
    """Effects of one lock came in the order of the claims."""
    age = {o['id']: n for n, o in enumerate(reversed(ended))}
    lines = collections.defaultdict(list)
    for kind, body in service.effects:
        if 'env' in body:
            lines[kind, body['env']].append(age[done[body['name']]['id']])
    for place, ages in lines.items():
        assert ages == sorted(ages), f'{place}: {ages}'


def check_budgets(town, service):
    spent = collections.Counter()
    for kind, body in service.effects:
        if kind == 'refunds':
            spent[body['env']] += body['amount']
    for payment in {body['name'] for kind, body in service.effects if kind == 'payments'}:
        assert spent[payment] <= CAPTURED, payment
        town.add('refunds', 'ask', env=payment, amount=CAPTURED + 1, currency='EUR')
        asked = town.post('ask~a')
        assert asked.slug == 'budget-exceeded', asked
        assert asked.json()['budget']['left'] == CAPTURED - spent[payment], f'{payment}: {asked.json()}'
    town.told.pop('ask', None)


def rounds(start_gate, tmp_path, seed, count, blow, machine=None, service=Service, town=Town,
           rules=actions):
    dice = random.Random(seed)
    service = service(dice)
    options = {'data': tmp_path / 'data', 'env': machine.env} if machine else {}
    try:
        gate = start_gate(config=ruled(service.upstream, rules(), limits={'drain_timeout': '1s'}, outbox={
            'first_pause': '20ms', 'max_pause': '100ms', 'attempts': 1000}), **options)
        town = town(gate, dice, machine)
        for round in range(count):
            service.is_kind = True
            tokens = town.fill(round)
            service.is_kind = False
            town.crowd(tokens, lambda: blow(town, dice))
            town.end(service)
            check(town, service)
    finally:
        service.upstream.stop()


def kill(town, dice):
    time.sleep(dice.random() * 0.25)
    town.gate.kill9()
    town.gate.restart()


def test_kills(start_gate, tmp_path):
    # Shows over some kills that all rules hold together, nothing is lost and nothing stuck.
    rounds(start_gate, tmp_path, 1, 5, kill)


@pytest.mark.long
def test_many_kills(start_gate, tmp_path):
    # Shows the same over many more.
    rounds(start_gate, tmp_path, 2, 60, kill)


def step(town, dice):
    """The clock is set hours ahead and hours back, and the gate killed meanwhile."""
    for _ in range(dice.randrange(1, 5)):
        time.sleep(dice.random() * 0.1)
        town.machine.clock_ms = dice.choice([0, 1, -1, 2, -2, 5, -5]) * 3600 * 1000
    if dice.random() < 0.5:
        town.gate.kill9()
    time.sleep(dice.random() * 0.2)
    town.machine.clock_ms = dice.choice([0, town.machine.clock_ms])
    town.bring_up()


@needs_machine
def test_a_clock_that_steps(start_gate, tmp_path):
    # Shows the same where the wall clock is set ahead and back.
    rounds(start_gate, tmp_path, 7, 3, step, Machine(tmp_path, tmp_path / 'data'))


def test_a_long_line_outlives_kills(start_gate, upstream, tmp_path):
    # Shows that hundreds that wait for one lock are sent each once, in the order of their claims, by
    # gates that are killed again and again.
    dice, service = random.Random(8), Service(random.Random(8))
    gate = start_gate(config=ruled(service.upstream, actions()))
    town = Town(gate, dice)
    try:
        for n in range(250):
            town.add('jobs', f'job{n}', env='one')
            assert town.post(f'job{n}~a').status == 202
        for _ in range(4):
            time.sleep(0.05 + dice.random() * 0.1)
            gate.kill9()
            gate.restart()
            unknown = operations(gate, ACCOUNT, state='unknown')
            assert len(unknown) <= 1, 'one at a time'
            eventually(service.is_empty)
            for each in unknown:
                town.push(service, each)
        town.end(service)
        check(town, service)
        assert len(service.effects) == 250
    finally:
        service.upstream.stop()


def without_memory(start_gate, tmp_path, places):
    machine = Machine(tmp_path, tmp_path / 'data')
    service = Service(random.Random(9))
    gate = start_gate(config=ruled(service.upstream, actions(), outbox={'first_pause': '20ms', 'max_pause': '50ms'}),
                      data=tmp_path / 'data', env=machine.env)
    town = Town(gate, random.Random(9), machine)
    try:
        for nth in places:
            town.add('jobs', f'job{nth}', env='one')
            town.add('deployments', f'deploy{nth}', env='one')
            machine.fail_allocation(nth)
            for kind in ('job', 'deploy'):
                town.post(f'{kind}{nth}~a')
            town.bring_up()
            for kind in ('job', 'deploy'):
                eventually(lambda: (r := town.post(f'{kind}{nth}~a')) and r.status in (201, 202, 409), what=f'{nth}')
        town.end(service)
        check(town, service)
        assert len(service.effects) == 2 * len(places)
    finally:
        service.upstream.stop()


@needs_machine
def test_no_memory(start_gate, tmp_path):
    # Shows that an allocation that fails, wherever on the way of what the gate sends by itself,
    # loses nothing, holds up nobody and makes nothing twice.
    without_memory(start_gate, tmp_path, range(1, 300, 9))


@needs_machine
@pytest.mark.long
def test_no_memory_at_all_places(start_gate, tmp_path):
    # Shows the same for every allocation.
    without_memory(start_gate, tmp_path, range(1, 500))


def findable():
    """Actions whose operations the gate brings to an end by itself, whatever happens to them."""
    name = {'name': needed(), 'env': needed()}
    lock = {'on': ['env'], 'held': 'queue', 'fencing': 'X-Fence'}
    probe = {'get': '/v1/find?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
             'absent': {'status': 200, 'empty': '/data'}, 'settle': '300ms', 'every': '100ms'}
    return {
        'keyed.create': {'route': 'POST /v1/keyed', 'fields': name, 'unique': {'by': ['name']},
                         'lock': {**lock, 'resource': 'keyed'}, 'dispatch': 'outbox',
                         'downstream_key': 'Idempotency-Key'},
        'asked.create': {'route': 'POST /v1/asked', 'fields': name, 'unique': {'by': ['name']},
                         'lock': {**lock, 'resource': 'asked'}, 'probe': probe},
        'both.create': {'route': 'POST /v1/both', 'fields': name, 'unique': {'by': ['name']},
                        'lock': {**lock, 'resource': 'both'}, 'probe': probe,
                        'downstream_key': 'Idempotency-Key'},
    }


class Telling(Service):
    """Honours keys, and can be asked what it has done."""

    def enter(self, place, seen):
        """The same one may come again while it is inside; nobody else may."""
        body, fence = seen.json(), int(seen.get('X-Fence'))
        others = [name for name, count in self.inside.items() if count and name[:2] == place
                  and name[2] != body['name']]
        last, whose = self.fences.get(place, (0, None))
        if others or fence < last or fence == last and whose != body['name']:
            self.met.append((place, fence, last, others))
        self.fences[place] = max((fence, body['name']), (last, whose))
        self.inside[(*place, body['name'])] += 1

    def act(self, ex):
        if ex.request.path == '/v1/find':
            name = ex.request.target.rpartition('=')[2]
            found = [{'id': n} for n in self.names() if n == name]
            ex.answer(200, MEDIA, json.dumps({'data': found}).encode())
        else:
            self.write(ex, ex.request.json(), ex.request.path.rpartition('/')[2])

    def write(self, ex, body, kind):
        place, key = (kind, body['env']), ex.request.get('Idempotency-Key')
        with self.lock:
            self.enter(place, ex.request)
            what = 'done' if self.is_kind else self.dice.choice(['done'] * 3 + ['not sent', 'lost', 'gone'])
            pause = self.dice.random() * 0.006
        ex.wait(pause)
        with self.lock:
            if what in ('done', 'lost') and not (kind != 'asked' and key in self.keys):
                self.effects.append((kind, body))
                self.keys.add(key)
            self.inside[(*place, body['name'])] -= 1
        if what in ('lost', 'gone'):
            ex.close()
        else:
            ex.answer(201 if what == 'done' else 503, MEDIA, b'{"id": "%s"}' % body['name'].encode())


class Waiting(Town):
    def fill(self, round):
        for n in range(6):
            for kind in ('keyed', 'asked', 'both'):
                self.add(kind, f'{kind}{round}.{n}', env=f'e{round % 2}')
        tokens = [f'{name}~{side}' for name in self.commands for side in 'ab' if f'd{round}.' in name
                  or f'h{round}.' in name]
        self.dice.shuffle(tokens)
        return tokens

    def push(self, service, each):
        """Nobody does anything, but for callers who come back."""
        if each['state'] == 'queued' and not each['dispatched']:
            self.post(each['token'])


BLOWS = [('error', EIO), ('error', ENOSPC), ('no_sync', EIO), ('short', 0), ('kill', 0), ('killed', 0),
         ('torn', 0)]


def strike(town, dice):
    """The disk fails for a while, or the process dies at one of its calls."""
    kind, number = dice.choice(BLOWS)
    times = dice.choice([1, 2, 5, FOREVER])
    time.sleep(dice.random() * 0.15)
    town.machine.arm(kind, dice.randrange(1, 40), times, number)
    time.sleep(dice.random() * 0.4)
    town.bring_up()


@needs_machine
def test_a_disk_that_fails(start_gate, tmp_path):
    # Shows the same where the disk fails, or the process dies, between and in its writes.
    rounds(start_gate, tmp_path, 3, 5, strike, Machine(tmp_path, tmp_path / 'data'))


@needs_machine
@pytest.mark.long
def test_a_disk_that_fails_often(start_gate, tmp_path):
    # Shows the same many times more.
    rounds(start_gate, tmp_path, 4, 80, strike, Machine(tmp_path, tmp_path / 'data'))


FINDABLE = {'service': Telling, 'town': Waiting, 'rules': findable}


@needs_machine
def test_what_the_gate_can_find_out_ends_by_itself(start_gate, tmp_path):
    # Shows that with a service that knows a key, or can be asked, each comes to its end with nobody
    # deciding anything, once, one at a time, over kills and a disk that fails.
    rounds(start_gate, tmp_path, 5, 3, strike, Machine(tmp_path, tmp_path / 'data'), **FINDABLE)


@needs_machine
@pytest.mark.long
def test_what_the_gate_can_find_out_often(start_gate, tmp_path):
    # Shows the same many times more.
    rounds(start_gate, tmp_path, 6, 40, strike, Machine(tmp_path, tmp_path / 'data'), **FINDABLE)
