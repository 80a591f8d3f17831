/*
 * Routes, lists, effects and faults; what a write needs to be accepted is in api_write.c.
 */
#include "sandbox/api.h"

#include "base/err.h"
#include "sandbox/api_write.h"
#include "sandbox/query.h"

#include <stdlib.h>

/* A path and what may be done there. */
struct place {
	const struct resource *resource; /* NULL: not one of /v1 */
	struct str id;			 /* after the collection; empty: the collection itself */
};

static bool find_place(struct str path, struct place *out_place);
static void answer_resource(struct api_work *work, const struct place *place);
static void answer_hook(struct api_work *work);
static void answer_effects(struct api_work *work);
static void answer_faults(struct api_work *work);

struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world)
		return NULL;
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		shelf_init(&world->shelves[kind]);
	shelf_init(&world->environments);
	effects_init(&world->effects);
	faults_init(&world->faults);
	return world;
}

static void forget_effects(struct world *world)
{
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		shelf_fini(&world->shelves[kind]);
	shelf_fini(&world->environments);
	effects_fini(&world->effects);
}

void world_free(struct world *world)
{
	if (!world)
		return;
	forget_effects(world);
	faults_clear(&world->faults);
	free(world);
}

void api_reply_init(struct api_reply *reply)
{
	reply->status = 0;
	buf_init(&reply->headers, 4096);
	buf_init(&reply->body, API_ANSWER_MAX);
}

void api_reply_fini(struct api_reply *reply)
{
	buf_fini(&reply->headers);
	buf_fini(&reply->body);
}

void api_error(struct api_reply *reply, int status, const char *code, const char *message)
{
	struct json_writer writer;

	buf_clear(&reply->headers);
	buf_clear(&reply->body);
	reply->status = status;
	json_writer_init(&writer, &reply->body);
	json_open_object(&writer);
	json_name(&writer, "error");
	json_open_object(&writer);
	json_name(&writer, "code");
	json_text(&writer, code);
	json_name(&writer, "message");
	json_text(&writer, message);
	json_close_object(&writer);
	json_close_object(&writer);
	buf_append_byte(&reply->body, '\n');
}

void api_answer(struct world *world, const struct api_request *request, struct api_reply *reply)
{
	struct api_work work = {.world = world, .request = request, .reply = reply};
	struct place place;

	if (str_equal(request->path, STR("/effects")))
		answer_effects(&work);
	else if (str_equal(request->path, STR("/faults")))
		answer_faults(&work);
	else if (str_starts_with(request->path, STR("/hooks/")))
		answer_hook(&work);
	else if (find_place(request->path, &place))
		answer_resource(&work, &place);
	else
		api_error(reply, 404, "not_found", "There is nothing at this path.");
	if (reply->body.is_spoiled || reply->headers.is_spoiled)
		api_error(reply, 500, "too_large", "The answer is too large to be made.");
	buf_append_str(&reply->headers, STR("Content-Type: application/json\r\n"));
}

static bool is_method(const struct api_work *work, const char *method)
{
	return str_equal(work->request->method, str_from(method));
}

static bool is_get(const struct api_work *work)
{
	return is_method(work, "GET") || is_method(work, "HEAD");
}

static void refuse_method(struct api_work *work, const char *allowed)
{
	api_error(work->reply, 405, "method_not_allowed",
		  "This method cannot be used here; Allow says which can.");
	buf_printf(&work->reply->headers, "Allow: %s\r\n", allowed);
}

/* -- records ----------------------------------------------------------------------- */

static bool find_place(struct str path, struct place *out_place)
{
	struct str collection;

	if (!str_starts_with(path, STR("/v1/")))
		return false;
	path = str_from_index(path, 4);
	collection = str_of(path.at, str_find(path, '/'));
	out_place->id = str_from_index(path, collection.len + 1);
	out_place->resource = resource_find(collection);
	if (!out_place->resource || str_find(out_place->id, '/') < out_place->id.len)
		return false;
	/* "/v1/tickets/" is neither the collection nor a ticket */
	return collection.len == path.len || out_place->id.len > 0;
}

static void write_record(const struct resource *resource, const struct record *record,
			 struct buf *out)
{
	buf_append_byte(out, '{');
	buf_append_str(out, record->members);
	if (resource->kind == KIND_PAYMENT)
		buf_printf(out, ",\"refunded\":%lld", (long long)record->refunded);
	buf_append_byte(out, '}');
}

static bool is_visible(const struct api_work *work, const struct record *record)
{
	return record->visible_ms <= work->request->wall_ms;
}

/* One of a list; `is_first` of them. */
static void write_listed(const struct api_work *work, const struct resource *resource,
			 const struct record *record, bool is_first)
{
	struct buf *out = &work->reply->body;

	if (!is_first)
		buf_append_byte(out, ',');
	write_record(resource, record, out);
	if (work->request->is_twice) {
		buf_append_byte(out, ',');
		write_record(resource, record, out);
	}
}

/* {"data": [newest first], "has_more"}. */
static void answer_list(struct api_work *work, const struct resource *resource)
{
	const struct shelf *shelf = &work->world->shelves[resource->kind];
	struct buf *out = &work->reply->body;
	uint64_t number = shelf->next;
	struct query query;
	const char *why;
	size_t count = 0;

	if (!query_read(work->request->query, work->request->mem, &query, &why)) {
		api_error(work->reply, 400, "invalid", why);
		return;
	}
	buf_append_str(out, STR("{\"data\":["));
	while (number > shelf->first && count <= query.limit) {
		const struct record *record = shelf_numbered(shelf, --number);

		if (!is_visible(work, record) || !query_wants(&query, record))
			continue;
		if (++count <= query.limit)
			write_listed(work, resource, record, count == 1);
	}
	buf_printf(out, "],\"has_more\":%s}\n", count > query.limit ? "true" : "false");
	work->reply->status = 200;
}

static void answer_record(struct api_work *work, const struct resource *resource, int status,
			  const struct record *record)
{
	work->reply->status = status;
	write_record(resource, record, &work->reply->body);
	buf_append_byte(&work->reply->body, '\n');
	if (status == 201)
		buf_printf(&work->reply->headers, "Location: /v1/%s/%.*s\r\n", resource->name,
			   STR_ARG(record->id));
}

static void answer_one(struct api_work *work, const struct resource *resource, struct str id)
{
	const struct record *record = resource_record(work->world, resource, id);

	if (record && is_visible(work, record))
		answer_record(work, resource, 200, record);
	else
		api_error(work->reply, 404, "not_found", "There is no record of this id.");
}

static void answer_write(struct api_work *work, const struct resource *resource, struct str id)
{
	const struct record *record = NULL;
	int status = resource_write(work, resource, id, &record);

	if (status != 0)
		answer_record(work, resource, status, record);
}

static void answer_resource(struct api_work *work, const struct place *place)
{
	const struct resource *resource = place->resource;

	if (!place->id.len && is_get(work) && resource->has_list)
		answer_list(work, resource);
	else if (!place->id.len && is_method(work, "POST") && resource->prefix)
		answer_write(work, resource, STR(""));
	else if (!place->id.len && resource->has_list)
		refuse_method(work, "GET, HEAD, POST");
	else if (!place->id.len)
		api_error(work->reply, 404, "not_found", "This collection has no list.");
	else if (is_get(work))
		answer_one(work, resource, place->id);
	else if (is_method(work, "PUT") && resource->is_put)
		answer_write(work, resource, place->id);
	else
		refuse_method(work, resource->is_put ? "GET, HEAD, PUT" : "GET, HEAD");
}

/* -- events ------------------------------------------------------------------------ */

/* An event is counted, and its body is not looked at. */
static void answer_hook(struct api_work *work)
{
	struct str name = str_from_index(work->request->path, 7);

	if (!name.len || str_find(name, '/') < name.len) {
		api_error(work->reply, 404, "not_found", "There is nothing at this path.");
	} else if (!is_method(work, "POST")) {
		refuse_method(work, "POST");
	} else if (effects_add(&work->world->effects, KIND_HOOK, work->request->event) != 0) {
		api_error(work->reply, 503, "no_memory", "There is no memory for it.");
	} else {
		work->reply->status = 200;
		buf_append_str(&work->reply->body, STR("{\"received\":true}\n"));
	}
}

/* -- counts and faults ------------------------------------------------------------- */

static void write_effects(struct api_work *work)
{
	struct json_writer writer;

	json_writer_init(&writer, &work->reply->body);
	effects_write(&work->world->effects,
		      query_member(work->request->query, STR("key"), work->request->mem), &writer);
	buf_append_byte(&work->reply->body, '\n');
	work->reply->status = 200;
}

static void answer_effects(struct api_work *work)
{
	struct world *world = work->world;

	if (is_method(work, "DELETE")) {
		forget_effects(world);
		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			shelf_init(&world->shelves[kind]);
		shelf_init(&world->environments);
		effects_init(&world->effects);
	} else if (!is_get(work)) {
		refuse_method(work, "GET, HEAD, DELETE");
		return;
	}
	write_effects(work);
}

/* Queue a fault; false when an error has been answered. */
static bool queue_fault(struct api_work *work)
{
	struct json_value *wish;
	const char *why = NULL;
	int r;

	if (!api_read_object(work, &wish))
		return false;
	r = faults_add(&work->world->faults, wish, &why);
	if (r == FAULT_REFUSED)
		api_error(work->reply, 400, "invalid", why);
	else if (r != 0)
		api_error(work->reply, 503, "no_memory", "There is no memory for it.");
	return r == 0;
}

static void answer_faults(struct api_work *work)
{
	struct json_writer writer;

	if (is_method(work, "DELETE")) {
		faults_clear(&work->world->faults);
	} else if (is_method(work, "PUT")) {
		if (!queue_fault(work))
			return;
	} else if (!is_get(work)) {
		refuse_method(work, "GET, HEAD, PUT, DELETE");
		return;
	}
	json_writer_init(&writer, &work->reply->body);
	faults_write(&work->world->faults, &writer);
	buf_append_byte(&work->reply->body, '\n');
	work->reply->status = 200;
}
