/*
 * The table of what can be written, the checks of each kind, and one way of making all of
 * them: read, name, check, make, count, commit. Up to the commit nothing has changed.
 */
#include "sandbox/api_write.h"

#include "base/env.h"

/* A write that is being considered. */
struct draft {
	const struct resource *resource;
	const struct json_value *wish; /* the body, an object */
	struct str id;
	struct str reference;	/* body field `reference` */
	int64_t amount;		/* payments, refunds */
	char currency[4];	/* payments, refunds */
	struct record *payment; /* refunds: of which; how much is left of it is not looked at */
	struct str environment; /* deployments: to which */
	int64_t version;	/* deployments: that it will have */
	bool has_fence;		/* deployments */
	uint64_t fence;
};

static bool check_ticket(struct api_work *work, struct draft *draft);
static bool check_payment(struct api_work *work, struct draft *draft);
static bool check_refund(struct api_work *work, struct draft *draft);
static bool check_deployment(struct api_work *work, struct draft *draft);
static bool check_order(struct api_work *work, struct draft *draft);

static const struct resource resources[] = {
	/* name		prefix	 kind		  list   put */
	{"tickets", "tkt_", KIND_TICKET, true, false, check_ticket},
	{"payments", "pay_", KIND_PAYMENT, true, false, check_payment},
	{"refunds", "ref_", KIND_REFUND, true, false, check_refund},
	{"deployments", "dep_", KIND_DEPLOYMENT, true, false, check_deployment},
	{"orders", NULL, KIND_ORDER, false, true, check_order},
	{"environments", NULL, KIND_COUNT, false, false, NULL},
};

const struct resource *resource_find(struct str name)
{
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (str_equal(name, str_from(resources[i].name)))
			return &resources[i];
	}
	return NULL;
}

struct record *resource_record(const struct world *world, const struct resource *resource,
			       struct str id)
{
	struct record *record;
	uint64_t number;

	if (resource->kind == KIND_COUNT)
		return shelf_named(&world->environments, id);
	if (!resource->prefix)
		return shelf_named(&world->shelves[resource->kind], id);
	if (!str_to_u64(str_from_index(id, str_find(id, '_') + 1), UINT64_MAX, &number))
		return NULL;
	record = shelf_numbered(&world->shelves[resource->kind], number);
	return record && str_equal(record->id, id) ? record : NULL;
}

static bool refuse(struct api_work *work, int status, const char *code, const char *message)
{
	api_error(work->reply, status, code, message);
	return false;
}

bool api_read_object(struct api_work *work, struct json_value **out_object)
{
	const struct api_request *request = work->request;
	struct json_error error;
	int r = json_read(request->body, &json_limits_default, request->mem, out_object, &error);

	if (r == JSON_REFUSED)
		return refuse(work, 400, "malformed", error.detail);
	if (r != 0)
		return refuse(work, 413, "too_large", "The body is too large to be understood.");
	if ((*out_object)->type != JSON_OBJECT)
		return refuse(work, 400, "malformed", "The body is to be a JSON object.");
	return true;
}

/* -- what a write needs ------------------------------------------------------------ */

/* A member that is a text of 1 to API_NAME_MAX bytes. */
static bool read_text(const struct draft *draft, const char *name, struct str *out_text)
{
	const struct json_value *value = json_member(draft->wish, str_from(name));

	if (!value || value->type != JSON_STRING || value->string.len == 0 ||
	    value->string.len > API_NAME_MAX)
		return false;
	*out_text = value->string;
	return true;
}

static bool check_ticket(struct api_work *work, struct draft *draft)
{
	struct str title;

	if (!read_text(draft, "title", &title))
		return refuse(work, 400, "invalid", "title is a text of 1 to 200 bytes.");
	return true;
}

/* Whole minor units, as a number or as its text. */
static bool read_amount(const struct json_value *value, int64_t *out_amount)
{
	uint64_t number;

	if (value && value->type == JSON_STRING) {
		if (!str_to_u64(value->string, (uint64_t)API_AMOUNT_MAX, &number))
			return false;
		*out_amount = (int64_t)number;
		return number > 0;
	}
	return value && value->type == JSON_NUMBER &&
	       json_number_to_i64(&value->number, out_amount) && *out_amount > 0 &&
	       *out_amount <= API_AMOUNT_MAX;
}

static bool check_money(struct api_work *work, struct draft *draft)
{
	struct str currency = {0};

	if (!read_amount(json_member(draft->wish, STR("amount")), &draft->amount))
		return refuse(work, 400, "invalid",
			      "amount is a whole number of minor units, more than 0.");
	if (!read_text(draft, "currency", &currency) || currency.len != 3)
		return refuse(work, 400, "invalid", "currency is a code of three letters.");
	for (size_t i = 0; i < 3; i++) {
		draft->currency[i] = ascii_lower(currency.at[i]);
		if (draft->currency[i] < 'a' || draft->currency[i] > 'z')
			return refuse(work, 400, "invalid", "currency is a code of three letters.");
	}
	return true;
}

static bool check_payment(struct api_work *work, struct draft *draft)
{
	return check_money(work, draft);
}

static bool check_refund(struct api_work *work, struct draft *draft)
{
	struct str id;

	if (!read_text(draft, "payment_id", &id))
		return refuse(work, 400, "invalid", "payment_id names the payment to refund.");
	if (!check_money(work, draft))
		return false;
	draft->payment = resource_record(work->world, resource_find(STR("payments")), id);
	if (!draft->payment)
		return refuse(work, 404, "not_found", "There is no payment of this id.");
	if (strcmp(draft->payment->currency, draft->currency) != 0)
		return refuse(work, 422, "wrong_currency", "The payment has another currency.");
	return true;
}

/* The fencing number is kept for all to see, and a smaller one than the last is no obstacle. */
static bool read_fence(struct api_work *work, struct draft *draft)
{
	struct str text = work->request->fence;

	draft->has_fence = text.len > 0;
	return !text.len || str_to_u64(text, INT64_MAX, &draft->fence);
}

static bool check_deployment(struct api_work *work, struct draft *draft)
{
	const struct record *environment;
	struct str text;

	if (!read_text(draft, "environment", &draft->environment) ||
	    !read_text(draft, "service", &text) || !read_text(draft, "artifact", &text))
		return refuse(work, 400, "invalid",
			      "environment, service and artifact are texts of 1 to 200 bytes.");
	if (!read_fence(work, draft))
		return refuse(work, 400, "invalid", "X-Fence is a whole number.");
	environment = shelf_named(&work->world->environments, draft->environment);
	draft->version = environment ? environment->version + 1 : 1;
	return true;
}

static bool check_order(struct api_work *work, struct draft *draft)
{
	if (draft->id.len > API_NAME_MAX)
		return refuse(work, 400, "invalid", "An order's id has at most 200 bytes.");
	return true;
}

/* -- making it --------------------------------------------------------------------- */

static const char *time_name(const struct draft *draft)
{
	return draft->resource->is_put ? "updated" : "created";
}

/* Members that the API itself gives a record. */
static bool is_own_member(const struct draft *draft, struct str name)
{
	enum kind kind = draft->resource->kind;

	return str_equal(name, STR("id")) || str_equal(name, str_from(time_name(draft))) ||
	       (kind == KIND_PAYMENT && str_equal(name, STR("refunded"))) ||
	       (kind == KIND_DEPLOYMENT &&
		(str_equal(name, STR("version")) || str_equal(name, STR("fence"))));
}

static void write_version(const struct draft *draft, struct json_writer *writer)
{
	json_name(writer, "version");
	json_integer(writer, draft->version);
	if (draft->has_fence) {
		json_name(writer, "fence");
		json_integer(writer, (int64_t)draft->fence);
	}
}

static void write_members(const struct api_work *work, const struct draft *draft, struct buf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_name(&writer, "id");
	json_string(&writer, draft->id);
	for (size_t i = 0; i < draft->wish->object.count; i++) {
		const struct json_member *member = &draft->wish->object.members[i];

		if (is_own_member(draft, member->name))
			continue;
		json_name_str(&writer, member->name);
		if (json_canonical(member->value, work->request->mem, out) != 0)
			out->is_spoiled = true;
		writer.needs_comma = true; /* the value was written past the writer */
	}
	if (draft->version)
		write_version(draft, &writer);
	json_name(&writer, time_name(draft));
	json_time(&writer, work->request->wall_ms);
}

/* A record of the draft; NULL without memory. */
static struct record *make_record(const struct api_work *work, const struct draft *draft)
{
	struct record *record = NULL;
	struct buf members;

	buf_init(&members, SHELF_BYTES_MAX / 2);
	write_members(work, draft, &members);
	if (!members.is_spoiled)
		record = record_new(draft->id, buf_str(&members), draft->reference,
				    work->request->key);
	buf_fini(&members);
	if (!record)
		return NULL;
	record->amount = draft->amount;
	if (work->request->hide_ms)
		record->visible_ms = work->request->wall_ms + work->request->hide_ms;
	memcpy(record->currency, draft->currency, sizeof(record->currency));
	return record;
}

/* What the environment of a deployment becomes; NULL without memory. */
static struct record *make_environment(const struct api_work *work, const struct draft *draft)
{
	static const char *const taken_over[] = {"service", "artifact"};
	struct record *record = NULL;
	struct json_writer writer;
	struct buf members;

	buf_init(&members, SHELF_BYTES_MAX / 2);
	json_writer_init(&writer, &members);
	json_name(&writer, "name");
	json_string(&writer, draft->environment);
	write_version(draft, &writer);
	json_name(&writer, "deployment");
	json_string(&writer, draft->id);
	for (size_t i = 0; i < sizeof(taken_over) / sizeof(taken_over[0]); i++) {
		json_name(&writer, taken_over[i]);
		json_string(&writer, json_member(draft->wish, str_from(taken_over[i]))->string);
	}
	json_name(&writer, "updated");
	json_time(&writer, work->request->wall_ms);
	if (!members.is_spoiled)
		record = record_new(draft->environment, buf_str(&members), STR(""), STR(""));
	buf_fini(&members);
	if (record)
		record->version = draft->version;
	return record;
}

/* Take `record` under its name: in the place of the one that had it, if any. */
static bool put_named(struct shelf *shelf, struct record *record)
{
	struct record *old = shelf_named(shelf, record->id);

	if (old)
		shelf_replace(shelf, old, record);
	else
		shelf_put(shelf, record);
	return old == NULL;
}

/* From here on it happens. Returns the status. */
static int commit(struct api_work *work, struct draft *draft, struct record *record,
		  struct record *environment)
{
	struct shelf *shelf = &work->world->shelves[draft->resource->kind];

	if (draft->payment && draft->payment->refunded < INT64_MAX - draft->amount)
		draft->payment->refunded += draft->amount;
	if (environment)
		put_named(&work->world->environments, environment);
	if (draft->resource->is_put)
		return put_named(shelf, record) ? 201 : 200;
	shelf_put(shelf, record);
	return 201;
}

static bool name_draft(struct api_work *work, struct draft *draft, struct str id)
{
	const struct json_value *reference = json_member(draft->wish, STR("reference"));

	if (reference && reference->type == JSON_STRING)
		draft->reference = reference->string;
	draft->id = id;
	if (draft->resource->prefix)
		draft->id = arena_printf(
			work->request->mem, "%s%llu", draft->resource->prefix,
			(unsigned long long)work->world->shelves[draft->resource->kind].next);
	if (!draft->id.len)
		return refuse(work, 503, "no_memory", "There is no memory for it.");
	return true;
}

/* The newest record that came with this key or reference; NULL: none did. */
static const struct record *find_by_key(const struct shelf *shelf, struct str key)
{
	for (uint64_t number = shelf->next; key.len && number-- > shelf->first;) {
		const struct record *record = shelf_numbered(shelf, number);

		if (str_equal(record->key, key) || str_equal(record->reference, key))
			return record;
	}
	return NULL;
}

/* Made under this key before, where keys are honoured; NULL: it is to be made. */
static const struct record *made_before(struct api_work *work, const struct resource *resource,
					struct str key)
{
	const struct record *record = NULL;

	if (work->world->faults.honours_keys && resource->prefix)
		record = find_by_key(&work->world->shelves[resource->kind], key);
	if (record)
		work->world->effects.resent++;
	return record;
}

int resource_write(struct api_work *work, const struct resource *resource, struct str id,
		   const struct record **out_record)
{
	struct draft draft = {.resource = resource};
	struct record *record, *environment = NULL;
	struct json_value *wish;
	struct str key;

	if (!api_read_object(work, &wish))
		return 0;
	draft.wish = wish;
	if (!name_draft(work, &draft, id) || !resource->check(work, &draft))
		return 0;
	key = work->request->key.len ? work->request->key : draft.reference;
	*out_record = made_before(work, resource, key);
	if (*out_record)
		return 200;
	record = make_record(work, &draft);
	if (draft.environment.len)
		environment = make_environment(work, &draft);
	if (!record || (draft.environment.len && !environment) ||
	    effects_add(&work->world->effects, resource->kind, key) != 0) {
		record_free(record);
		record_free(environment);
		refuse(work, 503, "no_memory", "There is no memory for it.");
		return 0;
	}
	*out_record = record;
	return commit(work, &draft, record, environment);
}
