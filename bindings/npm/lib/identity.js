/*
 * Which action is meant: a step of a workflow in its one spelling, and the token that stands for it.
 *
 * The first token of a step is derived from (task, step, method, URL) alone, so that a job that lost
 * its disk, or runs elsewhere, finds the same one. A deliberate new action has one that is drawn.
 */
import {createHash, randomBytes} from 'node:crypto';

const NAME_BYTES_MAX = 255;
const URL_BYTES_MAX = 8192;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const URL_PARTS = /^(https?):\/\/(\[[^\]/?]+\]|[^:/?[\]]*)(?::([^/?]*))?([/?].*|)$/is;
const OWN_PORTS = {http: '80', https: '443'};

/**
 * What was asked, or the journal's file, cannot be used as it is; the text says how to mend it.
 * Nothing was sent.
 */
export class Refused extends Error {}

/** A step {task, step, method, url, token} in its one spelling; task and step null with a `key`. */
export function readStep({task, step, method, url, key}) {
	if (task || step) {
		if (key)
			throw new Refused('a step has a token of its own: give a task and a step, or a token');
		checkName('task', task);
		checkName('step', step);
	} else if (!key) {
		throw new Refused('nothing says which action this is: give a task and a step, or a token');
	}
	if (!/^[A-Za-z]{1,32}$/.test(method))
		throw new Refused('the method is not made of letters: POST, PUT, PATCH and DELETE are some');
	return {task: task || null, step: step || null, method: method.toUpperCase(), url: spellUrl(url),
		token: key ? readToken(key) : null};
}

/** Scheme and host in lower case, no default port, "/" for no path, no fragment; the rest as it is. */
export function spellUrl(url) {
	if (url.length > URL_BYTES_MAX)
		throw new Refused(`the URL is longer than ${URL_BYTES_MAX} bytes`);
	if (/[^\x21-\x7e]/.test(url))
		throw new Refused('the URL has blanks, control characters or bytes beyond ASCII: percent-encode them');
	const plain = url.split('#')[0];
	if (/^[^/]*:\/\/[^/?]*@/.test(plain))
		throw new Refused('the URL has a user in it: credentials go into a header');
	const found = URL_PARTS.exec(plain);
	if (!found)
		throw new Refused('the URL is none: http://HOST/PATH and https://HOST/PATH are');
	const [scheme, host] = [found[1].toLowerCase(), found[2].toLowerCase()];
	const port = found[3] === OWN_PORTS[scheme] ? '' : found[3] || '';
	if (!host)
		throw new Refused('the URL names no host');
	if (port && !(/^[0-9]{1,19}$/.test(port) && Number(port) <= 65535))
		throw new Refused("the URL's port is no number up to 65535");
	return `${scheme}://${host}${port && ':' + port}${found[4].startsWith('/') ? '' : '/'}${found[4]}`;
}

/** scheme://host[:port] of a spelled URL. */
export function originOf(url) {
	return url.split('/', 3).join('/');
}

/** A token given by hand: 1 to 255 visible ASCII characters, bare or as a quoted string. */
export function readToken(text) {
	let token = text;
	if (text.startsWith('"')) {
		if (!/^"(?:[^"\\]|\\["\\])*"$/.test(text))
			throw new Refused('the token is no whole quoted string');
		token = text.slice(1, -1).replace(/\\(.)/g, '$1');
	} else if (/[",]/.test(text)) {
		throw new Refused('the token has a quote or a comma in it: write it as a quoted string');
	}
	if (!/^[\x21-\x7e]{1,255}$/.test(token))
		throw new Refused('a token is 1 to 255 visible ASCII characters, a UUID for example');
	return token;
}

export function deriveToken({task, step, method, url}) {
	return asToken(partsDigest('counterfoil/call/1', task, step, method, url).subarray(0, 20));
}

export function drawToken() {
	return asToken(randomBytes(20));
}

/** SHA-256 of a tag, NUL, and each part behind its length in 32 bits. */
export function partsDigest(tag, ...parts) {
	const digest = createHash('sha256').update(tag + '\0');
	for (const part of parts.map((text) => Buffer.from(text))) {
		const length = Buffer.alloc(4);
		length.writeUInt32BE(part.length);
		digest.update(length).update(part);
	}
	return digest.digest();
}

function asToken(bytes) {
	let bits = '';
	for (const byte of bytes)
		bits += byte.toString(2).padStart(8, '0');
	return 'cf-' + bits.match(/.{5}/g).map((five) => BASE32[parseInt(five, 2)]).join('');
}

function checkName(what, name) {
	if (!name)
		throw new Refused(`the ${what} is missing`);
	const isText = Buffer.from(name).toString() === name; // half a surrogate pair is not
	if (!isText || Buffer.byteLength(name) > NAME_BYTES_MAX || /[\x00-\x1f\x7f]/.test(name))
		throw new Refused(`the ${what}'s name is not plain text of 1 to ${NAME_BYTES_MAX} bytes`);
}
