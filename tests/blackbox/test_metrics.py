"""/metrics of what people are asked, of what others are told, of who was not let in, of the audit log."""
import pathlib
import re
import sqlite3

from harness.gate import config
from harness.metrics import sample, samples
from harness.people import Person
from harness.rules import eventually
from harness.upstream import Upstream, answer
from test_audit import SOON
from test_notify import heard, listener, pay, settings, told_gate  # noqa: F401 (fixtures)

ROOT = pathlib.Path(__file__).parents[2]
ENDS = ('approved', 'denied', 'expired', 'withdrawn')


def ends(gate):
    """How many questions ended in each way."""
    found = samples(gate)
    return [int(found[f'counterfoil_approvals_total{{end="{end}"}}']) for end in ENDS]


def oldest(gate):
    return sample(gate, 'approval_oldest_age_seconds')


def waiting(gate):
    return sample(gate, 'operations_open{state="awaiting_approval"}')


def tries(gate):
    return [sample(gate, f'notice_tries_total{{result="{result}"}}') for result in ('taken', 'not_taken')]


# -- questions to people -----------------------------------------------------------------


def test_each_end_of_a_question_is_counted_once(told_gate, number, token, account):
    # Shows that yes, no, too late and taken back are each one more of their own, and asking is none.
    somebody, path = Person(told_gate), f'/v1/pay/{number}'
    agreed, denied, mine, theirs, stays = (pay(told_gate, path, f'{token}-{n}', account).operation for n in range(5))
    assert ends(told_gate) == [0, 0, 0, 0] and waiting(told_gate) == 5
    assert somebody.approve(agreed).status == 200
    assert ends(told_gate) == [1, 0, 0, 0]
    assert somebody.deny(denied).status == 200
    assert somebody.deny(denied).status == 409 and somebody.approve(denied).status == 409
    assert ends(told_gate) == [1, 1, 0, 0]
    assert told_gate.request('POST', f'/.counterfoil/operations/{mine}/cancel', account=account).status == 200
    assert told_gate.operator(f'/api/operations/{theirs}/cancel', 'POST', json={'why': 'no'}).status == 200
    assert ends(told_gate) == [1, 1, 0, 2] and waiting(told_gate) == 1
    late = pay(told_gate, f'/v1/short/{number}', token + '-late', account).operation
    told_gate.wait_state(late, 'cancelled', account=account)
    assert ends(told_gate) == [1, 1, 1, 2]
    told_gate.wait_state(agreed, 'completed', account=account)
    told_gate.kill9()
    told_gate.restart()
    assert ends(told_gate) == [0, 0, 0, 0] and waiting(told_gate) == 1
    assert told_gate.operation(stays, account)['state'] == 'awaiting_approval'


def test_what_was_agreed_to_is_not_withdrawn(told_gate, upstream, number, token, account):
    # Shows that of a question that was answered nothing more is counted, whatever becomes of its operation.
    path = f'/v1/pay/{number}'
    upstream.plan(path, answer(503, works=False))
    agreed = pay(told_gate, path, token, account).operation
    assert Person(told_gate).approve(agreed).status == 200
    told_gate.request('POST', f'/.counterfoil/operations/{agreed}/cancel', account=account)
    told_gate.wait_state(agreed, 'cancelled', 'completed', account=account)
    assert ends(told_gate) == [1, 0, 0, 0]


def test_how_long_the_oldest_has_waited(told_gate, number, token, account):
    # Shows that the age is of the question that waits longest, from its asking and over a restart, and
    # that there is none where none waits.
    somebody, path = Person(told_gate), f'/v1/pay/{number}'
    assert oldest(told_gate) == 0
    first = pay(told_gate, path, token + '-1', account).operation
    eventually(lambda: oldest(told_gate) >= 2, what='an age')
    second = pay(told_gate, path, token + '-2', account).operation
    told_gate.wait_log('notified')
    assert oldest(told_gate) >= 2
    told_gate.kill9()
    told_gate.restart()
    eventually(lambda: oldest(told_gate) >= 2, seconds=1.5, what='the same age')
    before = oldest(told_gate)
    assert somebody.deny(first).status == 200
    eventually(lambda: oldest(told_gate) < before, what='the age of the second')
    told_gate.request('POST', f'/.counterfoil/operations/{second}/cancel', account=account)
    eventually(lambda: oldest(told_gate) == 0, what='that nobody is asked')


# -- telling of them ---------------------------------------------------------------------


def test_tries_to_tell(told_gate, listener, number, token, account):  # noqa: F811
    # Shows that each try is counted by what the receiver made of it.
    listener.plan('/hooks/approvals', answer(500), answer(410))
    pay(told_gate, f'/v1/pay/{number}', token, account)
    told_gate.wait_log('"notified"')
    assert len(listener.seen('/hooks/approvals')) == 3
    assert tries(told_gate) == [1, 2]
    eventually(lambda: samples(told_gate)['counterfoil_notices_waiting'] == 0)
    assert samples(told_gate)['counterfoil_notices_given_up_total'] == 0


def test_notices_that_wait(start_gate, upstream, tmp_path, number, token, account):
    # Shows that what nobody takes waits, is counted after a restart too, and no more once it was taken.
    away = Upstream(listening=False)
    away.default = answer(204)
    try:
        gate = start_gate(upstream, settings(upstream, away, tmp_path))
        assert samples(gate)['counterfoil_notices_waiting'] == 0
        for n in range(3):
            pay(gate, f'/v1/pay/{number}', f'{token}-{n}', account)
        eventually(lambda: samples(gate)['counterfoil_notices_waiting'] == 3)
        eventually(lambda: tries(gate)[1] >= 3)
        gate.kill9()
        gate.restart()
        eventually(lambda: samples(gate)['counterfoil_notices_waiting'] == 3)
        away.listen()
        heard(away, 3)
        eventually(lambda: samples(gate)['counterfoil_notices_waiting'] == 0)
        assert tries(gate)[0] == 3
    finally:
        away.stop()


def test_a_notice_that_grew_too_old(start_gate, upstream, tmp_path, number, token, account):
    # Shows that what nobody took for three days is given up, which is a number of its own.
    away = Upstream(listening=False)
    try:
        gate = start_gate(upstream, settings(upstream, away, tmp_path))
        pay(gate, f'/v1/pay/{number}', token, account)
        eventually(lambda: tries(gate)[1] >= 1)
        gate.kill9()
        with sqlite3.connect(gate.data / 'counterfoil.db') as db:
            db.execute('UPDATE notice SET at_ms = at_ms - 4 * 86400000')
        db.close()
        gate.restart()
        eventually(lambda: samples(gate)['counterfoil_notices_given_up_total'] == 1)
        eventually(lambda: samples(gate)['counterfoil_notices_waiting'] == 0)
        assert tries(gate) == [0, 1]
    finally:
        away.stop()


# -- who was not let in ------------------------------------------------------------------


def failures(gate, name='failures'):
    return [sample(gate, f'authentication_{name}_total{{listener="{which}"}}') for which in ('data', 'admin')]


def test_who_was_not_let_in(start_gate, upstream, path, token):
    # Shows that a credential that is refused is counted by listener, one that is let in or missing is not.
    gate = start_gate(upstream, config(upstream, accounts={'from': 'key'}))
    good = gate.key('acme', 'builder')['key']
    assert gate.post(path, token, account='Bearer ' + good).status < 300
    assert gate.post(path, token + '-2').status == 401
    assert gate.admin('/api/operations').status == 401
    assert failures(gate) == [0, 0]
    for n in range(3):
        assert gate.post(path, f'{token}-{n}', account='Bearer ' + good[:-4] + 'AAAA').status == 401
    assert failures(gate) == [3, 0]
    assert gate.admin('/api/locks', headers=[('Authorization', 'Bearer wrong')]).status == 401
    for body in (b'{"key": "wrong"}', b'{"link": "wrong"}'):
        assert gate.admin('/api/session', 'POST', body=body).status == 401
    assert failures(gate) == [3, 3] and failures(gate, 'put_off') == [0, 0]
    answers = [gate.admin('/api/locks', headers=[('Authorization', 'Bearer wrong')]).status for _ in range(30)]
    assert failures(gate) == [3, 33] and failures(gate, 'put_off') == [0, answers.count(429)]
    assert answers.count(429) > 0


# -- the audit log -----------------------------------------------------------------------


def log(gate):
    """Entries, those under a checkpoint, when that was written, whether sealing has stopped."""
    found = samples(gate)
    return [found['counterfoil_audit_' + name] for name in (
        'entries_total', 'entries_published_total', 'checkpoint_timestamp_seconds', 'sealer_stopped')]


def test_the_log_and_what_is_signed_of_it(start_gate, upstream, path, token):
    # Shows that entries count all that the log has, also after a restart, and what is signed follows.
    gate = start_gate(upstream, config(upstream, audit=SOON))
    before = log(gate)[0]
    gate.post(path, token)
    assert log(gate)[0] > before
    eventually(lambda: log(gate)[0] == log(gate)[1], what='a checkpoint')
    entries, published, written, stopped = log(gate)
    assert stopped == 0 and written == int((gate.data / 'audit' / 'checkpoint').stat().st_mtime)
    assert published == int((gate.data / 'audit' / 'checkpoint').read_text().split('\n')[1])
    gate.terminate()
    gate.wait_exit()
    gate.restart()
    assert log(gate)[0] >= entries and log(gate)[1] >= published


def test_nothing_is_signed(start_gate, upstream, path, token):
    # Shows what an alert can see where the log's files cannot be written, and that it ends with that.
    gate = start_gate(upstream, config(upstream, audit=SOON))
    gate.post(path, token)
    eventually(lambda: log(gate)[0] == log(gate)[1] > 0, what='a checkpoint')
    tiles = gate.data / 'audit' / 'tile'
    tiles.rename(gate.data / 'audit' / 'away')
    tiles.write_text('')
    gate.post(path, token + '-2')
    eventually(lambda: log(gate)[3] == 1, what='a sealer that has stopped')
    entries, published, _, _ = log(gate)
    assert published < entries
    tiles.unlink()
    (gate.data / 'audit' / 'away').rename(tiles)
    eventually(lambda: log(gate)[3] == 0 and log(gate)[0] == log(gate)[1], what='signing goes on')


def test_the_guide_names_what_there_is(gate):
    # Shows that each metric that the operators' guide names is there, under that name and those labels.
    guide = (ROOT / 'docs' / 'guide' / 'operating.md').read_text()
    there = set(samples(gate))
    named = set(re.findall(r'counterfoil_[a-z_]+(?:\{[a-z]+="[a-z_]+"\})?', guide))
    assert len(named) > 12
    for name in named:
        assert name in there or any(other.startswith(name + '{') for other in there), name


def test_no_label_names_anybody(told_gate, number, token, account):
    # Shows that neither account, token, operation nor the receiver's address stand among the metrics.
    first = pay(told_gate, f'/v1/pay/{number}', token, account).operation
    told_gate.admin('/api/locks', headers=[('Authorization', 'Bearer a-wrong-credential')])
    told_gate.wait_log('"notified"')
    text = told_gate.operator('/metrics').body.decode()
    for word in (first, token, account, 'a-wrong-credential', '/hooks', 'i-1', 'example.test'):
        assert word not in text
