/* Reading what a new key is to be. */
#include "admin/key_wish.h"

#include "config/values.h"
#include "core/timestamp.h"
#include "gate/account.h"

#include <stdio.h>
#include <time.h>

static const char no_memory[] = "This is too long.";

/* False: it is there and is no text. */
static bool read_text(const struct json_value *body, const char *name, struct str *out)
{
	const struct json_value *value = json_member(body, str_from(name));

	*out = value && value->type == JSON_STRING ? value->string : STR("");
	return !value || value->type == JSON_STRING;
}

static bool is_name(struct str text)
{
	return text.len <= KEY_NAME_MAX && (text.len == 0 || value_is_plain(text));
}

static const char *read_names(const struct json_value *body, struct key_record *record)
{
	if (!read_text(body, "account", &record->account) || !is_name(record->account))
		return "\"account\" is a text of at most 200 bytes without control characters.";
	if (!account_is_a_callers(record->account))
		return "Accounts that begin with inbox/ are those of inboxes.";
	if (!read_text(body, "agent", &record->agent) || !is_name(record->agent))
		return "\"agent\" is a text of at most 200 bytes without control characters.";
	if (!read_text(body, "label", &record->label) || !is_name(record->label))
		return "\"label\" is a text of at most 200 bytes without control characters.";
	return NULL;
}

static const char *read_role(const struct json_value *body, struct key_record *record)
{
	const struct json_value *all = json_member(body, STR("all_accounts"));
	struct str role;

	if (!read_text(body, "role", &role))
		role = STR("?");
	record->role = ROLE_AGENT;
	if (role.len && !role_from(role, &record->role))
		return "\"role\" is agent, approver, operator or auditor.";
	if (all && all->type != JSON_TRUE && all->type != JSON_FALSE)
		return "\"all_accounts\" is true or false.";
	record->has_all_accounts = all && all->type == JSON_TRUE;
	if (record->has_all_accounts && record->role == ROLE_AGENT)
		return "An agent has one account: \"all_accounts\" is for people's roles.";
	if (!record->account.len && !record->has_all_accounts)
		return "\"account\" says whose key it is.";
	return NULL;
}

static const char *read_actions(const struct json_value *body, struct arena *mem,
				struct key_record *record)
{
	static const char wrong[] = "\"actions\" is a list of at most 32 names of actions, each of "
				    "at most 128 bytes; a * at its end stands for any rest.";
	const struct json_value *list = json_member(body, STR("actions"));

	if (!list)
		return NULL;
	if (list->type != JSON_ARRAY || list->array.count > CALLER_PATTERNS_MAX)
		return wrong;
	if (record->role != ROLE_AGENT && list->array.count)
		return "\"actions\" is for agents; people's roles call none.";
	record->actions = arena_zalloc(mem, (list->array.count + 1) * sizeof(*record->actions));
	if (!record->actions)
		return no_memory;
	for (size_t i = 0; i < list->array.count; i++) {
		const struct json_value *item = list->array.items[i];

		if (item->type != JSON_STRING || item->string.len > KEY_ACTION_MAX ||
		    !caller_pattern_is_good(item->string) || !value_is_plain(item->string))
			return wrong;
		record->actions[record->action_count++] = item->string;
	}
	return NULL;
}

/* "2027-01-31T00:00:00Z" as Unix time. False: it is no instant. */
static bool read_instant(struct str text, struct arena *mem, int64_t *out_ms)
{
	struct tm parts = {0};
	struct str instant;

	if (timestamp_read(text, mem, &instant) != 0 ||
	    sscanf(instant.at, "%d-%d-%dT%d:%d:%d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
		   &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6)
		return false;
	parts.tm_year -= 1900;
	parts.tm_mon -= 1;
	*out_ms = (int64_t)timegm(&parts) * 1000;
	return true;
}

static const char *read_expiry(const struct json_value *body, int64_t now_ms, struct arena *mem,
			       struct key_record *record)
{
	struct str in, at;
	int64_t ms;

	if (!read_text(body, "expires_in", &in) || !read_text(body, "expires_at", &at) ||
	    (in.len && at.len))
		return "Give \"expires_in\" as a text like \"30d\", or \"expires_at\" as one like "
		       "\"2030-01-31T00:00:00Z\"; not both.";
	if (in.len) {
		if (!value_duration(in, &ms) || ms <= 0)
			return "\"expires_in\" is a duration such as \"12h\", \"30d\" or "
			       "\"forever\".";
		record->expires_ms = ms >= SETTINGS_FOREVER_MS ? 0 : time_add(now_ms, ms);
	}
	if (at.len) {
		if (!read_instant(at, mem, &record->expires_ms))
			return "\"expires_at\" is an instant such as \"2030-01-31T00:00:00Z\".";
		if (record->expires_ms <= now_ms)
			return "\"expires_at\" has passed already.";
	}
	return NULL;
}

/* A maker of one account makes keys of that account; said or not. */
static const char *keep_to_maker(const struct caller *maker, struct key_record *record)
{
	if (maker->has_all_accounts)
		return NULL;
	if (record->has_all_accounts || !caller_may_see(maker, record->account))
		return "Your own credential is of one account, and makes keys of that one.";
	return NULL;
}

const char *key_wish_read(const struct json_value *body, const struct caller *maker, int64_t now_ms,
			  struct arena *mem, struct key_record *out_record, bool *out_is_beyond)
{
	struct key_record record = {
		.created_ms = now_ms,
		.created_by = maker->credential,
		.revoked_by = STR(""),
		.revoked_why = STR(""),
	};
	const char *wrong = read_names(body, &record);

	*out_is_beyond = false;
	if (!record.account.len && !maker->has_all_accounts)
		record.account = maker->account;
	if (!wrong)
		wrong = read_role(body, &record);
	if (!wrong)
		wrong = read_actions(body, mem, &record);
	if (!wrong)
		wrong = read_expiry(body, now_ms, mem, &record);
	if (!wrong) {
		wrong = keep_to_maker(maker, &record);
		*out_is_beyond = wrong != NULL;
	}
	if (!wrong)
		*out_record = record;
	return wrong;
}
