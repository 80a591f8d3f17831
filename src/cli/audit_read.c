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

#include <inttypes.h>

enum { PATH_MAX_SIZE = 4096, AGAIN_MAX = 10, RECORD_MEMORY = 16 << 20 };

struct reader {
	struct audit_reading *reading;
	struct log_folder folder;
	struct entry_key key;
	struct buf file, text;
	struct arena mem;
};

struct str audit_member(const struct json_value *value, const char *name)
{
	const struct json_value *member = value ? json_member(value, str_from(name)) : NULL;

	return member && member->type == JSON_STRING ? member->string : STR("");
}

/* How far it is published. 0, LOG_ABSENT, < 0. */
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
	reader->reading->size = checkpoint.size;
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
		if (r != LOG_ABSENT || tile.width == TILE_WIDTH)
			break;
		tile_path(&tile, path);
		r = reader->folder.reader.read(&reader->folder, path, &reader->file);
		if (r == LOG_ABSENT && read_size(reader) != 0)
			break;
	}
	return r;
}

static void open_text(struct reader *reader, struct str bytes, struct audit_record *record)
{
	struct json_error error;
	struct json_value *value;

	buf_clear(&reader->text);
	arena_fini(&reader->mem);
	arena_init(&reader->mem, RECORD_MEMORY);
	record->text = STR("");
	record->value = NULL;
	if (entry_open(bytes, &reader->key, &reader->text) != 0) {
		reader->reading->unreadable++;
		return;
	}
	record->text = buf_str(&reader->text);
	if (json_read(record->text, &json_limits_default, &reader->mem, &value, &error) == 0)
		record->value = value;
}

static int tell(struct reader *reader, struct str bytes)
{
	struct audit_record record;
	const char *why;

	if (entry_read(bytes, &record.entry, &why) != 0) {
		reader->reading->unreadable++;
		return 0;
	}
	open_text(reader, bytes, &record);
	return reader->reading->on_record(reader->reading->state, &record);
}

static int read_entries(struct reader *reader)
{
	uint64_t seq = 0;
	int r = 0;

	while (r == 0 && seq < reader->reading->size) {
		struct str rest, entry;
		uint64_t before = seq;

		r = read_bundle(reader, seq / TILE_WIDTH);
		rest = buf_str(&reader->file);
		for (uint64_t i = 0; i < seq % TILE_WIDTH; i++)
			(void)bundle_next(&rest, &entry);
		while (r == 0 && seq < reader->reading->size && bundle_next(&rest, &entry)) {
			r = tell(reader, entry);
			seq++;
		}
		if (r == 0 && seq == before)
			r = LOG_ABSENT;
	}
	if (r == LOG_ABSENT || r == LOG_TOO_LARGE) {
		command_message("entry %" PRIu64 " of the audit log cannot be found; see "
				"counterfoil audit verify",
				seq);
		return FAIL_IO;
	}
	return r;
}

/* 0; < 0, and a message has been written. */
static int open_log(struct reader *reader)
{
	const char *data = reader->reading->data;
	char path[PATH_MAX_SIZE], why[512] = "";
	int r;

	snprintf(path, sizeof(path), "%s/keys", data);
	r = audit_data_key_read(path, &reader->key, why, sizeof(why));
	if (r != 0) {
		command_message("%s", why);
		return FAIL_IO;
	}
	snprintf(path, sizeof(path), "%s/audit", data);
	r = log_folder_open(&reader->folder, path);
	if (r == 0) {
		r = read_size(reader);
		if (r == LOG_ABSENT) {
			reader->reading->size = 0;
			return 0;
		}
	}
	if (r != 0)
		command_message("there is no audit log that can be read in %s", path);
	return r == 0 ? 0 : FAIL_IO;
}

int audit_read(struct audit_reading *reading)
{
	struct reader reader = {.reading = reading, .folder.fd = -1};
	int r;

	buf_init(&reader.file, TILE_BUNDLE_MAX);
	buf_init(&reader.text, ENTRY_TEXT_MAX);
	arena_init(&reader.mem, RECORD_MEMORY);
	reading->size = reading->unreadable = 0;
	r = open_log(&reader);
	if (r == 0)
		r = read_entries(&reader);
	log_folder_close(&reader.folder);
	entry_key_fini(&reader.key);
	arena_fini(&reader.mem);
	buf_fini(&reader.text);
	buf_fini(&reader.file);
	return r;
}
