/*
 * The help page: how tokens are used here, and what each problem means. What it says of problems is
 * their table's.
 */
#include "gate/problem.h"

#include "config/settings.h"

static void write_duration(struct buf *body, int64_t ms)
{
	long long seconds = ms / 1000;

	if (seconds > 86400 && seconds % 86400 == 0)
		buf_printf(body, "%lldd", seconds / 86400);
	else if (seconds && seconds % 3600 == 0)
		buf_printf(body, "%lldh", seconds / 3600);
	else
		buf_printf(body, "%llds", seconds);
}

static void write_protected(struct buf *body, const struct settings *settings)
{
	buf_append_str(body, STR("These requests are protected:"));
	for (size_t i = 0; i < settings->protect.count; i++)
		buf_printf(body, " %.*s", STR_ARG(settings->protect.methods[i]));
	buf_append_str(body, STR("; PUT and DELETE when they carry the header.\n"));
}

static struct str undeclared_rule(const struct settings *settings)
{
	switch (settings->undeclared) {
	case SETTINGS_UNDECLARED_PASS:
		return STR("A write that is not declared passes, and is not protected.\n");
	case SETTINGS_UNDECLARED_DENY:
		return STR("A write that is not declared is refused.\n");
	default:
		return STR("");
	}
}

static void write_usage(struct buf *body, const struct settings *settings)
{
	buf_append_str(body, STR("How to use tokens here\n\n"));
	if (settings->undeclared == SETTINGS_UNDECLARED_PROTECT)
		write_protected(body, settings);
	buf_printf(body, "The token goes into the header %.*s and is %s.\n",
		   STR_ARG(settings->tokens.header),
		   settings->tokens.required ? "required" : "optional");
	if (settings->action_count)
		buf_append_str(body,
			       STR("Declared actions are protected whatever their method, "
				   "and their commands are checked: GET /.counterfoil/actions "
				   "lists them, with the schema of each command and the place "
				   "of its token.\n"));
	buf_append_str(body, undeclared_rule(settings));
	buf_append_str(body,
		       STR("One token is one intended action: make it once, keep it before you "
			   "send, send it with every retry.\nAn operation that has ended is "
			   "remembered for at least "));
	write_duration(body, settings->tokens.retention_ms);
	if (settings->tokens.tombstones_ms) {
		buf_append_str(body, STR("; a later retry is refused (410) for another "));
		write_duration(body, settings->tokens.tombstones_ms);
	}
	buf_append_str(body, STR(".\nOperations: GET /.counterfoil/operations?token=T, "
				 "GET /.counterfoil/operations/{id}[?wait=N], "
				 "GET /.counterfoil/operations/{id}/response, "
				 "POST /.counterfoil/operations/{id}/cancel\n\n"
				 "What the problems mean, and what retry.advice says of them\n\n"));
}

void problem_help(struct buf *body, const struct settings *settings)
{
	write_usage(body, settings);
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		const struct problem_kind *kind = problem_kind((enum problem)i);

		if (kind->help)
			buf_printf(body, "%s (%d, %s): %s.\n    %s\n\n", kind->slug, kind->status,
				   advice_name(kind->advice), kind->title, kind->help);
	}
}
