"""The practice API as a child process, and what it says of its own effects."""
import json as json_module
import re
import subprocess

from .client import Connection
from .gate import BINARY, drain

JSON = [('Content-Type', 'application/json')]


class Sandbox:
    def __init__(self):
        self.process = subprocess.Popen([str(BINARY), 'sandbox', '--listen', '127.0.0.1:0'],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL)
        line = self.process.stdout.readline().decode()
        self.port = int(re.search(r'127\.0\.0\.1:(\d+)', line)[1])
        self.url = f'http://127.0.0.1:{self.port}'
        self.lines = []
        drain(self.process.stdout, self.lines)
        drain(self.process.stderr, self.lines)

    def request(self, method, target, body=None, headers=()):
        with Connection(self.port, timeout=5) as connection:
            return connection.request(method, target, [*JSON, *headers], body)

    def effects(self):
        return self.request('GET', '/effects').json()

    def kinds(self):
        return self.effects()['kinds']

    def list(self, target):
        return self.request('GET', target).json()['data']

    def fault(self, fault, **where):
        """What is to go wrong, once; `times`, `path` and `method` as PUT /faults has them."""
        self._put({'fault': fault, **where})

    def honour_keys(self):
        self._put({'honour_keys': True})

    def _put(self, wish):
        answer = self.request('PUT', '/faults', json_module.dumps(wish).encode())
        assert answer.status == 200, answer

    def stop(self):
        self.process.terminate()
        assert self.process.wait(10) == 0
