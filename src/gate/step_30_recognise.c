/*
 * Recognise: read the body and say what this request is, so that the same one is known again.
 */
#include "gate/headers.h"
#include "gate/request.h"

#include "core/fingerprint.h"

#include <stdio.h>

enum step step_recognise_start(struct request *request)
{
	exchange_collect(request->exchange, request->generation->settings->limits.max_body);
	return FLOW_WAITS;
}

static int compute(struct request *request, struct fingerprint_error *error)
{
	const struct http_request *http = &request->exchange->request;
	const struct fingerprint_request facts = {
		.account = request->account,
		.method = http->method,
		.path = http->parts.path,
		.query = http->parts.query,
		.has_query = http->parts.has_query,
		.content_type = headers_value(http, STR("Content-Type")),
		.content_encoding = headers_value(http, STR("Content-Encoding")),
		.body = request->exchange->body_text,
		.max_body = request->generation->settings->limits.max_body,
	};

	return fingerprint_of(&facts, &request->exchange->mem, &request->fingerprint, error);
}

enum step step_recognise_finish(struct request *request)
{
	struct fingerprint_error error;
	enum problem problem;

	if (request->body_refusal) {
		request->problem = problem_of_refusal(request->body_refusal);
		return STEP_ANSWER;
	}
	switch (compute(request, &error)) {
	case 0:
		return STEP_CLAIM;
	case FINGERPRINT_REFUSED:
		problem = PROBLEM_BODY_MALFORMED;
		break;
	case FINGERPRINT_TOO_LARGE:
		problem = PROBLEM_BODY_TOO_LARGE;
		break;
	case FINGERPRINT_CODING:
		problem = PROBLEM_CODING_UNKNOWN;
		break;
	default:
		return request_problem(request, PROBLEM_BODY_TOO_LARGE,
				       "The body takes more memory to understand than this gate "
				       "allows (limits.request_memory).");
	}
	snprintf(request->detail, sizeof(request->detail), "%s", error.detail);
	return request_problem(request, problem, request->detail);
}
