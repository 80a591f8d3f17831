"""The README, its pages, man page and completion against the program: what they show is what it does."""
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import threading

import pytest

from harness.gate import BINARY, ROOT, drain
from harness.walk import blocks, walk

README = (ROOT / 'README.md').read_text()
OPERATING = ROOT / 'docs' / 'guide' / 'operating.md'
CALLING = ROOT / 'docs' / 'guide' / 'calling.md'
READY_SECONDS = 30
COMMANDS = ['serve', 'sandbox', 'op list', 'op show', 'op cancel', 'op resolve', 'op locks', 'op release',
            'key create', 'key list', 'key revoke', 'secret set', 'secret list', 'secret rm',
            'vault show', 'vault rotate', 'vault rewrap', 'audit show', 'audit export', 'audit verify', 'drill', 'config check', 'config example', 'config schema', 'config import-openapi']


def free_port():
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        return unused.getsockname()[1]


def heed_interrupts():
    """As in a terminal: bash cannot trap a signal that is ignored when it starts (nohup, `&`)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Run:
    """`make run` without the build: tools/run over the built program, on free ports."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = {'LISTEN': free_port(), 'ADMIN': free_port(), 'SANDBOX': free_port()}
        (folder / 'counterfoil').symlink_to(BINARY)
        addresses = {name: f'127.0.0.1:{port}' for name, port in self.ports.items()}
        self.process = subprocess.Popen(
            [ROOT / 'tools' / 'run', folder / 'counterfoil'], env={**os.environ, **addresses},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_interrupts)
        self.stdout, self.stderr = [], []
        self.ready = threading.Event()
        drain(self.process.stderr, self.stderr)
        threading.Thread(target=self._read, daemon=True).start()
        if not self.ready.wait(READY_SECONDS):
            self.stop()
            raise AssertionError(f'tools/run said {self.stdout} {self.stderr}')

    def _read(self):
        for line in self.process.stdout:
            self.stdout.append(line.decode())
            if 'Ctrl-C stops both' in self.stdout[-1]:
                self.ready.set()

    def localised(self, command):
        """A command of the README, with this run's program, folder and ports."""
        for written, own in self._pairs():
            command = command.replace(written, own)
        return command

    def as_written(self, text):
        for written, own in self._pairs():
            text = text.replace(own, written)
        return text

    def _pairs(self):
        return [('build/run', str(self.folder / 'run')),
                ('build/counterfoil', str(self.folder / 'counterfoil')),
                ('127.0.0.1:8080', f'127.0.0.1:{self.ports["LISTEN"]}'),
                ('127.0.0.1:8081', f'127.0.0.1:{self.ports["ADMIN"]}'),
                ('127.0.0.1:9000', f'127.0.0.1:{self.ports["SANDBOX"]}')]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            assert self.process.wait(30) == 0
        finally:
            self.process.kill()
        assert not (self.folder / 'run').exists()


@pytest.fixture
def run(tmp_path):
    one = Run(tmp_path)
    yield one
    one.stop()


def test_make_run_where_an_address_is_taken(tmp_path):
    # Shows that somebody else's program at an address is not taken for our own.
    (tmp_path / 'counterfoil').symlink_to(BINARY)
    other = subprocess.Popen([BINARY, 'sandbox', '--listen', '127.0.0.1:0'], stdout=subprocess.PIPE,
                             stdin=subprocess.DEVNULL)
    try:
        taken = re.search(r'http://(\S+)', other.stdout.readline().decode())[1]
        addresses = {name: f'127.0.0.1:{free_port()}' for name in ('LISTEN', 'ADMIN')}
        done = subprocess.run([ROOT / 'tools' / 'run', tmp_path / 'counterfoil'], text=True, timeout=30,
                              env={**os.environ, **addresses, 'SANDBOX': taken},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        other.terminate()
        assert other.wait(10) == 0
        other.stdout.close()
    assert done.returncode == 1 and done.stdout == ''
    assert 'practice API did not start' in done.stderr and taken in done.stderr
    assert 'SANDBOX=' in done.stderr


def joined(text):
    """Without the line breaks that a backslash takes away."""
    return re.sub(r'\\\n\s*', '', text)


def test_the_walk_through(run):
    # Shows that every command of the walk-through works, and prints what the README says.
    assert walk(README, run.localised) >= 10


def test_make_run_says_what_the_readme_says(run):
    # Shows that the commands tools/run prints are the README's, word for word.
    printed = run.as_written(''.join(run.stdout))
    commands = [line for line in joined(printed).splitlines()
                if re.match(r'\s+(curl|build/counterfoil) ', line)]
    written = [shlex.split(joined(command)) for _, command in blocks(README, 'try')[0::2]]
    assert len(commands) >= 4
    for command in commands:
        assert shlex.split(command) in written, command


def test_the_configuration_is_a_good_one(tmp_path, certs):
    # Shows that each configuration of the README passes `config check`.
    files = tmp_path / 'etc'
    files.mkdir()
    (files / 'gate.crt').symlink_to(certs.certificate)
    (files / 'gate.key').symlink_to(certs.key)
    texts = [text for _, text in blocks(README, 'config')]
    assert texts
    texts.append((ROOT / 'examples' / 'practice.yaml').read_text())
    for text in texts:
        file = tmp_path / 'gate.yaml'
        file.write_text(text.replace('/etc/counterfoil', str(files)))
        done = subprocess.run([BINARY, 'config', 'check', file], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr


def test_what_the_readme_names_is_there():
    # Shows that the README's links lead to files, and its make targets and metrics exist.
    targets = re.findall(r'\]\(([^)#:]+)\)', README)
    assert targets and all((ROOT / target).exists() for target in targets)
    makefile = (ROOT / 'Makefile').read_text()
    for name in set(re.findall(r'(?:`|^)make ([a-z-]+)', README, re.MULTILINE)):
        assert re.search(rf'^{name}:', makefile, re.MULTILINE), name


@pytest.mark.parametrize('page', [OPERATING, CALLING])
def test_what_a_page_names_is_there(page):
    # Shows that the links of a page lead to files.
    targets = re.findall(r'\]\(([^)#:]+)(?:#[a-z-]+)?\)', page.read_text())
    assert all((page.parent / target).exists() for target in targets)


def test_words_of_callers(gate):
    # Shows that the page for callers has every advice and every outcome that the gate has, but for those
    # that no gate of this build gives.
    page = CALLING.read_text()
    told = set(re.findall(r'^\| `([a-z_]+)` \|', page, re.MULTILINE))
    metrics = gate.operator('/metrics').body.decode()
    outcomes = set(re.findall(r'requests_total\{outcome="([a-z_]+)"\}', metrics))
    states = set(re.findall(r'operations_open\{state="([a-z_]+)"\}', metrics))
    advice = {'wait', 'query', 'same_key', 'new_key', 'fix', 'human', 'stop'}
    later = {'awaiting_approval', 'denied', 'none'}
    assert (outcomes | states | advice) - later <= told


def test_its_metrics(gate):
    # Shows that each metric that operators are told to look at is one the gate has.
    metrics = gate.operator('/metrics').body.decode()
    names = set(re.findall(r'counterfoil_[a-z_]+(?:\{[^}`]*\})?', OPERATING.read_text()))
    assert len(names) >= 4
    for name in names:
        assert f'\n{name} ' in metrics or f'\n{name}{{' in metrics, name


def options_of(command):
    done = subprocess.run([BINARY, 'help', *command.split()], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    listed = done.stdout.partition('Options:')[2]
    return set(re.findall(r'^  (--[a-z-]+)', listed, re.MULTILINE))


@pytest.mark.parametrize('command', COMMANDS)
def test_completion_offers_every_option(command):
    # Shows that bash offers exactly the options that the command has, and --help.
    script = ROOT / 'packaging' / 'completion' / 'counterfoil.bash'
    words = ['counterfoil', *command.split(), '--']
    asked = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _counterfoil; '
             'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(['bash', '-c', asked, script, *words], stdout=subprocess.PIPE, text=True)
    assert set(done.stdout.split()) == options_of(command) | {'--help'}


@pytest.mark.parametrize('command', COMMANDS)
def test_the_man_page_has_every_option(command):
    # Shows that counterfoil(1) speaks of each option that the command has.
    page = (pathlib.Path(ROOT) / 'docs' / 'man' / 'counterfoil.1').read_text().replace('\\-', '-')
    known = set(re.findall(r'--[a-z-]+', page))
    assert options_of(command) <= known
