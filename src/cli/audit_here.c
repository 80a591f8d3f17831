/*
 * The gate's own steps, without the gate (see audit_here.h).
 *
 * The store is opened with the same keys, anchors and witnesses, so that whatever would keep a gate
 * from starting is said here and nothing is changed. Closing it publishes all that is there, and
 * that is when an old key signs its last and goes, and entries whose key is erased are taken away.
 * A crash at any moment leaves what the next start goes on from (store/ledger_epoch.c).
 */
#include "cli/audit_here.h"

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
	COMMAND_MEMORY = 1 << 20,
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
static int open_vault(const struct data_place *place, struct vault **out_vault)
{
	int status = data_place_vault(place, out_vault);

	if (status != EXIT_DONE || *out_vault)
		return status;
	command_message("there is no vault in %s: a gate makes one when it starts", place->keys);
	return EXIT_NOT_SO;
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

/* -- a store that rests ------------------------------------------------------------- */

struct here {
	struct vault *vault;
	struct log *log;
	struct store *store;
	struct arena mem; /* of one command */
};

/* EXIT_DONE, or the exit status after a message; close_here() follows in any case. */
static int open_here(const struct data_place *place, struct here *out_here)
{
	const struct rlimit none = {0, 0};
	int status;

	*out_here = (struct here){.log = log_new(&env_machine, STDERR_FILENO, LOG_WARNING)};
	arena_init(&out_here->mem, COMMAND_MEMORY);
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_CORE, &none); /* keys that sign are in memory */
	status = open_vault(place, &out_here->vault);
	if (status == EXIT_DONE && client_init_process() != 0)
		status = EXIT_NOT_SO;
	if (status == EXIT_DONE)
		status = open_store(place, out_here->vault, out_here->log, &out_here->store);
	return status;
}

/* Everything is published then, and erased. */
static void close_store(struct here *here)
{
	store_close(here->store);
	here->store = NULL;
}

static void close_here(struct here *here)
{
	close_store(here);
	vault_close(here->vault);
	log_free(here->log);
	arena_fini(&here->mem);
}

static struct store_command change_of(struct here *here, enum store_kind kind, const char *why)
{
	return (struct store_command){
		.kind = kind,
		.mem = &here->mem,
		.operation = {.decided_by = STR("operator"), .reason = str_from(why ? why : "")},
	};
}

/* EXIT_DONE where there is nothing against it; else the message. */
static int told(const char *against)
{
	if (against)
		command_message("%s", against);
	return against ? EXIT_NOT_SO : EXIT_DONE;
}

/* -- ending one ---------------------------------------------------------------------- */

static const char *against_ending(int result)
{
	switch (result) {
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

static int rotate(struct here *here, const char *why, uint32_t *out_epoch)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct store_command command = change_of(here, STORE_ROTATE, why);

	gate_ask_now(here->store, &command);
	for (int i = 0; i < TRIES_MAX && command.result == STORE_LOST; i++) {
		nanosleep(&pause, NULL);
		gate_ask_now(here->store, &command);
	}
	*out_epoch = command.log_epoch;
	return told(against_ending(command.result));
}

static bool is_seed_gone(const struct data_place *place, struct vault *vault, uint32_t epoch)
{
	uint8_t seed[NOTE_SEED_SIZE];
	char why[DATA_PATH_MAX + 512];
	int r = audit_seed_read(place->keys, vault, epoch, seed, why, sizeof(why));

	sodium_memzero(seed, sizeof(seed));
	return r == KEYS_ABSENT;
}

int audit_rotate_here(const struct data_place *place, const char *why, uint32_t *out_epoch,
		      bool *out_is_erased)
{
	struct here here;
	int status = open_here(place, &here);

	if (status == EXIT_DONE)
		status = rotate(&here, why, out_epoch);
	close_store(&here);
	if (status == EXIT_DONE)
		*out_is_erased = is_seed_gone(place, here.vault, *out_epoch - 1);
	close_here(&here);
	return status;
}

/* -- erasing one --------------------------------------------------------------------- */

static const char *against_erasing(int result)
{
	switch (result) {
	case 0:
		return NULL;
	case STORE_LOST:
		return "that epoch has not ended: counterfoil audit rotate ends it";
	case STORE_EXISTS:
		return "that epoch's data key is erased already";
	case STORE_ABSENT:
		return "there is no such epoch";
	default:
		return "the store could not write it; nothing has changed";
	}
}

static bool is_data_key_gone(const struct data_place *place, struct vault *vault, uint32_t epoch)
{
	struct entry_key key;
	char why[DATA_PATH_MAX + 512];
	int r = audit_data_key_read(place->keys, vault, epoch, &key, why, sizeof(why));

	entry_key_fini(&key);
	return r == KEYS_ABSENT;
}

int audit_erase_here(const struct data_place *place, uint32_t epoch, bool prunes, const char *why,
		     bool *out_is_erased)
{
	struct here here;
	struct store_command command;
	int status = open_here(place, &here);

	if (status == EXIT_DONE) {
		command = change_of(&here, STORE_ERASE, why);
		command.log_epoch = epoch;
		command.prunes = prunes;
		gate_ask_now(here.store, &command);
		status = told(against_erasing(command.result));
	}
	close_store(&here);
	if (status == EXIT_DONE)
		*out_is_erased = is_data_key_gone(place, here.vault, epoch);
	close_here(&here);
	return status;
}
