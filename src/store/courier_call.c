/*
 * What the courier says, and what it makes of the answers (see courier.h, audit/witness.h).
 */
#include "store/courier_internal.h"

#include "audit/log_reader.h"
#include "audit/publisher.h"
#include "audit/witness.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { WITNESS_TRIES = 3, PATH_MAX_LEN = 40 };

static enum courier_end say(char *why, size_t why_size, enum courier_end end, const char *format,
			    ...) __attribute__((format(printf, 4, 5)));
static enum courier_end say(char *why, size_t why_size, enum courier_end end, const char *format,
			    ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, why_size, format, arguments);
	va_end(arguments);
	return end;
}

/* One exchange about a path below the place. 0 and the answer, or < 0 with `why`. */
static int ask(struct courier *courier, const struct courier_place *place,
	       enum remote_method method, const char *path, struct str body,
	       struct remote_answer *answer, char *why, size_t why_size)
{
	char url[REMOTE_URL_MAX + PATH_MAX_LEN];
	struct remote_call call = {method, url, body, &courier->is_stopping};

	snprintf(url, sizeof(url), "%s/%s", place->url, path);
	answer->body = &courier->answer;
	return remote_ask(&call, answer, why, why_size);
}

static bool is_success(long status)
{
	return status >= 200 && status < 300;
}

/* -- anchors ----------------------------------------------------------------------- */

enum courier_end courier_compare_anchor(struct courier *courier, struct courier_place *anchor,
					char *why, size_t why_size)
{
	struct courier_log *published = &courier->published;
	struct remote_answer answer;
	int r = ask(courier, anchor, REMOTE_GET, "checkpoint", STR(""), &answer, why, why_size);

	if (r != 0)
		return COURIER_AGAIN;
	if (answer.status != 200 && answer.status != 404 && answer.status != 410)
		return say(why, why_size, COURIER_AGAIN, "it answered GET with %ld", answer.status);
	if (answer.status == 200)
		r = published->compare(published->state, anchor->url, answer.body, why, why_size);
	anchor->is_compared = r == 0;
	if (r == 0)
		return COURIER_DONE;
	return r > 0 ? COURIER_REFUSED : COURIER_AGAIN;
}

static enum courier_end put(struct courier *courier, struct courier_place *anchor, const char *path,
			    char *why, size_t why_size)
{
	struct remote_answer answer;

	if (ask(courier, anchor, REMOTE_PUT, path, buf_str(&courier->checkpoint), &answer, why,
		why_size) != 0)
		return COURIER_AGAIN;
	if (!is_success(answer.status))
		return say(why, why_size, COURIER_AGAIN, "it answered PUT with %ld", answer.status);
	return COURIER_DONE;
}

enum courier_end courier_put(struct courier *courier, struct courier_place *anchor, char *why,
			     size_t why_size)
{
	enum courier_end end = COURIER_DONE;
	char path[PATH_MAX_LEN];

	if (!anchor->is_compared)
		end = courier_compare_anchor(courier, anchor, why, why_size);
	snprintf(path, sizeof(path), "checkpoints/%" PRIu64, courier->size);
	if (end == COURIER_DONE)
		end = put(courier, anchor, path, why, why_size);
	if (end == COURIER_DONE)
		end = put(courier, anchor, "checkpoint", why, why_size);
	if (end == COURIER_DONE)
		anchor->done = courier->revision;
	return end;
}

/* -- witnesses --------------------------------------------------------------------- */

/* It goes into the published files, and under what is carried on. */
static enum courier_end take_cosignature(struct courier *courier, struct courier_place *witness,
					 struct str line, char *why, size_t why_size)
{
	struct courier_log *published = &courier->published;
	struct buf before = courier->checkpoint, cosigned;
	int r = published->cosign(published->state, courier->size, line);

	if (r < 0)
		return say(why, why_size, COURIER_AGAIN,
			   "its cosignature cannot be written beside the log");
	buf_init(&cosigned, NOTE_SIZE_MAX);
	if (cosignature_add(buf_str(&before), line, &cosigned) == 0) {
		courier->checkpoint = cosigned;
		cosigned = before;
		courier->revision++;
	}
	buf_fini(&cosigned);
	witness->known = courier->size;
	return COURIER_DONE;
}

static enum courier_end refused(const struct courier *courier, const struct courier_place *witness,
				enum witness_verdict verdict, char *why, size_t why_size)
{
	switch (verdict) {
	case WITNESS_FORKED:
		return say(why, why_size, COURIER_REFUSED,
			   "forked: it has cosigned %" PRIu64
			   " entries of another history than this log's; keep the data directory, "
			   "and verify it against the cosigned checkpoints",
			   witness->known);
	case WITNESS_NO_LOG:
		return say(why, why_size, COURIER_REFUSED,
			   "it does not know this log: give its operator keys/audit.vkey");
	case WITNESS_NO_KEY:
		return say(why, why_size, COURIER_REFUSED,
			   "it does not know the key that signs now: give its operator "
			   "the newest keys/audit.N.vkey; each epoch has a key of its own");
	default:
		return say(why, why_size, COURIER_REFUSED,
			   "rolled back: it has cosigned %" PRIu64
			   " entries, and this data directory has published %" PRIu64
			   ": it is an older copy; put the newest one back",
			   witness->known, courier->size);
	}
}

/* One question, from the size that the witness is thought to know. *out_goes_on: it told another.
 */
static enum courier_end ask_once(struct courier *courier, struct courier_place *witness,
				 bool *out_goes_on, char *why, size_t why_size)
{
	struct courier_log *published = &courier->published;
	struct str checkpoint = buf_str(&courier->checkpoint), line;
	enum witness_verdict verdict;
	struct remote_answer answer;
	struct witness_answer said;
	struct tree_proof proof;
	int r;

	*out_goes_on = false;
	r = published->prove(published->state, witness->known, courier->size, &proof);
	buf_clear(&courier->request);
	if (r == 0)
		r = witness_request_write(witness->known, &proof, checkpoint, &courier->request);
	if (r != 0)
		return say(why, why_size, COURIER_AGAIN, "there is no proof for it now");
	if (ask(courier, witness, REMOTE_POST, "add-checkpoint", buf_str(&courier->request),
		&answer, why, why_size) != 0)
		return COURIER_AGAIN;
	said = (struct witness_answer){answer.status, str_from(answer.type), buf_str(answer.body)};
	verdict = witness_answer_read(&said, witness->known, checkpoint, &witness->key,
				      &courier->scratch, &line, &witness->known);
	if (verdict == WITNESS_COSIGNED)
		return take_cosignature(courier, witness, line, why, why_size);
	if (verdict == WITNESS_FAULT)
		return say(why, why_size, COURIER_AGAIN,
			   "it answered %ld, without a cosignature by its key", answer.status);
	*out_goes_on = verdict == WITNESS_KNOWS_OTHER && witness->known <= courier->size;
	return refused(courier, witness, verdict, why, why_size);
}

enum courier_end courier_ask(struct courier *courier, struct courier_place *witness, char *why,
			     size_t why_size)
{
	enum courier_end end = COURIER_AGAIN;
	bool goes_on = true;

	if (witness->known > courier->size)
		witness->known = 0; /* perhaps it was put back, too */
	for (int i = 0; goes_on && i < WITNESS_TRIES; i++)
		end = ask_once(courier, witness, &goes_on, why, why_size);
	if (goes_on)
		return say(why, why_size, COURIER_AGAIN, "it tells of another size each time");
	if (end == COURIER_DONE)
		witness->done = courier->size;
	return end;
}
