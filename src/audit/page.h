/*
 * Reading a published log backwards, a bounded piece at a time: for somebody who looks at what
 * happened last while the gate goes on.
 *
 * From files and data keys alone. What no checkpoint covers yet is not in them. Nothing is verified
 * but that an entry was sealed with its epoch's key, and the signature of the checkpoint.
 */
#ifndef AUDIT_PAGE_H
#define AUDIT_PAGE_H

#include "audit/checkpoint.h"
#include "audit/entry.h"
#include "audit/keys.h"
#include "json/json.h"

enum {
	AUDIT_PAGE_LOOKS_MAX = 2048, /* entries looked at for one page */
	AUDIT_PAGE_PATH_MAX = 4096,
};

enum { AUDIT_PAGE_NO_LOG = 1 }; /* nothing has been published */

struct audit_entry {
	struct entry entry;
	struct str text;		/* its JSON object; empty: no key opens it */
	const struct json_value *value; /* the same, read; NULL: none */
};

struct audit_page {
	/* in */
	const char *data; /* the data directory */
	struct vault *vault;
	uint64_t before; /* entries below this number; UINT64_MAX: from the newest */
	size_t looks;	 /* how many at most, to AUDIT_PAGE_LOOKS_MAX */
	/* Told of each, the newest first; texts live inside the call. False: that was the last. */
	bool (*on_entry)(void *state, const struct audit_entry *entry);
	void *state;

	/* out */
	uint64_t size;	  /* of the newest checkpoint */
	uint64_t reached; /* the lowest number that was told; 0: there is nothing older */
};

/*
 * 0, also where what is older has been pruned (`reached` is 0 then); AUDIT_PAGE_NO_LOG; FAIL_IO,
 * FAIL_MEMORY. Blocks while it reads some files.
 */
int audit_page_read(struct audit_page *page);

enum { AUDIT_HEAD_WITNESSES_MAX = 16 };

/* The newest checkpoint; whose key signed it, by the keys of `data`. */
struct audit_head {
	char origin[NOTE_NAME_MAX + 1];
	uint64_t size;
	struct hash root;
	bool is_signed; /* by a key of this gate's, and it holds */
	/* When each witness asked about cosigned it, as that one says; 0: it has not. */
	uint64_t cosigned_s[AUDIT_HEAD_WITNESSES_MAX];
};

/* At most AUDIT_HEAD_WITNESSES_MAX witnesses. 0, AUDIT_PAGE_NO_LOG, FAIL_IO. */
int audit_head_read(const char *data, const struct note_verifier *witnesses, size_t count,
		    struct audit_head *out_head);

#endif
