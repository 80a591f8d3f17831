"""budget: what is spent never exceeds what was opened, under any concurrency and over crashes."""
import datetime
import random
import threading

import pytest

from harness.client import assert_problem
from harness.rules import (MEDIA, at_once, eventually, money, needed, operations, resolve, ruled, said,
                           told)
from harness.upstream import answer, delayed, drop

BUDGET = {'of': 'payment_id', 'amount': 'amount'}
CAPTURED = 10000


def actions():
    return {
        'payments.create': {'route': 'POST /v1/payments/{book}', 'fields': money(),
                            'opens_budget': {'id': 'response/id', 'amount': 'amount'},
                            'response': {'reference': '/id'},
                            'failed_when': [{'at': '/status', 'is': 'failed'}]},
        'refunds.create': {'route': 'POST /v1/refunds/{book}',
                           'fields': {'payment_id': needed(), **money()}, 'budget': BUDGET},
        'tips.create': {'route': 'POST /v1/tips/{book}', 'fields': {'payment_id': needed(), **money()},
                        'budget': {**BUDGET, 'if_unknown': 'allow'}},
    }


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, actions())


class Shop:
    """Pays and refunds for one account; what really went out is read at the service."""

    def __init__(self, gate, upstream, account, token, number):
        self.gate, self.upstream, self.account, self.token = gate, upstream, account, token
        self.payments, self.refunds = f'/v1/payments/{number}', f'/v1/refunds/{number}'
        self.tips = f'/v1/tips/{number}'
        self.count = 0
        upstream.always(self.refunds, answer(201))

    def pay(self, amount=CAPTURED, currency='EUR', id=None):
        self.count += 1
        self.id = id or f'pay-{self.token}-{self.count}'
        self.upstream.plan(self.payments, said({'id': self.id}, 201))
        paid = self.gate.post(self.payments, f'{self.token}-p{self.count}', account=self.account,
                              json={'amount': amount, 'currency': currency})
        assert paid.outcome == 'created', paid
        return self.id

    def refund(self, key, amount, currency='EUR', of=None, path=None, account=None):
        body = {'payment_id': of or self.id, 'amount': amount, 'currency': currency}
        return told(self.gate, path or self.refunds, f'{self.token}-r{key}', json=body, timeout=30,
                    account=account or self.account)

    def went_out(self, of=None):
        return sum(int(seen.json()['amount']) for seen in self.upstream.seen(self.refunds)
                   if seen.is_effect and seen.json()['payment_id'] == (of or self.id))


@pytest.fixture
def shop(gate, upstream, account, token, number):
    return Shop(gate, upstream, account, token, number)


def assert_refused(response, slug='budget-exceeded', left=None):
    problem = assert_problem(response, 422, slug, advice='fix', operation=False)
    assert response.outcome == 'refused', response
    if left is not None:
        assert problem['budget']['left'] == left, problem
        assert f'{left // 100}.{left % 100:02}' in problem['detail'], problem


def test_up_to_the_amount_and_no_further(shop):
    # Shows that refunds go out up to what was captured, that the next one is told what is left, and
    # that its token is still free.
    shop.pay(10000)
    assert shop.refund(1, 6000).outcome == 'created'
    assert_refused(shop.refund(2, 4001), left=4000)
    assert shop.refund(2, 3999).outcome == 'created'
    assert_refused(shop.refund(3, 2), left=1)
    assert shop.refund(3, 1).outcome == 'created'
    assert_refused(shop.refund(4, 1), left=0)
    assert shop.went_out() == 10000


def test_more_than_all_of_it_at_once(shop):
    # Shows that one refund of more than there ever was is refused.
    shop.pay(10000)
    assert_refused(shop.refund(1, 10001), left=10000)
    assert shop.went_out() == 0


def crowd(shop, dice, count=25):
    amounts = [dice.randrange(1, 2000) for _ in range(count)]
    base = shop.count * 1000
    return amounts, at_once(count, lambda n: shop.refund(base + n, amounts[n]))


def test_crowds_of_partial_refunds(shop):
    # Shows over many rounds of simultaneous refunds that no more goes out than was captured, that
    # what was acknowledged went out, and that nothing is lost of what is left.
    dice = random.Random(1)
    for _ in range(8):
        shop.pay()
        amounts, answers = crowd(shop, dice)
        assert {a.outcome for a in answers} <= {'created', 'refused'}
        spent = sum(amount for amount, a in zip(amounts, answers) if a.outcome == 'created')
        assert shop.went_out() == spent <= CAPTURED
        assert any(a.outcome == 'refused' for a in answers), 'the crowd was too small to tell'
        left = CAPTURED - spent
        if left:
            assert shop.refund(f'{shop.count}-left', left).outcome == 'created'
        assert_refused(shop.refund(f'{shop.count}-over', 1), left=0)
        assert shop.went_out() == CAPTURED


@pytest.mark.long
def test_many_crowds_of_partial_refunds(shop):
    # Shows the same over 150 rounds.
    dice = random.Random(2)
    for _ in range(150):
        shop.pay()
        crowd(shop, dice)
        assert shop.went_out() <= CAPTURED


def test_a_crowd_of_everything(shop):
    # Shows that of a crowd that each refunds all of it one does.
    shop.pay()
    outcomes = [a.outcome for a in at_once(30, lambda n: shop.refund(n, CAPTURED))]
    assert outcomes.count('created') == 1 and outcomes.count('refused') == 29
    assert shop.went_out() == CAPTURED


def test_a_replay_spends_nothing(shop):
    # Shows that the same refund again is an answer and no money.
    shop.pay()
    for expected in ('created', 'replayed', 'replayed'):
        assert shop.refund(1, 6000).outcome == expected
    assert shop.refund(2, 4000).outcome == 'created'


def test_failure_gives_it_back(shop, upstream):
    # Shows that what the service refused is there to be spent again.
    shop.pay()
    upstream.plan(shop.refunds, answer(422, works=False))
    assert shop.refund(1, CAPTURED).state == 'failed'
    assert shop.refund(2, CAPTURED).outcome == 'created'
    assert shop.went_out() == CAPTURED


def test_unknown_counts(shop, upstream, gate):
    # Shows that what may have gone out counts until it is known that it did not.
    shop.pay()
    upstream.plan(shop.refunds, drop(works=False))
    lost = shop.refund(1, 6000)
    assert lost.state == 'unknown'
    assert_refused(shop.refund(2, 5000), left=4000)
    resolve(gate, lost.operation, 'did-not', '--no-retry')
    assert shop.refund(2, 5000).outcome == 'created'
    assert shop.went_out() == 5000


def test_unknown_that_happened_stays_spent(shop, upstream, gate):
    # Shows that a person's word that it happened keeps it spent.
    shop.pay()
    upstream.plan(shop.refunds, drop())
    lost = shop.refund(1, 6000)
    resolve(gate, lost.operation, 'happened')
    assert_refused(shop.refund(2, 5000), left=4000)


def test_what_was_not_sent_counts_until_it_is_cancelled(shop, upstream, gate):
    # Shows that an operation that may yet be sent keeps its part, and gives it back when cancelled.
    shop.pay()
    upstream.plan(shop.refunds, answer(503, works=False))
    queued = shop.refund(1, 6000)
    assert queued.state == 'queued'
    assert_refused(shop.refund(2, 5000), left=4000)
    cancel = f'/.counterfoil/operations/{queued.operation}/cancel'
    assert gate.request('POST', cancel, account=shop.account).status == 200
    assert shop.refund(2, 5000).outcome == 'created'
    assert shop.went_out() == 5000


def test_a_retry_of_what_was_not_sent_spends_once(shop, upstream):
    # Shows that picking up a queued refund does not count it twice.
    shop.pay()
    upstream.plan(shop.refunds, answer(503, works=False))
    shop.refund(1, CAPTURED)
    assert shop.refund(1, CAPTURED).outcome == 'created'
    assert shop.went_out() == CAPTURED


def test_currencies(shop):
    # Shows that money of another currency is no part of it, and that codes have no case.
    shop.pay(10000, 'EUR')
    assert_refused(shop.refund(1, 100, 'USD'), 'budget-currency')
    assert shop.refund(1, 100, 'eur').outcome == 'created'
    assert shop.went_out() == 100


def test_budgets_that_nobody_opened(shop, upstream):
    # Shows that a refund of an unknown payment is refused, or let through where the action says so.
    shop.pay()
    assert_refused(shop.refund(1, 100, of='pay-unheard-of'), 'budget-unknown')
    assert shop.went_out('pay-unheard-of') == 0
    assert shop.refund(2, 100, of='pay-unheard-of', path=shop.tips).outcome == 'created'
    assert upstream.effects(shop.tips) == 1
    assert shop.refund(3, 9000, path=shop.tips).outcome == 'created'
    assert_refused(shop.refund(4, 1001), left=1000)


def test_budgets_are_the_accounts(shop):
    # Shows that another account's payment is unknown here, whatever its id, and learns nothing.
    shop.pay()
    assert_refused(shop.refund(1, 100, account=shop.account + '-other'), 'budget-unknown')
    assert shop.refund(2, CAPTURED).outcome == 'created'


@pytest.mark.parametrize('answered', [said({'id': 'PAY', 'status': 'failed'}, 200, works=False),
                                      said({'id': 'PAY'}, 402, works=False),
                                      said({'other': 'PAY'}, 201),
                                      answer(201, headers=[('Content-Type', 'text/plain')], body=b'PAY')])
def test_what_opens_none(shop, gate, upstream, answered):
    # Shows that a payment which failed, or whose answer names none, opens no budget.
    upstream.plan(shop.payments, answered)
    gate.post(shop.payments, shop.token, account=shop.account, json={'amount': 5, 'currency': 'EUR'})
    assert_refused(shop.refund(1, 1, of='PAY'), 'budget-unknown')


def test_an_id_that_is_a_number(shop, gate, upstream):
    # Shows that a service may call its payments by numbers.
    number = random.randrange(10 ** 9, 10 ** 12)
    upstream.plan(shop.payments, answer(201, headers=MEDIA, body=b'{"id": %d}' % number))
    gate.post(shop.payments, shop.token, account=shop.account, json={'amount': 5, 'currency': 'EUR'})
    assert shop.refund(1, 5, of=str(number)).outcome == 'created'
    assert_refused(shop.refund(2, 1, of=str(number)), left=0)


def test_a_person_names_the_payment(shop, gate, upstream):
    # Shows that a lost payment that a person found opens its budget by the reference they give.
    upstream.plan(shop.payments, drop())
    lost = gate.post(shop.payments, shop.token, account=shop.account,
                     json={'amount': 500, 'currency': 'EUR'})
    shop.id = f'found-{shop.token}'
    assert_refused(shop.refund(1, 1), 'budget-unknown')
    resolve(gate, lost.operation, 'happened', '--reference', shop.id)
    assert shop.refund(1, 500).outcome == 'created'
    assert_refused(shop.refund(2, 1), left=0)


def test_the_status_says_what_is_left(shop, gate):
    # Shows that a refund's own document has the budget it spends from, what is used and left.
    shop.pay(10000)
    shop.refund(1, 2500)
    last = shop.refund(2, 500)
    budget = gate.operation(last.operation, shop.account)['rules']['budget']
    assert (budget['total'], budget['used'], budget['left'], budget['spends']) == (10000, 3000, 7000, 500)
    assert budget['currency'] == 'EUR'


def listed(gate, ids):
    """What /api/budgets tells of those that these operations opened."""
    response = gate.operator('/api/budgets')
    assert response.status == 200, response
    return [each for each in response.json()['budgets'] if each['opener'] and each['opener']['id'] in ids]


def test_an_operator_sees_budgets(shop, gate, upstream):
    # Shows that budgets are listed, newest first, with what was opened, is used and is left, while an
    # unknown refund counts and a failed one does not.
    openers = {name: shop.pay(amount) for name, amount in (('first', 500), ('last', 10000))}
    shop.refund(1, 2500)
    upstream.plan(shop.refunds, answer(422, works=False), drop(works=False))
    assert shop.refund(2, 1000).state == 'failed'
    assert shop.refund(3, 499).state == 'unknown'
    ids = {each['id'] for each in operations(gate, shop.account) if each['action'] == 'payments.create'}
    last, first = listed(gate, ids)
    assert (last['opened'], last['used'], last['left'], last['currency']) == (10000, 2999, 7001, 'EUR')
    assert last['text'] == {'opened': '100.00', 'used': '29.99', 'left': '70.01'}
    assert (first['opened'], first['used'], first['left']) == (500, 0, 500)
    assert last['until'] is None
    for budget, name in ((last, 'last'), (first, 'first')):
        assert (budget['opener']['action'], budget['opener']['reference']) == ('payments.create', openers[name])


def test_a_budget_says_when_it_ends(start_gate, upstream, account, token, number):
    # Shows that the end of one that is not for good is told: so long after its opener succeeded.
    declared = actions()
    declared['payments.create']['opens_budget']['for'] = '400d'
    gate = start_gate(upstream, ruled(upstream, declared))
    Shop(gate, upstream, account, token, number).pay()
    [opener] = operations(gate, account)
    [budget] = listed(gate, {opener['id']})
    begun, ends = (datetime.datetime.fromisoformat(text.replace('Z', '+00:00'))
                   for text in (opener['updated'], budget['until']))
    assert ends - begun == datetime.timedelta(days=400)


def test_people_see_the_budgets_of_their_account(start_gate, upstream, account, token, number):
    # Shows that an operator of one account sees its budgets and no others, and one of all accounts both.
    gate = start_gate(upstream, ruled(upstream, actions(), accounts={'from': 'key'}))
    agents = {name: gate.key(name, 'bot')['key'] for name in ('acme', 'globex')}
    for name, key in agents.items():
        Shop(gate, upstream, 'Bearer ' + key, f'{token}-{name}', number).pay()
    people = {name: gate.key(name, 'ann', 'operator')['key'] for name in agents}
    ids = {each['id'] for each in gate.operator('/api/operations').json()['operations']}
    assert [each['opener']['account'] for each in listed(gate, ids)] == ['globex', 'acme']
    for name, key in people.items():
        seen = gate.admin('/api/budgets', headers=[('Authorization', 'Bearer ' + key)]).json()
        assert [each['opener']['account'] for each in seen['budgets']] == [name] and seen['next'] is None


def test_it_outlives_a_crash(start_gate, upstream, account, token, number):
    # Shows that what was spent and what is left are known after kill -9.
    gate = start_gate(upstream, ruled(upstream, actions()))
    shop = Shop(gate, upstream, account, token, number)
    shop.pay()
    shop.refund(1, 6000)
    gate.kill9()
    gate.restart()
    assert_refused(shop.refund(2, 4001), left=4000)
    assert shop.refund(2, 4000).outcome == 'created'


def kill_rounds(start_gate, upstream, rounds, account, token, number):
    dice = random.Random(rounds)
    gate = start_gate(upstream, ruled(upstream, actions()))
    shop = Shop(gate, upstream, account, token, number)
    upstream.always(shop.refunds, delayed(0.005))
    for round in range(rounds):
        shop.pay()
        threads = [threading.Thread(target=shop.refund, args=(f'{round}-{n}', dice.randrange(1, 3000)),
                                    daemon=True) for n in range(12)]
        for thread in threads:
            thread.start()
        threading.Event().wait(dice.random() * 0.06)
        gate.kill9()
        for thread in threads:
            thread.join(20)
        gate.restart()
        crowd(shop, dice, 12)
        assert shop.went_out() <= CAPTURED, f'round {round}'
        for each in operations(gate, account, state='unknown'):
            resolve(gate, each['id'], 'happened')
        eventually(lambda: not operations(gate, account, state='running'))
        crowd_after = shop.refund(f'{round}-rest', CAPTURED + 1)
        assert_refused(crowd_after)
        assert shop.went_out() <= CAPTURED, f'round {round}'


def test_kills_among_refunds(start_gate, upstream, account, token, number):
    # Shows over some kills in the middle of a crowd that no more goes out than was captured.
    kill_rounds(start_gate, upstream, 6, account, token, number)


@pytest.mark.long
def test_many_kills_among_refunds(start_gate, upstream, account, token, number):
    # Shows the same over 150 kills.
    kill_rounds(start_gate, upstream, 150, account, token, number)
