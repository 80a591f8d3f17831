/* Questions to people (see question.h). */
#include "gate/question.h"

#include "base/err.h"
#include "core/approval.h"
#include "gate/policy.h"
#include "http/http.h"

/* All but who asks. */
static int fill(const struct action *action, struct str path, const struct json_value *command,
		struct arena *mem, struct store_approval *out)
{
	struct approval_question question;
	int r = approval_question(action, path, command, mem, &question);

	if (r != 0)
		return r;
	out->needed = action->approval.approvers;
	out->for_ms = action->approval.expires_ms;
	out->policy = action->approval.policy;
	out->shown = question.shown;
	return 0;
}

int question_of(const struct action *action, const struct question_asker *asker,
		const struct fingerprint_command *reading, const struct hash *fingerprint,
		struct arena *mem, struct store_approval *out)
{
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
	return fill(action, reading->path, reading->command, mem, out);
}

enum question_rule question_rule_of(const struct settings *settings,
				    const struct store_operation *operation,
				    const struct store_approval *approval)
{
	const struct action *action = settings_action(settings, operation->action);

	if (!action)
		return QUESTION_GONE;
	if (!action->approval.is_declared ||
	    hash_equal(&action->approval.policy, &approval->policy))
		return QUESTION_STANDS;
	return QUESTION_CHANGED;
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

int question_again(const struct settings *settings, const struct store_operation *operation,
		   const struct store_request *request, const struct store_approval *approval,
		   struct arena *mem, struct store_approval *out)
{
	const struct action *action = settings_action(settings, operation->action);
	struct fingerprint_command reading = {0};
	int r;

	if (!action || !request->method.len)
		return QUESTION_UNREADABLE;
	r = read_again(settings, action, operation, request, mem, &reading);
	if (r != 0)
		return r;
	*out = (struct store_approval){.alike = approval->alike};
	return fill(action, reading.path, reading.command, mem, out);
}
