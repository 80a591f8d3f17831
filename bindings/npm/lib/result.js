/*
 * The result object: one text of what is known of an action, the same in every language.
 */
import {existsSync, readFileSync} from 'node:fs';

import {NotJson, read} from './exact.js';

/* Of the connection and its framing, not of the answer. */
const NOT_KEPT = ['connection', 'keep-alive', 'transfer-encoding', 'trailer', 'upgrade', 'content-length', 'te',
	'proxy-connection'];

/** `differs`: a conflict that was found here, before anything was sent. */
export function told(entry, known, differs) {
	let lines = entry.headers ?? '', {status, body: content} = entry;
	if (known.answer && known.isForgotten) // a refusal, of which nothing is kept
		[lines, status, content] = [headerLines(known.answer), known.answer.status, known.answer.body];
	const isLocal = differs !== undefined;
	if (isLocal)
		[lines, status, content] = ['', null, null];
	const headers = headersOf(lines);
	const file = isLocal ? null : entry.body_file;
	const result = {
		outcome: known.outcome, operation: entry.operation, token: entry.token, task: entry.task, step: entry.step,
		method: entry.method, url: entry.url, state: entry.state, status, headers,
		...bodyOf(file ? null : content), file, gate: Boolean(entry.is_gate), attempts: entry.attempts,
		source: known.source, retry: {advice: known.advice, after: known.after}, reason: known.reason,
		...(isLocal ? {local: true, difference: differs} : {})};
	const bytes = content === null && file && existsSync(file) ? readFileSync(file) : content;
	return Object.defineProperty(result, 'content', {value: bytes});
}

export function headerLines(answer) {
	return answer.headers.filter(([name]) => !NOT_KEPT.includes(name.toLowerCase()))
		.map(([name, value]) => `${name}: ${value}\n`).join('');
}

function headersOf(lines) {
	const headers = Object.create(null); // a name may be any
	for (const line of lines.split('\n').slice(0, -1)) {
		const at = line.indexOf(': ');
		const [name, value] = [line.slice(0, at), line.slice(at + 2)];
		const known = Object.keys(headers).find((each) => each.toLowerCase() === name.toLowerCase());
		headers[known ?? name] = known ? `${headers[known]}, ${value}` : value;
	}
	return {...headers};
}

/* A value of its own where it is JSON of one reading, else text, else base64. */
function bodyOf(content) {
	if (content === null)
		return {body: null};
	try {
		read(content);
		return {body: JSON.parse(content.toString())};
	} catch (error) {
		if (!(error instanceof NotJson))
			throw error;
	}
	try {
		return {body: new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(content)};
	} catch {
		return {body: null, body_base64: content.toString('base64')};
	}
}
