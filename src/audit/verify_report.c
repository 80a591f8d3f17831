/*
 * What a verification found, as members of a JSON object: the same for a command's --json and for
 * the gate that verifies its own log.
 */
#include "audit/checkpoint.h"
#include "audit/verify.h"

static void json_number_of(struct json_writer *json, const char *name, uint64_t value)
{
	json_name(json, name);
	json_integer(json, (int64_t)value);
}

static void json_head(const struct verify_report *report, struct json_writer *json)
{
	char root[CHECKPOINT_HASH_TEXT + 1];

	json_name(json, "head");
	if (!report->has_head) {
		json_null(json);
		return;
	}
	checkpoint_hash_write(&report->head_root, root);
	json_open_object(json);
	json_number_of(json, "size", report->head_size);
	json_name(json, "root");
	json_text(json, root);
	json_close_object(json);
}

static void json_bad(const struct verify_report *report, struct json_writer *json)
{
	json_name(json, "first_bad");
	if (!report->has_bad) {
		json_null(json);
		return;
	}
	json_open_object(json);
	json_number_of(json, "from", report->bad_from);
	json_number_of(json, "to", report->bad_to);
	json_close_object(json);
}

void verify_report_write(const struct verify_report *report, struct json_writer *json)
{
	json_name(json, "result");
	json_text(json, verify_result_text(report->result));
	json_name(json, "why");
	json_text(json, report->why[0] ? report->why : NULL);
	json_number_of(json, "entries", report->entries);
	json_number_of(json, "unsealed", report->unsealed);
	json_head(report, json);
	json_bad(report, json);
	json_number_of(json, "unreadable", report->unreadable);
	json_name(json, "first_unreadable");
	if (report->unreadable)
		json_integer(json, (int64_t)report->first_unreadable);
	else
		json_null(json);
	json_number_of(json, "checkpoints", report->checkpoints);
	json_number_of(json, "unchecked", report->unchecked);
	json_name(json, "witnessed");
	if (report->is_witnessed)
		json_integer(json, (int64_t)report->witnessed_s);
	else
		json_null(json);
	json_number_of(json, "epochs", report->epochs);
	json_number_of(json, "seals", report->seals);
	json_number_of(json, "erased", report->erased);
	json_number_of(json, "pruned", report->pruned);
	json_number_of(json, "missing_tiles", report->missing_tiles);
}
