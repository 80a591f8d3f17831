"""Which action is meant: a step of a workflow in its one spelling, and the token that stands for it.

The first token of a step is derived from (task, step, method, URL) alone, so that a job that lost
its disk, or runs elsewhere, finds the same one. A deliberate new action has one that is drawn.
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
from typing import NamedTuple, Optional

NAME_BYTES_MAX = 255
URL_BYTES_MAX = 8192
METHOD_MAX = 32
TOKEN_MAX = 255

_URL = re.compile(r'(https?)://(\[[^\]/?]+\]|[^:/?\[\]]*)(?::([^/?]*))?([/?].*|)', re.IGNORECASE | re.DOTALL)


class Refused(ValueError):
    """What was asked, or the journal's file, cannot be used as it is; the text says how to mend it.
    Nothing was sent."""


class Step(NamedTuple):
    """One intended action. Task and step are None where the token was given by hand."""
    task: Optional[str]
    step: Optional[str]
    method: str
    url: str
    token: Optional[str]

    @property
    def origin(self) -> str:
        return '/'.join(self.url.split('/', 3)[:3])


def read_step(task: Optional[str], step: Optional[str], method: str, url: str,
              key: Optional[str] = None) -> Step:
    """A step in its one spelling; Refused says what is wrong."""
    if task or step:
        if key:
            raise Refused('a step has a token of its own: give a task and a step, or a token')
        _check_name('task', task)
        _check_name('step', step)
    elif not key:
        raise Refused('nothing says which action this is: give a task and a step, or a token')
    if not re.fullmatch(r'[A-Za-z]{1,32}', method):
        raise Refused('the method is not made of letters: POST, PUT, PATCH and DELETE are some')
    return Step(task or None, step or None, method.upper(), spell_url(url),
                read_token(key) if key else None)


def spell_url(url: str) -> str:
    """Scheme and host in lower case, no default port, "/" for no path, no fragment; the rest as it is."""
    if len(url) > URL_BYTES_MAX:
        raise Refused(f'the URL is longer than {URL_BYTES_MAX} bytes')
    if re.search(r'[^\x21-\x7e]', url):
        raise Refused('the URL has blanks, control characters or bytes beyond ASCII: percent-encode them')
    found = _URL.fullmatch(url.split('#')[0])
    authority = re.split(r'[/?]', url.split('#')[0].partition('://')[2])[0]
    if '@' in authority:
        raise Refused('the URL has a user in it: credentials go into a header')
    if not found:
        raise Refused('the URL is none: http://HOST/PATH and https://HOST/PATH are')
    scheme, host, port, rest = found[1].lower(), found[2].lower(), found[3] or '', found[4]
    if not host:
        raise Refused('the URL names no host')
    if port and not (re.fullmatch(r'[0-9]{1,19}', port) and int(port) <= 65535):
        raise Refused("the URL's port is no number up to 65535")
    if port == {'http': '80', 'https': '443'}[scheme]:
        port = ''
    return f'{scheme}://{host}{":" + port if port else ""}{"" if rest.startswith("/") else "/"}{rest}'


def read_token(text: str) -> str:
    """A token given by hand: 1 to 255 visible ASCII characters, bare or as a quoted string."""
    token = text
    if text.startswith('"'):
        if not re.fullmatch(r'"(?:[^"\\]|\\["\\])*"', text):
            raise Refused('the token is no whole quoted string')
        token = re.sub(r'\\(.)', r'\1', text[1:-1])
    elif '"' in text or ',' in text:
        raise Refused('the token has a quote or a comma in it: write it as a quoted string')
    if not re.fullmatch(r'[\x21-\x7e]{1,255}', token):
        raise Refused('a token is 1 to 255 visible ASCII characters, a UUID for example')
    return token


def derive_token(step: Step) -> str:
    parts = (step.task, step.step, step.method, step.url)
    return _as_token(parts_digest(b'counterfoil/call/1', *(str(part).encode() for part in parts))[:20])


def draw_token() -> str:
    return _as_token(os.urandom(20))


def parts_digest(tag: bytes, *parts: bytes) -> bytes:
    """SHA-256 of a tag, NUL, and each part behind its length in 32 bits."""
    digest = hashlib.sha256(tag + b'\0')
    for part in parts:
        digest.update(len(part).to_bytes(4, 'big') + part)
    return digest.digest()


def _as_token(data: bytes) -> str:
    return 'cf-' + base64.b32encode(data).decode().lower().rstrip('=')


def _check_name(what: str, name: Optional[str]) -> None:
    if not name:
        raise Refused(f'the {what} is missing')
    try:
        length = len(name.encode('utf-8'))
    except UnicodeEncodeError:
        length = 0
    if not 0 < length <= NAME_BYTES_MAX or re.search(r'[\x00-\x1f\x7f]', name):
        raise Refused(f"the {what}'s name is not plain text of 1 to {NAME_BYTES_MAX} bytes")
