/*
 * What a log says to a witness, and what the witness may answer (c2sp.org/tlog-witness).
 *
 *   POST <url>/add-checkpoint
 *
 *   old 20852014                  the size of what it cosigned last
 *   PlRNCrwHpqhGrupue0L7…         that the new tree begins with that one, a hash a line
 *
 *   <the checkpoint, signed>
 *
 * 200 brings its cosignature; 409 with the type text/x.tlog.size the size that it knows of, from
 * which to prove anew. Everything else is a refusal, and which one it is tells what is wrong. Of an
 * answer nothing is taken but a cosignature by the witness's own key, and a size.
 *
 * Any thread; no I/O.
 */
#ifndef AUDIT_WITNESS_H
#define AUDIT_WITNESS_H

#include "audit/cosignature.h"
#include "audit/tree.h"

enum {
	WITNESS_PROOF_MAX = 63, /* lines */
	WITNESS_REQUEST_MAX = NOTE_SIZE_MAX + 4096,
	WITNESS_ANSWER_MAX = 1 << 16,
};

struct witness_answer {
	long status;
	struct str type; /* Content-Type; may be empty */
	struct str body;
};

enum witness_verdict {
	WITNESS_COSIGNED,
	WITNESS_KNOWS_OTHER, /* a size that is not the one that was proved from */
	WITNESS_FORKED,	     /* 409 or 422: what it has cosigned is not the beginning of this */
	WITNESS_NO_LOG,	     /* 404: it does not know the origin */
	WITNESS_NO_KEY,	     /* 403: it knows none of the keys that signed */
	WITNESS_FAULT,	     /* anything else: it may be otherwise the next time */
};

/* "URL KEY", as a setting has it. False: it is not two words, or no witness's key. */
bool witness_setting_read(struct str text, struct str *out_url, struct note_verifier *out_key);

/* Append the request. As buf_append(). At most WITNESS_PROOF_MAX hashes. */
int witness_request_write(uint64_t old_size, const struct tree_proof *proof, struct str checkpoint,
			  struct buf *out);

/*
 * Judge the answer to a request from `old_size` about `checkpoint`. *out_line is the cosignature's,
 * in `scratch`, with WITNESS_COSIGNED; *out_size with WITNESS_KNOWS_OTHER.
 */
enum witness_verdict witness_answer_read(const struct witness_answer *answer, uint64_t old_size,
					 struct str checkpoint, const struct note_verifier *key,
					 struct buf *scratch, struct str *out_line,
					 uint64_t *out_size);

#endif
