/*
 * The journal: which token stands for which step, on disk before the first byte is sent.
 *
 * One SQLite file that every program of one user shares, whatever language it is written in. An entry
 * is what is remembered of one token: what was sent under it, who is at it, what is known of its end.
 *
 * Always true: a token is committed before anybody is told it; an entry has one owner at most that is
 * alive; what is done or has failed is never sent again; an entry whose owner died while it was
 * sending is uncertain until somebody finds out.
 * Can fail: Refused, and nothing has changed then.
 *
 * A change is decided on a row as it was seen, and made only where it still is that row; else it is
 * looked at again.
 */
import {closeSync, existsSync, mkdirSync, openSync, statSync} from 'node:fs';
import {dirname, isAbsolute, join} from 'node:path';

import {Refused, deriveToken, drawToken} from './identity.js';
import {isAlive, ownerOfSelf} from './owner.js';
import {difference} from './payload.js';
import {openSqlite} from './sqlite.js';

const APPLICATION_ID = 0x43464a31;
const VERSION = 1;
const EVENTS_MAX = 200;
const NOTE_BYTES_MAX = 500;
const LOOKS_MAX = 100;          // at a row that changes each time before we could

const SCHEMA = [
	`CREATE TABLE IF NOT EXISTS entry (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  task         TEXT, step TEXT,
  method       TEXT NOT NULL, url TEXT NOT NULL,
  token        TEXT NOT NULL,
  is_current   INTEGER NOT NULL DEFAULT 1,
  state        TEXT NOT NULL,
  owner        TEXT,
  payload      TEXT,
  members      TEXT,
  credential   TEXT,
  is_gate      INTEGER NOT NULL DEFAULT 0,
  outcome      TEXT,
  operation    TEXT,
  status       INTEGER, headers TEXT, body BLOB, body_file TEXT,
  advice       TEXT, after_s INTEGER,
  reason       TEXT,
  attempts     INTEGER NOT NULL DEFAULT 0,
  created_ms   INTEGER NOT NULL, changed_ms INTEGER NOT NULL
)`,
	`CREATE UNIQUE INDEX IF NOT EXISTS entry_step ON entry (task, step, method, url)
  WHERE is_current = 1 AND task IS NOT NULL`,
	'CREATE UNIQUE INDEX IF NOT EXISTS entry_token ON entry (token, method, url)',
	`CREATE TABLE IF NOT EXISTS event (
  entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE, at_ms INTEGER NOT NULL,
  what TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT ''
)`,
	'CREATE INDEX IF NOT EXISTS event_entry ON event (entry, at_ms)',
	`PRAGMA application_id = ${APPLICATION_ID}`,
	`PRAGMA user_version = ${VERSION}`,
].map((sql) => [sql]);

/* A body as hex: the sqlite3 command cannot write bytes into JSON. */
const SELECT = `SELECT id, task, step, method, url, token, state, owner, payload, members, credential,
	is_gate, outcome, operation, status, headers, iif(body IS NULL, NULL, hex(body)) AS body, body_file,
	advice, after_s, reason, attempts FROM entry`;

/*
 * Claims that this process could not settle, "device:file:entry". An owner's name stands for the process,
 * which is still alive: without this its own next try would be kept out until it ends.
 */
const left = new Set();

export function defaultPath(env = process.env) {
	if (env.COUNTERFOIL_JOURNAL)
		return env.COUNTERFOIL_JOURNAL;
	if (isAbsolute(env.XDG_STATE_HOME || ''))
		return join(env.XDG_STATE_HOME, 'counterfoil', 'journal.db');
	if (!isAbsolute(env.HOME || ''))
		throw new Refused('there is no home for the journal: set HOME, or COUNTERFOIL_JOURNAL to the path of a file');
	return join(env.HOME, '.local', 'state', 'counterfoil', 'journal.db');
}

/** The open file. */
export class Store {
	constructor(path) {
		this.path = path ?? defaultPath();
		makePrivate(this.path);
		this.sqlite = this.trying(() => openSqlite(this.path));
		this.checkFormat();
		const {dev, ino} = statSync(this.path, {bigint: true});
		this.file = `${dev}:${ino}`;
	}

	close() {
		this.sqlite.close();
	}

	/**
	 * {entry, retryOf}: the current entry of a step, made where there is none. `isNew`: a deliberate new
	 * action takes the place of the one that is there; `retryOf` is then its operation, if that failed.
	 */
	entryOf(step, isNew = false) {
		if (isNew && step.token)
			throw new Refused('a token given by hand stands for one action: give another one');
		for (let look = 0; look < LOOKS_MAX; look++) {
			const before = this.current(step);
			if (before && !isNew)
				return {entry: before, retryOf: null};
			if (before && this.isBusy(before))
				throw new Refused('somebody is at this step now: wait for its end before a new action');
			const made = this.make(step, before, step.token ?? (isNew ? drawToken() : deriveToken(step)));
			if (made)
				return {entry: made, retryOf: before?.state === 'failed' ? before.operation : null};
		}
		throw new Refused('the journal changes too fast: try again');
	}

	/**
	 * Become the owner of an entry, to send or (payload null) to find out; {verdict, entry, differs}.
	 * 'ours': entry is as it was; where it was "new" it is now "sending" and may be sent, else ask first.
	 * 'busy', 'ended'; 'changed' with what differs; 'new': nothing to find out.
	 */
	claim(id, payload, mark) {
		for (let look = 0; look < LOOKS_MAX; look++) {
			const entry = this.entry(id);
			if (payload && entry.payload && entry.payload !== payload.digest)
				return {verdict: 'changed', entry, differs: difference(entry.members, payload.members)};
			if (entry.state === 'done' || entry.state === 'failed')
				return {verdict: 'ended', entry};
			if (this.isBusy(entry))
				return {verdict: 'busy', entry};
			if (entry.state === 'new' && !payload)
				return {verdict: 'new', entry};
			const isFirst = entry.state === 'new';
			const columns = {owner: ownerOfSelf()};
			if (isFirst)
				Object.assign(columns, {state: 'sending', payload: payload.digest, members: payload.members,
					credential: mark, attempts: entry.attempts + 1});
			if (this.take(entry, columns, isFirst ? 'sent' : 'taken_over'))
				return {verdict: 'ours', entry};
		}
		throw new Refused('the journal changes too fast: try again');
	}

	/** Nobody is at what was claimed here and could not be settled: this process may claim it again. */
	leave(id) {
		left.add(`${this.file}:${id}`);
	}

	/* Is somebody at it? Not where that is this process, which has left it behind. */
	isBusy({id, owner}) {
		const isLeft = left.has(`${this.file}:${id}`) && owner === ownerOfSelf();
		return Boolean(owner && !isLeft && isAlive(owner));
	}

	/* Is it still as it was seen, and ours now? */
	take(entry, columns, what) {
		try {
			const isDone = this.change(entry.id, columns, what, '',
				'state = ? AND owner IS ? AND payload IS ? AND attempts = ?',
				entry.state, entry.owner, entry.payload, entry.attempts);
			if (isDone)
				left.delete(`${this.file}:${entry.id}`);
			return isDone;
		} catch (error) {
			this.leave(entry.id); // a commit that fails may have reached the disk
			throw error;
		}
	}

	/** A claimed entry is about to be sent once more: committed before its first byte. */
	sendAgain(id, mark, note) {
		const {attempts} = this.entry(id);
		this.changeOurs(id, {state: 'sending', credential: mark, attempts: attempts + 1}, 'sent', note);
	}

	/** Write what was learnt, and let go of the entry unless `isStillOurs`; the entry as it is then. */
	settle(id, learnt, {what, note, isStillOurs, isForgotten}) {
		const columns = {...learnt};
		if (isForgotten)
			Object.assign(columns, {payload: null, members: null, credential: null});
		if (!isStillOurs)
			columns.owner = null;
		this.changeOurs(id, columns, what, note);
		return this.entry(id);
	}

	trying(work) {
		try {
			return work();
		} catch (error) {
			throw new Refused(`the journal ${this.path} cannot be used: ${error.message}`);
		}
	}

	transact(...statements) {
		return this.trying(() => this.sqlite.transact(statements));
	}

	entry(id) {
		const [[row]] = this.transact([`${SELECT} WHERE id = ?`, id]);
		if (!row)
			throw new Refused('the entry of this step was forgotten meanwhile');
		return asEntry(row);
	}

	/* That of the step; or one whose token was given by hand, and is the very token of the step. */
	current(step) {
		const [[row]] = this.transact([`${SELECT} WHERE method = ? AND url = ? AND (
			(task = ? AND step = ? AND is_current = 1) OR (token = ? AND (? IS NULL OR task IS NULL)))
			ORDER BY task IS NULL LIMIT 1`,
		step.method, step.url, step.task, step.step, step.token ?? deriveToken(step), step.task]);
		return row && asEntry(row);
	}

	/* A new entry in the place of `before`; nothing where somebody else was faster. */
	make(step, before, token) {
		const now = Date.now();
		const row = [step.task, step.step, step.method, step.url, token, now, now];
		const columns = '(task, step, method, url, token, state, created_ms, changed_ms)';
		const [, , , [made]] = before ? this.transact(
			['UPDATE entry SET is_current = 0 WHERE id = ? AND is_current = 1 AND owner IS ?', before.id, before.owner],
			[`INSERT INTO entry ${columns} SELECT ?, ?, ?, ?, ?, 'new', ?, ? WHERE changes() > 0`, ...row],
			madeEvent(now),
			['SELECT last_insert_rowid() AS id WHERE changes() > 0']) : this.transact(
			['SELECT 1'],
			[`INSERT INTO entry ${columns} SELECT ?, ?, ?, ?, ?, 'new', ?, ? WHERE NOT EXISTS (SELECT 1 FROM entry
				WHERE method = ? AND url = ? AND (token = ? OR (task = ? AND step = ? AND is_current = 1)))`,
			...row, step.method, step.url, token, step.task, step.step],
			madeEvent(now),
			['SELECT 1 AS id WHERE changes() > 0']);
		return made && this.current({...step, token: step.task ? null : token});
	}

	/* Did the row still satisfy `where`, and is it now changed? */
	change(id, columns, what, note, where, ...values) {
		const now = Date.now();
		const setting = Object.keys(columns).map((name) => `${name} = ?`).join(', ');
		const [, , [changed]] = this.transact(
			[`UPDATE entry SET ${setting}, changed_ms = ? WHERE id = ? AND ${where}`,
				...Object.values(columns), now, id, ...values],
			['INSERT INTO event (entry, at_ms, what, note) SELECT ?, ?, ?, ? WHERE changes() > 0',
				id, now, what, cut(note)],
			['SELECT 1 AS is_done WHERE changes() > 0'],
			[`DELETE FROM event WHERE entry = ? AND rowid NOT IN
				(SELECT rowid FROM event WHERE entry = ? ORDER BY rowid DESC LIMIT ${EVENTS_MAX})`, id, id]);
		return Boolean(changed);
	}

	changeOurs(id, columns, what, note) {
		if (!this.change(id, columns, what, note, 'owner = ?', ownerOfSelf()))
			throw new Refused('somebody else has taken over this entry, or it was forgotten');
	}

	checkFormat() {
		let found = this.format();
		if (found.application === 0 && found.version === 0 && found.tables === 0) {
			this.transact(...SCHEMA);
			found = this.format();
		}
		if (found.application !== APPLICATION_ID)
			throw new Refused(`${this.path} is a database of another program: name another file for the journal`);
		if (found.version !== VERSION)
			throw new Refused(`the journal ${this.path} was written by a newer version: update this one`);
	}

	format() {
		const [[application], [version], [tables]] = this.transact(['PRAGMA application_id'], ['PRAGMA user_version'],
			['SELECT count(*) AS n FROM sqlite_master']);
		return {application: application.application_id, version: version.user_version, tables: tables.n};
	}
}

function madeEvent(now) {
	return ["INSERT INTO event (entry, at_ms, what) SELECT last_insert_rowid(), ?, 'made' WHERE changes() > 0", now];
}

function asEntry(row) {
	return {...row, body: row.body === null ? null : Buffer.from(row.body, 'hex')};
}

function cut(note) {
	const bytes = Buffer.from(note).subarray(0, NOTE_BYTES_MAX);
	return new TextDecoder().decode(bytes).replace(/\ufffd+$/, '');
}

/* The file and its folders, readable by nobody else. */
function makePrivate(path) {
	try {
		mkdirSync(dirname(path), {recursive: true, mode: 0o700});
		if (!existsSync(path))
			closeSync(openSync(path, 'wx', 0o600));
	} catch (error) {
		if (error.code !== 'EEXIST')
			throw new Refused(`the journal ${path} cannot be made: ${error.message}`);
	}
	const found = statSync(path);
	if (!found.isFile())
		throw new Refused(`the journal ${path} is no file`);
	if (process.geteuid && found.uid !== process.geteuid())
		throw new Refused(`the journal ${path} belongs to another user: name one of your own`);
	if (process.platform !== 'win32' && found.mode & 0o077)
		throw new Refused(`the journal ${path} can be read by others: chmod 600 it`);
}
