"""The bindings of Python and JavaScript beside the program: one journal, one contract, one effect."""
import json
import sqlite3

import pytest

from harness.disk import SmallDisk, can_mount
from harness.gate import ROOT
from harness.speakers import ALL, BINDINGS, PAIRS, PROGRAM
from harness.upstream import Hold, answer, behaviour, delayed, drop, half, held, hang, reset

FIXED = b'{"id":"t_1","amount":9007199254740991}'
FIELDS = [('Content-Type', 'application/json'), ('Location', '/v1/t_1'), ('X-Twice', 'a'), ('x-twice', 'b')]
VECTORS = json.loads((ROOT / 'tests' / 'vectors' / 'fingerprint.json').read_text())['requests']
by_name = pytest.mark.parametrize('speaker', ALL, ids=repr)
by_binding = pytest.mark.parametrize('speaker', BINDINGS, ids=repr)
by_pair = pytest.mark.parametrize('first, second', PAIRS, ids=lambda each: repr(each))


@pytest.fixture
def journal(tmp_path):
    return str(tmp_path / 'state' / 'journal.db')


@pytest.fixture
def wish(upstream, path, journal):
    """A write that any of them can be asked for."""
    return {'journal': journal, 'method': 'POST', 'url': upstream.url + path, 'task': 'invoice 1873', 'step': 'pay',
            'json': {'amount': 4900}, 'wait': 20}


def step_of(wish):
    return {name: wish[name] for name in ('journal', 'method', 'url', 'task', 'step')}


def fixed(status=201, headers=(), body=FIXED):
    return answer(status, [*FIELDS, *headers], body)


def comparable(result):
    """A result without what is each run's own: its sentence and the time of day."""
    assert result.pop('reason') is None or True
    result['headers'].pop('Date', None)
    return result


def differences(results, others):
    return {name: (one.get(name), other.get(name)) for one, other in zip(results, others) if one
            for name in {*one, *other} if name not in one or one[name] != other.get(name)}


# -- one journal -------------------------------------------------------------------------


@by_pair
def test_a_token_is_found_by_the_other(wish, first, second):
    # Shows that a step's token, derived or drawn by one, is what every other one finds in the journal.
    derived = first.ask('token', **step_of(wish))
    assert derived.startswith('cf-') and second.ask('token', **step_of(wish)) == derived
    drawn = second.ask('token', **step_of(wish), new=True)
    assert drawn != derived and first.ask('token', **step_of(wish)) == drawn


@by_pair
def test_a_kept_answer_is_told_by_the_other(upstream, path, wish, first, second):
    # Shows that what one has done, another one tells from the journal and does not send.
    upstream.plan(path, fixed())
    done = first.ask('send', **wish)
    again = second.ask('send', **wish)
    assert (done['outcome'], again['outcome'], again['source']) == ('created', 'replayed', 'journal')
    assert (done['status'], done['headers'], done['body']) == (again['status'], again['headers'], again['body'])
    assert upstream.effects(path) == 1


@by_pair
def test_a_changed_payload_is_named_by_the_other(upstream, path, wish, first, second):
    # Shows that another payload under a step is refused whoever sends it, with the members that differ.
    first.ask('send', **wish)
    refused = second.ask('send', **{**wish, 'json': {'amount': 4901, 'note': {'a/b': None}}})
    assert (refused['outcome'], refused['local']) == ('conflict', True)
    assert refused['difference'] == 'changed: /amount; added: /note/a~1b'
    same = {**without(wish, 'json'), 'body': '{"amount" : 49.00e2}'}
    assert second.ask('send', **same)['outcome'] == 'replayed'
    assert upstream.effects(path) == 1


def without(wish, name):
    return {key: value for key, value in wish.items() if key != name}


@pytest.mark.parametrize('first, second', [pair for pair in PAIRS if pair[0] is not PROGRAM], ids=repr)
def test_killed_while_it_sends(upstream, start_gate, path, wish, first, second):
    # Shows that after kill -9 in the middle of a write another one finds its end at the gate: one effect.
    gate, hold = start_gate(upstream), Hold()
    wish['url'] = f'http://127.0.0.1:{gate.port}{path}'
    upstream.plan(path, held(hold, fixed()))
    child = first.begin('send', **wish)
    hold.wait_entered()
    child.kill()
    child.wait(10)
    hold.release()
    found = second.ask('send', **wish)
    assert (found['outcome'], found['status'], found['gate'], found['source']) == ('replayed', 201, True, 'status')
    assert upstream.effects(path) == 1
    assert first.ask('send', **wish)['body'] == json.loads(FIXED)


@pytest.mark.parametrize('first, second', [pair for pair in PAIRS if pair[0] is not PROGRAM], ids=repr)
def test_killed_before_a_plain_service(upstream, path, wish, first, second):
    # Shows that where there is nobody to ask, nothing is sent again, and a person is asked for.
    hold = Hold()
    upstream.plan(path, held(hold))
    child = first.begin('send', **wish)
    hold.wait_entered()
    child.kill()
    child.wait(10)
    hold.release()
    found = second.ask('send', **{**wish, 'wait': 2})
    assert (found['outcome'], found['state'], found['retry']['advice']) == ('unknown', 'unknown', 'human')
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('has_gate', [True, False], ids=['gate', 'plain'])
def test_all_at_once(upstream, start_gate, path, wish, has_gate):
    # Shows that processes of every language at one step of one journal make one effect, and all tell its answer.
    upstream.plan(path, delayed(0.5, fixed()))
    if has_gate:
        wish['url'] = f'http://127.0.0.1:{start_gate(upstream).port}{path}'
    children = [(speaker, speaker.begin('send', **wish)) for _ in range(3) for speaker in ALL]
    results = [speaker.finish(child) for speaker, child in children]
    assert upstream.effects(path) == 1
    assert sorted(result['outcome'] for result in results) == ['created'] + ['replayed'] * (len(results) - 1)
    assert all(result['body'] == json.loads(FIXED) for result in results)


@by_name
def test_files_that_are_refused(tmp_path, wish, speaker):
    # Shows that a journal others can read, another program's database and a newer journal are left alone.
    place = tmp_path / 'state'
    assert speaker.ask('token', **step_of(wish)).startswith('cf-')
    file = place / 'journal.db'
    assert (place.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    file.chmod(0o644)
    assert 'chmod 600' in speaker.ask('token', **step_of(wish))['refused']
    file.chmod(0o600)
    with sqlite3.connect(file) as db:
        db.execute('PRAGMA user_version = 2')
    before = file.read_bytes()
    assert 'newer' in speaker.ask('token', **step_of(wish))['refused']
    with sqlite3.connect(file) as db:
        db.execute('PRAGMA application_id = 7')
    before = file.read_bytes()
    assert 'another program' in speaker.ask('token', **step_of(wish))['refused']
    assert file.read_bytes() == before


# -- one contract ------------------------------------------------------------------------

PROBLEM = 'urn:counterfoil:problem:'


def gate_says(status, outcome, state='running', **body):
    headers = [('Operation-Id', 'op_01ARZ3NDEKTSV4RRFFQ69G5FAV'), ('Operation-Outcome', outcome),
               ('Operation-State', state)]
    if body:
        headers.append(('Content-Type', 'application/problem+json'))
        return answer(status, headers, json.dumps(body).encode())
    return fixed(status, headers)


def problem(slug, advice, after=0):
    return {'type': PROBLEM + slug, 'title': 'a title', 'detail': 'a detail',
            'retry': {'advice': advice, 'after': after}}


def bare_problem(status, slug, advice, after=0):
    return answer(status, [('Content-Type', 'application/problem+json')],
                  json.dumps(problem(slug, advice, after)).encode())


# name: (what the service does in turn, options, what is certain: outcome, state, effects)
CASES = {
    'created': ([fixed()], {}, ('created', 'done', 1)),
    'text': ([answer(200, [('Content-Type', 'text/plain')], 'grün'.encode())], {}, ('created', 'done', 1)),
    'binary': ([answer(200, [], b'\xff\x00')], {}, ('created', 'done', 1)),
    'no content': ([answer(204)], {}, ('created', 'done', 1)),
    'not json': ([answer(200, [('Content-Type', 'application/json')], b'{"a":1,"a":2}')], {}, ('created', 'done', 1)),
    'redirect': ([answer(302, [('Location', '/elsewhere')], b'')], {}, ('created', 'done', 1)),
    'failed': ([fixed(422)], {}, ('failed', 'failed', 1)),
    'not found': ([fixed(404)], {}, ('failed', 'failed', 1)),
    'conflict of its own': ([fixed(409)], {}, ('failed', 'failed', 1)),
    'server error': ([fixed(500)], {'wait': 5}, ('unknown', 'unknown', 1)),
    'timeout of its own': ([fixed(504)], {'wait': 0}, ('unknown', 'unknown', 1)),
    'not taken': ([fixed(503, [('Retry-After', '7')])], {'wait': 0}, ('not_sent', 'new', 1)),
    'not taken, then taken': ([fixed(429), fixed()], {}, ('created', 'done', 2)),
    'dropped': ([drop()], {'wait': 5}, ('unknown', 'unknown', 1)),
    'reset': ([reset()], {'wait': 5}, ('unknown', 'unknown', 1)),
    'half': ([half()], {'wait': 5}, ('unknown', 'unknown', 1)),
    'half of chunks': ([half(framing='chunked')], {'wait': 5}, ('unknown', 'unknown', 1)),
    'half a head': ([half(framing='head')], {'wait': 5}, ('unknown', 'unknown', 1)),
    'hangs': ([hang()], {'wait': 5, 'timeout': 1}, ('unknown', 'unknown', 1)),
    'dropped, key honoured': ([drop(), fixed()], {'honours_key': True}, ('created', 'done', 2)),
    'error, key honoured': ([fixed(500), fixed()], {'honours_key': True}, ('created', 'done', 2)),
    'in progress, key honoured': ([fixed(409), fixed()], {'honours_key': True}, ('created', 'done', 2)),
    'dropped, then refused': ([drop(), fixed(422)], {'honours_key': True}, ('failed', 'failed', 2)),
    'a gate: created': ([gate_says(201, 'created', 'completed')], {}, ('created', 'done', 1)),
    'a gate: reused': ([gate_says(201, 'reused', 'completed')], {}, ('reused', 'done', 1)),
    'a gate: failed': ([gate_says(422, 'created', 'failed')], {}, ('failed', 'failed', 1)),
    'a gate: running': ([gate_says(409, 'running', **problem('operation-running', 'wait', 1))], {'wait': 0},
                        ('running', 'open', 1)),
    'a gate: approval': ([gate_says(202, 'awaiting_approval', **problem('approval-pending', 'wait', 10))],
                         {'wait': 0}, ('awaiting_approval', 'open', 1)),
    'a gate: locked': ([gate_says(423, 'locked', **problem('lock-held', 'wait', 5))], {'wait': 0},
                       ('locked', 'new', 1)),
    'a gate: denied': ([gate_says(403, 'denied', 'cancelled', **problem('approval-denied', 'human'))], {},
                       ('denied', 'failed', 1)),
    'a gate: expired': ([gate_says(410, 'expired', **problem('key-expired', 'stop'))], {},
                        ('expired', 'unknown', 1)),
    'a gate: conflict': ([gate_says(422, 'conflict', **problem('key-reused', 'fix'))], {}, ('conflict', 'new', 1)),
    'a gate: unknown': ([gate_says(504, 'unknown', **problem('outcome-unknown', 'query', 5))], {'wait': 0},
                        ('unknown', 'unknown', 1)),
    'a gate: refused': ([bare_problem(422, 'command-invalid', 'fix')], {}, ('refused', 'new', 1)),
    'a gate: unauthenticated': ([bare_problem(401, 'unauthenticated', 'fix')], {}, ('refused', 'new', 1)),
    'a gate: store': ([bare_problem(503, 'store-unavailable', 'same_key', 1), fixed()], {}, ('created', 'done', 2)),
    'a gate: not sent': ([gate_says(503, 'not_sent', 'queued', **problem('not-sent', 'same_key', 1)), fixed()], {},
                         ('created', 'done', 2)),
}


@pytest.mark.parametrize('name', CASES)
def test_the_same_answer_means_the_same(upstream, path, wish, tmp_path, name):
    # Shows that one scripted service leads to one result object in every language, also when it is told again.
    behaviours, options, (outcome, state, count) = CASES[name]
    results = []
    for speaker in ALL:
        upstream.plan(path, *behaviours)
        mark = upstream.mark()
        asked = {**wish, **options, 'journal': str(tmp_path / repr(speaker) / 'journal.db')}
        first = comparable(speaker.ask('send', **asked))
        assert upstream.effects(path, mark) == count, speaker
        assert (first['outcome'], first['state']) == (outcome, state), (speaker, first)
        again = comparable(speaker.ask('send', **asked)) if state in ('done', 'failed') else None
        assert upstream.effects(path, mark) == count, speaker
        results.append((first, again))
    for speaker, result in zip(ALL, results):
        assert differences(result, results[0]) == {}, speaker


@by_name
def test_nothing_left(upstream, path, wish, speaker):
    # Shows that a connection that was refused is known to have made no effect, and the next run makes it.
    refused = {**wish, 'url': f'http://127.0.0.1:1{path}', 'wait': 0}
    found = speaker.ask('send', **refused)
    assert (found['outcome'], found['state'], found['retry']['advice']) == ('not_sent', 'new', 'same_key')


@by_name
@pytest.mark.parametrize('fault', [fixed(504), drop()], ids=['504', 'dropped'])
def test_a_gate_that_does_not_protect_it(upstream, start_gate, path, wish, speaker, fault):
    # Shows that a write which a gate passes unprotected is not sent again because the gate has no record of it.
    gate = start_gate(None, f'upstreams:\n  default: {{url: "{upstream.url}"}}\nprotect: [PATCH]\nundeclared: pass\n')
    upstream.plan(path, fault)
    wish['url'] = f'http://127.0.0.1:{gate.port}{path}'
    for _ in range(2):
        found = speaker.ask('send', **{**wish, 'wait': 3})
        assert found['outcome'] == 'unknown'
        assert upstream.effects(path) == 1


@by_name
def test_killed_in_front_of_a_gate_that_does_not_protect_it(upstream, start_gate, path, wish, speaker):
    # Shows that a gate says itself that it keeps no record of such a write, so that nothing is sent again.
    gate = start_gate(None, f'upstreams:\n  default: {{url: "{upstream.url}"}}\nprotect: [PATCH]\nundeclared: pass\n')
    wish['url'] = f'http://127.0.0.1:{gate.port}{path}'
    hold = Hold()
    upstream.plan(path, held(hold, fixed()))
    child = speaker.begin('send', **wish)
    hold.wait_entered()
    child.kill()
    child.wait(10)
    hold.release()
    assert speaker.ask('send', **{**wish, 'wait': 3})['outcome'] == 'unknown'
    assert upstream.effects(path) == 1


@by_binding
def test_another_credential(upstream, start_gate, path, wish, speaker):
    # Shows that what was lost under one credential is not sent under another, which is another account to the gate.
    gate = start_gate(upstream)
    wish['url'] = f'http://127.0.0.1:{gate.port}{path}'
    hold = Hold()
    upstream.plan(path, held(hold, fixed()))
    child = speaker.begin('send', **wish, headers={'Authorization': 'Bearer one'})
    hold.wait_entered()
    child.kill()
    child.wait(10)
    hold.release()
    other = speaker.ask('send', **wish, headers={'Authorization': 'Bearer two'})
    assert other['outcome'] == 'unknown' and 'credential' in other['reason']
    assert speaker.ask('send', **wish, headers={'Authorization': 'Bearer one'})['outcome'] == 'replayed'
    assert upstream.effects(path) == 1


FULL = 'CREATE TRIGGER full BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, "disk full"); END'


@by_binding
@pytest.mark.parametrize('has_gate', [True, False], ids=['gate', 'plain'])
@pytest.mark.parametrize('fault', ['refused', 'full'])
def test_a_process_that_could_not_settle_goes_on(upstream, start_gate, path, wish, tmp_path, speaker, has_gate, fault):
    # Shows that the journal may fail when the end is known, and be good again: the same process is not kept out.
    disk = None
    if fault == 'full':
        if not can_mount(tmp_path / 'probe'):
            pytest.skip('a small disk cannot be mounted here')
        disk = SmallDisk(tmp_path / 'disk', 128 * 1024)
        wish['journal'] = str(tmp_path / 'disk' / 'journal.db')
    if has_gate:
        wish['url'] = f'http://127.0.0.1:{start_gate(upstream).port}{path}'
    filler, between = tmp_path / 'disk' / 'filler', ['sqlite3', wish['journal'], 'DROP TRIGGER full']

    def fail(exchange):
        if disk:
            disk.fill()
        else:
            with sqlite3.connect(wish['journal']) as db:
                db.execute(FULL)
        fixed()(exchange)
    try:
        upstream.plan(path, behaviour(fail, True))
        first, again = speaker.ask('twice', **{**wish, 'wait': 1}, between=['rm', str(filler)] if disk else between)
        assert 'created, status 201' in first['unrecorded'], first
        assert (again['outcome'], again['state']) == (('replayed', 'done') if has_gate else ('unknown', 'unknown'))
        assert (upstream.effects(path), len(upstream.seen(path))) == (1, 1)
    finally:
        if disk:
            disk.release()


@by_binding
def test_resolve_never_sends(upstream, start_gate, path, wish, speaker):
    # Shows that resolve() asks, tells what became of it, and sends nothing.
    gate = start_gate(upstream)
    wish['url'] = f'http://127.0.0.1:{gate.port}{path}'
    nothing = speaker.ask('resolve', **step_of(wish), wait=1)
    assert (nothing['outcome'], nothing['source']) == ('not_sent', 'journal')
    hold = Hold()
    upstream.plan(path, held(hold, fixed()))
    child = speaker.begin('send', **wish)
    hold.wait_entered()
    child.kill()
    child.wait(10)
    open_still = speaker.ask('resolve', **step_of(wish), wait=0)
    assert (open_still['outcome'], open_still['state']) == ('running', 'open')
    hold.release()
    found = speaker.ask('resolve', **step_of(wish), wait=20)
    assert (found['outcome'], found['body'], upstream.effects(path)) == ('replayed', json.loads(FIXED), 1)


@by_binding
def test_a_large_answer_and_an_output(upstream, path, wish, tmp_path, speaker):
    # Shows that a body over 1 MiB goes to a file beside the journal, and any body to the file that was named.
    large, target = b'x' * (1 << 21), tmp_path / 'answer.bin'
    upstream.plan(path, answer(200, [('Content-Type', 'text/plain')], large))
    for source in ('answer', 'journal'):
        found = speaker.ask('send', **wish)
        assert (found['body'], found['source']) == (None, source)
        kept = tmp_path / 'state' / 'journal.db.answers' / '1'
        assert found['file'] == str(kept) and kept.read_bytes() == large and kept.stat().st_mode & 0o777 == 0o600
    upstream.plan(path, fixed())
    for _ in range(2):
        found = speaker.ask('send', **{**wish, 'step': 'other', 'output': str(target)})
        assert (found['body'], found['file'], target.read_bytes()) == (None, str(target), FIXED)
        target.unlink()


@by_binding
def test_what_is_not_asked_for_properly(wish, speaker):
    # Shows that a request which is none is refused before anything is written or sent.
    for bad in ({'url': 'ftp://a.test/'}, {'method': 'P OST'}, {'task': None, 'step': None}, {'key': 'k'},
                {'headers': {'Idempotency-Key': 'x'}}, {'headers': {'A': 'x\ny'}}, {'step': 'a\x7f'}):
        assert 'refused' in speaker.ask('send', **{**wish, **bad}), bad


# -- the wire ----------------------------------------------------------------------------


@by_binding
def test_certificates(certs, path, wish, speaker):
    # Shows that the CA of the options is trusted and no other, and the client's certificate is shown.
    import ssl
    from harness.upstream import Upstream
    context = certs.server()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certs.ca)
    service = Upstream(tls=context)
    try:
        wish['url'] = service.url + path
        assert speaker.ask('send', **{**wish, 'wait': 0})['outcome'] == 'not_sent'
        done = speaker.ask('send', **wish, ca_file=str(certs.ca), client_cert=str(certs.certificate),
                           client_key=str(certs.key))
        assert (done['outcome'], service.effects(path)) == ('created', 1)
    finally:
        service.stop()


@by_binding
def test_proxies(certs, upstream, path, wish, speaker):
    # Shows that a proxy of the options is used, for http and for https, and goes before one of the environment.
    from harness.upstream import Upstream
    service, proxy = Upstream(tls=certs.server()), Proxy()
    environment = {name: 'http://127.0.0.1:1' for name in ('http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY')}
    try:
        assert speaker.ask('send', environment, **wish, proxy='')['outcome'] == 'created'
        through = f'http://user:pass%3A@127.0.0.1:{proxy.port}'
        done = speaker.ask('send', environment, **{**wish, 'url': service.url + path, 'step': 'tls', 'proxy': through,
                                                   'ca_file': str(certs.ca)})
        assert (done['outcome'], service.effects(path)) == ('created', 1)
        refused = speaker.ask('send', **{**wish, 'url': f'https://localhost:1{path}', 'step': 'no', 'proxy': through,
                                         'wait': 0})
        assert refused['outcome'] == 'not_sent'
        speaker.ask('send', **{**wish, 'step': 'plain', 'proxy': through})
        assert [head.decode('latin-1').split(' ')[:2] for head in proxy.heads] == [
            ['CONNECT', f'localhost:{service.port}'], ['CONNECT', 'localhost:1'], ['POST', wish['url']]]
        assert all(b'Proxy-Authorization: Basic dXNlcjpwYXNzOg==' in head for head in proxy.heads)
        assert service.last(path).get('Proxy-Authorization') is None
    finally:
        service.stop()
        proxy.stop()


@by_name
def test_a_proxy_of_the_environment(certs, upstream, path, wish, speaker):
    # Shows that the environment's proxies are used as curl has it: by scheme, in lower case for http, but for no_proxy.
    from harness.upstream import Upstream
    service, proxy = Upstream(tls=certs.server()), Proxy()
    here, nowhere = f'127.0.0.1:{proxy.port}', 'http://127.0.0.1:1'
    secure = {'url': service.url + path, 'ca_file': str(certs.ca)}

    def ask(step, env, **more):
        before = len(proxy.heads)
        told = speaker.ask('send', {**dict.fromkeys(PROXY_NAMES, ''), **env}, **{**wish, 'step': step, 'wait': 0, **more})
        return told['outcome'], len(proxy.heads) - before
    try:
        assert ask('1', {'http_proxy': here}) == ('created', 1)
        assert ask('2', {'HTTP_PROXY': nowhere}) == ('created', 0)
        assert ask('3', {'https_proxy': nowhere}) == ('created', 0)
        assert ask('4', {'HTTPS_PROXY': here}, **secure) == ('created', 1)
        assert ask('5', {'all_proxy': f'http://{here}'}) == ('created', 1)
        assert ask('6', {'http_proxy': nowhere}) == ('not_sent', 0)
        assert ask('7', {'http_proxy': nowhere, 'no_proxy': 'a.test,127.0.0.1'}) == ('created', 0)
        assert ask('8', {'http_proxy': nowhere, 'NO_PROXY': '127.0.0.0/8'}) == ('created', 0)
        assert ask('9', {'http_proxy': here, 'no_proxy': '*'}, no_proxy='a.test') == ('created', 1)
        assert ask('10', {'http_proxy': nowhere}, no_proxy='*') == ('created', 0)
        assert ask('11', {'http_proxy': nowhere}, proxy='') == ('created', 0)
        assert ask('12', {}, proxy=here, no_proxy='127.0.0.1') == ('created', 0)
    finally:
        service.stop()
        proxy.stop()


PROXY_NAMES = [name for scheme in ('http', 'https', 'all', 'no') for name in (f'{scheme}_proxy', f'{scheme}_proxy'.upper())]
# (host, no_proxy, is it reached without the proxy?)
EXEMPT = [('a.test', 'a.test', True), ('A.Test', 'x, a.tEST', True), ('b.a.test', 'a.test', True),
          ('b.a.test', '.a.test', True), ('a.test', '.a.test', True), ('ba.test', 'a.test', False),
          ('a.test', 'b.a.test', False), ('a.test.', 'a.test', True), ('a.test', 'a.test.', True),
          ('a.test', 'x y a.test', True), ('a.test', 'x,*', False), ('a.test', '*.test', False),
          ('127.9.8.7', '127.9.8.7', True), ('127.9.8.7', '127.9.0.0/16', True), ('127.9.8.7', '127.9.0.0/24', False),
          ('127.9.8.7', '9.8.7', False), ('127.9.8.7', '127.9.8.7/33', False), ('[::1]', '::1', True),
          ('[::1]', '127.0.0.1', False)]


@pytest.mark.parametrize('host, no_proxy, is_exempt', EXEMPT)
def test_hosts_without_a_proxy(upstream, path, wish, host, no_proxy, is_exempt):
    # Shows that the bindings take no_proxy as the program does, and so curl.
    url = f'http://{host}:1{path}'
    for speaker in BINDINGS:
        [found] = speaker.ask('pure', questions=[['proxy', url, upstream.url, no_proxy, {}]])
        assert found == (None if is_exempt else upstream.url), speaker
    told = PROGRAM.ask('send', **{**wish, 'url': url, 'wait': 0, 'proxy': upstream.url, 'no_proxy': no_proxy})
    assert told['outcome'] == ('not_sent' if is_exempt else 'created')


@by_name
def test_a_certificate_that_is_not_checked(certs, path, wish, speaker):
    # Shows that `insecure` alone lets a certificate of nobody's through, and only where it is plainly said.
    from harness.upstream import Upstream
    service = Upstream(tls=certs.server())
    try:
        wish.update(url=service.url + path, wait=0)
        assert speaker.ask('send', **wish)['outcome'] == 'not_sent'
        assert speaker.ask('send', **wish, insecure=False)['outcome'] == 'not_sent'
        assert speaker.ask('send', **wish, insecure=True)['outcome'] == 'created'
        if speaker is not PROGRAM:
            child = speaker.begin('send', **wish, insecure='no')
            assert 'insecure' in child.communicate(timeout=60)[1].decode() and child.returncode != 0
        assert service.effects(path) == 1
    finally:
        service.stop()


@by_name
@pytest.mark.parametrize('through', [False, True], ids=['tls', 'tunnel'])
def test_a_connection_that_takes_too_long(path, wish, speaker, through):
    # Shows that who accepts and says nothing is given up long before the request's own time: certainly not sent.
    import socket
    with socket.create_server(('127.0.0.1', 0)) as silent:
        address = '127.0.0.1:%d' % silent.getsockname()[1]
        wish.update(url=f'https://{address}{path}', wait=0, timeout=3000, connect_timeout=1)
        if through:
            wish['proxy'] = f'http://{address}'
        told = speaker.ask('send', **wish)
    assert (told['outcome'], told['state'], told['attempts']) == ('not_sent', 'new', 1)


@by_binding
def test_the_request_as_it_is_sent(upstream, path, wish, speaker):
    # Shows that the target goes out as it is spelled, and what the gate is told of the step.
    wish['url'] = f'{upstream.url.upper()}{path}/../%7e?q=%41#gone'
    speaker.ask('send', **{**wish, 'step': 'größe'})
    seen = upstream.seen()[-1]
    assert seen.target == f'{path}/../%7e?q=%41'
    assert (seen.get('Counterfoil-Task'), seen.get('Counterfoil-Step')) == ('invoice 1873', None)
    assert seen.get('Idempotency-Key') == speaker.ask('token', **{**step_of(wish), 'step': 'größe'})
    assert (seen.get('Content-Type'), seen.json()) == ('application/json', {'amount': 4900})
    speaker.ask('send', **{**without(wish, 'json'), 'step': 'empty'})
    assert (upstream.seen()[-1].get('Content-Length'), upstream.seen()[-1].framing) == ('0', 'length')


# -- exact JSON --------------------------------------------------------------------------


def is_of_json(vector):
    """Two requests that differ in nothing but a body of JSON."""
    a, b = ({**vector[side], 'body': None} for side in 'ab')
    return a == b and 'json' in str(a['headers'])


@by_binding
@pytest.mark.parametrize('vector', [each for each in VECTORS if is_of_json(each)], ids=lambda vector: vector['name'])
def test_payloads_compare_as_fingerprints_do(speaker, vector):
    # Shows that the gate's vectors hold for payloads: the same, different, or not JSON of one reading.
    sides = [vector[side].get('body', '').encode('utf-8', 'surrogatepass').hex() for side in 'ab']
    kind = next(value for name, value in vector['a']['headers'].items() if name.lower() == 'content-type')
    (a, a_members), (b, b_members) = speaker.ask('pure', questions=[['payload', kind, side, 't'] for side in sides])
    if vector['want'] in ('same', 'differ'):
        assert (a == b) == (vector['want'] == 'same')
    if vector['want'] in ('refuse_a', 'refuse_both'):
        assert a_members is None
    if vector['want'] in ('refuse_b', 'refuse_both'):
        assert b_members is None


class Proxy:
    """A proxy of one kind or the other: tunnels, and answers plain requests itself."""

    def __init__(self):
        import socket
        import threading
        self.heads, self.threads = [], []
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(10)
                self.one(client)

    def one(self, client):
        import socket
        head = b''
        while b'\r\n\r\n' not in head:
            head += client.recv(65536)
        self.heads.append(head)
        method, target, _ = head.split(b'\r\n')[0].split(b' ')
        if method != b'CONNECT':
            client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
            return
        host, port = target.decode().rsplit(':', 1)
        try:
            service = socket.create_connection((host, int(port)), timeout=10)
        except OSError:
            client.sendall(b'HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n')
            return
        with service:
            client.sendall(b'HTTP/1.1 200 Here\r\n\r\n')
            self.pump(client, service)

    def pump(self, client, service):
        import select
        while True:
            ready, _, _ = select.select([client, service], [], [], 10)
            for side in ready:
                piece = side.recv(65536)
                if not piece:
                    return
                (service if side is client else client).sendall(piece)

    def stop(self):
        import socket
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.thread.join(10)
