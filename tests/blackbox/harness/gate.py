"""The gate as a child process: start, talk, kill, reload, read its log and its memory.

A gate remembers every token and credential it was shown through `request()`; when it ends,
none of them may stand in its log, and no sanitizer may have complained.
"""
import json as json_module
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from .client import Connection

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILT = [ROOT / 'build' / 'counterfoil', ROOT / 'build' / 'src' / 'cli' / 'counterfoil']
BINARY = pathlib.Path(os.environ.get('COUNTERFOIL_BINARY') or
                      next((f for f in BUILT if f.is_file()), BUILT[0])).absolute()
ADDRESS = re.compile(r'(?:https?://)?(?:127\.0\.0\.1|localhost|\[::1\]):(\d+)')
START_SECONDS = 20
SANITIZERS = ('AddressSanitizer', 'LeakSanitizer', 'ThreadSanitizer', 'runtime error:')


class Gate:
    """
    `config` is a mapping (or YAML text) for a file, without it options do. `data` is kept
    over restarts. `preexec` runs in the child before the binary.
    """

    def __init__(self, directory, upstream=None, config=None, options=(), tls=None, preexec=None,
                 env=None, data=None):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.data = pathlib.Path(data or self.directory / 'data')
        self.upstream = getattr(upstream, 'url', upstream)
        self.config_file = self.directory / 'counterfoil.yaml'
        self.has_config = config is not None
        self.options, self.tls, self.preexec, self.env = list(options), tls, preexec, env or {}
        self.port = self.admin_port = 0
        self.process, self.log, self.stdout, self.secrets = None, [], [], set()
        if self.has_config:
            self.write_config(config)

    # -- life ------------------------------------------------------------------------

    def command(self):
        line = [str(BINARY), 'serve']
        if self.has_config:
            line += ['--config', str(self.config_file)]
        line += ['--listen', f'127.0.0.1:{self.port}', '--admin', f'127.0.0.1:{self.admin_port}',
                 '--data', str(self.data)]
        if self.upstream:
            line += ['--upstream', self.upstream]
        return line + self.options

    def launch(self):
        """Start the process without waiting for its first line."""
        self.process = subprocess.Popen(
            self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory,
            stdin=subprocess.DEVNULL, preexec_fn=self.preexec, env={**os.environ, **self.env})
        self.drains = [drain(self.process.stdout, self.stdout), drain(self.process.stderr, self.log)]
        return self

    def start(self):
        """Start, and read both addresses from the first line of stdout."""
        before = len(self.stdout)
        self.launch()
        deadline = time.monotonic() + START_SECONDS
        while True:
            ports = [p for line in self.stdout[before:] for p in ADDRESS.findall(line)]
            if len(ports) >= 2:
                break
            if self.process.poll() is not None:
                self._join()
                raise AssertionError(f'the gate ended with {self.process.returncode}: {self.tail()}')
            assert time.monotonic() < deadline, f'no addresses: {self.stdout} {self.tail()}'
            time.sleep(0.005)
        self.port, self.admin_port = int(ports[0]), int(ports[1])
        return self

    def restart(self):
        """Start again on the same data and the same ports."""
        assert not self.is_running
        return self.start()

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self):
        return self.process.pid

    def kill9(self):
        self.process.kill()
        self._join()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait_exit(self, seconds=15):
        """The exit status; fails when it does not end in time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'still running after {seconds} s: {self.tail()}') from None
        self._join()
        return self.process.returncode

    def stop(self):
        """End it however it takes; then look at what it logged."""
        if self.process is None:
            return
        if self.is_running:
            self.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._join()
        self.check_log()

    def _join(self):
        self.process.wait(10)
        for thread in self.drains:
            thread.join(5)

    # -- configuration ---------------------------------------------------------------

    def write_config(self, config):
        text = config if isinstance(config, str) else yaml(config)
        self.config_file.write_text(text)

    def signal_reload(self):
        self.process.send_signal(signal.SIGHUP)

    def reload(self, config):
        """Write a new file and say so; when it has been taken is for the test to see."""
        self.write_config(config)
        self.signal_reload()

    # -- log -------------------------------------------------------------------------

    def tail(self):
        return '\n'.join(self.log[-30:])

    def wait_log(self, text, since=0, seconds=5):
        """The first line that has `text` (without case) after `since`."""
        deadline = time.monotonic() + seconds
        while True:
            for line in self.log[since:]:
                if text.lower() in line.lower():
                    return line
            assert time.monotonic() < deadline, f'no log line with {text!r}: {self.tail()}'
            time.sleep(0.02)

    def log_lines(self):
        """Every line as the JSON object it must be."""
        return [json_module.loads(line) for line in self.log if line.strip()]

    def check_log(self):
        text = '\n'.join(self.log)
        for word in SANITIZERS:
            assert word not in text, text[-6000:]
        for secret in self.secrets:
            assert secret not in text, f'a secret is in the log: {secret}'

    # -- talking ---------------------------------------------------------------------

    def connect(self, **options):
        return Connection(self.port, tls=self.tls, **options)

    def request(self, method, target, *, token=None, account=None, headers=(), body=None,
                json=None, connection=None, timeout=15):
        """One request on its own connection (or `connection`), and its answer.

        `account` is the Authorization value, `json` a value that is written as the body.
        """
        lines = head_lines(token, account, headers, json)
        self.secrets |= {s for s in (token, account) if s and len(s) >= 12 and s not in target}
        if json is not None:
            body = json_module.dumps(json).encode()
        elif body is None and method in ('POST', 'PATCH', 'PUT'):
            body = b''
        if connection:
            return connection.request(method, target, lines, body)
        with self.connect(timeout=timeout) as own:
            return own.request(method, target, lines, body)

    def post(self, target, token=None, **options):
        """A POST; its body is {"n": 1} unless another is given."""
        if 'json' not in options and 'body' not in options:
            options['json'] = {'n': 1}
        return self.request('POST', target, token=token, **options)

    def get(self, target, **options):
        return self.request('GET', target, **options)

    def admin(self, target, method='GET', headers=(), body=None):
        with Connection(self.admin_port) as own:
            return own.request(method, target, list(headers), body)

    def operator(self, target, method='GET', json=None, headers=(), body=None):
        """The admin listener, with the credential in the data directory; `json` is a body's value."""
        key = (self.data / 'admin-token').read_text().strip()
        if json is not None:
            body = json_module.dumps(json).encode()
        return self.admin(target, method, [('Authorization', 'Bearer ' + key), *headers], body)

    def key(self, account=None, agent=None, role='agent', **more):
        """A new key of the gate's own: its document, with its text as `key`."""
        wish = {'account': account, 'agent': agent, 'role': role, **more}
        response = self.operator('/api/keys', 'POST', {n: v for n, v in wish.items() if v is not None})
        assert response.status == 201, response
        made = response.json()
        self.secrets.add(made['key'])
        return made

    def revoke(self, id, why='test'):
        response = self.operator(f'/api/keys/{id}/revoke', 'POST', {'why': why})
        assert response.status == 200 and response.json()['state'] == 'revoked', response

    def operation(self, id, account=None):
        """The status resource's document of an operation."""
        response = self.get(f'/.counterfoil/operations/{id}', account=account)
        assert response.status == 200, response
        return response.json()

    def wait_ready(self, seconds=10):
        deadline = time.monotonic() + seconds
        while self.admin('/readyz').status != 200:
            assert time.monotonic() < deadline, f'never ready: {self.tail()}'
            time.sleep(0.05)

    def wait_state(self, id, *states, account=None, seconds=10):
        deadline = time.monotonic() + seconds
        while True:
            document = self.operation(id, account)
            if document['state'] in states:
                return document
            assert time.monotonic() < deadline, f'never {states}: {document}'
            time.sleep(0.05)

    # -- memory ----------------------------------------------------------------------

    def rss(self):
        """Resident bytes now."""
        return self._memory('VmRSS')

    def rss_peak(self):
        return self._memory('VmHWM')

    def reset_peak(self):
        pathlib.Path(f'/proc/{self.pid}/clear_refs').write_text('5')

    def _memory(self, name):
        for line in pathlib.Path(f'/proc/{self.pid}/status').read_text().splitlines():
            if line.startswith(name + ':'):
                return int(line.split()[1]) * 1024
        raise AssertionError(f'no {name}')

    def open_files(self):
        return len(os.listdir(f'/proc/{self.pid}/fd'))


def config(upstream, **sections):
    """A configuration with one upstream and `sections` over it, as a mapping.

    `upstream` is an Upstream, a URL, or a mapping of the upstream's own settings.
    """
    default = upstream if isinstance(upstream, dict) else {'url': getattr(upstream, 'url', upstream)}
    return {'upstreams': {'default': default}, **sections}


def head_lines(token=None, account=None, headers=(), json=None):
    """The header lines `Gate.request()` sends, for tests that write their own requests."""
    lines = list(headers.items()) if isinstance(headers, dict) else list(headers)
    if token is not None:
        lines.append(('Idempotency-Key', token))
    if account is not None:
        lines.append(('Authorization', account))
    if json is not None:
        lines.append(('Content-Type', 'application/json'))
    return lines


def command(*arguments, stdin=None, cwd=None, seconds=30, env=None):
    """Run a command of the binary to its end."""
    return subprocess.run([str(BINARY), *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=seconds, cwd=cwd, env={**os.environ, **(env or {})})


def is_sanitized():
    """Was the binary built with a sanitizer?"""
    content = BINARY.read_bytes()
    return any(word in content for word in (b'__asan_init', b'__tsan_init'))


def files_of(folder, look=pathlib.Path.read_bytes):
    """[(file, what `look` gives of it)] of a folder in which a gate may be at work: of every file that is there
    at one time, since one that has another name by now would be missed."""
    for _ in range(100):
        try:
            return [(file, look(file)) for file in sorted(folder.rglob('*')) if not file.is_dir()]
        except FileNotFoundError:
            pass
    raise AssertionError(f'{folder} is never at rest')


def drain(stream, lines):
    """Read a pipe to its end in a thread, so that the child never waits for us."""
    def run():
        for line in stream:
            lines.append(line.decode('utf-8', 'replace').rstrip('\n'))
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def yaml(value, indent=0):
    """Plain mappings, lists of scalars and scalars as block YAML."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines.append(' ' * indent + f'{key}:\n' + yaml(item, indent + 2))
        else:
            lines.append(' ' * indent + f'{key}: {scalar(item)}\n')
    return ''.join(lines)


def scalar(item):
    if isinstance(item, bool):
        return 'true' if item else 'false'
    if isinstance(item, (list, tuple)):
        return '[' + ', '.join(scalar(i) for i in item) + ']'
    if isinstance(item, dict):
        return '{}'
    return str(item)
