/*
 * What protects an action.
 *
 * Each rule of an action is looked at once: there it is a sentence of what holds, and where its
 * absence leaves a way to a second effect that is a sentence of what does not.
 *
 * Always true: nothing is said to hold that no rule of the action says.
 * Can fail: without memory.
 */
#include "drill/protection.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 1024, LIST_MAX_BYTES = 400 };

struct saying {
	const struct settings *settings;
	const struct action *action;
	struct arena *mem;
	struct protection *out;
	bool is_spoiled;
};

static void say_token(struct saying *saying);
static void say_unique(struct saying *saying);
static void say_lock(struct saying *saying);
static void say_budget(struct saying *saying);
static void say_approval(struct saying *saying);
static void say_lost_answer(struct saying *saying);
static void summarise(struct saying *saying);

int protection_of(const struct settings *settings, const struct action *action, struct arena *mem,
		  struct protection *out_protection)
{
	struct protection protection = {0};
	struct saying saying = {settings, action, mem, &protection, false};

	say_token(&saying);
	say_unique(&saying);
	say_lock(&saying);
	say_budget(&saying);
	say_approval(&saying);
	say_lost_answer(&saying);
	summarise(&saying);
	if (saying.is_spoiled)
		return fail(FAIL_MEMORY);
	*out_protection = protection;
	return 0;
}

const char *protection_undeclared(const struct settings *settings)
{
	switch (settings->undeclared) {
	case SETTINGS_UNDECLARED_PASS:
		return "Writes that no action declares pass unprotected: a retry of one may happen "
		       "twice.";
	case SETTINGS_UNDECLARED_DENY:
		return "Writes that no action declares are refused.";
	default:
		return "Writes that no action declares are protected by their token alone, where "
		       "`protect` lists their method.";
	}
}

/* -- sentences ----------------------------------------------------------------------- */

__attribute__((format(printf, 4, 0))) static void
add(struct saying *saying, struct str *lines, size_t *count, const char *format, va_list args)
{
	char line[LINE_MAX_BYTES];
	struct str kept;
	int len = vsnprintf(line, sizeof(line), format, args);

	kept = arena_str(saying->mem,
			 str_of(line, len < 0			   ? 0
				      : (size_t)len < sizeof(line) ? (size_t)len
								   : sizeof(line) - 1));
	if (!kept.at || *count == PROTECTION_LINES_MAX)
		saying->is_spoiled = true;
	else
		lines[(*count)++] = kept;
}

__attribute__((format(printf, 2, 3))) static void holds(struct saying *saying, const char *format,
							...)
{
	va_list args;

	va_start(args, format);
	add(saying, saying->out->holds, &saying->out->hold_count, format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void lacks(struct saying *saying, const char *format,
							...)
{
	va_list args;

	va_start(args, format);
	add(saying, saying->out->gaps, &saying->out->gap_count, format, args);
	va_end(args);
}

/* "project, source_event_id" */
static const char *list_parts(const struct rule_part *parts, size_t count, char out[LIST_MAX_BYTES])
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < count && len + 1 < LIST_MAX_BYTES; i++) {
		int n = snprintf(out + len, LIST_MAX_BYTES - len, "%s%.*s", i ? ", " : "",
				 STR_ARG(parts[i].name));

		len += n < 0 ? 0 : (size_t)n;
	}
	return out;
}

static void say_token(struct saying *saying)
{
	if (saying->action->is_natural)
		holds(saying, "It needs no token: the service's own id makes a repetition the same "
			      "effect.");
	else if (saying->settings->tokens.required || saying->action->inbox.is_declared)
		holds(saying, "A token is required: one token is one effect, however often it is "
			      "sent.");
	else
		lacks(saying, "A token is optional: a retry without one happens twice.");
}

static void say_unique(struct saying *saying)
{
	const struct rule_unique *unique = &saying->action->unique;
	char parts[LIST_MAX_BYTES];

	if (unique->count)
		holds(saying,
		      "One effect for each %s of an account, whoever sends it and under "
		      "whatever token.",
		      list_parts(unique->by, unique->count, parts));
	else if (!saying->action->is_natural)
		lacks(saying,
		      "Business key none: two agents with two tokens would do "
		      "%.*s twice.",
		      STR_ARG(saying->action->name));
}

static void say_lock(struct saying *saying)
{
	const struct rule_lock *lock = &saying->action->lock;
	char parts[LIST_MAX_BYTES];

	if (!lock->count)
		return;
	holds(saying, "One at a time for each %s; whoever comes meanwhile %s.",
	      list_parts(lock->on, lock->count, parts), lock->is_queue ? "waits" : "is refused");
	if (!lock->version.len)
		lacks(saying, "No version is expected: one that was decided on an old state goes "
			      "through once the lock is free.");
}

static void say_budget(struct saying *saying)
{
	const struct rule_budget *budget = &saying->action->budget;

	if (!budget->is_declared)
		return;
	holds(saying, "All of one %.*s together never exceed what was opened.",
	      STR_ARG(budget->of.name));
	if (budget->lets_unknown)
		lacks(saying, "A %.*s that the gate has not seen opened has no ceiling.",
		      STR_ARG(budget->of.name));
}

static void say_approval(struct saying *saying)
{
	const struct rule_approval *approval = &saying->action->approval;

	if (!approval->is_declared)
		return;
	if (approval->is_always)
		holds(saying, "Nothing is sent before %s agreed.",
		      approval->approvers > 1 ? "two people have" : "a person has");
	else
		holds(saying, "Where its conditions say so, nothing is sent before %s agreed.",
		      approval->approvers > 1 ? "two people have" : "a person has");
}

static void say_lost_answer(struct saying *saying)
{
	const struct action *action = saying->action;

	if (action_may_resend(action))
		holds(saying, "After a lost answer it can be sent again safely.");
	if (action->probe.get.len)
		holds(saying, "After a lost answer the service is asked what became of it.");
	if (!action_may_resend(action) && !action->probe.get.len)
		lacks(saying, "After a lost answer nobody can be asked: it stays unknown until a "
			      "person looks.");
}

static void summarise(struct saying *saying)
{
	const struct action *action = saying->action;
	char unique[LIST_MAX_BYTES], lock[LIST_MAX_BYTES];

	saying->out->summary = arena_printf(
		saying->mem, "token %s, business key %s, lock %s, budget %.*s, approval %s",
		action->is_natural		    ? "not needed"
		: saying->settings->tokens.required ? "yes"
						    : "optional",
		action->unique.count ? list_parts(action->unique.by, action->unique.count, unique)
				     : "none",
		action->lock.count ? list_parts(action->lock.on, action->lock.count, lock) : "none",
		STR_ARG(action->budget.is_declared ? action->budget.of.name : STR("none")),
		!action->approval.is_declared ? "none"
		: action->approval.is_always  ? "always"
					      : "on conditions");
	saying->is_spoiled |= !saying->out->summary.at;
}
