"""The report of a drill as a page: its time line in a browser, at every width, in light and dark."""
import socket

import pytest

from harness.gate import ROOT, command
from page import Page

SECONDS = 120
KEYED = ROOT / 'tests' / 'blackbox' / 'harness' / 'keyed.py'


class Report(Page):
    """A file, looked at as any other page."""

    def __init__(self, driver, artefacts, file):
        self.driver, self.artefacts, self.url = driver, artefacts, file.as_uri()


@pytest.fixture(scope='module')
def file(tmp_path_factory):
    """Of a server that honours keys, whose requests and answers get lost on the wire."""
    folder = tmp_path_factory.mktemp('drill')
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    (folder / 'drill.yaml').write_text(f'''
name: make a thing
target: http://127.0.0.1:{port}
write: {{path: /things, headers: {{Authorization: Bearer a}}, body: {{title: "{{marker}}"}}}}
id: /id
effects: {{get: "/things?title={{marker}}", count: /data}}
server: {{start: exec /usr/bin/python3 {KEYED} {port} {folder}/things, ready: {{get: /things}}}}
''')
    done = command('drill', folder / 'drill.yaml', '--report', f'html={folder}/report.html', cwd=folder, seconds=SECONDS)
    assert done.returncode in (0, 1), done.stderr
    return folder / 'report.html'


@pytest.mark.parametrize('width', [1280, 360])
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_the_time_line(browser, artefacts, file, width, scheme):
    # Shows that arrows begin and end in the lanes of who they are of, can be seen, and fit a phone.
    shown = Report(browser, artefacts, file)
    browser.get('about:blank')
    browser.get_log('browser')
    shown.look(width, 900, scheme)
    browser.get(shown.url)
    browser.execute_script('for (const each of document.querySelectorAll("details")) each.open = true')
    drawings = browser.execute_script(MEASURE)
    assert len(drawings) > 20
    for drawing in drawings:
        assert drawing['height'] >= 6, drawing
        for actor, at in drawing['ends']:
            assert abs(drawing['lanes'][actor] - at) < 0.03 * drawing['width'], drawing
        assert drawing['stroke'] != drawing['paper']
    assert not shown.is_wider_than_screen()
    browser.execute_script('document.querySelector("svg.lost").closest("details").scrollIntoView()')
    shown.shot(f'drill-{scheme}-{width}')
    shown.check_console()
    browser.get('about:blank')


# Of each drawing: where its ends are, and where the heads of the lanes are that its words name.
MEASURE = '''
const middle = (box) => box.left + box.width / 2;
return [...document.querySelectorAll('svg')].map((svg) => {
    const lanes = {}, box = svg.getBoundingClientRect();
    for (const head of svg.closest('table').querySelectorAll('th.lane'))
        lanes[head.textContent] = middle(head.getBoundingClientRect());
    const [from, to, lost] = svg.getAttribute('aria-label').split(/ to |, /);
    const way = svg.querySelector('.way, circle').getBoundingClientRect(), all = svg.querySelectorAll('path');
    const isForth = lanes[to] > lanes[from], near = isForth ? way.left : way.right;
    const tip = svg.querySelector('path.full')?.getBoundingClientRect();
    const ends = to === undefined ? [[from, middle(way)]] : [[from, near]];
    if (to !== undefined && !lost)
        ends.push([to, isForth ? tip.right : tip.left]);
    return {lanes, ends, width: box.width, height: box.height, stroke: getComputedStyle(svg).stroke,
        paper: getComputedStyle(svg.closest('details')).backgroundColor};
});
'''
