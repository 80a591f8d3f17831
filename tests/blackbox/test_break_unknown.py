"""Everybody at once on operations of which nobody knows: callers, the gate's own hands, a person.

The service works on after its caller has given up, shows late what it has done, drops answers and
says that it is busy; all of it within what the probe's `settle` allows. One intention has one
effect at most, and what was told of it is true.
"""
import random
import threading
import time

import pytest

from harness.client import Closed
from harness.rules import at_once, needed, op, operations, ruled, said
from harness.upstream import Gone, answer, behaviour

FIELDS = {'name': needed(), 'line': {'type': 'string', 'default': 'one'}}
TIMEOUT, LATEST, LAG, SETTLE = 0.3, 0.6, 0.2, 1.0


class Late:
    """A naive service. An effect comes up to LATEST seconds after its request, and is seen LAG later."""

    def __init__(self, dice):
        self.dice, self.lock = dice, threading.Lock()
        self.effects, self.sendings, self.is_kind = {}, {}, False
        self.writes, self.asks = behaviour(lambda ex: self._write(ex)), behaviour(lambda ex: self._ask(ex))

    def _luck(self):
        with self.lock:
            return 'well' if self.is_kind else self.dice.choice(
                ['well', 'drop', 'late', 'late', 'nothing', 'busy', 'broken', 'broken but done'])

    def _work(self, name, at):
        with self.lock:
            self.effects.setdefault(name, []).append(at)

    def _write(self, ex):
        name, luck = ex.request.json()['name'], self._luck()
        with self.lock:
            self.sendings[name] = self.sendings.get(name, 0) + 1
            late = self.dice.uniform(TIMEOUT, LATEST)
        if luck == 'busy':
            return answer(503, works=False)(ex)
        if luck == 'late':
            threading.Timer(late, self._work, (name, time.monotonic() + late)).start()
        elif luck not in ('nothing', 'broken'):
            self._work(name, time.monotonic())
        if luck in ('drop', 'nothing'):
            return ex.close()
        if luck.startswith('broken'):
            return answer(500)(ex)
        if luck == 'late':
            try:
                ex.wait(LATEST * 2)
            except Gone:
                pass
            return ex.close()
        return said({'id': name, 'name': name}, 201)(ex)

    def _ask(self, ex):
        name, now = ex.request.target.rpartition('name=')[2], time.monotonic()
        with self.lock:
            seen = [at for at in self.effects.get(name, []) if at + LAG <= now]
            luck = 'well' if self.is_kind else self.dice.choice(['well', 'well', 'broken', 'drop', 'slow'])
        if luck == 'broken':
            return answer(500)(ex)
        if luck == 'drop':
            return ex.close()
        if luck == 'slow':
            ex.wait(0.15)
        return said({'data': [{'id': name, 'name': name} for _ in seen]})(ex)

    def count(self, name):
        with self.lock:
            return len(self.effects.get(name, []))


def settings(upstream):
    probe = {'get': '/v1/find?name={name}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
             'absent': {'status': 200, 'empty': '/data'}, 'settle': f'{int(SETTLE * 1000)}ms', 'every': '100ms',
             'timeout': '400ms'}
    base = {'fields': FIELDS, 'probe': probe, 'timeout': f'{int(TIMEOUT * 1000)}ms'}
    return ruled(upstream, {
        'plain.create': {'route': 'POST /v1/plain', **base},
        'jobs.create': {'route': 'POST /v1/jobs', **base, 'dispatch': 'outbox'},
        'lines.create': {'route': 'POST /v1/lines', **base, 'lock': {'on': ['line'], 'held': 'queue'}},
        'once.create': {'route': 'POST /v1/once', **base, 'unique': {'by': ['name'], 'for': '1h'}},
        'looks.create': {'route': 'POST /v1/looks', **base, 'unique': {'by': ['name'], 'for': '1h'},
                         'lookup': {n: probe[n] for n in ('get', 'found', 'absent', 'timeout')}},
    }, outbox={'first_pause': '20ms', 'max_pause': '100ms', 'attempts': 1000})


KINDS = ['plain', 'jobs', 'lines', 'once', 'looks']


class Storm:
    def __init__(self, gate, service, token, account, dice):
        self.gate, self.service, self.token, self.account, self.dice = gate, service, token, account, dice
        self.done, self.stop_at = {}, 0

    def post(self, kind, name, suffix='', wait=None):
        wish = {'Prefer': f'wait={wait}'} if wait else {}
        try:
            return self.gate.post(f'/v1/{kind}', f'{self.token}~{name}{suffix}', account=self.account,
                                  json={'name': name}, headers=wish, timeout=20)
        except (Closed, OSError, TimeoutError):
            return None

    def heed(self, kind, name, response):
        """What was told must be true: a success is an effect, and all are told of the same one."""
        if response is not None and response.status == 201:
            assert response.state == 'completed', response
            assert response.json()['name'] == name
            self.done[name] = True

    @staticmethod
    def is_done(response):
        """What a person closed has no answer to tell."""
        return response is not None and (response.status == 201 or response.slug == 'response-not-retained')

    def client(self, n, kind, name):
        suffix = f'~{n}' if kind in ('once', 'looks') and n else ''
        while time.monotonic() < self.stop_at:
            wait = self.dice.choice([None, None, 1])
            if self.dice.random() < 0.15:
                with self.gate.connect() as gone:
                    gone.send(b'POST /v1/%s HTTP/1.1\r\nHost: x\r\n' % kind.encode())
            self.heed(kind, name, self.post(kind, name, suffix, wait))
            time.sleep(self.dice.random() * 0.2)

    def person(self, *words):
        """Looks for longer than anything can still happen, then says what is true."""
        while time.monotonic() < self.stop_at:
            for one in operations(self.gate, self.account, state='unknown'):
                name = one['token'].split('~')[1]
                time.sleep(LATEST + LAG)
                shown = self.gate.operation(one['id'], self.account)
                if (shown['state'], shown['epoch']) != ('unknown', one['epoch']):
                    continue
                said = ['--happened'] if self.service.count(name) else ['--did-not', *words]
                op(self.gate, 'resolve', one['id'], *said, '--why', 'looked')
            time.sleep(0.1)

    def run(self, names, seconds, callers=3):
        self.stop_at = time.monotonic() + seconds
        tasks = [lambda k=kind, m=name, i=n: self.client(i, k, m)
                 for kind, name in names for n in range(callers)]
        tasks.append(self.person)
        at_once(len(tasks), lambda n: tasks[n]())
        self.service.is_kind = True
        time.sleep(LATEST)
        for kind, name in names:
            deadline = time.monotonic() + 30
            while not self.is_done(last := self.post(kind, name, wait=5)):
                assert time.monotonic() < deadline, (kind, name, last, self.service.count(name))
                time.sleep(0.1)
            self.heed(kind, name, last)
        counts = {name: self.service.count(name) for _, name in names}
        assert set(counts.values()) == {1}, counts


@pytest.mark.parametrize('seed', [1])
def test_everybody_at_once(start_gate, upstream, token, account, seed):
    # Shows that with callers, dispatcher, reconciler and a person on the same unknown operations, of a
    # service that acts late and is seen late, each intention has one effect.
    dice = random.Random(seed)
    service = Late(dice)
    gate = start_gate(config=settings(upstream))
    for kind in KINDS:
        upstream.always(f'/v1/{kind}', service.writes)
    upstream.always('/v1/find', service.asks)
    storm = Storm(gate, service, token, account, dice)
    storm.run([(kind, f'{kind}-{n}') for kind in KINDS for n in range(3)], 3)


class Agent:
    """Does one thing, and knows nothing but `retry` of what it is told."""

    def __init__(self, storm, kind, name):
        self.storm, self.kind, self.name, self.number, self.retry_of = storm, kind, name, 0, None
        self.status_url = None

    def send(self):
        storm = self.storm
        headers = {'Counterfoil-Retry-Of': self.retry_of} if self.retry_of else {}
        try:
            return storm.gate.post(f'/v1/{self.kind}', f'{storm.token}~{self.name}~{self.number}', timeout=20,
                                   account=storm.account, json={'name': self.name}, headers=headers)
        except (Closed, OSError, TimeoutError):
            return None

    def heed(self, response):
        """True: it is done. What no advice comes with is the service's own answer."""
        if response is None:
            return False
        document = response.json() if 'json' in (response.get('Content-Type') or '') else {}
        retry = document.get('retry')
        if self.storm.is_done(response):
            return True
        assert retry, response
        advice = retry['advice']
        assert advice in ('wait', 'same_key', 'query', 'new_key'), response
        if advice == 'query':
            url = document['operation']['status_url']
            shown = self.storm.gate.get(url, account=self.storm.account).json()
            advice = shown['retry']['advice']
            assert advice in ('wait', 'same_key', 'query', 'new_key', 'stop'), shown
        if advice == 'new_key':
            self.number += 1
            self.retry_of = response.operation
        return False

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.heed(self.send()):
                return True
            time.sleep(self.storm.dice.random() * 0.2)
        return False


def test_agents_that_follow_advice(start_gate, upstream, token, account):
    # Shows that agents which do what `retry.advice` says and nothing else, new tokens included, have one
    # effect each, while a person closes some of what is unknown for good.
    dice = random.Random(7)
    service = Late(dice)
    gate = start_gate(config=settings(upstream))
    for kind in KINDS:
        upstream.always(f'/v1/{kind}', service.writes)
    upstream.always('/v1/find', service.asks)
    storm = Storm(gate, service, token, account, dice)
    agents = [Agent(storm, kind, f'{kind}-{n}') for kind in KINDS for n in range(4)]
    storm.stop_at = time.monotonic() + 4
    threading.Timer(3, lambda: setattr(service, 'is_kind', True)).start()
    tasks = [lambda a=agent: a.run(25) for agent in agents] + [lambda: storm.person('--no-retry')]
    done = at_once(len(tasks), lambda n: tasks[n]())[:-1]
    assert all(done), [(a.name, a.number) for a, is_done in zip(agents, done) if not is_done]
    time.sleep(LATEST)
    counts = {agent.name: service.count(agent.name) for agent in agents}
    assert set(counts.values()) == {1}, counts
