"""TLS on the data listener and towards the service."""
import socket
import ssl

import pytest

from harness.client import Closed, Connection
from harness.gate import config
from harness.upstream import Upstream, drop


@pytest.fixture
def secure(start_gate, upstream, certs):
    """A gate whose data listener speaks TLS."""
    return start_gate(upstream, config(upstream, tls={'certificate': certs.certificate, 'key': certs.key}),
                      tls=certs.client())


def test_a_write_over_tls(secure, upstream, path, token):
    # Shows that a protected write over TLS is what it is without: one effect, then a replay.
    first, again = secure.post(path, token), secure.post(path, token)
    assert (first.outcome, again.outcome) == ('created', 'replayed') and first.body == again.body
    assert upstream.effects(path) == 1
    assert upstream.last(path).get('X-Forwarded-Proto') == 'https'


def test_one_connection_many_requests(secure, upstream, path, token):
    # Shows that a TLS connection is kept, also with bodies larger than a record.
    with secure.connect() as connection:
        for n in range(5):
            response = secure.post(path, f'{token}-{n}', json={'p': 'x' * 100000}, connection=connection)
            assert response.outcome == 'created'
    assert upstream.effects(path) == 5


def test_plain_http_on_a_tls_port(secure, upstream, path):
    # Shows that nobody is served in the clear by mistake.
    with Connection(secure.port) as connection, pytest.raises((Closed, AssertionError, TimeoutError)):
        connection.request('GET', path)
        raise AssertionError('served without TLS')
    assert upstream.seen(path) == []


def test_a_handshake_that_never_comes(secure, path):
    # Shows that silent and half-hearted TLS clients do not stop others.
    silent = [Connection(secure.port) for _ in range(20)]
    for n, connection in enumerate(silent):
        if n % 2:
            connection.send(b'\x16\x03\x01\x02\x00\x01\x00')
    assert secure.get(path).status == 200
    for connection in silent:
        connection.abort()
    assert secure.get(path).status == 200


def test_old_protocols_are_refused(secure, certs):
    # Shows that TLS 1.0 and 1.1 are not spoken.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certs.ca)
    context.set_ciphers('ALL:@SECLEVEL=0')
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        with socket.create_connection(('127.0.0.1', secure.port), 5) as plain:
            context.wrap_socket(plain, server_hostname='localhost')


def test_a_connection_cut_without_goodbye(secure, upstream, path, token):
    # Shows that a client that vanishes from TLS does not stop its operation either.
    from harness.client import build
    from harness.gate import head_lines
    from harness.upstream import Hold, held
    hold = Hold()
    upstream.plan(path, held(hold))
    connection = secure.connect()
    connection.send(build('POST', path, head_lines(token, json=1), b'{"n": 1}'))
    hold.wait_entered()
    connection.abort()
    hold.release()
    again = secure.post(path, token, headers={'Prefer': 'wait=10'})
    assert again.outcome == 'replayed' and upstream.effects(path) == 1


@pytest.fixture
def tls_upstream(certs):
    server = Upstream(tls=certs.server())
    yield server
    server.stop()


def test_a_service_behind_tls(start_gate, certs, tls_upstream, path, token):
    # Shows that with the right roots a TLS service is called, and its effects are counted as ever.
    gate = start_gate(None, config({'url': tls_upstream.url, 'ca_file': certs.ca}))
    assert gate.post(path, token).outcome == 'created'
    assert gate.post(path, token).outcome == 'replayed'
    assert gate.get(path).status == 200
    assert tls_upstream.effects(path) == 2     # one write, one read


def test_a_tls_service_that_drops(start_gate, certs, tls_upstream, path, token):
    # Shows that an answer lost inside TLS is unknown, and never sent twice on a kept connection.
    gate = start_gate(None, config({'url': tls_upstream.url, 'ca_file': certs.ca}))
    for round in range(10):
        with gate.connect() as connection:
            gate.post(f'{path}-{round}', f'{token}-{round}', connection=connection)
            tls_upstream.plan(f'{path}-{round}-b', drop())
            lost = gate.post(f'{path}-{round}-b', f'{token}-{round}-b', connection=connection)
        assert lost.outcome == 'unknown'
        assert tls_upstream.effects(f'{path}-{round}-b') == 1


def test_verification_can_be_switched_off(start_gate, tls_upstream, path, token):
    # Shows that only an explicit `verify: false` calls a service that cannot be verified.
    gate = start_gate(None, config({'url': tls_upstream.url, 'verify': False}))
    assert gate.post(path, token).outcome == 'created'
    assert tls_upstream.effects(path) == 1


def test_http_on_a_tls_upstream(start_gate, upstream, path, token):
    # Shows that a service that does not speak TLS where it should is certainly not sent to.
    gate = start_gate(upstream.url.replace('http://', 'https://'))
    assert gate.post(path, token).outcome == 'not_sent'
    assert upstream.seen(path) == []
