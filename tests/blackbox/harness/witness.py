"""Others who keep an eye on an audit log: a witness that cosigns, and an anchor that is PUT to.

The witness is written from the standards (c2sp.org tlog-witness, tlog-cosignature, RFC 9162
§ 2.1.4.2 for consistency), not from the gate's code. It remembers one size and root for each origin,
cosigns what begins with them, and refuses the rest.
"""
import base64
import hashlib
import http.server
import pathlib
import subprocess
import threading
import time

from .audit_log import DER_OF_SEED, node, openssl, public_of

DER_OF_PUBLIC = bytes.fromhex('302a300506032b6570032100')


def is_consistent(old_size, size, old_root, root, proof):
    """RFC 9162 § 2.1.4.2: does the tree of `size` begin with the one of `old_size`?"""
    if old_size == 0:
        return not proof
    if old_size == size:
        return not proof and old_root == root
    path = ([old_root] if old_size & (old_size - 1) == 0 else []) + list(proof)
    if not path:
        return False
    fn, sn = old_size - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while fn != 0 and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return fr == old_root and sr == root and sn == 0


class Listener:
    """A server on a port of its own that can be down, slow or wrong."""

    def __init__(self):
        self.requests, self.status = [], None   # of every request (method, path); what to answer instead
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def respond(self):
                body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
                outer.requests.append((self.command, self.path))
                status, headers, answer = (outer.status, {}, b'') if outer.status else \
                    outer.handle(self.command, self.path, self.headers, body)
                self.send_response(status)
                for name, value in {**headers, 'Content-Length': len(answer)}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)
            do_GET = do_PUT = do_POST = respond
        self.handler, self.server = Handler, None
        self.start()
        self.url = f'http://127.0.0.1:{self.port}/base'

    def start(self):
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', getattr(self, 'port', 0)), self.handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()
            self.server = None


class Anchor(Listener):
    """What is PUT is kept."""

    def __init__(self):
        self.files = {}
        super().__init__()

    def handle(self, method, path, headers, body):
        if method == 'PUT':
            assert headers['Content-Type'] == 'text/plain'
            self.files[path.removeprefix('/base/')] = body.decode()
            return 204, {}, b''
        text = self.files.get(path.removeprefix('/base/'))
        return (404, {}, b'') if text is None else (200, {'Content-Type': 'text/plain'}, text.encode())


class Witness(Listener):
    """Cosigns. `logs` are the verifier keys it trusts, by origin; `refused` what it refused, and why."""

    def __init__(self, scratch, name='witness.test/w1', seed=bytes(range(32))):
        self.name, self.seed, self.scratch = name, seed, pathlib.Path(scratch)
        self.logs, self.heads, self.refused, self.cosigned = {}, {}, [], []
        self.lock = threading.Lock()
        (self.scratch / 'witness.der').write_bytes(DER_OF_SEED + seed)
        public = public_of(seed)
        self.id = hashlib.sha256(name.encode() + b'\n\x04' + public).digest()[:4]
        self.vkey = f'{name}+{self.id.hex()}+{base64.b64encode(bytes([4]) + public).decode()}'
        super().__init__()

    @property
    def setting(self):
        return f'{self.url} {self.vkey}'

    def trust(self, vkey):
        origin, id_, key = vkey.split('+', 2)
        self.logs.setdefault(origin, []).append((id_, base64.b64decode(key)[1:]))

    def is_signed(self, origin, text, signatures):
        for line in signatures:
            dash, name, coded = line.split(' ')
            raw = base64.b64decode(coded)
            for id_, public in self.logs[origin]:
                if dash == '—' and name == origin and raw[:4].hex() == id_ and self.holds(public, raw[4:], text):
                    return True
        return False

    def holds(self, public, signature, text):
        for name, content in (('log.der', DER_OF_PUBLIC + public), ('signature', signature), ('text', text.encode())):
            (self.scratch / name).write_bytes(content)
        return subprocess.run(['openssl', 'pkeyutl', '-verify', '-rawin', '-pubin', '-keyform', 'DER', '-inkey',
                               self.scratch / 'log.der', '-sigfile', self.scratch / 'signature',
                               '-in', self.scratch / 'text'], capture_output=True).returncode == 0

    def refuse(self, status, why, headers=None, body=b''):
        self.refused.append((status, why))
        return status, headers or {}, body

    def handle(self, method, path, headers, body):
        if (method, path) != ('POST', '/base/add-checkpoint'):
            return self.refuse(405, 'no such call')
        with self.lock:
            return self.judge(body.decode())

    def judge(self, body):
        head, note = body.split('\n\n', 1)
        old, *proof = head.split('\n')
        proof = [base64.b64decode(line, validate=True) for line in proof]
        text, signatures = note.split('\n\n')
        text += '\n'
        origin, size, root = text.split('\n')[:3]
        size, root, old_size = int(size), base64.b64decode(root), int(old.removeprefix('old '))
        if origin not in self.logs:
            return self.refuse(404, 'unknown origin')
        if not self.is_signed(origin, text, signatures.strip('\n').split('\n')):
            return self.refuse(403, 'unknown key')
        if old_size > size:
            return self.refuse(400, 'old size above size')
        known_size, known_root = self.heads.get(origin, (0, None))
        if old_size != known_size:
            return self.refuse(409, 'old size', {'Content-Type': 'text/x.tlog.size'}, f'{known_size}\n'.encode())
        if old_size == size and known_root not in (None, root):
            return self.refuse(409, 'another root', {'Content-Type': 'text/x.tlog.size'}, f'{known_size}\n'.encode())
        if len(proof) > 63 or not is_consistent(old_size, size, known_root, root, proof):
            return self.refuse(422, 'no consistency')
        self.heads[origin] = (size, root)
        self.cosigned.append(size)
        return 200, {}, self.cosign(text).encode()

    def cosign(self, text, at=None):
        at = int(time.time()) if at is None else at
        (self.scratch / 'message').write_text(f'cosignature/v1\ntime {at}\n{text}')
        signature = openssl('pkeyutl', '-sign', '-rawin', '-keyform', 'DER', '-inkey', self.scratch / 'witness.der',
                            '-in', self.scratch / 'message', stdin=b'')
        return f'— {self.name} {base64.b64encode(self.id + at.to_bytes(8, "big") + signature).decode()}\n'
