"""The reports of `drill`, read by other people's readers, of a server that says hostile things."""
import html.parser
import http.server
import json
import re
import threading
import xml.etree.ElementTree as ElementTree

import pytest

from harness.gate import command

# What a server could break a report with: markup, lines of its own, controls, what turns the reading
# direction, and what is no character.
HOSTILE = '\x1b[J\x9b\u202e\ufffe\x7f\n#<i>alert(1)]]>"\'&\\\nnot ok 9'
CASES = ['replay', 'copies', 'changed-body', 'expiry']
SECONDS = 60


class Hostile(http.server.BaseHTTPRequestHandler):
    """One effect a key; but no answer tells the id that another one told."""
    keys, answers = set(), 0

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.keys.add(self.headers['Idempotency-Key'])
        Hostile.answers += 1
        self.answer(201, {'id': f'{Hostile.answers}{HOSTILE}'})

    def do_GET(self):
        self.answer(200, {'count': len(self.keys)})

    def log_message(self, *_):
        pass


@pytest.fixture(scope='module')
def reports(tmp_path_factory):
    """One drill in every form, by name; the whole bytes."""
    folder = tmp_path_factory.mktemp('reports')
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hostile)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    target = f'http://127.0.0.1:{server.server_port}'
    (folder / 'drill.yaml').write_text(f'name: "a <b> #1 & more"\ntarget: {target}\n'
                                       'write: {path: /things, body: {title: "{marker}"}}\n'
                                       'id: /id\neffects: {get: /count, count: /count}\nsettle: 300ms\n')
    forms = ('table', 'tap', 'junit', 'json', 'html')
    asked = [word for form in forms for word in ('--report', f'{form}={folder}/{form}')]
    try:
        done = command('drill', folder / 'drill.yaml', *asked,
                       *(word for name in CASES for word in ('--case', name)), cwd=folder, seconds=SECONDS)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert done.returncode == 1, done.stderr
    return {form: (folder / form).read_bytes() for form in forms}


def test_json_has_what_was_said(reports):
    # Shows that the hostile text came as far as the reports, and that JSON keeps it.
    case = json.loads(reports['json'])['scenarios'][0]['cases'][0]
    assert case['name'] == 'replay' and case['verdict'] == 'fail'
    assert 'alert(1)' in case['seen']


def test_no_report_moves_a_cursor(reports):
    # Shows that no form has a control character, nor one that turns the reading direction.
    for form, content in reports.items():
        text = content.decode()
        assert not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]', text), form


def test_junit(reports):
    # Shows that it is XML, with each case once and failures apart from what was skipped.
    assert '\ufffe' not in reports['junit'].decode()  # Python's reader would let it pass
    suites = ElementTree.fromstring(reports['junit'])
    suite = suites.find('testsuite')
    assert suite.get('name') == 'a <b> #1 & more'
    cases = {case.get('name'): case for case in suite.findall('testcase')}
    assert list(cases) == CASES
    assert 'alert(1)' in cases['replay'].find('failure').get('message')
    assert cases['expiry'].find('skipped') is not None
    for attribute, element in (('failures', 'failure'), ('errors', 'error'), ('skipped', 'skipped')):
        assert int(suites.get(attribute)) == len(suites.findall(f'.//{element}'))
    assert int(suites.get('tests')) == len(CASES)


def test_tap(reports):
    # Shows that every line is one of TAP 14's, test points and plan agree, and YAML is each below its point.
    lines = reports['tap'].decode().splitlines()
    assert lines[:2] == ['TAP version 14', '1..1']
    points = [line for line in lines if re.match(r'    (not )?ok \d+ - ', line)]
    assert f'    1..{len(points)}' in lines and len(points) == len(CASES)
    assert [re.match(r'    (?:not )?ok (\d+) - ([a-z-]+)', line).groups() for line in points] == \
        [(str(i + 1), name) for i, name in enumerate(CASES)]
    assert [line for line in lines if re.match(r'(not )?ok ', line)] == ['not ok 1 - a <b> \\#1 & more']
    in_yaml = False
    for line in lines[2:]:
        assert in_yaml or re.match(r'# Subtest: |    1\.\.\d+$|( {4})?(not )?ok \d+ - |      ---$', line), line
        if in_yaml and line != '      ...':
            assert re.match(r'      [a-z_]+: ("|\d)', line), line
            json.loads(line.partition(': ')[2])
        in_yaml = line == '      ---' or (in_yaml and line != '      ...')
    assert re.search(r'^    ok 4 - expiry # SKIP [^#]+$', reports['tap'].decode(), re.M)


class Page(html.parser.HTMLParser):
    VOID = {'meta', 'line', 'circle', 'path'}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ('src', 'href') or name.startswith('on')]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in self.VOID, tag        # in a drawing nothing else closes itself
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


def test_html(reports):
    # Shows that its elements are closed in order, nothing is fetched or run, and each case is there.
    page = Page(reports['html'].decode())
    assert page.open == []
    assert page.links == [] and not {'script', 'link', 'img', 'iframe'} & set(page.tags)
    assert page.tags.count('details') == len(CASES)
    assert 'alert(1)' in ''.join(page.text)


def test_html_draws_what_json_says(reports):
    # Shows that each event is drawn with its own ends, in words as well: an arrow, a lost one, or a dot.
    events = [event for case in json.loads(reports['json'])['scenarios'][0]['cases'] for event in case['events']]
    drawings = re.findall('<svg viewBox="0 0 160 16" role="img"( class="lost")? aria-label="([^"]*)">(.*?)</svg>',
                          reports['html'].decode())
    assert len(events) == len(drawings) > 8
    middles = {'client': 20, 'wire': 60, 'server': 100, 'count': 140}
    for event, (lost, words, drawing) in zip(events, drawings):
        start, end = middles[event['from']], middles[event['to']]
        if start == end:
            assert (words, drawing) == (event['from'], f'<circle class="full" cx="{start}" cy="8" r="5"/>')
            continue
        assert words == f"{event['from']} to {event['to']}" + (', lost' if event['lost'] else '')
        assert bool(lost) == event['lost'] == ('class="cross"' in drawing)
        assert drawing.startswith(f'<path class="way" d="M{start} 8H')
        tip = int(re.search(r'd="M\d+ 8H(\d+)"', drawing)[1])
        assert (tip > start) == (end > start)
    assert {event['to'] for event in events if event['text'].startswith('POST')} <= {'wire', 'server'}


def test_table(reports):
    # Shows that a line is a case's own, and the last one counts.
    text = reports['table'].decode()
    assert re.findall(r'^  (?:ok  |FAIL|n/a |\?\?\?\?)  ([a-z-]+)', text, re.M) == CASES
    assert re.fullmatch(r'\d+ passed, \d+ failed, \d+ not applicable, \d+ not judged', text.splitlines()[-1])
