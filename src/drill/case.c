/*
 * The table of cases.
 *
 * To add one: its row here, its function in the file of its theme, its line in
 * docs/guide/drill.md. A case that a scenario cannot try says why; it never passes for that.
 */
#include "drill/case.h"

static const char *without_server(const struct bench *bench)
{
	return server_is_out_of_reach(bench->server);
}

static const char *without_body(const struct bench *bench)
{
	return bench->scenario->write.body.is_given ? NULL : "the write has no body";
}

static const char *without_need(const struct bench *bench)
{
	return bench->scenario->key.required ? NULL : "the scenario says that no key is required";
}

static const char *without_account(const struct bench *bench)
{
	return bench->scenario->second_account.headers.count
		       ? NULL
		       : "the scenario says no second_account";
}

static const char *without_route(const struct bench *bench)
{
	return bench->scenario->other_write.path.len ? NULL : "the scenario says no other_write";
}

static const char *without_expiry(const struct bench *bench)
{
	return bench->scenario->expiry.after_ms || bench->scenario->expiry.clock.len
		       ? NULL
		       : "the scenario says no expiry";
}

static const char *without_revocation(const struct bench *bench)
{
	return bench->scenario->revoke.command.len ? NULL : "the scenario says no revoke";
}

static const struct drill_case cases[] = {
	{"replay", "the same request under the same key is told the first answer, and does nothing",
	 "an agent that retries after a success would do it twice", NULL, case_replay},
	{"copies", "many copies at once make one effect, and each success tells of the same one",
	 "a check before the write is no protection: two requests pass it at the same moment", NULL,
	 case_copies},
	{"changed-body", "another body under a used key is refused, and does nothing",
	 "a second, different order would be taken for the first, or done under its name",
	 without_body, case_changed_body},
	{"reordered-body", "the same JSON with its members in another order is a replay",
	 "programs do not keep the order of members, so a retry would be refused or done again",
	 without_body, case_reordered_body},
	{"answer-dropped", "the work is done and its answer lost; a retry makes no second effect",
	 "this is the failure that keys are for", NULL, case_answer_dropped},
	{"answer-halved", "the answer breaks off in the middle; a retry makes no second effect",
	 "half an answer is none, and the client has to ask again", NULL, case_answer_halved},
	{"cut-before-work",
	 "the request breaks off in the middle; a retry makes exactly one effect",
	 "half a request must neither be done nor use up its key", NULL, case_cut_before_work},
	{"request-duplicated", "the wire delivers the request twice; there is one effect",
	 "proxies and clients re-send by themselves, at the same moment", NULL,
	 case_request_duplicated},
	{"answer-delayed", "the client asks again while the first still runs; there is one effect",
	 "a client's patience ends before the work does", NULL, case_answer_delayed},
	{"client-restarted", "the client goes away, and comes back on a new connection",
	 "an agent that was killed continues with the key it had written down", NULL,
	 case_client_restarted},
	{"server-killed", "the server is killed at several moments of the work; never two effects",
	 "between the work and its record lies a moment in which a crash forgets the one",
	 without_server, case_server_killed},
	{"restart-remembers", "the server is stopped and started between a write and its retry",
	 "keys that are kept in memory are forgotten with every deployment", without_server,
	 case_restart_remembers},
	{"error-not-cached", "an attempt that failed before the work is not the answer for ever",
	 "a passing fault would make a write impossible under its key", NULL,
	 case_error_not_cached},
	{"key-missing", "a write without a key is refused, and does nothing",
	 "what cannot be retried safely would be done all the same", without_need,
	 case_key_missing},
	{"key-empty", "an empty key is refused, or is none; it never makes two writes one",
	 "a program with an unset variable sends an empty key with every write", NULL,
	 case_key_empty},
	{"key-too-long",
	 "keys that are too long are refused, or told apart to their last character",
	 "a key that is cut off makes two writes one", NULL, case_key_too_long},
	{"two-accounts", "the same key of two callers is two writes, each with its own answer",
	 "one customer would read the other's answer, or lose a write to it", without_account,
	 case_two_accounts},
	{"other-route", "the same key on another route never tells the first one's answer",
	 "a payment would be told as a ticket", without_route, case_other_route},
	{"credential-revoked", "a revoked credential is told no replay",
	 "what was answered once would stay readable for who has lost the right to",
	 without_revocation, case_credential_revoked},
	{"expiry", "a key that has expired is refused or new, as the scenario says it is",
	 "a retry that comes late must meet what its client was promised", without_expiry,
	 case_expiry},
};

enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

const struct drill_case *drill_case_at(size_t index)
{
	return index < CASE_COUNT ? &cases[index] : NULL;
}

const struct drill_case *drill_case_find(struct str name)
{
	for (size_t i = 0; i < CASE_COUNT; i++) {
		if (str_equal(str_from(cases[i].name), name))
			return &cases[i];
	}
	return NULL;
}
