/*
 * What the vault seals of the ledger: answers, kept requests, questions, values of documents.
 *
 * Several texts of one row are sealed as one: their lengths, four bytes each, and then the texts.
 * The row's key is part of the seal, so that a row that was moved or copied over another is not
 * believed. What is looked for stays in clear: accounts, tokens, paths, names, times, and what the
 * service calls an effect.
 *
 * The file remembers its vault by a word that is sealed in it, with the newest key at each start: a
 * vault that cannot open that word is another one, or an older copy, and nothing is begun with it.
 */
#include "store/ledger.h"

#include "base/err.h"

#include <stdio.h>

enum { KEPT_MAX = 1 << 20 }; /* a buffer that grew larger is not kept */

static const struct vault_place word_place = {"vault", 0, {"", 0}};
static const char word[] = "counterfoil";

void bind_blob(sqlite3_stmt *statement, int column, struct str bytes)
{
	sqlite3_bind_blob(statement, column, bytes.len ? bytes.at : "", (int)bytes.len,
			  SQLITE_STATIC);
}

bool column_is_sealed(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_BLOB;
}

static void put_length(size_t length, uint8_t out[4])
{
	for (size_t i = 0; i < 4; i++)
		out[i] = (uint8_t)(length >> (24 - 8 * i));
}

int ledger_seal(struct ledger *ledger, struct vault_place place, const struct str *texts,
		size_t count, struct str *out_sealed)
{
	struct str parts[SEALED_TEXTS_MAX + 1];
	uint8_t lengths[4 * SEALED_TEXTS_MAX];

	require(count >= 1 && count <= SEALED_TEXTS_MAX);
	if (ledger->sealed.capacity > KEPT_MAX)
		buf_fini(&ledger->sealed);
	buf_clear(&ledger->sealed);
	for (size_t i = 0; i < count; i++) {
		require(texts[i].len <= INT32_MAX);
		put_length(texts[i].len, lengths + 4 * i);
		parts[i + 1] = texts[i];
	}
	parts[0] = str_of((const char *)lengths, 4 * count);
	vault_seal_parts(ledger->vault, place, parts, count + 1, &ledger->sealed);
	if (ledger->sealed.is_spoiled)
		return fail(FAIL_UNPLANNED);
	*out_sealed = buf_str(&ledger->sealed);
	return 0;
}

static bool take_apart(struct str plain, struct str *out_texts, size_t count)
{
	const uint8_t *bytes = (const uint8_t *)plain.at;
	size_t at = 4 * count;

	if (plain.len < at)
		return false;
	for (size_t i = 0; i < count; i++, bytes += 4) {
		size_t len = (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 |
			     (size_t)bytes[2] << 8 | bytes[3];

		if (len > plain.len - at)
			return false;
		out_texts[i] = str_of(plain.at + at, len);
		at += len;
	}
	return at == plain.len;
}

static int unreadable(struct ledger *ledger, struct vault_place place, int r)
{
	struct log_line line;

	log_begin(&line, ledger->log, LOG_ERROR, "store_not_unsealed");
	log_text(&line, "kind", place.kind);
	log_int(&line, "row", place.number);
	log_text(&line, "why",
		 r == VAULT_NO_KEY ? "its data key is not in keys/vault.json"
				   : "it is not what was sealed there");
	log_end(&line);
	return fail(FAIL_UNPLANNED);
}

int ledger_unseal(struct ledger *ledger, struct vault_place place, struct str sealed,
		  struct arena *mem, struct str *out_texts, size_t count)
{
	struct str plain;
	int r = ledger->vault ? vault_unseal(ledger->vault, place, sealed, mem, &plain)
			      : VAULT_NO_KEY;

	if (r == 0 && !take_apart(plain, out_texts, count))
		r = VAULT_FALSE;
	return r > 0 ? unreadable(ledger, place, r) : r;
}

int ledger_bind_sealed(struct ledger *ledger, sqlite3_stmt *statement, int column,
		       struct vault_place place, struct str text)
{
	struct str sealed;
	int r;

	if (!ledger->vault) {
		bind_str(statement, column, text);
		return 0;
	}
	r = ledger_seal(ledger, place, &text, 1, &sealed);
	if (r == 0)
		bind_blob(statement, column, sealed);
	return r;
}

int ledger_column_unsealed(struct ledger *ledger, sqlite3_stmt *row, int column,
			   struct vault_place place, struct arena *mem, struct str *out_text)
{
	bool is_full = false;

	if (column_is_sealed(row, column))
		return ledger_unseal(ledger, place, column_bytes(row, column), mem, out_text, 1);
	*out_text = column_str(row, column, mem, &is_full);
	return is_full ? FAIL_MEMORY : 0;
}

/* -- whose file it is -------------------------------------------------------------- */

static int put_word(struct ledger *ledger)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_VAULT_PUT);
	int r = ledger_bind_sealed(ledger, put, 1, word_place, str_from(word));

	return r == 0 ? ledger_run(ledger, put) : r;
}

/* 0: it opens, or there is none yet; VAULT_FALSE, VAULT_NO_KEY. *out_key sealed it; 0: none. */
static int read_word(struct ledger *ledger, uint32_t *out_key)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_VAULT_GET);
	struct arena mem;
	struct str plain;
	int r = ledger_step(ledger, get);

	if (r <= 0)
		return r;
	arena_init(&mem, 1024);
	*out_key = vault_key_of(column_bytes(get, 0));
	r = ledger->vault
		    ? vault_unseal(ledger->vault, word_place, column_bytes(get, 0), &mem, &plain)
		    : VAULT_NO_KEY;
	sqlite3_reset(get);
	arena_fini(&mem);
	return r;
}

int ledger_check_vault(struct ledger *ledger, char *why, size_t why_size)
{
	uint32_t key = 0;
	int r = read_word(ledger, &key);

	if (r > 0) {
		snprintf(why, why_size,
			 "%s was sealed with data keys that keys/vault.json does not have: put "
			 "that file back from your newest copy",
			 ledger->path);
		return FAIL_STORE;
	}
	if (r == 0 && ledger->vault && key != vault_newest_key(ledger->vault))
		r = put_word(ledger);
	if (r < 0)
		snprintf(why, why_size, "%s cannot be written", ledger->path);
	return r;
}
