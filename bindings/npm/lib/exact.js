/*
 * JSON that loses nothing, and its canonical text.
 *
 * Two texts mean the same exactly when their canonical texts are equal: RFC 8785 in structure,
 * escapes and order of members, with numbers as exact decimals instead of doubles. What could be
 * read in two ways (a name twice, half a surrogate pair, a byte-order mark) is refused.
 */
const DEPTH_MAX = 128;
const DIGITS_MAX = 64;
const EXPONENT_MAX = 307;
const VALUES_MAX = 1_000_000;

const NUMBER = /(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?/y;
const PLAIN = /[^"\\\x00-\x1f]*/y;
const ESCAPE = /\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPED = {'"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t'};
const LITERALS = [['null', null], ['true', true], ['false', false]];
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** The text is no JSON, or could be read in two ways. */
export class NotJson extends Error {}

/** (-1)^isNegative × 0.digits × 10^point, digits without zeros at either end. */
export class ExactNumber {
	constructor(isNegative, digits, point) {
		Object.assign(this, {isNegative, digits, point});
	}

	/** As ECMAScript prints numbers, with all digits. */
	toString() {
		const {digits, point} = this;
		const sign = this.isNegative ? '-' : '';
		if (digits === '')
			return '0';
		if (point > 21 || point <= -6) {
			const tail = digits.length > 1 ? '.' + digits.slice(1) : '';
			return `${sign}${digits[0]}${tail}e${point > 0 ? '+' : '-'}${Math.abs(point - 1)}`;
		}
		if (point <= 0)
			return sign + '0.' + '0'.repeat(-point) + digits;
		if (point >= digits.length)
			return sign + digits + '0'.repeat(point - digits.length);
		return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
	}
}

/** A tree of Map, Array, string, ExactNumber, boolean and null. NotJson when it is none. */
export function read(bytes) {
	let text;
	try {
		text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
	} catch {
		throw new NotJson('not UTF-8');
	}
	const reader = new Reader(text);
	const value = reader.value(1);
	if (reader.skip() !== text.length)
		throw new NotJson(`something follows the value at ${reader.at}`);
	return value;
}

/** The one text of a tree. */
export function canonical(value) {
	if (value instanceof Map) {
		const names = [...value.keys()].sort(byCodeUnits);
		return '{' + names.map((name) => `${JSON.stringify(name)}:${canonical(value.get(name))}`).join(',') + '}';
	}
	if (Array.isArray(value))
		return '[' + value.map(canonical).join(',') + ']';
	return value instanceof ExactNumber ? value.toString() : JSON.stringify(value);
}

/** [JSON pointer, canonical text] of each scalar and each empty object or array. */
export function leaves(value, pointer = '') {
	let children = [];
	if (value instanceof Map)
		children = [...value].map(([name, item]) => [name.replaceAll('~', '~0').replaceAll('/', '~1'), item]);
	else if (Array.isArray(value))
		children = value.map((item, index) => [index, item]);
	if (children.length === 0)
		return [[pointer, canonical(value)]];
	return children.flatMap(([name, item]) => leaves(item, `${pointer}/${name}`));
}

function byCodeUnits(a, b) {
	return a < b ? -1 : a > b ? 1 : 0;
}

/* One walk over the text; as deep as DEPTH_MAX. */
class Reader {
	constructor(text) {
		Object.assign(this, {text, at: 0, values: 0});
	}

	match(pattern) {
		pattern.lastIndex = this.at;
		const found = pattern.exec(this.text);
		if (found)
			this.at = pattern.lastIndex;
		return found;
	}

	skip() {
		this.match(SPACE);
		return this.at;
	}

	takes(mark) {
		const isThere = this.text.startsWith(mark, this.skip());
		this.at += isThere ? mark.length : 0;
		return isThere;
	}

	value(depth) {
		if (++this.values > VALUES_MAX)
			throw new NotJson('too many values');
		const first = this.text[this.skip()];
		if (first === '{' || first === '[') {
			if (depth > DEPTH_MAX)
				throw new NotJson('too deep');
			this.at++;
			return first === '{' ? this.object(depth) : this.array(depth);
		}
		if (first === '"')
			return this.string();
		for (const [word, meaning] of LITERALS)
			if (this.takes(word))
				return meaning;
		return this.number();
	}

	/* Is this the end of an array or object? If not, what follows is its next part. */
	closes(bracket, isFirst) {
		if (this.takes(bracket))
			return true;
		if (!isFirst && !this.takes(','))
			throw new NotJson(`no comma at ${this.at}`);
		return false;
	}

	array(depth) {
		const items = [];
		while (!this.closes(']', items.length === 0))
			items.push(this.value(depth + 1));
		return items;
	}

	object(depth) {
		const members = new Map();
		while (!this.closes('}', members.size === 0)) {
			if (this.text[this.skip()] !== '"')
				throw new NotJson(`no name at ${this.at}`);
			const name = this.string();
			if (members.has(name))
				throw new NotJson(`a name twice: ${name}`);
			if (!this.takes(':'))
				throw new NotJson(`no colon at ${this.at}`);
			members.set(name, this.value(depth + 1));
		}
		return members;
	}

	string() {
		let text = '';
		for (this.at++;;) {
			text += this.match(PLAIN)[0];
			if (this.text[this.at] === '"')
				break;
			const escape = this.match(ESCAPE);
			if (!escape)
				throw new NotJson(`a string that does not end at ${this.at}`);
			text += escape[1] ? ESCAPED[escape[1]] : String.fromCharCode(parseInt(escape[2], 16));
		}
		this.at++;
		if (LONE_SURROGATE.test(text))
			throw new NotJson('half a surrogate pair');
		return text;
	}

	number() {
		const found = this.match(NUMBER);
		if (!found)
			throw new NotJson(`no value at ${this.at}`);
		const [, sign, whole, fraction = '', exponent = ''] = found;
		const digits = (whole + fraction).replace(/^0+/, '');
		if (digits === '')
			return new ExactNumber(false, '', 0);
		const point = whole.length - (whole.length + fraction.length - digits.length) + Number(exponent);
		const significant = digits.replace(/0+$/, '');
		if (significant.length > DIGITS_MAX || !(Math.abs(point - 1) <= EXPONENT_MAX))
			throw new NotJson('a number beyond the limits');
		return new ExactNumber(sign === '-', significant, point);
	}
}
