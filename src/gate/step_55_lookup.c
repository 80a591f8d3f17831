/*
 * Look-up: is what the command asks for there already, by whoever's doing?
 *
 * The service is asked before anything is sent. What is found is the answer, and the operation is
 * complete without a sending; what is certainly not there is made. In doubt nothing is sent, and
 * the same token may try again: a second effect is worse than a late one.
 */
#include "gate/request.h"

#include "core/template.h"

#include <stdio.h>

enum {
	LOOKUP_FIXED_MEMORY = 64 * 1024,
	LOOKUP_MEMORY = LOOKUP_FIXED_MEMORY + 32 * ASK_ANSWER_MAX, /* the most json/ ever takes */
};

static void answered(struct ask *ask)
{
	flow_wake(ask->owner);
}

static enum step in_doubt(struct request *request, const char *why)
{
	snprintf(request->detail, sizeof(request->detail),
		 "It could not be learned whether it is there already: %s", why);
	request->event = EVENT_NOT_SENT;
	return STEP_SETTLE;
}

enum step step_lookup_start(struct request *request)
{
	const struct buf *lines = request_lines(request);
	struct str target;

	arena_init(&request->ask_mem, LOOKUP_MEMORY);
	if (lines->is_spoiled ||
	    template_finish(request->lookup, &request->id, &request->ask_mem, &target) != 0)
		return in_doubt(request, "there is no memory for the question.");
	request->ask = (struct ask){
		.inquiry = &request->policy.action->lookup,
		.policy = &request->policy,
		.target = target,
		.headers = buf_str(lines),
		.mem = &request->ask_mem,
		.owner = request,
		.done = answered,
	};
	ask_start(request->generation, &request->ask);
	return FLOW_WAITS;
}

static enum step found(struct request *request)
{
	const struct ask *ask = &request->ask;

	request->is_found = true;
	request->event = ask->facts.has_failed ? EVENT_REFUSED : EVENT_SUCCEEDED;
	request->status = ask->answer.status;
	return STEP_SETTLE;
}

enum step step_lookup_finish(struct request *request)
{
	switch (request->ask.verdict) {
	case INQUIRY_FOUND:
		return found(request);
	case INQUIRY_ABSENT:
		return STEP_SEND;
	default:
		return in_doubt(request, request->ask.why);
	}
}
