"""Verifying the audit log in the console: the button, what it says, and to whom."""
import pytest

from conftest import ACTIONS
from harness.gate import Gate
from harness.people import new_key
from harness.rules import eventually, ruled

AGENT = 'Bearer the-agent-of-these-tests'


@pytest.fixture
def gate(upstream, tmp_path):
    """One whose entries are published soon."""
    running = Gate(tmp_path / 'gate', None, ruled(upstream, ACTIONS, audit={'checkpoint_interval': '100ms'})).start()
    yield running
    running.stop()


def published(gate, query):
    return gate.operator('/api/audit?' + query).json()['entries']


def begin(page, gate):
    """An auditor looks at the log of some tickets, all of it published."""
    for n in range(3):
        assert gate.post('/v1/tickets', f'verified-{n}', account=AGENT, json={'title': 'a'}).status == 201
    page.sign_in(new_key(gate, 'auditor', 'auditor-ada', all_accounts=True)[1])
    page.wait_text('Sign out')
    page.open('audit')
    eventually(lambda: published(gate, 'event=signed_in'), what='the last entry, published')


def result(page):
    return page.wait_for('.verified').text


@pytest.mark.parametrize('look', ['wide', 'dark', 'phone'])
def test_verify_now(page, gate, look):
    # Shows that an auditor has the log verified by one press, and sees the result, when, of how many.
    if look != 'wide':
        page.look(*((360, 780) if look == 'phone' else (1280, 900)), scheme='dark')
    begin(page, gate)
    page.wait(lambda: 'not verified since this gate began' in result(page), 'the state before')
    page.press('Verify now')
    page.wait(lambda: result(page).startswith('ok'), 'the result')
    assert 'Every entry is as it was signed' in result(page)
    shown = page.wait_for('[aria-labelledby="verification-title"]').text
    assert 'just now' in shown and 'entries' in shown and 'root' in shown, shown
    page.shot(f'verification-{look}')
    assert not page.is_wider_than_screen()


def test_tampering_is_shown(page, gate):
    # Shows that a changed entry is told with its number, and comes up by itself on a page that is open.
    begin(page, gate)
    file = sorted((gate.data / 'audit' / 'tile' / 'entries' / '000.p').iterdir(), key=lambda f: int(f.name))[-1]
    content = bytearray(file.read_bytes())
    content[300] ^= 1
    file.write_bytes(content)
    page.wait_for('.verified')
    assert gate.operator('/api/audit/verify', 'POST').status == 202
    page.wait(lambda: result(page).startswith('tampered'), 'the result')
    shown = page.wait_for('[aria-labelledby="verification-title"]').text
    assert 'entry 0' in shown and 'counterfoil audit verify' in shown, shown
    page.shot('verification-tampered')


def test_a_broken_checkpoint_is_shown(page, gate):
    # Shows that a log whose checkpoint is none can be verified all the same.
    begin(page, gate)
    (gate.data / 'audit' / 'checkpoint').write_bytes(b'nothing')
    page.press('Verify now')
    page.wait(lambda: result(page).startswith('bad-signature'), 'the result')
    page.wait_text('cannot be read')
    page.leave()
    page.driver.get_log('browser')  # the page of entries is refused (503), and says so


def test_by_keyboard_and_ear(page, gate):
    # Shows that the button is reached and pressed without a mouse, keeps the focus when the page is drawn
    # anew, and that a screen reader is told the result, once.
    from selenium.webdriver.common.keys import Keys
    begin(page, gate)
    page.button('Verify now')
    for _ in range(60):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        if page.driver.switch_to.active_element.text == 'Verify now':
            break
    region = page.wait_for('.verified')
    assert region.get_attribute('aria-live') == 'polite' and region.get_attribute('role') == 'status'
    page.driver.execute_script('''
        window.told = [];
        new MutationObserver(() => window.told.push(document.querySelector('.verified').textContent))
            .observe(document.querySelector('.verified'), {childList: true, subtree: true, characterData: true});''')
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait(lambda: result(page).startswith('ok'), 'the result')
    page.driver.execute_script('document.querySelector("#published-title").dataset.old = "yes"')
    gate.post('/v1/tickets', 'heard-1', account=AGENT, json={'title': 'b'})
    page.wait(lambda: not page.wait_for('#published-title').get_attribute('data-old'), 'the page drawn anew')
    assert page.driver.switch_to.active_element.text == 'Verify now'
    told = page.driver.execute_script('return window.told.filter((text, i, all) => text !== all[i - 1])')
    assert [text for text in told if text.startswith('ok')] == [told[-1]], told


def test_approvers_are_not_offered_it(page, gate):
    # Shows that who may not read the log does not see the page.
    page.sign_in(new_key(gate, 'approver', 'grace', all_accounts=True)[1])
    page.wait_text('Sign out')
    page.open('audit')
    page.wait(lambda: '#/overview' in page.driver.current_url, 'another page')
    assert not page.all('.verified')
