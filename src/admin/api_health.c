/* What machines ask of the gate itself: is it there, would it take work, how is it doing. */
#include "admin/api.h"

void api_health(struct api_call *call)
{
	admin_answer_text(call->exchange, 200, STR("ok\n"));
}

void api_ready(struct api_call *call)
{
	const struct gate *gate = call->admin->gate;

	if (atomic_load(&gate->is_draining))
		admin_answer_text(call->exchange, 503, STR("draining\n"));
	else if (!store_is_healthy(gate->store))
		admin_answer_text(call->exchange, 503, STR("the store cannot commit\n"));
	else
		admin_answer_text(call->exchange, 200, STR("ready\n"));
}

void api_metrics(struct api_call *call)
{
	struct buf body;

	buf_init(&body, API_ANSWER_MAX);
	admin_metrics(call->admin, &body);
	if (body.is_spoiled)
		exchange_abort(call->exchange);
	else
		exchange_answer(call->exchange, 200,
				STR("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
				    "Cache-Control: no-store\r\n" ADMIN_GUARDS),
				buf_str(&body));
	buf_fini(&body);
}

/* Where the Link of every problem leads; the data listener has the same page. */
void api_help(struct api_call *call)
{
	struct buf body;

	buf_init(&body, API_ANSWER_MAX);
	problem_help(&body, gate_settings(call->admin->gate));
	if (body.is_spoiled)
		exchange_abort(call->exchange);
	else
		admin_answer_text(call->exchange, 200, buf_str(&body));
	buf_fini(&body);
}

const char *api_power_name(enum caller_power power)
{
	static const char *const names[POWER_COUNT] = {
		[POWER_CALL] = "call",
		[POWER_LOOK] = "look",
		[POWER_DECIDE] = "decide",
		[POWER_OPERATE] = "operate",
		[POWER_ADMINISTER] = "administer",
		[POWER_AUDIT] = "audit",
	};

	return names[power];
}

void api_list_endpoints(struct api_call *call)
{
	size_t count;
	const struct api_endpoint *endpoints = api_endpoints(&count);
	struct json_writer json;
	struct buf body;

	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "endpoints");
	json_open_array(&json);
	for (size_t i = 0; i < count; i++) {
		json_open_object(&json);
		json_name(&json, "method");
		json_text(&json, endpoints[i].method);
		json_name(&json, "path");
		json_text(&json, endpoints[i].path);
		json_name(&json, "power");
		json_text(&json, endpoints[i].is_open ? NULL : api_power_name(endpoints[i].power));
		json_name(&json, "summary");
		json_text(&json, endpoints[i].summary);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}
