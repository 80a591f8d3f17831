/*
 * SQLite, by whichever way this Node has: `node:sqlite`, or the `sqlite3` command as a child for
 * each transaction.
 *
 * Both take a transaction as a list of statements, [sql, ...values], and give the rows of each, so
 * nothing can be decided in its middle: who uses it looks first, and then changes a row only where
 * it is still as it was seen. Values go to the command as literals of hex digits and numbers, so
 * that no text can end a literal early.
 */
import {spawnSync} from 'node:child_process';
import {createRequire} from 'node:module';
import {resolve} from 'node:path';

const BUSY_MS = 10_000;
const CHILD_MS = 60_000;
const OUTPUT_BYTES_MAX = 512 * 1024 * 1024;
const BETWEEN = '=';            // no line of JSON is this

/** {transact(statements) → rows of each, close()}; throws an Error with SQLite's words. */
export function openSqlite(path) {
	const builtin = process.env.COUNTERFOIL_SQLITE3 ? null : builtinSqlite();
	return builtin ? new Builtin(builtin, path) : new Command(resolve(path));
}

function builtinSqlite() {
	const warn = process.emitWarning;
	try {
		process.emitWarning = () => {}; // that it is experimental concerns us, not our users
		return createRequire(import.meta.url)('node:sqlite').DatabaseSync;
	} catch {
		return null;
	} finally {
		process.emitWarning = warn;
	}
}

class Builtin {
	constructor(DatabaseSync, path) {
		this.db = new DatabaseSync(path);
		this.db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
		this.db.exec('PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF');
	}

	transact(statements) {
		this.db.exec('BEGIN IMMEDIATE');
		try {
			const rows = statements.map(([sql, ...values]) => this.db.prepare(sql).all(...values));
			this.db.exec('COMMIT');
			return rows;
		} catch (error) {
			try {
				this.db.exec('ROLLBACK');
			} catch {
				// SQLite has rolled back by itself
			}
			throw error;
		}
	}

	close() {
		this.db.close();
	}
}

class Command {
	constructor(path) {
		this.path = path;
	}

	transact(statements) {
		const script = [
			`.timeout ${BUSY_MS}`, '.mode json',
			'PRAGMA synchronous = EXTRA;', 'PRAGMA foreign_keys = ON;', 'PRAGMA trusted_schema = OFF;',
			'BEGIN IMMEDIATE;',
			...statements.flatMap(([sql, ...values]) => [`.print ${BETWEEN}`, `${withLiterals(sql, values)};`]),
			`.print ${BETWEEN}`, 'COMMIT;', ''].join('\n');
		const child = spawnSync(process.env.COUNTERFOIL_SQLITE3 || 'sqlite3', ['-batch', '-bail', '-init', '/dev/null', this.path],
			{input: script, timeout: CHILD_MS, maxBuffer: OUTPUT_BYTES_MAX});
		if (child.error)
			throw new Error(child.error.code === 'ENOENT' ?
				'this Node has no node:sqlite, and there is no sqlite3 command: install either' : child.error.message);
		if (child.status !== 0 || child.stderr.length)
			throw new Error(child.stderr.toString().trim() || `sqlite3 ended with ${child.status ?? child.signal}`);
		const parts = child.stdout.toString().split(new RegExp(`^${BETWEEN}\n`, 'm')).slice(1, -1);
		return parts.map((part) => part.trim() ? JSON.parse(part) : []);
	}

	close() {}
}

/* Each "?" by the literal of its value. */
function withLiterals(sql, values) {
	let at = 0;
	return sql.replace(/\?/g, () => literal(values[at++]));
}

function literal(value) {
	if (value === null)
		return 'NULL';
	if (typeof value === 'number' && Number.isSafeInteger(value))
		return String(value);
	const hex = `x'${Buffer.from(value).toString('hex')}'`;
	return typeof value === 'string' ? `CAST(${hex} AS TEXT)` : hex;
}
