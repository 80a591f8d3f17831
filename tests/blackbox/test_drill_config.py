"""`drill --config`: what a configuration claims is tried, what it lacks is said, nothing of ours is touched."""
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from harness.gate import BINARY, ROOT, command
from harness.upstream import Upstream

SECONDS = 150
EXAMPLES = sorted([*ROOT.glob('examples/*.yaml'), ROOT / 'examples' / 'drill' / 'gate.yaml'])
PLAIN = textwrap.dedent("""\
    upstreams: {default: {url: "http://127.0.0.1:9"}}
    actions:
      refunds.create:
        route: POST /v1/refunds
        fields:
          payment_id: {type: string, required: true}
    """)
UNIQUE = PLAIN + '    unique: {by: [payment_id], for: forever}\n'

# A gate that knows no tokens: it starts like one, and sends on whatever it is sent.
HOLLOW = textwrap.dedent("""\
    #!{python}
    import http.client, http.server, re, sys
    upstream = re.search(r'127\\.0\\.0\\.1:([1-9][0-9]*)', open(sys.argv[3]).read()).group(1)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
            there = http.client.HTTPConnection('127.0.0.1', int(upstream), timeout=10)
            try:
                there.request('POST', self.path, body, {{'Content-Type': 'application/json'}})
                answer = there.getresponse()
                status, body = answer.status, answer.read()
            except OSError:
                status, body = 502, b'{{}}'
            self.send_response(status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    print(f'counterfoil: gate on http://127.0.0.1:{{server.server_port}}, admin on http://127.0.0.1:1, none',
          flush=True)
    server.serve_forever()
    """).format(python=sys.executable)


def rehearse(file, folder, *options):
    """Status, and {action: {case: (verdict, seen)}}."""
    done = command('drill', '--config', file, '--json', *options, cwd=folder, seconds=SECONDS,
                   env={'TMPDIR': str(folder)})
    assert done.stdout, done.stderr
    return done.returncode, {
        scenario['name']: {case['name']: case for case in scenario['cases']}
        for scenario in json.loads(done.stdout)['scenarios']}


def written(folder, text):
    file = folder / 'counterfoil.yaml'
    file.write_text(text)
    return file


@pytest.mark.parametrize('file', EXAMPLES, ids=lambda file: file.stem)
def test_an_example(file, tmp_path):
    # Shows that every example keeps what it claims, and that nothing is left behind.
    status, actions = rehearse(file, tmp_path)
    assert status == 0, actions
    assert 'all other writes' in actions
    for name, cases in actions.items():
        if name == 'all other writes':
            continue
        assert cases['replay']['verdict'] == 'pass', cases['replay']
        assert cases['copies']['verdict'] == 'pass', cases['copies']
        assert cases['answer-dropped']['verdict'] == 'pass', cases['answer-dropped']
    assert list(tmp_path.iterdir()) == []


def test_without_a_business_key(tmp_path):
    # Shows that an action without `unique` is said to be done twice by two agents, with the count.
    status, actions = rehearse(written(tmp_path, PLAIN), tmp_path)
    cases = actions['refunds.create']
    assert status == 0
    assert 'refunds.create: token yes, business key none' in cases['protection']['seen']
    assert 'two agents with two tokens would do refunds.create twice' in cases['gaps']['seen']
    assert cases['two-tokens']['verdict'] == 'not_applicable'
    assert 'did refunds.create 2 times' in cases['two-tokens']['seen']


def test_with_a_business_key(tmp_path):
    # Shows that `unique` is tried, and holds.
    status, actions = rehearse(written(tmp_path, UNIQUE), tmp_path)
    assert (status, actions['refunds.create']['two-tokens']['verdict']) == (0, 'pass')


def test_rules_are_tried(tmp_path):
    # Shows that lock, budget and approval of the examples are tried, not only declared.
    _, payments = rehearse(ROOT / 'examples' / 'payments.yaml', tmp_path)
    assert payments['refunds.create']['budget']['verdict'] == 'pass', payments['refunds.create']
    _, deployments = rehearse(ROOT / 'examples' / 'deployments.yaml', tmp_path)
    assert deployments['deployments.create']['lock']['verdict'] == 'pass'
    _, approvals = rehearse(ROOT / 'examples' / 'approvals.yaml', tmp_path)
    assert approvals['refunds.create']['approval']['verdict'] == 'pass'


def test_a_claim_that_does_not_hold(tmp_path):
    # Shows that a gate without any protection fails what the configuration claims, by count.
    hollow = tmp_path / 'hollow'
    hollow.write_text(HOLLOW)
    hollow.chmod(hollow.stat().st_mode | stat.S_IXUSR)
    status, actions = rehearse(written(tmp_path, UNIQUE), tmp_path, '--gate', hollow)
    cases = actions['refunds.create']
    assert status == 1
    for name in ['key-missing', 'replay', 'copies', 'changed-body', 'reordered-body', 'two-tokens',
                 'answer-dropped']:
        assert cases[name]['verdict'] == 'fail', cases[name]
    assert '2 effects where 1 was wanted' in cases['replay']['seen']


def test_nothing_of_the_users_is_touched(tmp_path):
    # Shows that no upstream of the file is spoken to, and that its data directory stays as it is not.
    upstream = Upstream()
    try:
        text = UNIQUE.replace('http://127.0.0.1:9', upstream.url) + 'data: ./mine\n'
        status, _ = rehearse(written(tmp_path, text), tmp_path)
        assert status == 0
        assert upstream.seen() == []
    finally:
        upstream.stop()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ['counterfoil.yaml']


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize('moment', ['.', 'data/counterfoil.db', 'data/admin-token'])
def test_an_interrupt_leaves_nothing_behind(tmp_path, number, moment):
    # Shows that Ctrl-C at any moment ends the gate on stage, and takes its folder along.
    folder = tmp_path / 'temporary'
    folder.mkdir()
    process = subprocess.Popen([str(BINARY), 'drill', '--config', str(ROOT / 'examples' / 'payments.yaml')], cwd=tmp_path,
                               env={**os.environ, 'TMPDIR': str(folder)}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not list(folder.glob(f'counterfoil-rehearsal-*/{moment}')):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(number)
    assert process.wait(20) == 128 + number
    assert list(folder.iterdir()) == []
    gates = [each for each in pathlib.Path('/proc').glob('[0-9]*/cmdline') if str(folder).encode() in content(each)]
    assert gates == []


def content(file):
    try:
        return file.read_bytes()
    except OSError:
        return b''


def test_a_wrong_configuration(tmp_path):
    # Shows that a wrong file is status 2, with its place, and nothing is started.
    file = written(tmp_path, PLAIN.replace('route', 'rout'))
    done = command('drill', '--config', file, cwd=tmp_path, env={'TMPDIR': str(tmp_path)})
    assert done.returncode == 2
    assert f'{file}:4:' in done.stderr
    assert done.stdout == ''


def test_a_gate_that_does_not_start(tmp_path):
    # Shows that a rehearsal without a gate is status 3, and no verdict.
    done = command('drill', '--config', written(tmp_path, PLAIN), '--gate', '/bin/false', cwd=tmp_path,
                   env={'TMPDIR': str(tmp_path)})
    assert done.returncode == 3
    assert 'did not start' in done.stderr
    assert os.listdir(tmp_path) == ['counterfoil.yaml']


@pytest.mark.parametrize('line', [['--config', 'x', 'y.yaml'], [], ['y.yaml', '--gate', str(BINARY)],
                                  ['--config', 'x', '--case', 'replay']], ids=str)
def test_misuse(tmp_path, line):
    # Shows that scenarios and a configuration do not go together.
    assert command('drill', *line, cwd=tmp_path).returncode == 2
