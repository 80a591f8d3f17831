/*
 * counterfoil audit rotate, audit erase: the keys of the audit log change.
 *
 * The gate that runs does both, in the order that a crash cannot harm; here it is only asked. Where
 * none runs, rotate opens the store in its place.
 */
#include "cli/admin_call.h"
#include "cli/audit_rotate.h"
#include "cli/command.h"
#include "store/look.h"
#include "json/json.h"

#include <inttypes.h>

/* The options of where the gate is, ADMIN_OPTIONS, come after. */
enum { ROTATE_WHY, ROTATE_DATA, ROTATE_CONFIG, ROTATE_ADMIN, ROTATE_KEY_FILE };
enum { ERASE_EPOCH, ERASE_PRUNE, ERASE_WHY };
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

/* The epoch that the answer is about; -1: it says none. */
static long long epoch_of(const struct admin_client *client)
{
	const struct json_value *epoch = json_member(client->json, STR("epoch"));
	int64_t number;

	return epoch && epoch->type == JSON_NUMBER && json_number_to_i64(&epoch->number, &number)
		       ? number
		       : -1;
}

static void print_begun(const struct command_call *call, struct admin_client *client)
{
	printf("epoch %lld has begun; the key before it signs its last checkpoint and is erased\n",
	       epoch_of(client));
}

static void print_erased(const struct command_call *call, struct admin_client *client)
{
	printf("the data key of epoch %lld is erased here; copies of it are yours to erase\n",
	       epoch_of(client));
}

static void write_why(struct json_writer *json, const char *why)
{
	if (!why)
		return;
	json_name(json, "why");
	json_text(json, why);
}

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

static int rotate_there(const struct command_call *call)
{
	struct json_writer json;
	struct buf body;

	buf_init(&body, EPOCH_BODY_MAX);
	json_writer_init(&json, &body);
	json_open_object(&json);
	write_why(&json, call->options[ROTATE_WHY]);
	json_close_object(&json);
	return admin_call_take_body(call, STR("/api/audit/rotate"), &body, print_begun);
}

static int run_rotate(const struct command_call *call)
{
	struct data_place place;
	int status;

	if (call->options[ROTATE_ADMIN] || call->options[ROTATE_KEY_FILE])
		return rotate_there(call);
	status = data_place_find(call->options[ROTATE_CONFIG], call->options[ROTATE_DATA], &place);
	if (status == EXIT_DONE)
		status = store_rests(place.data) ? rotate_here(call, &place) : rotate_there(call);
	data_place_fini(&place);
	return status;
}

static int run_erase(const struct command_call *call)
{
	const char *epoch = call->options[ERASE_EPOCH];
	struct json_writer json;
	uint64_t number;
	struct buf body;

	if (!epoch || !str_to_u64(str_from(epoch), EPOCHS_MAX - 1, &number))
		return command_misused(call->command, "--epoch is the number of an epoch that has "
						      "ended");
	buf_init(&body, EPOCH_BODY_MAX);
	json_writer_init(&json, &body);
	json_open_object(&json);
	json_name(&json, "epoch");
	json_integer(&json, (int64_t)number);
	json_name(&json, "prune");
	json_boolean(&json, call->options[ERASE_PRUNE] != NULL);
	write_why(&json, call->options[ERASE_WHY]);
	json_close_object(&json);
	return admin_call_take_body(call, STR("/api/audit/erase"), &body, print_erased);
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
		"of the key, in a backup say, are not found by the gate.\n",
	.options = erase_options,
	.option_count = sizeof(erase_options) / sizeof(erase_options[0]),
	.run = run_erase,
};
