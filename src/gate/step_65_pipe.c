/*
 * Pipe: pass an answer on that is too large to keep.
 *
 * It goes through in pieces as the client takes them, while its length and digest grow. The
 * last piece is held back until the operation is settled: so a caller never holds a whole
 * answer that the store does not know of, and a service that breaks off in the middle leaves
 * an operation that is unknown, as with any half answer. How fast the client reads decides
 * nothing: from here on the service has its time limit for each silence, not for the whole.
 */
#include "gate/request.h"

enum step step_pipe_start(struct request *request)
{
	struct exchange *exchange = request->exchange;
	struct buf headers, *held = &request->answer_body;

	if (held->max < CALL_PIECE_MAX)
		held->max = CALL_PIECE_MAX;
	buf_init(&headers, ANSWER_HEAD_MAX);
	request->status = request->call.answer.status;
	request->outcome = OUTCOME_CREATED;
	request->state = request->event == EVENT_SUCCEEDED ? STATE_COMPLETED : STATE_FAILED;
	request->headers = buf_str(&request->answer_headers);
	answer_headers(request, &headers);
	if (headers.is_spoiled)
		exchange_abort(exchange);
	else
		exchange_start(exchange, request->status, buf_str(&headers),
			       request->call.answer.length);
	buf_fini(&headers);
	call_be_patient(&request->call);
	call_resume(&request->call);
	return FLOW_WAITS;
}

bool step_pipe_data(struct request *request, struct str piece)
{
	bool is_open = !request->exchange->is_ended;

	if (request->is_full)
		return false;
	if (is_open)
		request->is_full =
			!exchange_write(request->exchange, buf_str(&request->answer_body));
	hasher_add(&request->digest, piece.at, piece.len);
	request->answer_length += piece.len;
	buf_clear(&request->answer_body);
	return buf_append_str(&request->answer_body, piece) == 0;
}

void step_pipe_drained(struct request *request)
{
	request->is_full = false;
	if (request->is_call_open)
		call_resume(&request->call);
}

enum step step_pipe_finish(struct request *request)
{
	request->event = outcome_of_sending(request->policy.statuses, request->sending,
					    request->call.answer.status);
	return STEP_SETTLE;
}
