/*
 * counterfoil audit: the audit log, from its files.
 *
 * Verifying needs no gate, no store and no secret: it may be done elsewhere, by somebody else, on
 * a copy.
 */
#include "audit/verify.h"
#include "base/err.h"
#include "cli/audit_view.h"
#include "cli/command.h"

#include <errno.h>

enum { VERIFY_VKEY, VERIFY_SINCE, VERIFY_JSON };
enum { REPORT_MAX = 4096, EXIT_NO_ANCHOR = 2 };

static const char default_folder[] = "counterfoil-data/audit";

static const struct command_option verify_options[] = {
	{"--vkey", "KEY", "the log's verifier key, \"name+id+base64\"; never taken from the log"},
	{"--since", "CHECKPOINT", "a file with a checkpoint of this log that was kept elsewhere"},
	{"--json", NULL, "print one JSON object"},
};

/* A whole file. What is longer than a note can be comes cut off, and so is no note. */
static bool read_since(const char *path, struct buf *out)
{
	FILE *file = fopen(path, "rb");
	char *at = file ? buf_reserve(out, NOTE_SIZE_MAX) : NULL;
	bool is_read;

	if (at)
		buf_commit(out, fread(at, 1, NOTE_SIZE_MAX, file));
	is_read = at && !ferror(file);
	if (!is_read)
		command_message("%s cannot be read: %s", path, strerror(errno));
	if (file)
		(void)fclose(file);
	return is_read;
}

static int exit_status(enum verify_result result)
{
	switch (result) {
	case VERIFY_OK:
	case VERIFY_OK_UNSEALED:
		return EXIT_DONE;
	case VERIFY_MISSING_ANCHOR:
	case VERIFY_KEY_MISMATCH:
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

static int run_verify(const struct command_call *call)
{
	const char *path = call->operand_count ? call->operands[0] : default_folder;
	const char *since_path = call->options[VERIFY_SINCE];
	struct note_verifier key;
	struct verify_order order = {.key = &key};
	int status = EXIT_NO_ANCHOR;
	struct buf since;

	if (!call->options[VERIFY_VKEY])
		return command_misused(call->command, "--vkey is needed: whose log is it to be?");
	if (!note_verifier_read(str_from(call->options[VERIFY_VKEY]), &key))
		return command_misused(call->command,
				       "\"%s\" is no verifier key: name+id+base64 of Ed25519",
				       call->options[VERIFY_VKEY]);
	buf_init(&since, NOTE_SIZE_MAX);
	if (!since_path || read_since(since_path, &since)) {
		if (since_path)
			order.since = str_of(since.at ? since.at : "", since.len);
		status = verify(path, &order, call->options[VERIFY_JSON] != NULL);
	}
	buf_fini(&since);
	return status;
}

static const struct command command_verify = {
	.name = "audit verify",
	.summary = "checks an audit log from its files, with public keys only",
	.usage = "[DIR] --vkey KEY [--since CHECKPOINT] [--json]",
	.text = "DIR is the log's folder, counterfoil-data/audit by default, or a copy of it. "
		"Every\n"
		"entry is hashed again and compared with what was signed; nothing is decrypted.\n"
		"Prints counts, the head and the first bad entry. A log that was put back to an\n"
		"older state agrees with itself: only a checkpoint that was kept elsewhere\n"
		"(--since) shows it. KEY should be the first epoch's: it protects old entries\n"
		"from a thief of today's.\n"
		"\n"
		"Exit status: 0 ok, ok-unsealed; 1 tampered, truncated, forked, rolled-back,\n"
		"bad-signature; 2 missing-anchor, key-mismatch.\n",
	.options = verify_options,
	.option_count = sizeof(verify_options) / sizeof(verify_options[0]),
	.operands_max = 1,
	.run = run_verify,
};

static const struct command *const audit_commands[] = {&command_audit_show,  &command_audit_export,
						       &command_verify,	     &command_audit_rotate,
						       &command_audit_erase, NULL};

const struct command command_audit = {
	.name = "audit",
	.summary = "reads and checks the audit log",
	.usage = "show | export | verify | rotate | erase",
	.commands = audit_commands,
};
