"""Counterfoil for programs that act: one intended action, one effect.

    import counterfoil
    done = counterfoil.send('POST', 'https://api.example.test/v1/payments', task='invoice-1873', step='pay',
                            json={'amount': 4900})

The token of the action is in the journal before the first byte leaves. Whoever runs the same task and step
again, in whatever language and after whatever crash, gets the first one's end: docs/guide/bindings.md.
"""
from __future__ import annotations

import json as _json
import os
import re
from types import TracebackType
from typing import Any, Mapping, Optional, Tuple, Type, Union

from . import calls as _calls
from .calls import Request, Unrecorded
from .identity import Refused, read_step
from .journal import Store
from .result import Result
from .wire import Route

__all__ = ['Journal', 'Refused', 'Result', 'Unrecorded', 'token', 'send', 'resolve']
__version__ = '0.1.0'

_OURS = {'idempotency-key', 'counterfoil-task', 'counterfoil-step', 'counterfoil-retry-of', 'content-length',
         'transfer-encoding', 'host', 'connection'}


class Journal:
    """An open journal. May be used by any number of threads; other processes may have it open too."""

    def __init__(self, path: Union[None, str, 'os.PathLike[str]'] = None) -> None:
        self._store = Store(path)
        self.path = str(self._store.path)

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> 'Journal':
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def token(self, task: str, step: str, method: str, url: str, new: bool = False) -> str:
        """The token of a step, committed to the journal. `new`: a deliberate new action begins."""
        return self._store.entry_of(read_step(task, step, method, url), new)[0].token

    def send(self, method: str, url: str, *, task: Optional[str] = None, step: Optional[str] = None,
             key: Optional[str] = None, new: bool = False, headers: Optional[Mapping[str, str]] = None,
             body: Union[None, bytes, str] = None, json: Any = None, **options: Any) -> Result:
        """Send a write so that it happens once.

        `task` and `step` say which action it is; or `key`, a token made elsewhere. `json` is written as
        the body; a body without a Content-Type is JSON. Options: `wait` (seconds that an open or uncertain outcome is followed up; 30), `timeout`
        (seconds of one request; 60), `honours_key` (the API itself makes one effect of one Idempotency-Key),
        `same_account` (another credential than last time, of the same account), `output` (a file for the
        answer's body), `connect_timeout` (seconds until a connection stands; 10), `ca_file`, `client_cert`,
        `client_key`, `insecure` (True: the server's certificate is not checked), `proxy` ("": none), `no_proxy`;
        the last two are the environment's where they are not given, as with curl.
        Refused is raised before anything is sent; all else is in the result.
        """
        lines, content = _content(headers or {}, body, json)
        return _calls.send(self._store, _request(read_step(task, step, method, url, key), lines, content,
                                                 options), new)

    def resolve(self, method: str, url: str, *, task: Optional[str] = None, step: Optional[str] = None,
                key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None,
                **options: Any) -> Result:
        """What became of it: asks, and never sends the write. Options as in send()."""
        lines, _ = _content(headers or {}, None, None)
        return _calls.resolve(self._store, _request(read_step(task, step, method, url, key), lines, None,
                                                    options))


def token(task: str, step: str, method: str, url: str, new: bool = False) -> str:
    """Journal.token() of the journal in its usual place."""
    with Journal() as journal:
        return journal.token(task, step, method, url, new)


def send(method: str, url: str, **options: Any) -> Result:
    """Journal.send() of the journal in its usual place."""
    with Journal() as journal:
        return journal.send(method, url, **options)


def resolve(method: str, url: str, **options: Any) -> Result:
    """Journal.resolve() of the journal in its usual place."""
    with Journal() as journal:
        return journal.resolve(method, url, **options)


def _request(step: Any, headers: Any, body: Optional[bytes], options: Any) -> Request:
    route = Route(**{name: options.pop(name) for name in Route._fields if name in options})
    if route.insecure is not True and route.insecure is not False:
        raise TypeError('insecure is True or False')
    if not route.connect_timeout > 0:
        raise ValueError('connect_timeout is a number of seconds')
    unknown = set(options) - {'wait', 'timeout', 'honours_key', 'same_account', 'output'}
    if unknown:
        raise TypeError(f'no such option: {", ".join(sorted(unknown))}')
    return Request(step, headers, body, route=route, **options)


def _content(headers: Mapping[str, str], body: Union[None, bytes, str], json: Any) -> Tuple[Any, Optional[bytes]]:
    """Header lines and bytes, checked."""
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not re.fullmatch('[\t\x20-\x7e\x80-\xff]*', value):
            raise Refused(f'the header {name!r} is not one line of text')
        if name.lower() in _OURS:
            raise Refused(f'the header {name} is set by this library')
    names, lines = {name.lower() for name in headers}, list(headers.items())
    if json is not None:
        body = _json.dumps(json, ensure_ascii=False, allow_nan=False, separators=(',', ':'))
    if body is not None and 'content-type' not in names:
        lines.append(('Content-Type', 'application/json'))
    if 'user-agent' not in names:
        lines.append(('User-Agent', f'counterfoil/{__version__}'))
    return lines, body.encode() if isinstance(body, str) else body
