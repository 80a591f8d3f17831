"""One action, one effect: send it, or find out what became of it.

The picture: a claimed entry goes from exchange to exchange. After each there is a Finding
(answers.py), which is written to the journal before anything else happens, and says what may be
done next: send (again), ask the gate's status resource, or stop. All of it takes `wait` seconds at
most; what is not known by then is told as it stands, and the next run goes on from there.
"""
from __future__ import annotations

import base64
import hashlib
import os
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional
from urllib.parse import quote

from . import exact
from .answers import (HONOURS_KEY, Finding, Stand, of_kept, of_look, of_sending)
from .identity import Refused, Step
from .journal import BODY_BYTES_MAX, Entry, Store
from .payload import credential_mark, is_json, payload_of
from .wire import Headers, Reply, Route, exchange

LOOK_FIRST_S, LOOK_MAX_S = 0.2, 2.0         # while somebody else is at it
BACKOFF_FIRST_S, BACKOFF_MAX_S = 0.5, 30.0
ASK_WAIT_MAX_S = 30
EXCHANGES_MAX = 10_000                      # of one call; its time ends first
STATUS = '/.counterfoil/operations'
NOT_KEPT = {'connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer',
            'transfer-encoding', 'upgrade', 'content-length', 'set-cookie', 'set-cookie2', 'date',
            'www-authenticate'}


class Result(dict):
    """What is known of an action; the same members in every language. `content`: the answer's bytes."""
    content: Optional[bytes] = None


class Request(NamedTuple):
    step: Step
    headers: Headers
    body: Optional[bytes]
    wait: float = 30.0
    honours_key: bool = False
    same_account: bool = False
    output: Optional[str] = None
    route: Route = Route()

    def get(self, name: str) -> Optional[str]:
        return next((value for key, value in self.headers if key.lower() == name), None)


def send(store: Store, request: Request, is_new: bool) -> Result:
    """Do it once, however often this is called."""
    entry, retry_of = store.entry_of(request.step, is_new)
    payload = payload_of(request.get('content-type') or '', request.body or b'', entry.token)
    mark = credential_mark(entry.token, request.get('authorization'))
    deadline = time.monotonic() + request.wait
    verdict, entry, differs = _claim(store, entry, payload, mark, deadline)
    if verdict == 'changed':
        return _told(entry, Finding('', 'conflict', advice='fix', source='journal', reason='this step was begun '
                     f'with another request ({differs}): send that one, or begin a new action'),
                     {'local': True, 'difference': differs})
    if verdict != 'ours':
        return _of_journal(entry, verdict)
    return _Call(store, request, entry, mark, deadline, retry_of).run('send' if entry.state == 'new' else 'ask')


def resolve(store: Store, request: Request) -> Result:
    """Find out what became of it; the write itself is never sent."""
    entry, _ = store.entry_of(request.step)
    deadline = time.monotonic() + request.wait
    verdict, entry, _ = _claim(store, entry, None, None, deadline)
    if verdict != 'ours':
        return _of_journal(entry, verdict)
    mark = credential_mark(entry.token, request.get('authorization'))
    return _Call(store, request, entry, mark, deadline, None, may_send=False).run('ask')


def _claim(store: Store, entry: Entry, payload: Any, mark: Optional[str], deadline: float) -> Any:
    """Ours, or whatever else is known; while somebody else is at it we look again."""
    pause = LOOK_FIRST_S
    while True:
        claimed = store.claim(entry.id, payload, mark)
        left = deadline - time.monotonic()
        if claimed[0] != 'busy' or left <= 0:
            return claimed
        time.sleep(min(pause, left))
        pause = min(pause * 2, LOOK_MAX_S)


class _Call:
    """A claimed entry on its way to an end."""

    def __init__(self, store: Store, request: Request, entry: Entry, mark: Optional[str],
                 deadline: float, retry_of: Optional[str], may_send: bool = True) -> None:
        self.store, self.request, self.entry, self.mark = store, request, entry, mark
        self.deadline, self.retry_of, self.may_send = deadline, retry_of, may_send
        self.is_first = entry.state == 'new'
        self.is_sure = self.is_first
        self.is_elsewhere = entry.advice == 'human' and not entry.is_gate
        self.sent_mark = mark if self.is_first else entry.credential
        self.has_asked = False
        self.finding = Finding('unknown', entry.outcome if entry.state == 'open' and entry.outcome else 'unknown',
                               operation=entry.operation, is_gate=bool(entry.is_gate), source='status',
                               advice=entry.advice or 'query', reason=entry.reason)
        if entry.state == 'open':
            self.finding = self.finding._replace(state='open')

    def run(self, doing: str) -> Result:
        pause = BACKOFF_FIRST_S
        for _ in range(EXCHANGES_MAX):
            found = self._send() if doing == 'send' else self._ask()
            self._learn(found)
            wanted = self.finding.after if self.finding.after is not None else pause * random.uniform(0.8, 1.2)
            if not self.finding.next or self._left() <= wanted:
                break
            self._settle(is_still_ours=True)
            time.sleep(wanted)
            pause = min(pause * 2, BACKOFF_MAX_S) if self.finding.after is None else pause
            doing = self.finding.next
        self._settle(is_still_ours=False)
        return _told(self.entry, self.finding)

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _learn(self, found: Finding) -> None:
        """Take over what was found; what is known already stays where nothing was said of it."""
        self.is_elsewhere = self.is_elsewhere or found.is_elsewhere
        self.is_sure = found.state == 'new'
        self.finding = found._replace(is_gate=found.is_gate or self.finding.is_gate,
                                      operation=found.operation or self.finding.operation)
        if found.next == 'send' and not self.may_send:
            self.finding = self.finding._replace(next='')

    def _send(self) -> Finding:
        if not self.is_first:
            self.store.send_again(self.entry.id, self.mark, 'again')
        self.is_first, self.sent_mark = False, self.mark
        stand = Stand(self.is_sure, self.request.honours_key, self.finding.is_gate)
        reply = exchange(self.request.step.method, self.request.step.url, self._headers(),
                         self.request.body, max(self._left(), 0.001), self.request.route)
        return of_sending(reply, stand)

    def _headers(self) -> Headers:
        headers = [*self.request.headers, ('Idempotency-Key', self.entry.token)]
        for name, value in (('Counterfoil-Task', self.entry.task), ('Counterfoil-Step', self.entry.step)):
            if value and re.fullmatch('[\x21-\x7e]+', value):
                headers.append((name, value))
        if self.retry_of:
            headers.append(('Counterfoil-Retry-Of', self.retry_of))
        if self.has_asked and self.finding.is_gate and self._left() >= 1:
            headers.append(('Prefer', f'wait={min(int(self._left()), ASK_WAIT_MAX_S)}'))
        return headers

    def _ask(self) -> Finding:
        """Ask the gate, if there is one, what became of it."""
        known = self.finding
        if known.operation:
            wait = min(int(self._left()), ASK_WAIT_MAX_S) if self.has_asked else 0
            target = f'{STATUS}/{known.operation}' + (f'?wait={wait}' if wait > 0 else '')
        else:
            target = f'{STATUS}?token={quote(self.entry.token, safe="")}'
        self.has_asked = True
        verdict, found, operation = of_look(self._get(target), known)
        if verdict == 'none':
            return self._unknown_to_gate(found)
        if verdict == 'no_gate':
            return self._without_gate(found)
        if found.next == 'fetch':
            return of_kept(self._get(f'{STATUS}/{found.operation}/response'), found, operation)
        return found

    def _get(self, target: str) -> Reply:
        headers = [(name, value) for name, value in self.request.headers
                   if not name.lower().startswith('content-')]
        return exchange('GET', self.request.step.origin + target, headers, None,
                        max(self._left(), 0.001), self.request.route)

    def _unknown_to_gate(self, found: Finding) -> Finding:
        """A gate that knows of no operation: then it was not done, if this gate was to do it for us."""
        stays = found._replace(state='unknown', outcome='unknown', next='', advice='human')
        if found.operation:
            return stays._replace(reason=f'the gate does not know {found.operation} any more')
        if self.is_elsewhere:
            return stays._replace(is_gate=False, reason=found.reason or HONOURS_KEY,
                                  next='send' if self.request.honours_key else '')
        if self.sent_mark != self.mark and not self.request.same_account:
            return stays._replace(reason='it was sent with another credential, and under this one the gate would '
                                  "take it for another caller's (same_account, if it is the same account)")
        return found._replace(state='new', outcome='not_sent', next='send', after=0, advice='same_key',
                              reason='the gate has never heard of it')

    def _without_gate(self, found: Finding) -> Finding:
        if found.is_gate:
            return found._replace(next='ask', after=None, reason='the gate does not answer as one')
        if self.request.honours_key:
            return found._replace(state='unknown', outcome='unknown', next='send',
                                  after=0 if self.finding.source == 'answer' else None, advice='same_key')
        return found._replace(state='unknown', outcome='unknown', next='', advice='human',
                              reason=HONOURS_KEY)

    def _settle(self, is_still_ours: bool) -> None:
        found, learnt = self.finding, {}  # type: Finding, Dict[str, Any]
        if found.answer and found.state in ('done', 'failed') and not is_still_ours:
            learnt = self._kept(found.answer)
        if found.operation:
            learnt['operation'] = found.operation
        if found.is_gate:
            learnt['is_gate'] = 1
        self.entry = self.store.settle(
            self.entry.id, found.what, found.reason or found.outcome, is_still_ours, found.is_forgotten,
            state=found.state, outcome=found.outcome, advice=found.advice, after_s=_seconds(found.after),
            reason=found.reason, **learnt)

    def _kept(self, answer: Reply) -> Dict[str, Any]:
        """The columns of a final answer; a large body is in a file before the journal says so."""
        lines = ''.join(f'{name}: {value}\n' for name, value in answer.headers if name.lower() not in NOT_KEPT)
        kept: Dict[str, Any] = {'status': answer.status, 'headers': lines}
        if self.request.output or len(answer.body) > BODY_BYTES_MAX:
            name = hashlib.sha256(f'{self.entry.id} {self.entry.token}'.encode()).hexdigest()[:32]
            path = Path(self.request.output or self.store.path.parent / 'answers' / name).absolute()
            _write_file(path, answer.body)
            return {**kept, 'body_file': str(path)}
        return {**kept, 'body': answer.body}


def _write_file(path: Path, body: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except OSError as error:
        raise Refused(f'the answer cannot be written to {path}: {error.strerror}') from error


def _seconds(after: Optional[float]) -> int:
    return int(-(-(after or 0) // 1))


def _of_journal(entry: Entry, verdict: str) -> Result:
    """What the journal alone tells."""
    if verdict == 'new':
        known = Finding('new', 'not_sent', advice='same_key', reason='nothing was sent under it')
    elif verdict == 'busy':
        known = Finding(entry.state, 'running', advice='wait', after=1, reason='somebody is at this step now')
    elif entry.state == 'done':
        known = Finding('done', 'replayed')
    else:
        outcome = entry.outcome if entry.outcome in ('refused', 'denied', 'expired') else 'failed'
        known = Finding('failed', outcome, advice=entry.advice or 'stop', reason=entry.reason)
    return _told(entry, known._replace(source='journal'))


def _told(entry: Entry, known: Finding, more: Optional[Dict[str, Any]] = None) -> Result:
    """The result object."""
    headers: Dict[str, str] = {}
    lines, status, content = entry.headers, entry.status, entry.body
    if known.answer and status is None:  # a refusal of which nothing is kept
        lines = ''.join(f'{name}: {value}\n' for name, value in known.answer.headers
                        if name.lower() not in NOT_KEPT)
        status, content = known.answer.status, known.answer.body
    if entry.body_file and content is None:
        content = Path(entry.body_file).read_bytes() if Path(entry.body_file).is_file() else None
    for line in (lines or '').splitlines():
        name, _, value = line.partition(': ')
        headers[name] = f'{headers[name]}, {value}' if name in headers else value
    result = Result(
        outcome=known.outcome, operation=entry.operation, token=entry.token, task=entry.task, step=entry.step,
        method=entry.method, url=entry.url, state=entry.state, status=status, headers=headers,
        **_body(content if not entry.body_file else None, headers), file=entry.body_file,
        gate=bool(entry.is_gate), attempts=entry.attempts, source=known.source,
        retry={'advice': known.advice, 'after': _seconds(known.after)}, reason=known.reason, **(more or {}))
    result.content = content
    return result


def _body(content: Optional[bytes], headers: Dict[str, str]) -> Dict[str, Any]:
    if not content:
        return {'body': None}
    kind = next((value for name, value in headers.items() if name.lower() == 'content-type'), '')
    if is_json(kind.split(';')[0].strip().lower()):
        try:
            return {'body': exact.plain(exact.read(content))}
        except exact.NotJson:
            pass
    try:
        return {'body': content.decode('utf-8')}
    except UnicodeDecodeError:
        return {'body': None, 'body_base64': base64.b64encode(content).decode()}
