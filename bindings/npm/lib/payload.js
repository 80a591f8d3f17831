/*
 * What is sent under a token, as far as it may never change: media type and body.
 *
 * JSON that can be read in one way only is compared by its canonical text, everything else byte by
 * byte. A difference is named by the members that differ, never by their values: what is kept for
 * that is a short digest of each leaf, salted with the token.
 */
import {createHash} from 'node:crypto';

import {NotJson, canonical, leaves, read} from './exact.js';
import {partsDigest} from './identity.js';

const LEAVES_MAX = 500;
const MEMBERS_BYTES_MAX = 256 * 1024;
const NAMED_MAX = 10;
const NAMED_BYTES_MAX = 80;

/** {digest, members}: members is JSON {pointer: 16 hex}, or null where they cannot be named. */
export function payloadOf(contentType, body, token) {
	const essence = contentType.split(';')[0].replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase();
	let text = body, members = null;
	if (isJson(essence)) {
		try {
			const tree = read(body);
			text = Buffer.from(canonical(tree));
			members = membersOf(tree, token);
		} catch (error) {
			if (!(error instanceof NotJson))
				throw error;
		}
	}
	return {digest: partsDigest('counterfoil/payload/1', essence, text).toString('hex'), members};
}

export function isJson(essence) {
	return /^(application\/json|[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\+json)$/.test(essence);
}

/** What differs between the members of two payloads of one token. */
export function difference(before, after) {
	if (!before || !after)
		return 'the body differs';
	// Pointers begin with "/" or are empty, so that no name is a special one and they keep their order.
	const [old, now] = [before, after].map((text) => new Map(Object.entries(JSON.parse(text))));
	const groups = [
		['changed', [...now.keys()].filter((name) => old.has(name) && old.get(name) !== now.get(name))],
		['added', [...now.keys()].filter((name) => !old.has(name))],
		['missing', [...old.keys()].filter((name) => !now.has(name))],
	];
	const texts = [];
	let left = NAMED_MAX, unnamed = 0;
	for (const [what, names] of groups) {
		const named = names.slice(0, left);
		if (named.length)
			texts.push(`${what}: ${named.map(shown).join(', ')}`);
		left -= named.length;
		unnamed += names.length - named.length;
	}
	if (unnamed)
		texts.push(`and ${unnamed} more`);
	return texts.join('; ') || 'the media type differs';
}

/** Enough to notice that a credential is another one, too little to guess it from. */
export function credentialMark(token, authorization) {
	if (authorization === undefined)
		return null;
	return partsDigest('counterfoil/credential/1', token, Buffer.from(authorization, 'latin1')).toString('hex', 0, 2);
}

function membersOf(tree, token) {
	const all = leaves(tree);
	if (all.length > LEAVES_MAX)
		return null;
	const members = all.map(([pointer, text]) => {
		const digest = createHash('sha256').update(`${token}\0${pointer}\0${text}`).digest('hex');
		return `${JSON.stringify(pointer)}:"${digest.slice(0, 16)}"`;
	});
	const text = `{${members.join(',')}}`;
	return Buffer.byteLength(text) <= MEMBERS_BYTES_MAX ? text : null;
}

function shown(pointer) {
	const cut = Buffer.from(pointer).subarray(0, NAMED_BYTES_MAX);
	return new TextDecoder().decode(cut).replace(/\ufffd+$/, '') || 'the whole';
}
