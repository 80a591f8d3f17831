"""approval, as an adversary and an unlucky operator would have it: effects are counted at the service."""
import json

import pytest

from harness.people import Person, cli
from harness.rules import needed, ruled, text

FIELDS = {'invoice': needed(), 'memo': text(secret=True), 'extra': {'type': 'any'}}
VALUES = 100000
QUICK = {'first_pause': '50ms', 'max_pause': '300ms', 'attempts': 1000}


def actions(fields=None, **more):
    return {'pay': {'route': 'POST /v1/pay/{book}', 'fields': fields or FIELDS,
                    'summary': 'Pay into {book}', 'approval': {'when': 'always'}, **more}}


def settings(upstream, declared=None, **sections):
    return ruled(upstream, actions() if declared is None else declared, outbox=QUICK, **sections)


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return settings(upstream)


@pytest.fixture
def path(number):
    return f'/v1/pay/{number}'


def ask(gate, path, token, account, body=None, **more):
    body = body or json.dumps({'invoice': 'i-1', **more}).encode()
    response = gate.request('POST', path, token=token, account=account, body=body, timeout=40,
                            headers=[('Content-Type', 'application/json')])
    assert response.state == 'awaiting_approval', response
    return response.operation


# -- what a person is shown ---------------------------------------------------------


@pytest.mark.parametrize('depth', [100, 125, 126, 127])
def test_depth_hides_nothing(gate, upstream, path, token, account, depth):
    # Shows that a command as deep as one may be is shown whole, and its secret ones are not.
    nested = '[' * depth + ']' * depth
    body = f'{{"invoice": "i-1", "memo": "geheim-geheim", "extra": {nested}}}'.encode()
    seen = Person(gate).see(ask(gate, path, token, account, body))
    assert 'geheim' not in json.dumps(seen)
    assert seen['summary'].startswith('Pay into “') and seen['command']['extra'] is not None, seen
    assert 'geheim' not in json.dumps(Person(gate).waiting())
    assert cli(gate, 'deny', seen['operation']['id'], '--why', 'too deep').returncode == 0


def test_size_hides_nobody(gate, upstream, number, account):
    # Shows that one who asks with as many values as fit in a body keeps nobody from looking.
    body = b'{"invoice": "i-1", "extra": [' + b'0,' * VALUES + b'0]}'
    first = ask(gate, f'/v1/pay/{number}', f'{number}-small', account)
    ids = [ask(gate, f'/v1/pay/{number}', f'{number}-{n}', account, body) for n in range(8)]
    found, cursor, somebody = [], '', Person(gate)
    while cursor is not None and first not in found:
        page = somebody.ask('/api/approvals?state=waiting&limit=200' + (cursor and '&cursor=' + cursor))
        assert page.status == 200
        found += [a['operation']['id'] for a in page.json()['approvals']]
        cursor = page.json()['next']
    assert set(ids + [first]) <= set(found)
    for id in ids:
        assert len(somebody.see(id)['command']['extra']) == VALUES + 1
        assert somebody.deny(id).status == 200
