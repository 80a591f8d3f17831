"""response and failed_when: what an answer says beyond its status."""
import pytest

from harness.rules import MEDIA, needed, ruled, said
from harness.upstream import answer, created

FAILURES = [{'at': '/status', 'is': 'failed'}, {'at': '/error'}, {'at': '/code', 'in': ['a', 7]},
            {'at': '/deep/0/ok', 'is': False}]


@pytest.fixture(scope='module')
def config_of_file(upstream):
    fields = {'title': needed()}
    return ruled(upstream, {
        'things.create': {'route': 'POST /v1/told/{book}', 'fields': fields, 'failed_when': FAILURES,
                          'response': {'reference': '/id', 'resource': 'response/url'}},
        'words.create': {'route': 'POST /v1/words/{book}', 'fields': fields,
                         'response': {'reference': 'response/data/name'}},
        'once.create': {'route': 'POST /v1/once/{book}', 'fields': fields, 'failed_when': FAILURES,
                        'unique': {'by': ['title']}},
    })


@pytest.fixture
def told(number):
    return f'/v1/told/{number}'


@pytest.fixture
def send(gate, upstream, account, token):
    def send(path, answered=None, key='', headers=()):
        if answered is not None:
            upstream.plan(path, answered)
        return gate.post(path, token + key, account=account, json={'title': 't'}, headers=headers)
    return send


def document(gate, response, account):
    return gate.operation(response.operation, account)


def test_what_the_service_calls_it(gate, send, told, account):
    # Shows that the reference and the resource of an answer stand in the operation's document.
    response = send(told, said({'id': 'obj-77', 'url': '/v1/things/obj-77'}, 201))
    found = document(gate, response, account)
    assert (found['reference'], found['resource']) == ('obj-77', '/v1/things/obj-77')


def test_a_reference_further_down(gate, send, number, account):
    # Shows that a pointer leads into the answer, and that "response/…" is the same as "/…".
    response = send(f'/v1/words/{number}', said({'data': {'name': 'deep'}}, 201))
    assert document(gate, response, account)['reference'] == 'deep'


@pytest.mark.parametrize('spelled, reference', [(b'{"id": 42}', '42'), (b'{"id": 4.20e1}', '42'),
                                                (b'{"id": "\\u00e9"}', '\u00e9')])
def test_references_of_other_kinds(gate, send, told, account, spelled, reference):
    # Shows that numbers are references, too, by one spelling.
    response = send(told, answer(201, headers=MEDIA, body=spelled))
    assert document(gate, response, account)['reference'] == reference


@pytest.mark.parametrize('body', [b'', b'{"id": ', b'{"id": null}', b'{"id": {}}', b'[]', b'"obj-77"',
                                  b'{"id": "%s"}' % (b'x' * 2000)])
def test_answers_that_say_nothing(gate, upstream, send, told, account, body):
    # Shows that an answer which cannot be read, or names nothing, is a success like any other, passed
    # on and replayed as it came.
    response = send(told, answer(201, headers=MEDIA, body=body))
    assert (response.status, response.body, response.state) == (201, body, 'completed')
    assert not document(gate, response, account)['reference']
    again = send(told)
    assert (again.outcome, again.body) == ('replayed', body)
    assert upstream.effects(told) == 1


@pytest.mark.parametrize('media', ['application/problem+json', 'application/json; charset=utf-8',
                                   'APPLICATION/JSON', 'text/plain', 'text/html; charset=utf-8'])
def test_media_types(gate, send, told, account, media):
    # Shows that JSON is read under its other names, and where a service does not call it by its name.
    headers = [('Content-Type', media)]
    response = send(told, answer(201, headers=headers, body=b'{"id": "obj-77"}'))
    assert document(gate, response, account)['reference'] == 'obj-77'
    failed = send(told, answer(200, headers=headers, body=b'{"status": "failed"}', works=False), '-2')
    assert failed.state == 'failed'


@pytest.mark.parametrize('body', [b'failed', b'status=failed', b'<b>{"status": "failed"}</b>'])
def test_other_texts_say_nothing(send, told, body):
    # Shows that an answer which is no JSON is a success, whatever words it has.
    response = send(told, answer(200, headers=[('Content-Type', 'text/plain')], body=body))
    assert (response.body, response.state) == (body, 'completed')


@pytest.mark.parametrize('body', [b'{"status": "failed"}', b'{"error": {"code": 1}}', b'{"error": false}',
                                  b'{"error": ""}', b'{"code": "a"}', b'{"code": 7}', b'{"code": 7.0}',
                                  b'{"deep": [{"ok": false}]}'])
def test_failure_in_a_200(gate, upstream, send, told, body):
    # Shows that an answer which says that it failed is a failure, given to the caller as it came and
    # replayed so.
    response = send(told, answer(200, headers=MEDIA, body=body, works=False))
    assert (response.status, response.body, response.state) == (200, body, 'failed')
    again = send(told)
    assert (again.status, again.body, again.outcome, again.state) == (200, body, 'replayed', 'failed')
    assert len(upstream.seen(told)) == 1


@pytest.mark.parametrize('body', [b'{"status": "FAILED"}', b'{"status": null}', b'{"error": null}', b'{}',
                                  b'{"code": "7"}', b'{"code": "b"}', b'{"deep": [{"ok": 0}]}',
                                  b'{"deep": {"0x": {"ok": false}}}', b'{"status": "failed"'])
def test_success_that_looks_like_failure(send, told, body):
    # Shows that only what is declared is a failure: exact values, null being none.
    response = send(told, answer(200, headers=MEDIA, body=body))
    assert (response.status, response.state) == (200, 'completed')


@pytest.mark.parametrize('status, state', [(422, 'failed'), (500, 'unknown'), (503, 'queued')])
def test_other_statuses_mean_what_they_mean(send, told, status, state):
    # Shows that no body makes a success of a status that is none.
    assert send(told, said({'id': 'obj', 'status': 'fine'}, status, works=False)).state == state


def test_a_failure_may_be_retried_by_a_new_token(gate, upstream, send, told, account, token):
    # Shows that what failed in a 200 is a failure for a business retry.
    failed = send(told, said({'status': 'failed'}, works=False))
    again = send(told, created(), '-again', headers={'Counterfoil-Retry-Of': failed.operation})
    assert again.outcome == 'created'
    assert upstream.effects(told) == 1


def test_a_failure_frees_the_identity(upstream, send, number):
    # Shows that what failed in a 200 made nothing: its identity is free.
    path = f'/v1/once/{number}'
    assert send(path, said({'status': 'failed'}, works=False)).state == 'failed'
    assert send(path, created(), '-2').outcome == 'created'
    assert send(path, None, '-3').outcome == 'reused'
    assert upstream.effects(path) == 1


def test_a_large_answer(start_gate, upstream, account, token, number):
    # Shows that an answer too large to be kept is passed on whole, and that it is not known as failed.
    gate = start_gate(upstream, ruled(upstream, {
        'things.create': {'route': 'POST /v1/large/{book}', 'failed_when': FAILURES, 'max_response': '1KiB',
                          'response': {'reference': '/id'}}}))
    body = b'{"id": "obj-77", "filler": "%s"}' % (b'x' * 5000)
    upstream.plan(f'/v1/large/{number}', answer(201, headers=MEDIA, body=body))
    response = gate.post(f'/v1/large/{number}', token, account=account)
    assert (response.status, response.body, response.state) == (201, body, 'completed')
