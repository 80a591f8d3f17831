"""What an answer means. Decisions alone: nothing here touches the network, the disk or a clock.

The picture: after each exchange there is a Finding, which says what is known of the action now and
what may be done next. Certainty is earned: an action that may have happened stays unknown until
something certain is learnt, and is sent again only where that cannot make a second effect.
"""
from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .wire import ANSWERED, NOT_LEFT, Reply

PROBLEM = 'urn:counterfoil:problem:'
OPEN = ('running', 'queued', 'awaiting_approval')
ELSEWHERE = (307, 308)                        # the same request, to another place: not taken here
LOST = (408, 500, 502, 504)                   # the service may have acted; so at 5xx of no standard
NOT_DONE = (501, 505, 506, 507, 508, 510, 511)  # the others of 5xx: it was not carried out
NOT_TAKEN = (429, 503)                        # it has not begun
# Of a second sending: they say nothing of the first.
OF_THE_MOMENT = (*ELSEWHERE, 401, 403, 404, 407, 409, 410, 412, 421, 423, 424, 425, 426, 428, 451, 506, 507, 508,
                 510, 511)
AWAY = 'the service wants it sent elsewhere (Location): here nothing was done'
NOT_PROTECTED = ('upstream-failed', 'upstream-timeout')
AFTER_MAX_S = 86400


class Finding(NamedTuple):
    state: str                          # of the entry
    outcome: str
    what: str = 'answered'              # the event
    answer: Optional[Reply] = None      # what the service, or a gate's refusal, said
    operation: Optional[str] = None
    is_gate: bool = False
    is_forgotten: bool = False          # nothing was recorded anywhere: the payload may be another
    is_past_gate: bool = False          # a gate that knows nothing of it proves nothing
    advice: str = 'stop'
    after: int = 0                      # seconds; we may see fit to wait longer
    is_at_once: bool = False            # what comes next needs no pause
    reason: Optional[str] = None
    next: str = ''                      # 'send' | 'ask' | 'fetch'; '': there is nothing more to do
    source: str = 'answer'


class Stand(NamedTuple):
    """What was known before a sending."""
    is_sure: bool                       # nothing sent before can have had an effect
    honours_key: bool


def of_sending(reply: Reply, stand: Stand) -> Finding:
    """What the answer to the write means."""
    if reply.kind == NOT_LEFT:
        return _not_sent(stand, 'not_sent', reply.why)
    if reply.kind != ANSWERED:
        return Finding('unknown', 'unknown', 'lost', advice='human', is_at_once=True, reason=reply.why,
                       next='ask')
    problem = problem_of(reply)
    if reply.get('operation-id') and reply.get('operation-outcome'):
        return _of_operation_headers(reply, problem)
    if problem:
        return _of_gate_without_record(reply, problem, stand)
    return _of_service(reply, stand)


def _of_operation_headers(reply: Reply, problem: Dict[str, Any]) -> Finding:
    """A gate that tells of the operation knows of all that was sent under its token."""
    outcome = reply.get('operation-outcome') or ''
    advice, after = advice_of(problem or json_of(reply), retry_after(reply))
    known = Finding('unknown', outcome, operation=reply.get('operation-id'), is_gate=True, answer=reply,
                    after=after, reason=reason_of(problem))
    if outcome in ('created', 'replayed', 'reused'):
        state = reply.get('operation-state')
        if state == 'completed' if state else reply.status < 400 and reply.status not in ELSEWHERE:
            return known._replace(state='done', advice=advice or 'stop')
        if not state or state in ('failed', 'cancelled'):
            return known._replace(state='failed', outcome='failed', advice=advice or 'new_key')
        return known._replace(outcome='unknown', next='ask', advice=advice or 'query')  # it has not ended
    if outcome in OPEN:
        return known._replace(state='open', next='ask', advice=advice or 'wait')
    if reply.status < 400:                    # a success that denies itself
        return known._replace(outcome='unknown', next='ask', advice='human')
    if outcome in ('locked', 'not_sent'):
        return known._replace(state='new', next='send', advice=advice or 'same_key')
    if outcome in ('refused', 'conflict'):
        return known._replace(state='new', is_forgotten=True, advice=advice or 'fix')
    if outcome == 'denied':
        return known._replace(state='failed', advice=advice or 'new_key')
    if outcome == 'expired':
        return known._replace(advice=advice or 'human')
    return known._replace(outcome='unknown', next='ask', advice=advice or 'human')


def _of_gate_without_record(reply: Reply, problem: Dict[str, Any], stand: Stand) -> Finding:
    """A gate's own word about a request of which it kept nothing."""
    advice, after = advice_of(problem, retry_after(reply))
    reason, slug = reason_of(problem), problem['type'][len(PROBLEM):]
    known = Finding('unknown', 'unknown', is_gate=True, reason=reason, advice=advice or 'human',
                    after=after, next='ask')
    if slug in NOT_PROTECTED:
        return known._replace(is_gate=False, is_past_gate=True)
    if not stand.is_sure:
        return known
    if advice in ('same_key', 'wait'):
        return known._replace(state='new', outcome='not_sent', next='send')
    if advice in ('fix', 'stop', 'new_key'):
        return known._replace(state='new', outcome='refused', is_forgotten=True, next='', answer=reply)
    return known


def _of_service(reply: Reply, stand: Stand) -> Finding:
    """An answer of a service that no gate stands before."""
    status, after = reply.status, retry_after(reply)
    lost = Finding('unknown', 'unknown', advice='human', after=after, next='ask', is_past_gate=True)
    if status in (409, 425) and stand.honours_key:
        return lost._replace(state='open', outcome='running', next='send', advice='wait')
    if status in NOT_TAKEN:
        return _not_sent(stand, 'answered', None)._replace(after=after, is_past_gate=True)
    if status in LOST or status < 200 or (status >= 500 and status not in NOT_DONE):
        return lost
    if status < 400 and status not in ELSEWHERE:
        return Finding('done', 'created', answer=reply)
    if not stand.is_sure and status in OF_THE_MOMENT:
        return lost
    return Finding('failed', 'failed', answer=reply, advice='new_key',
                   reason=AWAY if status in ELSEWHERE else None)


def _not_sent(stand: Stand, what: str, why: Optional[str]) -> Finding:
    if stand.is_sure:
        return Finding('new', 'not_sent', what, advice='same_key', reason=why, next='send')
    return Finding('unknown', 'unknown', what, advice='human', reason=why, next='ask')


def of_look(reply: Reply, known: Finding) -> Tuple[str, Finding, Dict[str, Any]]:
    """What the status resource says: ('operation', what is known now, its JSON); ('none', …): a gate that
    knows of none; ('no_gate', …); ('unclear', …): neither. `next` is "fetch" where an answer is kept."""
    asked = known._replace(what='asked', source='status', is_forgotten=False, answer=None, after=0,
                           is_at_once=False)
    if reply.kind != ANSWERED:
        return 'unclear', asked._replace(next='ask', reason=reply.why), {}
    problem, found = problem_of(reply), json_of(reply)
    if problem.get('type') == PROBLEM + 'not-found':
        return 'none', asked._replace(is_gate=True), {}
    if problem:
        advice, after = advice_of(problem)
        return 'unclear', asked._replace(
            is_gate=True, reason=reason_of(problem), advice=advice or known.advice, after=after,
            next='ask' if reply.status >= 429 else ''), {}
    if reply.status == 200 and isinstance(found.get('operations'), list):
        if not found['operations']:  # of what it does not protect it has no record either
            return 'none', asked._replace(is_gate=True, is_past_gate=found.get('protected') is False), {}
        found = found['operations'][0]
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ('id', 'state')):
        return 'no_gate', asked, {}
    return 'operation', _of_operation(found, asked), found


def _of_operation(found: Dict[str, Any], asked: Finding) -> Finding:
    state = found['state']
    advice, after = advice_of(found)
    reason = found.get('reason')
    known = asked._replace(operation=found['id'], is_gate=True, after=after, advice=advice or 'query',
                           reason=reason if isinstance(reason, str) else None)
    if state in ('completed', 'failed', 'cancelled'):
        return known._replace(next='fetch')
    if state in OPEN:
        return known._replace(state='open', outcome=state, next='send' if advice == 'same_key' else 'ask')
    again = {'same_key': 'send', 'wait': 'send', 'query': 'ask'}.get(advice or '', '')
    return known._replace(state='unknown', outcome='unknown', next=again)


def is_of_step(found: Dict[str, Any], method: str, target: str) -> bool:
    """Is it this step's? A token by hand may stand for another action there. What is between may put
    something before the path or take it away, so one has to end as the other does."""
    path, own = found.get('path'), target.split('?')[0]
    if not isinstance(path, str) or not path or not isinstance(found.get('method'), str) or '%' in own:
        return True
    path = path.split('?')[0]
    return found['method'] == method and (own.endswith(path) or path.endswith(own))


def of_kept(reply: Reply, known: Finding, found: Dict[str, Any]) -> Finding:
    """The kept answer of an operation that has ended, or what is known without one."""
    is_kept = reply.get('idempotent-replayed') is not None
    if not is_kept and not (problem_of(reply) and reply.status < 429):
        return known._replace(next='ask', reason=reply.why or known.reason)
    is_good = found['state'] == 'completed'
    return known._replace(state='done' if is_good else 'failed', next='', after=0,
                          outcome='replayed' if is_good else 'failed', answer=reply if is_kept else None)


def problem_of(reply: Reply) -> Dict[str, Any]:
    """The body of a gate's own problem answer; empty where it is none."""
    found = json_of(reply)
    return found if reply.status >= 400 and str(found.get('type')).startswith(PROBLEM) else {}


def json_of(reply: Reply) -> Dict[str, Any]:
    kind = (reply.get('content-type') or '').split(';')[0].strip().lower()
    if kind not in ('application/json', 'application/problem+json'):
        return {}
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def advice_of(found: Dict[str, Any], otherwise: int = 0) -> Tuple[Optional[str], int]:
    """What to do, and after how many seconds; `otherwise` where no time is given."""
    retry = found.get('retry')
    if not isinstance(retry, dict):
        return None, otherwise
    advice, after = retry.get('advice'), retry.get('after')
    is_number = isinstance(after, int) and not isinstance(after, bool)
    return advice if isinstance(advice, str) else None, \
        min(max(after, 0), AFTER_MAX_S) if is_number else otherwise


def reason_of(problem: Dict[str, Any]) -> Optional[str]:
    return next((problem[name] for name in ('detail', 'title') if isinstance(problem.get(name), str)), None)


def retry_after(reply: Reply) -> int:
    """Seconds, or a date, which is taken against the answer's own: no clock comes into it."""
    text = (reply.get('retry-after') or '').strip()
    if re.fullmatch('[0-9]+', text):
        return AFTER_MAX_S if len(text) > 9 else min(int(text), AFTER_MAX_S)
    try:
        away = parsedate_to_datetime(text) - parsedate_to_datetime(reply.get('date') or '')
    except (TypeError, ValueError, IndexError):
        return 0
    return min(max(int(away.total_seconds()), 0), AFTER_MAX_S)
