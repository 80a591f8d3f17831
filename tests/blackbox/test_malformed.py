"""Messages that two readers could understand differently: refused, closed, nothing forwarded.

Each is sent, exactly as it stands here, to the gate and to an nginx in front of the same
upstream. After it on the same connection comes a whole second request, which nobody may serve.
"""
import random

import pytest

from harness.client import Connection, Closed, parse_head

SECOND = b'GET /smuggled HTTP/1.1\r\nHost: gate.test\r\n\r\n'
LINE = b'POST /m HTTP/1.1\r\n'
HOST = b'Host: gate.test\r\n'
KEY = b'Idempotency-Key: malformed-message\r\n'
TYPE = b'Content-Type: text/plain\r\n'


def head(*lines, line=LINE, host=HOST):
    return line + host + KEY + TYPE + b''.join(l + b'\r\n' for l in lines) + b'\r\n'


def length(value, body=b'12345'):
    return head(b'Content-Length: ' + value) + body


def coded(value, body=b'5\r\n12345\r\n0\r\n\r\n'):
    return head(b'Transfer-Encoding: ' + value) + body


def chunk(body):
    return head(b'Transfer-Encoding: chunked') + body


def line(text):
    return head(b'Content-Length: 0', line=text + b'\r\n')


def field(text):
    return head(text, b'Content-Length: 0')


REFUSED = {
    # two framings, or none that is certain
    'length and chunked': head(b'Content-Length: 5', b'Transfer-Encoding: chunked') + b'0\r\n\r\n',
    'chunked and length': head(b'Transfer-Encoding: chunked', b'Content-Length: 15') + b'5\r\n12345\r\n0\r\n\r\n',
    'chunked and length 0': head(b'Transfer-Encoding: chunked', b'Content-Length: 0') + b'0\r\n\r\n',
    'two lengths that differ': head(b'Content-Length: 5', b'Content-Length: 6') + b'12345',
    'two lengths that agree': head(b'Content-Length: 5', b'Content-Length: 5') + b'12345',
    'a list of lengths': length(b'5, 5'),
    'a list of lengths that differ': length(b'5,6'),
    'length with plus': length(b'+5'),
    'length with minus': length(b'-5'),
    'hexadecimal length': length(b'0x5'),
    'length and a word': length(b'5 bytes'),
    'length with a fraction': length(b'5.0'),
    'length with an underscore': length(b'1_0', b'0123456789'),
    'empty length': length(b''),
    'length over 64 bits': length(b'18446744073709551621'),
    'length far over 64 bits': length(b'9' * 40),
    'length in quotes': length(b'"5"'),
    # codings
    'unknown coding': coded(b'gzip'),
    'gzip before chunked': coded(b'gzip, chunked'),
    'chunked before gzip': coded(b'chunked, gzip'),
    'chunked twice': coded(b'chunked, chunked'),
    'chunked on two lines': head(b'Transfer-Encoding: chunked', b'Transfer-Encoding: chunked') + b'0\r\n\r\n',
    'identity coding': coded(b'identity', b''),
    'nearly chunked': coded(b'xchunked'),
    'chunked with a parameter': coded(b'chunked;q=1'),
    'chunked in quotes': coded(b'"chunked"'),
    'chunked after a control byte': coded(b'\x0bchunked'),
    'empty coding': coded(b''),
    'coding in HTTP/1.0': head(b'Transfer-Encoding: chunked', line=b'POST /m HTTP/1.0\r\n') + b'0\r\n\r\n',
    # fields
    'folded field': field(b'X-A: one\r\n two'),
    'folded length': head(b'Content-Length:\r\n 5') + b'12345',
    'first field begins with a space': LINE + b' ' + HOST + KEY + b'Content-Length: 0\r\n\r\n',
    'space before the colon': field(b'X-A : 1'),
    'space before the colon of a coding': head(b'Transfer-Encoding : chunked') + b'0\r\n\r\n',
    'tab before the colon': field(b'X-A\t: 1'),
    'no colon': field(b'X-A'),
    'no name': field(b': 1'),
    'blank in a name': field(b'X A: 1'),
    'bracket in a name': field(b'X(A): 1'),
    'NUL in a name': field(b'X\0A: 1'),
    'byte over ASCII in a name': field(b'X\xe9A: 1'),
    'NUL in a value': field(b'X-A: 1\x002'),
    'bare CR in a value': field(b'X-A: 1\r2'),
    'bare CR before a field': field(b'X-A: 1\rX-B: 2'),
    'control byte in a value': field(b'X-A: 1\x012'),
    'delete in a value': field(b'X-A: 1\x7f2'),
    'lines that end in LF alone': (LINE + HOST + KEY + b'Content-Length: 0\r\n\r\n').replace(b'\r\n', b'\n'),
    'one line that ends in LF alone': LINE + HOST + b'X-A: 1\nX-B: 2\r\n' + KEY + b'Content-Length: 0\r\n\r\n',
    # Host
    'no Host': head(b'Content-Length: 0', host=b''),
    'two Hosts': head(b'Content-Length: 0', host=HOST + HOST),
    'two Hosts that differ': head(b'Content-Length: 0', host=HOST + b'Host: other.test\r\n'),
    'blank in Host': head(b'Content-Length: 0', host=b'Host: gate test\r\n'),
    'path in Host': head(b'Content-Length: 0', host=b'Host: gate.test/x\r\n'),
    'list in Host': head(b'Content-Length: 0', host=b'Host: gate.test, other.test\r\n'),
    'tab before Host': head(b'Content-Length: 0', host=b'Host:\t gate.test\r\n'),
    'tab after Host': head(b'Content-Length: 0', host=b'Host: gate.test \t\r\n'),
    'tab before a length': head(b'Content-Length:\t0'),
    'tab after a length': head(b'Content-Length: 0\t'),
    'tab before a coding': head(b'Transfer-Encoding:\tchunked') + b'0\r\n\r\n',
    'tab after a coding': head(b'Transfer-Encoding: chunked\t') + b'0\r\n\r\n',
    'user in Host': head(b'Content-Length: 0', host=b'Host: a@gate.test\r\n'),
    # chunks
    'chunk size of letters': chunk(b'zz\r\n12345\r\n0\r\n\r\n'),
    'no chunk size': chunk(b'\r\n12345\r\n0\r\n\r\n'),
    'negative chunk size': chunk(b'-5\r\n12345\r\n0\r\n\r\n'),
    'signed chunk size': chunk(b'+5\r\n12345\r\n0\r\n\r\n'),
    'chunk size with 0x': chunk(b'0x5\r\n12345\r\n0\r\n\r\n'),
    'chunk size with an underscore': chunk(b'0_5\r\n12345\r\n0\r\n\r\n'),
    'chunk size over 64 bits': chunk(b'10000000000000005\r\n12345\r\n0\r\n\r\n'),
    'chunk size far over 64 bits': chunk(b'f' * 40 + b'\r\n12345\r\n0\r\n\r\n'),
    'space before the chunk size': chunk(b' 5\r\n12345\r\n0\r\n\r\n'),
    'chunk longer than said': chunk(b'5\r\n123456\r\n0\r\n\r\n'),
    'chunk shorter than said': chunk(b'5\r\n1234\r\n0\r\n\r\n'),
    'chunk without its end': chunk(b'5\r\n123450\r\n\r\n'),
    'chunk size line with LF alone': chunk(b'5\n12345\r\n0\r\n\r\n'),
    'chunk data that ends in LF alone': chunk(b'5\r\n12345\n0\r\n\r\n'),
    'chunk extension with a bare CR': chunk(b'5;a\rb\r\n12345\r\n0\r\n\r\n'),
    'chunk extension with NUL': chunk(b'5;a\0b\r\n12345\r\n0\r\n\r\n'),
    # request lines
    'no version': line(b'POST /m'),
    'no target': line(b'POST HTTP/1.1'),
    'nothing but a method': line(b'POST'),
    'two spaces': line(b'POST  /m HTTP/1.1'),
    'tabs': line(b'POST\t/m\tHTTP/1.1'),
    'leading space': line(b' POST /m HTTP/1.1'),
    'space in the target': line(b'POST /m m HTTP/1.1'),
    'a word after the version': line(b'POST /m HTTP/1.1 x'),
    'lower-case method': line(b'post /m HTTP/1.1'),
    'method with a digit': line(b'POST2 /m HTTP/1.1'),
    'method with a dot': line(b'PO.ST /m HTTP/1.1'),
    'escape that is none': line(b'POST /m%zz HTTP/1.1'),
    'escape that is cut': line(b'POST /m% HTTP/1.1'),
    'escape that is cut by the query': line(b'POST /m%4?1=1 HTTP/1.1'),
    'escape of NUL': line(b'POST /m%00 HTTP/1.1'),
    'path above its root': line(b'POST /m/../../x HTTP/1.1'),
    'path above its root in escapes': line(b'POST /%2e%2e/m HTTP/1.1'),
    'path above its root behind an escaped slash': line(b'POST /..%2fm HTTP/1.1'),
    'method with a bracket': line(b'PO(ST /m HTTP/1.1'),
    'method with NUL': line(b'PO\0ST /m HTTP/1.1'),
    'target without a slash': line(b'POST m HTTP/1.1'),
    'target with NUL': line(b'POST /m\0 HTTP/1.1'),
    'target with a control byte': line(b'POST /m\x01 HTTP/1.1'),
    'target with delete': line(b'POST /m\x7f HTTP/1.1'),
    'target with a fragment': line(b'POST /m#x HTTP/1.1'),
    'target is a star': line(b'POST * HTTP/1.1'),
    'CONNECT': line(b'CONNECT other.test:443 HTTP/1.1'),
    'TRACE': line(b'TRACE /m HTTP/1.1'),
    'HTTP/2.0': line(b'POST /m HTTP/2.0'),
    'HTTP/0.9': line(b'POST /m HTTP/0.9'),
    'HTTP/3': line(b'POST /m HTTP/3'),
    'HTTP/1.10': line(b'POST /m HTTP/1.10'),
    'lower-case version': line(b'POST /m http/1.1'),
    'version of letters': line(b'POST /m HTTP/x.y'),
    'HTTP/2 preface': b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS greeting': b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + bytes(40) + b'\r\n\r\n',
    'nothing that is HTTP': b'\x00\x01\x02\x03\r\n\r\n',
}

ACCEPTED = {
    'plain': length(b'5'),
    'chunked': coded(b'chunked'),
    'chunked in capitals': coded(b'Chunked'),
    'chunk sizes in both cases': chunk(b'A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n'),
    'chunk size with zeros': chunk(b'0005\r\n12345\r\n0\r\n\r\n'),
    'chunk extension': chunk(b'5;name=value\r\n12345\r\n0\r\n\r\n'),
    'trailers': chunk(b'5\r\n12345\r\n0\r\nX-T: 1\r\n\r\n'),
    'no body, no length': head(),
    'blanks around a value': field(b'X-A: \t 1 \t '),
    'no blank before a value': field(b'X-A:1'),
    'empty value': field(b'X-A:'),
    'bytes over ASCII in a value': field(b'X-A: caf\xc3\xa9'),
    'one empty line first': b'\r\n' + length(b'5'),
    'absolute target': line(b'POST http://gate.test/m HTTP/1.1'),
    'Host with a port': head(b'Content-Length: 0', host=b'Host: gate.test:8080\r\n'),
}


def exchange(port, data, timeout=4, more=0.3):
    """
    What comes back for these bytes: (statuses, is_closed). The first answer may take `timeout`
    seconds, whatever follows it `more`.
    """
    with Connection(port) as connection:
        try:
            connection.send(data)
        except Closed:
            pass
        statuses = []
        try:
            while True:
                wait = more if statuses else timeout
                statuses.append(connection.read_response(timeout=wait).status)
        except Closed:
            return statuses, True
        except TimeoutError:
            return statuses, False


def is_refusal(status):
    return 400 <= status < 500 or status in (501, 505)


@pytest.mark.parametrize('message', REFUSED.values(), ids=REFUSED.keys())
def test_refused(gate, upstream, message):
    # Shows that the gate refuses it, closes, forwards nothing, and serves nothing after it.
    mark = upstream.mark()
    statuses, is_closed = exchange(gate.port, message + SECOND, more=2)
    assert len(statuses) == 1 and is_refusal(statuses[0]), statuses
    assert is_closed, 'the connection must end with a refusal'
    assert upstream.seen(since=mark) == []


@pytest.mark.parametrize('message', REFUSED.values(), ids=REFUSED.keys())
def test_as_strict_as_nginx(gate, nginx, upstream, message):
    # Shows side by side that wherever nginx refuses the message, the gate refuses it as well.
    theirs, _ = exchange(nginx.port, message, timeout=0.4, more=0)
    if theirs and is_refusal(theirs[0]):
        mark = upstream.mark()
        ours, _ = exchange(gate.port, message, timeout=2, more=0)
        assert ours and is_refusal(ours[0]), (theirs, ours)
        assert upstream.seen(since=mark) == []


@pytest.mark.parametrize('message', ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(gate, nginx, upstream, token, message):
    # Shows that strictness does not cost honest clients: these pass, and keep the connection.
    message = message.replace(b'malformed-message', token.encode())
    assert exchange(nginx.port, message, more=0)[0] == [201]
    mark = upstream.mark()
    statuses, is_closed = exchange(gate.port, message)
    assert statuses == [201] and not is_closed
    assert len(upstream.seen(since=mark)) == 1


def mutants(seed, count):
    """Honest requests with one to three bytes changed, deterministically."""
    dice = random.Random(seed)
    spice = [b'\0', b'\r', b'\n', b' ', b'\t', b':', b',', b'"', b'\x0b', b'\x80', b'0', b'+', b'/', b'\r\n ']
    bases = list(ACCEPTED.values())
    for _ in range(count):
        data = bytearray(dice.choice(bases))
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(data))
            kind = dice.randrange(3)
            if kind == 0:
                data[at:at + 1] = dice.choice(spice)
            elif kind == 1:
                data[at:at] = dice.choice(spice)
            else:
                del data[at]
        yield bytes(data)


def compare(gate, nginx, upstream, seed, count):
    """How many of the mutants nginx refused; the gate must have refused those."""
    refused = 0
    for data in mutants(seed, count):
        theirs, _ = exchange(nginx.port, data, timeout=0.15, more=0)
        if theirs and is_refusal(theirs[0]):
            mark = upstream.mark()
            ours, _ = exchange(gate.port, data, timeout=1, more=0)
            assert all(is_refusal(status) for status in ours[:1]), (data, theirs, ours)
            assert upstream.seen(since=mark) == [], data
            refused += 1
    return refused


def test_mutants_against_nginx(gate, nginx, upstream):
    # Shows for 150 mutated requests: what nginx refuses never gets through the gate.
    assert compare(gate, nginx, upstream, 1, 150) > 40


@pytest.mark.long
def test_many_mutants_against_nginx(gate, nginx, upstream):
    # Shows the same for 3,000.
    assert compare(gate, nginx, upstream, 2, 3000) > 800


def test_a_bad_chunk_in_a_streamed_body(gate, upstream, path):
    # Shows that a body that turns bad while it streams never becomes a whole request upstream.
    data = (f'PUT {path} HTTP/1.1\r\nHost: gate.test\r\nTransfer-Encoding: chunked\r\n\r\n'
            '5\r\n12345\r\n').encode()
    with gate.connect() as connection:
        connection.send(data)
        connection.has_bytes_within(0.2)
        connection.send(b'zz\r\n123\r\n0\r\n\r\n' + SECOND)
        answer = connection.read_all(5)
    if answer:
        assert is_refusal(parse_head(answer.split(b'\r\n\r\n')[0])[0]) or answer.startswith(b'HTTP/1.1 502')
    assert upstream.seen(path) == [] and upstream.seen('/smuggled') == []


def test_two_honest_requests_at_once(gate, upstream, path):
    # Shows that the check above would see a second request: two honest ones are both served.
    data = f'GET {path} HTTP/1.1\r\nHost: gate.test\r\n\r\n'.encode()
    statuses, _ = exchange(gate.port, data + data)
    assert statuses == [200, 200] and len(upstream.seen(path)) == 2
