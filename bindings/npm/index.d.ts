/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | {[name: string]: Json};

/** What is known of an action; the same members in every language. */
export interface Result {
	outcome: 'created' | 'replayed' | 'reused' | 'running' | 'queued' | 'awaiting_approval' | 'conflict' | 'locked' |
		'refused' | 'denied' | 'unknown' | 'not_sent' | 'expired' | 'failed';
	operation: string | null;
	token: string;
	task: string | null;
	step: string | null;
	method: string;
	url: string;
	/** Of the journal's entry. */
	state: 'new' | 'sending' | 'open' | 'unknown' | 'done' | 'failed';
	status: number | null;
	headers: {[name: string]: string};
	/** A JSON value where the answer is JSON, else its text; null where it is neither, or in `file`. */
	body: Json;
	body_base64?: string;
	/** Where the body is, when it is in a file. */
	file: string | null;
	/** A Counterfoil gate has answered. */
	gate: boolean;
	/** Sendings that began. */
	attempts: number;
	source: 'answer' | 'journal' | 'status';
	/** What to do next, and after how many seconds. */
	retry: {advice: 'wait' | 'query' | 'same_key' | 'new_key' | 'fix' | 'human' | 'stop'; after: number};
	reason: string | null;
	/** A conflict that was found here, before anything was sent; `difference` names the members. */
	local?: true;
	difference?: string;
	/** The answer's body as bytes; not enumerable. */
	readonly content: Uint8Array | null;
}

/** Which action is meant: a step of a task, or a token made elsewhere. */
export type Which = {task: string; step: string; key?: undefined} | {key: string; task?: undefined; step?: undefined};

export type Options = Which & {
	headers?: {[name: string]: string};
	/** Seconds that an open or uncertain outcome is followed up: 30. */
	wait?: number;
	/** Seconds of one request: 60. */
	timeout?: number;
	/** The API itself makes one effect of one Idempotency-Key. */
	honoursKey?: boolean;
	/** The credential is another than last time, of the same account. */
	sameAccount?: boolean;
	/** A file for the answer's body. */
	output?: string;
	/** PEM files: whom to trust in place of Node's own list, and as whom to come. */
	caFile?: string;
	clientCert?: string;
	clientKey?: string;
	/** The server's certificate is not checked. */
	insecure?: boolean;
	/** http://[user:password@]host:port; "": none at all. Else the environment's, as with curl. */
	proxy?: string;
	/** Hosts that are reached without it, with commas; "*" for all. Else the environment's. */
	noProxy?: string;
	/** Seconds until a connection stands, with TLS and a proxy's tunnel: 10. */
	connectTimeout?: number;
};

export type SendOptions = Options & {
	/** A deliberate new action of this step. */
	new?: boolean;
	/** Written as the body. */
	json?: unknown;
	/** The body; JSON unless a Content-Type says otherwise. */
	body?: string | Uint8Array;
};

/** What was asked, or the journal's file, cannot be used as it is. Nothing was sent. */
export class Refused extends Error {}

/** It may have been sent, and what came of it could not be written down. Run it again: it is asked about first. */
export class Unrecorded extends Error {}

/** An open journal. Other processes may have it open too. */
export class Journal {
	constructor(path?: string);
	readonly path: string;
	close(): void;
	/** The token of a step, committed to the journal. `isNew`: a deliberate new action begins. */
	token(task: string, step: string, method: string, url: string, isNew?: boolean): string;
	/** Send a write so that it happens once. */
	send(method: string, url: string, options: SendOptions): Promise<Result>;
	/** What became of it: asks, and never sends the write. */
	resolve(method: string, url: string, options: Options): Promise<Result>;
}

/** The same with the journal in its usual place. */
export function token(task: string, step: string, method: string, url: string, isNew?: boolean): string;
export function send(method: string, url: string, options: SendOptions): Promise<Result>;
export function resolve(method: string, url: string, options: Options): Promise<Result>;

export const version: string;
