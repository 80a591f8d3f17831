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
	struct buf headers, *held = &request->forward.answer_body;

	if (held->max < CALL_PIECE_MAX)
		held->max = CALL_PIECE_MAX;
	buf_init(&headers, ANSWER_HEAD_MAX);
	request->status = request->forward.call.answer.status;
	request->outcome = OUTCOME_CREATED;
	request->state = request->forward.event == EVENT_SUCCEEDED ? STATE_COMPLETED : STATE_FAILED;
	request->headers = buf_str(&request->forward.answer_headers);
	answer_headers(request, &headers);
	if (headers.is_spoiled)
		exchange_abort(exchange);
	else
		exchange_start(exchange, request->status, buf_str(&headers),
			       request->forward.call.answer.length);
	buf_fini(&headers);
	call_be_patient(&request->forward.call);
	call_resume(&request->forward.call);
	return FLOW_WAITS;
}

bool step_pipe_data(struct request *request, struct str piece)
{
	bool is_open = !request->exchange->is_ended;

	if (request->is_full)
		return false;
	if (is_open)
		request->is_full =
			!exchange_write(request->exchange, buf_str(&request->forward.answer_body));
	buf_clear(&request->forward.answer_body);
	return buf_append_str(&request->forward.answer_body, piece) == 0;
}

void step_pipe_drained(struct request *request)
{
	request->is_full = false;
	if (request->is_call_open)
		call_resume(&request->forward.call);
}

enum step step_pipe_finish(struct request *request)
{
	return STEP_SETTLE;
}
