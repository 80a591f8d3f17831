/*
 * What an answer means. Decisions alone: nothing here touches the network, the disk or a clock.
 *
 * The picture: after each exchange there is a finding, which says what is known of the action now and
 * what may be done next. Certainty is earned: an action that may have happened stays unknown until
 * something certain is learnt, and is sent again only where that cannot make a second effect.
 *
 * A finding:
 *   state         of the entry          outcome   what is told
 *   what          the event             answer    what the service, or a gate's refusal, said; or null
 *   operation     its id, or null       isGate    a gate has answered
 *   isForgotten   nothing was recorded anywhere: the payload may be another
 *   isPastGate    a gate that knows nothing of it proves nothing
 *   advice, reason
 *   after         seconds; we may see fit to wait longer; isAtOnce: no pause is needed
 *   next          'send' | 'ask' | 'fetch'; '': there is nothing more to do
 *   source        'answer' | 'journal' | 'status'
 */
import {ANSWERED, NOT_LEFT} from './wire.js';

const PROBLEM = 'urn:counterfoil:problem:';
const OPEN = ['running', 'queued', 'awaiting_approval'];
const ELSEWHERE = [307, 308];                       // the same request, to another place: not taken here
const LOST = [408, 500, 502, 504];                  // the service may have acted; so at 5xx of no standard
const NOT_DONE = [501, 505, 506, 507, 508, 510, 511]; // the others of 5xx: it was not carried out
const NOT_TAKEN = [429, 503];                       // it has not begun
/* Of a second sending: they say nothing of the first. */
const OF_THE_MOMENT = [...ELSEWHERE, 401, 403, 404, 407, 409, 410, 412, 421, 423, 424, 425, 426, 428, 451, 506, 507,
	508, 510, 511];
const AWAY = 'the service wants it sent elsewhere (Location): here nothing was done';
const NOT_PROTECTED = ['upstream-failed', 'upstream-timeout'];
const AFTER_MAX_S = 86400;

export function finding(state, outcome, more = {}) {
	return {state, outcome, what: 'answered', answer: null, operation: null, isGate: false, isForgotten: false,
		isPastGate: false, advice: 'stop', after: 0, isAtOnce: false, reason: null, next: '', source: 'answer', ...more};
}

/**
 * What the answer to the write means. `stand`: {isSure: nothing sent before can have had an effect,
 * honoursKey}.
 */
export function ofSending(reply, stand) {
	if (reply.kind === NOT_LEFT)
		return notSent(stand, 'not_sent', reply.why);
	if (reply.kind !== ANSWERED)
		return finding('unknown', 'unknown',
			{what: 'lost', advice: 'human', isAtOnce: true, reason: reply.why, next: 'ask'});
	const problem = problemOf(reply);
	if (headerOf(reply, 'operation-id') && headerOf(reply, 'operation-outcome'))
		return ofOperationHeaders(reply, problem);
	return problem ? ofGateWithoutRecord(reply, problem, stand) : ofService(reply, stand);
}

/* A gate that tells of the operation knows of all that was sent under its token. */
function ofOperationHeaders(reply, problem) {
	const outcome = headerOf(reply, 'operation-outcome'), state = headerOf(reply, 'operation-state');
	const {advice, after} = adviceOf(problem ?? jsonOf(reply), retryAfter(reply));
	const known = (now, told, otherwise, more) => finding(now, told, {operation: headerOf(reply, 'operation-id'),
		isGate: true, answer: reply, after, reason: reasonOf(problem), advice: advice ?? otherwise, ...more});
	const unknown = (otherwise) => known('unknown', 'unknown', otherwise, {next: 'ask'});
	const hasEnded = !state || ['completed', 'failed', 'cancelled'].includes(state);
	if (reply.status < 400 && ['locked', 'not_sent', 'refused', 'conflict', 'denied', 'expired'].includes(outcome))
		return {...unknown('human'), advice: 'human'}; // a success that denies itself
	switch (outcome) {
	case 'created':
	case 'replayed':
	case 'reused':
		if (!hasEnded)
			return unknown('query');
		return (state ? state === 'completed' : reply.status < 400 && !ELSEWHERE.includes(reply.status)) ?
			known('done', outcome, 'stop') : known('failed', 'failed', 'new_key');
	case 'running':
	case 'queued':
	case 'awaiting_approval':
		return known('open', outcome, 'wait', {next: 'ask'});
	case 'locked':
	case 'not_sent':
		return known('new', outcome, 'same_key', {next: 'send'});
	case 'refused':
	case 'conflict':
		return known('new', outcome, 'fix', {isForgotten: true});
	case 'denied':
		return known('failed', outcome, 'new_key');
	case 'expired':
		return known('unknown', outcome, 'human');
	default:
		return unknown('human');
	}
}

/* A gate's own word about a request of which it kept nothing. */
function ofGateWithoutRecord(reply, problem, stand) {
	const {advice, after} = adviceOf(problem, retryAfter(reply));
	const known = finding('unknown', 'unknown',
		{isGate: true, reason: reasonOf(problem), advice: advice ?? 'human', after, next: 'ask'});
	if (NOT_PROTECTED.includes(problem.type.slice(PROBLEM.length)))
		return {...known, isGate: false, isPastGate: true};
	if (!stand.isSure)
		return known;
	if (['same_key', 'wait'].includes(advice))
		return {...known, state: 'new', outcome: 'not_sent', next: 'send'};
	if (['fix', 'stop', 'new_key'].includes(advice))
		return {...known, state: 'new', outcome: 'refused', isForgotten: true, next: '', answer: reply};
	return known;
}

/* An answer of a service that no gate stands before. */
function ofService(reply, stand) {
	const {status} = reply, after = retryAfter(reply);
	const lost = finding('unknown', 'unknown', {advice: 'human', after, next: 'ask', isPastGate: true});
	if ([409, 425].includes(status) && stand.honoursKey)
		return {...lost, state: 'open', outcome: 'running', next: 'send', advice: 'wait'};
	if (NOT_TAKEN.includes(status))
		return {...notSent(stand, 'answered', null), after, isPastGate: true};
	if (LOST.includes(status) || status < 200 || (status >= 500 && !NOT_DONE.includes(status)))
		return lost;
	if (status < 400 && !ELSEWHERE.includes(status))
		return finding('done', 'created', {answer: reply});
	if (!stand.isSure && OF_THE_MOMENT.includes(status))
		return lost;
	return finding('failed', 'failed', {answer: reply, advice: 'new_key', reason: ELSEWHERE.includes(status) ? AWAY : null});
}

function notSent(stand, what, reason) {
	if (stand.isSure)
		return finding('new', 'not_sent', {what, advice: 'same_key', reason, next: 'send'});
	return finding('unknown', 'unknown', {what, advice: 'human', reason, next: 'ask'});
}

/**
 * What the status resource says, {verdict, found, operation}: 'operation', with what is known now and
 * its JSON; 'none': a gate that knows of none; 'no_gate'; 'unclear'. `next` is "fetch" where an answer is kept.
 */
export function ofLook(reply, known) {
	const asked = {...known, what: 'asked', source: 'status', isForgotten: false, answer: null, after: 0, isAtOnce: false};
	if (reply.kind !== ANSWERED)
		return {verdict: 'unclear', found: {...asked, next: 'ask', reason: reply.why}};
	const problem = problemOf(reply);
	if (problem?.type === `${PROBLEM}not-found`)
		return {verdict: 'none', found: {...asked, isGate: true}};
	if (problem) {
		const {advice, after} = adviceOf(problem);
		return {verdict: 'unclear', found: {...asked, isGate: true, reason: reasonOf(problem),
			advice: advice ?? known.advice, after, next: reply.status >= 429 ? 'ask' : ''}};
	}
	const told = reply.status === 200 ? jsonOf(reply) : null;
	if (Array.isArray(told?.operations) && told.operations.length === 0)
		// Of what it does not protect it has no record either.
		return {verdict: 'none', found: {...asked, isGate: true, isPastGate: told.protected === false}};
	const operation = Array.isArray(told?.operations) ? told.operations[0] : told;
	if (typeof operation?.id !== 'string' || typeof operation.state !== 'string')
		return {verdict: 'no_gate', found: asked};
	return {verdict: 'operation', found: ofOperation(operation, asked), operation};
}

function ofOperation(operation, asked) {
	const {state} = operation, {advice, after} = adviceOf(operation);
	const known = {...asked, operation: operation.id, isGate: true, after, advice: advice ?? 'query',
		reason: typeof operation.reason === 'string' ? operation.reason : null};
	if (['completed', 'failed', 'cancelled'].includes(state))
		return {...known, next: 'fetch'};
	if (OPEN.includes(state))
		return {...known, state: 'open', outcome: state, next: advice === 'same_key' ? 'send' : 'ask'};
	const next = {same_key: 'send', wait: 'send', query: 'ask'}[advice] ?? '';
	return {...known, state: 'unknown', outcome: 'unknown', next};
}

/**
 * Is it this step's? A token by hand may stand for another action there. What is between may put
 * something before the path or take it away, so one has to end as the other does.
 */
export function isOfStep(operation, method, target) {
	const path = operation.path, [own] = target.split('?');
	if (typeof path !== 'string' || !path || typeof operation.method !== 'string' || own.includes('%'))
		return true;
	const [theirs] = path.split('?');
	return operation.method === method && (own.endsWith(theirs) || theirs.endsWith(own));
}

/** The kept answer of an operation that has ended, or what is known without one. */
export function ofKept(reply, known, operation) {
	const isKept = headerOf(reply, 'idempotent-replayed') !== undefined;
	if (!isKept && !(problemOf(reply) && reply.status < 429))
		return {...known, next: 'ask', reason: reply.why || known.reason};
	const isGood = operation.state === 'completed';
	return {...known, state: isGood ? 'done' : 'failed', next: '', after: 0,
		outcome: isGood ? 'replayed' : 'failed', answer: isKept ? reply : null};
}

export function headerOf(reply, name) {
	return reply.headers.find(([key]) => key.toLowerCase() === name)?.[1];
}

/* The body of a gate's own problem answer, or null. */
function problemOf(reply) {
	const found = jsonOf(reply);
	return reply.status >= 400 && typeof found?.type === 'string' && found.type.startsWith(PROBLEM) ? found : null;
}

function jsonOf(reply) {
	const kind = (headerOf(reply, 'content-type') ?? '').split(';')[0].trim().toLowerCase();
	if (!['application/json', 'application/problem+json'].includes(kind))
		return null;
	try {
		return JSON.parse(reply.body.toString());
	} catch {
		return null;
	}
}

/* What to do, and after how many seconds; `otherwise` where no time is given. */
function adviceOf(found, otherwise = 0) {
	const {advice, after} = found?.retry ?? {};
	return {advice: typeof advice === 'string' ? advice : undefined,
		after: Number.isInteger(after) ? Math.min(Math.max(after, 0), AFTER_MAX_S) : otherwise};
}

function reasonOf(problem) {
	return [problem?.detail, problem?.title].find((text) => typeof text === 'string') ?? null;
}

/* Seconds, or a date, which is taken against the answer's own: no clock comes into it. */
function retryAfter(reply) {
	const text = (headerOf(reply, 'retry-after') ?? '').trim();
	if (/^[0-9]+$/.test(text))
		return Math.min(Number(text), AFTER_MAX_S);
	const away = (Date.parse(text) - Date.parse(headerOf(reply, 'date') ?? '')) / 1000;
	return Number.isFinite(away) ? Math.min(Math.max(Math.trunc(away), 0), AFTER_MAX_S) : 0;
}
