/*
 * counterfoil audit: the audit log, from its files.
 *
 * Verifying needs no gate, no store and no secret: it may be done elsewhere, by somebody else, on
 * a copy. Only --state opens a store, of a gate that does not run, and its data keys.
 */
#include "audit/cosignature.h"
#include "audit/verify.h"
#include "base/err.h"
#include "cli/audit_proof.h"
#include "cli/audit_read.h"
#include "cli/audit_state.h"
#include "cli/audit_view.h"
#include "cli/command.h"

#include <inttypes.h>

enum {
	VERIFY_VKEY,
	VERIFY_SINCE,
	VERIFY_WITNESS,
	VERIFY_STATE,
	VERIFY_PROOF,
	VERIFY_JSON,
	VERIFY_CONFIG
};
enum { VERIFY_PATH_MAX = 4096, REPORT_MAX = 4096, EXIT_NO_ANCHOR = 2 };

static const char default_folder[] = "counterfoil-data/audit";

static const struct command_option verify_options[] = {
	{"--vkey", "KEY", "the log's verifier key, \"name+id+base64\"; never taken from the log"},
	{"--since", "CHECKPOINT", "a file with a checkpoint of this log that was kept elsewhere"},
	{"--witness", "KEY", "a witness's key, who must have cosigned the newest checkpoint"},
	{"--state", "DATA", "also hold the operations in this data directory against the entries"},
	{"--proof", "FILE", "check this proof, and no log: what audit prove has written"},
	{"--json", NULL, "print one JSON object"},
	{"--config", "FILE", "with --state: the gate's configuration, which names its master key"},
};

static int exit_status(enum verify_result result)
{
	switch (result) {
	case VERIFY_OK:
	case VERIFY_OK_UNSEALED:
		return EXIT_DONE;
	case VERIFY_MISSING_ANCHOR:
	case VERIFY_KEY_MISMATCH:
	case VERIFY_NOT_WITNESSED:
		return EXIT_NO_ANCHOR;
	default:
		return EXIT_NOT_SO;
	}
}

static void print(const struct verify_report *report, bool is_json)
{
	struct buf out;

	buf_init(&out, REPORT_MAX);
	if (is_json)
		audit_view_json(report, &out);
	else
		audit_view_text(report, &out);
	(void)fwrite(out.at, 1, out.len, stdout);
	buf_fini(&out);
}

static int verify(const char *path, struct verify_order *order, bool is_json)
{
	struct verify_report report;
	struct log_folder folder;
	int r = log_folder_open(&folder, path);

	if (r == LOG_ABSENT) {
		command_message("there is no folder %s", path);
		return EXIT_USAGE;
	}
	if (r == 0) {
		order->log = &folder.reader;
		r = verify_log(order, &report);
		log_folder_close(&folder);
	}
	if (r != 0) {
		command_message("%s could not be read to its end: %s", path, fail_text(r));
		return EXIT_NOT_SO;
	}
	print(&report, is_json);
	return exit_status(report.result);
}

/* -- the state --------------------------------------------------------------------- */

static int compare_state(const struct data_place *place, bool is_json)
{
	struct audit_state state;

	if (audit_state_compare(place, is_json, &state) != 0)
		return EXIT_NOT_SO;
	if (is_json)
		printf("{\"result\":\"%s\",\"operations\":%" PRIu64 ",\"different\":%" PRIu64
		       ",\"forgotten\":%" PRIu64 ",\"untold\":%" PRIu64 "}\n",
		       state.different ? "differs" : "ok", state.operations, state.different,
		       state.forgotten, state.untold);
	else
		printf("state: %s\n  operations   %" PRIu64 " in the store, %" PRIu64
		       " differ, %" PRIu64 " had ended and are forgotten, %" PRIu64
		       " cannot be read\n",
		       state.different ? "differs" : "ok", state.operations, state.different,
		       state.forgotten, state.untold);
	return state.different ? EXIT_NOT_SO : EXIT_DONE;
}

/* -- proofs ------------------------------------------------------------------------ */

static const char *const proof_texts[] = {
	[PROOF_HOLDS] = "ok",
	[PROOF_MALFORMED] = "malformed",
	[PROOF_UNKNOWN] = "key-mismatch",
	[PROOF_BAD_SIGNATURE] = "bad-signature",
	[PROOF_FALSE] = "false",
};

static void print_proof(enum proof_verdict verdict, const struct audit_proof_facts *facts,
			bool is_json)
{
	if (is_json) {
		printf("{\"result\":\"%s\"", proof_texts[verdict]);
		if (verdict == PROOF_HOLDS)
			printf(",\"size\":%" PRIu64 ",\"%s\":%" PRIu64, facts->size,
			       facts->is_consistency ? "since" : "entry",
			       facts->is_consistency ? facts->old_size : facts->index);
		printf("}\n");
		return;
	}
	printf("%s\n", proof_texts[verdict]);
	if (verdict == PROOF_HOLDS && facts->is_consistency)
		printf("  the log of %" PRIu64 " entries begins with those %" PRIu64 "\n",
		       facts->size, facts->old_size);
	else if (verdict == PROOF_HOLDS)
		printf("  entry %" PRIu64 " is in the log of %" PRIu64 " entries\n", facts->index,
		       facts->size);
}

static int verify_proof(const char *path, const struct verify_order *order, bool is_json)
{
	struct audit_proof_facts facts;
	enum proof_verdict verdict;
	struct buf bytes;

	buf_init(&bytes, PROOF_SIZE_MAX);
	if (!audit_file_read(path, &bytes)) {
		buf_fini(&bytes);
		return EXIT_USAGE;
	}
	verdict = audit_proof_check(buf_str(&bytes), order->since, order->key, &facts);
	if (verdict == PROOF_MALFORMED && facts.is_consistency && !order->since.at)
		command_message("it is about a checkpoint that you kept: name it with --since");
	print_proof(verdict, &facts, is_json);
	buf_fini(&bytes);
	if (verdict == PROOF_UNKNOWN)
		return EXIT_NO_ANCHOR;
	return verdict == PROOF_HOLDS ? EXIT_DONE : EXIT_NOT_SO;
}

/* -- verify ------------------------------------------------------------------------ */

static int verify_all(const struct command_call *call, struct verify_order *order)
{
	const char *state = call->options[VERIFY_STATE];
	bool is_json = call->options[VERIFY_JSON] != NULL;
	char path[VERIFY_PATH_MAX];
	struct data_place place;
	int status, state_status;

	if (call->options[VERIFY_PROOF])
		return verify_proof(call->options[VERIFY_PROOF], order, is_json);
	snprintf(path, sizeof(path), "%s",
		 call->operand_count ? call->operands[0] : default_folder);
	if (state && !call->operand_count)
		snprintf(path, sizeof(path), "%s/audit", state);
	status = verify(path, order, is_json);
	if (!state)
		return status;
	state_status = data_place_find(call->options[VERIFY_CONFIG], state, &place);
	if (state_status == EXIT_DONE)
		state_status = compare_state(&place, is_json);
	data_place_fini(&place);
	return status == EXIT_DONE ? state_status : status;
}

static int run_verify(const struct command_call *call)
{
	const char *since_path = call->options[VERIFY_SINCE];
	const char *witness_text = call->options[VERIFY_WITNESS];
	struct note_verifier key, witness;
	struct verify_order order = {.key = &key, .witness = witness_text ? &witness : NULL};
	int status = EXIT_NO_ANCHOR;
	struct buf since;

	if (!call->options[VERIFY_VKEY])
		return command_misused(call->command, "--vkey is needed: whose log is it to be?");
	if (!note_verifier_read(str_from(call->options[VERIFY_VKEY]), &key))
		return command_misused(call->command,
				       "\"%s\" is no verifier key: name+id+base64 of Ed25519",
				       call->options[VERIFY_VKEY]);
	if (witness_text && !cosignature_key_read(str_from(witness_text), &witness))
		return command_misused(call->command,
				       "\"%s\" is no witness's key: name+id+base64 of Ed25519 "
				       "cosignatures",
				       witness_text);
	if (witness_text && call->options[VERIFY_PROOF])
		return command_misused(call->command, "--witness is about a log, not a proof");
	buf_init(&since, NOTE_SIZE_MAX);
	/* To a log, a checkpoint that cannot be read is one that is missing. */
	if (!since_path || audit_file_read(since_path, &since) || !call->options[VERIFY_PROOF]) {
		if (since_path)
			order.since = str_of(since.at ? since.at : "", since.len);
		status = verify_all(call, &order);
	}
	buf_fini(&since);
	return status;
}

static const struct command command_verify = {
	.name = "audit verify",
	.summary = "checks an audit log from its files, with public keys only",
	.usage = "[DIR] --vkey KEY [--since CHECKPOINT] [--witness KEY]\n"
		 "           [--state DATA [--config FILE]] [--json]\n"
		 "           --proof FILE --vkey KEY [--since CHECKPOINT] [--json]",
	.text = "DIR is the log's folder, counterfoil-data/audit by default, or a copy of it. "
		"Every\n"
		"entry is hashed again and compared with what was signed; nothing is decrypted.\n"
		"Prints counts, the head and the first bad entry. A log that was put back to an\n"
		"older state agrees with itself: only a checkpoint that was kept elsewhere\n"
		"(--since) shows it, or a witness (--witness), to whom the newest checkpoint was\n"
		"shown to go on from all that it saw before. KEY should be the first epoch's: it "
		"protects old entries\n"
		"from a thief of today's.\n"
		"--state, with the data keys and no gate running, recomputes operations from the\n"
		"entries and names each that the store has otherwise: its state, whose it is, what "
		"was\n"
		"answered, the service's reference.\n"
		"\n"
		"Exit status: 0 ok, ok-unsealed; 1 tampered, truncated, forked, rolled-back,\n"
		"bad-signature; 2 missing-anchor, key-mismatch, not-witnessed.\n",
	.options = verify_options,
	.option_count = sizeof(verify_options) / sizeof(verify_options[0]),
	.operands_max = 1,
	.run = run_verify,
};

static const struct command *const audit_commands[] = {&command_audit_show,
						       &command_audit_export,
						       &command_verify,
						       &command_audit_rotate,
						       &command_audit_erase,
						       &command_audit_prove,
						       NULL};

const struct command command_audit = {
	.name = "audit",
	.summary = "reads and checks the audit log",
	.usage = "show | export | verify | prove | rotate | erase",
	.commands = audit_commands,
};
