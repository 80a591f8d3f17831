/*
 * What an answer means for a question (see approvals.h).
 *
 * Who has answered is kept as the JSON that others read too; it holds a few short objects, and is
 * read again for each answer.
 */
#include "store/approvals.h"

#include "base/err.h"
#include "store/rules.h"
#include "json/json.h"

enum { ANSWERS_BYTES_MAX = 1 << 20 };

void approval_ask(struct store_approval *approval, int64_t now_ms)
{
	approval->given = 0;
	approval->stand = APPROVAL_WAITS;
	approval->asked_ms = now_ms;
	approval->expires_ms = time_add(now_ms, approval->for_ms);
	approval->answers = STR("[]");
}

bool approval_is_over(const struct store_approval *approval, int64_t now_ms)
{
	return now_ms >= approval->expires_ms ||
	       approval->asked_ms > time_add(now_ms, CLOCK_SLACK_MS);
}

/*
 * Is it the same person: by the credential, or by the name inside of the account? Somebody of all
 * accounts may be the one of that name in any: two agreements are of two people for certain.
 */
static bool is_person(const struct store_consent *consent, struct str by, struct str agent,
		      struct str account)
{
	if (by.len && str_equal(consent->by, by))
		return true;
	return agent.len && str_equal(consent->agent, agent) &&
	       (!consent->account.len || !account.len || str_equal(consent->account, account));
}

static struct str text_of(const struct json_value *object, struct str name)
{
	const struct json_value *member = json_member(object, name);

	return member && member->type == JSON_STRING ? member->string : STR("");
}

/* 0, STORE_AGAIN, FAIL_MEMORY; FAIL_UNPLANNED: what is kept is no list of answers. */
static int look_for_twin(const struct store_consent *consent, struct str answers, struct arena *mem)
{
	struct json_value *list;
	struct json_error error;
	int r = json_read(answers, &json_limits_default, mem, &list, &error);

	if (r < 0)
		return r;
	if (r > 0 || list->type != JSON_ARRAY)
		return fail(FAIL_UNPLANNED);
	for (size_t i = 0; i < list->array.count; i++) {
		const struct json_value *one = list->array.items[i];

		if (is_person(consent, text_of(one, STR("by")), text_of(one, STR("agent")),
			      text_of(one, STR("account"))))
			return STORE_AGAIN;
	}
	return 0;
}

int approval_judge(const struct store_command *answer, const struct store_operation *record,
		   const struct store_approval *approval, int64_t now_ms, struct arena *mem)
{
	const struct store_consent *consent = &answer->consent;

	if (record->state != STATE_AWAITING_APPROVAL || !approval->needed ||
	    approval->stand != APPROVAL_WAITS)
		return STORE_LOST;
	if (approval_is_over(approval, now_ms))
		return STORE_LAPSED;
	if (!hash_equal(&consent->fingerprint, &record->fingerprint))
		return STORE_OTHER;
	if (answer->kind == STORE_DENY)
		return 0;
	if (!hash_equal(&consent->policy, &approval->policy))
		return STORE_OTHER; /* asked anew since they looked */
	if (is_person(consent, approval->asked_by, approval->asked_agent, record->account))
		return STORE_OWN;
	return look_for_twin(consent, approval->answers, mem);
}

static void tell_answer(struct json_writer *json, const struct store_command *answer,
			int64_t now_ms)
{
	const struct store_consent *consent = &answer->consent;

	json_open_object(json);
	json_pair(json, "by", consent->by);
	json_pair(json, "agent", consent->agent);
	json_pair(json, "account", consent->account);
	json_pair(json, "role", consent->role ? str_from(role_name(consent->role)) : STR(""));
	json_pair(json, "verdict", answer->kind == STORE_DENY ? STR("denied") : STR("approved"));
	json_name(json, "at_ms");
	json_integer(json, now_ms);
	json_pair(json, "why", consent->why);
	json_close_object(json);
}

/* "[a,b]" and another one. */
static int add_answer(struct str *answers, const struct store_command *answer, int64_t now_ms,
		      struct arena *mem)
{
	struct str before = *answers, text = {0};
	struct json_writer json;
	struct buf out;

	require(before.len >= 2);
	buf_init(&out, ANSWERS_BYTES_MAX);
	(void)buf_append(&out, before.at, before.len - 1);
	if (before.len > 2)
		(void)buf_append_byte(&out, ',');
	json_writer_init(&json, &out);
	tell_answer(&json, answer, now_ms);
	(void)buf_append_byte(&out, ']');
	if (!out.is_spoiled)
		text = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	if (!text.at)
		return FAIL_MEMORY;
	*answers = text;
	return 0;
}

int approval_answer(struct store_approval *approval, const struct store_command *answer,
		    int64_t now_ms, struct arena *mem)
{
	int r = add_answer(&approval->answers, answer, now_ms, mem);

	if (r < 0)
		return r;
	if (answer->kind == STORE_DENY) {
		approval->stand = APPROVAL_DENIED;
		return 0;
	}
	approval->given++;
	if (approval->given >= approval->needed)
		approval->stand = APPROVAL_GIVEN;
	return 0;
}

int approval_judge_asking(const struct store_command *command, const struct store_operation *record)
{
	if (!record->is_asked)
		return STORE_LOST;
	if (record->state == STATE_RUNNING && record->epoch != command->operation.epoch)
		return STORE_LOST;
	return record->state == STATE_AWAITING_APPROVAL || record->state == STATE_QUEUED ||
			       record->state == STATE_RUNNING
		       ? 0
		       : STORE_LOST;
}

bool approval_lets(const struct store_approval *approval, const struct hash *agreed,
		   const struct hash *fingerprint)
{
	return approval->needed && approval->stand == APPROVAL_GIVEN &&
	       approval->given >= approval->needed && hash_equal(agreed, fingerprint);
}

void approval_say_end(const struct store_approval *approval, const struct store_command *command,
		      struct store_operation *record)
{
	if (approval->stand == APPROVAL_DENIED) {
		record->reason =
			command->consent.why.len ? command->consent.why : STR("it was denied");
		record->decided_by = command->consent.by;
		return;
	}
	record->reason = STR("nobody who may answered in time");
	record->decided_by = STR("gate");
}

enum notice_event approval_notice(const struct store_approval *approval)
{
	switch (approval->stand) {
	case APPROVAL_GIVEN:
		return NOTICE_APPROVED;
	case APPROVAL_DENIED:
		return NOTICE_DENIED;
	default:
		return NOTICE_AGREED;
	}
}
