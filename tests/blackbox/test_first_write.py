"""The first write under a token: it reaches the service once, and its answer comes back whole."""
import datetime
import re

from harness.upstream import answer, echo, interim

OPERATION_ID = re.compile(r'op_[0-9A-HJKMNP-TV-Z]{26}')


def test_one_write_is_one_effect_and_its_answer_comes_back(gate, upstream, path, token):
    # Shows that a new token is forwarded once, and the service's own answer is what returns.
    response = gate.post(path, token)
    assert response.status == 201
    assert response.json()['id'].startswith('obj_')
    assert upstream.effects(path) == 1


def test_headers_name_the_operation(gate, path, token):
    # Shows the four headers of a protected answer, each exactly once, and no replay mark.
    response = gate.post(path, token)
    assert OPERATION_ID.fullmatch(response.one('Operation-Id')), response
    assert response.one('Operation-State') == 'completed'
    assert response.one('Operation-Outcome') == 'created'
    assert response.get('Idempotent-Replayed') is None


def test_expiry_is_a_time_ahead(gate, path, token):
    # Shows that Operation-Expires says when the token may be forgotten: by default in a day.
    response = gate.post(path, token)
    expires = parse_time(response.one('Operation-Expires'))
    ahead = expires - datetime.datetime.now(datetime.timezone.utc)
    assert datetime.timedelta(hours=23) < ahead < datetime.timedelta(hours=25), response


def test_ids_are_in_order_of_time(gate, path, token):
    # Shows that ids of later operations sort after those of earlier milliseconds.
    first = gate.post(path, token + '-1').operation
    gate.get(path)
    second = gate.post(path, token + '-2').operation
    assert first[3:13] <= second[3:13] and first != second


def test_the_service_gets_the_bytes_that_were_sent(gate, upstream, path, token):
    # Shows that body, target and end-to-end headers go on as they came, never re-encoded.
    body = b'{ "z":1.0,\r\n  "a" : "\\u00e9" }\n'
    headers = [('Content-Type', 'application/json; charset=UTF-8'), ('X-Case', 'A, b'),
               ('X-Twice', '1'), ('X-Twice', '2'), ('Accept', 'application/json')]
    gate.request('POST', path + '?q=%7Ea&q=1+2', token=token, headers=headers, body=body)
    seen = upstream.last(path)
    assert seen.body == body
    assert seen.target == path + '?q=%7Ea&q=1+2'
    assert seen.all('Content-Type') == ['application/json; charset=UTF-8']
    assert seen.all('X-Case') == ['A, b']
    assert seen.all('X-Twice') == ['1', '2'] or seen.all('X-Twice') == ['1, 2']
    assert seen.all('Accept') == ['application/json']


def test_a_body_of_every_byte(gate, upstream, path, token):
    # Shows that an opaque body passes unchanged in both directions.
    upstream.plan(path, echo())
    body = bytes(range(256)) * 40
    response = gate.request('POST', path, token=token, body=body,
                            headers={'Content-Type': 'application/octet-stream'})
    assert response.body == body
    assert upstream.last(path).body == body


def test_a_write_without_a_body(gate, upstream, path, token):
    # Shows that an empty body is a body like others: one effect, and a replay.
    assert gate.post(path, token, body=b'').status == 201
    assert gate.post(path, token, body=b'').outcome == 'replayed'
    assert upstream.effects(path) == 1
    assert upstream.last(path).body == b''


def test_patch_is_protected_too(gate, upstream, path, token):
    # Shows that PATCH needs a token by default, and is replayed as POST is.
    assert gate.request('PATCH', path, json={'n': 1}).slug == 'key-missing'
    first = gate.request('PATCH', path, token=token, json={'n': 1})
    again = gate.request('PATCH', path, token=token, json={'n': 1})
    assert first.outcome == 'created' and again.outcome == 'replayed'
    assert upstream.effects(path) == 1


def test_headers_of_the_service_come_through(gate, upstream, path, token):
    # Shows that the first caller gets all end-to-end headers, also those that no replay has.
    upstream.plan(path, answer(201, headers=[
        ('Location', '/v1/things/7'), ('ETag', '"v1"'), ('Link', '</v1/things>; rel="collection"'),
        ('Set-Cookie', 'a=1; Path=/'), ('Set-Cookie', 'b=2'), ('RateLimit-Remaining', '9'),
        ('X-Service', 'yes')]))
    response = gate.post(path, token)
    assert response.one('Location') == '/v1/things/7'
    assert response.one('ETag') == '"v1"'
    assert '</v1/things>; rel="collection"' in response.all('Link')
    assert response.all('Set-Cookie') == ['a=1; Path=/', 'b=2']
    assert response.one('RateLimit-Remaining') == '9'
    assert response.one('X-Service') == 'yes'
    assert len(response.all('Date')) == 1


def test_the_service_cannot_speak_for_the_gate(gate, upstream, path, token):
    # Shows that Operation-* headers of the service do not stand beside the gate's own.
    upstream.plan(path, answer(201, headers=[
        ('Operation-Id', 'op_00000000000000000000000000'), ('Operation-State', 'failed'),
        ('Operation-Outcome', 'replayed'), ('Idempotent-Replayed', 'true')]))
    response = gate.post(path, token)
    assert response.one('Operation-Id') != 'op_00000000000000000000000000'
    assert response.one('Operation-State') == 'completed'
    assert response.one('Operation-Outcome') == 'created'
    assert response.get('Idempotent-Replayed') is None


def test_informational_answers_are_not_the_answer(gate, upstream, path, token):
    # Shows that 1xx answers before the final one neither end the operation nor are replayed.
    upstream.plan(path, interim(102, 103, 103))
    first = gate.post(path, token)
    again = gate.post(path, token)
    assert (first.status, first.outcome) == (201, 'created')
    assert (again.status, again.outcome, again.body) == (201, 'replayed', first.body)
    assert upstream.effects(path) == 1


def test_the_operation_is_there_before_the_answer(gate, upstream, path, token, account):
    # Shows that the claim is durable before anything is sent: it can be looked up meanwhile.
    found = []

    def look(ex):
        found.append(gate.get(f'/.counterfoil/operations?token={token}', account=account).body)
        answer(201)(ex)

    upstream.plan(path, look)
    response = gate.post(path, token, account=account)
    assert response.status == 201
    assert response.operation.encode() in found[0] and b'running' in found[0]


def parse_time(text):
    """RFC 3339 or an HTTP date."""
    if text[0].isdigit():
        return datetime.datetime.fromisoformat(text.replace('Z', '+00:00'))
    return datetime.datetime.strptime(text, '%a, %d %b %Y %H:%M:%S %Z').replace(
        tzinfo=datetime.timezone.utc)
