"""The admin listener: health, metrics, and what does not belong on it or off it."""
import re

import pytest

from harness.client import assert_problem
from harness.gate import command
from harness.metrics import samples
from harness.upstream import drop


def test_healthy_and_ready(gate):
    # Shows that a gate that serves says so.
    assert gate.admin('/healthz').status == 200
    gate.wait_ready()
    assert gate.admin('/readyz').status == 200


def test_metrics_are_well_formed_and_count(gate, upstream, path, token):
    # Shows that /metrics is Prometheus text, and that writes of each outcome move counters.
    before = samples(gate)
    assert any(name.startswith('counterfoil_') for name in before)
    upstream.plan(path, drop())
    gate.post(path, token)
    gate.post(path + '-2', token + '-2')
    gate.post(path + '-2', token + '-2')
    after = samples(gate)
    moved = {n for n, v in after.items() if v > before.get(n, 0)}
    for outcome in ('created', 'replayed', 'unknown'):
        assert any(outcome in name for name in moved), (outcome, sorted(moved))


def test_metrics_name_nobody(gate, path, token, account):
    # Shows that neither tokens, accounts, paths nor ids are labels.
    operation = gate.post(path, token, account=account).operation
    text = gate.operator('/metrics').body.decode()
    for secret in (token, account, path, operation):
        assert secret not in text


@pytest.mark.parametrize('name', ['operations', 'approvals', 'locks', 'budgets', 'audit', 'outcomes', 'keys', 'secrets'])
def test_each_list_begins_at_its_beginning(gate, name):
    # Shows that a list that is asked for without a query, or with an empty one, is its first page.
    for query in ('', '?'):
        response = gate.operator(f'/api/{name}{query}')
        assert response.status == 200, response


def test_the_data_listener_has_none_of_it(gate, upstream):
    # Shows that /healthz, /readyz and /metrics on the data listener are the service's own.
    for target in ('/healthz', '/readyz', '/metrics'):
        mark = upstream.mark()
        assert gate.get(target).status == 200
        assert [s.path for s in upstream.seen(since=mark)] == [target]


def test_a_problems_link_leads_somewhere(gate):
    # Shows that the page that problems of the admin listener name is served there, to whoever may look.
    problem = gate.operator('/api/operations/op_00000000000000000000000000')
    target = problem.one('Link').split('>')[0].lstrip('<')
    page = gate.operator(target)
    assert page.status == 200 and b'key-reused' in page.body, page
    assert gate.admin(target).status == 401


def test_the_admin_listener_forwards_nothing(gate, upstream, path):
    # Shows that the admin listener is no second way to the service.
    mark = upstream.mark()
    for method in ('GET', 'POST'):
        assert gate.admin(path, method, [('Idempotency-Key', 'x')]).status in (401, 403, 404, 405)
    assert upstream.seen(since=mark) == []


@pytest.mark.parametrize('target', ['/api/operations', '/api/operations/op_00000000000000000000000000',
                                    '/api/operations/op_00000000000000000000000000/resolve'])
def test_operations_are_not_for_anyone(gate, path, token, target):
    # Shows that the operators' interface asks who is there.
    gate.post(path, token)
    for headers in ([], [('Authorization', 'Bearer wrong')], [('Authorization', 'Basic dTpw')]):
        for method in ('GET', 'POST'):
            response = gate.admin(target, method, headers)
            assert response.status in (401, 403), response
            assert b'op_' not in response.body.replace(target.encode(), b'')


GUARDS = {'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer'}


# What answers whoever asks: health, the console's own files, and where one signs in.
PAGES = ('/', '/console/', '/api/openapi.json')


def assert_guarded(response, target=None):
    is_page = target == '/' or target and target.startswith(PAGES[1:])
    for name, value in GUARDS.items():
        if not (is_page and name == 'Cache-Control'):
            assert response.one(name) == value, (name, response)
    assert "frame-ancestors 'none'" in response.one('Content-Security-Policy'), response


def endpoints(gate):
    """Every endpoint of the admin listener: method, path with something in its place, is it open."""
    rows = gate.operator('/api/endpoints').json()['endpoints']
    assert len(rows) >= 10
    return [(row['method'], re.sub(r'\{\w+\}', 'op_00000000000000000000000000', row['path']), row['power'] is None)
            for row in rows]


# What answers whoever asks: machines that look whether it runs, the console's own files, and signing in,
# which asks itself.
OPEN = {('GET', '/healthz'): 200, ('GET', '/readyz'): 200, ('GET', '/'): 200,
        ('GET', '/console/op_00000000000000000000000000'): 404, ('POST', '/api/session'): 401}


def test_health_and_the_way_in_are_open(gate):
    # Shows that each endpoint asks who is there, whatever is sent instead of a credential; but those few.
    wrong = [[], [('Authorization', 'Bearer')],
             [('Authorization', 'Basic YWRtaW46YWRtaW4=')], [('Cookie', 'counterfoil_session=x')]]
    for method, path, is_open in endpoints(gate):
        assert is_open == ((method, path) in OPEN), path
        for headers in wrong:
            response = gate.admin(path, method, headers, b'{}' if method != 'GET' else None)
            if is_open:
                assert response.status == OPEN[method, path], (path, response)
            else:
                assert_problem(response, 401, 'unauthenticated', operation=False)
                assert response.one('WWW-Authenticate') == 'Bearer'
    assert gate.admin('/api/operations', headers=[('Authorization', 'Bearer ' + 64 * '0')]).slug == 'unauthenticated'


def test_who_is_nobody_learns_no_paths(gate):
    # Shows that below /api what is there and what is not look alike to somebody without a credential.
    for method, path in [('GET', '/api'), ('GET', '/api/'), ('GET', '/api/nothing'), ('DELETE', '/api/locks'),
                         ('GET', '/api/operations/no/such/path'), ('OPTIONS', '/api/operations')]:
        assert gate.admin(path, method).slug == 'unauthenticated', path
    assert gate.operator('/api/nothing').status == 404
    assert_problem(gate.operator('/api/locks', 'DELETE'), 405, operation=False)


def test_every_answer_is_guarded(gate, path, token):
    # Shows that a browser neither guesses at, frames, keeps nor passes on what it gets here.
    id = gate.post(path, token).operation
    for method, target, _ in endpoints(gate):
        if target in ('/', '/api/openapi.json'):        # kept, and asked about again
            assert gate.operator(target).one('Cache-Control') == 'no-cache'
            continue
        if target == '/api/events':                     # never ends
            continue
        assert_guarded(gate.admin(target, method))
        assert_guarded(gate.operator(target, method, {} if method != 'GET' else None))
    assert_guarded(gate.operator(f'/api/operations/{id}'))
    assert_guarded(gate.operator('/api/operations?limit=none'))
    assert_guarded(gate.operator('/nothing'))
    assert_guarded(gate.operator(f'/api/operations/{id}/cancel', 'POST', body=b'{'))
    assert_guarded(gate.operator(f'/api/operations/{id}/cancel', 'POST', body=b'x' * 70000))
    assert_guarded(gate.admin('/healthz', 'GET', [('Content-Length', '1, 2')]))


@pytest.mark.parametrize('body', [b'', b'[]', b'"why"', b'{"why":"a"', b'{"why":"a","why":"b"}'])
def test_a_body_is_one_object(gate, path, token, body):
    # Shows that what is no object is refused before anything is decided.
    id = gate.post(path, token).operation
    response = gate.operator(f'/api/operations/{id}/cancel', 'POST', body=body)
    assert_problem(response, 400, 'body-malformed', operation=False)


def test_an_open_address_needs_tls(upstream, tmp_path):
    # Shows that the admin listener does not leave this machine by mistake.
    done = command('serve', '--upstream', upstream.url, '--listen', '127.0.0.1:0',
                   '--admin', '0.0.0.0:0', '--data', tmp_path / 'data')
    assert done.returncode == 2
    assert 'admin' in done.stderr.lower()


def test_unreachable_service_is_no_sickness(start_gate):
    # Shows that readiness is the gate's own: a dead upstream does not take the gate out of service.
    gate = start_gate('http://127.0.0.1:9')
    assert gate.admin('/healthz').status == 200
    gate.wait_ready()
    response = gate.get('/v1/x')
    assert response.status in (502, 503)
    assert_problem(response, response.status, operation=False)
