/*
 * counterfoil audit prove: proofs for somebody who has neither the log nor its keys.
 *
 * The entries are found first, then a checkpoint is read that covers them, and the hashes come from
 * the tiles. A gate that runs may take a tile's part away meanwhile: then all is read once more.
 */
#include "audit/log_reader.h"
#include "audit/proof.h"
#include "audit/tiles.h"
#include "base/err.h"
#include "cli/audit_proof.h"
#include "cli/audit_read.h"
#include "cli/command.h"
#include "cli/data_place.h"
#include "core/operation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { PROVE_ENTRY, PROVE_SINCE, PROVE_DATA, PROVE_OUT, PROVE_CONFIG };
enum { PROVE_PATH_MAX = 4096, PROVE_AGAIN_MAX = 10, PROVEN_MAX = 64, PROVE_MEMORY = 8 << 20 };

static const struct command_option prove_options[] = {
	{"--entry", "N", "this entry, in place of all of an operation"},
	{"--since", "CHECKPOINT", "also that the log begins with what this file signs"},
	{"--data", "DIR", "the data directory (default ./counterfoil-data)"},
	{"--out", "FOLDER", "where the files go (default .)"},
	{"--config", "FILE", "the gate's configuration: its data directory and master_key"},
};

struct proving {
	const char *data, *out;
	struct vault *vault;
	struct str operation; /* empty: entry `index` */
	uint64_t index;
	struct arena mem;
	struct {
		uint64_t index;
		struct str bytes;
	} found[PROVEN_MAX];
	size_t count;
	bool has_more;

	struct log_folder folder;
	struct buf checkpoint;
	struct checkpoint newest; /* points into it */
};

/* -- which ------------------------------------------------------------------------- */

static int collect(void *state, const struct audit_record *record)
{
	struct proving *proving = state;
	bool is_wanted =
		proving->operation.len
			? str_equal(audit_member(record->value, "operation"), proving->operation)
			: record->entry.seq == proving->index;
	char *copy;

	if (!is_wanted)
		return 0;
	if (proving->count == PROVEN_MAX) {
		proving->has_more = true;
		return 0;
	}
	copy = arena_alloc(&proving->mem, record->bytes.len);
	if (!copy)
		return fail(FAIL_MEMORY);
	memcpy(copy, record->bytes.at, record->bytes.len);
	proving->found[proving->count].index = record->entry.seq;
	proving->found[proving->count++].bytes = str_of(copy, record->bytes.len);
	return 0;
}

/* -- proofs ------------------------------------------------------------------------ */

static int read_tile(void *state, const struct tile *tile, struct buf *out)
{
	struct proving *proving = state;
	struct tile whole = *tile;
	char path[TILE_PATH_MAX];
	int r;

	whole.width = TILE_WIDTH;
	tile_path(&whole, path);
	r = proving->folder.reader.read(&proving->folder, path, out);
	if (r != LOG_ABSENT || tile->width == TILE_WIDTH)
		return r;
	tile_path(tile, path);
	return proving->folder.reader.read(&proving->folder, path, out);
}

static int read_newest(struct proving *proving)
{
	struct note note;
	int r;

	buf_clear(&proving->checkpoint);
	r = proving->folder.reader.read(&proving->folder, "checkpoint", &proving->checkpoint);
	if (r == 0 && (!note_read(buf_str(&proving->checkpoint), &note) ||
		       !checkpoint_read(note.text, &proving->newest)))
		r = LOG_ABSENT;
	return r;
}

/* The way from a leaf, or from the first `size` of them, to the newest root. */
static int find_path(struct proving *proving, bool is_consistency, uint64_t number,
		     struct tree_proof *out_proof)
{
	struct tile_nodes tiles;
	struct tree_nodes nodes = {tile_nodes_read, &tiles};
	int r = LOG_ABSENT;

	for (int i = 0; i < PROVE_AGAIN_MAX && r > 0; i++) {
		r = read_newest(proving);
		if (r != 0)
			break;
		tile_nodes_init(&tiles, proving->newest.size, read_tile, proving);
		r = is_consistency
			    ? tree_prove_consistency(&nodes, number, proving->newest.size,
						     out_proof)
			    : tree_prove_inclusion(&nodes, number, proving->newest.size, out_proof);
		tile_nodes_fini(&tiles);
	}
	return r;
}

static int write_proof(const struct proving *proving, const char *name, const struct buf *bytes)
{
	char path[PROVE_PATH_MAX];
	int fd = -1, error_number;
	bool is_written;

	if (bytes->is_spoiled ||
	    snprintf(path, sizeof(path), "%s/%s", proving->out, name) >= (int)sizeof(path)) {
		command_message("%s is too long", name);
		return EXIT_NOT_SO;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	is_written = fd >= 0 && write(fd, bytes->at, bytes->len) == (ssize_t)bytes->len;
	error_number = errno;
	if (fd >= 0)
		close(fd);
	if (!is_written) {
		command_message("%s cannot be written: %s", path, strerror(error_number));
		return EXIT_NOT_SO;
	}
	printf("%s\n", path);
	return EXIT_DONE;
}

static int no_path(int r)
{
	command_message(
		"the tiles of the audit log cannot be read; see counterfoil audit verify%s%s",
		r < 0 ? ": " : "", r < 0 ? fail_text(r) : "");
	return EXIT_NOT_SO;
}

static int prove_entry(struct proving *proving, uint64_t index, struct str bytes)
{
	struct proof proof = {.extra = bytes, .index = index};
	char name[64];
	struct buf out;
	int r = find_path(proving, false, index, &proof.path);

	if (r != 0)
		return no_path(r);
	buf_init(&out, PROOF_SIZE_MAX);
	proof.checkpoint = buf_str(&proving->checkpoint);
	(void)proof_write(&proof, &out);
	snprintf(name, sizeof(name), "entry-%" PRIu64 ".tlog-proof", index);
	r = write_proof(proving, name, &out);
	buf_fini(&out);
	return r;
}

static int prove_since(struct proving *proving, const struct checkpoint *since)
{
	struct tree_proof path;
	char name[64];
	struct buf out;
	int r = read_newest(proving);

	if (r == 0 && (since->size == 0 || since->size > proving->newest.size)) {
		command_message("that checkpoint is of %" PRIu64 " entries, and the log has "
				"published %" PRIu64,
				since->size, proving->newest.size);
		return EXIT_NOT_SO;
	}
	if (r == 0)
		r = find_path(proving, true, since->size, &path);
	if (r != 0)
		return no_path(r);
	buf_init(&out, PROOF_SIZE_MAX);
	(void)audit_consistency_write(&path, since->size, buf_str(&proving->checkpoint), &out);
	snprintf(name, sizeof(name), "since-%" PRIu64 ".tlog-consistency", since->size);
	r = write_proof(proving, name, &out);
	buf_fini(&out);
	return r;
}

/* -- the command ------------------------------------------------------------------- */

static int prove_all(struct proving *proving, const struct checkpoint *since)
{
	char path[PROVE_PATH_MAX];
	int r = EXIT_DONE;

	snprintf(path, sizeof(path), "%s/audit", proving->data);
	if (log_folder_open(&proving->folder, path) != 0) {
		command_message("there is no audit log that can be read in %s", path);
		return EXIT_NOT_SO;
	}
	for (size_t i = 0; r == EXIT_DONE && i < proving->count; i++)
		r = prove_entry(proving, proving->found[i].index, proving->found[i].bytes);
	if (r == EXIT_DONE && since)
		r = prove_since(proving, since);
	log_folder_close(&proving->folder);
	return r;
}

static int find_and_prove(struct proving *proving, const struct checkpoint *since)
{
	struct audit_reading reading = {
		.data = proving->data,
		.vault = proving->vault,
		.on_record = collect,
		.state = proving,
	};

	if (audit_read(&reading) != 0)
		return EXIT_NOT_SO;
	if (!proving->count) {
		command_message("no checkpoint covers such an entry yet, or there is none");
		return EXIT_NOT_SO;
	}
	if (proving->has_more)
		command_message("only the first %d entries are proven", PROVEN_MAX);
	return prove_all(proving, since);
}

/* What is to be proven. EXIT_DONE, or after a message EXIT_USAGE. */
static int read_wanted(const struct command_call *call, struct proving *proving,
		       char operation[OPERATION_ID_TEXT + 1])
{
	const char *entry = call->options[PROVE_ENTRY];
	struct operation_id id;

	if (!entry == !call->operand_count)
		return command_misused(call->command, "name an operation, or an --entry");
	if (entry)
		return str_to_u64(str_from(entry), INT64_MAX, &proving->index)
			       ? EXIT_DONE
			       : command_misused(call->command, "--entry is a number");
	if (!operation_id_read(str_from(call->operands[0]), &id))
		return command_misused(call->command, "\"%s\" is no operation id",
				       call->operands[0]);
	operation_id_write(&id, operation);
	proving->operation = str_from(operation);
	return EXIT_DONE;
}

static bool read_since(const char *path, struct buf *bytes, struct checkpoint *out_checkpoint)
{
	struct note note;

	if (!audit_file_read(path, bytes))
		return false;
	if (note_read(buf_str(bytes), &note) && checkpoint_read(note.text, out_checkpoint))
		return true;
	command_message("%s is no checkpoint", path);
	return false;
}

static int find_in(struct proving *proving, const struct command_call *call,
		   const struct checkpoint *since)
{
	struct data_place place;
	int status =
		data_place_find(call->options[PROVE_CONFIG], call->options[PROVE_DATA], &place);

	if (status == EXIT_DONE)
		status = data_place_vault(&place, &proving->vault);
	proving->data = place.data;
	if (status == EXIT_DONE)
		status = find_and_prove(proving, since);
	vault_close(proving->vault);
	data_place_fini(&place);
	return status;
}

static int run_prove(const struct command_call *call)
{
	const char *since_path = call->options[PROVE_SINCE];
	struct proving proving = {
		.out = call->options[PROVE_OUT] ? call->options[PROVE_OUT] : ".",
	};
	char operation[OPERATION_ID_TEXT + 1];
	struct checkpoint since;
	struct buf since_bytes;
	int status = read_wanted(call, &proving, operation);

	if (status != EXIT_DONE)
		return status;
	buf_init(&since_bytes, NOTE_SIZE_MAX);
	buf_init(&proving.checkpoint, NOTE_SIZE_MAX);
	arena_init(&proving.mem, PROVE_MEMORY);
	if (since_path && !read_since(since_path, &since_bytes, &since))
		status = EXIT_USAGE;
	else
		status = find_in(&proving, call, since_path ? &since : NULL);
	arena_fini(&proving.mem);
	buf_fini(&proving.checkpoint);
	buf_fini(&since_bytes);
	return status;
}

const struct command command_audit_prove = {
	.name = "audit prove",
	.summary = "writes proofs that entries are in the log, for whoever has only its public key",
	.usage = "OP | --entry N [--since CHECKPOINT] [--data DIR] [--out FOLDER] [--config FILE]",
	.text = "Each entry gets a file entry-N.tlog-proof (c2sp.org/tlog-proof), which holds it,\n"
		"encrypted as it is, and a checkpoint; --since adds since-SIZE.tlog-consistency.\n"
		"counterfoil audit verify --proof checks either, offline. A checkpoint is signed\n"
		"with the key of its epoch: send keys/audit.N.vkey along, where N is not 0.\n",
	.options = prove_options,
	.option_count = sizeof(prove_options) / sizeof(prove_options[0]),
	.operands_max = 1,
	.run = run_prove,
};
