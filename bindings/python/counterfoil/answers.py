"""What an answer means. Decisions alone: nothing here touches the network, the disk or a clock.

The picture: after each exchange there is a Finding, which says what is known of the action now and
what may be done next. Certainty is earned: an action that may have happened stays unknown until
something certain is learnt, and is sent again only where that cannot make a second effect.
"""
from __future__ import annotations

import json
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .wire import ANSWERED, NOT_LEFT, Reply

PROBLEM = 'urn:counterfoil:problem:'
LOST = (408, 500, 502, 504)    # the service may have acted
NOT_TAKEN = (429, 503)         # it has not
NOT_OF_IT = (401, 403, 404, 409, 425)  # told to a second sending, these say nothing of the first
AFTER_MAX_S = 86400

OPEN = ('running', 'queued', 'awaiting_approval')
HONOURS_KEY = 'whether it happened is not known, and the service is not known to honour ' \
              'Idempotency-Key: find out, or say that it does (honours_key)'


class Finding(NamedTuple):
    state: str                          # of the entry
    outcome: str
    what: str = 'answered'              # the event
    answer: Optional[Reply] = None      # the final one
    operation: Optional[str] = None
    is_gate: bool = False
    is_forgotten: bool = False          # nothing was recorded anywhere: the payload may be another
    is_elsewhere: bool = False          # a plain answer came: a gate that knows nothing proves nothing
    advice: str = 'stop'
    after: Optional[float] = None       # seconds; None: as we see fit
    reason: Optional[str] = None
    next: str = ''                      # '' it is over | 'send' | 'ask'
    source: str = 'answer'


class Stand(NamedTuple):
    """What was known before the exchange."""
    is_sure: bool                       # nothing sent before can have had an effect
    honours_key: bool
    is_gate: bool


def of_sending(reply: Reply, stand: Stand) -> Finding:
    """What the answer to the write itself means."""
    if reply.kind == NOT_LEFT:
        return _not_sent(stand, reply.why, 'not_sent')
    if reply.kind != ANSWERED:
        return _lost(reply.why, is_gate=stand.is_gate)
    problem = problem_of(reply)
    if reply.get('operation-id') and reply.get('operation-outcome'):
        return _of_gate(reply, problem, stand)
    if problem:
        return _of_gate_without_record(reply, problem, stand)
    return _of_service(reply, stand)


def _of_gate(reply: Reply, problem: Optional[Dict[str, Any]], stand: Stand) -> Finding:
    outcome = reply.get('operation-outcome') or ''
    advice, after = advice_of(problem if problem else json_of(reply))
    known = Finding('unknown', outcome, operation=reply.get('operation-id'), is_gate=True,
                    advice=advice or 'stop', after=after, reason=reason_of(problem))
    if outcome in ('created', 'replayed', 'reused'):
        return _ended(known, reply, problem)
    if outcome in OPEN:
        return known._replace(state='open', next='ask', advice=advice or 'wait')
    if outcome == 'locked':
        return known._replace(state='open', next='send')
    if outcome == 'not_sent':
        return known._replace(state='new', next='send' if advice == 'same_key' else '', what='not_sent')
    if outcome == 'conflict':
        return _conflict(known, stand)
    if outcome in ('refused', 'denied', 'expired'):
        return known._replace(state='failed', what='refused', answer=reply)
    return known._replace(outcome='unknown', next='ask', advice=advice or 'query', what='lost')


def _conflict(known: Finding, stand: Stand) -> Finding:
    """The token stands for another request at the gate; ours has done nothing."""
    if stand.is_sure:
        return known._replace(state='new', outcome='conflict', what='refused', is_forgotten=True)
    return known._replace(outcome='unknown', what='refused', advice='human')


def _ended(known: Finding, reply: Reply, problem: Optional[Dict[str, Any]]) -> Finding:
    """The end of an operation: the service's answer, or the gate's word that there is none to tell."""
    if not problem:
        is_good = 200 <= reply.status < 400
        return known._replace(state='done' if is_good else 'failed', answer=reply, advice='stop',
                              outcome=known.outcome if is_good else 'failed')
    is_good = reply.get('operation-state') == 'completed'
    return known._replace(state='done' if is_good else 'failed', answer=None if is_good else reply,
                          outcome=known.outcome if is_good else 'failed')


def _of_gate_without_record(reply: Reply, problem: Dict[str, Any], stand: Stand) -> Finding:
    """A gate's own word about a request of which it kept nothing."""
    advice, after = advice_of(problem)
    reason, slug = reason_of(problem), problem['type'][len(PROBLEM):]
    if slug in ('upstream-failed', 'upstream-timeout'):
        return _lost(reason, is_elsewhere=True)
    if not stand.is_sure and not stand.is_gate:
        return Finding('unknown', 'unknown', 'refused', is_gate=True, advice='human', reason=reason)
    if advice in ('same_key', 'wait'):
        outcome = 'locked' if slug == 'lock-held' else 'not_sent'
        return Finding('new', outcome, 'not_sent', is_gate=True, advice=advice, after=after,
                       reason=reason, next='send')
    refused = Finding('new', 'refused', 'refused', is_gate=True, answer=reply, is_forgotten=True,
                      advice=advice or 'fix', after=after, reason=reason)
    if slug == 'key-reused':
        return _conflict(refused, stand)
    if slug == 'key-expired':
        return refused._replace(state='failed', outcome='expired', is_forgotten=False)
    return refused


def _of_service(reply: Reply, stand: Stand) -> Finding:
    """An answer of a service that no gate stands before."""
    status, after = reply.status, retry_after(reply)
    if 200 <= status < 400:
        return Finding('done', 'created', answer=reply)
    if status in LOST or not 200 <= status < 600:
        return _lost(f'the service answered {status}', is_elsewhere=True, after=after)
    if status in NOT_TAKEN:
        return _not_sent(stand, f'the service answered {status}', 'not_sent')._replace(
            after=after, is_elsewhere=True)
    if status in (409, 425) and stand.honours_key:
        return Finding('open', 'running', is_elsewhere=True, advice='wait', after=after, next='send',
                       reason=f'the service answered {status}')
    if not stand.is_sure and status in NOT_OF_IT:
        return Finding('unknown', 'unknown', is_elsewhere=True, advice='human',
                       reason=f'sent again, the service answered {status}, which says nothing of the first sending')
    return Finding('failed', 'failed', answer=reply, advice='fix')


def _not_sent(stand: Stand, why: str, what: str) -> Finding:
    if stand.is_sure:
        return Finding('new', 'not_sent', what, advice='same_key', reason=why, next='send')
    return Finding('unknown', 'unknown', what, advice='query', reason=why, next='ask')


def _lost(why: Optional[str], is_gate: bool = False, is_elsewhere: bool = False,
          after: Optional[float] = 0) -> Finding:
    return Finding('unknown', 'unknown', 'lost', is_gate=is_gate, is_elsewhere=is_elsewhere,
                   advice='human' if is_elsewhere else 'query', after=after, reason=why, next='ask')


def of_look(reply: Reply, known: Finding) -> Tuple[str, Finding, Dict[str, Any]]:
    """What the status resource says: ('operation', what is known, its JSON), where that has ended with
    a wish for its answer in `next` ("fetch"); ('none', …): a gate that knows of none; ('no_gate', …)."""
    asked = known._replace(what='asked', source='status', is_forgotten=False, answer=None)
    if reply.kind != ANSWERED:
        return 'unclear', asked._replace(next='ask', after=None, reason=reply.why), {}
    problem, found = problem_of(reply), json_of(reply)
    if problem:
        slug = problem['type'][len(PROBLEM):]
        if slug == 'not-found':
            return 'none', asked._replace(is_gate=True), {}
        advice, after = advice_of(problem)
        again = 'ask' if advice in ('wait', 'same_key', 'query') else ''
        return 'unclear', asked._replace(is_gate=True, next=again, after=after, reason=reason_of(problem),
                                         advice=advice or known.advice), {}
    if reply.status == 200 and isinstance(found.get('operations'), list):
        if not found['operations']:
            return 'none', asked._replace(is_gate=True), {}
        found = found['operations'][0]
    if not isinstance(found, dict) or not _is_operation(found):
        return 'no_gate', asked, {}
    return 'operation', _of_operation(found, asked), found


def _is_operation(found: Dict[str, Any]) -> bool:
    return isinstance(found.get('id'), str) and found['id'].startswith('op_') and \
        isinstance(found.get('state'), str)


def _of_operation(found: Dict[str, Any], asked: Finding) -> Finding:
    state = found['state']
    advice, after = advice_of(found)
    known = asked._replace(operation=found['id'], is_gate=True, advice=advice or 'query', after=after,
                           reason=found.get('reason') if isinstance(found.get('reason'), str) else None)
    if state in ('completed', 'failed', 'cancelled'):
        return known._replace(next='fetch')
    if state in OPEN:
        return known._replace(state='open', outcome=state, next='send' if advice == 'same_key' else 'ask')
    again = {'same_key': 'send', 'wait': 'send', 'query': 'ask'}.get(advice or '', '')
    return known._replace(state='unknown', outcome='unknown', next=again)


def of_kept(reply: Reply, known: Finding, found: Dict[str, Any]) -> Finding:
    """The kept answer of an operation that has ended, or what is known without one."""
    if reply.kind != ANSWERED or reply.status in LOST + NOT_TAKEN and not reply.get('idempotent-replayed'):
        return known._replace(next='ask', after=None, reason=reply.why or known.reason)
    is_good = found['state'] == 'completed'
    ended = known._replace(state='done' if is_good else 'failed', next='', after=0,
                           outcome='replayed' if is_good else 'failed')
    if reply.get('idempotent-replayed'):
        return ended._replace(answer=reply, advice='stop')
    return ended._replace(reason=known.reason or reason_of(problem_of(reply)))


def problem_of(reply: Reply) -> Optional[Dict[str, Any]]:
    """The body of a gate's own problem answer."""
    found = json_of(reply)
    return found if isinstance(found.get('type'), str) and found['type'].startswith(PROBLEM) else None


def json_of(reply: Reply) -> Dict[str, Any]:
    kind = (reply.get('content-type') or '').split(';')[0].strip().lower()
    if not re.fullmatch(r'application/(.+\+)?json', kind):
        return {}
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def advice_of(found: Optional[Dict[str, Any]]) -> Tuple[Optional[str], Optional[float]]:
    retry = (found or {}).get('retry')
    if not isinstance(retry, dict):
        return None, None
    advice, after = retry.get('advice'), retry.get('after')
    is_number = isinstance(after, (int, float)) and not isinstance(after, bool)
    return advice if isinstance(advice, str) else None, \
        min(max(after, 0), AFTER_MAX_S) if is_number else None


def reason_of(problem: Optional[Dict[str, Any]]) -> Optional[str]:
    texts = [text for name in ('title', 'detail') if isinstance(text := (problem or {}).get(name), str)]
    return ': '.join(texts) or None


def retry_after(reply: Reply) -> Optional[float]:
    text = (reply.get('retry-after') or '').strip()
    return min(int(text), AFTER_MAX_S) if re.fullmatch(r'[0-9]{1,9}', text) else None
