"""`counterfoil call` and the bindings against answers, disks and wires that mislead: an outcome that was
acknowledged is told, and nothing that may have happened is sent again.
"""
import json
import os
import pathlib
import socket
import sqlite3
import subprocess

import pytest

from harness.caller import Caller
from harness.gate import BINARY
from harness.speakers import ALL, BINDINGS
from harness.upstream import answer, behaviour, chunks, drop, raw
from test_call import Cut, read_request

BODY = {'project': 'apollo', 'title': 'Valve sticks'}
PROBLEM = [('Content-Type', 'application/problem+json')]


@pytest.fixture
def caller(tmp_path):
    return Caller(tmp_path / 'agent')


@pytest.fixture
def bare(upstream, path):
    """The service itself, without a gate."""
    return f'http://127.0.0.1:{upstream.port}{path}'


@pytest.fixture(params=ALL, ids=repr)
def send(request, tmp_path, bare):
    """Send the step of this test, by the program or a binding."""
    def one(**words):
        return request.param.ask('send', journal=str(tmp_path / 'journal.db'), method='POST', url=bare, json=BODY,
                                 headers={'Content-Type': 'application/json'}, task='task', step='step',
                                 **{'wait': 1, **words})
    return one


def sent(upstream, path):
    return len([seen for seen in upstream.seen(path) if seen.method == 'POST'])


# -- strange answers -----------------------------------------------------------------------


def test_trailers_do_not_lose_the_answer(send, upstream, path):
    """A chunked answer with trailers is a whole one."""
    upstream.plan(path, chunks(b'{"id":1}', status=201, headers=[('Content-Type', 'application/json')],
                               trailers=b'Server-Timing: total;dur=1\r\n'))
    done = send()
    assert (done['outcome'], done['status'], done['body']) == ('created', 201, {'id': 1})
    assert sent(upstream, path) == 1


def test_trailers_are_no_headers(send, upstream, path):
    """What comes behind the body does not say what the answer means."""
    upstream.plan(path, chunks(b'{}', status=201, trailers=b'Operation-Id: op_1\r\nOperation-Outcome: not_sent\r\n'))
    done = send()
    assert (done['outcome'], done['gate']) == ('created', False)
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('status', [307, 308])
def test_sent_elsewhere_is_not_done(send, upstream, path, status):
    """A redirection that asks for the same request at another place says that nothing was done here."""
    upstream.plan(path, answer(status, headers=[('Location', 'http://127.0.0.1:1/elsewhere')], works=False))
    done = send()
    assert (done['outcome'], done['state'], done['status']) == ('failed', 'failed', status)
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('status', [520, 522, 524, 530, 599])
def test_a_proxys_own_statuses_are_no_known_failure(send, upstream, path, status):
    """Statuses that no standard has say that something between was lost, not that nothing happened."""
    upstream.plan(path, answer(status))
    done = send()
    assert (done['outcome'], done['state']) == ('unknown', 'unknown')
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('status', [407, 410, 412, 421, 423, 428, 451, 507, 511])
def test_a_second_sending_in_the_way_proves_nothing_of_the_first(send, upstream, path, status):
    """The first did it and its answer was lost; what is in the way of the second is no failure of the first."""
    upstream.plan(path, drop(), answer(status, works=False))
    done = send(honours_key=True)
    if done['outcome'] == 'unknown':
        done = send(honours_key=True, wait=5)
    assert done['outcome'] in ('created', 'replayed'), done


@pytest.mark.parametrize('status', [200, 201, 202])
@pytest.mark.parametrize('advice', ['same_key', 'fix'])
def test_a_success_that_claims_it_was_not_sent(send, upstream, path, status, advice):
    """A problem of a gate's with the status of a success contradicts itself: nothing is sent again for it."""
    body = json.dumps({'type': 'urn:counterfoil:problem:not-sent', 'retry': {'advice': advice, 'after': 0}}).encode()
    upstream.plan(path, answer(status, headers=PROBLEM, body=body))
    done = send()
    assert done['state'] in ('unknown', 'done'), done
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('outcome', ['not_sent', 'locked', 'refused', 'conflict', 'denied'])
def test_a_success_with_an_outcome_that_denies_it(send, upstream, path, outcome):
    """The same in the headers of an operation."""
    upstream.plan(path, answer(201, headers=[('Operation-Id', 'op_1'), ('Operation-Outcome', outcome)]))
    done = send()
    assert done['state'] in ('unknown', 'done'), done
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('state', ['running', 'queued', 'unknown', 'paused'])
def test_created_but_not_ended_is_no_failure(send, upstream, path, state):
    """An operation that has not ended has not failed."""
    upstream.plan(path, answer(201, headers=[('Operation-Id', 'op_1'), ('Operation-Outcome', 'created'),
                                             ('Operation-State', state)]))
    done = send()
    assert done['state'] in ('open', 'unknown'), done
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('after', ['100000', '99999999999999999999', 'Thu, 31 Dec 2099 23:59:59 GMT'])
def test_a_long_while_is_no_short_one(send, upstream, path, after):
    """Who asks to be left alone for longer than we wait is not asked again meanwhile."""
    upstream.plan(path, answer(503, headers=[('Retry-After', after), ('Date', 'Tue, 01 Dec 2026 02:00:00 GMT')],
                               works=False))
    done = send(wait=3)
    assert (done['outcome'], sent(upstream, path)) == ('not_sent', 1)
    assert done['retry']['after'] == 86400


def test_an_answer_cut_anywhere_is_never_sent_again(caller, upstream, bare, path):
    """Cut at each byte: what is whole is told, what is not is unknown, and nothing goes out twice."""
    whole = b'HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\n{"id":1}'
    upstream.plan(path, *[raw(whole[:end]) for end in range(0, len(whole) + 1, 2)])
    for end in range(0, len(whole) + 1, 2):
        done = caller.call(bare, BODY, step=f'cut-{end}', wait=0)
        assert done.status == (0 if end == len(whole) else 11), (end, done)
    assert sent(upstream, path) == len(range(0, len(whole) + 1, 2))


def test_a_head_without_end_is_said(caller, upstream, bare, path):
    """An answer that cannot be held is unknown, and the reason names it."""
    upstream.plan(path, raw(b'HTTP/1.1 201 Created\r\n' + b'X: ' + b'a' * 90000 + b'\r\nContent-Length: 0\r\n\r\n'))
    done = caller.call(bare, BODY, wait=0)
    assert (done.status, done['reason']) == (11, "the answer's head is too large")
    assert sent(upstream, path) == 1


# -- where the outcome goes ----------------------------------------------------------------


def test_an_output_with_no_place_is_refused_first(caller, upstream, bare, path):
    """What can be seen before it is sent is said before it is sent."""
    refused = caller.call(bare, BODY, more=['-o', '/nowhere/at/all'])
    assert (refused.status, refused.stdout) == (2, '') and '/nowhere/at/all' in refused.stderr
    assert sent(upstream, path) == 0


def test_an_output_that_cannot_be_written_loses_nothing(caller, upstream, bare, path):
    """The work is done by then: its outcome is told and kept, with the body, and the rest said beside."""
    upstream.plan(path, answer(201, headers=[('Content-Type', 'application/json')], body=b'{"id":1}'))
    done = caller.call(bare, BODY, more=['-o', '/dev/full'])
    assert done.result, done
    assert (done['outcome'], done['status'], done['body'], done['file']) == ('created', 201, {'id': 1}, None)
    assert done.status == 0 and '/dev/full' in done['reason']
    again = caller.call(bare, BODY)
    assert (again.status, again['outcome'], again['body']) == (0, 'replayed', {'id': 1})
    assert sent(upstream, path) == 1


def test_a_large_answer_without_a_place_loses_no_outcome(caller, upstream, bare, path):
    """Where even the folder beside the journal cannot be had, the body is told once, and the outcome kept."""
    upstream.plan(path, answer(200, body=os.urandom(2 << 20)))
    caller.command('token', 'POST', bare, '--task', 'task', '--step', 'step')
    pathlib.Path(f'{caller.journal}.answers').write_text('in the way')
    done = caller.call(bare, BODY)
    assert done.result, done
    assert (done.status, done['outcome'], done['status'], done['file']) == (0, 'created', 200, None)
    assert len(done['body_base64']) > 2 << 20
    assert caller.call(bare, BODY)['outcome'] == 'replayed'
    assert sent(upstream, path) == 1


def test_a_journal_that_fails_after_the_answer(caller, upstream, bare, path):
    """What the service has said is told although it cannot be kept, and a later run sends nothing."""
    def work(exchange):
        with sqlite3.connect(caller.journal) as db:
            db.execute('CREATE TRIGGER full BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, "disk full"); END')
    upstream.plan(path, after(work, answer(201)))
    done = caller.call(bare, BODY)
    assert done.result and done['status'] == 201, done
    assert 'disk full' in done.stderr and 'nothing was sent' not in done.stderr
    assert done.status == 1
    with sqlite3.connect(caller.journal) as db:
        db.execute('DROP TRIGGER full')
    assert caller.call(bare, BODY, wait=0).status == 11
    assert sent(upstream, path) == 1


def after(work, then):
    def act(exchange):
        work(exchange)
        then(exchange)
    return behaviour(act, then.works)


@pytest.mark.parametrize('speaker', BINDINGS, ids=repr)
@pytest.mark.parametrize('size', [10, 2 << 20])
def test_a_binding_whose_output_cannot_be_written(speaker, tmp_path, upstream, bare, path, size):
    """The same in the bindings: the end is told and kept, and the file that is missing said."""
    (tmp_path / 'file').write_text('in the way')
    words = {'journal': str(tmp_path / 'journal.db'), 'method': 'POST', 'url': bare, 'json': BODY, 'task': 'task',
             'step': 'step', 'headers': {'Content-Type': 'application/json'}, 'wait': 1}
    upstream.plan(path, answer(201, body=b'a' * size))
    done = speaker.ask('send', output=str(tmp_path / 'file' / 'output'), **words)
    assert done.get('outcome') == 'created', done
    assert (done['status'], done['file'], done['body']) == (201, None, 'a' * size)
    assert str(tmp_path / 'file' / 'output') in done['reason']
    assert speaker.ask('send', **words)['outcome'] == 'replayed'
    assert sent(upstream, path) == 1


@pytest.mark.parametrize('speaker', BINDINGS, ids=repr)
def test_a_binding_whose_journal_fails_after_the_answer(speaker, tmp_path, upstream, bare, path):
    """The same in the bindings: the end is in the failure, and a later run sends nothing."""
    journal = tmp_path / 'journal.db'
    words = {'journal': str(journal), 'method': 'POST', 'url': bare, 'json': BODY, 'task': 'task', 'step': 'step',
             'headers': {'Content-Type': 'application/json'}, 'wait': 1}

    def work(exchange):
        with sqlite3.connect(journal) as db:
            db.execute('CREATE TRIGGER full BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, "disk full"); END')
    upstream.plan(path, after(work, answer(201)))
    done = speaker.ask('send', **words)
    assert 'created, status 201' in done['unrecorded'] and 'disk full' in done['unrecorded'], done
    with sqlite3.connect(journal) as db:
        db.execute('DROP TRIGGER full')
    assert speaker.ask('send', **words)['outcome'] == 'unknown'
    assert sent(upstream, path) == 1


def test_an_output_stream_that_takes_nothing(caller, upstream, bare, path):
    """The result could not be told: that is no success, and the next run tells it."""
    words = [str(BINARY), 'call', *map(str, caller.line(bare, BODY))]
    with open('/dev/full', 'wb') as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env=caller.env, timeout=60)
    assert done.returncode != 0, done
    again = caller.call(bare, BODY)
    assert (again.status, again['outcome']) == (0, 'replayed')
    assert sent(upstream, path) == 1


# -- somebody else's operation ---------------------------------------------------------------


@pytest.mark.parametrize('speaker', ALL, ids=repr)
def test_a_token_of_another_route_is_not_taken_for_this_one(speaker, tmp_path, gate, upstream, path, token):
    """One token by hand for two URLs: what became of the first is not told for the second."""
    def send(port, target, wait):
        return speaker.ask('send', journal=str(tmp_path / 'journal.db'), method='POST', key=token, json=BODY,
                           headers={'Content-Type': 'application/json'}, url=f'http://127.0.0.1:{port}{target}',
                           wait=wait)
    assert send(gate.port, path, 5)['outcome'] == 'created'
    with Cut(gate.port, before=True) as wire:
        send(wire.port, f'{path}/other', 0)
        done = send(wire.port, f'{path}/other', 3)
    assert (done['outcome'], done['state']) == ('unknown', 'unknown')
    assert 'another action' in done['reason']
    assert upstream.effects(f'{path}/other') == 0


@pytest.mark.parametrize('speaker', ALL, ids=repr)
@pytest.mark.parametrize('status', [401, 429, 502])
def test_a_kept_answer_that_is_in_the_way_is_asked_for_again(speaker, tmp_path, gate, upstream, path, status):
    """The gate says that it is completed, and something between does not let its answer through once."""
    with Between(gate.port, status) as wire:
        done = speaker.ask('send', journal=str(tmp_path / 'journal.db'), method='POST', json=BODY, task='task',
                           step='step', headers={'Content-Type': 'application/json'},
                           url=f'http://127.0.0.1:{wire.port}{path}', wait=10)
    assert (done['outcome'], done['status']) == ('replayed', 201), done
    assert done['body'] and upstream.effects(path) == 1


class Between(Cut):
    """Loses the write's answer, and then answers the first question for a kept answer itself."""

    def __init__(self, port, status):
        self.status = status
        super().__init__(port)

    def serve(self, client):
        if self.lines and self.status and self.asks(client):
            request = read_request(client)
            self.lines.append(request.split(b'\r\n')[0].decode())
            client.sendall(b'HTTP/1.1 %d Between\r\nContent-Length: 0\r\n\r\n' % self.status)
            client.close()
            self.status = None
        else:
            super().serve(client)

    @staticmethod
    def asks(client):
        client.settimeout(20)
        return b'/response' in client.recv(65536, socket.MSG_PEEK).split(b'\r\n')[0]
