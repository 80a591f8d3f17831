/*
 * The schema, its history, and every statement that is run more than once.
 *
 * A migration is never edited once it has been released; a change is a new line. The
 * database's user_version is how many of them it has seen.
 */
#include "store/ledger.h"

#include "base/err.h"

#include <stdio.h>

static const char *const migrations[] = {
	/* 1 */
	"CREATE TABLE secret(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
	"INSERT INTO secret VALUES('token_key', randomblob(16));"
	"CREATE TABLE counter(id INTEGER PRIMARY KEY, value INTEGER NOT NULL);"
	"INSERT INTO counter VALUES(0,0),(1,0),(2,0),(3,0),(4,0),(5,0),(6,0),(7,0),(8,0),(9,0),"
	"(10,0);"
	"CREATE TABLE operation("
	" op INTEGER PRIMARY KEY,"  /* first half of the id */
	" random INTEGER NOT NULL," /* second half */
	" hash BLOB NOT NULL,"	    /* of account and token */
	" account TEXT NOT NULL, token TEXT NOT NULL, fingerprint BLOB NOT NULL,"
	" method TEXT NOT NULL, path TEXT NOT NULL, action TEXT NOT NULL,"
	" upstream TEXT NOT NULL, retry_of TEXT NOT NULL,"
	" state INTEGER NOT NULL, epoch INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
	" expires_ms INTEGER NOT NULL,"
	" reference TEXT NOT NULL, reason TEXT NOT NULL, decided_by TEXT NOT NULL,"
	" tries INTEGER NOT NULL,"
	" due INTEGER NOT NULL," /* below 0 while it is unknown; see due_column() */
	" resource TEXT NOT NULL);"
	"CREATE INDEX operation_open ON operation(state) WHERE state < 5;"
	"CREATE INDEX operation_expiry ON operation(expires_ms) WHERE state > 4;"
	"CREATE INDEX operation_due ON operation(upstream, due) WHERE due <> 0;"
	"CREATE TABLE rule(" /* of operations that have any, which their key says */
	" op INTEGER PRIMARY KEY, flags INTEGER NOT NULL, plain_ms INTEGER NOT NULL,"
	" identity BLOB NOT NULL, until_ms INTEGER NOT NULL,"
	" lock INTEGER NOT NULL, fence INTEGER NOT NULL, version INTEGER NOT NULL,"
	" budget INTEGER NOT NULL, spends INTEGER NOT NULL, currency TEXT NOT NULL,"
	" opens INTEGER NOT NULL, opens_currency TEXT NOT NULL, budget_ms INTEGER NOT NULL,"
	" sent_ms INTEGER NOT NULL, probe TEXT NOT NULL, retries INTEGER NOT NULL);"
	"CREATE INDEX rule_retries ON rule(retries) WHERE retries <> 0;"
	"CREATE TABLE lock(" /* its key is the operation's that first asked for it */
	" op INTEGER PRIMARY KEY, hash BLOB NOT NULL, account TEXT NOT NULL,"
	" name TEXT NOT NULL, version INTEGER NOT NULL, fence INTEGER NOT NULL,"
	" holder INTEGER NOT NULL, since_ms INTEGER NOT NULL);"
	"CREATE TABLE line(" /* who waits for a lock: what is queued and the dispatcher's */
	" lock INTEGER NOT NULL, op INTEGER NOT NULL, PRIMARY KEY(lock, op)) WITHOUT ROWID;"
	"CREATE TABLE budget(" /* its key is its own, out of the same sequence */
	" op INTEGER PRIMARY KEY, hash BLOB NOT NULL, currency TEXT NOT NULL,"
	" total INTEGER NOT NULL, used INTEGER NOT NULL, until_ms INTEGER NOT NULL);"
	"CREATE INDEX budget_until ON budget(until_ms) WHERE until_ms < 9223372036854775807;"
	"CREATE TABLE request("
	" op INTEGER PRIMARY KEY, method TEXT NOT NULL, target TEXT NOT NULL,"
	" headers TEXT NOT NULL, has_body INTEGER NOT NULL, body BLOB NOT NULL,"
	" lookup TEXT NOT NULL, key_place TEXT NOT NULL);"
	"CREATE TABLE answer("
	" op INTEGER PRIMARY KEY, status INTEGER NOT NULL, is_kept INTEGER NOT NULL,"
	" length INTEGER NOT NULL, digest BLOB NOT NULL,"
	" headers TEXT NOT NULL, body BLOB NOT NULL);"
	"CREATE TABLE attempt("
	" op INTEGER NOT NULL, n INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
	" outcome INTEGER NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL,"
	" step TEXT NOT NULL, request TEXT NOT NULL, delivered INTEGER NOT NULL,"
	" remark TEXT NOT NULL," /* the actor's digit and the note; empty: the caller's, none */
	" PRIMARY KEY(op, n)) WITHOUT ROWID;"
	"CREATE INDEX attempt_task ON attempt(task, op) WHERE task <> '';"
	"CREATE TABLE token(hash BLOB PRIMARY KEY, op INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE tombstone("
	" op INTEGER PRIMARY KEY, hash BLOB NOT NULL, until_ms INTEGER NOT NULL);"
	"CREATE INDEX tombstone_until ON tombstone(until_ms);",
	/* 2 */
	"CREATE TABLE audit(seq INTEGER PRIMARY KEY, entry BLOB NOT NULL);"
	"CREATE TABLE audit_tip("
	" id INTEGER PRIMARY KEY, origin TEXT NOT NULL, tip BLOB NOT NULL);"
	"INSERT INTO audit_tip VALUES(1, 'counterfoil.' || lower(hex(randomblob(8))), x'');"
	"INSERT INTO counter VALUES(11, 0);",
	/* 3 */
	"CREATE TABLE document("
	" kind INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,"
	" updated_ms INTEGER NOT NULL, PRIMARY KEY(kind, name)) WITHOUT ROWID;",
	/* 4 */
	"CREATE TABLE approval("
	" op INTEGER PRIMARY KEY, needed INTEGER NOT NULL, given INTEGER NOT NULL,"
	" stand INTEGER NOT NULL, asked_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
	" policy BLOB NOT NULL, alike BLOB NOT NULL, agent BLOB NOT NULL,"
	" agreed BLOB NOT NULL," /* the fingerprint that was agreed to; or empty */
	" asked_by TEXT NOT NULL, asked_agent TEXT NOT NULL, answers TEXT NOT NULL,"
	" shown TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL,"
	" done INTEGER NOT NULL);"
	"CREATE INDEX approval_expiry ON approval(expires_ms) WHERE stand = 1;"
	"CREATE INDEX approval_asked ON approval(asked_ms) WHERE stand = 1;"
	"CREATE INDEX approval_alike ON approval(alike) WHERE stand = 1;"
	"CREATE INDEX approval_done ON approval(account, action) WHERE done = 1;"
	"CREATE TABLE known(agent BLOB PRIMARY KEY) WITHOUT ROWID;",
	/* 5 */
	"CREATE TABLE notice("
	" op INTEGER NOT NULL, n INTEGER NOT NULL, event INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
	" due_ms INTEGER NOT NULL," /* 0: it has been told */
	" tries INTEGER NOT NULL, PRIMARY KEY(op, n)) WITHOUT ROWID;"
	"CREATE INDEX notice_due ON notice(due_ms) WHERE due_ms > 0;",
	/* 6 */
	"ALTER TABLE attempt ADD COLUMN credential TEXT NOT NULL DEFAULT '';",
	/* 7 */
	"ALTER TABLE budget ADD COLUMN opener INTEGER NOT NULL DEFAULT 0;", /* 0: unknown */
	/* 8: from here on a row of `audit` may hold several entries, which older programs refuse */
	"",
};
enum { MIGRATIONS = sizeof(migrations) / sizeof(migrations[0]) };

#define ROW                                                                                        \
	"random, account, token, fingerprint, method, path, action, upstream, retry_of, state, "   \
	"epoch, created_ms, updated_ms, expires_ms, reference, reason, decided_by, "               \
	"tries, due, resource "

#define RULE                                                                                       \
	"flags, plain_ms, identity, until_ms, lock, fence, version, budget, spends, currency, "    \
	"opens, opens_currency, budget_ms, sent_ms "

/* A candidate for a list: what filters look at. */
#define CANDIDATE "o.op, o.account, o.token, o.state, o.reference, o.random, o.action "

const char *const ledger_sql[SQL_STATEMENTS] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_OPERATION_INSERT] = "INSERT INTO operation VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
				 "?10, ?11, ?12, ?13, ?14, ?15, ?16, '', '', '', ?17, ?18, '')",
	[SQL_OPERATION_GET] = "SELECT " ROW "FROM operation WHERE op = ?1",
	[SQL_OPERATION_SETTLE] =
		"UPDATE operation SET state = ?5, updated_ms = ?6,"
		" expires_ms = coalesce(?7, expires_ms), reference = coalesce(?8, reference),"
		" reason = coalesce(?9, CASE WHEN ?13 THEN '' ELSE reason END),"
		" decided_by = coalesce(?10, CASE WHEN ?13 THEN '' ELSE decided_by END),"
		" resource = coalesce(?12, resource)"
		" WHERE op = ?1 AND random = ?2 AND state = ?3 AND epoch = ?4"
		" AND (?11 IS NULL OR account = ?11)",
	[SQL_OPERATION_MOVE] =
		"UPDATE operation SET state = ?2, epoch = ?3, updated_ms = ?4, expires_ms = ?5,"
		" reference = ?6, reason = ?7, decided_by = ?8, tries = ?9, due = ?10,"
		" resource = ?11 WHERE op = ?1",
	[SQL_OPERATION_DUE_GET] = "SELECT abs(due) FROM operation WHERE op = ?1",
	[SQL_OPERATION_DUE_PUT] = "UPDATE operation SET due = ?2 WHERE op = ?1",
	[SQL_OPERATION_TRIES_ANEW] = "UPDATE operation SET tries = 0 WHERE op = ?1",
	[SQL_OPERATION_TRIES_LESS] = "UPDATE operation SET tries = max(tries - 1, 0) WHERE op = ?1",
	[SQL_OPERATION_WAIT] = "UPDATE operation SET due = 9223372036854775807"
			       " WHERE op = ?1 AND due <> 9223372036854775807",
	[SQL_OPERATION_WAKE] = "UPDATE operation SET due = min(?2, updated_ms)"
			       " WHERE op = ?1 AND due = 9223372036854775807",
	[SQL_QUEUED_DUE] =
		"SELECT op, due, updated_ms FROM operation INDEXED BY operation_due"
		" WHERE upstream = ?1 AND due <> 0 AND due > 0 AND due < 9223372036854775807"
		" ORDER BY due, op LIMIT ?2",
	[SQL_UNKNOWN_DUE] =
		"SELECT op, -due, 0 FROM operation INDEXED BY operation_due"
		" WHERE upstream = ?1 AND due <> 0 AND due < 0 AND due > -9223372036854775807"
		" ORDER BY due DESC LIMIT ?2",
	[SQL_QUEUED_NEXT] = "SELECT due, updated_ms FROM operation INDEXED BY operation_due"
			    " WHERE upstream = ?1"
			    " AND due <> 0 AND due > 0 AND due < 9223372036854775807"
			    " ORDER BY due LIMIT 1",
	[SQL_UNKNOWN_NEXT] =
		"SELECT -due, 0 FROM operation INDEXED BY operation_due WHERE upstream = ?1"
		" AND due <> 0 AND due < 0 AND due > -9223372036854775807"
		" ORDER BY due DESC LIMIT 1",
	[SQL_OPERATION_RETRIES] = "SELECT o.op, o.random FROM rule r INDEXED BY rule_retries"
				  " CROSS JOIN operation o ON o.op = r.op"
				  " WHERE r.retries = ?1 AND r.retries <> 0 ORDER BY r.op LIMIT ?2",
	[SQL_RULE_PUT] = "INSERT INTO rule VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
			 " ?12, ?13, ?14, ?15, ?16, ?17)",
	[SQL_RULE_PART] = "SELECT flags, sent_ms, probe FROM rule WHERE op = ?1",
	[SQL_RULE_GET] = "SELECT " RULE "FROM rule WHERE op = ?1",
	[SQL_RULE_SENT] = "UPDATE rule SET fence = ?2, sent_ms = ?3 WHERE op = ?1",
	[SQL_RULE_DELETE] = "DELETE FROM rule WHERE op = ?1",
	[SQL_LOCK_PUT] = "INSERT INTO lock VALUES(?1, ?2, ?3, ?4, 0, ?5, ?6, ?7)",
	[SQL_LOCK_GET] = "SELECT hash, version, fence, holder, since_ms FROM lock WHERE op = ?1",
	[SQL_LOCK_NAME] = "SELECT name, account FROM lock WHERE op = ?1",
	[SQL_LOCK_TAKE] = "UPDATE lock SET fence = ?2, holder = ?3, since_ms = ?4 WHERE op = ?1",
	/* A success counts also where the lock was lost by force: the resource has changed. */
	[SQL_LOCK_FREE] = "UPDATE lock SET version = version + ?3,"
			  " holder = CASE holder WHEN ?2 THEN 0 ELSE holder END WHERE op = ?1",
	[SQL_LOCKS_HELD] =
		"SELECT l.op, l.account, o.op, o.random, o.state"
		" FROM operation o INDEXED BY operation_open CROSS JOIN rule r ON r.op = o.op"
		" CROSS JOIN lock l ON l.op = r.lock"
		" WHERE o.state = ?1 AND o.state < 5 AND o.op > ?2 AND l.holder = o.op"
		" ORDER BY o.op",
	[SQL_LOCKS_AWAITED] = "SELECT DISTINCT w.lock, l.account, w.lock FROM line w"
			      " CROSS JOIN lock l ON l.op = w.lock"
			      " WHERE w.lock > ?1 AND l.holder = 0 ORDER BY w.lock",
	[SQL_LINE_PUT] = "INSERT OR IGNORE INTO line VALUES(?1, ?2)",
	[SQL_LINE_DELETE] = "DELETE FROM line WHERE lock = ?1 AND op = ?2",
	[SQL_LINE_LIST] = "SELECT op FROM line WHERE lock = ?1 ORDER BY op LIMIT ?2",
	[SQL_LINE_COUNT] = "SELECT count(*) FROM line WHERE lock = ?1",
	[SQL_BUDGET_PUT] = "INSERT INTO budget VALUES(?1, ?2, ?3, ?4, 0, ?5, ?6)",
	[SQL_BUDGET_GET] = "SELECT hash, currency, total, used, until_ms FROM budget WHERE op = ?1",
	[SQL_BUDGET_USE] = "UPDATE budget SET used = used + ?2 WHERE op = ?1",
	[SQL_BUDGET_EXPIRED] = "SELECT op, hash FROM budget INDEXED BY budget_until"
			       " WHERE until_ms <= ?1 AND until_ms < 9223372036854775807"
			       " ORDER BY until_ms LIMIT ?2",
	[SQL_BUDGET_LIST] =
		"SELECT o.op, o.account, o.random, o.action, o.reference,"
		" b.currency, b.total, b.used, b.until_ms, b.op"
		" FROM budget b LEFT JOIN operation o ON o.op = b.opener WHERE b.op < ?1"
		" ORDER BY b.op DESC",
	[SQL_BUDGET_DELETE] = "DELETE FROM budget WHERE op = ?1",
	[SQL_REQUEST_PUT] = "INSERT OR REPLACE INTO request"
			    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SQL_REQUEST_GET] = "SELECT method, target, headers, has_body, body, lookup, key_place"
			    " FROM request WHERE op = ?1",
	[SQL_REQUEST_DELETE] = "DELETE FROM request WHERE op = ?1",
	[SQL_OPERATION_DELETE] = "DELETE FROM operation WHERE op = ?1",
	[SQL_OPERATION_EXPIRED] =
		"SELECT op, hash, state, expires_ms FROM operation INDEXED BY operation_expiry"
		" WHERE state > 4 AND expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2",
	[SQL_ANSWER_PUT] = "INSERT OR REPLACE INTO answer VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_ANSWER_GET] =
		"SELECT status, is_kept, length, digest, headers, body FROM answer WHERE op = ?1",
	[SQL_ANSWER_LENGTH] = "SELECT length(body) FROM answer WHERE op = ?1",
	[SQL_ANSWER_DELETE] = "DELETE FROM answer WHERE op = ?1",
	[SQL_ATTEMPT_LAST] = "SELECT n FROM attempt WHERE op = ?1 ORDER BY n DESC LIMIT 1",
	[SQL_ATTEMPT_INSERT] = "INSERT INTO attempt"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '', ?10)",
	[SQL_ATTEMPT_REMARK] = "UPDATE attempt SET remark = ?3 || ?4 WHERE op = ?1 AND n = ?2",
	[SQL_ATTEMPT_END] = "UPDATE attempt SET outcome = ?3 WHERE op = ?1 AND n = ?2",
	[SQL_ATTEMPT_AMEND] = "UPDATE attempt SET delivered = ?3 WHERE op = ?1 AND n = ?2"
			      " AND EXISTS(SELECT 1 FROM operation WHERE op = ?1 AND random = ?4)",
	[SQL_ATTEMPT_TRIM] = "DELETE FROM attempt WHERE op = ?1 AND n > 1 AND n <= ?2",
	[SQL_ATTEMPT_LIST] = "SELECT at_ms, outcome, agent, task, step, request, delivered,"
			     " remark, credential FROM attempt WHERE op = ?1 ORDER BY n",
	[SQL_ATTEMPT_DELETE] = "DELETE FROM attempt WHERE op = ?1",
	[SQL_TOKEN_GET] = "SELECT op FROM token WHERE hash = ?1",
	[SQL_TOKEN_PUT] = "INSERT OR REPLACE INTO token VALUES(?1, ?2)",
	[SQL_TOKEN_DELETE] = "DELETE FROM token WHERE hash = ?1 AND op = ?2",
	[SQL_TOMBSTONE_GET] = "SELECT until_ms FROM tombstone WHERE op = ?1",
	[SQL_TOMBSTONE_PUT] = "INSERT OR REPLACE INTO tombstone VALUES(?1, ?2, ?3)",
	[SQL_TOMBSTONE_EXPIRED] =
		"SELECT op, hash FROM tombstone WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2",
	[SQL_TOMBSTONE_DELETE] = "DELETE FROM tombstone WHERE op = ?1",
	[SQL_LIST_ALL] = "SELECT " CANDIDATE "FROM operation o WHERE o.op < ?1 ORDER BY o.op DESC",
	[SQL_LIST_OPEN] = "SELECT " CANDIDATE "FROM operation o INDEXED BY operation_open"
			  " WHERE o.state = ?2 AND o.state < 5 AND o.op < ?1 ORDER BY o.op DESC",
	[SQL_LIST_TASK] = "SELECT " CANDIDATE "FROM attempt a INDEXED BY attempt_task"
			  " CROSS JOIN operation o ON o.op = a.op"
			  " WHERE a.task = ?2 AND a.task <> '' AND a.op < ?1 ORDER BY a.op DESC",
	[SQL_APPROVAL_PUT] =
		"INSERT OR REPLACE INTO approval VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
		" x'', ?10, ?11, ?12, ?13, ?14, ?15, 0)",
	[SQL_APPROVAL_GET] =
		"SELECT needed, given, stand, asked_ms, expires_ms, policy, alike, agent, agreed,"
		" asked_by, asked_agent, answers, shown FROM approval WHERE op = ?1",
	[SQL_APPROVAL_ANSWER] = "UPDATE approval SET given = ?2, stand = ?3, answers = ?4,"
				" agreed = ?5 WHERE op = ?1",
	[SQL_APPROVAL_WITHDRAW] = "UPDATE approval SET stand = 5 WHERE op = ?1 AND stand = 1",
	[SQL_APPROVAL_DONE] = "UPDATE approval SET done = 1 WHERE op = ?1",
	[SQL_APPROVAL_DELETE] = "DELETE FROM approval WHERE op = ?1",
	[SQL_APPROVAL_OVER] = "SELECT op FROM approval INDEXED BY approval_expiry"
			      " WHERE stand = 1 AND expires_ms <= ?1 ORDER BY expires_ms LIMIT 1",
	[SQL_APPROVAL_AHEAD] = "SELECT op FROM approval INDEXED BY approval_asked"
			       " WHERE stand = 1 AND asked_ms > ?1 ORDER BY asked_ms LIMIT 1",
	[SQL_APPROVAL_NEXT] = "SELECT expires_ms FROM approval INDEXED BY approval_expiry"
			      " WHERE stand = 1 ORDER BY expires_ms LIMIT 1",
	[SQL_APPROVAL_OLDEST] = "SELECT asked_ms FROM approval INDEXED BY approval_asked"
				" WHERE stand = 1 ORDER BY asked_ms LIMIT 1",
	[SQL_APPROVAL_ALIKE] = "SELECT o.op, o.random FROM approval a INDEXED BY approval_alike"
			       " CROSS JOIN operation o ON o.op = a.op WHERE a.alike = ?1"
			       " AND a.stand = 1 AND a.op <> ?2 ORDER BY a.op LIMIT ?3",
	[SQL_APPROVAL_PREVIOUS] =
		"SELECT o.op, o.random, o.updated_ms, a.shown FROM approval a"
		" INDEXED BY approval_done CROSS JOIN operation o ON o.op = a.op"
		" WHERE a.account = ?1 AND a.action = ?2 AND a.done = 1 AND a.op <> ?3"
		" ORDER BY a.op DESC LIMIT 1",
	[SQL_APPROVALS_WAITING] = "SELECT op, account FROM operation INDEXED BY operation_open"
				  " WHERE state = 1 AND state < 5 AND op < ?1 ORDER BY op DESC",
	[SQL_APPROVALS_PAST] = "SELECT op, account FROM approval WHERE stand <> 1 AND op < ?1"
			       " ORDER BY op DESC",
	[SQL_KNOWN_PUT] = "INSERT OR IGNORE INTO known VALUES(?1)",
	[SQL_KNOWN_GET] = "SELECT 1 FROM known WHERE agent = ?1",
	[SQL_NOTICE_PUT] = "INSERT INTO notice VALUES(?1, 1, ?2, ?3, ?3, 0)",
	[SQL_NOTICE_ADD] = "INSERT INTO notice SELECT ?1, n + 1, ?2, ?3, ?3, 0"
			   " FROM (SELECT max(n) AS n FROM notice WHERE op = ?1) WHERE n < ?4",
	[SQL_NOTICE_DUE] =
		"SELECT o.op, o.random, n.n, n.event, n.at_ms, n.due_ms, n.tries"
		" FROM notice n INDEXED BY notice_due CROSS JOIN operation o ON o.op = n.op"
		" WHERE n.due_ms > 0 AND n.due_ms <= ?1 ORDER BY n.due_ms, n.op, n.n LIMIT ?2",
	[SQL_NOTICE_NEXT] = "SELECT due_ms FROM notice INDEXED BY notice_due"
			    " WHERE due_ms > 0 AND due_ms > ?1 ORDER BY due_ms LIMIT 1",
	[SQL_NOTICE_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM notice INDEXED BY notice_due"
			     " WHERE due_ms > 0 LIMIT ?1)",
	[SQL_NOTICE_DONE] =
		"UPDATE notice SET due_ms = ?3, tries = tries + 1 WHERE op = ?1 AND n = ?2",
	[SQL_NOTICE_DELETE] = "DELETE FROM notice WHERE op = ?1",
	[SQL_COUNTER_PUT] = "UPDATE counter SET value = ?2 WHERE id = ?1",
	[SQL_AUDIT_PUT] = "INSERT INTO audit VALUES(?1, ?2)",
	[SQL_AUDIT_TIP_PUT] = "UPDATE audit_tip SET tip = ?1 WHERE id = 1",
	[SQL_AUDIT_SUBJECT] = "SELECT account, token, fingerprint, method, path, action"
			      " FROM operation WHERE op = ?1",
	[SQL_AUDIT_RUNNING] =
		"SELECT op, random, epoch, account, token, fingerprint, method, path, action"
		" FROM operation INDEXED BY operation_open WHERE state = ?1 AND state < 5",
	[SQL_AUDIT_DROP] = "DELETE FROM audit"
			   " WHERE seq < (SELECT max(seq) FROM audit WHERE seq <= ?1)",
	[SQL_VAULT_GET] = "SELECT value FROM secret WHERE name = 'vault'",
	[SQL_VAULT_PUT] = "INSERT OR REPLACE INTO secret VALUES('vault', ?1)",
	[SQL_DOCUMENT_IS] = "SELECT count(*) FROM document WHERE kind = ?1 AND name = ?2",
	[SQL_DOCUMENT_COUNT] = "SELECT count(*) FROM document WHERE kind = ?1",
	[SQL_DOCUMENT_PUT] = "INSERT OR REPLACE INTO document VALUES(?1, ?2, ?3, ?4)",
	[SQL_DOCUMENT_DELETE] = "DELETE FROM document WHERE kind = ?1 AND name = ?2",
	[SQL_DOCUMENT_LIST] = "SELECT name, value, updated_ms FROM document WHERE kind = ?1"
			      " ORDER BY name LIMIT ?2",
	[SQL_AUDIT_FROM] = "SELECT seq, entry FROM audit WHERE seq >= "
			   "coalesce((SELECT max(seq) FROM audit WHERE seq <= ?1), ?1)"
			   " ORDER BY seq",
};

static int schema_version(sqlite3 *db, int *out_version)
{
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(statement);
	*out_version = rc == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
	sqlite3_finalize(statement);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int run_migration(sqlite3 *db, int version)
{
	char stamp[64];
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, migrations[version], NULL, NULL, NULL);
	snprintf(stamp, sizeof(stamp), "PRAGMA user_version = %d", version + 1);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, stamp, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return rc;
}

int ledger_migrate(sqlite3 *db, const char *path, char *why, size_t why_size)
{
	int version, rc = schema_version(db, &version);

	if (rc == SQLITE_OK && (version < 0 || version > MIGRATIONS)) {
		snprintf(why, why_size,
			 "%s was written by a newer counterfoil (schema %d; this one knows up to "
			 "%d): run that version, or a newer one",
			 path, version, (int)MIGRATIONS);
		return fail(FAIL_STORE);
	}
	for (; rc == SQLITE_OK && version < MIGRATIONS; version++)
		rc = run_migration(db, version);
	if (rc == SQLITE_OK)
		return 0;
	snprintf(why, why_size, "%s cannot be read or written: %s", path, sqlite3_errmsg(db));
	return fail(FAIL_STORE);
}
