"""Black-box tests: the built binary against the contract, from outside.

What they check is the promise, not the code: effects are counted at an upstream of our own
(harness/upstream.py), never taken from an answer. Nothing but Python's standard library and
pytest is needed; nginx and openssl are used where a test says so.

    python3 -m pytest tests/blackbox                   the default set, a few minutes
    python3 -m pytest tests/blackbox -m long           the soak set alone
    python3 -m pytest tests/blackbox --long            both
    COUNTERFOIL_BINARY=/path/to/counterfoil …          another binary; by default that of build/
    COUNTERFOIL_KEEP=1 …                               print each gate's log at its end

How it is put together:

- `upstream` is a raw HTTP/1.1 server with no idempotency, one for each file. Each request it
  has read is an effect. A test plans what happens to the requests of its own path:
  `upstream.plan(path, drop(), answer(201))`, and counts with `upstream.effects(path)`.
- `gate` is one running gate for each file, in front of that upstream, without a
  configuration file, or with the one that the file's `config_of_file` gives. A test that needs its own starts it with `start_gate(upstream, config(…))`.
  A test that makes the file's gate die fails, and the next one gets a new gate.
- `path`, `token`, `account` are fresh for each test, so that tests of one file share a gate
  without meeting each other.
- `gate.request()` is one request on one connection; `gate.connect()` gives the connection
  itself, for exact bytes, pipelining, trickling and going away.
- Every gate is searched at its end: no token and no credential it was shown may be in its
  log, and no sanitizer may have reported anything.

Configuration files are written from `config(upstream, section={…})` of harness/gate.py. A test's first line says what it shows. Waiting is always for
something that is looked at, with a limit; the few sleeps are the passing of time itself.
"""
import itertools
import os

import pytest

from harness.caller import Caller
from harness.certs import Certificates
from harness.gate import BINARY, Gate
from harness.nginx import Nginx
from harness.sandbox import Sandbox
from harness.upstream import Upstream

numbers = itertools.count(1)


def pytest_addoption(parser):
    parser.addoption('--long', action='store_true', help='run the soak tests too')


def pytest_collection_modifyitems(config, items):
    if config.getoption('--long') or config.getoption('-m'):
        return
    long = [item for item in items if item.get_closest_marker('long')]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture(scope='session', autouse=True)
def binary():
    if not BINARY.is_file():
        pytest.exit(f'{BINARY} is not there: build it, or name it in COUNTERFOIL_BINARY', returncode=2)
    return BINARY


@pytest.fixture(scope='session')
def certs(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp('certs'))


@pytest.fixture(scope='module')
def upstream():
    server = Upstream()
    yield server
    server.stop()


@pytest.fixture
def sandbox():
    """The practice API, for one test."""
    server = Sandbox()
    yield server
    server.stop()


@pytest.fixture(scope='module')
def nginx(upstream, tmp_path_factory):
    server = Nginx(tmp_path_factory.mktemp('nginx'), upstream)
    yield server
    server.stop()


@pytest.fixture(scope='module')
def config_of_file():
    """The configuration of the file's gate. None: it has no file. Test files may have their own."""
    return None


@pytest.fixture(scope='module')
def gates_of_file(upstream, tmp_path_factory, config_of_file):
    """The file's gate, and those that replaced it after a test had ended it."""
    gates = []

    def current():
        if not gates or not gates[-1].is_running:
            address = None if config_of_file else upstream
            gates.append(Gate(tmp_path_factory.mktemp('gate'), address, config_of_file).start())
        return gates[-1]

    yield current
    for each in gates:
        finish(each)


@pytest.fixture
def gate(gates_of_file):
    running = gates_of_file()
    yield running
    assert running.is_running, f'this test ended the gate: {running.tail()}'


@pytest.fixture
def start_gate(tmp_path):
    """start_gate(upstream, config=None, …): a gate of this test alone, started."""
    gates = []

    def start(upstream=None, config=None, launch_only=False, **options):
        # With a file, the upstream stands in it.
        address = None if config is not None else upstream
        one = Gate(tmp_path / f'gate{len(gates)}', address, config, **options)
        gates.append(one)
        return one.launch() if launch_only else one.start()

    yield start
    for each in gates:
        finish(each)


def finish(gate):
    gate.stop()
    if os.environ.get('COUNTERFOIL_KEEP'):
        print('\n'.join(gate.log))


@pytest.fixture
def number():
    return next(numbers)


@pytest.fixture
def path(number):
    return f'/v1/things-{number}'


@pytest.fixture
def caller(tmp_path):
    """`counterfoil call` with a journal of this test's own."""
    return Caller(tmp_path / 'agent')


@pytest.fixture
def url(gate, path):
    """This test's path, through the file's gate."""
    return f'http://127.0.0.1:{gate.port}{path}'


@pytest.fixture
def bare(upstream, path):
    """The same at the service itself, without a gate."""
    return f'http://127.0.0.1:{upstream.port}{path}'


@pytest.fixture
def token(number):
    return f'token-of-test-{number}-{os.urandom(4).hex()}'


@pytest.fixture
def account(number):
    return f'Bearer account-of-test-{number}-{os.urandom(4).hex()}'
