/*
 * What each operation is, by its entries alone; and what the store says it is.
 *
 * Entries are replayed in their order: the last one that moved an operation says its state and the
 * number of its sending, the last one with an answer says that, and the last one with a reference
 * what the service calls the effect. All are kept in memory, some
 * hundred bytes each, in a table by id; what the store has is looked up in it, row by row, and what
 * is left over must have ended: then its time was over and it has been forgotten.
 *
 * Where keys are erased, operations may have entries that nobody can read: one that the store has
 * and no entry speaks of is then counted, not blamed.
 */
#include "cli/audit_state.h"

#include "base/err.h"
#include "base/terminal.h"
#include "cli/audit_read.h"
#include "cli/command.h"
#include "store/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOLD_ROOM_FIRST = 1024, TOLD_ROOM_MAX = 1 << 26 };

struct told_text {
	char *at; /* NULL: none was told */
	size_t len;
};

struct told {
	struct operation_id id;
	bool is_there, is_met;
	enum operation_state state;
	uint32_t epoch;
	struct hash whose; /* of account and token */
	struct hash fingerprint;
	int status;
	struct hash digest;
	struct told_text reference, resource;
};

struct comparison {
	struct audit_state *counts;
	struct store_look *look;
	bool is_json, has_unreadable;
	struct told *table; /* open addressing; room is a power of two */
	size_t room, count;
};

/* -- the table --------------------------------------------------------------------- */

/* Its place, or the free one where it would be. The end of an id is random. */
static struct told *place_of(struct told *table, size_t room, const struct operation_id *id)
{
	uint64_t start;
	size_t at;

	memcpy(&start, id->bytes + OPERATION_ID_SIZE - sizeof(start), sizeof(start));
	for (at = (size_t)start & (room - 1); table[at].is_there; at = (at + 1) & (room - 1))
		if (memcmp(&table[at].id, id, sizeof(*id)) == 0)
			break;
	return &table[at];
}

static int make_room(struct comparison *all)
{
	size_t room = all->room ? 2 * all->room : TOLD_ROOM_FIRST;
	struct told *table;

	if (2 * (all->count + 1) <= all->room)
		return 0;
	table = room <= TOLD_ROOM_MAX ? calloc(room, sizeof(*table)) : NULL;
	if (!table)
		return fail(FAIL_MEMORY);
	for (size_t i = 0; i < all->room; i++)
		if (all->table[i].is_there)
			*place_of(table, room, &all->table[i].id) = all->table[i];
	free(all->table);
	all->table = table;
	all->room = room;
	return 0;
}

static void free_table(struct comparison *all)
{
	for (size_t i = 0; i < all->room; i++) {
		free(all->table[i].reference.at);
		free(all->table[i].resource.at);
	}
	free(all->table);
}

/* -- from the log ------------------------------------------------------------------ */

static void hash_whose(struct str account, struct str token, struct hash *out_hash)
{
	struct hasher hasher;

	hasher_init(&hasher);
	hasher_add(&hasher, account.at, account.len);
	hasher_add(&hasher, "", 1);
	hasher_add(&hasher, token.at, token.len);
	hasher_end(&hasher, out_hash);
}

static int64_t number_of(const struct json_value *value, const char *name)
{
	const struct json_value *member = json_member(value, str_from(name));
	int64_t number;

	return member && member->type == JSON_NUMBER && json_number_to_i64(&member->number, &number)
		       ? number
		       : 0;
}

static int digit_of(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = character ? strchr(digits, character) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool read_hex(struct str text, struct hash *out_hash)
{
	if (text.len != 2 * (size_t)HASH_SIZE)
		return false;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		int high = digit_of(text.at[2 * i]), low = digit_of(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out_hash->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* One that is not told leaves the one before as it is, as in the store. 0, FAIL_MEMORY. */
static int take_text(struct told_text *told, const struct json_value *value, const char *name)
{
	struct str text = audit_member(value, name);
	char *copy;

	if (!text.len)
		return 0;
	copy = malloc(text.len);
	if (!copy)
		return fail(FAIL_MEMORY);
	memcpy(copy, text.at, text.len);
	free(told->at);
	*told = (struct told_text){copy, text.len};
	return 0;
}

static int take_in(struct told *told, const struct json_value *value)
{
	struct str digest = audit_member(value, "digest");
	int64_t status = number_of(value, "status");
	int r;

	(void)read_hex(audit_member(value, "fingerprint"), &told->fingerprint);
	hash_whose(audit_member(value, "account"), audit_member(value, "token"), &told->whose);
	if (operation_state_from(audit_member(value, "to"), &told->state)) {
		told->epoch = (uint32_t)number_of(value, "epoch");
		told->status = 0;
	}
	if (status && read_hex(digest, &told->digest))
		told->status = (int)status;
	r = take_text(&told->reference, value, "reference");
	return r == 0 ? take_text(&told->resource, value, "resource") : r;
}

static int replay(void *state, const struct audit_record *record)
{
	struct comparison *all = state;
	struct operation_id id;
	struct told *told;
	int r;

	if (!record->value || !operation_id_read(audit_member(record->value, "operation"), &id))
		return 0;
	r = make_room(all);
	if (r != 0)
		return r;
	told = place_of(all->table, all->room, &id);
	if (!told->is_there) {
		told->is_there = true;
		told->id = id;
		all->count++;
	}
	return take_in(told, record->value);
}

/* -- against the store ------------------------------------------------------------- */

enum { NUMBER_TEXT = 24, SAID_MAX = 64 * 1024 };

/* What an operation differs in, and what either side has there. */
struct difference {
	const char *what;
	struct str in_log, in_store;
	char log_number[NUMBER_TEXT], store_number[NUMBER_TEXT];
};

static void write_json(const char *id, const struct difference *difference, struct buf *out)
{
	struct json_writer json;

	json_writer_init(&json, out);
	json_open_object(&json);
	json_name(&json, "operation");
	json_text(&json, id);
	json_name(&json, "differs");
	json_text(&json, difference->what);
	json_name(&json, "log");
	json_string(&json, difference->in_log);
	json_name(&json, "store");
	json_string(&json, difference->in_store);
	json_close_object(&json);
}

/* References are a service's texts: a terminal does not obey them. */
static void say(struct comparison *all, const struct operation_id *id,
		const struct difference *difference)
{
	char text[OPERATION_ID_TEXT + 1];
	struct buf out, line;

	buf_init(&out, SAID_MAX);
	buf_init(&line, SAID_MAX);
	operation_id_write(id, text);
	if (all->is_json) {
		write_json(text, difference, &line);
		terminal_append_json(&out, buf_str(&line));
	} else {
		buf_printf(&out, "%s  %s: the log says ", text, difference->what);
		terminal_append(&out, difference->in_log);
		buf_append_str(&out, STR(", the store "));
		terminal_append(&out, difference->in_store);
	}
	buf_append_byte(&out, '\n');
	(void)fwrite(out.at, 1, out.len, stdout);
	buf_fini(&line);
	buf_fini(&out);
}

static bool differs(struct difference *out, const char *what, struct str in_log,
		    struct str in_store)
{
	out->what = what;
	out->in_log = in_log.len ? in_log : STR("nothing");
	out->in_store = in_store.len ? in_store : STR("nothing");
	return true;
}

static bool differ_numbers(struct difference *out, const char *what, int64_t in_log,
			   int64_t in_store)
{
	if (in_log == in_store)
		return false;
	snprintf(out->log_number, NUMBER_TEXT, "%" PRId64, in_log);
	snprintf(out->store_number, NUMBER_TEXT, "%" PRId64, in_store);
	return differs(out, what, str_from(out->log_number), str_from(out->store_number));
}

static bool differ_hashes(struct difference *out, const char *what, const struct hash *in_log,
			  const struct hash *in_store)
{
	return !hash_equal(in_log, in_store) && differs(out, what, STR("one"), STR("another"));
}

static bool differ_texts(struct difference *out, const char *what, const struct told_text *in_log,
			 struct str in_store)
{
	struct str text = str_of(in_log->at ? in_log->at : "", in_log->len);

	return !str_equal(text, in_store) && differs(out, what, text, in_store);
}

static struct str state_text(enum operation_state state)
{
	return state ? str_from(operation_state_name(state)) : STR("");
}

static bool differ_answers(struct difference *out, const struct told *told,
			   const struct store_answer *answer)
{
	if (!answer->status)
		return false;
	if (told->status == answer->status)
		return differ_hashes(out, "answer", &told->digest, &answer->digest);
	return differ_numbers(out, "status", told->status, answer->status);
}

/* What the service calls the effect; what nobody can read any more may have said it. */
static bool differ_effects(struct difference *out, const struct comparison *all,
			   const struct told *told, const struct store_operation *operation)
{
	bool may_be_unread = all->has_unreadable;

	if (!(may_be_unread && !told->reference.len) &&
	    differ_texts(out, "reference", &told->reference, operation->reference))
		return true;
	return !(may_be_unread && !told->resource.len) &&
	       differ_texts(out, "resource", &told->resource, operation->resource);
}

static bool compare(const struct comparison *all, const struct told *told,
		    const struct store_operation *operation, struct difference *out)
{
	struct hash whose;

	hash_whose(operation->account, operation->token, &whose);
	if (told->state != operation->state)
		return differs(out, "state", state_text(told->state), state_text(operation->state));
	return differ_numbers(out, "epoch", told->epoch, operation->epoch) ||
	       differ_hashes(out, "account or token", &told->whose, &whose) ||
	       differ_hashes(out, "fingerprint", &told->fingerprint, &operation->fingerprint) ||
	       differ_answers(out, told, &operation->answer) ||
	       differ_effects(out, all, told, operation);
}

static int meet(void *state, const struct store_operation *operation)
{
	struct comparison *all = state;
	struct told *told = all->room ? place_of(all->table, all->room, &operation->id) : NULL;
	bool is_told = told && told->is_there;
	struct difference difference;
	bool is_different;

	all->counts->operations++;
	if (is_told)
		told->is_met = true;
	if (all->has_unreadable && !(is_told && told->state)) {
		all->counts->untold++;
		return 0;
	}
	is_different =
		is_told ? compare(all, told, operation, &difference)
			: differs(&difference, "state", STR(""), state_text(operation->state));
	if (is_different) {
		all->counts->different++;
		say(all, &operation->id, &difference);
	}
	return 0;
}

/* Only what has ended is ever forgotten. */
static void meet_rest(struct comparison *all)
{
	struct difference difference;

	for (size_t i = 0; i < all->room; i++) {
		const struct told *told = &all->table[i];

		if (!told->is_there || told->is_met)
			continue;
		if (operation_is_terminal(told->state) || (all->has_unreadable && !told->state)) {
			all->counts->forgotten++;
			continue;
		}
		all->counts->different++;
		(void)differs(&difference, "state", state_text(told->state), STR(""));
		say(all, &told->id, &difference);
	}
}

/* -- all of it --------------------------------------------------------------------- */

static int read_rest(void *state, uint64_t from, int (*tell)(void *state, struct str bytes),
		     void *tell_state)
{
	struct comparison *all = state;

	return store_look_entries(all->look, from, tell, tell_state);
}

static int compare_all(struct comparison *all, const char *directory, struct vault *vault)
{
	struct audit_reading reading = {.data = directory,
					.vault = vault,
					.on_record = replay,
					.state = all,
					.read_rest = read_rest};
	int r = store_look_first_entry(all->look, &reading.rest_from);

	if (r == 0)
		r = audit_read(&reading);
	all->has_unreadable = reading.unreadable || reading.erased || reading.pruned;
	if (r == 0)
		r = store_look_operations(all->look, meet, all);
	if (r == 0)
		meet_rest(all);
	else
		command_message("operations and entries could not be compared: %s", fail_text(r));
	return r;
}

int audit_state_compare(const struct data_place *place, bool is_json, struct audit_state *out_state)
{
	struct comparison all = {.counts = out_state, .is_json = is_json};
	struct vault *vault = NULL;
	char why[512] = "";
	int r;

	*out_state = (struct audit_state){0};
	if (data_place_vault(place, &vault) != EXIT_DONE)
		return FAIL_STORE;
	r = store_look_open(place->data, &all.look, why, sizeof(why));
	if (r == 0)
		r = compare_all(&all, place->data, vault);
	else
		command_message("%s", why);
	free_table(&all);
	store_look_close(all.look);
	vault_close(vault);
	return r;
}
