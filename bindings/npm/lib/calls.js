/*
 * One action, one effect: send it, or find out what became of it.
 *
 * The picture: a claimed entry goes from exchange to exchange. After each there is a finding
 * (answers.js), which is written to the journal before anything else happens, and says what may be
 * done next: send (again), ask the gate's status resource, or stop. That goes on for `wait` seconds;
 * what is not known by then is told as it stands, and the next run goes on from there.
 *
 * Always true: isSure is false from the first answer that was lost until a gate has told of the
 * operation itself; while it is, no answer to a second sending proves that nothing happened.
 */
import {closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync} from 'node:fs';
import {dirname, resolve as absolute} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';

import {finding, isOfStep, ofKept, ofLook, ofSending} from './answers.js';
import {Refused, originOf} from './identity.js';
import {credentialMark, payloadOf} from './payload.js';
import {headerLines, told} from './result.js';
import {exchange} from './wire.js';

const LOOK_FIRST_MS = 200, LOOK_MAX_MS = 2000;      // while somebody else is at it
const PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 30_000;
const ASK_WAIT_MAX_S = 30;
const BODY_BYTES_MAX = 1024 * 1024;                 // in the journal itself
const STATUS = '/.counterfoil/operations';

const NO_PROMISE = 'nobody knows whether it happened, and the service is not known to make one effect of one ' +
	'Idempotency-Key: find out, or say that it does (honoursKey)';
const OTHER_ACTION = 'the gate has this token for another action: give this one a token of its own';
const OTHER_ACCOUNT = 'it was sent with another credential, and under this one the gate would take it for another ' +
	"caller's: use that one, or say that both are one account (sameAccount)";

/**
 * It may have been sent, and what came of it could not be written to the journal. Run it again: it is
 * asked about first.
 */
export class Unrecorded extends Error {}

/** Do it once, however often this is called. `request`: see index.js. */
export async function send(store, request, isNew) {
	const {entry, retryOf} = store.entryOf(request.step, isNew);
	const call = new Call(store, request, entry, {retryOf, maySend: true});
	const {verdict, differs} = await call.claim(
		payloadOf(valueOf(request.headers, 'content-type') ?? '', request.body ?? Buffer.alloc(0), entry.token));
	if (verdict === 'changed')
		return told(call.entry, finding('', 'conflict', {advice: 'fix', source: 'journal', reason:
			'another payload was sent under this token: send that one, or begin a new action'}), differs);
	if (verdict === 'ended' && request.output && call.entry.body) {
		writeFile(absolute(request.output), call.entry.body);
		call.entry.body_file = absolute(request.output);
	}
	return verdict === 'ours' ? call.run() : ofJournal(call.entry, verdict);
}

/** Find out what became of it; the write itself is never sent. */
export async function resolve(store, request) {
	const call = new Call(store, request, store.entryOf(request.step).entry, {retryOf: null, maySend: false});
	const {verdict} = await call.claim(null);
	return verdict === 'ours' ? call.run() : ofJournal(call.entry, verdict);
}

/* What the journal alone tells. */
function ofJournal(entry, verdict) {
	const source = 'journal';
	if (verdict === 'new')
		return told(entry, finding('new', 'not_sent',
			{source, advice: 'same_key', reason: 'nothing was sent under this token yet'}));
	if (verdict === 'busy')
		return told(entry, finding(entry.state, 'running',
			{source, advice: 'wait', after: 1, reason: 'another process is at this step'}));
	if (entry.state === 'done')
		return told(entry, finding('done', 'replayed', {source}));
	return told(entry, finding('failed', entry.outcome ?? 'failed',
		{source, advice: entry.advice ?? 'new_key', reason: entry.reason}));
}

function valueOf(headers, name) {
	return headers.find(([key]) => key.toLowerCase() === name)?.[1];
}

/* One entry, from its claim to the result. */
class Call {
	constructor(store, request, entry, {retryOf, maySend}) {
		Object.assign(this, {store, request, entry, retryOf, maySend, lostBody: null}); // lostBody: a large one
		this.deadline = performance.now() + request.wait * 1000;
		this.mark = credentialMark(entry.token, valueOf(request.headers, 'authorization'));
	}

	/* {verdict, differs}; while somebody else is at it we look again. */
	async claim(payload) {
		for (let pause = LOOK_FIRST_MS;; pause = Math.min(pause * 2, LOOK_MAX_MS)) {
			const {verdict, entry, differs} = this.store.claim(this.entry.id, payload, this.mark);
			this.entry = entry;
			if (verdict !== 'busy' || this.leftMs() <= 0)
				return {verdict, differs};
			await sleep(Math.min(pause, this.leftMs()));
		}
	}

	async run() {
		const {entry} = this, isOpen = entry.state === 'open';
		this.isFirst = this.isSure = entry.state === 'new';
		this.isPastGate = entry.advice === 'human' && !entry.is_gate;
		this.sentMark = this.isFirst ? this.mark : entry.credential;
		this.finding = finding(isOpen ? 'open' : 'unknown', (isOpen && entry.outcome) || 'unknown',
			{operation: entry.operation, isGate: Boolean(entry.is_gate), source: 'status',
				advice: entry.advice ?? 'human', reason: entry.reason});
		this.isLetGo = false;
		try {
			return await this.goOn(this.isFirst ? 'send' : 'ask');
		} catch (error) {
			throw error instanceof Refused ? new Unrecorded(error.message) : error;
		} finally {
			if (!this.isLetGo)
				this.store.leave(this.entry.id);
		}
	}

	async goOn(first) {
		for (let doing = first, pause = PAUSE_FIRST_MS;;) {
			this.learn(doing === 'send' ? await this.send() : await this.ask());
			const {next, isAtOnce, after} = this.finding;
			const rest = isAtOnce ? 0 : Math.max(after * 1000, pause * (0.8 + 0.4 * Math.random()));
			if (!next || this.leftMs() <= rest) {
				this.settle(false);
				return told(this.lostBody ? {...this.entry, body: this.lostBody} : this.entry, this.finding);
			}
			this.settle(true);
			await sleep(rest);
			pause = isAtOnce ? pause : Math.min(pause * 2, PAUSE_MAX_MS);
			doing = next;
		}
	}

	leftMs() {
		return Math.max(this.deadline - performance.now(), 0);
	}

	learn(found) {
		this.isPastGate ||= found.isPastGate;
		this.isSure = found.state === 'new';
		this.finding = {...found, isGate: found.isGate || this.finding.isGate,
			operation: found.operation ?? this.finding.operation};
		if (found.next === 'send' && !this.maySend)
			this.finding.next = '';
	}

	exchange(method, url, headers, body) {
		return exchange(method, url, headers, body, this.request.timeout * 1000, this.request.route);
	}

	async send() {
		const {entry, request} = this;
		if (!this.isFirst)
			this.store.sendAgain(entry.id, this.mark, '');
		this.isFirst = false;
		this.sentMark = this.mark;
		const named = [['Counterfoil-Task', entry.task], ['Counterfoil-Step', entry.step],
			['Counterfoil-Retry-Of', this.retryOf]].filter(([, value]) => /^[ -~]+$/.test(value ?? ''));
		const headers = [...request.headers, ['Idempotency-Key', entry.token], ...named];
		const reply = await this.exchange(request.step.method, request.step.url, headers, request.body);
		return ofSending(reply, {isSure: this.isSure, honoursKey: request.honoursKey});
	}

	/* Ask the gate, if there is one, what became of it. */
	async ask() {
		const known = this.finding, wait = Math.min(Math.floor(this.leftMs() / 1000), ASK_WAIT_MAX_S);
		const doesWait = Boolean(known.operation && known.state === 'open' && wait);
		const target = known.operation ? `/${known.operation}${doesWait ? `?wait=${wait}` : ''}` :
			this.byToken();
		const {verdict, found, operation} = ofLook(await this.get(target), known);
		if (verdict === 'none') {
			this.isPastGate ||= found.isPastGate;
			return this.unknownToGate(found);
		}
		if (verdict === 'no_gate')
			return this.withoutGate(found);
		const {step} = this.request;
		if (verdict === 'operation' && !this.entry.task &&
				!isOfStep(operation, step.method, step.url.slice(originOf(step.url).length)))
			return {...known, what: 'asked', source: 'status', state: 'unknown', outcome: 'unknown', next: '',
				isGate: true, advice: 'human', reason: OTHER_ACTION};
		if (found.next === 'fetch')
			return ofKept(await this.get(`/${found.operation}/response`), found, operation);
		return {...found, isAtOnce: doesWait && found.state === 'open' && found.next === 'ask'};
	}

	byToken() {
		const {url, method} = this.request.step;
		const [path] = url.slice(originOf(url).length).split('?');
		return `?token=${encodeURIComponent(this.entry.token)}&method=${method}&path=${encodeURIComponent(path)}`;
	}

	get(target) {
		const headers = this.request.headers.filter(([name]) => !name.toLowerCase().startsWith('content-'));
		return this.exchange('GET', originOf(this.request.step.url) + STATUS + target, headers, null);
	}

	/* A gate that knows of no operation: then it was not done, if this gate was to do it for us. */
	unknownToGate(found) {
		const stays = {...found, state: 'unknown', outcome: 'unknown', next: '', advice: 'human'};
		if (found.operation)
			return {...stays, reason: `the gate does not know ${found.operation} any more`};
		if (this.isPastGate)
			return this.withoutGate({...stays, isGate: false});
		if (this.sentMark !== this.mark && !this.request.sameAccount)
			return {...stays, reason: OTHER_ACCOUNT};
		return {...found, state: 'new', outcome: 'not_sent', next: 'send', advice: 'same_key',
			reason: 'the gate has never heard of it'};
	}

	withoutGate(found) {
		if (found.isGate)
			return {...found, next: 'ask', reason: 'the gate does not answer as one'};
		const unknown = {...found, state: 'unknown', outcome: 'unknown', next: '', advice: 'human', reason: NO_PROMISE};
		return this.request.honoursKey ? {...unknown, next: 'send', reason: null} : unknown;
	}

	settle(isStillOurs) {
		const found = this.finding;
		const isKept = found.answer && ['done', 'failed'].includes(found.state);
		const columns = {
			state: found.state, outcome: found.outcome, operation: found.operation,
			is_gate: Number(found.isGate || this.entry.is_gate), advice: found.advice, after_s: found.after,
			reason: found.reason,
			...(isKept ? this.kept(found.answer) : {status: null, headers: null, body: null, body_file: null})};
		try {
			this.entry = this.store.settle(this.entry.id, columns,
				{what: found.what, note: columns.reason ?? '', isStillOurs, isForgotten: found.isForgotten});
		} catch (error) {
			if (error instanceof Refused && ['done', 'failed'].includes(found.state)) // the caller is the last to hear of it
				throw new Unrecorded(`the end is known (${found.outcome}, status ${found.answer?.status ?? 'not known'}), ` +
					`and could not be kept: ${error.message}`);
			throw error;
		}
		this.isLetGo = !isStillOurs;
		this.finding = {...found, reason: columns.reason};
	}

	/* The columns of a final answer; a body that goes to a file is there before the journal says so. */
	kept(answer) {
		const isLarge = answer.body.length > BODY_BYTES_MAX;
		let path = this.request.output ?? (isLarge ? `${this.store.path}.answers/${this.entry.id}` : null);
		const kept = {status: answer.status, headers: headerLines(answer), body_file: null, body: isLarge ? null : answer.body};
		if (path === null)
			return kept;
		path = absolute(path);
		try {
			writeFile(path, answer.body);
		} catch (error) {
			if (!(error instanceof Refused))
				throw error;
			this.lostBody = isLarge ? answer.body : null; // the work is done: only the file is missing
			return {...kept, reason: this.finding.reason ?? error.message};
		}
		return {...kept, body_file: path};
	}
}

function writeFile(path, body) {
	const draft = `${path}.${process.pid}.part`;
	try {
		mkdirSync(dirname(path), {recursive: true, mode: 0o700});
		const file = openSync(draft, 'w', 0o600);
		try {
			for (let at = 0; at < body.length;)
				at += writeSync(file, body, at);
			fsyncSync(file);
		} finally {
			closeSync(file);
		}
		renameSync(draft, path);
	} catch (error) {
		try {
			rmSync(draft, {force: true});
		} catch {
			// What could not be made cannot be taken away; the first failure is the one to tell.
		}
		throw new Refused(`the answer cannot be written to ${path}: ${error.message}`);
	}
}
