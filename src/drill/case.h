/*
 * The cases: what each proves, why it matters, and the function that tries it.
 */
#ifndef DRILL_CASE_H
#define DRILL_CASE_H

#include "drill/bench.h"

struct drill_case {
	const char *name;
	const char *what; /* what is done and must hold, a sentence */
	const char *why;  /* what it costs where it does not hold, a sentence */
	const char *(*cannot)(const struct bench *bench); /* why it does not apply; NULL: it does.
							     May be NULL */
	bool (*run)(struct bench *bench); /* false: the verdict was given on the way */
};

/* In the order in which they are run; NULL past the last one. */
const struct drill_case *drill_case_at(size_t index);

/* NULL: there is none of that name. */
const struct drill_case *drill_case_find(struct str name);

/* Those of each file. */
bool case_replay(struct bench *bench);
bool case_copies(struct bench *bench);
bool case_changed_body(struct bench *bench);
bool case_reordered_body(struct bench *bench);
bool case_answer_dropped(struct bench *bench);
bool case_answer_halved(struct bench *bench);
bool case_cut_before_work(struct bench *bench);
bool case_request_duplicated(struct bench *bench);
bool case_answer_delayed(struct bench *bench);
bool case_client_restarted(struct bench *bench);
bool case_server_killed(struct bench *bench);
bool case_restart_remembers(struct bench *bench);
bool case_error_not_cached(struct bench *bench);
bool case_key_missing(struct bench *bench);
bool case_key_empty(struct bench *bench);
bool case_key_too_long(struct bench *bench);
bool case_two_accounts(struct bench *bench);
bool case_other_route(struct bench *bench);
bool case_credential_revoked(struct bench *bench);
bool case_expiry(struct bench *bench);

#endif
