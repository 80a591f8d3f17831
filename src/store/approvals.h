/*
 * What an answer means for a question, the same for every ledger. Pure.
 */
#ifndef STORE_APPROVALS_H
#define STORE_APPROVALS_H

#include "store/store.h"

/* Ask `approval`, as its claim or a new question gives it, at `now_ms`. */
void approval_ask(struct store_approval *approval, int64_t now_ms);

/*
 * Is its time over? At its expiry; and also where it was asked in the future: the clock has been
 * set back, and a question must not be open for longer than was said. (Set back by less than has
 * passed since the question, it is open for that much longer, and no more: whoever sets the clock
 * back again and again has the disk anyway.)
 */
bool approval_is_over(const struct store_approval *approval, int64_t now_ms);

/*
 * May this answer count? 0, STORE_LOST, STORE_LAPSED, STORE_OTHER, STORE_OWN, STORE_AGAIN; in that
 * order. `record` is the operation as it stands. `mem` is for reading the answers so far.
 */
int approval_judge(const struct store_command *answer, const struct store_operation *record,
		   const struct store_approval *approval, int64_t now_ms, struct arena *mem);

/* Count it: given, stand, answers (in `mem`). 0, FAIL_MEMORY. */
int approval_answer(struct store_approval *approval, const struct store_command *answer,
		    int64_t now_ms, struct arena *mem);

/* May it be asked anew from where it stands? 0, STORE_LOST. */
int approval_judge_asking(const struct store_command *command,
			  const struct store_operation *record);

/* Is it agreed to, by all, and this very fingerprint? */
bool approval_lets(const struct store_approval *approval, const struct hash *agreed,
		   const struct hash *fingerprint);

/* Why one that was not agreed to is cancelled, and who decided. */
void approval_say_end(const struct store_approval *approval, const struct store_command *command,
		      struct store_operation *record);

/* What there is to tell of one that somebody has answered. */
enum notice_event approval_notice(const struct store_approval *approval);

#endif
