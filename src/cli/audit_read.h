/*
 * Reading the entries of a log that has been published, with the data key.
 *
 * From files alone, so it works beside a running gate. What no checkpoint covers yet is not in
 * them. Nothing is verified here but that an entry was sealed with the key: `audit verify` is for
 * that.
 */
#ifndef CLI_AUDIT_READ_H
#define CLI_AUDIT_READ_H

#include "audit/entry.h"
#include "vault/vault.h"
#include "json/json.h"

enum { AUDIT_EPOCHS_MAX = 4096 };

struct audit_record {
	struct entry entry;
	struct str text;		/* its JSON object; empty: the key does not open it */
	const struct json_value *value; /* the same, read; NULL: it is none */
	bool is_erased;			/* its key is gone, as an entry says */
	struct str bytes;		/* the whole entry */
};

struct audit_reading {
	const char *data;    /* the data directory */
	struct vault *vault; /* opens its keys; NULL: they are in clear */
	/* Told of every entry in its order. 0 to go on; anything else ends it. */
	int (*on_record)(void *state, const struct audit_record *record);
	void *state;
	/* NULL, or tells of entries from `from` on that are not published yet, with the same state.
	 * Those before `rest_from` are in whole bundles, published or not. */
	uint64_t rest_from;
	int (*read_rest)(void *state, uint64_t from, int (*tell)(void *teller, struct str bytes),
			 void *teller);
	uint64_t size;	     /* out: how far files are read: to the newest checkpoint, or beyond */
	uint64_t unreadable; /* out: entries that no key opens, of those that are there */
	uint64_t erased;     /* out: entries whose key is erased */
	uint64_t pruned;     /* out: entries that are gone with it */
	uint8_t erased_epochs[AUDIT_EPOCHS_MAX / 8]; /* the reader's */
};

/* 0; what on_record returned; else < 0 and a message has been written. */
int audit_read(struct audit_reading *reading);

/* A whole file of a note's size; what is longer comes cut off, and so is no note. False after a
 * message. */
bool audit_file_read(const char *path, struct buf *out);

/* A member that is a text; empty where there is none. */
struct str audit_member(const struct json_value *value, const char *name);

#endif
