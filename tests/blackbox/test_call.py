"""`counterfoil call`: one action, one effect, however often it is run."""
import http.server
import os
import pathlib
import socket
import sqlite3
import ssl
import stat
import threading

import pytest

from harness.caller import Caller
from harness.upstream import Hold, answer, drop, held

BODY = {'project': 'apollo', 'title': 'Valve sticks'}


# -- the token -----------------------------------------------------------------------------


def test_the_token_is_on_disk_before_the_first_byte(caller, gate, upstream, url, path):
    """While the service holds the request, the journal already has its token."""
    hold = Hold()
    upstream.plan(path, held(hold))
    process = caller.begin(url, BODY)
    hold.wait_entered()
    with sqlite3.connect(f'file:{caller.journal}?mode=ro', uri=True) as db:
        row = db.execute('SELECT token, state, attempts FROM entry').fetchone()
    hold.release()
    done = caller.end(process)
    assert row == (done['token'], 'sending', 1)
    assert upstream.seen(path)[0].get('Idempotency-Key') == done['token']


def test_a_later_run_of_the_same_step_uses_the_same_token(caller, gate, upstream, url, path):
    """Run twice: one effect, the same token, and the answer told again."""
    first = caller.call(url, BODY)
    again = caller.call(url, BODY)
    assert (first.status, first['outcome']) == (0, 'created')
    assert (again.status, again['outcome'], again['source']) == (0, 'replayed', 'journal')
    assert again['token'] == first['token'] and again['body'] == first['body']
    assert again['operation'] == first['operation']
    assert upstream.effects(path) == 1


def test_another_task_step_method_or_url_is_another_action(caller, gate, upstream, url, path):
    """Each of the four makes it another one."""
    runs = [caller.call(url, BODY), caller.call(url, BODY, task='other'),
            caller.call(url, BODY, step='other'), caller.call(url, BODY, method='PATCH'),
            caller.call(url + '?a=1', BODY)]
    assert [run.status for run in runs] == [0] * 5
    assert len({run['token'] for run in runs}) == 5
    assert upstream.effects(path) == 5


def test_the_first_token_of_a_step_is_the_same_on_every_machine(tmp_path, gate, upstream, url, path):
    """A job that lost its disk finds its token again, and the gate its answer."""
    first = Caller(tmp_path / 'one').call(url, BODY)
    second = Caller(tmp_path / 'two').call(url, BODY)
    assert first['token'] == second['token']
    assert (second.status, second['outcome']) == (0, 'replayed')
    assert upstream.effects(path) == 1


def test_a_token_of_ones_own(caller, gate, upstream, url, path, token):
    """--key stands for task and step, and is sent as it is."""
    first = caller.call(url, BODY, key=token)
    again = caller.call(url, BODY, key=token)
    assert (first['token'], first['task'], again['outcome']) == (token, None, 'replayed')
    assert upstream.effects(path) == 1
    assert upstream.seen(path)[0].get('Idempotency-Key') == token


def test_call_token_prints_it_without_sending(caller, gate, upstream, url, path):
    """The printed token is the one that the step's call then sends."""
    printed = caller.command('token', 'POST', url, '--task', 'task', '--step', 'step')
    assert printed.status == 0 and upstream.effects(path) == 0
    done = caller.call(url, BODY)
    assert printed.stdout == done['token'] + '\n'


def test_the_journal_is_private(caller, gate, url):
    """0600, in folders of 0700; one that others can read is refused, and nothing is sent."""
    caller.call(url, BODY)
    assert stat.S_IMODE(caller.journal.stat().st_mode) == 0o600
    assert stat.S_IMODE(caller.journal.parent.stat().st_mode) == 0o700
    caller.journal.chmod(0o644)
    refused = caller.call(url, BODY, step='other')
    assert refused.status == 1 and refused.stdout == ''
    assert 'chmod 600' in refused.stderr


def test_task_and_step_go_along(caller, gate, upstream, url, path):
    """The gate and the service are told which step it is."""
    done = caller.call(url, BODY, task='night run', step='ticket 7')
    seen = upstream.seen(path)[0]
    assert (seen.get('Counterfoil-Task'), seen.get('Counterfoil-Step')) == ('night run', 'ticket 7')
    attempt = gate.operation(done['operation'])['attempts'][0]
    assert (attempt['task'], attempt['step']) == ('night run', 'ticket 7')


# -- the payload ---------------------------------------------------------------------------


def test_a_changed_payload_is_refused_here_and_named(caller, gate, upstream, url, path):
    """What changed is named by its members, never by their values, and nothing is sent."""
    caller.call(url, BODY)
    refused = caller.call(url, {'project': 'secret-value', 'note': 1, 'title': 'Valve sticks'})
    assert (refused.status, refused['outcome'], refused['local']) == (12, 'conflict', True)
    assert refused['difference'] == 'changed: /project; added: /note'
    assert 'secret-value' not in refused.stdout
    assert len(upstream.seen(path)) == 1


def test_the_same_json_written_otherwise_is_the_same(caller, gate, upstream, url, path):
    """Order, white space and spelling of numbers do not count; a number that differs in its last digit does."""
    caller.call(url, '{"a": 9007199254740993, "b": 1.0}')
    assert caller.call(url, '{"b":1,"a":9007199254740993}')['outcome'] == 'replayed'
    assert caller.call(url, '{"b":1,"a":9007199254740992}')['difference'] == 'changed: /a'
    assert upstream.effects(path) == 1


def test_bytes_that_are_no_json_count_as_they_are(caller, gate, upstream, url, path):
    """Of another media type every byte counts."""
    text = ('-H', 'Content-Type: text/plain')
    assert caller.call(url, 'one', more=text).status == 0
    changed = caller.call(url, 'two', more=text)
    assert (changed.status, changed['difference']) == (12, 'the body differs')
    assert upstream.effects(path) == 1


def test_new_is_a_deliberate_new_action(caller, gate, upstream, url, path):
    """--new draws a token, also for another payload; the one before stays what it was."""
    first = caller.call(url, BODY)
    second = caller.call(url, {'title': 'other'}, more=['--new'])
    assert second['outcome'] == 'created' and second['token'] != first['token']
    assert caller.call(url, {'title': 'other'})['token'] == second['token']
    assert upstream.effects(path) == 2
    assert [entry['current'] for entry in caller.entries()] == [True, False]


def test_new_after_a_failure_says_what_it_retries(caller, gate, upstream, url, path):
    """The operation that failed is named to the gate."""
    upstream.plan(path, answer(402))
    failed = caller.call(url, BODY)
    assert (failed.status, failed['outcome'], failed['status']) == (14, 'failed', 402)
    assert caller.call(url, BODY, more=['--new'])['outcome'] == 'created'
    assert upstream.seen(path)[1].get('Counterfoil-Retry-Of') == failed['operation']


# -- uncertain answers ---------------------------------------------------------------------


def test_an_unknown_outcome_is_not_sent_again(caller, gate, upstream, url, path):
    """The gate says that nobody knows: exit 11, advice for a person, one effect, also when run again."""
    upstream.plan(path, drop())
    for _ in range(2):
        done = caller.call(url, BODY, wait=2)
        assert (done.status, done['outcome'], done['retry']['advice']) == (11, 'unknown', 'human')
    assert upstream.effects(path) == 1


def test_what_a_person_found_out_is_told_by_the_next_run(caller, gate, upstream, url, path):
    """After `op resolve` the same step ends, without being sent again."""
    upstream.plan(path, drop())
    done = caller.call(url, BODY, wait=1)
    gate.operator(f'/api/operations/{done["operation"]}/resolve', 'POST',
                  json={'happened': True, 'why': 'seen there', 'reference': 'tkt_1'})
    again = caller.call(url, BODY, wait=1)
    assert (again.status, again['outcome'], again['state']) == (0, 'replayed', 'done')
    assert upstream.effects(path) == 1


def test_a_lost_answer_is_asked_for_first(caller, start_gate, upstream, path):
    """The way from the gate back is cut: the status resource tells the end, and nothing is sent again."""
    gate = start_gate(upstream)
    with Cut(gate.port) as wire:
        done = caller.call(f'http://127.0.0.1:{wire.port}{path}', BODY, wait=10)
    assert (done.status, done['outcome'], done['source']) == (0, 'replayed', 'status'), (done, wire.lines)
    assert done['status'] == 201 and done['attempts'] == 1
    assert upstream.effects(path) == 1
    assert [line.split(' ')[0] for line in wire.lines][:2] == ['POST', 'GET']
    assert len([line for line in wire.lines if '/response' in line]) == 1


def test_a_lost_request_is_sent_again_under_the_same_token(caller, start_gate, upstream, path):
    """The gate has never heard of the token: the same request goes out again."""
    gate = start_gate(upstream)
    with Cut(gate.port, before=True) as wire:
        done = caller.call(f'http://127.0.0.1:{wire.port}{path}', BODY, wait=10)
    assert (done.status, done['outcome'], done['attempts']) == (0, 'created', 2)
    assert upstream.effects(path) == 1
    assert [line.split(' ')[0] for line in wire.lines] == ['POST', 'GET', 'POST']


def test_under_another_credential_nothing_is_sent_again(caller, start_gate, upstream, path):
    """What is uncertain under one credential could be another account's under the next."""
    gate = start_gate(upstream)
    with Cut(gate.port, before=True, times=2) as wire:
        where = f'http://127.0.0.1:{wire.port}{path}'
        lost = caller.call(where, BODY, wait=0, env={'COUNTERFOIL_CREDENTIAL': 'first'})
        other = caller.call(where, BODY, wait=5, env={'COUNTERFOIL_CREDENTIAL': 'second'})
        assert (lost.status, other.status) == (11, 11)
        assert 'another credential' in other['reason']
        assert upstream.effects(path) == 0
        allowed = caller.call(where, BODY, wait=5, more=['--same-account'],
                              env={'COUNTERFOIL_CREDENTIAL': 'second'})
    assert allowed['outcome'] == 'created', allowed
    assert upstream.effects(path) == 1


PASSES = 'upstreams:\n  default: {{url: "{}"}}\nprotect: [PATCH]\nundeclared: pass\n'


@pytest.mark.parametrize('fault', [drop(), answer(504)], ids=['dropped', '504'])
@pytest.mark.parametrize('wait', [0, 2])
def test_a_gate_that_passed_it_on_proves_nothing(caller, start_gate, upstream, path, fault, wait):
    """No record of an unprotected write is no proof of anything, now or in later runs."""
    gate = start_gate(None, PASSES.format(upstream.url))
    upstream.plan(path, fault)
    told = []
    for again in (wait, 2, 0, 2):
        done = caller.call(f'http://127.0.0.1:{gate.port}{path}', BODY, wait=again)
        assert upstream.effects(path) == 1
        told.append((done.status, done['retry']['advice']))
    assert told == [(11, 'human')] * 4


def test_past_a_gate_an_api_may_honour_keys_too(caller, start_gate, sandbox):
    """--honours-key is the caller's word also where a gate stands that does not protect the write."""
    gate = start_gate(None, PASSES.format(f'http://127.0.0.1:{sandbox.port}'))
    url = f'http://127.0.0.1:{gate.port}/v1/tickets'
    lost = caller.call(url, BODY, wait=0, more=['-H', 'Sandbox-Fault: status=504'])
    assert lost.status == 11
    done = caller.call(url, BODY, wait=5, more=['--honours-key'])
    assert (done.status, done['attempts']) == (0, 2)


def test_lost_and_not_followed_up_is_sent_by_a_later_run(caller, start_gate, upstream, path):
    """The request itself was lost and nobody waited: the later run asks, and then sends it."""
    gate = start_gate(upstream)
    with Cut(gate.port, before=True) as wire:
        where = f'http://127.0.0.1:{wire.port}{path}'
        lost = caller.call(where, BODY, wait=0)
        assert (lost.status, lost['retry']['advice']) == (11, 'query')
        assert caller.call(where, BODY, wait=10)['outcome'] == 'created'
    assert upstream.effects(path) == 1


def test_what_a_gate_has_forgotten_is_not_sent_again(caller, start_gate, upstream, path):
    """A gate told of the operation and then lost its records: it may have happened."""
    gate, empty = start_gate(upstream), start_gate(upstream)
    upstream.plan(path, drop())
    with Cut(gate.port, times=0) as wire:
        where = f'http://127.0.0.1:{wire.port}{path}'
        told = caller.call(where, BODY, wait=0)
        assert told.status == 11 and told['operation']
        wire.upstream = empty.port
        for _ in range(2):
            done = caller.call(where, BODY, wait=2)
            assert (done.status, done['operation']) == (11, told['operation'])
    assert upstream.effects(path) == 1


def test_without_a_gate_nothing_is_sent_twice(caller, upstream, bare, path):
    """The answer was lost, and nobody says that the API honours keys: unknown, for good."""
    upstream.plan(path, drop())
    for _ in range(3):
        done = caller.call(bare, BODY, wait=2)
        assert (done.status, done['retry']['advice']) == (11, 'human')
        assert '--honours-key' in done['reason'] or 'honours' in done['reason']
    assert len([seen for seen in upstream.seen(path) if seen.method == 'POST']) == 1


def test_an_api_that_honours_keys_is_asked_again(caller, sandbox):
    """--honours-key: the same request under the same token, and one effect."""
    sandbox.honour_keys()
    url = f'{sandbox.url}/v1/tickets'
    sandbox.fault('drop', method='POST')
    done = caller.call(url, BODY, wait=10, more=['--honours-key'])
    assert (done.status, done['attempts']) == (0, 2)
    assert sandbox.kinds()['tickets'] == 1


def test_what_was_certainly_not_sent_is_tried_again(caller, gate, upstream, url, path):
    """503 of the service is `not_sent`: the same token again, after what the gate says."""
    upstream.plan(path, answer(503), answer(201, body=b'{"id":"t"}'))
    done = caller.call(url, BODY, wait=20)
    assert (done.status, done['outcome']) == (0, 'created')
    assert len(upstream.seen(path)) == 2


def test_nobody_is_there(caller, tmp_path):
    """Connection refused: nothing happened, the same again later."""
    done = caller.call('http://127.0.0.1:1/x', BODY, wait=1)
    assert (done.status, done['outcome'], done['state']) == (14, 'not_sent', 'new')
    assert done['retry']['advice'] == 'same_key'


def test_a_known_failure_is_never_retried(caller, upstream, bare, path):
    """A 4xx of the service is told again from the journal; nothing is sent."""
    upstream.plan(path, answer(409, body=b'{"error":"closed"}'))
    for _ in range(2):
        done = caller.call(bare, BODY, wait=5)
        assert (done.status, done['outcome'], done['body']) == (14, 'failed', {'error': 'closed'})
    assert len(upstream.seen(path)) == 1


def test_what_was_refused_unrecorded_can_be_mended(caller, upstream, start_gate, path):
    """The gate keeps no record of a body it cannot read: the mended one has the same token."""
    gate = start_gate(upstream)
    url = f'http://127.0.0.1:{gate.port}{path}'
    refused = caller.call(url, '{"a":1,"a":2}')
    assert (refused.status, refused['outcome'], refused['state']) == (14, 'refused', 'new')
    mended = caller.call(url, '{"a":1}')
    assert (mended.status, mended['token']) == (0, refused['token'])
    assert upstream.effects(path) == 1


def test_a_duplicate_under_way_is_waited_for(caller, gate, upstream, url, path, tmp_path):
    """Another machine has the same step under way: its answer, not a second effect."""
    hold = Hold()
    upstream.plan(path, held(hold))
    first = Caller(tmp_path / 'other').begin(url, BODY)
    hold.wait_entered()
    running = caller.call(url, BODY, wait=0)
    assert (running.status, running['outcome']) == (10, 'running')
    second = caller.begin(url, BODY, wait=20)
    hold.release()
    assert Caller.end(first)['outcome'] == 'created'
    assert Caller.end(second)['outcome'] == 'replayed'
    assert upstream.effects(path) == 1


def test_a_person_has_to_agree_first(caller, start_gate, upstream, path):
    """Exit 13 until somebody has; then the same step is told the answer."""
    gate = start_gate(config={
        'upstreams': {'default': {'url': f'http://127.0.0.1:{upstream.port}'}},
        'actions': {'things.create': {'route': f'POST {path}', 'approval': {'when': 'always'}}}})
    url = f'http://127.0.0.1:{gate.port}{path}'
    waiting = caller.call(url, BODY, wait=0)
    assert (waiting.status, waiting['outcome']) == (13, 'awaiting_approval')
    assert upstream.effects(path) == 0
    operation = gate.operator(f'/api/operations/{waiting["operation"]}').json()
    gate.operator(f'/api/approvals/{waiting["operation"]}/approve', 'POST',
                  json={'fingerprint': operation['fingerprint']})
    done = caller.call(url, BODY, wait=20)
    assert (done.status, done['outcome'], done['status']) == (0, 'replayed', 201)
    assert upstream.effects(path) == 1


# -- what is printed -----------------------------------------------------------------------


def test_one_json_object(caller, gate, upstream, url, path):
    """One line with every member, also where there is nothing."""
    upstream.plan(path, answer(201, [('Location', '/v1/t/1'), ('Content-Type', 'application/json'),
                                     ('X-A', '1'), ('X-A', '2')], b'{"id": "t1",\n "n": 1e400}\n'))
    done = caller.call(url, BODY)
    assert done.stdout.count('\n') == 1 and done.stderr == ''
    assert set(done.result) == {'outcome', 'operation', 'token', 'task', 'step', 'method', 'url', 'state',
                                'status', 'headers', 'body', 'file', 'gate', 'attempts', 'source',
                                'retry', 'reason'}
    assert done['headers']['Location'] == '/v1/t/1' and done['headers']['X-A'] == '1, 2'


@pytest.mark.parametrize('body, shown', [
    (b'plain', {'body': 'plain'}),
    (b'\xff\x00', {'body': None, 'body_base64': '/wA='}),
    (b'', {'body': ''}),
])
def test_bodies_that_are_no_json(caller, upstream, bare, path, body, shown):
    """Text is a string, other bytes are base64."""
    upstream.plan(path, answer(200, body=body))
    done = caller.call(bare, BODY)
    assert {name: done.result.get(name) for name in shown} == shown


def test_the_body_in_a_file(caller, upstream, bare, path, tmp_path):
    """--output has the very bytes, also of a later run; a large one goes beside the journal."""
    upstream.plan(path, answer(200, body=b'\x00\x01answer'))
    for name in ('first', 'later'):
        done = caller.call(bare, BODY, more=['-o', tmp_path / name])
        assert (done.status, done['file'], done['body']) == (0, str(tmp_path / name), None)
        assert (tmp_path / name).read_bytes() == b'\x00\x01answer'
    large = os.urandom(3 << 20)
    upstream.plan(path, answer(200, body=large))
    done = caller.call(bare, BODY, step='large')
    with open(done['file'], 'rb') as file:
        assert file.read() == large
    assert stat.S_IMODE(os.stat(done['file']).st_mode) == 0o600
    assert caller.call(bare, BODY, step='large')['file'] == done['file']


def test_a_body_that_went_into_a_file_is_kept_too(caller, upstream, bare, path, tmp_path):
    """A later run that names no file has the body itself, and no path of a file that may be another's by then."""
    upstream.plan(path, answer(200, body=b'{"id": 7}'))
    caller.call(bare, BODY, more=['-o', tmp_path / 'first'])
    (tmp_path / 'first').unlink()
    later = caller.call(bare, BODY)
    assert (later['outcome'], later['body'], later['file']) == ('replayed', {'id': 7}, None)


@pytest.mark.parametrize('name', ['.', 'none/there'])
def test_a_file_that_cannot_be_written_sends_nothing(caller, upstream, bare, path, tmp_path, name):
    """What is seen before is said before: nothing leaves, and the step is as new as it was."""
    refused = caller.call(bare, BODY, more=['-o', tmp_path / name])
    assert (refused.status, refused.stdout) == (2, '') and 'cannot be written' in refused.stderr
    assert upstream.effects(path) == 0
    assert caller.call(bare, BODY)['outcome'] == 'created'


def test_a_file_that_fills_up_loses_no_outcome(caller, upstream, bare, path):
    """The service has done it: that is told and kept, with the body, though the file could not take it."""
    told = caller.call(bare, BODY, more=['-o', '/dev/full'])
    assert (told.status, told['outcome'], told['file']) == (0, 'created', None)
    assert '/dev/full' in told['reason'] and told['body'] is not None
    later = caller.call(bare, BODY)
    assert (later.status, later['outcome'], later['body']) == (0, 'replayed', told['body'])
    assert upstream.effects(path) == 1


def test_list_show_forget(caller, upstream, gate, url, path):
    """What is remembered, what happened, and that what is open is not forgotten by mistake."""
    upstream.plan(path, drop())
    lost = caller.call(url, BODY, wait=0)
    done = caller.call(url, BODY, step='done')
    assert [entry['state'] for entry in caller.entries()] == ['done', 'unknown']
    assert [entry['token'] for entry in caller.entries('--open')] == [lost['token']]
    shown = caller.command('show', lost['token'])
    assert 'unknown' in shown.stdout and 'sent' in shown.stdout
    assert [event['what'] for event in caller.command('show', done['token'], '--json')['events']] == [
        'made', 'sent', 'answered']
    refused = caller.command('forget', lost['token'])
    assert refused.status == 1 and 'twice' in refused.stderr
    assert caller.command('forget', lost['token'], '--force').status == 0
    assert caller.command('forget', done['token']).status == 0
    assert caller.entries() == []
    assert caller.command('show', done['token']).status == 1


def test_prune_forgets_what_ended_long_ago(caller, upstream, gate, url, path):
    """Only what has ended, and with it the file of a large answer; what may still happen stays, and so does what is young."""
    upstream.plan(path, drop(), answer(200, body=b'x' * (2 << 20)))
    caller.call(url, BODY, wait=0, step='lost')
    large, young = caller.call(url, BODY, step='large'), caller.call(url, BODY, step='young')
    kept = pathlib.Path(f'{caller.journal}.answers') / 'of another'
    kept.write_text('stays')
    with sqlite3.connect(caller.journal) as db:
        db.execute("UPDATE entry SET changed_ms = changed_ms - 31 * 86400000 WHERE step <> 'young'")
    file = pathlib.Path(large['file'])
    assert file.stat().st_size == 2 << 20
    told = caller.command('prune', '--older', '30d', '--dry-run', '--json')
    assert (told.status, told['pruned'], told['open'], told['dry_run']) == (0, 1, 1, True) and file.exists()
    told = caller.command('prune', '--older', '30d')
    assert (told.status, told.stdout) == (0, '1 forgotten, 1 older without a known end stays\n')
    assert [entry['step'] for entry in caller.entries()] == ['young', 'lost'] and not file.exists() and kept.exists()
    assert caller.command('prune', '--older', '30d', '--json')['pruned'] == 0
    assert caller.call(url, BODY, step='young')['source'] == 'journal'
    assert caller.call(url, BODY, step='large')['outcome'] == 'replayed'   # by its gate
    assert upstream.effects(path) == 3


def test_two_journals_in_one_folder(caller, upstream, url, path):
    """Each has its own large answers, also under the same number."""
    bodies = [letter * (2 << 20) for letter in (b'a', b'b')]
    upstream.plan(path, *(answer(200, body=body) for body in bodies))
    journals = [{'COUNTERFOIL_JOURNAL': str(caller.journal.parent / name)} for name in ('a.db', 'b.db')]
    caller.journal.parent.mkdir(parents=True, mode=0o700)
    for env, step in zip(journals, 'ab'):
        assert caller.call(url, BODY, step=step, env=env)['outcome'] == 'created'
    for env, step, body in zip(journals, 'ab', bodies):
        told = caller.call(url, BODY, step=step, env=env)
        assert told['source'] == 'journal' and pathlib.Path(told['file']).read_bytes() == body


@pytest.mark.parametrize('age', [None, '30', '0s', 'forever', '-1d', '4000d', ''])
def test_prune_takes_an_age(caller, url, age):
    """Without a sensible age nothing is forgotten."""
    caller.command('token', 'POST', url, '--task', 't', '--step', 's')
    assert caller.command('prune', *([] if age is None else ['--older', age])).status == 2
    assert len(caller.entries()) == 1


# -- credentials and the way there ---------------------------------------------------------


@pytest.mark.parametrize('value, sent', [('abc', 'Bearer abc'), ('Basic YTpi', 'Basic YTpi')])
def test_credentials_from_the_environment_or_a_file(caller, upstream, bare, path, tmp_path, value, sent):
    """A variable, one of another name, or a file; with Bearer where no scheme is named."""
    file = tmp_path / 'credential'
    file.write_text(value + '\n')
    caller.call(bare, BODY, step='1', env={'COUNTERFOIL_CREDENTIAL': value})
    caller.call(bare, BODY, step='2', env={'MINE': value}, more=['--credential-env', 'MINE'])
    caller.call(bare, BODY, step='3', more=['--credential-file', file])
    assert [seen.get('Authorization') for seen in upstream.seen(path)] == [sent] * 3
    assert value not in caller.journal.read_bytes().decode('latin-1')


def test_a_credential_on_the_command_line_is_remarked_on(caller, upstream, bare, path):
    """It works, and it is said what is better."""
    done = caller.call(bare, BODY, more=['-H', 'Authorization: Bearer seen-by-others'])
    assert done.status == 0 and '--credential-file' in done.stderr
    assert 'seen-by-others' not in done.stderr + done.stdout


def test_ca_and_client_certificate(caller, certs, tmp_path):
    """As in curl: --cacert, --cert, --cert-key, --insecure."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.connection.getpeercert(binary_form=True) is not None)
            self.send_response(201)
            self.send_header('Content-Length', '2')
            self.end_headers()
            self.wfile.write(b'{}')

        def log_message(self, *ignored):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.certificate, certs.key)
    context.load_verify_locations(certs.ca)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'https://127.0.0.1:{server.server_port}/x'
    refused = caller.call(url, BODY, wait=0, step='1')
    trusted = caller.call(url, BODY, wait=0, step='2', more=['--cacert', certs.ca])
    named = caller.call(url, BODY, wait=0, step='3', more=[
        '--cacert', certs.ca, '--cert', certs.certificate, '--cert-key', certs.key])
    anybody = caller.call(url, BODY, wait=0, step='4', more=['--insecure'])
    server.shutdown()
    assert (refused.status, refused['outcome']) == (14, 'not_sent')
    assert [run.status for run in (trusted, named, anybody)] == [0, 0, 0]
    assert seen == [False, True, False]


def test_a_proxy_of_the_options_or_the_environment(caller, upstream, bare, path):
    """As in curl: -x, http_proxy, and --noproxy."""
    proxy = f'http://127.0.0.1:{upstream.port}'
    caller.call('http://service.test' + path, BODY, step='1', more=['-x', proxy])
    caller.call('http://service.test' + path, BODY, step='2', env={'http_proxy': proxy})
    assert [seen.target for seen in upstream.seen(path)] or upstream.seen('http://service.test' + path)
    around = caller.call('http://service.test' + path, BODY, step='3', wait=0,
                         env={'http_proxy': proxy}, more=['--noproxy', '*'])
    assert around['outcome'] == 'not_sent'


# -- usage ---------------------------------------------------------------------------------


@pytest.mark.parametrize('arguments, said', [
    (['POST', 'http://x/'], 'give a task and a step'),
    (['POST', 'http://x/', '--task', 'a'], 'the step is missing'),
    (['POST', 'ftp://x/', '--key', 'k'], 'http:// or https://'),
    (['POST', 'http://u:p@x/', '--key', 'k'], 'credentials go into a header'),
    (['PO ST', 'http://x/', '--key', 'k'], 'the method'),
    (['POST', 'http://x/', '--key', 'a b'], ''),
    (['POST', 'http://x/', '--key', 'k', '--task', 'a', '--step', 'b'], 'a token of its own'),
    (['POST', 'http://x/', '--key', 'k', '--wait', 'soon'], '--wait is a number'),
    (['POST', 'http://x/', '--key', 'k', '-H', 'no header'], 'no header'),
    (['POST', 'http://x/', '--key', 'k', '-H', 'Idempotency-Key: x'], 'not yours to set'),
    (['POST', 'http://x/', '--key', 'k', '--new'], 'one action'),
])
def test_what_is_wrong_is_said(caller, arguments, said):
    """Usage is exit 2 or 1 with a sentence, and nothing on standard output."""
    done = caller.command(*arguments)
    assert done.status in (1, 2) and done.stdout == ''
    assert said in done.stderr


# -- a wire that loses ---------------------------------------------------------------------


class Cut:
    """A proxy that loses the first write: its answer, or (before) the request itself."""

    def __init__(self, port, before=False, times=1):
        self.upstream, self.before, self.left = port, before, times
        self.lines = []
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.listener.close()

    def run(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            self.serve(client)

    def serve(self, client):
        with client:
            client.settimeout(20)
            request = read_request(client)
            if not request:
                return
            self.lines.append(request.split(b'\r\n')[0].decode())
            loses = request.startswith(b'POST') and self.left > 0
            self.left -= loses
            if loses and self.before:
                return
            with socket.create_connection(('127.0.0.1', self.upstream)) as server:
                server.settimeout(20)
                server.sendall(request.replace(b'\r\n', b'\r\nConnection: close\r\n', 1))
                data = b''
                while piece := server.recv(65536):
                    data += piece
            if not loses:
                client.sendall(data)


def read_request(sock):
    data = b''
    while b'\r\n\r\n' not in data:
        piece = sock.recv(65536)
        if not piece:
            return b''
        data += piece
    head, _, body = data.partition(b'\r\n\r\n')
    length = 0
    for line in head.split(b'\r\n'):
        if line.lower().startswith(b'content-length:'):
            length = int(line.split(b':')[1])
    while len(body) < length:
        body += sock.recv(65536)
    return head + b'\r\n\r\n' + body
