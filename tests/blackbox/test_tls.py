"""TLS on the data listener and towards the service."""
import json
import socket
import ssl
import subprocess
import time

import pytest

from harness.client import Closed, Connection
from harness.gate import BINARY, command, config, yaml
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


def served_name(port):
    """The name in the certificate that a listener shows, whoever signed it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(('127.0.0.1', port), 5) as plain:
        with context.wrap_socket(plain) as secured:
            text = ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True))
    shown = subprocess.run(['openssl', 'x509', '-noout', '-subject'], input=text, text=True,
                           stdout=subprocess.PIPE, check=True)
    return shown.stdout.strip().rpartition(' ')[2]


def test_new_certificates_without_a_restart(start_gate, upstream, certs):
    # Shows that SIGHUP gives both listeners the certificates that the files hold now.
    old = {'certificate': certs.certificate, 'key': certs.key}
    new = {'certificate': certs.other_certificate, 'key': certs.other_key}
    gate = start_gate(upstream, config(upstream, tls=old, admin_tls=old), tls=certs.client())
    assert served_name(gate.port) == served_name(gate.admin_port) == 'localhost'
    gate.reload(config(upstream, tls=new, admin_tls=new))
    gate.wait_log('"reloaded"')
    assert served_name(gate.admin_port) == 'elsewhere.test'
    deadline = time.monotonic() + 5     # each worker takes it in its turn
    while served_name(gate.port) != 'elsewhere.test':
        assert time.monotonic() < deadline


def test_operators_over_tls_on_every_address(tmp_path, certs):
    # Shows that `op` finds a gate whose admin listener is on all addresses, and trusts its certificate.
    file = tmp_path / 'gate.yaml'
    file.write_text(yaml({'listen': '127.0.0.1:0', 'admin': '0.0.0.0:0', 'data': tmp_path / 'data',
                          'admin_tls': {'certificate': certs.certificate, 'key': certs.key},
                          'upstreams': {'default': {'url': 'http://127.0.0.1:9'}}}))
    gate = subprocess.Popen([BINARY, 'serve', '--config', file], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        assert b'admin on https://0.0.0.0:' in gate.stdout.readline()
        place = json.loads((tmp_path / 'data' / 'gate.json').read_text())
        assert place['admin'].startswith('https://127.0.0.1:')
        done = command('op', 'list', '--json', '--config', file)
        assert done.returncode == 0 and json.loads(done.stdout)['operations'] == [], done.stderr
        done = command('op', 'list', '--json', '--data', tmp_path / 'data')
        assert done.returncode == 1 and 'certificate' in done.stderr and '--config' in done.stderr
    finally:
        gate.terminate()
        assert gate.wait(15) == 0
        gate.stdout.close()
