/* A log in memory: written as a gate would, changed as a forger would. */
#include "test_log.h"

#include "audit/tiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static int read_memory(void *state, const char *path, struct buf *out)
{
	struct buf *bytes = log_find(state, path);

	if (!bytes)
		return LOG_ABSENT;
	if (bytes->len > out->max)
		return LOG_TOO_LARGE;
	return buf_append_str(out, buf_str(bytes));
}

static int list_memory(void *state, int (*visit)(void *visitor, struct str name), void *visitor)
{
	struct test_log *log = state;
	int r = 0;

	for (size_t i = 0; i < log->file_count && r == 0; i++) {
		if (str_starts_with(str_from(log->files[i].path), STR("checkpoints/")))
			r = visit(visitor, str_from(log->files[i].path + 12));
	}
	return r;
}

struct test_log *log_new(void)
{
	struct test_log *log = calloc(1, sizeof(*log));
	uint8_t seed[32] = {1};

	assert_non_null(log);
	tip_init(&log->tip);
	entry_key_init(&log->key, seed);
	for (uint8_t i = 0; i < LOG_EPOCHS_MAX; i++) {
		seed[31] = i;
		assert_true(note_signer_init(&log->signers[i], STR("example.com/log"), seed));
	}
	log->edited = UINT64_MAX;
	log->reader = (struct log_reader){read_memory, list_memory, log};
	return log;
}

void log_free(struct test_log *log)
{
	for (size_t i = 0; i < LOG_ENTRIES_MAX; i++)
		buf_fini(&log->entries[i]);
	for (size_t i = 0; i < log->file_count; i++)
		buf_fini(&log->files[i].bytes);
	free(log);
}

void log_append(struct test_log *log, enum entry_type type, struct str text)
{
	uint64_t seq = log->tip.frontier.size;
	struct tip_entry entry = {
		.type = type, .epoch = log->epoch, .time_ms = 1700000000000 + seq, .text = text};
	struct tree_growth growth;

	assert_true(seq < LOG_ENTRIES_MAX);
	memset(entry.nonce, (int)seq & 0xff, sizeof(entry.nonce));
	buf_init(&log->entries[seq], ENTRY_SIZE_MAX);
	assert_int_equal(tip_append(&log->tip, &entry, &log->key, &log->entries[seq], &growth), 0);
	log->hashes[0][seq] = growth.nodes[0];
	if (growth.count > TILE_HEIGHT)
		log->hashes[1][seq >> TILE_HEIGHT] = growth.nodes[TILE_HEIGHT];
}

void log_add(struct test_log *log, size_t count)
{
	char text[64];

	for (size_t i = 0; i < count; i++) {
		uint64_t seq = log->tip.frontier.size;

		snprintf(text, sizeof(text), seq == log->edited ? "{\"N\":%u}" : "{\"n\":%u}",
			 (unsigned)seq);
		log_append(log, ENTRY_CLAIM, str_from(text));
	}
}

struct buf *log_find(struct test_log *log, const char *path)
{
	for (size_t i = 0; i < log->file_count; i++) {
		if (strcmp(log->files[i].path, path) == 0)
			return &log->files[i].bytes;
	}
	return NULL;
}

void log_put(struct test_log *log, const char *path, struct str bytes)
{
	struct buf *file = log_find(log, path);

	if (!file) {
		assert_true(log->file_count < LOG_FILES_MAX);
		snprintf(log->files[log->file_count].path, LOG_PATH_MAX, "%s", path);
		file = &log->files[log->file_count++].bytes;
		buf_init(file, TILE_BUNDLE_MAX);
	}
	buf_clear(file);
	assert_int_equal(buf_append_str(file, bytes), 0);
}

void log_remove(struct test_log *log, const char *path)
{
	for (size_t i = 0; i < log->file_count; i++) {
		if (strcmp(log->files[i].path, path) != 0)
			continue;
		buf_fini(&log->files[i].bytes);
		log->files[i] = log->files[--log->file_count];
		return;
	}
	fail_msg("there is no %s", path);
}

void log_take(struct test_log *log, struct test_log *from, const char *path)
{
	assert_non_null(log_find(from, path));
	log_put(log, path, buf_str(log_find(from, path)));
}

void log_write_bundle(struct test_log *log, const char *path, const size_t *order, size_t count)
{
	struct buf bundle;

	buf_init(&bundle, TILE_BUNDLE_MAX);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bundle_append(buf_str(&log->entries[order[i]]), &bundle), 0);
	log_put(log, path, buf_str(&bundle));
	buf_fini(&bundle);
}

static int write_tile(void *state, const struct tile *tile)
{
	struct test_log *log = state;
	size_t order[TILE_WIDTH];
	char path[TILE_PATH_MAX];

	tile_path(tile, path);
	for (size_t i = 0; i < tile->width; i++)
		order[i] = tile->index * TILE_WIDTH + i;
	if (tile->is_entries)
		log_write_bundle(log, path, order, tile->width);
	else
		log_put(log, path,
			str_of((const char *)&log->hashes[tile->level][order[0]],
			       tile->width * (size_t)HASH_SIZE));
	return 0;
}

void log_publish_tiles(struct test_log *log)
{
	assert_int_equal(tiles_grown(log->published, log->tip.frontier.size, write_tile, log), 0);
}

void log_publish(struct test_log *log)
{
	uint64_t size = log->tip.frontier.size;
	char path[LOG_PATH_MAX];
	struct hash root;
	struct buf out;

	log_publish_tiles(log);
	buf_init(&out, NOTE_SIZE_MAX);
	tip_root(&log->tip, &root);
	assert_int_equal(checkpoint_sign(size, &root, &log->signers[log->epoch], &out), 0);
	snprintf(path, sizeof(path), "checkpoints/%u", (unsigned)size);
	log_put(log, path, buf_str(&out));
	log_put(log, "checkpoint", buf_str(&out));
	buf_fini(&out);
	log->published = size;
}

static void end_with(struct test_log *log, enum entry_type type)
{
	const struct note_signer *signer = &log->signers[log->epoch];
	uint64_t seq = log->tip.frontier.size;
	struct epoch_note said = {.epoch = log->epoch,
				  .seq = seq,
				  .next = log->signers[log->epoch + 1].verifier,
				  .first_seq = log->epoch_first};
	struct buf out;

	buf_init(&out, ENTRY_TEXT_MAX);
	tip_root(&log->tip, &said.root);
	if (log->model)
		(void)buf_append_str(
			&out, str_from_index(buf_str(&log->model->entries[seq]), ENTRY_HEAD_SIZE));
	else if (type == ENTRY_CERTIFICATE)
		assert_int_equal(epoch_certificate_write(&said, signer, &out), 0);
	else
		assert_int_equal(epoch_seal_write(&said, signer, &out), 0);
	log_append(log, type, buf_str(&out));
	buf_fini(&out);
}

void log_rotate(struct test_log *log)
{
	assert_true(log->epoch + 1 < LOG_EPOCHS_MAX);
	end_with(log, ENTRY_CERTIFICATE);
	end_with(log, ENTRY_SEAL);
	log_publish(log);
	log->epoch++;
	log->epoch_first = log->tip.frontier.size;
}

void log_verify(struct test_log *log, uint32_t key_epoch, struct str since,
		struct verify_report *out_report)
{
	struct verify_order order = {
		.log = &log->reader, .key = &log->signers[key_epoch].verifier, .since = since};

	assert_int_equal(verify_log(&order, out_report), 0);
}

void log_write_folder(struct test_log *log, const char *folder)
{
	char path[512];

	for (size_t i = 0; i < log->file_count; i++) {
		struct log_file *file = &log->files[i];
		FILE *out;

		for (char *slash = file->path; (slash = strchr(slash, '/')); slash++) {
			snprintf(path, sizeof(path), "%s/%.*s", folder, (int)(slash - file->path),
				 file->path);
			(void)mkdir(path, 0700);
		}
		snprintf(path, sizeof(path), "%s/%s", folder, file->path);
		out = fopen(path, "wb");
		assert_non_null(out);
		assert_int_equal(fwrite(file->bytes.at, 1, file->bytes.len, out), file->bytes.len);
		assert_int_equal(fclose(out), 0);
	}
}
