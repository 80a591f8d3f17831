"""`drill`: it passes what is right, catches what is not, each by the case that is made for it."""
import json
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

from harness.gate import BINARY, ROOT, command, config

EXAMPLES = ROOT / 'examples' / 'drill'
KEYED = pathlib.Path(__file__).parent / 'harness' / 'keyed.py'
SECONDS = 120
CASES = ['replay', 'copies', 'changed-body', 'reordered-body', 'answer-dropped', 'answer-halved',
         'cut-before-work', 'request-duplicated', 'answer-delayed', 'client-restarted', 'server-killed',
         'restart-remembers', 'error-not-cached', 'key-missing', 'key-empty', 'key-too-long',
         'two-accounts', 'other-route', 'credential-revoked', 'expiry']


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for unused in sockets:
        unused.bind(('127.0.0.1', 0))
    ports = [unused.getsockname()[1] for unused in sockets]
    for unused in sockets:
        unused.close()
    return ports


class Drilled:
    """One run: its status, and each case of its JSON report by name."""

    def __init__(self, done):
        self.status, self.stderr = done.returncode, done.stderr
        assert done.stdout, done.stderr
        scenarios = json.loads(done.stdout)['scenarios']
        self.cases = {case['name']: case for scenario in scenarios for case in scenario['cases']}

    def of(self, verdict):
        return [name for name, case in self.cases.items() if case['verdict'] == verdict]

    def __repr__(self):
        return '\n'.join(f'{c["verdict"]}: {name}: {c["seen"]}' for name, c in self.cases.items())


def drill(folder, text, *options):
    file = folder / 'scenario.yaml'
    file.write_text(text)
    return Drilled(command('drill', file, '--json', *options, cwd=folder, seconds=SECONDS,
                           env={'COUNTERFOIL': str(BINARY)}))


def example(folder, name, ports):
    """An example, and the files beside it, on other ports."""
    (folder / 'examples' / 'drill').mkdir(parents=True, exist_ok=True)
    for file in EXAMPLES.glob('*.yaml'):
        text = file.read_text()
        for known, port in zip((8080, 8081, 9000), ports):
            text = text.replace(f'127.0.0.1:{known}', f'127.0.0.1:{port}')
        (folder / 'examples' / 'drill' / file.name).write_text(text)
    return (folder / 'examples' / 'drill' / f'{name}.yaml').read_text()


# -- the gate, and without it ------------------------------------------------------------

def test_behind_the_gate_all_passes(sandbox, tmp_path):
    # Shows that what applies passes behind a gate that is killed at work: the example as it is.
    text = example(tmp_path, 'ticket-gate', [*free_ports(2), sandbox.port])
    drilled = drill(tmp_path, text)
    assert drilled.status == 0, drilled
    assert drilled.of('not_applicable') == ['credential-revoked']
    assert drilled.of('pass') == [name for name in CASES if name != 'credential-revoked']
    assert 'nobody knows' not in drilled.cases['answer-dropped']['seen']


def test_a_gate_that_cannot_find_out(sandbox, tmp_path):
    # Shows that an honest "nobody knows" passes where an answer was lost, and is said.
    text = example(tmp_path, 'ticket-gate', [*free_ports(2), sandbox.port])
    gate = tmp_path / 'examples' / 'drill' / 'gate.yaml'
    gate.write_text(gate.read_text().partition('    # After a lost answer')[0])
    drilled = drill(tmp_path, text.replace('settle: 5s', 'settle: 1s'), '--case', 'server-killed',
                    '--case', 'replay')
    assert drilled.status == 0, drilled
    assert re.search(r'[1-7] that nobody knows', drilled.cases['server-killed']['seen'])


def test_with_keys_of_the_gate(start_gate, sandbox, tmp_path):
    # Shows that a revoked key of the gate's own is told no replay, and that keys tell accounts apart.
    gate = start_gate(None, config(sandbox.url, accounts={'from': 'key'}))
    keys = {name: gate.key(account=name) for name in ('first', 'second', 'third')}
    secret = {name: f'Authorization: Bearer {key["key"]}' for name, key in keys.items()}
    text = example(tmp_path, 'ticket-gate', [gate.port, gate.admin_port, sandbox.port])
    text = text.partition('# The drill starts')[0].replace('Authorization: Bearer drill-a', secret['first'])
    text = text.replace('Authorization: Bearer drill-b', secret['second'])
    text += (f'revoke: {{headers: {{{secret["third"]}}}, command: \'"$COUNTERFOIL" key revoke '
             f'{keys["third"]["id"]} --why drill --data {gate.data}\'}}\nsettle: 2s\n')
    drilled = drill(tmp_path, text)
    assert drilled.status == 0, drilled
    assert {'two-accounts', 'credential-revoked', 'other-route'} <= set(drilled.of('pass')), drilled
    assert set(drilled.of('not_applicable')) == {'server-killed', 'restart-remembers', 'expiry'}
    assert 'server.start' in drilled.cases['server-killed']['seen']


def test_the_practice_api_alone_fails(tmp_path):
    # Shows that an API without keys fails by its duplicates, and that the drill ends what it started.
    ports = free_ports(3)
    drilled = drill(tmp_path, example(tmp_path, 'ticket-bare', ports))
    assert drilled.status == 1, drilled
    assert {'replay', 'copies', 'changed-body', 'reordered-body', 'answer-dropped', 'answer-halved',
            'request-duplicated', 'client-restarted', 'restart-remembers', 'key-missing',
            'key-empty'} <= set(drilled.of('fail')), drilled
    assert {'cut-before-work', 'key-too-long'} <= set(drilled.of('pass')), drilled
    assert drilled.cases['copies']['seen'].startswith('effects: 21 ')
    halved = [event['text'] for event in drilled.cases['answer-halved']['events'] if event['actor'] == 'client']
    assert halved[1].startswith('was told no answer')
    assert subprocess.run(['curl', '-s', f'http://127.0.0.1:{ports[2]}/effects'],
                          stdout=subprocess.DEVNULL).returncode == 7


def test_over_tls(start_gate, sandbox, certs, tmp_path):
    # Shows that an https target is drilled too, the faulty wire included, and verified.
    gate = start_gate(None, config(sandbox.url, tls={'certificate': certs.certificate, 'key': certs.key}),
                      tls=certs.client())
    text = example(tmp_path, 'ticket-gate', [gate.port, gate.admin_port, sandbox.port])
    text = text.partition('# The drill starts')[0].replace('http://127.0.0.1:%d' % gate.port,
                                                           'https://localhost:%d' % gate.port)
    cases = [word for name in ('replay', 'answer-dropped', 'request-duplicated') for word in ('--case', name)]
    refused = drill(tmp_path, text + 'server: {ready: {within: 300ms}}\n', *cases)
    assert refused.status == 3 and len(refused.of('error')) == 3
    drilled = drill(tmp_path, text + f'tls: {{ca_file: {certs.ca}}}\n', *cases)
    assert drilled.status == 0 and len(drilled.of('pass')) == 3, drilled


# -- servers with one fault --------------------------------------------------------------

def keyed(folder, fault):
    port, things = free_ports(1)[0], folder / 'things'
    return f'''
name: make a thing
target: http://127.0.0.1:{port}
write:
  path: /things
  headers: {{Authorization: Bearer a}}
  body: {{title: "{{marker}}", amount: 12.50, parts: [1, two]}}
key: {{max_length: 64}}
id: /id
effects: {{get: "/things?title={{marker}}", count: /data}}
resource: {{get: "/things/{{id}}", equals: {{/title: "{{marker}}", /amount: 12.5}}}}
second_account: {{headers: {{Authorization: Bearer b}}}}
other_write:
  path: /others
  headers: {{Authorization: Bearer a}}
  body: {{title: "{{marker}}"}}
  effects: {{get: "/others?title={{marker}}", count: /data}}
server:
  start: exec /usr/bin/python3 {KEYED} {port} {things} {fault}
  ready: {{get: /things}}
expiry: {{clock: touch {things}.tomorrow, then: new}}
revoke: {{command: touch {things}.revoked, headers: {{Authorization: Bearer c}}}}
failing: {{headers: {{X-Fail: "500"}}}}
slow: {{headers: {{X-Slow: "40"}}}}
settle: 3s
'''


def test_a_right_server_passes_everything(tmp_path):
    # Shows that no case fails a server that keeps key and effect in one transaction.
    drilled = drill(tmp_path, keyed(tmp_path, ''))
    assert drilled.status == 0, drilled
    assert drilled.of('pass') == CASES


@pytest.mark.parametrize('fault, caught, may_fail', [
    ('check-then-act', {'copies'}, {'request-duplicated', 'answer-delayed', 'client-restarted'}),
    ('caches-errors', {'error-not-cached'}, set()),
    ('forgets', {'restart-remembers', 'server-killed'}, set()),
])
def test_a_fault_is_caught_by_its_case(tmp_path, fault, caught, may_fail):
    # Shows that each fault fails the case that is made for it, and passes those it does not touch.
    drilled = drill(tmp_path, keyed(tmp_path, fault))
    assert drilled.status == 1, drilled
    assert caught <= set(drilled.of('fail')) <= caught | may_fail, drilled
    assert set(CASES) - caught - may_fail <= set(drilled.of('pass')), drilled


def test_an_effect_that_comes_late(tmp_path):
    # Shows that what was right when a case was judged is counted once more at the end.
    cases = ['replay', 'key-missing', 'key-empty', 'key-too-long']
    drilled = drill(tmp_path, keyed(tmp_path, 'late'), *(word for name in cases for word in ('--case', name)))
    assert drilled.status == 1 and drilled.of('fail') == ['replay'], drilled
    assert drilled.of('pass') == cases[1:], drilled
    assert drilled.cases['replay']['effects'] == {'before': 0, 'after': 2, 'wanted': 1}


# -- what cannot be judged, and what is wrong --------------------------------------------

def test_a_target_that_is_not_there(tmp_path):
    # Shows that nothing passes or fails where nothing answers: it could not be judged.
    text = keyed(tmp_path, '').partition('server:')[0] + 'server: {ready: {within: 300ms}}\n'
    drilled = drill(tmp_path, text)
    assert drilled.status == 3, drilled
    assert drilled.of('error') == CASES


def test_a_count_that_cannot_be_had(sandbox, tmp_path):
    # Shows that a case without a count is no pass, whatever the answers were.
    text = (f'target: {sandbox.url}\nwrite: {{path: /v1/tickets, body: {{title: "{{marker}}"}}}}\nid: /id\n'
            f'effects: {{get: "/v1/tickets?title={{marker}}", count: /absent}}\n')
    drilled = drill(tmp_path, text, '--case', 'replay')
    assert drilled.status == 3 and drilled.of('error') == ['replay']
    assert '/absent' in drilled.cases['replay']['seen']


@pytest.mark.parametrize('effects', ['{{command: "curl -s {url}/v1/tickets?title=\\"{{marker}}\\" | grep -o tkt_ | wc -l"}}',
                                     '{{sandbox: "{url}", kind: tickets}}'])
def test_other_ways_to_count(sandbox, tmp_path, effects):
    # Shows that commands and the practice API's own totals count as well.
    effects = effects.format(url=sandbox.url, marker='{marker}')
    text = (f'target: {sandbox.url}\nwrite: {{path: /v1/tickets, body: {{title: "{{marker}}"}}}}\nid: /id\n'
            f'effects: {effects}\nkey: {{required: false}}\nsettle: 500ms\n')
    drilled = drill(tmp_path, text, '--case', 'replay', '--case', 'key-too-long', '--case', 'key-missing')
    assert drilled.status == 1, drilled
    assert drilled.of('fail') == ['replay'] and drilled.of('pass') == ['key-too-long']
    assert drilled.of('not_applicable') == ['key-missing']
    assert 'effects: 2 ' in drilled.cases['replay']['seen']


def test_a_wrong_scenario_says_everything(sandbox, tmp_path):
    # Shows that all errors of all files are told with their places, and that nothing was sent.
    first, second = tmp_path / 'first.yaml', tmp_path / 'second.yaml'
    first.write_text(f'target: {sandbox.url}\nwrite: {{path: /v1/tickets, metod: PUT}}\nid: /id\n'
                     f'effects: {{sandbox: "{sandbox.url}", kind: tickets}}\ncopies: many\n')
    second.write_text('target: nowhere\n')
    done = command('drill', first, second)
    assert done.returncode == 2 and done.stdout == ''
    assert f'{first}:2:28: ' in done.stderr and 'did you mean method?' in done.stderr
    assert f'{first}:5:9: copies is no number' in done.stderr
    assert f'{second}:1:9: target ' in done.stderr and 'write.path is missing' in done.stderr
    assert sandbox.effects()['total'] == 0


@pytest.mark.parametrize('words, told', [
    ([], 'needs SCENARIO'), (['absent.yaml'], 'absent.yaml'),
    (['x.yaml', '--case', 'replays'], 'did you mean "replay"?'),
    (['x.yaml', '--skip', 'nonsense'], 'counterfoil drill cases'),
    (['x.yaml', '--report', 'pdf'], 'no report "pdf"'), (['x.yaml', '--target'], 'needs a value'),
    (['x.yaml', '--target', 'a', '--target', 'b'], 'given twice'),
])
def test_a_wrong_command_line(tmp_path, words, told):
    # Shows that a wrong command line is 2, with what would have been right.
    done = command('drill', *words, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ''
    assert told in done.stderr


def test_the_command_line_wins(sandbox, tmp_path):
    # Shows that --target takes the scenario's place, and that --skip leaves a case out.
    text = (f'target: http://127.0.0.1:9\nwrite: {{path: /v1/tickets, body: {{title: "{{marker}}"}}}}\nid: /id\n'
            f'effects: {{get: "{sandbox.url}/v1/tickets?title={{marker}}", count: /data}}\nsettle: 200ms\n')
    drilled = drill(tmp_path, text, '--target', sandbox.url, '--case', 'replay', '--case', 'key-missing',
                    '--skip', 'replay')
    assert list(drilled.cases) == ['key-missing'] and drilled.of('fail') == ['key-missing']


def test_reports_go_where_they_are_wanted(sandbox, tmp_path):
    # Shows that several reports are written at once, each to its place.
    file = tmp_path / 's.yaml'
    file.write_text(f'target: {sandbox.url}\nwrite: {{path: /v1/tickets, body: {{title: "{{marker}}"}}}}\nid: /id\n'
                    f'effects: {{get: "/v1/tickets?title={{marker}}", count: /data}}\nsettle: 200ms\n')
    done = command('drill', file, '--case', 'key-too-long', '--report', 'table', '--report', 'junit=j.xml',
                   '--report', 'json', '--output', 'o.json', cwd=tmp_path)
    assert done.returncode == 0, done
    assert 'key-too-long' in (tmp_path / 'j.xml').read_text()
    assert 'key-too-long' in (tmp_path / 'o.json').read_text()
    unwritten = command('drill', file, '--case', 'key-too-long', '--output', 'absent/o', cwd=tmp_path)
    assert unwritten.returncode == 3 and 'absent/o' in unwritten.stderr


# -- what it says of itself --------------------------------------------------------------

def test_cases_are_listed():
    # Shows that every case is listed with what it proves and why.
    done = command('drill', 'cases')
    assert done.returncode == 0 and re.findall(r'^([a-z-]+)$', done.stdout, re.M) == CASES
    assert done.stdout.count('Why: ') == len(CASES)


def test_the_guide_has_everything():
    # Shows that the guide has every case and every key of a scenario, and no case that is none.
    guide = (ROOT / 'docs' / 'guide' / 'drill.md').read_text()
    table = (ROOT / 'src' / 'drill' / 'scenario_table.c').read_text()
    keys = re.findall(r'\{\s*"([a-z_.]+)",\s*SCENARIO_', table)
    assert len(keys) > 40
    assert [key for key in keys if f'`{key}`' not in guide] == []
    cases = guide.partition('## The cases')[2].partition('**Verdicts.**')[0]
    assert re.findall(r'^\| `([a-z-]+)` \| ', cases, re.M) == CASES


def test_the_first_scenario_of_the_guide(sandbox, start_gate, tmp_path):
    # Shows that the scenario which is enough to begin is one.
    guide = (ROOT / 'docs' / 'guide' / 'drill.md').read_text()
    text = re.search(r'```yaml\n(.*?)```', guide, re.S)[1]
    gate = start_gate(sandbox, config(sandbox.url))
    text = text.replace('127.0.0.1:8080', f'127.0.0.1:{gate.port}').replace('127.0.0.1:9000',
                                                                          f'127.0.0.1:{sandbox.port}')
    drilled = drill(tmp_path, text, '--case', 'replay', '--case', 'answer-dropped', '--case', 'copies')
    assert drilled.status == 0 and len(drilled.of('pass')) == 3, drilled


def has_ended(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except FileNotFoundError:
        return True


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_what_it_started(tmp_path, number):
    # Shows that Ctrl-C in the middle of a case leaves no server behind.
    text = keyed(tmp_path, '').replace('exec /usr', f'echo $$ >{tmp_path}/pid; exec /usr')
    (tmp_path / 's.yaml').write_text(text.replace('X-Slow: "40"', 'X-Slow: "20000"'))
    process = subprocess.Popen([BINARY, 'drill', 's.yaml', '--case', 'client-restarted'], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (tmp_path / 'things').exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(20) == 128 + number
    pid = int((tmp_path / 'pid').read_text())
    while not has_ended(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
