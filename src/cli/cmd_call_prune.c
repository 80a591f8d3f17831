/*
 * counterfoil call prune: forgets what ended long ago.
 *
 * Always true: what has no known end stays, and so does what somebody is at. Can fail: the journal
 * cannot be used; what was forgotten before is gone then.
 */
#include "cli/command.h"

#include "client/journal.h"
#include "config/values.h"

#include <inttypes.h>

enum { PRUNE_OLDER, PRUNE_DRY_RUN, PRUNE_JOURNAL, PRUNE_JSON };

static const int64_t age_max_ms = INT64_C(3650) * 24 * 60 * 60 * 1000;

static const struct command_option prune_options[] = {
	{"--older", "AGE", "what ended so long ago and has not changed since: 12h, 30d"},
	{"--dry-run", NULL, "say how many, and forget none"},
	{"--journal", "FILE", "the journal (default: see counterfoil help call)"},
	{"--json", NULL, "as JSON"},
};

static int prune(const struct command_call *call, struct journal *journal, int64_t before_ms)
{
	bool is_dry = call->options[PRUNE_DRY_RUN] != NULL;
	struct journal_error err;
	uint64_t count, open;
	int r = journal_count_old(journal, before_ms, &count, &open, &err);

	if (r == 0 && !is_dry)
		r = journal_prune(journal, before_ms, &count, &err);
	if (r != 0) {
		command_message("%s", err.text);
		return EXIT_NOT_SO;
	}
	if (call->options[PRUNE_JSON])
		printf("{\"pruned\":%" PRIu64 ",\"open\":%" PRIu64 ",\"dry_run\":%s}\n", count,
		       open, is_dry ? "true" : "false");
	else
		printf("%" PRIu64 " %s, %" PRIu64 " older without a known end %s\n", count,
		       is_dry ? "would be forgotten" : "forgotten", open,
		       open == 1 ? "stays" : "stay");
	return EXIT_DONE;
}

static int run_prune(const struct command_call *call)
{
	const char *older = call->options[PRUNE_OLDER];
	struct journal *journal = NULL;
	struct journal_error err;
	int64_t age_ms;
	int r;

	if (!older || !value_duration(str_from(older), &age_ms) || age_ms < 1000 ||
	    age_ms > age_max_ms)
		return command_misused(call->command,
				       "--older is an age from 1s to 3650d, such as 30d");
	if (journal_open(call->options[PRUNE_JOURNAL], &env_machine, &journal, &err) != 0) {
		command_message("%s", err.text);
		return EXIT_NOT_SO;
	}
	r = prune(call, journal, env_wall_ms(&env_machine) - age_ms);
	journal_close(journal);
	return r;
}

const struct command command_call_prune = {
	.name = "call prune",
	.summary = "forgets what ended long ago",
	.usage = "--older AGE [--dry-run] [--json]",
	.text = "What is done or has failed, and has not changed for so long, is forgotten with "
		"its\n"
		"answer. What has no known end stays, and so does what another process is at. A "
		"step\n"
		"that is forgotten and run again is sent again: only a gate that still knows its "
		"token\n"
		"then tells it from a new one. So let AGE be longer than any run may be "
		"repeated.\n",
	.options = prune_options,
	.option_count = sizeof(prune_options) / sizeof(prune_options[0]),
	.run = run_prune,
};
