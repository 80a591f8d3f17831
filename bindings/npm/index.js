/*
 * Counterfoil for programs that act: one intended action, one effect.
 *
 *     import {send} from 'counterfoil';
 *     const done = await send('POST', 'https://api.example.test/v1/payments',
 *             {task: 'invoice-1873', step: 'pay', json: {amount: 4900}});
 *
 * The token of the action is in the journal before the first byte leaves. Whoever runs the same task and
 * step again, in whatever language and after whatever crash, gets the first one's end.
 */
import * as calls from './lib/calls.js';
import {Refused, readStep} from './lib/identity.js';
import {Store} from './lib/journal.js';

export {Refused} from './lib/identity.js';
export {Unrecorded} from './lib/calls.js';
export const version = '0.1.0';

const OURS = ['idempotency-key', 'counterfoil-task', 'counterfoil-step', 'counterfoil-retry-of', 'content-length',
	'transfer-encoding', 'host', 'connection'];
const OPTIONS = ['task', 'step', 'key', 'new', 'headers', 'body', 'json', 'wait', 'timeout', 'honoursKey',
	'sameAccount', 'output', 'connectTimeout', 'caFile', 'clientCert', 'clientKey', 'insecure', 'proxy', 'noProxy'];

/** An open journal. Other processes may have it open too. */
export class Journal {
	#store;

	constructor(path) {
		this.#store = new Store(path);
		this.path = this.#store.path;
	}

	close() {
		this.#store.close();
	}

	/** The token of a step, committed to the journal. `isNew`: a deliberate new action begins. */
	token(task, step, method, url, isNew = false) {
		return this.#store.entryOf(readStep({task, step, method, url}), isNew).entry.token;
	}

	/** Send a write so that it happens once; index.d.ts has the options. */
	async send(method, url, options = {}) {
		return calls.send(this.#store, requestOf(method, url, options), options.new ?? false);
	}

	/** What became of it: asks, and never sends the write. */
	async resolve(method, url, options = {}) {
		return calls.resolve(this.#store, requestOf(method, url, {...options, body: undefined, json: undefined}));
	}
}

/** Journal.token(), send() and resolve() of the journal in its usual place. */
export function token(...step) {
	return withJournal((journal) => journal.token(...step));
}

export function send(method, url, options) {
	return withJournal((journal) => journal.send(method, url, options));
}

export function resolve(method, url, options) {
	return withJournal((journal) => journal.resolve(method, url, options));
}

function withJournal(work) {
	const journal = new Journal();
	const close = () => journal.close();
	let done;
	try {
		done = work(journal);
	} catch (error) {
		close();
		throw error;
	}
	if (done instanceof Promise)
		return done.finally(close);
	close();
	return done;
}

function requestOf(method, url, options) {
	const unknown = Object.keys(options).filter((name) => !OPTIONS.includes(name));
	if (unknown.length)
		throw new TypeError(`no such option: ${unknown.join(', ')}`);
	const {task, step, key, caFile, clientCert, clientKey, insecure = false, proxy, noProxy, connectTimeout = 10} = options;
	if (typeof insecure !== 'boolean')
		throw new TypeError('insecure is true or false');
	if (!(connectTimeout > 0))
		throw new RangeError('connectTimeout is a number of seconds');
	return {
		step: readStep({task, step, method, url, key}),
		...contentOf(options),
		wait: options.wait ?? 30,
		timeout: options.timeout ?? 60,
		honoursKey: options.honoursKey ?? false,
		sameAccount: options.sameAccount ?? false,
		output: options.output ?? null,
		route: {caFile, clientCert, clientKey, isInsecure: insecure, proxy, noProxy, connectMs: connectTimeout * 1000},
	};
}

/* Header pairs and bytes, checked. */
function contentOf({headers = {}, body, json}) {
	const lines = Object.entries(headers);
	for (const [name, value] of lines) {
		if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
			throw new Refused(`the header '${name}' is not one line of text`);
		if (OURS.includes(name.toLowerCase()))
			throw new Refused(`the header ${name} is set by this library`);
	}
	const has = (name) => lines.some(([key]) => key.toLowerCase() === name);
	if (json !== undefined)
		body = JSON.stringify(json);
	if (body !== undefined && !has('content-type'))
		lines.push(['Content-Type', 'application/json']);
	if (!has('user-agent'))
		lines.push(['User-Agent', `counterfoil/${version}`]);
	return {headers: lines, body: body === undefined ? null : Buffer.from(body)};
}
