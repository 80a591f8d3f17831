"""What is sent under a token, as far as it may never change: media type and body.

JSON that can be read in one way only is compared by its canonical text, everything else byte by
byte. A difference is named by the members that differ, never by their values: what is kept for
that is a short digest of each leaf, salted with the token.
"""
from __future__ import annotations

import hashlib
import json
import re
from typing import List, NamedTuple, Optional

from . import exact
from .identity import parts_digest

LEAVES_MAX = 500
MEMBERS_BYTES_MAX = 256 * 1024
NAMED_MAX = 10
NAMED_BYTES_MAX = 80


class Payload(NamedTuple):
    digest: str
    members: Optional[str]  # JSON {pointer: 16 hex}; None: the members cannot be named


def payload_of(content_type: str, body: bytes, token: str) -> Payload:
    essence = content_type.split(';')[0].strip(' \t').lower()
    text, members = body, None
    if is_json(essence):
        try:
            tree = exact.read(body)
            text = exact.canonical(tree).encode()
            members = _members(tree, token)
        except exact.NotJson:
            pass
    return Payload(parts_digest(b'counterfoil/payload/1', essence.encode(), text).hex(), members)


def is_json(essence: str) -> bool:
    return bool(re.fullmatch(r"application/json|[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+\+json", essence, re.ASCII))


def difference(before: Optional[str], after: Optional[str]) -> str:
    """What differs between the members of two payloads of one token."""
    if not before or not after:
        return 'the body differs'
    old, new = json.loads(before), json.loads(after)
    groups = [('changed', [name for name in new if name in old and old[name] != new[name]]),
              ('added', [name for name in new if name not in old]),
              ('missing', [name for name in old if name not in new])]
    texts: List[str] = []
    left = NAMED_MAX
    for what, names in groups:
        if names[:left]:
            texts.append(f'{what}: ' + ', '.join(map(_shown, names[:left])))
        left -= len(names[:left])
    unnamed = sum(len(names) for _, names in groups) - (NAMED_MAX - left)
    if unnamed:
        texts.append(f'and {unnamed} more')
    return '; '.join(texts) or 'the media type differs'


def credential_mark(token: str, authorization: Optional[str]) -> Optional[str]:
    """Enough to notice that a credential is another one, too little to guess it from."""
    if authorization is None:
        return None
    return parts_digest(b'counterfoil/credential/1', token.encode(), authorization.encode('latin-1'))[:2].hex()


def _members(tree: object, token: str) -> Optional[str]:
    leaves = exact.leaves(tree)
    if len(leaves) > LEAVES_MAX:
        return None
    digests = {pointer: hashlib.sha256('\0'.join((token, pointer, text)).encode()).hexdigest()[:16]
               for pointer, text in leaves}
    text = json.dumps(digests, ensure_ascii=False, separators=(',', ':'))
    return text if len(text.encode()) <= MEMBERS_BYTES_MAX else None


def _shown(pointer: str) -> str:
    return pointer.encode()[:NAMED_BYTES_MAX].decode('utf-8', 'ignore') or 'the whole'
