/* Questions to people (see question.h). */
#include "gate/question.h"

#include "base/err.h"
#include "core/approval.h"
#include "gate/approval_json.h"
#include "gate/policy.h"
#include "http/http.h"

enum { SENT_MAX = 4 * 1024 * 1024 }; /* more than a head can make of it */

#define POLICY_TAG "counterfoil/question/1"

/* In whose name it is sent: a service's practice side and its real one often share an address. */
static void add_credential(struct hasher *hasher, const struct settings_credential *credential)
{
	if (!credential->secret.len)
		return; /* the caller's own */
	hasher_add_part(hasher, credential->secret);
	hasher_add_part(hasher, credential->header);
	hasher_add_part(hasher, credential->oauth2.token_url.text);
	hasher_add_part(hasher, credential->oauth2.client_id);
	hasher_add_part(hasher, credential->oauth2.scope);
	hasher_add_part(hasher, credential->oauth2.audience);
}

/*
 * All that is agreed to: the rule, the service and the credential it is shown, by their names, and
 * the command as the declaration reads it.
 */
static struct hash policy_hash(const struct action *action,
			       const struct settings_upstream *upstream, struct str shown)
{
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add(&hasher, POLICY_TAG, sizeof(POLICY_TAG));
	hasher_add(&hasher, action->approval.policy.bytes, HASH_SIZE);
	hasher_add_part(&hasher, upstream ? upstream->name : STR(""));
	hasher_add_part(&hasher, upstream ? upstream->url.text : STR(""));
	hasher_add_part(&hasher, shown);
	if (upstream)
		add_credential(&hasher, &upstream->credential);
	hasher_end(&hasher, &hash);
	return hash;
}

static void write_text(struct json_writer *json, struct str text)
{
	struct buf visible;

	buf_init(&visible, SENT_MAX);
	approval_visible(text, &visible);
	json->out->is_spoiled |= visible.is_spoiled;
	json_string(json, buf_str(&visible));
	buf_fini(&visible);
}

/* A header that the service acts on: its lines one behind the other, or null. */
static void write_header(struct json_writer *json, struct str name, struct str lines)
{
	struct http_field field;
	struct buf value;
	bool is_there = false;

	buf_init(&value, SENT_MAX);
	while (http_next_line(&lines, &field)) {
		if (!str_equal_nocase(field.name, name))
			continue;
		(void)buf_append_str(&value, is_there ? STR(", ") : STR(""));
		(void)buf_append_str(&value, field.value);
		is_there = true;
	}
	json_name_str(json, name);
	json->out->is_spoiled |= value.is_spoiled;
	if (is_there)
		write_text(json, buf_str(&value));
	else
		json_null(json);
	buf_fini(&value);
}

/*
 * What the service is told besides the command: the path, the query, and the headers that it acts
 * on. A member "sent" behind the others of `shown`, which is an object with some. 0, FAIL_MEMORY.
 */
static int add_sent(const struct action *action, const struct question_request *request,
		    struct arena *mem, struct str *shown)
{
	struct json_writer json;
	struct str text = {0};
	struct buf out;

	require(shown->len > 2);
	buf_init(&out, SENT_MAX);
	json_writer_init(&json, &out);
	json_open_object(&json);
	json_name(&json, "target");
	write_text(&json, request->target);
	json_name(&json, "headers");
	json_open_object(&json);
	for (size_t i = 0; i < action->header_count; i++)
		write_header(&json, action->headers[i], request->lines);
	json_close_object(&json);
	json_close_object(&json);
	if (!out.is_spoiled)
		text = arena_printf(mem, "%.*s,\"sent\":%.*s}", (int)shown->len - 1, shown->at,
				    STR_ARG(buf_str(&out)));
	buf_fini(&out);
	if (!text.at)
		return FAIL_MEMORY;
	*shown = text;
	return 0;
}

/* All but who asks. */
static int fill(const struct action *action, const struct settings_upstream *upstream,
		const struct fingerprint_command *reading, const struct question_request *request,
		struct arena *mem, struct store_approval *out)
{
	struct approval_question question;
	int r = approval_question(action, reading->path, reading->command, mem, &question);

	if (r == 0)
		r = add_sent(action, request, mem, &question.shown);
	if (r != 0)
		return r;
	out->needed = action->approval.approvers;
	out->for_ms = action->approval.expires_ms;
	out->policy = policy_hash(action, upstream, question.shown);
	out->shown = question.shown;
	return 0;
}

int question_of(const struct policy *policy, const struct question_asker *asker,
		const struct fingerprint_command *reading, const struct question_request *request,
		const struct hash *fingerprint, struct arena *mem, struct store_approval *out)
{
	const struct action *action = policy->action;
	struct approval_need need;
	int r;

	*out = (struct store_approval){0};
	if (!action->approval.is_declared)
		return 0;
	r = approval_is_asked(action, reading->path, reading->command, mem, &need);
	if (r != 0 || !need.is_asked)
		return r;
	out->asked_by = asker->credential;
	out->asked_agent = asker->agent;
	out->unless_known = need.unless_known;
	approval_alike(asker->account, asker->agent, action->name, fingerprint, &out->alike);
	approval_agent(asker->account, asker->agent, action->name, &out->agent_hash);
	return fill(action, &policy->settings->upstreams[policy->upstream], reading, request, mem,
		    out);
}

/* Understand the body of the kept request as the action has it now. */
static int read_again(const struct settings *settings, const struct action *action,
		      const struct store_operation *operation, const struct store_request *request,
		      struct arena *mem, struct fingerprint_command *out_reading)
{
	const struct policy policy = policy_of(settings, action);
	const struct fingerprint_request facts = {
		.account = operation->account,
		.method = action->name,
		.path = operation->path,
		.content_type = http_line_value(request->headers, STR("Content-Type")),
		.content_encoding = http_line_value(request->headers, STR("Content-Encoding")),
		.body = request->body,
		.max_body = policy.max_body,
		.action = action,
	};
	struct fingerprint_error unused;
	struct hash not_compared;
	int r = fingerprint_of(&facts, mem, &not_compared, out_reading, &unused);

	return r <= 0 ? r : QUESTION_UNREADABLE;
}

/* -- does it stand? ----------------------------------------------------------------- */

/* A key that is over by its time was somebody's when it was used; one that is revoked may not have
 * been, nor may one that was forgotten since. 1, 0, FAIL_MEMORY. */
static int is_revoked(struct callers *callers, struct str by, struct arena *mem)
{
	struct key_record record;
	int64_t unused_ms;
	int r;

	if (!key_id_is_whole(by))
		return 0;
	r = callers_record(callers, by, mem, &record, &unused_ms);
	return r != 0 ? r : record.revoked_ms != 0;
}

/* Has any of those who agreed been revoked since? 1, 0, FAIL_MEMORY. */
static int has_revoked(struct callers *callers, struct str answers, struct arena *mem)
{
	struct json_value *all;
	int r;

	if (!answers.len)
		return 0;
	r = approval_kept(answers, mem, &all);
	if (r != 0)
		return r < 0 ? r : 1; /* nobody can say who agreed */
	for (size_t i = 0; r == 0 && all->type == JSON_ARRAY && i < all->array.count; i++) {
		const struct json_value *by = approval_part(all->array.items[i], "by");

		if (by && by->type == JSON_STRING)
			r = is_revoked(callers, by->string, mem);
	}
	return r;
}

int question_judge(const struct settings *settings, struct callers *callers,
		   const struct store_operation *operation, const struct store_request *request,
		   const struct store_approval *approval, struct arena *mem,
		   struct store_approval *out_again)
{
	const struct action *action = settings_action(settings, operation->action);
	const struct question_request sent = {.target = request->target, .lines = request->headers};
	struct fingerprint_command reading = {0};
	int r;

	if (!action)
		return QUESTION_GONE;
	if (!action->approval.is_declared)
		return QUESTION_STANDS;
	if (!request->method.len)
		return QUESTION_UNREADABLE;
	r = read_again(settings, action, operation, request, mem, &reading);
	if (r != 0)
		return r;
	*out_again = (struct store_approval){.alike = approval->alike};
	r = fill(action, settings_upstream(settings, operation->upstream), &reading, &sent, mem,
		 out_again);
	if (r == 0 && !hash_equal(&out_again->policy, &approval->policy))
		return QUESTION_CHANGED;
	if (r == 0)
		r = has_revoked(callers, approval->answers, mem);
	if (r != 0)
		return r < 0 ? r : QUESTION_REVOKED;
	return QUESTION_STANDS;
}

struct str question_why_anew(enum question_rule rule)
{
	return rule == QUESTION_REVOKED ? STR("the key of somebody who agreed was revoked")
					: STR("the rule that asks for approval was changed");
}
