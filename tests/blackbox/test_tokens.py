"""The token itself: its two spellings, and everything that is refused without leaving a record."""
import pytest

from harness.client import assert_problem

MALFORMED = {
    'empty': b'',
    'blank': b'   ',
    'empty string': b'""',
    'blank string': b'" "',
    'too long': b'a' * 256,
    'too long, quoted': b'"' + b'a' * 256 + b'"',
    'space inside': b'two words',
    'tab inside': b'two\twords',
    'space inside, quoted': b'"two words"',
    'bytes over ASCII': b'caf\xc3\xa9',
    'bytes over ASCII, quoted': b'"caf\xc3\xa9"',
    'latin-1': b'caf\xe9',
    'open quote': b'"abc',
    'closing quote alone': b'abc"',
    'quote inside': b'"a"b"',
    'escape at the end': b'"abc\\"',
    'unknown escape': b'"a\\bc"',
    'list': b'"abc", "def"',
    'bare list': b'abc, def',
    'parameters after a string': b'"abc" "def"',
}
CONTROL = {'NUL': b'a\x00b', 'escape character': b'a\x1bb', 'bell': b'\x07', 'delete': b'a\x7fb',
           'vertical tab': b'a\x0bb'}


def with_key(*lines):
    return [('Content-Type', 'application/json'), *(('Idempotency-Key', line) for line in lines)]


def post(gate, path, *lines, account=None):
    return gate.request('POST', path, headers=with_key(*lines), body=b'{}', account=account)


@pytest.mark.parametrize('value', MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed(gate, upstream, path, account, value):
    # Shows that a malformed token is 400, forwards nothing, and leaves no record behind.
    response = post(gate, path, value, account=account)
    assert_problem(response, 400, 'key-malformed', advice='fix', operation=False)
    assert response.operation is None
    assert upstream.seen(path) == []
    listed = gate.get('/.counterfoil/operations', account=account).json()
    assert listed['operations'] == []


@pytest.mark.parametrize('value', CONTROL.values(), ids=CONTROL.keys())
def test_control_bytes(gate, upstream, path, value):
    # Shows that control bytes in a token are 400, whichever layer sees them first.
    assert post(gate, path, value).status == 400
    assert upstream.seen(path) == []


@pytest.mark.parametrize('second', ['same', 'other'])
def test_two_lines(gate, upstream, path, token, second):
    # Shows that two header lines are refused even when they agree, and that neither is taken.
    other = token if second == 'same' else token + '-other'
    assert_problem(post(gate, path, token, other), 400, 'key-malformed', operation=False)
    assert upstream.seen(path) == []
    assert post(gate, path, token).outcome == 'created'


def test_missing(gate, upstream, path):
    # Shows that a protected request without a token is 400 key-missing, and the help is one link away.
    problem = assert_problem(gate.post(path), 400, 'key-missing', advice='fix', operation=False)
    assert 'Idempotency-Key' in problem['detail']
    assert upstream.seen(path) == []


def test_quoted_is_bare(gate, upstream, path, token):
    # Shows that "abc" and abc are one token, in both orders.
    first = post(gate, path, f'"{token}"')
    again = post(gate, path, token)
    assert (first.outcome, again.outcome) == ('created', 'replayed')
    first = post(gate, path, token + '-2')
    again = post(gate, path, f'  "{token}-2" ')
    assert (first.outcome, again.outcome) == ('created', 'replayed')
    assert upstream.effects(path) == 2


def test_escapes_are_taken_out(gate, upstream, path, token):
    # Shows that a quoted token's escapes belong to its spelling: "a\\"b" is one token, twice.
    spelled = f'"{token}\\"x\\\\"'
    assert post(gate, path, spelled).outcome == 'created'
    assert post(gate, path, spelled).outcome == 'replayed'
    assert upstream.effects(path) == 1


@pytest.mark.parametrize('length', [1, 36, 255])
def test_lengths(gate, upstream, path, account, length):
    # Shows that 1 to 255 characters are taken, quoted or bare.
    value = 'x' * length
    assert post(gate, path, value, account=account).outcome == 'created'
    assert post(gate, path, f'"{value}"', account=account).outcome == 'replayed'
    assert upstream.effects(path) == 1


def test_every_visible_character(gate, path, account):
    # Shows that all visible ASCII but quote, backslash, comma and semicolon may stand bare.
    value = ''.join(chr(c) for c in range(0x21, 0x7f) if chr(c) not in '",;\\')
    assert post(gate, path, value, account=account).outcome == 'created'
    assert post(gate, path, f'"{value}"', account=account).outcome == 'replayed'


def test_case_counts(gate, upstream, path, token):
    # Shows that a token is opaque: another case is another token; the header's name is not.
    assert post(gate, path, token).outcome == 'created'
    assert post(gate, path, token.upper()).outcome == 'created'
    lower = gate.post(path, body=b'{}', headers=[('idempotency-KEY', token),
                                                  ('Content-Type', 'application/json')])
    assert lower.outcome == 'replayed'
    assert upstream.effects(path) == 2


@pytest.mark.parametrize('bad', [b'{"a":1,"a":2}', b'{"a":', b'\xff'])
def test_a_refused_body_leaves_the_token_free(gate, upstream, path, token, bad):
    # Shows that a body that cannot be understood is 400, and the token then serves a good one.
    refused = gate.request('POST', path, token=token, body=bad, headers={'Content-Type': 'application/json'})
    assert_problem(refused, 400, advice='fix', operation=False)
    assert gate.post(path, token).outcome == 'created'
    assert upstream.effects(path) == 1


def test_an_unknown_content_coding(gate, upstream, path, token):
    # Shows that a coding the gate cannot look into is 415, and leaves no record.
    refused = gate.request('POST', path, token=token, body=b'xx', headers={
        'Content-Type': 'application/json', 'Content-Encoding': 'br'})
    assert_problem(refused, 415, advice='fix', operation=False)
    assert upstream.seen(path) == []
    assert gate.post(path, token).outcome == 'created'

