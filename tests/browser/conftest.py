"""What browser tests share: a headless Chromium, and a gate with questions in front of a service.

Screenshots go to the folder COUNTERFOIL_ARTEFACTS names, by default one beside the program.
"""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'blackbox'))

from harness.gate import BINARY, Gate       # noqa: E402
from harness.rules import money, needed, ruled, text   # noqa: E402
from harness.upstream import Upstream       # noqa: E402

from page import Page, start_browser        # noqa: E402

FIELDS = {'amount': {'type': 'money', 'currency': 'currency', 'unit': 'major', 'required': True}, 'currency': needed(),
          'payment_id': needed(), 'note': text()}
ACTIONS = {
    'refunds.create': {
        'route': 'POST /v1/refunds', 'fields': FIELDS, 'summary': 'Refund {amount} of payment {payment_id}',
        'approval': {'when': 'always', 'expires': '30m', 'class': 'money', 'reversible': False,
                     'consequence': 'Pays the money back to the customer. It cannot be called back.'}},
    'flags.set': {
        'route': 'POST /v1/flags', 'fields': {'flag': needed(), 'value': needed()}, 'summary': 'Set {flag} to {value}',
        'approval': {'when': 'always', 'expires': '2s', 'reversible': True, 'consequence': 'Everybody sees the change at once.'}},
    'payments.create': {'route': 'POST /v1/payments', 'fields': money(),
                        'opens_budget': {'id': 'response/id', 'amount': 'amount'}, 'response': {'reference': '/id'}},
    'deploy': {'route': 'POST /v1/deployments', 'fields': {'service': needed()}, 'lock': {'on': ['service']}},
    'tickets.create': {'route': 'POST /v1/tickets', 'fields': {'title': needed()}},
}


@pytest.fixture(scope='session', autouse=True)
def binary():
    if not BINARY.is_file():
        pytest.exit(f'{BINARY} is not there: build it, or name it in COUNTERFOIL_BINARY', returncode=2)


@pytest.fixture(scope='session')
def artefacts():
    folder = pathlib.Path(os.environ.get('COUNTERFOIL_ARTEFACTS') or BINARY.parent / 'artefacts')
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope='session')
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp('chromium'))
    yield driver
    driver.quit()


@pytest.fixture
def upstream():
    server = Upstream()
    yield server
    server.stop()


@pytest.fixture
def gate(upstream, tmp_path):
    running = Gate(tmp_path / 'gate', None, ruled(upstream, ACTIONS, outbox={'first_pause': '50ms'})).start()
    yield running
    running.stop()


@pytest.fixture
def page(browser, gate, artefacts):
    """A page of the gate's, with nobody signed in."""
    shown = Page(browser, gate, artefacts)
    shown.forget()
    yield shown
    shown.check_console()
    shown.leave()
