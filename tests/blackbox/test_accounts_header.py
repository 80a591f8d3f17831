"""Accounts from headers that something in front of the gate sets: believed of some, and of nobody else."""
import json

import pytest

from harness.client import assert_problem
from harness.gate import config

WHO = {'account': 'X-Account', 'agent': 'X-Agent'}


def section(trusted, **more):
    return {'from': 'header', 'header': {**WHO, 'trusted': trusted, **more}}


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return config(upstream, accounts=section(['127.0.0.0/8']))


def named(account='acme', agent='bot'):
    return [('X-Account', account), ('X-Agent', agent)]


def refused(answer, upstream, path):
    assert_problem(answer, 401, 'unauthenticated', operation=False)
    assert answer.operation is None and upstream.effects(path) == 0


def test_the_account_is_the_header(gate, upstream, path, token, account):
    # Shows that the header is the account, whatever Authorization says; that goes on to the service,
    # and so do the headers.
    first = gate.post(path, token, headers=named(), account=account)
    again = gate.post(path, token, headers=named(agent='other'), account=account + '-2')
    assert first.outcome == 'created' and again.outcome == 'replayed' and again.body == first.body
    seen = upstream.last(path)
    assert seen.get('Authorization') == account and seen.all('X-Account') == ['acme']
    assert upstream.effects(path) == 1


def test_two_accounts_share_nothing(gate, upstream, path, token):
    # Shows that another account's token is another operation, which the first cannot see.
    first, second = (gate.post(path, token, headers=named(who)) for who in ('one', 'two'))
    assert first.body != second.body and upstream.effects(path) == 2
    target = f'/.counterfoil/operations/{first.operation}'
    assert gate.get(target, headers=named('two')).status == 404
    assert gate.get(target, headers=named('one')).status == 200


@pytest.mark.parametrize('headers', [
    [], [('X-Account', 'acme')], [('X-Agent', 'bot')], named(account=''), named(agent=''), named('x' * 256),
    named() + [('X-Account', 'acme')], named() + [('x-agent', 'another')],
], ids=['none', 'no agent', 'no account', 'empty', 'empty agent', 'long', 'twice', 'agent twice'])
def test_who_is_not_named_is_refused(gate, upstream, path, token, headers):
    # Shows that a trusted proxy that names nobody, or two, is refused, and nothing is sent.
    refused(gate.post(path, token, headers=headers), upstream, path)


def test_nobody_else_is_believed(start_gate, upstream, path, token):
    # Shows that from an address that is not trusted each request is refused, headers or not, the
    # status resource too.
    gate = start_gate(upstream, config(upstream, accounts=section(['10.0.0.0/8', '127.0.0.2'])))
    refused(gate.post(path, token, headers=named()), upstream, path)
    refused(gate.post(path, token), upstream, path)
    assert_problem(gate.get('/.counterfoil/operations', headers=named()), 401, 'unauthenticated', operation=False)


def test_what_is_not_asked_who_it_is_brings_no_false_headers(start_gate, upstream, path):
    # Shows that what passes without an account (if anything does) reaches the service without the
    # headers of one whom nobody made sure of, in whatever spelling.
    gate = start_gate(upstream, config(upstream, accounts=section(['10.0.0.0/8'])))
    gate.get(path, headers=named() + [('x_account', 'acme'), ('X_AGENT', 'bot')])
    for seen in upstream.seen(path):
        assert not [n for n, _ in seen.headers if n.lower().replace('_', '-') in ('x-account', 'x-agent')]


def test_an_agent_need_not_be_named(start_gate, upstream, path, token):
    # Shows that without accounts.header.agent the account is enough.
    gate = start_gate(upstream, config(upstream, accounts={
        'from': 'header', 'header': {'account': 'X-Account', 'trusted': ['127.0.0.1']}}))
    assert gate.post(path, token, headers=[('X-Account', 'acme')]).outcome == 'created'
    assert upstream.effects(path) == 1


def test_the_operation_names_its_agent(gate, path, token):
    # Shows that the agent of each attempt is kept with it.
    first = gate.post(path, token, headers=named(agent='builder'))
    shown = gate.get(f'/.counterfoil/operations/{first.operation}', headers=named()).json()
    assert [a['agent'] for a in shown['attempts']] == ['builder']
