"""The Python binding as a program: one JSON object in, one out. Run by harness/speakers.py."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'bindings' / 'python'))

import counterfoil                                                              # noqa: E402
from counterfoil import identity, payload, proxy                                # noqa: E402


def speak(verb, wish):
    if verb == 'pure':
        return [PURE[name](*values) for name, *values in wish['questions']]
    if verb == 'twice':
        return twice(wish, wish.pop('between'))
    with counterfoil.Journal(wish.pop('journal')) as journal:
        if verb == 'token':
            return journal.token(wish['task'], wish['step'], wish['method'], wish['url'], wish.get('new', False))
        call = journal.send if verb == 'send' else journal.resolve
        return call(wish.pop('method'), wish.pop('url'), **wish)


def twice(wish, between):
    """Send it, run the command `between`, and send it again in the same process, by a journal of its own."""
    first = told(lambda: speak('send', dict(wish)))
    subprocess.run(between, check=True)
    return [first, told(lambda: speak('send', dict(wish)))]


def told(work):
    try:
        return work()
    except (counterfoil.Refused, counterfoil.Unrecorded) as error:
        return {type(error).__name__.lower(): str(error)}


def answered(function):
    def ask(*values):
        try:
            return function(*values)
        except counterfoil.Refused:
            return None
    return ask


PURE = {
    'proxy': proxy.proxy_for,
    'url': answered(identity.spell_url),
    'step': answered(lambda task, step, method, url: list(identity.read_step(task, step, method, url)[:4])),
    'key': answered(identity.read_token),
    'token': answered(lambda *step: identity.derive_token(identity.read_step(*step))),
    'payload': lambda kind, hex_body, token: list(payload.payload_of(kind, bytes.fromhex(hex_body), token)),
    'mark': payload.credential_mark,
    'difference': payload.difference,
}

print(json.dumps(told(lambda: speak(sys.argv[1], json.loads(sys.stdin.read())))))
