"""What the console is made of: its files, sessions and their cookies, the bell, outcomes and the audit log."""
import json
import re
import socket
import time

import pytest

from harness.client import assert_problem
from harness.people import new_key
from harness.rules import eventually

LINK = re.compile(r'#/link/([0-9a-f]{64})')


def sign_in(gate, credential, headers=()):
    return gate.admin('/api/session', 'POST', [('Content-Type', 'application/json'), *headers],
                      json.dumps(credential).encode())


def session_of(gate, credential):
    """(header lines with the cookie, the csrf text)."""
    response = sign_in(gate, credential)
    assert response.status == 201, response
    cookie = response.one('Set-Cookie')
    return [('Cookie', cookie.split(';')[0])], response.json()['csrf']


@pytest.fixture
def operator(gate):
    return session_of(gate, {'key': (gate.data / 'admin-token').read_text().strip()})


def test_pages_are_served_and_kept(gate):
    # Shows that the pages are there, run nothing but what is served here, and are not sent twice.
    page = gate.admin('/')
    assert page.status == 200 and page.one('Content-Type').startswith('text/html')
    policy = page.one('Content-Security-Policy')
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and 'unsafe' not in policy
    assert "frame-ancestors 'none'" in policy and "require-trusted-types-for 'script'" in policy
    names = re.findall(r'(?:src|href)="/console/([^"]+)"', page.body.decode())
    assert {'app.js', 'style.css', 'icon.svg'} <= set(names)
    for name in names:
        file = gate.admin('/console/' + name)
        assert file.status == 200 and file.one('X-Content-Type-Options') == 'nosniff'
        again = gate.admin('/console/' + name, headers=[('If-None-Match', file.one('ETag'))])
        assert again.status == 304 and not again.body
    assert gate.admin('/console/nothing.js').status == 404
    assert gate.admin('/console/..%2Findex.html').status == 404


def test_pages_have_nothing_inline_and_nothing_of_others(gate):
    # Shows that no page has a script or a style in it, turns texts into markup, or asks somebody else.
    page = gate.admin('/').body.decode()
    assert not re.search(r'<style|<script(?![^>]*src=)| on\w+=| style=', page)
    for name in ('app.js', 'api.js', 'dom.js', 'approvals.js', 'operations.js', 'unknown.js', 'system.js', 'charts.js',
                 'verification.js'):
        text = gate.admin('/console/' + name).body.decode()
        assert not re.search(r'innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function', text), name
        assert not [url for url in re.findall(r'https?://[^\'"`\s]+', text) if 'www.w3.org' not in url], name


def test_link_of_the_first_line(gate):
    # Shows that the line of serve has a link that signs in once.
    link = next(found[1] for line in gate.stdout if (found := LINK.search(line)))
    first = sign_in(gate, {'link': link})
    assert first.status == 201 and first.json()['role'] == 'operator'
    assert_problem(sign_in(gate, {'link': link}), 401, 'unauthenticated', operation=False)
    assert_problem(sign_in(gate, {'link': '0' * 64}), 401, 'unauthenticated', operation=False)
    assert_problem(sign_in(gate, {}), 401, 'unauthenticated', operation=False)


def test_cookie_is_out_of_reach(gate):
    # Shows what keeps the cookie from scripts and other sites, and that it is nowhere in the answer.
    response = sign_in(gate, {'key': (gate.data / 'admin-token').read_text().strip()})
    cookie = response.one('Set-Cookie')
    for word in ('HttpOnly', 'SameSite=Strict', 'Path=/'):
        assert word in cookie
    assert cookie.split('=')[1].split(';')[0] not in response.body.decode()


def test_changes_need_the_csrf_text(gate, operator, path, token):
    # Shows that a cookie alone looks and changes nothing.
    cookie, csrf = operator
    id = gate.post(path, token).operation
    assert gate.admin(f'/api/operations/{id}', headers=cookie).status == 200
    target = f'/api/operations/{id}/cancel'
    for wrong in ([], [('X-Counterfoil-CSRF', '0' * 64)], [('X-Counterfoil-CSRF', csrf[:-1])]):
        assert gate.admin(target, 'POST', [*cookie, *wrong], b'{"why": "x"}').status == 401
    right = gate.admin(target, 'POST', [*cookie, ('X-Counterfoil-CSRF', csrf)], b'{"why": "x"}')
    assert right.slug == 'not-cancellable'


def test_sign_out(gate, operator):
    # Shows that a session that was ended lets nobody in.
    cookie, csrf = operator
    assert gate.admin('/api/session', headers=cookie).json()['csrf'] == csrf
    ended = gate.admin('/api/session', 'DELETE', [*cookie, ('X-Counterfoil-CSRF', csrf)])
    assert ended.status == 200 and 'Max-Age=0' in ended.one('Set-Cookie')
    assert gate.admin('/api/session', headers=cookie).status == 401


def test_two_cookies_are_nobodys(gate, operator):
    # Shows that one of two cookies of the name is not chosen.
    cookie, _ = operator
    both = [('Cookie', cookie[0][1] + '; counterfoil_session=' + '0' * 64)]
    assert gate.admin('/api/session', headers=both).status == 401


def test_other_origins_do_not_sign_in(gate):
    # Shows that a page of another origin cannot sign its visitor in.
    key = {'key': (gate.data / 'admin-token').read_text().strip()}
    assert sign_in(gate, key, [('Origin', 'http://evil.example')]).slug == 'forbidden'
    assert sign_in(gate, key, [('Origin', 'null')]).slug == 'forbidden'


def test_roles(gate):
    # Shows that an agent's key signs nobody in, and that a session says what its person may.
    _, agent = new_key(gate, 'agent', 'robot')
    assert sign_in(gate, {'key': agent}).slug == 'forbidden'
    id, key = new_key(gate, 'auditor', 'ada')
    response = sign_in(gate, {'key': key})
    assert response.json()['powers'] == ['look', 'audit'] and response.json()['account'] == 'acme'
    assert response.json()['credential'] == id and response.json()['agent'] == 'ada'


def test_revoked_key_ends_its_sessions(gate):
    # Shows that what a key began ends with it.
    id, key = new_key(gate, 'approver', 'grace')
    cookie, _ = session_of(gate, {'key': key})
    assert gate.admin('/api/session', headers=cookie).status == 200
    assert gate.operator(f'/api/keys/{id}/revoke', 'POST', {'why': 'test'}).status == 200
    assert gate.admin('/api/session', headers=cookie).status == 401


class Listener:
    def __init__(self, gate, cookie):
        self.sock = socket.create_connection(('127.0.0.1', gate.admin_port), timeout=10)
        name, value = cookie[0]
        self.sock.sendall(f'GET /api/events HTTP/1.1\r\nHost: x\r\n{name}: {value}\r\n\r\n'.encode())
        self.seen, self.is_open = b'', True

    def wait(self, what, seconds=10):
        deadline = time.monotonic() + seconds
        while what not in self.seen:
            assert time.monotonic() < deadline and self.is_open, self.seen
            piece = self.sock.recv(4096)
            self.is_open = bool(piece)
            self.seen += piece

    def close(self):
        self.sock.close()


def test_bell_rings_and_ends_with_the_session(gate, operator, path, token):
    # Shows that a change is heard, that nothing of it is told, and that signing out ends the stream.
    cookie, csrf = operator
    listener = Listener(gate, cookie)
    listener.wait(b'retry:')
    assert b'text/event-stream' in listener.seen
    gate.post(path, token)
    listener.wait(b'data: {"kind":"operation","id":null}')
    assert token.encode() not in listener.seen and path.encode() not in listener.seen
    gate.admin('/api/session', 'DELETE', [*cookie, ('X-Counterfoil-CSRF', csrf)])
    listener.wait(b'\r\n0\r\n\r\n')
    listener.close()


def test_bell_does_not_hold_up_the_end(start_gate, upstream):
    # Shows that a page that listens does not keep the gate from stopping.
    gate = start_gate(upstream)
    cookie, _ = session_of(gate, {'key': (gate.data / 'admin-token').read_text().strip()})
    listener = Listener(gate, cookie)
    listener.wait(b'retry:')
    gate.terminate()
    assert gate.wait_exit(10) == 0
    listener.close()


def test_outcomes_are_counted(gate, path, token):
    # Shows that what requests ended with is counted by time, for who sees all accounts.
    def counted(name):
        buckets = gate.operator('/api/outcomes?hours=1').json()['buckets']
        return sum(bucket['counts'].get(name, 0) for bucket in buckets)
    created, replayed = counted('created'), counted('replayed')
    gate.post(path, token)
    gate.post(path, token)
    eventually(lambda: (counted('created'), counted('replayed')) == (created + 1, replayed + 1))
    assert gate.operator('/api/outcomes?hours=25').slug == 'query-malformed'
    _, key = new_key(gate, 'auditor', 'own')
    assert gate.admin('/api/outcomes', headers=[('Authorization', 'Bearer ' + key)]).slug == 'forbidden'


@pytest.fixture(scope='module')
def config_of_file(upstream):
    from harness.gate import config
    return config(upstream, audit={'checkpoint_interval': '200ms'})


def test_audit_log_is_shown(gate, path, token):
    # Shows entries by filter, newest first, page by page, and that the checkpoint is the gate's own.
    id = gate.post(path, token).operation
    gate.post(path, token)

    def entries(query):
        return gate.operator('/api/audit?' + query).json()['entries']
    eventually(lambda: any('replayed' in e['events'] for e in entries(f'token={token}')))
    found = entries(f'operation={id}')
    assert [e['seq'] for e in found] == sorted((e['seq'] for e in found), reverse=True)
    assert {e['operation'] for e in found} == {id} and all(e['readable'] for e in found)
    assert entries(f'token={token}&event=nothing') == []
    first = gate.operator(f'/api/audit?operation={id}&limit=1').json()
    rest = gate.operator(f'/api/audit?operation={id}&cursor={first["next"]}').json()
    assert [e['seq'] for e in first['entries'] + rest['entries']] == [e['seq'] for e in found]
    status = gate.operator('/api/audit/status').json()
    assert status['checkpoint']['signed'] is True and status['size'] >= len(found)
    assert gate.operator('/api/audit?nonsense=1').slug == 'query-malformed'


def test_audit_log_keeps_to_the_account(gate, path, token):
    # Shows that an auditor of one account sees nothing of another, and an approver no log at all.
    gate.post(path, token)
    eventually(lambda: gate.operator(f'/api/audit?token={token}').json()['entries'])
    _, auditor = new_key(gate, 'auditor', 'ada')
    headers = [('Authorization', 'Bearer ' + auditor)]
    assert gate.admin(f'/api/audit?token={token}', headers=headers).json()['entries'] == []
    _, approver = new_key(gate, 'approver', 'eve')
    assert gate.admin('/api/audit', headers=[('Authorization', 'Bearer ' + approver)]).slug == 'forbidden'
