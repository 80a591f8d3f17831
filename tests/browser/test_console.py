"""The console in a browser: what a person sees, does and is refused. Effects are counted at the service."""
import concurrent.futures
import json

import pytest

from harness.people import new_key
from harness.rules import eventually, said
from harness.upstream import behaviour, drop

AGENT = 'Bearer the-agent-of-these-tests'
REFUND = {'amount': '31.50', 'currency': 'EUR', 'payment_id': 'pay_1'}


def ask(gate, token, **changes):
    """An agent asks for a refund; it waits for a person. Its id."""
    response = gate.post('/v1/refunds', token, account=AGENT, json={**REFUND, **changes})
    assert response.status == 202, response
    return response.operation


def lose(gate, upstream, token):
    """A ticket whose answer is lost: nobody knows."""
    upstream.plan('/v1/tickets', drop())
    response = gate.post('/v1/tickets', token, account=AGENT, json={'title': 'Printer on fire'})
    assert response.status == 504, response
    return response.operation


def key_of(gate, role, **more):
    return new_key(gate, role, f'{role}-ada', all_accounts=True, **more)


def test_link_signs_in_once(page, gate):
    # Shows that the printed link signs one person in, and nobody a second time.
    page.use_link()
    assert 'Approvals' in page.text and 'operator' in page.text
    assert '/link/' not in page.driver.current_url
    page.driver.delete_all_cookies()
    page.driver.get('about:blank')
    page.driver.get(next(line for line in gate.stdout if '#/link/' in line).split()[-1])
    page.wait_text('This link has been used')
    page.shot('sign-in')


def test_wrong_key_is_told(page):
    # Shows that a key that is none leads nowhere, and that the page says so.
    page.sign_in('cfk_' + 'A' * 43)
    page.wait_text('does not let you in')
    assert not page.all('nav a')


def test_approve(page, gate, upstream):
    # Shows that a question arrives by itself, and that pressing approve sends exactly one.
    page.use_link()
    page.wait_text('Nothing waits for you')
    id = ask(gate, 'approve-1')
    page.wait_text('Refund')
    shown = page.text
    for text in ('pay_1', '31.50', 'Pays the money back', 'Cannot be undone', 'The first of its kind', 'expires in'):
        assert text in shown, text
    page.shot('approval')
    page.press('Approve…', id)
    page.shot('approval-confirm')
    assert upstream.effects('/v1/refunds') == 0
    page.press('Approve this command', id)
    page.wait_text('Approved.')
    gate.wait_state(id, 'completed', account=AGENT)
    assert upstream.effects('/v1/refunds') == 1
    # The next of its kind is compared with it.
    second = ask(gate, 'approve-2', amount='99.00')
    page.wait(lambda: page.all(f'[data-operation="{second}"] .changes'), 'the comparison')
    assert '3150' in page.all(f'[data-operation="{second}"] .changes .was')[0].text
    assert '9900' in page.all(f'[data-operation="{second}"] .changes .is')[0].text
    page.shot('approval-changed')


def test_deny_needs_a_reason(page, gate, upstream):
    # Shows that a denial says why, and that nothing is sent then.
    id = ask(gate, 'deny-1')
    page.use_link()
    page.press('Deny…', id)
    page.driver.execute_script('document.querySelector("textarea").required = false')
    page.press('Deny it', id)
    page.wait_text('Say why')
    page.write('textarea', 'Not this customer.')
    page.press('Deny it', id)
    page.wait_text('Nothing was sent')
    document = gate.wait_state(id, 'cancelled', account=AGENT)
    assert upstream.effects('/v1/refunds') == 0
    assert 'Not this customer.' in str(gate.operator(f'/api/operations/{id}').json()), document


def test_expiry_on_the_screen(page, gate, upstream):
    # Shows that a question whose time is over cannot be answered any more, and that the page says so.
    page.use_link()
    page.wait_text('Nothing waits for you')
    id = gate.post('/v1/flags', 'flag-1', account=AGENT, json={'flag': 'dark', 'value': 'on'}).operation
    page.wait(lambda: page.all(f'[data-operation="{id}"]'), 'the question')
    page.wait_text('Its time is over')
    assert 'Approve…' not in page.buttons()
    gate.wait_state(id, 'cancelled', account=AGENT)
    assert upstream.effects('/v1/flags') == 0


def test_another_answer_first(page, gate, upstream):
    # Shows that who comes second is told so where they look, and changes nothing.
    id = ask(gate, 'race-1')
    page.use_link()
    page.press('Approve…', id)
    fingerprint = gate.operator(f'/api/approvals/{id}').json()['fingerprint']
    assert gate.operator(f'/api/approvals/{id}/deny', 'POST', {'fingerprint': fingerprint, 'why': 'no'}).status == 200
    page.press('Approve this command', id)
    page.wait(lambda: [e for e in page.all(f'[data-operation="{id}"] .alert') if e.text], 'the refusal')
    assert upstream.effects('/v1/refunds') == 0


def test_texts_of_agents_stay_texts(page, gate, upstream):
    # Shows that markup stays text, and that what cannot be seen is shown.
    id = ask(gate, 'text-1', note='<img src=x onerror=alert(1)>‮drawkcab​', payment_id='<b>pay</b>')
    page.use_link()
    page.wait_text('<img src=x onerror=alert(1)>')
    assert '<b>pay</b>' in page.text
    assert 'U+202E' in page.text or '\\u{202E}' in page.text
    assert '‮' not in page.text and not page.all('main img') and not page.all('main b b')


def test_equal_questions_are_folded(page, gate):
    # Shows that equal questions of one agent stand as one, and that answering it shows the next.
    first, second = ask(gate, 'equal-1'), ask(gate, 'equal-2')
    page.use_link()
    page.wait_text('1 equal question')
    assert len(page.all('article.approval')) == 1
    shown = page.all('article.approval')[0].get_attribute('data-operation')
    other = {first: second, second: first}[shown]
    page.press('Approve…', shown)
    page.press('Approve this command', shown)
    page.wait(lambda: page.all(f'[data-operation="{other}"]'), 'the other question')


def test_resolve_an_unknown_one(page, gate, upstream):
    # Shows that a person's word ends an unknown operation, with why and reference.
    id = lose(gate, upstream, 'unknown-1')
    page.use_link()
    page.open('unknown')
    page.wait_text('no certain answer came back')
    page.shot('unknown')
    page.press('It happened…', id)
    page.write('textarea', 'The ticket is there.')
    page.write('input[name=reference]', 'T-17')
    page.press('It happened', id)
    page.wait_text('Recorded')
    found = gate.operation(id, AGENT)
    assert found['state'] == 'completed' and found['reference'] == 'T-17'


@pytest.mark.parametrize('may_retry', [False, True])
def test_resolve_one_that_did_not_happen(page, gate, upstream, may_retry):
    # Shows that its caller sends it again only where the person has said so.
    token = f'unknown-not-{may_retry}'
    id = lose(gate, upstream, token)
    before = upstream.effects('/v1/tickets')
    page.use_link()
    page.open('unknown')
    page.press('It did not happen…', id)
    page.write('textarea', 'No such ticket.')
    if may_retry:
        page.all(f'[data-operation="{id}"] input[type=checkbox]')[0].click()
    page.press('It did not happen', id)
    page.wait_text('Recorded')
    assert gate.operation(id, AGENT)['state'] == ('queued' if may_retry else 'failed')
    gate.post('/v1/tickets', token, account=AGENT, json={'title': 'Printer on fire'})
    assert upstream.effects('/v1/tickets') - before == may_retry


def test_operations_are_found(page, gate, upstream):
    # Shows the search, and one operation with its time line and its sentence.
    id = gate.post('/v1/tickets', 'find-1', account=AGENT, json={'title': 'a'}).operation
    gate.post('/v1/tickets', 'find-2', account=AGENT, json={'title': 'b'})
    for _ in range(2):
        assert gate.post('/v1/tickets', 'find-1', account=AGENT, json={'title': 'a'},
                         headers=[('Counterfoil-Task', 'nightly')]).outcome == 'replayed'
    page.use_link()
    page.open('operations')
    page.write('input[name=token]', 'find-1')
    page.press('Search')
    page.wait(lambda: len(page.all('tbody tr')) == 1, 'the one row')
    eventually(lambda: gate.operation(id, AGENT)['attempt_count'] == 3)
    # In one step: the list is drawn anew whenever something happens.
    page.driver.execute_script('document.querySelector(`a[title="${arguments[0]}"]`).click()', id)
    page.wait_text('Created once, replayed twice')
    assert 'last asked by' in page.text and 'nightly' in page.text
    assert len(page.all('svg.timeline circle')) == 3
    page.shot('operation')


def test_auditor_sees_and_cannot_act(page, gate, upstream):
    # Shows that an auditor is offered nothing to press, and that the gate would refuse it.
    id, lost = ask(gate, 'auditor-1'), lose(gate, upstream, 'auditor-2')
    page.sign_in(key_of(gate, 'auditor')[1])
    page.wait_text('Sign out')
    page.open('approvals')
    page.wait(lambda: page.all(f'[data-operation="{id}"]'), 'the question')
    assert not {'Approve…', 'Deny…'} & set(page.buttons())
    page.open('unknown')
    page.wait(lambda: page.all(f'[data-operation="{lost}"]'), 'the unknown one')
    assert page.buttons() == []
    status = page.driver.execute_async_script('''
        const done = arguments[arguments.length - 1];
        fetch('/api/session').then((answer) => answer.json()).then((session) =>
            fetch(`/api/operations/${arguments[0]}/resolve`, {method: 'POST', body: '{"happened": true, "why": "x"}',
                headers: {'X-Counterfoil-CSRF': session.csrf}})).then((answer) => done(answer.status));''', lost)
    assert status == 403
    assert gate.operation(lost, AGENT)['state'] == 'unknown'


def test_revoked_key_ends_its_session(page, gate):
    # Shows that a key that is revoked signs its person out, on the page that is open.
    id, key = key_of(gate, 'approver')
    page.sign_in(key)
    page.wait_text('Nothing waits for you')
    assert gate.operator(f'/api/keys/{id}/revoke', 'POST', {'why': 'the test'}).status == 200
    page.wait_text('Your session is over')


def test_budgets(page, gate, upstream):
    # Shows that a budget that is opened comes up by itself, in its currency, and leads to its opener.
    page.use_link()
    page.open('locks')
    page.wait_text('No budget is open')
    upstream.plan('/v1/payments', said({'id': 'pay_9'}, 201))
    id = gate.post('/v1/payments', 'budget-1', account=AGENT, json={'amount': 3150, 'currency': 'EUR'}).operation
    page.wait_text('pay_9')
    shown = page.wait(lambda: page.all('[aria-label="Budgets"]')[0].text, 'the table')
    assert '31.50 EUR' in shown and '0.00 EUR' in shown and 'payments.create' in shown, shown
    page.shot('budgets')
    link = page.wait(lambda: page.all(f'[aria-label="Budgets"] a[title="{id}"]')[0].get_attribute('href'), 'the link')
    assert link.endswith('#/operations/' + id)


def rows(page, name):
    return len(page.all(f'[aria-label="{name}"] tbody tr'))


def test_more_budgets_and_locks(page, gate, upstream):
    # Shows that what does not fit a page is shown on demand, stays when something new comes up, and that
    # nothing more is offered then.
    def paid(exchange):
        number = json.loads(exchange.request.body)['amount']
        exchange.answer(200, [('Content-Type', 'application/json')], b'{"id": "pay_%d"}' % number)
    upstream.always('/v1/payments', behaviour(paid))
    upstream.always('/v1/deployments', drop())

    def write(n):
        gate.post('/v1/payments', f'pay-{n}', account=AGENT, json={'amount': 1000 + n, 'currency': 'EUR'})
        gate.post('/v1/deployments', f'deploy-{n}', account=AGENT, json={'service': f's-{n}'})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(450)))
    page.use_link()
    page.open('locks')
    for name in ('Budgets', 'Locks'):
        button = f'More {name.lower()}'
        for shown in (200, 400):
            page.wait(lambda: rows(page, name) == shown, f'{shown} {name}')
            page.press(button)
        page.wait(lambda: rows(page, name) == 450, f'all {name}')
        page.wait(lambda: button not in page.buttons(), 'the end of the list')
    gate.post('/v1/payments', 'one-more', account=AGENT, json={'amount': 9, 'currency': 'EUR'})
    page.wait(lambda: rows(page, 'Budgets') == 451, 'the new one')
    assert rows(page, 'Locks') == 450


@pytest.mark.parametrize('where', ['approvals', 'overview', 'operations', 'unknown', 'locks', 'audit'])
def test_narrow_and_dark(page, gate, upstream, where):
    # Shows that each page fits a phone of 360 points; screenshots, light and dark, for who looks.
    ask(gate, 'narrow-1')
    lose(gate, upstream, 'narrow-2')
    page.use_link()
    page.open(where)
    page.wait_for('main h1')
    page.wait(lambda: page.all('main .card, main table, main .empty, main .chart'), 'the page')
    page.shot(f'{where}-wide')
    page.look(scheme='dark')
    page.shot(f'{where}-dark')
    page.look(360, 780)
    page.shot(f'{where}-phone')
    assert not page.is_wider_than_screen()


def test_keyboard_alone(page, gate, upstream):
    # Shows that a question can be found and answered without a mouse.
    from selenium.webdriver.common.keys import Keys
    id = ask(gate, 'keyboard-1')
    page.use_link()
    page.button('Approve…', id)
    for _ in range(60):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        if page.driver.switch_to.active_element.text == 'Approve…':
            break
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait(lambda: page.driver.switch_to.active_element.text == 'Approve this command', 'the focus')
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait_text('Approved.')
    gate.wait_state(id, 'completed', account=AGENT)
    assert upstream.effects('/v1/refunds') == 1
