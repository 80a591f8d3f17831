"""Whose an operation is, and what it asks for: the audit log says the same of its claim and of its end."""
import pytest

from harness.rules import needed, ruled
from harness.upstream import Upstream
from test_audit import close, shown
from test_audit_crash import compare

SUBJECT = ('account', 'token', 'fingerprint', 'action', 'method', 'path')
FIELDS = {'number': needed(), 'note': {'type': 'string'}}
ACTIONS = {'make': {'route': 'POST /make/{book}', 'fields': FIELDS},
           'once': {'route': 'POST /once/{book}', 'fields': FIELDS, 'unique': {'by': ['book', 'number']}}}


@pytest.fixture
def closed():
    """An upstream whose port refuses connections until it listens."""
    server = Upstream(listening=False)
    yield server
    server.stop()


@pytest.fixture
def gate(start_gate, closed):
    return start_gate(None, ruled(closed, ACTIONS))


def one_subject(gate, operation, entries):
    """All entries of an operation say of it what the first says."""
    found = shown(gate, '--op', operation)
    assert len(found) == entries, found
    first = {name: found[0].get(name) for name in SUBJECT}
    for entry in found[1:]:
        assert {name: entry.get(name) for name in SUBJECT} == first, entry


def test_another_spelling_of_the_path(gate, closed, number):
    # Shows that a retry that spells the path differently ends the operation under the path it has.
    first = gate.post(f'/v1/a-{number}', f'spelled-{number}')
    again = gate.post(f'/v1/%61-{number}', f'spelled-{number}')
    closed.listen()
    last = gate.post(f'/%761/a-{number}', f'spelled-{number}')
    assert (first.outcome, again.outcome, last.outcome) == ('not_sent', 'not_sent', 'created')
    assert first.operation == again.operation == last.operation
    close(gate)
    one_subject(gate, first.operation, 6)
    compare(gate)


def test_another_spelling_in_an_action(gate, closed, number):
    # Shows the same of a command whose action is declared.
    body = {'number': str(number)}
    first = gate.post(f'/make/b-{number}', f'action-{number}', json=body)
    closed.listen()
    last = gate.post(f'/make/%62-{number}', f'action-{number}', json=body)
    assert (first.outcome, last.outcome) == ('not_sent', 'created')
    close(gate)
    one_subject(gate, first.operation, 4)


def test_met_by_its_identity(gate, closed, number):
    # Shows that who sends another's command, which was not sent, ends it under that one's token.
    body = {'number': str(number)}
    first = gate.post(f'/once/c-{number}', f'mine-{number}', json=body)
    closed.listen()
    last = gate.post(f'/once/%63-{number}', f'yours-{number}', json=body)
    assert (first.outcome, last.outcome) == ('not_sent', 'created')
    assert first.operation == last.operation
    close(gate)
    one_subject(gate, first.operation, 4)
