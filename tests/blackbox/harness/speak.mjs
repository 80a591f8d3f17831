/* The JavaScript binding as a program: one JSON object in, one out. Run by speakers.py. */
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';

import {Journal, Refused, Unrecorded} from '../../../bindings/npm/index.js';
import {deriveToken, readStep, readToken, spellUrl} from '../../../bindings/npm/lib/identity.js';
import {proxyFor} from '../../../bindings/npm/lib/proxy.js';
import {credentialMark, difference, payloadOf} from '../../../bindings/npm/lib/payload.js';

const answered = (ask) => (...values) => {
	try {
		return ask(...values);
	} catch (error) {
		if (!(error instanceof Refused))
			throw error;
		return null;
	}
};
const stepOf = ([task, step, method, url]) => readStep({task, step, method, url});
const PURE = {
	proxy: proxyFor,
	url: answered(spellUrl),
	step: answered((...words) => {
		const {task, step, method, url} = stepOf(words);
		return [task, step, method, url];
	}),
	key: answered(readToken),
	token: answered((...words) => deriveToken(stepOf(words))),
	payload: (kind, hexBody, token) => {
		const {digest, members} = payloadOf(kind, Buffer.from(hexBody, 'hex'), token);
		return [digest, members];
	},
	mark: (token, authorization) => credentialMark(token, authorization ?? undefined),
	difference,
};

async function speak(verb, {journal: path, questions, method, url, ...wish}) {
	if (verb === 'pure')
		return questions.map(([name, ...values]) => PURE[name](...values));
	if (verb === 'twice')
		return twice({journal: path, method, url, ...wish});
	const journal = new Journal(path);
	try {
		if (verb === 'token')
			return journal.token(wish.task, wish.step, method, url, wish.new);
		const named = Object.entries(wish).map(([name, value]) =>
			[name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]);
		return await journal[verb](method, url, Object.fromEntries(named));
	} finally {
		journal.close();
	}
}

/* Send it, run the command `between`, and send it again in the same process, by a journal of its own. */
async function twice({between: [command, ...words], ...wish}) {
	const first = await told(() => speak('send', wish));
	execFileSync(command, words);
	return [first, await told(() => speak('send', wish))];
}

async function told(work) {
	try {
		return await work();
	} catch (error) {
		if (!(error instanceof Refused || error instanceof Unrecorded))
			throw error;
		return {[error.constructor.name.toLowerCase()]: error.message};
	}
}

console.log(JSON.stringify(await told(() => speak(process.argv[2], JSON.parse(readFileSync(0))))));
