/*
 * What a delivery writes down, and what it tells.
 *
 * Always true: the result says nothing that the journal does not know by then; an answer's body is
 * in its file before the journal says so.
 * Can fail: the journal cannot be written. What was sent is then as uncertain as it was, but an end
 * that was heard is told all the same. A file that cannot be written costs nothing but the file.
 */
#include "client/delivery_internal.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int keep_answer(struct delivery *delivery, struct kept_answer *out);
static int say_unkept(struct delivery *delivery);

static enum entry_state state_of(enum meaning meaning)
{
	switch (meaning) {
	case MEANS_DONE:
		return ENTRY_DONE;
	case MEANS_FAILED:
		return ENTRY_FAILED;
	case MEANS_OPEN:
		return ENTRY_OPEN;
	case MEANS_NOT_YET:
	case MEANS_UNRECORDED:
	case MEANS_CONFLICT:
		return ENTRY_NEW;
	case MEANS_UNCERTAIN:
	case MEANS_LOST:
		break;
	}
	return ENTRY_UNKNOWN;
}

/* Is there time for what comes next? What is to be sent again waits as long as it was told to. */
static bool has_time(const struct delivery *delivery, const struct lesson *lesson)
{
	int64_t left = delivery_left(delivery);

	return left > 0 && (lesson->meaning != MEANS_NOT_YET || lesson->after_s * 1000 <= left);
}

/* Texts that live as long as the result. False: no memory. */
static bool put_result(struct delivery *delivery, const struct lesson *lesson)
{
	struct delivery_result *result = &delivery->result;
	struct journal_entry *entry = &delivery->entry;
	struct arena *mem = delivery->mem;

	if (lesson->operation.len)
		entry->operation = arena_str(mem, lesson->operation);
	entry->state = state_of(lesson->meaning);
	entry->is_gate |= lesson->is_gate;
	result->outcome = arena_str(mem, lesson->outcome);
	result->step = entry->step;
	result->state = entry->state;
	result->operation = entry->operation;
	result->is_gate = entry->is_gate;
	result->attempts = entry->attempts;
	result->source = lesson->source;
	result->advice = lesson->advice.len ? arena_str(mem, lesson->advice)
					    : str_from(meaning_advice(lesson->meaning));
	result->after_s = lesson->after_s;
	result->reason = arena_str(mem, lesson->reason);
	return result->outcome.at && result->advice.at && result->reason.at;
}

int delivery_settle(struct delivery *delivery, const struct lesson *lesson)
{
	struct delivery_result *result = &delivery->result;
	struct journal_settlement settlement = {.what = lesson->what};
	bool has_ended = lesson->meaning == MEANS_DONE || lesson->meaning == MEANS_FAILED;
	int r = 0;

	if (!put_result(delivery, lesson))
		return journal_say(delivery->err, FAIL_MEMORY, "there is no memory for the answer");
	result->answer = (struct kept_answer){.status = 0};
	*delivery->err->text = '\0';
	if (lesson->has_answer)
		r = keep_answer(delivery, &result->answer);
	if (r != 0)
		return r;
	if (*delivery->err->text && !result->reason.len)
		result->reason = arena_str(delivery->mem, str_from(delivery->err->text));
	settlement.state = result->state;
	settlement.is_still_ours = lesson->goes_on && has_time(delivery, lesson);
	settlement.is_forgotten =
		lesson->meaning == MEANS_UNRECORDED || lesson->meaning == MEANS_CONFLICT;
	settlement.is_gate = lesson->is_gate;
	settlement.outcome = result->outcome;
	settlement.operation = result->operation;
	settlement.advice = result->advice;
	settlement.after_s = result->after_s;
	settlement.reason = result->reason;
	settlement.note = result->reason.len ? result->reason : result->outcome;
	if (has_ended)
		settlement.answer = result->answer;
	if (settlement.answer.body.len > JOURNAL_BODY_MAX) {
		settlement.answer.has_body = false;
		settlement.answer.body = STR("");
	} else {
		settlement.answer.body_file = STR(""); /* the caller's own, and theirs to change */
	}
	if (!settlement.is_still_ours)
		delivery->move = MOVE_STOP;
	r = journal_settle(delivery->journal, delivery->entry.id, &settlement, delivery->err);
	return r != 0 && has_ended ? say_unkept(delivery) : r;
}

/* The journal does not have it: the caller is the last to hear of it. */
static int say_unkept(struct delivery *delivery)
{
	struct delivery_result *result = &delivery->result;
	struct journal_error why = *delivery->err;

	result->reason = arena_printf(delivery->mem, "not kept in the journal: %s", why.text);
	return journal_say(delivery->err, DELIVERY_UNKEPT,
			   "the end is known (%.*s, status %lld), and could not be kept: %s",
			   STR_ARG(result->outcome), (long long)result->answer.status, why.text);
}

void delivery_tell(struct delivery *delivery)
{
	const struct journal_entry *entry = &delivery->entry;
	struct delivery_result *result = &delivery->result;
	bool has_ended = entry->state == ENTRY_DONE || entry->state == ENTRY_FAILED;

	*result = (struct delivery_result){
		.outcome = entry->outcome,
		.step = entry->step,
		.state = entry->state,
		.operation = entry->operation,
		.is_gate = entry->is_gate,
		.answer = entry->answer,
		.attempts = entry->attempts,
		.source = "journal",
		.advice = entry->advice,
		.after_s = entry->after_s,
		.reason = entry->reason,
	};
	if (result->answer.has_body)
		result->answer.body_file = STR(""); /* what is here need not be looked for */
	if (entry->state == ENTRY_DONE)
		result->outcome = STR("replayed");
	if (!has_ended) { /* somebody else is at it */
		result->outcome = STR("running");
		result->advice = STR("wait");
		result->after_s = 1;
		result->reason = STR("another process is at this step");
	}
}

/* -- the body ------------------------------------------------------------------------ */

/* Where a body goes that is not kept in the journal: JOURNAL.answers/ID. Empty: nowhere. */
static struct str own_file(struct delivery *delivery)
{
	char folder[JOURNAL_PATH_MAX];

	if (!journal_answers(delivery->journal, folder) ||
	    (mkdir(folder, 0700) != 0 && errno != EEXIST))
		return STR("");
	return arena_printf(delivery->mem, "%s/%lld", folder, (long long)delivery->entry.id);
}

static int write_file(struct delivery *delivery, const char *path, struct str bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool is_written = fd >= 0;

	for (size_t at = 0; is_written && at < bytes.len;) {
		ssize_t n = write(fd, bytes.at + at, bytes.len - at);

		is_written = n > 0 || (n < 0 && errno == EINTR);
		at += n > 0 ? (size_t)n : 0;
	}
	if (is_written)
		is_written = fsync(fd) == 0 || errno == EINVAL; /* a pipe has nothing to sync */
	if (!is_written)
		journal_say(delivery->err, DELIVERY_REFUSED,
			    "the answer's body cannot be written to %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return is_written ? 0 : DELIVERY_REFUSED;
}

int delivery_put_body(struct delivery *delivery, struct kept_answer *answer)
{
	const char *output = delivery->request->output;
	struct str path = output ? str_from(output) : STR("");
	int r;

	if (!answer->has_body || (!path.len && answer->body.len <= JOURNAL_BODY_MAX))
		return 0;
	if (!path.len)
		path = own_file(delivery);
	if (!path.len)
		return journal_say(
			delivery->err, DELIVERY_REFUSED,
			"the answer is too large for the journal, and there is no folder "
			"for it beside: name a file for it");
	r = write_file(delivery, path.at, answer->body);
	if (r == 0)
		answer->body_file = path;
	return r;
}

static int keep_answer(struct delivery *delivery, struct kept_answer *out)
{
	struct web_answer *answer = &delivery->answer;

	out->status = answer->status;
	out->headers = arena_str(delivery->mem, buf_str(&answer->headers));
	out->has_body = !answer->is_body_cut;
	out->body = arena_str(delivery->mem, buf_str(&answer->body));
	if (!out->headers.at || !out->body.at)
		return journal_say(delivery->err, FAIL_MEMORY, "there is no memory for the answer");
	delivery_put_body(delivery, out); /* a failure is in *err; the body stays in the result */
	return 0;
}
