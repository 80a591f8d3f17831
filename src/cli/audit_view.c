/* A report of verification as lines and as JSON. */
#include "cli/audit_view.h"

#include "audit/checkpoint.h"
#include "json/json.h"

static void line(struct buf *out, const char *title)
{
	(void)buf_printf(out, "  %-12s ", title);
}

static void number(struct buf *out, uint64_t value, const char *after)
{
	(void)buf_append_u64(out, value);
	(void)buf_append_str(out, str_from(after));
}

static void text_of_head(const struct verify_report *report, struct buf *out)
{
	char root[CHECKPOINT_HASH_TEXT + 1];

	line(out, "head");
	if (!report->has_head) {
		(void)buf_append_str(out, STR("none\n"));
		return;
	}
	checkpoint_hash_write(&report->head_root, root);
	number(out, report->head_size, " entries, root ");
	(void)buf_printf(out, "%s\n", root);
}

static void text_of_bad(const struct verify_report *report, struct buf *out)
{
	line(out, "first bad");
	if (!report->has_bad) {
		(void)buf_append_str(out, STR("none\n"));
		return;
	}
	(void)buf_append_str(out, STR("entry "));
	number(out, report->bad_from, "");
	if (report->bad_to > report->bad_from) {
		(void)buf_append_str(out, STR(", or one up to "));
		number(out, report->bad_to, "");
	}
	(void)buf_append_byte(out, '\n');
}

void audit_view_text(const struct verify_report *report, struct buf *out)
{
	(void)buf_printf(out, "%s%s%s\n", verify_result_text(report->result),
			 report->why[0] ? ": " : "", report->why);
	line(out, "entries");
	number(out, report->entries, ", ");
	number(out, report->unsealed, " of them not under a checkpoint\n");
	text_of_head(report, out);
	text_of_bad(report, out);
	line(out, "checkpoints");
	number(out, report->checkpoints, " hold, ");
	number(out, report->unchecked, " signatures are older than the key\n");
	if (report->is_witnessed) {
		line(out, "witnessed");
		(void)buf_append_str(out, STR("at "));
		number(out, report->witnessed_s, " s since 1970, as the witness says\n");
	}
	line(out, "epochs");
	number(out, report->epochs, ", ");
	number(out, report->seals, " of them sealed\n");
	if (report->erased) {
		line(out, "erased");
		number(out, report->erased, " data keys, ");
		number(out, report->pruned, " entries pruned after that\n");
	}
	if (report->unreadable) {
		line(out, "unreadable");
		number(out, report->unreadable, " entries, the first is ");
		number(out, report->first_unreadable, "\n");
	}
	if (report->missing_tiles) {
		line(out, "tiles");
		number(out, report->missing_tiles, " missing or too short\n");
	}
}

void audit_view_json(const struct verify_report *report, struct buf *out)
{
	struct json_writer json;

	json_writer_init(&json, out);
	json_open_object(&json);
	verify_report_write(report, &json);
	json_close_object(&json);
	(void)buf_append_byte(out, '\n');
}
