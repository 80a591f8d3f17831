"""People who answer: what they see of a question, and what they say to it."""
import json
import os
import pty
import select
import subprocess
import time

from .gate import BINARY, command

ACCOUNT = 'acme'


class Person:
    """Somebody with a key of their own; without one, whoever may read the data directory."""

    def __init__(self, gate, key=None, id='admin-token'):
        self.gate, self.key, self.id = gate, key, id

    def ask(self, target, method='GET', value=None):
        if self.key is None:
            return self.gate.operator(target, method, json=value)
        body = None if value is None else json.dumps(value).encode()
        return self.gate.admin(target, method, [('Authorization', 'Bearer ' + self.key)], body)

    def see(self, id):
        response = self.ask(f'/api/approvals/{id}')
        assert response.status == 200, response
        return response.json()

    def waiting(self):
        response = self.ask('/api/approvals?state=waiting&limit=200')
        assert response.status == 200, response
        return response.json()['approvals']

    def approve(self, id, fingerprint=None, why=None):
        value = {'fingerprint': fingerprint or self.see(id)['fingerprint']}
        return self.ask(f'/api/approvals/{id}/approve', 'POST', {**value, **({'why': why} if why else {})})

    def deny(self, id, why='not today', fingerprint=None):
        value = {'fingerprint': fingerprint or self.see(id)['fingerprint'], 'why': why}
        return self.ask(f'/api/approvals/{id}/deny', 'POST', value)


def new_key(gate, role, agent, account=ACCOUNT, **more):
    """A key of that role: (its id, its text)."""
    value = {'account': account, 'agent': agent, 'role': role, **more}
    response = gate.operator('/api/keys', 'POST', json=value)
    assert response.status == 201, response
    made = response.json()
    return made['id'], made['key']


def person(gate, agent, role='approver', **more):
    id, key = new_key(gate, role, agent, **more)
    return Person(gate, key, id)


def on_terminal(gate, *arguments, say='yes\n', seconds=20):
    """Run a command with a terminal in front of it, and answer its question: (status, what it showed)."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([str(BINARY), *arguments, '--data', str(gate.data)], stdin=follower,
                             stdout=follower, stderr=follower, close_fds=True)
    os.close(follower)
    shown, deadline, is_answered = b'', time.monotonic() + seconds, False
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 0.1)[0]:
            if child.poll() is not None:
                break
            continue
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if not is_answered and b'Type yes to approve: ' in shown:
            os.write(leader, say.encode())
            is_answered = True
    os.close(leader)
    return child.wait(10), shown.decode('utf-8', 'replace').replace('\r\n', '\n')


def cli(gate, *arguments):
    return command(*arguments, '--data', gate.data)
