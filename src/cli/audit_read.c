/*
 * Going along the bundles of a published log (see audit_read.h).
 *
 * A gate that runs removes parts of bundles that newer ones have taken the place of, two
 * checkpoints later: where one is gone the newest checkpoint is read again.
 */
#include "cli/audit_read.h"

#include "audit/checkpoint.h"
#include "audit/keys.h"
#include "audit/log_reader.h"
#include "audit/tiles.h"
#include "base/err.h"
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>

enum { PATH_MAX_SIZE = 4096, AGAIN_MAX = 10, RECORD_MEMORY = 16 << 20 };

struct reader {
	struct audit_reading *reading;
	struct log_folder folder;
	char keys[PATH_MAX_SIZE]; /* their folder */
	struct entry_key key;	  /* of the epoch that was met last */
	uint32_t key_epoch;
	enum { KEY_UNASKED, KEY_THERE, KEY_MISSING } key_state;
	struct buf file, text;
	struct arena mem;
};

struct str audit_member(const struct json_value *value, const char *name)
{
	const struct json_value *member = value ? json_member(value, str_from(name)) : NULL;

	return member && member->type == JSON_STRING ? member->string : STR("");
}

bool audit_file_read(const char *path, struct buf *out)
{
	FILE *file = fopen(path, "rb");
	char *at = file ? buf_reserve(out, NOTE_SIZE_MAX) : NULL;
	bool is_read;

	if (at)
		buf_commit(out, fread(at, 1, NOTE_SIZE_MAX, file));
	is_read = at && !ferror(file);
	if (!is_read)
		command_message("%s cannot be read: %s", path, strerror(errno));
	if (file)
		(void)fclose(file);
	return is_read;
}

/* As far as it is published, or as bundles are read beyond that. */
static void set_size(struct reader *reader, uint64_t published)
{
	struct audit_reading *reading = reader->reading;

	reading->size = published < reading->rest_from ? reading->rest_from : published;
}

/* 0, LOG_ABSENT, < 0. */
static int read_size(struct reader *reader)
{
	struct checkpoint checkpoint;
	struct note note;
	int r;

	buf_clear(&reader->file);
	r = reader->folder.reader.read(&reader->folder, "checkpoint", &reader->file);
	if (r != 0)
		return r;
	if (!note_read(buf_str(&reader->file), &note) || !checkpoint_read(note.text, &checkpoint))
		return FAIL_IO;
	set_size(reader, checkpoint.size);
	return 0;
}

/* The whole bundle, else as much of it as the newest checkpoint has. */
static int read_bundle(struct reader *reader, uint64_t index)
{
	struct tile tile = {.is_entries = true, .index = index};
	char path[TILE_PATH_MAX];
	int r = LOG_ABSENT;

	for (int i = 0; i < AGAIN_MAX && r == LOG_ABSENT; i++) {
		tile.width = TILE_WIDTH;
		tile_path(&tile, path);
		buf_clear(&reader->file);
		r = reader->folder.reader.read(&reader->folder, path, &reader->file);
		tile.width = tile_width(0, index, reader->reading->size);
		if (r != LOG_ABSENT || tile.width == TILE_WIDTH || !tile.width)
			break; /* 0: an older checkpoint has been put in place of the newest */
		tile_path(&tile, path);
		r = reader->folder.reader.read(&reader->folder, path, &reader->file);
		if (r == LOG_ABSENT && read_size(reader) != 0)
			break;
	}
	return r;
}

/* The data key of an epoch, which may be erased. NULL: it is not there. */
static const struct entry_key *key_of(struct reader *reader, uint32_t epoch)
{
	char why[512];

	if (reader->key_state == KEY_UNASKED || reader->key_epoch != epoch) {
		reader->key_epoch = epoch;
		reader->key_state = audit_data_key_read(reader->keys, reader->reading->vault, epoch,
							&reader->key, why, sizeof(why)) == 0
					    ? KEY_THERE
					    : KEY_MISSING;
	}
	return reader->key_state == KEY_THERE ? &reader->key : NULL;
}

static bool is_erased(const struct audit_reading *reading, uint32_t epoch)
{
	return epoch < AUDIT_EPOCHS_MAX && reading->erased_epochs[epoch / 8] >> epoch % 8 & 1;
}

static void open_text(struct reader *reader, struct str bytes, struct audit_record *record)
{
	const struct entry_key *key =
		record->entry.is_encrypted ? key_of(reader, record->entry.epoch) : NULL;
	struct json_error error;
	struct json_value *value;

	buf_clear(&reader->text);
	arena_fini(&reader->mem);
	arena_init(&reader->mem, RECORD_MEMORY);
	record->text = STR("");
	record->value = NULL;
	if (entry_open(bytes, key, &reader->text) != 0) {
		record->is_erased = !key && is_erased(reader->reading, record->entry.epoch);
		if (record->is_erased)
			reader->reading->erased++;
		else
			reader->reading->unreadable++;
		return;
	}
	record->text = buf_str(&reader->text);
	if (json_read(record->text, &json_limits_default, &reader->mem, &value, &error) == 0)
		record->value = value;
}

static int tell(struct reader *reader, struct str bytes)
{
	struct audit_record record = {0};
	const char *why;

	if (entry_read(bytes, &record.entry, &why) != 0) {
		reader->reading->unreadable++;
		return 0;
	}
	record.bytes = bytes;
	open_text(reader, bytes, &record);
	return reader->reading->on_record(reader->reading->state, &record);
}

/* A whole bundle that is gone where later ones are there has been pruned: `audit verify` says
 * whether it may be. */
static bool is_pruned(struct reader *reader, uint64_t seq)
{
	uint64_t last = (reader->reading->size - 1) / TILE_WIDTH;

	return seq % TILE_WIDTH == 0 && seq / TILE_WIDTH < last && read_bundle(reader, last) == 0;
}

/* The rest of the bundle in reader->file. *out_count of them were told. */
static int tell_bundle(struct reader *reader, uint64_t seq, uint64_t *out_count,
		       int (*told)(struct reader *reader, struct str bytes))
{
	struct str rest = buf_str(&reader->file), entry;
	int r = 0;

	*out_count = 0;
	for (uint64_t i = 0; i < seq % TILE_WIDTH; i++)
		(void)bundle_next(&rest, &entry);
	while (r == 0 && seq + *out_count < reader->reading->size && bundle_next(&rest, &entry)) {
		r = told(reader, entry);
		++*out_count;
	}
	return r;
}

static int read_entries(struct reader *reader, int (*told)(struct reader *reader, struct str bytes))
{
	uint64_t seq = 0, count = 1;
	int r = 0;

	reader->reading->pruned = 0;
	while (r == 0 && seq < reader->reading->size && count) {
		r = read_bundle(reader, seq / TILE_WIDTH);
		if (r == LOG_ABSENT && is_pruned(reader, seq)) {
			count = TILE_WIDTH;
			reader->reading->pruned += count;
			r = 0;
		} else if (r == 0) {
			r = tell_bundle(reader, seq, &count, told);
		}
		seq += r == 0 ? count : 0;
	}
	if ((r == 0 && !count) || r == LOG_ABSENT || r == LOG_TOO_LARGE) {
		command_message("entry %" PRIu64 " of the audit log cannot be found; see "
				"counterfoil audit verify",
				seq);
		return FAIL_IO;
	}
	return r;
}

/* Which epochs' keys are erased is said after their entries. */
static int note_erased(struct reader *reader, struct str bytes)
{
	struct audit_reading *reading = reader->reading;
	const struct json_value *number;
	struct audit_record record = {0};
	int64_t epoch;
	const char *why;

	if (entry_read(bytes, &record.entry, &why) != 0 || record.entry.type != ENTRY_KEY_ERASED)
		return 0;
	open_text(reader, bytes, &record);
	number = record.value ? json_member(record.value, STR("erased_epoch")) : NULL;
	if (number && number->type == JSON_NUMBER && json_number_to_i64(&number->number, &epoch) &&
	    epoch >= 0 && epoch < AUDIT_EPOCHS_MAX)
		reading->erased_epochs[epoch / 8] |= (uint8_t)(1 << epoch % 8);
	return 0;
}

/* Only where a key is missing; the log is read twice then. */
static int find_erased(struct reader *reader)
{
	struct note_verifier verifier;

	memset(reader->reading->erased_epochs, 0, sizeof(reader->reading->erased_epochs));
	for (uint32_t i = 0; i < AUDIT_EPOCHS_MAX && audit_vkey_read(reader->keys, i, &verifier);
	     i++)
		if (!key_of(reader, i))
			return read_entries(reader, note_erased);
	return 0;
}

/* 0; < 0, and a message has been written. */
static int open_log(struct reader *reader)
{
	const char *data = reader->reading->data;
	char path[PATH_MAX_SIZE], why[512] = "";
	struct note_verifier verifier;
	int r;

	snprintf(reader->keys, sizeof(reader->keys), "%s/keys", data);
	r = audit_data_key_read(reader->keys, reader->reading->vault, 0, &reader->key, why,
				sizeof(why));
	/* Where there is a second epoch the first one's may be erased. */
	if (r < 0 || (r != 0 && !audit_vkey_read(reader->keys, 1, &verifier))) {
		command_message("%s", why);
		return FAIL_IO;
	}
	snprintf(path, sizeof(path), "%s/audit", data);
	r = log_folder_open(&reader->folder, path);
	if (r == 0) {
		r = read_size(reader);
		if (r == LOG_ABSENT) {
			set_size(reader, 0);
			return 0;
		}
	}
	if (r != 0)
		command_message("there is no audit log that can be read in %s", path);
	return r == 0 ? 0 : FAIL_IO;
}

static int tell_rest(void *state, struct str bytes)
{
	return tell(state, bytes);
}

int audit_read(struct audit_reading *reading)
{
	struct reader reader = {.reading = reading, .folder.fd = -1};
	int r;

	buf_init(&reader.file, TILE_BUNDLE_MAX);
	buf_init(&reader.text, ENTRY_TEXT_MAX);
	arena_init(&reader.mem, RECORD_MEMORY);
	reading->size = reading->unreadable = reading->erased = reading->pruned = 0;
	r = open_log(&reader);
	if (r == 0)
		r = find_erased(&reader);
	if (r == 0)
		r = read_entries(&reader, tell);
	if (r == 0 && reading->read_rest)
		r = reading->read_rest(reading->state, reading->size, tell_rest, &reader);
	log_folder_close(&reader.folder);
	entry_key_fini(&reader.key);
	arena_fini(&reader.mem);
	buf_fini(&reader.text);
	buf_fini(&reader.file);
	return r;
}
