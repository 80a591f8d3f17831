"""`counterfoil call` with a journal of its own, as an agent runs it."""
import json
import os
import signal
import subprocess

from .gate import BINARY


class Called:
    """How one run ended: its exit status, its result, and what it said on the side."""

    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr
        self.result = json.loads(stdout) if stdout.startswith('{') else None

    def __getitem__(self, name):
        assert self.result is not None, self
        return self.result[name]

    def __repr__(self):
        return f'<exit {self.status}: {self.stdout!r} {self.stderr!r}>'


class Caller:
    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.journal = directory / 'state' / 'counterfoil' / 'journal.db'
        self.env = {name: value for name, value in os.environ.items()
                    if not name.lower().endswith('_proxy')}
        self.env.update(XDG_STATE_HOME=str(directory / 'state'), HOME=str(directory))
        for name in ('COUNTERFOIL_JOURNAL', 'COUNTERFOIL_CREDENTIAL'):
            self.env.pop(name, None)

    def command(self, *arguments, env=None, stdin=None, seconds=60):
        done = subprocess.run([str(BINARY), 'call', *map(str, arguments)], input=stdin,
                              capture_output=True, timeout=seconds, cwd=self.directory,
                              env={**self.env, **(env or {})})
        return Called(done.returncode, done.stdout.decode(), done.stderr.decode())

    @staticmethod
    def line(url, body=None, *, method='POST', task='task', step='step', key=None, wait=5, more=()):
        named = ['--key', key] if key else ['--task', task, '--step', step]
        data = [] if body is None else ['-d', body if isinstance(body, str) else json.dumps(body)]
        return [method, url, *named, *data, '--wait', wait, *more]

    def call(self, url, body=None, *, env=None, stdin=None, **words):
        return self.command(*self.line(url, body, **words), env=env, stdin=stdin)

    def begin(self, url, body=None, **words):
        """The same, not waited for."""
        return subprocess.Popen([str(BINARY), 'call', *map(str, self.line(url, body, **words))],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env,
                                cwd=self.directory)

    @staticmethod
    def end(process, seconds=60):
        stdout, stderr = process.communicate(timeout=seconds)
        return Called(process.returncode, stdout.decode(), stderr.decode())

    @staticmethod
    def kill9(process):
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def entries(self, *arguments):
        return self.command('list', '--json', *arguments)['entries']
