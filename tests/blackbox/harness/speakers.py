"""Who speaks to a journal: the program, and each binding, as children that a test can kill.

A wish is what the bindings take, with Python's names: `journal`, `method`, `url`, `task`, `step`, and the
options of send(). The result object is a dict in every case; {'refused': why} where nothing was sent.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from .gate import BINARY

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 60


class Speaker:
    def __init__(self, name, command, env=None):
        self.name, self.command, self.env = name, command, env or {}

    def __repr__(self):
        return self.name

    def begin(self, verb, env=None, **wish):
        """A child at work; finish() has its answer."""
        child = subprocess.Popen([*self.command, *self.words(verb, wish)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, **self.env, **(env or {})})
        child.stdin.write(self.input(wish))
        child.stdin.close()
        child.stdin = None
        return child

    def finish(self, child):
        out, err = child.communicate(timeout=SECONDS)
        return self.read(child.returncode, out, err.decode(errors='replace'))

    def ask(self, verb, env=None, **wish):
        return self.finish(self.begin(verb, env, **wish))

    def words(self, verb, wish):
        return [verb]

    def input(self, wish):
        return json.dumps(wish).encode()

    def read(self, status, out, err):
        assert status == 0 and not err, (self, status, err)
        return json.loads(out)


class Program(Speaker):
    """`counterfoil call`."""
    OPTIONS = {'task': '--task', 'step': '--step', 'key': '--key', 'wait': '--wait', 'timeout': '--max-time',
               'output': '--output', 'ca_file': '--cacert', 'client_cert': '--cert', 'client_key': '--cert-key',
               'proxy': '--proxy', 'no_proxy': '--noproxy', 'connect_timeout': '--connect-timeout', 'journal': '--journal'}
    FLAGS = {'new': '--new', 'honours_key': '--honours-key', 'same_account': '--same-account', 'insecure': '--insecure'}

    def words(self, verb, wish):
        words = ['call'] + ([] if verb == 'send' else [verb])
        words += [word for name, flag in self.OPTIONS.items() if wish.get(name) is not None
                  for word in (flag, str(wish[name]))]
        words += [flag for name, flag in self.FLAGS.items() if wish.get(name)]
        words += [word for name, value in (wish.get('headers') or {}).items() for word in ('-H', f'{name}: {value}')]
        if 'json' in wish:
            words += ['-d', json.dumps(wish['json'])]
        if 'body' in wish:
            words += ['-d', wish['body']]
        return [*words, wish['method'], wish['url']]

    def input(self, wish):
        return b''

    def read(self, status, out, err):
        if out.startswith(b'{'):
            return json.loads(out)
        return out.decode().strip() if status == 0 else {'refused': err}


def newer_node():
    """A Node that has node:sqlite: $COUNTERFOIL_NODE (`make check-bindings` sets it), or the one at hand."""
    for node in (os.environ.get('COUNTERFOIL_NODE'), shutil.which('node')):
        probe = node and subprocess.run([node, '-e', "require('node:sqlite')"], capture_output=True, timeout=30)
        if probe and probe.returncode == 0:
            return node
    return None


PROGRAM = Program('program', [str(BINARY)])
PYTHON = Speaker('python', [sys.executable, str(HERE / 'speak.py')])
NODE = Speaker('node', ['node', str(HERE / 'speak.mjs')], {'COUNTERFOIL_SQLITE3': 'sqlite3'})
NEWER_NODE = newer_node()
BINDINGS = [PYTHON, NODE]
if NEWER_NODE:
    BINDINGS.append(Speaker('node-sqlite', [NEWER_NODE, str(HERE / 'speak.mjs')]))
ALL = [PROGRAM, *BINDINGS]
PAIRS = [(a, b) for a in ALL for b in ALL if a is not b]
