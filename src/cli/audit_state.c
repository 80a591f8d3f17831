/*
 * What each operation is, by its entries alone; and what the store says it is.
 *
 * Entries are replayed in their order: the last one that moved an operation says its state and the
 * number of its sending, the last one with an answer says that. All are kept in memory, some
 * hundred bytes each, in a table by id; what the store has is looked up in it, row by row, and what
 * is left over must have ended: then its time was over and it has been forgotten.
 *
 * Where keys are erased, operations may have entries that nobody can read: one that the store has
 * and no entry speaks of is then counted, not blamed.
 */
#include "cli/audit_state.h"

#include "base/err.h"
#include "cli/audit_read.h"
#include "cli/command.h"
#include "store/look.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOLD_ROOM_FIRST = 1024, TOLD_ROOM_MAX = 1 << 26 };

struct told {
	struct operation_id id;
	bool is_there, is_met;
	enum operation_state state;
	uint32_t epoch;
	struct hash whose; /* of account and token */
	struct hash fingerprint;
	int status;
	struct hash digest;
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

static void take_in(struct told *told, const struct json_value *value)
{
	struct str digest = audit_member(value, "digest");
	int64_t status = number_of(value, "status");

	(void)read_hex(audit_member(value, "fingerprint"), &told->fingerprint);
	hash_whose(audit_member(value, "account"), audit_member(value, "token"), &told->whose);
	if (operation_state_from(audit_member(value, "to"), &told->state)) {
		told->epoch = (uint32_t)number_of(value, "epoch");
		told->status = 0;
	}
	if (status && read_hex(digest, &told->digest))
		told->status = (int)status;
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
	take_in(told, record->value);
	return 0;
}

/* -- against the store ------------------------------------------------------------- */

static void say(struct comparison *all, const struct operation_id *id, const char *what,
		const char *in_log, const char *in_store)
{
	char text[OPERATION_ID_TEXT + 1];

	operation_id_write(id, text);
	if (all->is_json)
		printf("{\"operation\":\"%s\",\"differs\":\"%s\",\"log\":\"%s\",\"store\":\"%s\"}"
		       "\n",
		       text, what, in_log, in_store);
	else
		printf("%s  %s: the log says %s, the store %s\n", text, what, in_log, in_store);
}

static const char *state_text(enum operation_state state)
{
	return state ? operation_state_name(state) : "nothing";
}

/* NULL, or what they differ in; with what either says. */
static const char *compare(const struct told *told, const struct store_operation *operation,
			   char in_log[24], char in_store[24])
{
	struct hash whose;

	hash_whose(operation->account, operation->token, &whose);
	snprintf(in_log, 24, "%s", state_text(told->state));
	snprintf(in_store, 24, "%s", state_text(operation->state));
	if (told->state != operation->state)
		return "state";
	snprintf(in_log, 24, "%u", (unsigned)told->epoch);
	snprintf(in_store, 24, "%u", (unsigned)operation->epoch);
	if (told->epoch != operation->epoch)
		return "epoch";
	snprintf(in_log, 24, "one");
	snprintf(in_store, 24, "another");
	if (!hash_equal(&told->whose, &whose))
		return "account or token";
	if (!hash_equal(&told->fingerprint, &operation->fingerprint))
		return "fingerprint";
	if (operation->answer.status && told->status == operation->answer.status &&
	    !hash_equal(&told->digest, &operation->answer.digest))
		return "answer";
	snprintf(in_log, 24, "%d", told->status);
	snprintf(in_store, 24, "%d", operation->answer.status);
	return operation->answer.status && told->status != operation->answer.status ? "status"
										    : NULL;
}

static int meet(void *state, const struct store_operation *operation)
{
	struct comparison *all = state;
	struct told *told = all->room ? place_of(all->table, all->room, &operation->id) : NULL;
	char in_log[24] = "nothing", in_store[24];
	const char *what = "state";

	all->counts->operations++;
	if (!told || !told->is_there) {
		if (all->has_unreadable) {
			all->counts->untold++;
			return 0;
		}
		snprintf(in_store, sizeof(in_store), "%s", state_text(operation->state));
	} else {
		told->is_met = true;
		what = compare(told, operation, in_log, in_store);
	}
	if (what) {
		all->counts->different++;
		say(all, &operation->id, what, in_log, in_store);
	}
	return 0;
}

/* Only what has ended is ever forgotten. */
static void meet_rest(struct comparison *all)
{
	for (size_t i = 0; i < all->room; i++) {
		const struct told *told = &all->table[i];

		if (!told->is_there || told->is_met)
			continue;
		if (operation_is_terminal(told->state)) {
			all->counts->forgotten++;
			continue;
		}
		all->counts->different++;
		say(all, &told->id, "state", state_text(told->state), "nothing");
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
	int r = audit_read(&reading);

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
	free(all.table);
	store_look_close(all.look);
	vault_close(vault);
	return r;
}
