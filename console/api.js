/*
 * Talking to the gate.
 *
 * What it refuses is a Problem, whose words are for the person who looks. A session that is over is
 * told to whoever listens (onSignedOut), once for each.
 */
import {parse} from './dom.js';

export class Problem extends Error {
	constructor(status, document) {
		super(document?.detail || document?.title || `The gate answered ${status}.`);
		this.status = status;
		this.slug = String(document?.type ?? '').split(':').pop();
	}
}

let csrf = null;
let signedOut = () => {};

export function onSignedOut(callback) {
	signedOut = callback;
}

async function read(response) {
	const text = await response.text();

	try {
		return text ? parse(text) : null;
	} catch {
		return null;
	}
}

async function send(method, path, body, isRefresh) {
	const headers = {};

	if (csrf && method !== 'GET')
		headers['X-Counterfoil-CSRF'] = csrf;
	if (body !== undefined)
		headers['Content-Type'] = 'application/json';
	if (isRefresh)
		headers['Counterfoil-Refresh'] = '1';
	try {
		return await fetch(path, {
			method, headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error',
			body: body === undefined ? undefined : JSON.stringify(body),
		});
	} catch {
		throw new Problem(0, {detail: 'The gate cannot be reached. It may have been stopped; nothing was changed from here.'});
	}
}

async function call(method, path, body, isRefresh) {
	const response = await send(method, path, body, isRefresh);
	const document = await read(response);

	if (response.ok)
		return document;
	if (response.status === 401 && csrf) {
		csrf = null;
		signedOut(document?.detail);
	}
	throw new Problem(response.status, document);
}

export const get = (path, isRefresh) => call('GET', path, undefined, isRefresh);
export const post = (path, body) => call('POST', path, body ?? {});

export function query(path, values) {
	const pairs = Object.entries(values).filter(([, value]) => value !== '' && value !== null && value !== undefined);

	return pairs.length ? `${path}?${pairs.map(([n, v]) => `${n}=${encodeURIComponent(v)}`).join('&')}` : path;
}

/* -- the session -------------------------------------------------------------------- */

function keep(session) {
	csrf = session.csrf;
	return session;
}

export async function resume() {
	try {
		return keep(await get('/api/session'));
	} catch (problem) {
		if (problem.status === 401 || problem.status === 404)
			return null;
		throw problem;
	}
}

export async function signIn(credential) {
	return keep(await call('POST', '/api/session', credential));
}

export async function signOut() {
	try {
		await call('DELETE', '/api/session');
	} finally {
		csrf = null;
	}
}
