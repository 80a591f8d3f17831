/*
 * What a person decides about one operation: read from the body of a request, judged by what the
 * operation's record says, and made into a command for the store.
 *
 * Pure. Whether the operation still is where the decision needs it to be is for the store to say,
 * in its transaction.
 */
#ifndef ADMIN_DECISION_H
#define ADMIN_DECISION_H

#include "config/settings.h"
#include "core/caller.h"
#include "store/store.h"
#include "json/json.h"

enum decision_kind {
	DECISION_CANCEL,  /* one that has not been sent */
	DECISION_RESOLVE, /* one that is unknown */
	DECISION_RELEASE, /* the lock of one, whatever became of it */
};

struct decision {
	enum decision_kind kind;
	bool has_happened; /* resolve: the service acted */
	bool may_retry;	   /* resolve, if it did not: its caller may send it again */
	bool has_epoch;	   /* it is about this sending; else about whichever was the last */
	uint32_t epoch;
	struct str why;
	struct str reference;	      /* what the service calls the effect; or empty */
	struct str by;		      /* who decides, in words; decision_by() */
	struct str agent, credential; /* the same for its attempt */
};

/* Its verb: "cancel", "resolve", "release". */
const char *decision_kind_name(enum decision_kind kind);

/*
 * Read a decision of that kind. NULL, or a sentence that says what is wrong with it; texts are
 * borrowed from `body`.
 */
const char *decision_read(enum decision_kind kind, const struct json_value *body,
			  struct decision *out_decision);

/* Say who decides; words live in `mem`. False: no room. */
bool decision_by(struct decision *decision, const struct caller *caller, struct arena *mem);

/*
 * The command that carries it out on the operation of `found`, an answered find by id. Which
 * budget a success opens and how long the record is kept follow from what its claim recorded and
 * what `settings` say of its action now. The history is told in words that live in `mem`; without
 * room there, the reason alone. The command's `mem`, `done` and `owner` are the caller's to fill
 * in.
 */
void decision_command(const struct decision *decision, const struct settings *settings,
		      const struct store_command *found, int64_t now_ms, struct arena *mem,
		      struct store_command *out_command);

#endif
