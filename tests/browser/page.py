"""A page of the console as a person uses it: found by what is written on it, never by its insides."""
import re
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

SECONDS = 15
LINK = re.compile(r'(https?://\S+/#/link/[0-9a-f]{64})')
EXPECTED = re.compile(r'the server responded with a status of (401|403|409|410)|net::ERR_|ERR_INCOMPLETE_CHUNKED')


def start_browser(folder):
    options = Options()
    for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                     '--window-size=1280,900', '--hide-scrollbars', f'--user-data-dir={folder}'):
        options.add_argument(argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)


class Page:
    def __init__(self, driver, gate, artefacts):
        self.driver, self.gate, self.artefacts = driver, gate, artefacts
        self.url = f'http://127.0.0.1:{gate.admin_port}'

    # -- where it is -----------------------------------------------------------------

    def forget(self):
        """As a browser that was never here: at the usual size, in the light."""
        self.look()
        self.driver.get(self.url + '/healthz')
        self.driver.delete_all_cookies()
        self.driver.get_log('browser')

    def leave(self):
        self.driver.get('about:blank')

    def look(self, width=1280, height=900, scheme='light'):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 600})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})

    def open(self, where):
        self.driver.get(f'{self.url}/#/{where}')

    def use_link(self):
        """Follow the link that the gate printed when it started."""
        link = next(found[1] for line in self.gate.stdout if (found := LINK.search(line)))
        self.driver.get(link)
        self.wait_text('Sign out')

    def sign_in(self, key):
        self.driver.get(self.url + '/')
        self.wait_for('#sign-in-key').send_keys(key)
        self.press('Sign in')

    # -- what is on it ---------------------------------------------------------------

    @property
    def text(self):
        return self.driver.find_element(By.TAG_NAME, 'body').text

    def wait(self, look, what):
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                found = look()
            except StaleElementReferenceException:
                found = None
            if found:
                return found
            assert time.monotonic() < deadline, f'{what} never came about; the page: {self.text[:2000]}'
            time.sleep(0.03)

    def wait_text(self, text):
        self.wait(lambda: text in self.text, f'the text {text!r}')

    def wait_no_text(self, text):
        self.wait(lambda: text not in self.text, f'a page without {text!r}')

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait_for(self, selector):
        return self.wait(lambda: next((e for e in self.all(selector) if e.is_displayed()), None), selector)

    def button(self, name, within=None):
        where = f'[data-operation="{within}"] ' if within else ''
        return self.wait(lambda: next((e for e in self.all(where + 'button') if e.text == name and e.is_displayed()), None),
                         f'the button {name!r}')

    def press(self, name, within=None):
        self.button(name, within).click()

    def buttons(self):
        return [e.text for e in self.all('main button') if e.is_displayed()]

    def write(self, selector, text):
        self.wait_for(selector).send_keys(text)

    def shot(self, name):
        self.driver.execute_script('document.getAnimations().forEach((animation) => animation.finish())')
        self.driver.save_screenshot(str(self.artefacts / f'{name}.png'))

    def is_wider_than_screen(self):
        return self.driver.execute_script(
            'return document.documentElement.scrollWidth > document.documentElement.clientWidth')

    # -- what must never be ----------------------------------------------------------

    def check_console(self):
        """No script failed, and the policy let nothing be tried that it forbids."""
        bad = [line['message'] for line in self.driver.get_log('browser')
               if line['level'] in ('SEVERE', 'WARNING') and not EXPECTED.search(line['message'])]
        assert not bad, bad
