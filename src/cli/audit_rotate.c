/*
 * The gate's own steps, without the gate (see audit_rotate.h).
 *
 * The store is opened with the same keys, anchors and witnesses, so that whatever would keep a gate
 * from starting is said here and nothing is changed. Closing it publishes all that is there, and
 * that is when the old key signs its last and goes. A crash at any moment leaves what the next
 * start goes on from (store/ledger_epoch.c).
 */
#include "cli/audit_rotate.h"

#include "audit/keys.h"
#include "base/log.h"
#include "cli/command.h"
#include "gate/gate.h"
#include "net/client.h"

#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	TRIES_MAX = 200, /* while an end before this one is being published */
	PAUSE_NS = 50 * 1000 * 1000,
};

static struct store_audit audit_of(const struct settings *settings)
{
	return (struct store_audit){
		.origin = settings->audit.origin,
		.anchors = settings->audit.anchors.texts,
		.anchor_count = settings->audit.anchors.count,
		.witnesses = settings->audit.witnesses.texts,
		.witness_count = settings->audit.witnesses.count,
	};
}

/* EXIT_DONE, or the exit status after a message. */
static int open_store(const struct data_place *place, struct vault *vault, struct log *log,
		      struct store **out_store)
{
	const struct store_audit audit =
		place->settings ? audit_of(place->settings) : (struct store_audit){0};
	const struct store_options options = {.audit = &audit, .vault = vault};
	uint64_t interrupted = 0;
	char why[DATA_PATH_MAX + 512] = "";

	if (store_open_sqlite(place->data, &options, &env_machine, log, out_store, &interrupted,
			      why, sizeof(why)) != 0) {
		command_message("%s", why);
		return EXIT_NOT_SO;
	}
	if (interrupted)
		command_message("%" PRIu64 " operations were running when the gate stopped: nobody "
				"knows what became of them, and they are unknown now",
				interrupted);
	return EXIT_DONE;
}

/* What keeps an epoch from ending, as a text; NULL: nothing. */
static const char *against(const struct store_command *command)
{
	switch (command->result) {
	case 0:
		return NULL;
	case STORE_LOST:
		return "the last epoch's end cannot be published; the log's folder says why it "
		       "does not grow";
	case STORE_FULL:
		return "the log has as many epochs as it can have";
	case STORE_ABSENT:
		return "the next epoch's keys cannot be made";
	default:
		return "the store could not write it; nothing has changed";
	}
}

static int rotate(struct store *store, const char *reason, uint32_t *out_epoch)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct store_command command = {
		.kind = STORE_ROTATE,
		.operation = {.decided_by = STR("operator"),
			      .reason = str_from(reason ? reason : "")},
	};
	struct arena mem;

	arena_init(&mem, 1 << 20);
	command.mem = &mem;
	gate_ask_now(store, &command);
	for (int i = 0; i < TRIES_MAX && command.result == STORE_LOST; i++) {
		nanosleep(&pause, NULL);
		gate_ask_now(store, &command);
	}
	arena_fini(&mem);
	if (against(&command)) {
		command_message("%s", against(&command));
		return EXIT_NOT_SO;
	}
	*out_epoch = command.log_epoch;
	return EXIT_DONE;
}

static bool is_erased(const struct data_place *place, struct vault *vault, uint32_t epoch)
{
	uint8_t seed[NOTE_SEED_SIZE];
	char why[DATA_PATH_MAX + 512];
	int r = audit_seed_read(place->keys, vault, epoch, seed, why, sizeof(why));

	sodium_memzero(seed, sizeof(seed));
	return r == KEYS_ABSENT;
}

/* EXIT_DONE, or the exit status after a message. */
static int open_vault(const struct data_place *place, struct vault **out_vault)
{
	int status = data_place_vault(place, out_vault);

	if (status != EXIT_DONE || *out_vault)
		return status;
	command_message("there is no vault in %s: a gate makes one when it starts", place->keys);
	return EXIT_NOT_SO;
}

int audit_rotate_here(const struct data_place *place, const char *reason, uint32_t *out_epoch,
		      bool *out_is_erased)
{
	const struct rlimit none = {0, 0};
	struct vault *vault = NULL;
	struct store *store = NULL;
	struct log *log = log_new(&env_machine, STDERR_FILENO, LOG_WARNING);
	int status = open_vault(place, &vault);

	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_CORE, &none); /* keys that sign are in memory */
	if (status == EXIT_DONE && client_init_process() != 0)
		status = EXIT_NOT_SO;
	if (status == EXIT_DONE)
		status = open_store(place, vault, log, &store);
	if (status == EXIT_DONE)
		status = rotate(store, reason, out_epoch);
	store_close(store);
	if (status == EXIT_DONE)
		*out_is_erased = is_erased(place, vault, *out_epoch - 1);
	vault_close(vault);
	log_free(log);
	return status;
}
