"""inbox: events that come in from a service, genuine and each once."""
import base64
import datetime
import hashlib
import hmac
import os
import time

import pytest

from harness.client import assert_problem
from harness.gate import command
from harness.rules import MEDIA, at_once, ruled
from harness.upstream import answer, created, drop

EVENT = b'{"type": "invoice.paid", "event": {"id": "in-the-body"}, "n": 1.50}'


class Sender:
    """Signs as Standard Webhooks has it."""

    def __init__(self, directory, name):
        self.key = os.urandom(24)
        self.file = directory / name
        self.file.write_text(self.text() + '\n')
        self.file.chmod(0o600)

    def text(self):
        return 'whsec_' + base64.b64encode(self.key).decode()

    def signature(self, id, stamp, body):
        signed = f'{id}.{stamp}.'.encode() + body
        return 'v1,' + base64.b64encode(hmac.new(self.key, signed, hashlib.sha256).digest()).decode()


@pytest.fixture(scope='module')
def senders(tmp_path_factory):
    directory = tmp_path_factory.mktemp('secrets')
    return [Sender(directory, name) for name in ('old', 'new', 'stranger')]


@pytest.fixture(scope='module')
def config_of_file(upstream, senders):
    secrets = [str(sender.file) for sender in senders[:2]]
    return ruled(upstream, {
        'events.pay': {'route': 'POST /hooks/pay/{room}', 'inbox': {'secrets': secrets, 'tolerance': '5m'},
                       'retention': '1h'},
        'events.ship': {'route': 'POST /hooks/ship/{room}', 'inbox': {'secrets': secrets}},
        'events.named': {'route': 'POST /hooks/named/{room}',
                         'inbox': {'id': '/event/id', 'secrets': secrets}},
    }, tokens={'retention': '1h'})


@pytest.fixture
def hook(number):
    return f'/hooks/pay/{number}'


@pytest.fixture
def id(token):
    return 'evt-' + token


def event(gate, path, id, sender, body=EVENT, age=0, signature=None, signed=None, headers=None):
    stamp = int(time.time()) - age
    if headers is None:
        headers = {'webhook-id': id, 'webhook-timestamp': str(stamp),
                   'webhook-signature': signature or sender.signature(id, stamp, signed or body)}
    return gate.request('POST', path, body=body, headers=[*MEDIA, *headers.items()])


def assert_not_genuine(response):
    assert_problem(response, 401, 'signature-invalid', advice='fix', operation=False)


def test_a_genuine_event_goes_in_once(gate, upstream, hook, id, senders):
    # Shows that an event is passed on, and that its every repetition gets the first answer.
    upstream.plan(hook, answer(200, headers=MEDIA, body=b'{"got": "it"}'))
    first = event(gate, hook, id, senders[0])
    assert (first.status, first.body, first.outcome) == (200, b'{"got": "it"}', 'created')
    for age in (0, 60):
        again = event(gate, hook, id, senders[0], age=age)
        assert (again.status, again.body, again.outcome) == (200, first.body, 'replayed')
    assert upstream.effects(hook) == 1
    sent = upstream.last(hook)
    assert sent.body == EVENT and sent.get('webhook-id') == id


def test_many_at_once(gate, upstream, hook, id, senders):
    # Shows that simultaneous deliveries of one event are one effect.
    answers = at_once(30, lambda n: event(gate, hook, id, senders[0]))
    assert [a.outcome for a in answers].count('created') == 1
    assert upstream.effects(hook) == 1


def test_a_stranger(gate, upstream, hook, id, senders):
    # Shows that an event signed by another secret is refused before anything of it is kept, and that
    # the genuine one then goes in.
    assert_not_genuine(event(gate, hook, id, senders[2]))
    assert upstream.seen(hook) == []
    assert event(gate, hook, id, senders[0]).outcome == 'created'


def test_a_stranger_learns_nothing(gate, hook, id, senders):
    # Shows that a known event and an unknown one are refused in the same words.
    event(gate, hook, id, senders[0])
    known, unknown = event(gate, hook, id, senders[2]), event(gate, hook, id + '-2', senders[2])
    assert_not_genuine(known)
    assert known.body == unknown.body and known.operation is None


def test_a_secret_that_is_being_changed(gate, upstream, hook, id, senders):
    # Shows that while a secret is changed either is good, also as one of several signatures.
    assert event(gate, hook, id + '-1', senders[0]).outcome == 'created'
    assert event(gate, hook, id + '-2', senders[1]).outcome == 'created'
    stamp = int(time.time())
    several = ' '.join([senders[2].signature(id + '-3', stamp, EVENT), 'v1a,whatever',
                        senders[1].signature(id + '-3', stamp, EVENT)])
    headers = {'webhook-id': id + '-3', 'webhook-timestamp': str(stamp), 'webhook-signature': several}
    assert event(gate, hook, None, None, headers=headers).outcome == 'created'
    assert upstream.effects(hook) == 3


@pytest.mark.parametrize('age', [400, -400, 10 ** 9])
def test_another_time(gate, upstream, hook, id, senders, age):
    # Shows that an event whose time is too far away, either way, is refused.
    assert_not_genuine(event(gate, hook, id, senders[0], age=age))
    assert upstream.seen(hook) == []


def test_another_body(gate, upstream, hook, id, senders):
    # Shows that the signature is over the bytes: one blank more is another event.
    assert_not_genuine(event(gate, hook, id, senders[0], body=EVENT + b' ', signed=EVENT))
    assert upstream.seen(hook) == []


@pytest.mark.parametrize('missing', ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
def test_missing_headers(gate, upstream, hook, id, senders, missing):
    # Shows that an event without one of its headers is none.
    stamp = int(time.time())
    headers = {'webhook-id': id, 'webhook-timestamp': str(stamp),
               'webhook-signature': senders[0].signature(id, stamp, EVENT)}
    del headers[missing]
    assert event(gate, hook, None, None, headers=headers).status in (400, 401)
    assert upstream.seen(hook) == []


@pytest.mark.parametrize('signature', ['', 'v1,', 'v1,AAAA', 'nonsense', 'v2,' + 'A' * 44])
def test_signatures_that_are_none(gate, upstream, hook, id, senders, signature):
    # Shows that what is no signature of this kind is refused.
    stamp = str(int(time.time()))
    headers = {'webhook-id': id, 'webhook-timestamp': stamp, 'webhook-signature': signature}
    assert_not_genuine(event(gate, hook, None, None, headers=headers))
    assert upstream.seen(hook) == []


@pytest.mark.parametrize('stamp', ['', 'now', '-1', '1e9', ' 1', '99999999999999999999'])
def test_times_that_are_none(gate, upstream, hook, id, senders, stamp):
    # Shows that a time that is no number of seconds is refused, though it is signed.
    headers = {'webhook-id': id, 'webhook-timestamp': stamp,
               'webhook-signature': senders[0].signature(id, stamp, EVENT)}
    assert event(gate, hook, None, None, headers=headers).status in (400, 401)
    assert upstream.seen(hook) == []


def test_the_same_event_with_another_body(gate, upstream, hook, id, senders):
    # Shows that an id that comes with another content, genuine as it is, is a conflict.
    event(gate, hook, id, senders[0])
    assert_problem(event(gate, hook, id, senders[0], body=b'{"n": 2}'), 422, 'key-reused')
    assert upstream.effects(hook) == 1


def test_an_id_in_the_body(gate, upstream, number, id, senders):
    # Shows that the event's id may stand in its body, and is then what counts.
    path = f'/hooks/named/{number}'

    def send(header, inside):
        body = b'{"event": {"id": "%s"}}' % inside.encode()
        return event(gate, path, header, senders[0], body=body)
    assert send('a', id).outcome == 'created'
    assert send('b', id).outcome == 'replayed'
    assert send('b', id + '-2').outcome == 'created'
    assert upstream.effects(path) == 2


def test_inboxes_are_apart(gate, upstream, number, id, senders):
    # Shows that an event's id is the inbox's own: the same id in another is another event.
    for kind in ('pay', 'ship'):
        assert event(gate, f'/hooks/{kind}/{number}', id, senders[0]).outcome == 'created'
        assert upstream.effects(f'/hooks/{kind}/{number}') == 1


def test_a_caller_is_no_inbox(gate, upstream, hook, path, id, senders):
    # Shows that callers' tokens and events' ids never meet.
    assert gate.post(path, id).outcome == 'created'
    assert event(gate, hook, id, senders[0]).outcome == 'created'
    listed = gate.get(f'/.counterfoil/operations?token={id}').json()['operations']
    assert len(listed) == 1


def test_kept_for_a_week(gate, hook, id, senders):
    # Shows that an event is known for seven days at least, whatever the retention is: that is how long
    # services deliver again.
    response = event(gate, hook, id, senders[0])
    expires = datetime.datetime.fromisoformat(response.one('Operation-Expires').replace('Z', '+00:00'))
    assert expires - datetime.datetime.now(datetime.timezone.utc) > datetime.timedelta(days=6, hours=23)


def test_not_taken_is_delivered_again(gate, upstream, hook, id, senders):
    # Shows that an event that certainly did not go in is delivered again, and that one which may have
    # is not.
    upstream.plan(hook, answer(503, works=False), created())
    assert event(gate, hook, id, senders[0]).status == 503
    assert event(gate, hook, id, senders[0]).outcome == 'created'
    upstream.plan(hook, drop())
    assert event(gate, hook, id + '-2', senders[0]).status == 504
    assert event(gate, hook, id + '-2', senders[0]).slug == 'outcome-unknown'
    assert upstream.effects(hook) == 2


def checked(tmp_path, inbox):
    file = tmp_path / 'gate.yaml'
    file.write_text(ruled('http://127.0.0.1:9', {'events.pay': {'route': 'POST /hooks/pay', 'inbox': inbox}}))
    return command('config', 'check', file)


def test_secrets_are_secret(tmp_path):
    # Shows that a secret that others can read, that is not there or that is none is an error of the
    # configuration, which does not repeat it.
    sender = Sender(tmp_path, 'secret')
    assert checked(tmp_path, {'secrets': [str(sender.file)]}).returncode == 0
    sender.file.chmod(0o644)
    done = checked(tmp_path, {'secrets': [str(sender.file)]})
    assert done.returncode == 2 and sender.text() not in done.stdout + done.stderr
    assert checked(tmp_path, {'secrets': [str(tmp_path / 'absent')]}).returncode == 2
    sender.file.write_text('whsec_###\n')
    sender.file.chmod(0o600)
    assert checked(tmp_path, {'secrets': [str(sender.file)]}).returncode == 2
    assert checked(tmp_path, {}).returncode == 2


def test_with_the_practice_api(start_gate, sandbox, senders, id):
    # Shows the whole of it: an event that is delivered three times goes in once.
    gate = start_gate(None, ruled(sandbox.url, {'events.pay': {
        'route': 'POST /hooks/pay', 'inbox': {'secrets': [str(senders[0].file)]}}}))
    for _ in range(3):
        assert event(gate, '/hooks/pay', id, senders[0]).status == 200
    assert sandbox.effects()['keys'] == {id: 1}
