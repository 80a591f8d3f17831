/*
 * A log in memory that tests write as a gate would, and then do things to: its files by path, its
 * entries and keys. Entry `seq` has the text {"n":seq} unless it is edited.
 */
#ifndef TESTS_AUDIT_TEST_LOG_H
#define TESTS_AUDIT_TEST_LOG_H

#include "audit/epoch.h"
#include "audit/log_reader.h"
#include "audit/tip.h"
#include "audit/verify.h"

enum { LOG_FILES_MAX = 400, LOG_ENTRIES_MAX = 1000, LOG_EPOCHS_MAX = 4, LOG_PATH_MAX = 64 };

struct log_file {
	char path[LOG_PATH_MAX]; /* empty: none */
	struct buf bytes;
};

struct test_log {
	struct tip tip;
	uint64_t published; /* size of the newest checkpoint */
	uint32_t epoch;
	uint64_t epoch_first;
	struct note_signer signers[LOG_EPOCHS_MAX]; /* of each epoch */
	struct entry_key key;
	struct buf entries[LOG_ENTRIES_MAX];	/* bytes */
	struct hash hashes[2][LOG_ENTRIES_MAX]; /* of the levels 0 and 8 */
	struct log_file files[LOG_FILES_MAX];
	size_t file_count;
	struct log_reader reader;
	/* What is different from an honest gate. */
	uint64_t edited;	/* this entry has another text; UINT64_MAX: none */
	struct test_log *model; /* certificates and seals are copied from there, not signed */
};

/* An empty log without files; free it with log_free(). */
struct test_log *log_new(void);
void log_free(struct test_log *log);

/* Append one entry. */
void log_append(struct test_log *log, enum entry_type type, struct str text);

/* Append entries. */
void log_add(struct test_log *log, size_t count);

/* Write the tiles that are new, `checkpoints/<size>` and `checkpoint`. */
void log_publish(struct test_log *log);

/* Only the tiles of what is there. */
void log_publish_tiles(struct test_log *log);

/* End the epoch: a certificate, a seal, a checkpoint; the next key signs from now on. */
void log_rotate(struct test_log *log);

/* A file's bytes, to be changed; NULL when there is none. */
struct buf *log_find(struct test_log *log, const char *path);
void log_put(struct test_log *log, const char *path, struct str bytes);
void log_remove(struct test_log *log, const char *path);
/* Take a file, as it is in another log. */
void log_take(struct test_log *log, struct test_log *from, const char *path);

/* Write a bundle anew from entries `order[0]`…, in this order. */
void log_write_bundle(struct test_log *log, const char *path, const size_t *order, size_t count);

/* Verify with the key of an epoch. */
void log_verify(struct test_log *log, uint32_t key_epoch, struct str since,
		struct verify_report *out_report);

/* Write all files below a folder that is there. */
void log_write_folder(struct test_log *log, const char *folder);

#endif
