/*
 * What the answer to a question says: it is there, it is not, or nobody can tell.
 *
 * Doubt is the rule: a status that the declaration does not name, a body that cannot be read,
 * an absence that is not certain, two that match.
 */
#ifndef CORE_INQUIRY_H
#define CORE_INQUIRY_H

#include "core/rule.h"

enum inquiry_verdict {
	INQUIRY_FOUND,	/* once */
	INQUIRY_ABSENT, /* certain, if it is late enough: see rule_inquiry.settle_ms */
	INQUIRY_DOUBT,
};

/*
 * Judge one answer. A pointer found_at that ends in /0 (or any index) means one of a list: a
 * list of two or more is doubt, and so is one that is found itself. What is empty is not found.
 * With INQUIRY_FOUND *out_found is the value (NULL, and *out_body empty, where the body is not JSON
 * and found_at is the whole) and *out_body its canonical text, in `mem`. *out_why is a constant
 * sentence for the operation's history, always set.
 */
enum inquiry_verdict inquiry_judge(const struct rule_inquiry *inquiry, int status,
				   struct str content_type, struct str body, struct arena *mem,
				   const struct json_value **out_found, struct str *out_body,
				   const char **out_why);

/*
 * A question is kept with its operation, and may be asked when the configuration is another: the
 * answer to an old question, read by what a new one calls empty, would look like an absence. So it
 * is kept with a mark of its whole declaration and of the URL of its service, and asked under
 * those alone: another service knows nothing of it. 0, FAIL_MEMORY. An empty question has no mark.
 */
int inquiry_mark(const struct rule_inquiry *inquiry, struct str service, struct str question,
		 struct arena *mem, struct str *out_marked);

/* The question again. False: its declaration or its service is another by now. */
bool inquiry_unmark(const struct rule_inquiry *inquiry, struct str service, struct str marked,
		    struct str *out_question);

#endif
