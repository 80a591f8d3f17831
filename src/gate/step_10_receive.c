/*
 * Receive: what the head alone says of a protected request.
 */
#include "gate/headers.h"
#include "gate/request.h"

enum { WORKFLOW_ID_MAX = 255 };

/* The workflow's own ids are kept for people; one that is too long is cut, not refused. */
static struct str workflow_id(const struct http_request *request, struct str name)
{
	struct str value = headers_value(request, name);

	if (value.len > WORKFLOW_ID_MAX)
		value.len = WORKFLOW_ID_MAX;
	return value;
}

static int64_t wait_until(const struct request *request)
{
	const struct http_request *http = &request->exchange->request;
	int64_t wait_ms = (int64_t)http_prefer_wait(http->fields, http->field_count) * 1000;
	int64_t max_ms = request->generation->settings->tokens.max_wait_ms;

	if (wait_ms == 0)
		return 0;
	return request->exchange->loop->now_ms + (wait_ms < max_ms ? wait_ms : max_ms);
}

enum step step_receive(struct request *request)
{
	struct exchange *exchange = request->exchange;

	request->request_id =
		headers_request_id(exchange, request->worker->gate->env, &exchange->mem);
	request->task = workflow_id(&exchange->request, STR("Counterfoil-Task"));
	request->task_step = workflow_id(&exchange->request, STR("Counterfoil-Step"));
	request->retry_of = headers_value(&exchange->request, STR("Counterfoil-Retry-Of"));
	request->wait_until_ms = wait_until(request);
	request->delivery = DELIVERY_NOT_KNOWN;
	return STEP_IDENTIFY;
}
