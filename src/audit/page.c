/*
 * Pages of a published log, newest first (page.h).
 *
 * A bundle is read whole and its entries' places noted, then they are told from the last to the
 * first. A gate that runs removes parts of bundles that wider ones have taken the place of: where
 * one is gone the checkpoint is read again.
 */
#include "audit/page.h"

#include "audit/cosignature.h"
#include "audit/log_reader.h"
#include "audit/tiles.h"
#include "base/err.h"

#include <stdio.h>

enum { AGAIN_MAX = 4, ENTRY_MEMORY = 4 << 20 };

struct reader {
	struct audit_page *page;
	struct log_folder folder;
	char keys[AUDIT_PAGE_PATH_MAX];
	struct entry_key key; /* of the epoch that was met last */
	uint32_t key_epoch;
	bool has_key, has_asked;
	struct buf file, text;
	struct arena mem;
};

static int open_folder(const char *data, struct log_folder *folder)
{
	char path[AUDIT_PAGE_PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s/audit", data) >= (int)sizeof(path))
		return FAIL_IO;
	r = log_folder_open(folder, path);
	return r == LOG_ABSENT ? AUDIT_PAGE_NO_LOG : r;
}

/* The file stays in `file`, and *out_checkpoint points into it. */
static int read_checkpoint(struct log_folder *folder, struct buf *file, struct note *out_note,
			   struct checkpoint *out_checkpoint)
{
	int r;

	buf_clear(file);
	r = folder->reader.read(folder, "checkpoint", file);
	if (r == LOG_ABSENT)
		return AUDIT_PAGE_NO_LOG;
	if (r != 0)
		return r < 0 ? r : FAIL_IO;
	if (!note_read(buf_str(file), out_note) || !checkpoint_read(out_note->text, out_checkpoint))
		return FAIL_IO;
	return 0;
}

static int read_size(struct reader *reader)
{
	struct checkpoint checkpoint;
	struct note note;
	int r = read_checkpoint(&reader->folder, &reader->file, &note, &checkpoint);

	if (r == 0)
		reader->page->size = checkpoint.size;
	return r;
}

static int read_tile(struct reader *reader, uint64_t index, unsigned width)
{
	const struct tile tile = {.is_entries = true, .index = index, .width = width};
	char path[TILE_PATH_MAX];

	tile_path(&tile, path);
	buf_clear(&reader->file);
	return reader->folder.reader.read(&reader->folder, path, &reader->file);
}

/* 0, LOG_ABSENT, < 0. */
static int read_bundle(struct reader *reader, uint64_t index)
{
	int r = LOG_ABSENT;

	for (int i = 0; i < AGAIN_MAX && r == LOG_ABSENT; i++) {
		unsigned width = tile_width(0, index, reader->page->size);

		r = read_tile(reader, index, TILE_WIDTH);
		if (r == LOG_ABSENT && width && width < TILE_WIDTH)
			r = read_tile(reader, index, width);
		if (r == LOG_ABSENT && read_size(reader) != 0)
			break;
	}
	return r == LOG_TOO_LARGE ? FAIL_IO : r;
}

static const struct entry_key *key_of(struct reader *reader, uint32_t epoch)
{
	char why[512];

	if (!reader->has_asked || reader->key_epoch != epoch) {
		reader->has_asked = true;
		reader->key_epoch = epoch;
		reader->has_key = audit_data_key_read(reader->keys, reader->page->vault, epoch,
						      &reader->key, why, sizeof(why)) == 0;
	}
	return reader->has_key ? &reader->key : NULL;
}

/* What is malformed is passed over: `audit verify` says so. */
static bool tell(struct reader *reader, struct str bytes)
{
	struct audit_entry told = {0};
	struct json_error error;
	struct json_value *value;
	const char *why;

	if (entry_read(bytes, &told.entry, &why) != 0)
		return true;
	buf_clear(&reader->text);
	arena_fini(&reader->mem);
	arena_init(&reader->mem, ENTRY_MEMORY);
	if (entry_open(bytes, told.entry.is_encrypted ? key_of(reader, told.entry.epoch) : NULL,
		       &reader->text) == 0) {
		told.text = buf_str(&reader->text);
		if (json_read(told.text, &json_limits_default, &reader->mem, &value, &error) == 0)
			told.value = value;
	}
	return reader->page->on_entry(reader->page->state, &told);
}

/* The entries of one bundle below `before`, from the last on. False: that is enough. */
static bool tell_bundle(struct reader *reader, uint64_t first, uint64_t before, size_t *looks)
{
	struct str rest = buf_str(&reader->file), entries[TILE_WIDTH];
	size_t count = 0;

	while (count < TILE_WIDTH && first + count < before && bundle_next(&rest, &entries[count]))
		count++;
	while (count > 0) {
		if (*looks == 0)
			return false;
		--*looks;
		count--;
		reader->page->reached = first + count;
		if (!tell(reader, entries[count]))
			return false;
	}
	return true;
}

static int read_entries(struct reader *reader)
{
	struct audit_page *page = reader->page;
	uint64_t before = page->before < page->size ? page->before : page->size;
	size_t looks = page->looks < AUDIT_PAGE_LOOKS_MAX ? page->looks : AUDIT_PAGE_LOOKS_MAX;

	page->reached = before;
	while (before > 0) {
		uint64_t index = (before - 1) / TILE_WIDTH;
		int r = read_bundle(reader, index);

		if (r == LOG_ABSENT) { /* pruned, and whatever is older too */
			page->reached = 0;
			return 0;
		}
		if (r != 0)
			return r;
		if (!tell_bundle(reader, index * TILE_WIDTH, before, &looks))
			return 0;
		before = index * TILE_WIDTH;
	}
	return 0;
}

int audit_page_read(struct audit_page *page)
{
	struct reader reader = {.page = page, .folder.fd = -1};
	int r;

	page->size = page->reached = 0;
	buf_init(&reader.file, TILE_BUNDLE_MAX);
	buf_init(&reader.text, ENTRY_TEXT_MAX);
	arena_init(&reader.mem, ENTRY_MEMORY);
	snprintf(reader.keys, sizeof(reader.keys), "%s/keys", page->data);
	r = open_folder(page->data, &reader.folder);
	if (r == 0)
		r = read_size(&reader);
	if (r == 0)
		r = read_entries(&reader);
	log_folder_close(&reader.folder);
	entry_key_fini(&reader.key);
	arena_fini(&reader.mem);
	buf_fini(&reader.text);
	buf_fini(&reader.file);
	return r;
}

/* Epochs follow one another, each with a key of its own. */
static bool is_signed(const char *data, const struct note *note)
{
	struct note_verifier verifier;
	char keys[AUDIT_PAGE_PATH_MAX];
	size_t which;

	snprintf(keys, sizeof(keys), "%s/keys", data);
	for (uint32_t epoch = 0; audit_vkey_read(keys, epoch, &verifier); epoch++) {
		if (note_check(note, &verifier, 1, &which) == NOTE_GOOD)
			return true;
	}
	return false;
}

/* A cosignature that does not hold is none. */
static void look_for_witnesses(const struct note *note, const struct note_verifier *witnesses,
			       size_t count, struct audit_head *head)
{
	struct cosignature cosignature;

	for (size_t i = 0; i < count; i++)
		if (cosignature_check(note, &witnesses[i], &cosignature) == NOTE_GOOD)
			head->cosigned_s[i] = cosignature.time_s;
}

int audit_head_read(const char *data, const struct note_verifier *witnesses, size_t count,
		    struct audit_head *out_head)
{
	struct log_folder folder = {.fd = -1};
	struct checkpoint checkpoint;
	struct buf file;
	struct note note;
	int r;

	require(count <= AUDIT_HEAD_WITNESSES_MAX);
	buf_init(&file, NOTE_SIZE_MAX);
	r = open_folder(data, &folder);
	if (r == 0)
		r = read_checkpoint(&folder, &file, &note, &checkpoint);
	if (r == 0) {
		*out_head = (struct audit_head){
			.size = checkpoint.size,
			.root = checkpoint.root,
			.is_signed = is_signed(data, &note),
		};
		snprintf(out_head->origin, sizeof(out_head->origin), "%.*s",
			 STR_ARG(checkpoint.origin));
		look_for_witnesses(&note, witnesses, count, out_head);
	}
	log_folder_close(&folder);
	buf_fini(&file);
	return r;
}
