"""Lists of locks and budgets that are longer than a page, and whose they are."""
import concurrent.futures
import itertools
import json

import pytest

from harness.client import assert_problem
from harness.people import Person, new_key
from harness.rules import money, needed, op_json, ruled
from harness.upstream import behaviour, drop

ACTIONS = {
    'payments.create': {'route': 'POST /v1/payments', 'fields': money(), 'response': {'reference': '/id'},
                        'opens_budget': {'id': 'response/id', 'amount': 'amount'}},
    'deploy': {'route': 'POST /v1/deployments', 'fields': {'service': needed()}, 'lock': {'on': ['service']}},
    'deploy.later': {'route': 'POST /v1/later', 'fields': {'service': needed()},
                     'lock': {'on': ['service'], 'held': 'queue'}, 'dispatch': 'outbox'},
}
MANY, OF_ACME = 450, 300
LISTS = ('locks', 'budgets')


def account_of(n):
    return 'acme' if n % 3 else 'globex'


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, ACTIONS, accounts={'from': 'key'})


@pytest.fixture(scope='module')
def full(gates_of_file, upstream):
    """A gate with MANY budgets and MANY locks that are held, two of three of them acme's."""
    gate = gates_of_file()
    keys = {name: 'Bearer ' + gate.key(name, 'bot')['key'] for name in ('acme', 'globex')}
    numbers = itertools.count(1)

    def paid(exchange):
        exchange.answer(200, [('Content-Type', 'application/json')],
                        json.dumps({'id': f'pay_{next(numbers)}'}).encode())
    upstream.always('/v1/payments', behaviour(paid))
    upstream.always('/v1/deployments', drop())

    def write(n):
        account = keys[account_of(n)]
        done = gate.post('/v1/payments', f'pay-{n}', account=account, json={'amount': 100 + n, 'currency': 'EUR'})
        lost = gate.post('/v1/deployments', f'deploy-{n}', account=account, json={'service': f's-{n}'})
        return done.outcome, lost.outcome
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(write, range(MANY))) == {('created', 'unknown')}
    return gate


def pages(somebody, name, cursor=None, **query):
    """Every page of a list, or those behind `cursor`."""
    found = []
    for _ in range(MANY + 2):
        asked = '&'.join(f'{n}={v}' for n, v in {**query, 'cursor': cursor}.items() if v is not None)
        response = somebody.ask(f'/api/{name}' + (f'?{asked}' if asked else ''))
        assert response.status == 200, response
        found.append(response.json()[name])
        cursor = response.json()['next']
        if cursor is None:
            return found
    raise AssertionError('the list never ends')


def account(name, item):
    return item['account'] if name == 'locks' else item['opener']['account']


def identity(name, item):
    return item['name'] if name == 'locks' else item['opener']['id']


@pytest.mark.parametrize('name', LISTS)
def test_without_a_limit(full, name):
    # Shows that a list that is longer than a page goes on, and has each one once.
    found = pages(Person(full), name)
    assert [len(page) for page in found] == [200, 200, 50]
    assert len({(account(name, i), identity(name, i)) for page in found for i in page}) == MANY


@pytest.mark.parametrize('name', LISTS)
@pytest.mark.parametrize('limit', [1, 7, 150, 200])
def test_every_size_of_a_page(full, name, limit):
    # Shows that the pages are full but for the last, and follow one another in the order of the whole list.
    found = pages(Person(full), name, limit=limit)
    assert {len(page) for page in found[:-1]} <= {limit}
    assert sum(found, []) == sum(pages(Person(full), name), [])


def test_the_newest_budget_comes_first(full):
    # Shows that the order of budgets is that of their opening, over all pages.
    ids = [budget['opener']['id'] for page in pages(Person(full), 'budgets', limit=40) for budget in page]
    opened = [one['id'] for one in sorted((full.operator(f'/api/operations/{id}').json() for id in ids[:60]),
                                          key=lambda one: one['updated'], reverse=True)]
    assert len(set(ids)) == MANY and set(ids[:60]) == set(opened)


@pytest.mark.parametrize('name', LISTS)
@pytest.mark.parametrize('whose, count', [('acme', OF_ACME), ('globex', MANY - OF_ACME), ('initech', 0)])
@pytest.mark.parametrize('role', ['operator', 'auditor', 'approver'])
def test_one_account_sees_its_own(full, name, whose, count, role):
    # Shows that on every page whoever has a key of one account sees its own, all of them, and no others'.
    key = new_key(full, role, f'{role}-{name}', account=whose)[1]
    found = pages(Person(full, key), name, limit=70)
    assert {account(name, item) for page in found for item in page} <= {whose}
    assert len({identity(name, item) for page in found for item in page}) == count


@pytest.mark.parametrize('name', LISTS)
def test_a_cursor_of_others_opens_nothing(full, name):
    # Shows that with a cursor of somebody who sees more there is no more to see.
    key = new_key(full, 'operator', f'eve-{name}', account='globex')[1]
    for limit in (1, 99):
        cursor = full.operator(f'/api/{name}?limit={limit}').json()['next']
        found = pages(Person(full, key), name, limit=50, cursor=cursor)
        assert {account(name, item) for page in found for item in page} <= {'globex'}


@pytest.mark.parametrize('name', LISTS)
@pytest.mark.parametrize('query', ['limit=0', 'limit=201', 'limit=-1', 'limit=x', 'limit=', 'cursor=', 'cursor=x', 'cursor=op_1',
                                   'cursor=past-op_00000000000000000000000000', 'account=acme', 'before=op_1'])
def test_a_page_that_is_none(full, name, query):
    # Shows that what is no page is refused, and not taken for the first one.
    assert_problem(full.operator(f'/api/{name}?{query}'), 400, 'query-malformed', operation=False)


def test_pages_of_locks_in_a_terminal(full):
    # Shows that the command says how to go on, and goes on.
    first = op_json(full, 'locks', '--held', '--limit', '150')
    rest = op_json(full, 'locks', '--held', '--limit', '200', '--cursor', first['next'])
    last = op_json(full, 'locks', '--held', '--cursor', rest['next'])
    assert last['next'] is None
    found = [(lock['account'], lock['name']) for page in (first, rest, last) for lock in page['locks']]
    assert len(found) == len(set(found)) == MANY


def test_locks_that_change_while_they_are_paged(full, upstream):
    # Shows that one that stays as it is is seen, whatever becomes of others between two pages.
    first = full.operator('/api/locks?limit=100').json()
    for lock in first['locks'][:20]:
        done = full.operator(f'/api/operations/{lock["holder"]["id"]}/resolve', 'POST',
                             json={'happened': True, 'why': 'the test says so'})
        assert done.status == 200, done
    rest = pages(Person(full), 'locks', limit=100, cursor=first['next'])
    found = [(lock['account'], lock['name']) for page in [first['locks'], *rest] for lock in page]
    assert len(found) == len(set(found)) == MANY
    assert sum(len(page) for page in pages(Person(full), 'locks')) == MANY - 20
