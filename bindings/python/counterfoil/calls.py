"""One action, one effect: send it, or find out what became of it.

The picture: a claimed entry goes from exchange to exchange. After each there is a Finding
(answers.py), which is written to the journal before anything else happens, and says what may be
done next: send (again), ask the gate's status resource, or stop. That goes on for `wait` seconds;
what is not known by then is told as it stands, and the next run goes on from there.

Always true: is_sure is false from the first answer that was lost until a gate has told of the
operation itself; while it is, no answer to a second sending proves that nothing happened.
"""
from __future__ import annotations

import os
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional
from urllib.parse import quote

from .answers import Finding, Stand, is_of_step, of_kept, of_look, of_sending
from .identity import Refused, Step
from .journal import BODY_BYTES_MAX, Entry, Store
from .payload import credential_mark, payload_of
from .result import Result, header_lines, told
from .wire import Headers, Reply, Route, exchange

LOOK_FIRST_S, LOOK_MAX_S = 0.2, 2.0         # while somebody else is at it
PAUSE_FIRST_S, PAUSE_MAX_S = 0.5, 30.0
ASK_WAIT_MAX_S = 30
STATUS = '/.counterfoil/operations'

NO_PROMISE = ('nobody knows whether it happened, and the service is not known to make one effect of one '
              'Idempotency-Key: find out, or say that it does (honours_key)')
OTHER_ACTION = 'the gate has this token for another action: give this one a token of its own'
OTHER_ACCOUNT = ("it was sent with another credential, and under this one the gate would take it for another "
                 "caller's: use that one, or say that both are one account (same_account)")


class Unrecorded(RuntimeError):
    """It may have been sent, and what came of it could not be written to the journal. Run it again:
    it is asked about first."""


class Request(NamedTuple):
    step: Step
    headers: Headers
    body: Optional[bytes]
    wait: float = 30.0
    timeout: float = 60.0
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
    call = _Call(store, request, entry, retry_of, may_send=True)
    verdict, differs = call.claim(payload)
    if verdict == 'changed':
        return told(call.entry, Finding('', 'conflict', advice='fix', source='journal', reason=(
            'another payload was sent under this token: send that one, or begin a new action')), differs)
    if verdict == 'ended' and request.output and call.entry.body is not None:
        _write_file(Path(request.output).absolute(), call.entry.body)
        call.entry = call.entry._replace(body_file=str(Path(request.output).absolute()))
    return call.run() if verdict == 'ours' else _of_journal(call.entry, verdict)


def resolve(store: Store, request: Request) -> Result:
    """Find out what became of it; the write itself is never sent."""
    call = _Call(store, request, store.entry_of(request.step)[0], None, may_send=False)
    verdict, _ = call.claim(None)
    return call.run() if verdict == 'ours' else _of_journal(call.entry, verdict)


def _of_journal(entry: Entry, verdict: str) -> Result:
    """What the journal alone tells."""
    if verdict == 'new':
        known = Finding('new', 'not_sent', advice='same_key', reason='nothing was sent under this token yet')
    elif verdict == 'busy':
        known = Finding(entry.state, 'running', advice='wait', after=1, reason='another process is at this step')
    elif entry.state == 'done':
        known = Finding('done', 'replayed')
    else:
        known = Finding('failed', entry.outcome or 'failed', advice=entry.advice or 'new_key', reason=entry.reason)
    return told(entry, known._replace(source='journal'))


class _Call:
    """One entry, from its claim to the result."""

    def __init__(self, store: Store, request: Request, entry: Entry, retry_of: Optional[str],
                 may_send: bool) -> None:
        self.store, self.request, self.entry, self.retry_of = store, request, entry, retry_of
        self.may_send, self.is_out = may_send, False
        self.lost_body: Optional[bytes] = None  # a large one that could be written nowhere
        self.deadline = time.monotonic() + request.wait
        self.mark = credential_mark(entry.token, request.get('authorization'))

    def claim(self, payload: Any) -> Any:
        """(verdict, what differs); while somebody else is at it we look again."""
        pause = LOOK_FIRST_S
        while True:
            verdict, self.entry, differs = self.store.claim(self.entry.id, payload, self.mark)
            if verdict != 'busy' or self._left() <= 0:
                return verdict, differs
            time.sleep(min(pause, self._left()))
            pause = min(pause * 2, LOOK_MAX_S)

    def run(self) -> Result:
        entry = self.entry
        self.is_first = self.is_sure = entry.state == 'new'
        self.is_past_gate = entry.advice == 'human' and not entry.is_gate
        self.sent_mark = self.mark if self.is_first else entry.credential
        self.finding = Finding('open' if entry.state == 'open' else 'unknown',
                               (entry.outcome if entry.state == 'open' else None) or 'unknown',
                               operation=entry.operation, is_gate=bool(entry.is_gate), source='status',
                               advice=entry.advice or 'human', reason=entry.reason)
        self.is_let_go = False
        try:
            return self._go_on('send' if self.is_first else 'ask')
        except Refused as error:
            raise Unrecorded(str(error)) from error
        except Unrecorded:
            raise
        except BaseException:  # interrupted; somebody else in this process may take it over
            if self.is_out:
                self._learn(Finding('unknown', 'unknown', 'lost', advice='human', reason='it was interrupted'))
            self._settle(is_still_ours=False)
            raise
        finally:
            if not self.is_let_go:
                self.store.leave(self.entry.id)

    def _go_on(self, doing: str) -> Result:
        pause = PAUSE_FIRST_S
        while True:
            self._learn(self._send() if doing == 'send' else self._ask())
            doing = self.finding.next
            rest = 0 if self.finding.is_at_once else max(self.finding.after, pause * random.uniform(0.8, 1.2))
            if not doing or self._left() <= rest:
                self._settle(is_still_ours=False)
                entry = self.entry
                return told(entry._replace(body=self.lost_body) if self.lost_body else entry, self.finding)
            self._settle(is_still_ours=True)
            time.sleep(rest)
            pause = pause if self.finding.is_at_once else min(pause * 2, PAUSE_MAX_S)

    def _left(self) -> float:
        return max(self.deadline - time.monotonic(), 0)

    def _learn(self, found: Finding) -> None:
        self.is_out = False
        self.is_past_gate = self.is_past_gate or found.is_past_gate
        self.is_sure = found.state == 'new'
        self.finding = found._replace(is_gate=found.is_gate or self.finding.is_gate,
                                      operation=found.operation or self.finding.operation)
        if found.next == 'send' and not self.may_send:
            self.finding = self.finding._replace(next='')

    def _exchange(self, method: str, url: str, headers: Headers, body: Optional[bytes]) -> Reply:
        self.is_out = True
        return exchange(method, url, headers, body, self.request.timeout, self.request.route)

    def _send(self) -> Finding:
        if not self.is_first:
            self.store.send_again(self.entry.id, self.mark, '')
        self.is_first, self.sent_mark = False, self.mark
        headers = [*self.request.headers, ('Idempotency-Key', self.entry.token)]
        for name, value in (('Counterfoil-Task', self.entry.task), ('Counterfoil-Step', self.entry.step),
                            ('Counterfoil-Retry-Of', self.retry_of)):
            if re.fullmatch('[ -~]+', value or ''):
                headers.append((name, value or ''))
        step = self.request.step
        return of_sending(self._exchange(step.method, step.url, headers, self.request.body),
                          Stand(self.is_sure, self.request.honours_key))

    def _ask(self) -> Finding:
        """Ask the gate, if there is one, what became of it."""
        known, wait = self.finding, min(int(self._left()), ASK_WAIT_MAX_S)
        does_wait = bool(known.operation and known.state == 'open' and wait)
        step = self.request.step
        path = step.url[len(step.origin):].partition('?')[0]
        target = (f'{STATUS}?token={quote(self.entry.token, safe="")}'
                  f'&method={step.method}&path={quote(path, safe="")}')
        if known.operation:
            target = f'{STATUS}/{known.operation}' + (f'?wait={wait}' if does_wait else '')
        verdict, found, operation = of_look(self._get(target), known)
        if verdict == 'none':
            self.is_past_gate = self.is_past_gate or found.is_past_gate
            return self._unknown_to_gate(found)
        if verdict == 'no_gate':
            return self._without_gate(found)
        step = self.request.step
        if verdict == 'operation' and not self.entry.task and not is_of_step(
                operation, step.method, step.url[len(step.origin):]):
            return known._replace(what='asked', state='unknown', outcome='unknown', next='', source='status',
                                  is_gate=True, advice='human', reason=OTHER_ACTION)
        if found.next == 'fetch':
            return of_kept(self._get(f'{STATUS}/{found.operation}/response'), found, operation)
        return found._replace(is_at_once=does_wait and found.state == 'open' and found.next == 'ask')

    def _get(self, target: str) -> Reply:
        headers = [(name, value) for name, value in self.request.headers
                   if not name.lower().startswith('content-')]
        return self._exchange('GET', self.request.step.origin + target, headers, None)

    def _unknown_to_gate(self, found: Finding) -> Finding:
        """A gate that knows of no operation: then it was not done, if this gate was to do it for us."""
        stays = found._replace(state='unknown', outcome='unknown', next='', advice='human')
        if found.operation:
            return stays._replace(reason=f'the gate does not know {found.operation} any more')
        if self.is_past_gate:
            return self._without_gate(stays._replace(is_gate=False))
        if self.sent_mark != self.mark and not self.request.same_account:
            return stays._replace(reason=OTHER_ACCOUNT)
        return found._replace(state='new', outcome='not_sent', next='send', advice='same_key',
                              reason='the gate has never heard of it')

    def _without_gate(self, found: Finding) -> Finding:
        if found.is_gate:
            return found._replace(next='ask', reason='the gate does not answer as one')
        unknown = found._replace(state='unknown', outcome='unknown', next='', advice='human', reason=NO_PROMISE)
        if self.request.honours_key:
            return unknown._replace(next='send', reason=None)
        return unknown

    def _settle(self, is_still_ours: bool) -> None:
        found = self.finding
        columns: Dict[str, Any] = {
            'status': None, 'headers': None, 'body': None, 'body_file': None,
            'state': found.state, 'outcome': found.outcome, 'operation': found.operation,
            'is_gate': int(found.is_gate or self.entry.is_gate), 'advice': found.advice,
            'after_s': found.after, 'reason': found.reason}
        has_ended = found.state in ('done', 'failed')
        if found.answer and has_ended:
            columns.update(self._kept(found.answer))
        try:
            self.entry = self.store.settle(self.entry.id, columns, found.what, columns['reason'] or '', is_still_ours,
                                           found.is_forgotten)
        except Refused as error:
            if has_ended:  # the caller is the last to hear of it
                status = found.answer.status if found.answer else 'not known'
                raise Unrecorded(f'the end is known ({found.outcome}, status {status}), and could not be kept: '
                                 f'{error}') from error
            raise
        self.is_let_go = not is_still_ours
        self.finding = found._replace(reason=columns['reason'])

    def _kept(self, answer: Reply) -> Dict[str, Any]:
        """The columns of a final answer; a body that goes to a file is there before the journal says so."""
        is_large = len(answer.body) > BODY_BYTES_MAX
        kept: Dict[str, Any] = {'status': answer.status, 'headers': header_lines(answer), 'body_file': None,
                                'body': None if is_large else answer.body}
        path = self.request.output or (f'{self.store.path}.answers/{self.entry.id}' if is_large else None)
        if not path:
            return kept
        try:
            _write_file(Path(path).absolute(), answer.body)
        except Refused as error:  # the work is done: only the file is missing
            self.lost_body = answer.body if is_large else None
            return {**kept, 'reason': self.finding.reason or str(error)}
        return {**kept, 'body_file': str(Path(path).absolute())}


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
