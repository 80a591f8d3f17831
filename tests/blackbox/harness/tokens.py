"""An issuer of tokens: keys and signatures by the program `openssl`, and the set that it publishes.

`issuer.add('k1')` makes a key, `issuer.token(sub='bot', org='acme')` signs with the newest one, or
with `key=`. Claims that a token needs are there unless they are given; one given as None is left out.
"""
import base64
import json
import re
import subprocess
import time

NAME, AUDIENCE = 'https://id.example.test', 'counterfoil-tests'


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


def openssl(*arguments, stdin=None):
    return subprocess.run(['openssl', *map(str, arguments)], input=stdin, capture_output=True,
                          check=True, timeout=30).stdout


class Key:
    def __init__(self, folder, kid, kind):
        self.kid, self.kind, self.file = kid, kind, folder / f'{kid}.pem'
        if kind == 'RS256':
            openssl('genrsa', '-out', self.file, 2048)
        else:
            openssl('ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', self.file)

    def jwk(self):
        named = {'kid': self.kid, 'use': 'sig', 'alg': self.kind}
        if self.kind == 'RS256':
            modulus = openssl('rsa', '-in', self.file, '-noout', '-modulus').decode().strip()
            return {'kty': 'RSA', 'n': b64(bytes.fromhex(modulus.split('=')[1])), 'e': 'AQAB', **named}
        point = openssl('ec', '-in', self.file, '-pubout', '-outform', 'DER')[-64:]
        return {'kty': 'EC', 'crv': 'P-256', 'x': b64(point[:32]), 'y': b64(point[32:]), **named}

    def sign(self, data):
        signature = openssl('dgst', '-sha256', '-sign', self.file, stdin=data)
        return signature if self.kind == 'RS256' else raw_signature(signature)


def raw_signature(der):
    """Both numbers of an ECDSA signature side by side, as tokens have them."""
    numbers = re.findall(r'INTEGER\s+:([0-9A-F]+)', openssl('asn1parse', '-inform', 'DER', stdin=der).decode())
    return b''.join(int(n, 16).to_bytes(32, 'big') for n in numbers)


class Issuer:
    def __init__(self, folder):
        self.folder, self.keys = folder, []
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, kid, kind='ES256'):
        self.keys.append(Key(self.folder, kid, kind))
        return self.keys[-1]

    def jwks(self, *keys):
        """The text of its set: all its keys, or these."""
        return json.dumps({'keys': [key.jwk() for key in keys or self.keys]})

    def token(self, key=None, header=None, **claims):
        key, now = key or self.keys[-1], int(time.time())
        head = {'alg': key.kind, 'kid': key.kid, 'typ': 'JWT', **(header or {})}
        body = {'iss': NAME, 'aud': AUDIENCE, 'sub': 'bot', 'org': 'acme', 'iat': now, 'exp': now + 600,
                **claims}
        text = '.'.join(b64(json.dumps({k: v for k, v in part.items() if v is not None}).encode())
                        for part in (head, body))
        return f'{text}.{b64(key.sign(text.encode()))}'

    def bearer(self, *arguments, **claims):
        return 'Bearer ' + self.token(*arguments, **claims)


def accounts(jwks, **more):
    """The section `accounts` for this issuer, whose keys are in that file or at that URL."""
    return {'from': 'jwt', 'jwt': {'jwks': jwks, 'issuer': NAME, 'audience': AUDIENCE, 'account_claim': 'org',
                                   **more}}
