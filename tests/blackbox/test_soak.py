"""A soak: an unreliable service, impatient clients, reloads, an operator, a purge, for minutes.

SOAK_SECONDS says how long it lasts, 90 by default. Under a sanitizer the gate's end is the verdict
on its memory; without one its size is looked at.
"""
import collections
import contextlib
import json
import os
import random
import threading
import time

import pytest

from harness.client import Closed, Connection, build
from harness.gate import config, is_sanitized
from harness.upstream import (Upstream, answer, behaviour, chunks, delayed, drop, half, hang, raw,
                              reset, reset_at_head)

SECONDS = int(os.environ.get('SOAK_SECONDS', '90'))
CLIENTS = 60
TOKEN = 'token-of-the-soak'       # the beginning of all of them: none may be in the log
ACCOUNT = 'Bearer account-of-the-soak'
MIB = 1 << 20


class Service(Upstream):
    """Counts effects by path, of which each operation has its own, and keeps nothing else."""

    def forget(self):
        super().forget()
        self.counts, self.twice = collections.Counter(), []

    def _note(self, request, behaviour):
        if request.method == 'GET' or not getattr(behaviour, 'works', True):
            return
        with self.lock:
            self.counts[request.path] += 1
            if self.counts[request.path] > 1:
                self.twice.append(request.path)

    def _pick(self, request):
        return random.choices(KINDS, WEIGHTS)[0]

    def _spawn(self, function, *args):
        super()._spawn(function, *args)
        self.threads = [t for t in self.threads[-400:] if t.is_alive()]


def named(status=201, size=0, keep=True):
    """An answer that says which path it is about."""
    def act(ex):
        body = json.dumps({'path': ex.request.path, 'fill': 'x' * size}).encode()
        answer(status, [('Content-Type', 'application/json')], body, keep=keep)(ex)
    return behaviour(act)


FAULTS = [
    (60, named()), (4, named(422)), (1, named(500)), (3, named(keep=False)), (2, named(size=200_000)),
    (4, answer(429, [('Retry-After', '0')], b'', works=False)), (2, answer(503, (), b'')),
    (1, drop()), (1, reset()), (1, reset_at_head()), (1, half()), (0.5, half(framing='chunked')),
    (0.5, half(framing='head')), (6, delayed(0.05, named())), (2, delayed(0.3, named())),
    (0.5, delayed(1.2, named())), (0.1, hang()), (0.5, raw(b'HTTP/1.1 101 No\r\n\r\nno')),
    (0.5, raw(b'')), (2, chunks(b'{"path"', b': 1}', status=201, trailers=b'X-Late: 1\r\n')),
]
WEIGHTS, KINDS = [w for w, _ in FAULTS], [k for _, k in FAULTS]


class Soak:
    def __init__(self, gate, service):
        self.gate, self.service = gate, service
        self.is_over = threading.Event()
        self.numbers, self.recent = 0, collections.deque(maxlen=200)
        self.lock = threading.Lock()
        self.told, self.wrong, self.sizes = collections.Counter(), [], []
        self.log_peak = 0

    def run(self, seconds):
        work = [self.client] * CLIENTS + [self.reload, self.operate, self.measure]
        threads = [threading.Thread(target=self.keep, args=(each,), daemon=True) for each in work]
        for thread in threads:
            thread.start()
        self.is_over.wait(seconds)
        self.is_over.set()
        for thread in threads:
            thread.join(30)
        assert not any(t.is_alive() for t in threads)

    def keep(self, work):
        while not self.is_over.is_set():
            try:
                work()
            except (Closed, OSError):
                self.told['gone'] += 1
            except Exception as broken:   # an assertion: the soak is over, and has failed
                self.wrong.append(repr(broken))
                self.is_over.set()
        assert self.gate.is_running, self.gate.tail()

    # -- clients ---------------------------------------------------------------------

    def target(self):
        """Often one that others have just used too, or an old one."""
        with self.lock:
            kind = random.random()
            if self.recent and kind < 0.5:
                return random.choice(self.recent)
            if self.recent and kind < 0.6:
                return random.randint(1, self.numbers)
            self.numbers += 1
            self.recent.append(self.numbers)
            return self.numbers

    def client(self):
        with self.gate.connect(timeout=20) as connection:
            for _ in range(random.randint(1, 12)):
                if self.is_over.is_set() or not self.one(connection, self.target()):
                    return

    def one(self, connection, number):
        path = f'/soak/{number}'
        kind = random.random()
        lines = [('Idempotency-Key', f'{TOKEN}-{number}'), ('Authorization', ACCOUNT)]
        if kind < 0.2:
            lines.append(('Prefer', f'wait={random.randint(1, 3)}'))
        body = json.dumps({'n': number, 'fill': 'y' * (number % 50) * 400}).encode()
        if kind > 0.92:     # go away, in the middle of saying or of hearing
            data = build('POST', path, lines, body)
            connection.send(data if kind > 0.96 else data[:random.randrange(len(data))])
            self.is_over.wait(random.random() * 0.02)
            connection.abort()
            return False
        if kind > 0.88:
            assert connection.request('GET', path).status in (200, 201, 422, 429, 500, 502, 503, 504)
            return True
        return self.judge(number, connection.request('POST', path, lines, body), connection)

    def judge(self, number, response, connection):
        with self.lock:
            self.told[response.outcome or response.slug] += 1
        slug = response.slug
        assert slug not in ('key-reused', 'internal') and response.status != 507, response
        if not slug and response.body.startswith(b'{"path": "'):
            assert response.json()['path'] == f'/soak/{number}', response
        if response.operation and random.random() < 0.05:
            wait = random.choice(['', '?wait=1'])
            looked = connection.request('GET', f'/.counterfoil/operations/{response.operation}{wait}',
                                        [('Authorization', ACCOUNT)])
            assert looked.status in (200, 404), looked
        return (response.get('Connection') or '') != 'close'

    # -- around them -----------------------------------------------------------------

    def reload(self):
        self.is_over.wait(2)
        self.gate.reload(settings(self.service, log={'requests': random.random() < 0.1},
                                  limits={'max_response': random.choice(['64KiB', '1MiB'])}))

    def ask(self, method, target, body=None):
        key = (self.gate.data / 'admin-token').read_text().strip()
        lines = [('Authorization', 'Bearer ' + key)]
        with Connection(self.gate.admin_port) as connection:
            return connection.request(method, target, lines, body)

    def unknown(self):
        """All of them, newest first."""
        cursor = ''
        while cursor is not None:
            listed = self.ask('GET', f'/api/operations?state=unknown&limit=200{cursor}')
            assert listed.status == 200, listed
            yield from listed.json()['operations']
            cursor = listed.json().get('next') and '&cursor=' + listed.json()['next']

    def operate(self):
        """Resolve what has been unknown for so long that nothing of it is on its way any more."""
        self.is_over.wait(0.5)
        since = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(time.time() - 4))
        for operation in self.unknown():
            if self.is_over.is_set() or operation['updated'] > since:
                continue
            happened = self.service.counts[operation['path']] > 0
            document = {'happened': happened, 'retry': random.random() < 0.7, 'why': 'counted'}
            done = self.ask('POST', f'/api/operations/{operation["id"]}/resolve',
                            json.dumps(document).encode())
            assert done.status in (200, 404, 409), done
            self.told['resolved'] += done.status == 200

    def measure(self):
        self.is_over.wait(1)
        assert not self.service.twice, self.service.twice[:10]
        with contextlib.suppress(FileNotFoundError):
            size = (self.gate.data / 'counterfoil.db-wal').stat().st_size
            self.log_peak = max(self.log_peak, size)
        self.sizes.append(self.gate.rss())
        self.gate.check_log()
        del self.gate.log[:-50]


def settings(service, **sections):
    return config({'url': service.url, 'timeout': '1s', 'max_connections': 40},
                  tokens={'retention': '2s'}, statuses={'not_sent': [429], 'unknown': [500]}, **sections)


@pytest.mark.long
def test_a_soak(start_gate):
    # Shows that under all of it at once no token has two effects, memory and the write-ahead log
    # stay within bounds, and that idle again the gate has no request, no file and no leak.
    service = Service()
    gate = start_gate(config=settings(service, log={'requests': True}))
    gate.secrets |= {TOKEN, 'account-of-the-soak'}
    files = gate.open_files()
    soak = Soak(gate, service)
    soak.run(SECONDS)
    print(dict(soak.told), soak.numbers, 'operations;', soak.log_peak >> 10, 'KiB of log;',
          [size >> 20 for size in soak.sizes[::max(1, len(soak.sizes) // 20)]], 'MiB')
    assert not soak.wrong, soak.wrong
    assert not service.twice
    assert soak.told['created'] > 5 * SECONDS and soak.told['resolved'] and soak.told['expired']
    assert soak.log_peak < 32 * MIB
    if not is_sanitized():
        quarter = len(soak.sizes) // 4
        assert max(soak.sizes[-quarter:]) < max(soak.sizes[quarter:2 * quarter]) + 6 * MIB
    is_idle(gate, service, files)
    service.stop()
    gate.terminate()
    assert gate.wait_exit() == 0


def is_idle(gate, service, files):
    """A reload gives back the connections to the service that were kept for the next call."""
    deadline = time.monotonic() + 15
    while b'counterfoil_requests_open 0\n' not in gate.operator('/metrics').body:
        assert time.monotonic() < deadline, 'requests that do not end'
        time.sleep(0.2)
    gate.reload(settings(service))
    while gate.open_files() > files + 1:      # the write-ahead log may have come
        assert time.monotonic() < deadline, f'{gate.open_files()} files, {files} at first'
        time.sleep(0.2)
