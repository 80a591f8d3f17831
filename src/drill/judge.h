/*
 * What answers mean, and whether two tell the same. Pure code: it sees answers, never the world.
 */
#ifndef DRILL_JUDGE_H
#define DRILL_JUDGE_H

#include "drill/target.h"

enum judged {
	JUDGED_SUCCESS, /* 2xx */
	JUDGED_UNKNOWN, /* 409, 504: it does not say that the write was done, nor that it was not */
	JUDGED_AGAIN,	/* 408, 425, 429, other 5xx: a client would ask again */
	JUDGED_REFUSED, /* every other status */
	JUDGED_NOTHING, /* there is no answer */
};

enum judged judge(const struct target_answer *answer);

/* Would a client ask again? */
static inline bool judge_is_open(enum judged judged)
{
	return judged == JUDGED_UNKNOWN || judged == JUDGED_AGAIN || judged == JUDGED_NOTHING;
}

/* "201", "no answer (…)", for a sentence. */
struct str judge_words(const struct target_answer *answer, struct arena *mem);

/* What the answer has at `pointer`, as its JSON text without quotes; empty: nothing, or no JSON. */
struct str judge_id(const struct target_answer *answer, struct str pointer, struct arena *mem);

/*
 * Is `again` the answer `first` once more? NULL: it is. Else how it differs, for a sentence, in
 * `mem`. Bodies that are JSON are compared as JSON.
 */
const char *judge_difference(const struct target_answer *first, const struct target_answer *again,
			     struct str id_pointer, struct arena *mem);

/* The first pointer of `equals` (JSON texts) at which `json` has something else, in *out_pointer.
 * False also when `json` is none. */
struct scenario_pairs;
bool judge_equals(struct str json, const struct scenario_pairs *equals, struct arena *mem,
		  struct str *out_pointer);

#endif
