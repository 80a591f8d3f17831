"""The command line: usage, help, configuration files and what is wrong with them."""
import socket
import json
import re

import pytest

from harness.gate import command


def test_version():
    # Shows that --version says which program and version this is, and ends well.
    done = command('--version')
    assert done.returncode == 0 and done.stderr == ''
    assert re.match(r'counterfoil \d+\.\d+', done.stdout)


@pytest.mark.parametrize('arguments', [['help'], ['--help'], ['help', 'serve'], ['help', 'sandbox'],
                                       ['help', 'op'], ['help', 'op', 'resolve'], ['help', 'config'],
                                       ['help', 'audit'], ['help', 'audit', 'verify']])
def test_help(arguments):
    # Shows that help is on stdout, and that asking for it is no mistake.
    done = command(*arguments)
    assert done.returncode == 0 and done.stdout.strip() and done.stderr == ''


@pytest.mark.parametrize('arguments', [
    [], ['nonsense'], ['help', 'nonsense'], ['serve', '--nonsense'], ['serve', '--listen'],
    ['serve', '--listen', 'nowhere', '--upstream', 'http://127.0.0.1:9'],
    ['serve', '--listen', '127.0.0.1:99999', '--upstream', 'http://127.0.0.1:9'],
    ['serve', '--upstream', 'ftp://127.0.0.1:9'], ['serve', '--upstream', 'nonsense'],
    ['serve', 'extra', '--upstream', 'http://127.0.0.1:9'], ['op', 'show'], ['op', 'nonsense'],
    ['op', 'release', 'op_00000000000000000000000000'], ['op', 'locks', 'extra'],
    ['audit', 'verify'], ['audit', 'verify', '--vkey', 'nonsense'], ['audit', 'nonsense'],
    ['config', 'check'], ['sandbox', '--listen', 'nowhere'],
], ids=' '.join)
def test_usage_errors(tmp_path, arguments):
    # Shows that a wrong command line is 2, with a message on stderr and nothing on stdout.
    done = command(*arguments, cwd=tmp_path, seconds=10)
    assert done.returncode == 2, done
    assert done.stderr.strip() and done.stdout == ''


@pytest.mark.parametrize('arguments, needed', [(['op', 'show'], 'OP'), (['config', 'check'], 'FILE')])
def test_a_missing_word_is_named(arguments, needed):
    # Shows that a line which lacks a word is told which one.
    assert f'{" ".join(arguments)} needs {needed}\n' in command(*arguments).stderr


def test_a_list_of_commands_has_columns():
    # Shows that no name of a command runs into what it does.
    listed = command('help', 'config').stdout.partition('Commands:\n')[2].splitlines()
    assert len(listed) == 4 and len({re.search(r'\S(  +)\S', line).end() for line in listed}) == 1


def test_serve_without_an_upstream(tmp_path):
    # Shows that a gate in front of nothing is not started, and made no files.
    done = command('serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', cwd=tmp_path, seconds=10)
    assert done.returncode == 2 and 'upstream' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_serve_with_a_missing_file(tmp_path):
    # Shows that a configuration that is not there is said by name.
    done = command('serve', '--config', tmp_path / 'absent.yaml', cwd=tmp_path, seconds=10)
    assert done.returncode == 2 and 'absent.yaml' in done.stderr


def test_serve_with_a_port_that_is_taken(upstream, tmp_path):
    # Shows that a port in use is an error with the address in it, not a crash or a wait.
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        done = command('serve', '--upstream', upstream.url, '--listen', f'127.0.0.1:{port}',
                       '--admin', '127.0.0.1:0', '--data', tmp_path / 'data', seconds=10)
    assert done.returncode == 1 and str(port) in done.stderr


WRONG = """\
upstreams:
  default: {url: http://127.0.0.1:9000, tmeout: 1s}
tokens:
  retention: soon
  required: perhaps
limits:
  max_body: -1
undeclared: maybe
lisen: 127.0.0.1:8080
"""
WRONG_AT = {2: 'tmeout', 4: 'retention', 5: 'required', 7: 'max_body', 8: 'undeclared', 9: 'lisen'}


def check(tmp_path, text):
    file = tmp_path / 'some.yaml'
    file.write_text(text)
    return command('config', 'check', file)


def test_check_says_everything_at_once(tmp_path):
    # Shows that all errors are reported in one go, each as file:line:column with its subject.
    done = check(tmp_path, WRONG)
    assert done.returncode in (1, 2)
    places = {int(m[1]): m[0] for m in re.finditer(r'some\.yaml:(\d+):(\d+): .*', done.stderr)}
    lines = done.stderr.splitlines()
    for number, word in WRONG_AT.items():
        assert any(re.search(rf'some\.yaml:{number}:\d+: ', l) and word in l for l in lines), (number, word, lines)
    assert set(places) == set(WRONG_AT)


def test_serve_says_the_same(tmp_path):
    # Shows that serve refuses the same file with the same lines and status 2.
    file = tmp_path / 'some.yaml'
    file.write_text(WRONG)
    done = command('serve', '--config', file, cwd=tmp_path, seconds=10)
    assert done.returncode == 2
    for number in WRONG_AT:
        assert f'some.yaml:{number}:' in done.stderr


@pytest.mark.parametrize('text', [
    '', 'just text', '- a\n- list\n', 'upstreams: {default: {url: [}}\n', 'upstreams: {}\n',
    'upstreams: {default: {url: http://127.0.0.1:9}}\nupstreams: {}\n',
    'upstreams: {default: {url: http://127.0.0.1:9}}\ntokens: {retention: 1h, retention: 2h}\n',
    'upstreams: {default: {url: http://127.0.0.1:9}}\nlimits: [1, 2]\n',
    'upstreams: {default: {url: http://127.0.0.1:9}}\nprotect: POST\n',
    'a: &a [*a, *a]\n', '\t: x\n', 'upstreams: {default: {url: http://user:pass@127.0.0.1:9}}\n',
])
def test_check_refuses(tmp_path, text):
    # Shows that files that are no configuration are refused with a message, never a crash.
    done = check(tmp_path, text)
    assert done.returncode in (1, 2), done
    assert 'some.yaml' in done.stderr


def test_check_accepts(tmp_path):
    # Shows that a small good file is good.
    done = check(tmp_path, 'upstreams: {default: {url: "http://127.0.0.1:9000"}}\n')
    assert done.returncode == 0, done.stderr
    assert done.stderr == ''


def test_check_as_json(tmp_path):
    # Shows the same report for programs.
    file = tmp_path / 'some.yaml'
    file.write_text(WRONG)
    done = command('config', 'check', file, '--json')
    report = json.loads(done.stdout)
    assert report['ok'] is False
    assert {e['line'] for e in report['errors']} == set(WRONG_AT)
    assert all(e['column'] >= 1 and e['what'] and e['mend'] for e in report['errors'])


def test_the_example_is_good(tmp_path):
    # Shows that the example passes its own check, and that it speaks of the contract's settings.
    example = command('config', 'example')
    assert example.returncode == 0
    for word in ('upstreams', 'retention', 'tombstones', 'max_body', 'max_response', 'protect', 'undeclared'):
        assert word in example.stdout
    assert check(tmp_path, example.stdout).returncode == 0


def test_a_gate_from_a_file(start_gate, upstream, path, token):
    # Shows that a file alone starts a gate.
    from harness.gate import config
    gate = start_gate(upstream, config(upstream))
    assert gate.post(path, token).outcome == 'created'


def test_the_first_line(start_gate, upstream):
    # Shows that stdout is one line with both addresses and a console link.
    gate = start_gate(upstream)
    assert len(gate.stdout) == 1
    assert f':{gate.port}' in gate.stdout[0] and f':{gate.admin_port}' in gate.stdout[0]
    assert 'http' in gate.stdout[0]


@pytest.mark.parametrize('wrong', ['certificate', 'key', 'neither'])
def test_check_loads_certificates(tmp_path, certs, wrong):
    # Shows that `config check` says of a certificate or a key what `serve` would say.
    files = {'certificate': certs.certificate, 'key': certs.key}
    if wrong in files:
        files[wrong] = tmp_path / 'broken.pem'
        files[wrong].write_text('no PEM\n')
    done = check(tmp_path, 'upstreams: {default: {url: http://127.0.0.1:9000}}\n'
                 f'admin_tls: {{certificate: {files["certificate"]}, key: {files["key"]}}}\n')
    assert done.returncode == (0 if wrong == 'neither' else 2), done
    assert ('broken.pem' in done.stderr) == (wrong != 'neither')


def test_check_a_directory(tmp_path):
    # Shows that a directory in place of a file is not taken for a lack of rights.
    done = command('config', 'check', tmp_path)
    assert done.returncode == 2 and 'name a file' in done.stderr


def test_a_data_directory_that_cannot_be_made(upstream, tmp_path):
    # Shows that it is said what to make, and that this is a message and no failure of the store.
    done = command('serve', '--upstream', upstream.url, '--data', tmp_path / 'absent' / 'data', seconds=10)
    assert done.returncode == 1 and 'make the directory' in done.stderr
    assert '"failure"' not in done.stderr
