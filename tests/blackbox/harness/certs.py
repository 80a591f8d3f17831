"""Certificates for one test run, made by the openssl program: a CA of our own and its leaves."""
import pathlib
import ssl
import subprocess

LEAF = """[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[leaf]
subjectAltName = DNS:{name}, IP:127.0.0.1
basicConstraints = CA:FALSE
"""


class Certificates:
    """`ca`, and `certificate`/`key` for localhost; `other_*` for another name."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ca = self.directory / 'ca.pem'
        self._run('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
                  '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2',
                  '-subj', '/CN=Test CA', '-addext', 'basicConstraints=critical,CA:TRUE')
        self.certificate, self.key = self._leaf('localhost')
        self.other_certificate, self.other_key = self._leaf('elsewhere.test')

    def server(self, other=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if other:
            context.load_cert_chain(self.other_certificate, self.other_key)
        else:
            context.load_cert_chain(self.certificate, self.key)
        return context

    def client(self):
        return ssl.create_default_context(cafile=str(self.ca))

    def _leaf(self, name):
        (self.directory / f'{name}.cnf').write_text(LEAF.format(name=name))
        self._run('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                  '-keyout', f'{name}.key', '-out', f'{name}.csr', '-config', f'{name}.cnf')
        self._run('x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key',
                  '-CAcreateserial', '-out', f'{name}.pem', '-days', '2',
                  '-extfile', f'{name}.cnf', '-extensions', 'leaf')
        return self.directory / f'{name}.pem', self.directory / f'{name}.key'

    def _run(self, *arguments):
        subprocess.run(['openssl', *arguments], cwd=self.directory, check=True, capture_output=True)
