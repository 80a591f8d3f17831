"""docs/guide/actions.md and examples/actions.yaml: what they show is what the gate does."""
import json
import pathlib
import re
import subprocess

import pytest

from harness.client import Connection, assert_problem
from harness.gate import BINARY, ROOT, command
from harness.rules import eventually

GUIDE = (ROOT / 'docs' / 'guide' / 'actions.md').read_text()
EXAMPLE = (ROOT / 'examples' / 'actions.yaml').read_text()
BLOCKS = re.findall(r'^```yaml config\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL)
COMMIT = '4dd86a84c0ffee4dd86a84c0ffee4dd86a84c0ff'
JSON = [('Content-Type', 'application/json')]


@pytest.fixture
def sandbox():
    """The practice API on a free port; gives that."""
    process = subprocess.Popen([BINARY, 'sandbox', '--listen', '127.0.0.1:0'], stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL)
    yield int(re.search(rb'http://127\.0\.0\.1:(\d+)', process.stdout.readline())[1])
    process.terminate()
    assert process.wait(10) == 0
    process.stdout.close()


def effects(port):
    with Connection(port) as connection:
        return connection.request('GET', '/effects').json()['kinds']


@pytest.mark.parametrize('number', range(len(BLOCKS)))
def test_configurations_of_the_guide(tmp_path, number):
    # Shows that each configuration of the guide passes `config check`.
    assert len(BLOCKS) >= 3
    file = tmp_path / 'gate.yaml'
    file.write_text(BLOCKS[number])
    done = command('config', 'check', file)
    assert done.returncode == 0, done.stderr


def test_links_of_the_guide():
    # Shows that what the guide leads to is there.
    targets = re.findall(r'\]\(([^)#:]+)\)', GUIDE)
    assert targets and all((ROOT / 'docs' / 'guide' / target).exists() for target in targets)


def test_what_the_guide_says_of_money(start_gate, upstream, token):
    # Shows that the amounts the guide names as refused are, and those it calls the same are.
    text = next(b for b in BLOCKS if 'unit: major' in b).replace('https://pay.example.test', upstream.url)
    gate = start_gate(upstream, text)
    wrong = ['{"amount": "5.50", "currency": "JPY"}', '{"amount": "49.001", "currency": "USD"}',
             '{"amount": 0.30000000000000004, "currency": "USD"}', '{"amount": "1,000.00", "currency": "USD"}',
             '{"amount": "1", "currency": "ZZZ"}']
    for body in wrong:
        refused = gate.post('/v1/payments', token, body=body.encode(), headers=JSON)
        problem = assert_problem(refused, 422, 'command-invalid', 'fix', operation=False)
        assert {e['pointer'] for e in problem['errors']} <= {'/amount', '/currency'}
    first = gate.post('/v1/payments', token, json={'amount': 49, 'currency': 'USD'})
    second = gate.post('/v1/payments', token, json={'amount': '49.00', 'currency': 'usd'})
    assert (first.outcome, second.outcome) == ('created', 'replayed')
    assert upstream.effects('/v1/payments') == 1


def test_the_example(start_gate, sandbox, token):
    # Shows that the example passes its check, and that each of its actions works on the practice API.
    text = EXAMPLE.replace('127.0.0.1:9000', f'127.0.0.1:{sandbox}')
    assert text.count(str(sandbox)) == 2
    gate = start_gate(None, text)
    names = {a['name'] for a in gate.get('/.counterfoil/actions').json()['actions']}
    assert names == {'tickets.create', 'payments.create', 'refunds.create', 'deployments.create', 'orders.put'}

    def twice(target, first, second, key):
        answers = [gate.post(target, key, json=body) for body in (first, second)]
        assert [a.outcome for a in answers] == ['created', 'replayed'], answers
        assert answers[0].status == 201 and answers[0].body == answers[1].body
        return answers[0].json()

    ticket = {'project': 'apollo', 'title': 'Valve sticks'}
    twice('/v1/tickets', ticket, {**ticket, 'priority': 'normal'}, token + '1')
    payment = {'amount': 4900, 'currency': 'USD', 'invoice_id': 'INV-1'}
    paid = twice('/v1/payments', payment, {**payment, 'amount': '4900', 'currency': 'usd'}, token + '2')
    refund = {'payment_id': paid['id'], 'amount': 900, 'currency': 'USD', 'request_id': token + '3'}
    twice('/v1/refunds', refund, {**refund, 'amount': 900.0}, None)
    deployment = {'environment': 'staging', 'service': 'shop', 'artifact': COMMIT}
    twice('/v1/deployments', deployment, {**deployment, 'artifact': COMMIT.upper()}, token + '4')
    for tag in ('main', 'shop:latest', 'v1.2', COMMIT[:8]):
        refused = gate.post('/v1/deployments', token + '5', json={**deployment, 'artifact': tag})
        assert_problem(refused, 422, 'reference-mutable', operation=False)
    assert gate.request('PUT', '/v1/orders/7', json={'item': 'lamp'}).status in (200, 201)
    counted = effects(sandbox)
    assert {kind: counted[kind] for kind in ('tickets', 'payments', 'refunds', 'deployments')} == \
        {'tickets': 1, 'payments': 1, 'refunds': 1, 'deployments': 1}


def test_a_changed_action_as_the_guide_has_it(start_gate, upstream, token):
    # Shows what the guide says of operations that are older than their action's fields.
    def fields(text, name='one'):
        return (f'upstreams: {{default: {{url: "{upstream.url}"}}}}\n'
                f'actions: {{{name}: {{route: POST /v1/changing, summary: {json.dumps(text)}, fields: {{{text}}}}}}}\n'
                .replace('summary: ' + json.dumps(text), 'summary: ' + json.dumps(f'{len(text)}{name}')))

    def reloaded(text, name='one'):
        gate.reload(fields(text, name))
        eventually(lambda: gate.get('/.counterfoil/actions').json()['actions'][0]['summary'] ==
                   f'{len(text)}{name}', what='the new configuration')
        return gate.post('/v1/changing', token, json={'title': 'x'})

    gate = start_gate(upstream, fields('title: {type: string}'))
    assert gate.post('/v1/changing', token, json={'title': 'x'}).outcome == 'created'
    assert reloaded('title: {type: string, max_length: 9}').outcome == 'replayed'
    assert reloaded('title: {type: string}, more: {type: string}').outcome == 'replayed'
    assert reloaded('title: {type: string}, more: {type: string, default: a}').slug == 'key-reused'
    assert reloaded('title: {type: string}', 'two').slug == 'key-reused'
    assert upstream.effects('/v1/changing') == 1
