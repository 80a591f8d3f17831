/*
 * counterfoil audit rotate, audit erase: the keys of the audit log change.
 *
 * The gate that runs does both, in the order that a crash cannot harm; here it is only asked. Where
 * none runs, the store is opened in its place (audit_here.h).
 */
#include "base/err.h"
#include "cli/admin_call.h"
#include "cli/audit_here.h"
#include "cli/command.h"
#include "store/look.h"
#include "json/json.h"

#include <inttypes.h>

/* The options of where the gate is, ADMIN_OPTIONS, come after. */
enum { ROTATE_WHY, ROTATE_OPTIONS };
enum { ERASE_EPOCH, ERASE_PRUNE, ERASE_WHY, ERASE_OPTIONS };
enum { WHERE_DATA, WHERE_CONFIG, WHERE_ADMIN, WHERE_KEY_FILE };
enum { EPOCH_BODY_MAX = 16 * 1024, EPOCHS_MAX = 4096 };

static const struct command_option rotate_options[] = {
	{"--why", "TEXT", "the reason, an entry of the log"},
	ADMIN_OPTIONS,
};

static const struct command_option erase_options[] = {
	{"--epoch", "N", "the epoch whose data key goes; it must have ended"},
	{"--prune", NULL, "take its entries away too; their hashes stay"},
	{"--why", "TEXT", "the reason, an entry of the log"},
	ADMIN_OPTIONS,
};

/* Do it `here` where a data directory is named, or found, that no gate has; else a gate is asked.
 */
static int run_where(const struct command_call *call, int first_option,
		     int (*here)(const struct command_call *call, const struct data_place *place),
		     int (*there)(const struct command_call *call))
{
	const char *const *where = &call->options[first_option];
	struct data_place place;
	int status;

	if (where[WHERE_ADMIN] || where[WHERE_KEY_FILE])
		return there(call);
	status = data_place_find(where[WHERE_CONFIG], where[WHERE_DATA], &place);
	if (status == EXIT_DONE)
		status = store_rests(place.data) ? here(call, &place) : there(call);
	data_place_fini(&place);
	return status;
}

/* The epoch that the answer is about; -1: it says none. */
static long long epoch_of(const struct admin_client *client)
{
	const struct json_value *epoch = json_member(client->json, STR("epoch"));
	int64_t number;

	return epoch && epoch->type == JSON_NUMBER && json_number_to_i64(&epoch->number, &number)
		       ? number
		       : -1;
}

static void begin_body(struct json_writer *json, struct buf *body)
{
	buf_init(body, EPOCH_BODY_MAX);
	json_writer_init(json, body);
	json_open_object(json);
}

static void end_body(struct json_writer *json, const char *why)
{
	if (why)
		json_pair(json, "why", str_from(why));
	json_close_object(json);
}

/* -- ending one ---------------------------------------------------------------------- */

static int rotate_here(const struct command_call *call, const struct data_place *place)
{
	uint32_t epoch;
	bool is_erased;
	int status = audit_rotate_here(place, call->options[ROTATE_WHY], &epoch, &is_erased);

	if (status != EXIT_DONE)
		return status;
	if (admin_wants_json(call))
		printf("{\"epoch\":%" PRIu32 "}\n", epoch);
	else
		printf("epoch %" PRIu32 " has begun; the key before it %s\n", epoch,
		       is_erased ? "has signed its last checkpoint and is erased"
				 : "is still there, until the next start publishes its last");
	return status;
}

static void print_begun(const struct command_call *call, struct admin_client *client)
{
	printf("epoch %lld has begun; the key before it signs its last checkpoint and is erased\n",
	       epoch_of(client));
}

static int rotate_there(const struct command_call *call)
{
	struct json_writer json;
	struct buf body;

	begin_body(&json, &body);
	end_body(&json, call->options[ROTATE_WHY]);
	return admin_call_take_body(call, STR("/api/audit/rotate"), &body, print_begun);
}

static int run_rotate(const struct command_call *call)
{
	return run_where(call, ROTATE_OPTIONS, rotate_here, rotate_there);
}

/* -- erasing one --------------------------------------------------------------------- */

static bool read_epoch(const struct command_call *call, uint64_t *out_epoch)
{
	const char *epoch = call->options[ERASE_EPOCH];

	return epoch && str_to_u64(str_from(epoch), EPOCHS_MAX - 1, out_epoch);
}

static int erase_here(const struct command_call *call, const struct data_place *place)
{
	bool prunes = call->options[ERASE_PRUNE] != NULL, is_erased;
	uint64_t epoch = 0;
	int status;

	require(read_epoch(call, &epoch));
	status = audit_erase_here(place, (uint32_t)epoch, prunes, call->options[ERASE_WHY],
				  &is_erased);
	if (status != EXIT_DONE)
		return status;
	if (admin_wants_json(call))
		printf("{\"epoch\":%" PRIu64 ",\"pruned\":%s}\n", epoch, prunes ? "true" : "false");
	else
		printf("the data key of epoch %" PRIu64 " is erased %s; copies of it are yours to "
		       "erase\n",
		       epoch, is_erased ? "here" : "by the next start");
	return status;
}

static void print_erased(const struct command_call *call, struct admin_client *client)
{
	printf("the data key of epoch %lld is erased here; copies of it are yours to erase\n",
	       epoch_of(client));
}

static int erase_there(const struct command_call *call)
{
	struct json_writer json;
	uint64_t epoch = 0;
	struct buf body;

	require(read_epoch(call, &epoch));
	begin_body(&json, &body);
	json_name(&json, "epoch");
	json_integer(&json, (int64_t)epoch);
	json_name(&json, "prune");
	json_boolean(&json, call->options[ERASE_PRUNE] != NULL);
	end_body(&json, call->options[ERASE_WHY]);
	return admin_call_take_body(call, STR("/api/audit/erase"), &body, print_erased);
}

static int run_erase(const struct command_call *call)
{
	uint64_t epoch;

	if (!read_epoch(call, &epoch))
		return command_misused(call->command, "--epoch is the number of an epoch that has "
						      "ended");
	return run_where(call, ERASE_OPTIONS, erase_here, erase_there);
}

const struct command command_audit_rotate = {
	.name = "audit rotate",
	.summary = "ends the audit log's epoch: a new signing key and a new data key",
	.usage = "[--why TEXT] [--data DIR | --config FILE | --admin URL] [--json]",
	.text = "The running gate vouches for the new key with the old one, seals the epoch, "
		"signs\n"
		"a last checkpoint and erases the old key: who steals today's cannot rewrite what\n"
		"came before. The first verifier key checks all epochs. Where no gate runs it is "
		"done\n"
		"on the data directory itself; --config says then where the master key is, and to\n"
		"which anchors the last checkpoint goes.\n",
	.options = rotate_options,
	.option_count = sizeof(rotate_options) / sizeof(rotate_options[0]),
	.run = run_rotate,
};

const struct command command_audit_erase = {
	.name = "audit erase",
	.summary = "erases the data key of an epoch that has ended: nobody reads it any more",
	.usage = "--epoch N [--prune] [--why TEXT]\n"
		 "           [--data DIR | --config FILE | --admin URL] [--json]",
	.text = "The log says so in an entry, and verifies as before. It cannot be undone; copies\n"
		"of the key, in a backup say, are not found by the gate. Where no gate runs it is\n"
		"done on the data directory itself, as audit rotate does.\n",
	.options = erase_options,
	.option_count = sizeof(erase_options) / sizeof(erase_options[0]),
	.run = run_erase,
};
