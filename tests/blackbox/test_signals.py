"""SIGTERM and SIGHUP: ending well, and changing one's mind without ending."""
import concurrent.futures
import subprocess
import time

import pytest

from harness.client import Closed
from harness.gate import BINARY, config
from harness.rules import needed, ruled, said
from harness.upstream import Hold, answer, drop, hang, held


def refuses(gate):
    """Does the gate take no new work? A refused or ended connection, or 503."""
    try:
        return gate.get('/v1/anything', timeout=2).status == 503
    except (Closed, OSError):
        return True


def test_term_lets_work_finish(start_gate, upstream, path, token):
    # Shows that SIGTERM stops accepting, lets what runs end and answer, and exits 0.
    gate = start_gate(upstream)
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        gate.terminate()
        until(lambda: refuses(gate))
        assert gate.is_running
        hold.release()
        assert first.result().outcome == 'created'
    assert gate.wait_exit() == 0
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'
    assert upstream.effects(path) == 1


def test_term_when_idle(start_gate, upstream):
    # Shows that an idle gate, also with idle connections, ends at once.
    gate = start_gate(upstream)
    with gate.connect() as idle:
        idle.request('GET', '/v1/x')
        began = time.monotonic()
        gate.terminate()
        assert gate.wait_exit() == 0
        assert time.monotonic() - began < 3


def test_term_is_bounded(start_gate, upstream, path, token):
    # Shows that a service that never answers holds the end up no longer than drain_timeout,
    # and that its operation is unknown afterwards.
    gate = start_gate(upstream, config(upstream, limits={'drain_timeout': '1s'}))
    upstream.plan(path, hang())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(quietly, gate.post, path, token)
        upstream.wait_seen(path)
        began = time.monotonic()
        gate.terminate()
        assert gate.wait_exit() == 0
        assert 0.5 < time.monotonic() - began < 6
        first.result()
    gate.restart()
    assert gate.post(path, token).slug == 'outcome-unknown'
    assert upstream.effects(path) == 1


def test_what_had_not_left_when_it_gave_up_never_does(start_gate, upstream, path, token):
    # Shows that requests which wait for a connection to the service when the drain gives up are
    # not sent any more, are told so, and can be sent by the next gate.
    gate = start_gate(config={'threads': 1, **config({'url': upstream.url, 'max_connections': 1},
                                              limits={'drain_timeout': '1s'})})
    upstream.plan(path, hang())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        first = pool.submit(quietly, gate.post, path, token)
        upstream.wait_seen(path)
        others = [pool.submit(quietly, gate.post, f'{path}-{n}', f'{token}-{n}') for n in range(7)]
        until(lambda: b'counterfoil_requests_open 8' in gate.operator('/metrics').body)
        gate.terminate()
        assert gate.wait_exit() == 0
        assert first.result().slug == 'outcome-unknown'
        assert [o.result().outcome for o in others] == ['not_sent'] * 7
    gate.restart()
    for n in range(7):
        assert upstream.effects(f'{path}-{n}') == 0
        assert gate.post(f'{path}-{n}', f'{token}-{n}').outcome == 'created'
        assert upstream.effects(f'{path}-{n}') == 1


def test_term_finishes_what_nobody_waits_for(start_gate, upstream, path, token):
    # Shows that an operation whose caller has left is finished before the end too.
    from harness.client import build
    from harness.gate import head_lines
    gate = start_gate(upstream)
    hold = Hold()
    upstream.plan(path, held(hold))
    connection = gate.connect()
    connection.send(build('POST', path, head_lines(token, None, json=1), b'{"n": 1}'))
    hold.wait_entered()
    connection.abort()
    gate.terminate()
    time.sleep(0.3)
    assert gate.is_running
    hold.release()
    assert gate.wait_exit() == 0
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'


QUESTION = {'get': '/v1/find?n={n}', 'found': {'status': 200, 'at': '/data/0', 'as': 201},
            'absent': {'status': 200, 'empty': '/data'}, 'timeout': '20s'}


def ends_soon(gate):
    began = time.monotonic()
    gate.terminate()
    assert gate.wait_exit() == 0
    assert time.monotonic() - began < 4


def test_term_does_not_wait_for_a_probe(start_gate, upstream, token):
    # Shows that a question which is not answered does not hold up the end, and is asked again by the
    # next gate at once.
    upstream.forget()
    action = {'route': 'POST /v1/asked', 'fields': {'n': needed()},
              'probe': {**QUESTION, 'settle': '100ms', 'every': '60s'}}
    gate = start_gate(config=ruled(upstream, {'asked.create': action}))
    upstream.plan('/v1/asked', drop())
    upstream.always('/v1/find', hang())
    lost = gate.post('/v1/asked', token, json={'n': 'n'})
    assert lost.slug == 'outcome-unknown'
    upstream.wait_seen('/v1/find')
    ends_soon(gate)
    upstream.always('/v1/find', said({'data': [{'id': 'a'}]}, works=False))
    gate.restart()
    gate.wait_state(lost.operation, 'completed')
    assert upstream.effects('/v1/asked') == 1


def test_term_does_not_wait_for_a_lookup(start_gate, upstream, token):
    # Shows the same for what the dispatcher asks before it sends: its operation is sent by the next
    # gate, once, and what was broken off was none of its tries.
    upstream.forget()
    action = {'route': 'POST /v1/looked', 'fields': {'n': needed()}, 'dispatch': 'outbox',
              'unique': {'by': ['n']}, 'lookup': QUESTION}
    gate = start_gate(config=ruled(upstream, {'looked.create': action}, outbox={'attempts': 1}))
    upstream.always('/v1/find', hang())
    queued = gate.post('/v1/looked', token, json={'n': 'n'})
    assert queued.outcome == 'queued'
    upstream.wait_seen('/v1/find')
    ends_soon(gate)
    upstream.always('/v1/find', said({'data': []}, works=False))
    gate.restart()
    document = gate.wait_state(queued.operation, 'completed')
    assert (document['tries'], upstream.effects('/v1/looked')) == (1, 1)


def test_hup_takes_a_new_configuration(start_gate, upstream, path, token):
    # Shows that a reload changes what statuses mean and what limits are, without a restart and
    # without losing a connection or an operation.
    gate = start_gate(upstream, config(upstream))
    pid = gate.pid
    kept = gate.post(path, token)
    with gate.connect() as connection:
        assert connection.request('GET', path).status == 200
        gate.reload(config(upstream, statuses={'not_sent': [423]}, limits={'max_body': '100'}))
        until(lambda: gate.request('POST', path + '-other', token=token + '-big', body=b'x' * 200).status == 413)
        assert connection.request('GET', path).status == 200
    upstream.plan(path, answer(423, works=False))
    assert gate.post(path, token + '-2').outcome == 'not_sent'
    assert gate.post(path, token).body == kept.body
    assert gate.pid == pid and gate.is_running


def test_hup_during_work(start_gate, upstream, path, token):
    # Shows that an operation that runs while the configuration changes ends as it began.
    gate = start_gate(upstream, config(upstream))
    hold = Hold()
    upstream.plan(path, held(hold, answer(418, body=b'as it was')))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        gate.reload(config(upstream, limits={'max_body': '100'}))
        until(lambda: gate.request('POST', path + '-other', token=token + '-big', body=b'x' * 200).status == 413)
        hold.release()
        assert first.result().body == b'as it was'
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('wrong, word', [
    ({'limits': {'max_bodyy': '1MiB'}}, 'max_bodyy'),
    ({'tokens': {'retention': 'soon'}}, 'retention'),
    ({'undeclared': 'perhaps'}, 'undeclared'),
])
def test_hup_keeps_the_old_one_if_the_new_is_wrong(start_gate, upstream, path, token, wrong, word):
    # Shows that a wrong configuration is refused as a whole, with the reason in the log.
    gate = start_gate(upstream, config(upstream, statuses={'not_sent': [423]}))
    before = len(gate.log)
    gate.reload(config(upstream, **wrong))
    gate.wait_log(word, since=before)
    upstream.plan(path, answer(423, works=False))
    assert gate.post(path, token).outcome == 'not_sent'
    assert gate.is_running


def test_hup_to_a_file_that_is_gone(start_gate, upstream, path, token):
    # Shows that a missing or garbled file changes nothing.
    gate = start_gate(upstream, config(upstream))
    gate.config_file.unlink()
    before = len(gate.log)
    gate.signal_reload()
    gate.wait_log('counterfoil.yaml', since=before)
    gate.reload('upstreams: {default: {url: [')
    time.sleep(0.3)
    assert gate.post(path, token).outcome == 'created'


def test_hup_without_a_file(start_gate, upstream, path, token):
    # Shows that a gate that was started by options alone survives SIGHUP.
    gate = start_gate(upstream)
    gate.signal_reload()
    time.sleep(0.3)
    assert gate.post(path, token).outcome == 'created'


def test_many_reloads_under_load(start_gate, upstream, path, token):
    # Shows that reloading over and over loses no write and makes none twice.
    gate = start_gate(upstream, config(upstream))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        writes = [pool.submit(gate.post, f'{path}-{n}', f'{token}-{n}') for n in range(120)]
        for n in range(15):
            gate.reload(config(upstream, limits={'max_body': f'{100 + n}KiB'}))
            time.sleep(0.02)
        assert [w.result().outcome for w in writes] == ['created'] * 120
    assert all(upstream.effects(f'{path}-{n}') == 1 for n in range(120))
    assert gate.is_running


def until(look, seconds=8):
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, 'it never happened'
        time.sleep(0.05)


def quietly(function, *args):
    try:
        return function(*args)
    except (Closed, OSError):
        return None


def test_signals_count_from_the_first_line_on(tmp_path, upstream):
    # Shows that whoever has read where the gate is can also tell it to end, and gets an orderly end.
    for n in range(20):
        gate = subprocess.Popen(
            [BINARY, 'serve', '--upstream', upstream.url, '--listen', '127.0.0.1:0',
             '--admin', '127.0.0.1:0', '--data', tmp_path / 'data'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        assert b'gate on' in gate.stdout.readline()
        gate.terminate()
        assert gate.wait(15) == 0, n
        gate.stdout.close()
