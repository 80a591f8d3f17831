"""What the tests of actions' rules share: configurations, services that notice, and patience.

Effects are counted where they happen. `Exclusive` is a service that notices when two are inside
it at once, `Honouring` one that knows its callers by a key, `Directory` one that can be asked
what it has done.
"""
import concurrent.futures
import json
import threading
import time

from .client import Closed
from .gate import command
from .upstream import answer, behaviour

MEDIA = [('Content-Type', 'application/json')]


def ruled(upstream, actions, **sections):
    """A configuration with these actions, as text: JSON, which YAML has in it."""
    default = upstream if isinstance(upstream, dict) else {'url': getattr(upstream, 'url', upstream)}
    return json.dumps({'upstreams': {'default': default}, 'actions': actions, **sections}, indent=1)


def text(**more):
    return {'type': 'string', **more}


def needed(**more):
    return text(required=True, **more)


def money():
    return {'amount': {'type': 'money', 'currency': 'currency', 'required': True, 'minimum': 1},
            'currency': needed()}


def said(value, status=200, works=True):
    """An answer with this JSON."""
    return answer(status, headers=MEDIA, body=json.dumps(value).encode(), works=works)


def at_once(count, function):
    """function(0 … count - 1), all at the same time; results in their order."""
    gate = threading.Barrier(count)

    def run(n):
        gate.wait(30)
        return function(n)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def eventually(look, seconds=15, what='it'):
    """The first true thing that look() gives."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f'{what} never came about'
        time.sleep(0.02)


def told(gate, path, token, **options):
    """A POST whose gate may die meanwhile: the answer, or None."""
    try:
        return gate.post(path, token, **options)
    except (Closed, OSError, TimeoutError):
        return None


def op(gate, *arguments):
    return command('op', *arguments, '--data', gate.data)


def op_json(gate, *arguments):
    done = op(gate, *arguments, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def resolve(gate, id, side, *more):
    done = op(gate, 'resolve', id, f'--{side}', '--why', 'the test says so', *more)
    assert done.returncode == 0, done.stderr


def operations(gate, account=None, **query):
    """All operations of an account, over all pages."""
    found, cursor = [], None
    for _ in range(1000):
        asked = '&'.join(f'{n}={v}' for n, v in {**query, 'limit': 100, 'cursor': cursor}.items() if v)
        page = gate.get(f'/.counterfoil/operations?{asked}', account=account).json()
        found += page['operations']
        cursor = page.get('next')
        if not cursor:
            return found
    raise AssertionError('the list never ends')


def notes(document, by=None):
    return [a.get('note') for a in document['attempts'] if by is None or a.get('by') == by]


class Exclusive:
    """A service that takes its time, and notices when two are inside it at once."""

    def __init__(self, name, seconds=0.01):
        self.name, self.seconds = name, seconds
        self.lock, self.inside, self.most = threading.Lock(), 0, 0
        self.order, self.fences = [], []
        self.behaviour = behaviour(lambda ex: self._act(ex))

    def _act(self, ex):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.order.append(ex.request.json()[self.name])
            self.fences.append(ex.request.get('X-Fence'))
        try:
            ex.wait(self.seconds)
        finally:
            with self.lock:
                self.inside -= 1
        answer(201)(ex)

    def assert_alone(self):
        assert self.most == 1, f'{self.most} at once: {self.order}'


class Honouring:
    """A service that knows a writer by a key: the same one again is the same effect.

    `key(seen)` is the key of a request; `faults` are behaviours for the next ones, which come
    after the work is done, but for those that do none.
    """

    def __init__(self, key=lambda seen: seen.get('Idempotency-Key')):
        self.key, self.lock = key, threading.Lock()
        self.made, self.resent, self.faults = {}, 0, []
        self.behaviour = behaviour(lambda ex: self._act(ex))

    def _act(self, ex):
        key = self.key(ex.request)
        with self.lock:
            fault = self.faults.pop(0) if self.faults else None
            if fault is None or fault.works:
                if key in self.made:
                    self.resent += 1
                else:
                    self.made[key] = {'id': f'made_{len(self.made) + 1}', 'key': key,
                                      'body': ex.request.json()}
            made = self.made.get(key)
        if fault is not None:
            fault(ex)
        else:
            said(made, 201)(ex)

    def bodies(self):
        with self.lock:
            return [made['body'] for made in self.made.values()]


class Directory:
    """A naive service that can be asked: every request it works on is kept under its name.

    `faults` as of Honouring. GET ?NAME= lists what there is.
    """

    def __init__(self, name):
        self.name, self.lock = name, threading.Lock()
        self.made, self.faults = [], []
        self.writes = behaviour(lambda ex: self._write(ex))
        self.asks = behaviour(lambda ex: self._ask(ex), works=False)

    def _write(self, ex):
        with self.lock:
            fault = self.faults.pop(0) if self.faults else None
            made = None
            if fault is None or fault.works:
                made = {'id': f'made_{len(self.made) + 1}', self.name: ex.request.json()[self.name]}
                self.made.append(made)
        if fault is not None:
            fault(ex)
        else:
            said(made, 201)(ex)

    def _ask(self, ex):
        wanted = ex.request.target.rpartition(f'{self.name}=')[2]
        with self.lock:
            found = [made for made in self.made if made[self.name] == wanted]
        said({'data': found})(ex)

    def count(self, name):
        with self.lock:
            return sum(1 for made in self.made if made[self.name] == name)
