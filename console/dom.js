/*
 * Building pages out of nodes.
 *
 * Nothing here takes markup: what is not a node becomes a text node. Texts that agents or services
 * wrote go through said(), which makes visible what cannot be seen or changes how its neighbours are
 * read.
 */

const SVG = 'http://www.w3.org/2000/svg';

function add(parent, children) {
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false)
			continue;
		parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
	}
	return parent;
}

function set(element, attributes) {
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name.startsWith('on'))
			element.addEventListener(name.slice(2), value);
		else
			element.setAttribute(name, value === true ? '' : String(value));
	}
	return element;
}

/* h('p', {class: 'note'}, 'text', node, …) */
export function h(name, attributes, ...children) {
	return add(set(document.createElement(name), attributes), children);
}

export function s(name, attributes, ...children) {
	return add(set(document.createElementNS(SVG, name), attributes), children);
}

export function replace(parent, ...children) {
	parent.replaceChildren();
	return add(parent, children);
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

function code(character) {
	return 'U+' + character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
}

/* A text of somebody else's, isolated from what stands around it. */
export function said(text, className) {
	const whole = h('bdi', {class: className});
	const string = String(text ?? '');
	let from = 0;

	for (const found of string.matchAll(UNSEEN)) {
		whole.append(string.slice(from, found.index));
		whole.append(h('span', {class: 'unseen', title: 'a character that cannot be seen'},
			code(found[0])));
		from = found.index + found[0].length;
	}
	whole.append(string.slice(from));
	return whole;
}

/* SHA-256 of nothing: the account of all who show no credential. */
const NOBODY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/* Somebody: where the gate knows a credential's digest and no name, its beginning. */
export function who(text) {
	const string = String(text ?? '');

	if (string === NOBODY)
		return h('span', {title: string}, 'whoever shows no credential');
	return /^[0-9a-f]{64}$/.test(string) ? h('code', {title: string}, string.slice(0, 12) + '…') : said(string);
}

/* -- numbers that JSON has and JavaScript has not ---------------------------------- */

export class Exact {
	constructor(text) {
		this.text = text;
	}
	toString() {
		return this.text;
	}
}

const TOKEN = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;

/*
 * JSON in which no number is rounded: one that a double would change is an Exact. Whoever approves
 * 9007199254740993 must not be shown …992.
 */
export function parse(text) {
	TOKEN.lastIndex = 0;
	const next = () => {
		const found = TOKEN.exec(text);
		if (!found)
			throw new SyntaxError('not JSON');
		return found;
	};
	const value = (token) => {
		const [, sign, string, number, word] = token;
		if (string !== undefined)
			return JSON.parse(string);
		if (number !== undefined)
			return String(Number(number)) === number ? Number(number) : new Exact(number);
		if (word !== undefined)
			return word === 'null' ? null : word === 'true';
		if (sign === '[')
			return list(']', (token, into) => into.push(value(token)), []);
		if (sign === '{')
			return list('}', member, Object.create(null));
		throw new SyntaxError('not JSON');
	};
	const member = (token, into) => {
		if (token[2] === undefined || next()[1] !== ':')
			throw new SyntaxError('not JSON');
		into[JSON.parse(token[2])] = value(next());
	};
	const list = (end, take, into) => {
		let token = next();
		if (token[1] === end)
			return into;
		for (;;) {
			take(token, into);
			const sign = next()[1];
			if (sign === end)
				return into;
			if (sign !== ',')
				throw new SyntaxError('not JSON');
			token = next();
		}
	};
	return value(next());
}

/* A value as lines of JSON, each text of somebody else's made visible. */
export function json(value, indent = 0) {
	const pad = '  '.repeat(indent + 1), end = '  '.repeat(indent);
	const lines = (open, close, rows) => rows.length
		? [open, '\n', rows.map((row, i) => [pad, row, i < rows.length - 1 ? ',\n' : '\n']), end, close]
		: [open, close];

	if (Array.isArray(value))
		return lines('[', ']', value.map((item) => json(item, indent + 1)));
	if (value instanceof Exact || typeof value === 'number')
		return h('span', {class: 'j-number'}, String(value));
	if (typeof value === 'string')
		return said(JSON.stringify(value), 'j-text');
	if (value === null || typeof value === 'boolean')
		return h('span', {class: 'j-word'}, String(value));
	return lines('{', '}', Object.entries(value ?? {}).map(([name, item]) =>
		[said(JSON.stringify(name), 'j-name'), ': ', json(item, indent + 1)]));
}

export function codeBlock(value, label) {
	return h('pre', {class: 'code', tabindex: 0, role: 'region', 'aria-label': label}, json(value));
}

/* -- times, counts ------------------------------------------------------------------ */

const MINUTE = 60, HOUR = 3600, DAY = 86400;

export function span(seconds) {
	const n = Math.max(0, Math.round(seconds));

	if (n < MINUTE)
		return `${n} s`;
	if (n < HOUR)
		return `${Math.floor(n / MINUTE)} min ${String(n % MINUTE).padStart(2, '0')} s`;
	if (n < DAY)
		return `${Math.floor(n / HOUR)} h ${String(Math.floor(n % HOUR / MINUTE)).padStart(2, '0')} min`;
	return `${Math.floor(n / DAY)} d ${Math.floor(n % DAY / HOUR)} h`;
}

export function ago(time) {
	const seconds = (Date.now() - Date.parse(time)) / 1000;

	if (seconds < -1)
		return 'in ' + rough(-seconds);
	return seconds < 10 ? 'just now' : rough(seconds) + ' ago';
}

function rough(seconds) {
	if (seconds < MINUTE)
		return `${Math.round(seconds)} s`;
	if (seconds < HOUR)
		return `${Math.round(seconds / MINUTE)} min`;
	if (seconds < DAY)
		return `${Math.round(seconds / HOUR)} h`;
	return `${Math.round(seconds / DAY)} d`;
}

export function when(time) {
	if (!time)
		return h('span', {class: 'quiet'}, '–');
	return h('time', {datetime: time, title: time}, ago(time));
}

export function clock(time) {
	const date = new Date(time);
	const two = (n) => String(n).padStart(2, '0');

	return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function moment(time) {
	const date = new Date(time);
	const two = (n) => String(n).padStart(2, '0');

	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(time)}`;
}

export function count(n, one, many) {
	return n === 1 ? `1 ${one}` : `${n} ${many ?? one + 's'}`;
}

/* -- small parts -------------------------------------------------------------------- */

const STATES = {
	awaiting_approval: ['Waits for a person', 'ask'],
	queued: ['Queued', 'calm'],
	running: ['Running', 'calm'],
	unknown: ['Unknown', 'warn'],
	completed: ['Completed', 'good'],
	failed: ['Failed', 'bad'],
	cancelled: ['Cancelled', 'still'],
};

export function stateName(state) {
	return STATES[state]?.[0] ?? String(state);
}

export function state(name) {
	return h('span', {class: 'badge ' + (STATES[name]?.[1] ?? 'still')}, stateName(name));
}

export function badge(text, tone) {
	return h('span', {class: 'badge ' + tone}, text);
}

export function operationLink(id, className = 'id') {
	return h('a', {class: className, href: '#/operations/' + encodeURIComponent(id), title: id}, id);
}

/* Rows of [label, value]; those without a value are left out. */
export function facts(rows) {
	return h('dl', {class: 'facts'}, rows
		.filter(([, value]) => value !== null && value !== undefined && value !== '')
		.map(([label, value]) => h('div', null, h('dt', null, label), h('dd', null, value))));
}

export function fingerprint(text) {
	return h('code', {class: 'fingerprint', 'aria-label': 'fingerprint ' + text},
		(String(text ?? '').match(/.{1,8}/g) ?? []).map((part) => h('span', null, part)));
}

export function emptyPlace(title, text) {
	return h('div', {class: 'empty'}, h('p', {class: 'empty-title'}, title), h('p', null, text));
}

let fields = 0;

/* A labelled control; `control` gets the id. */
export function field(label, control, hint) {
	const id = 'field-' + ++fields;

	control.id = id;
	if (hint)
		control.setAttribute('aria-describedby', id + '-hint');
	return h('div', {class: 'field'}, h('label', {for: id}, label), control,
		hint && h('p', {class: 'hint', id: id + '-hint'}, hint));
}
