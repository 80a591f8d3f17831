/*
 * The page of a question: what would happen, who asks and until when, then the command and what is
 * new in it, member by member.
 */
#include "cli/approval_view.h"

#include "base/terminal.h"
#include "cli/op_view.h"
#include "core/approval.h"

#include <string.h>

enum { MEMBER_WIDTH = 22 }; /* of the command's names; longer ones push their value along */

static const struct json_value *list_of(const struct json_value *object, const char *name)
{
	static const struct json_value empty = {.type = JSON_ARRAY};
	const struct json_value *list = op_member(object, name);

	return list && list->type == JSON_ARRAY ? list : &empty;
}

/* -- what would happen ------------------------------------------------------------- */

static struct str reversible_text(const struct json_value *approval)
{
	const struct json_value *value = op_member(approval, "reversible");

	if (value && value->type == JSON_TRUE)
		return STR("yes");
	if (value && value->type == JSON_FALSE)
		return STR("no");
	return STR("nobody has said");
}

static void append_deed(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *destination = op_member(approval, "destination");
	struct str upstream = op_member_text(destination, "upstream", mem);

	op_append_fact(out, "Action", op_member_text(approval, "action", mem));
	op_append_fact(out, "Class", op_member_text(approval, "class", mem));
	op_append_fact(out, "Summary", op_member_text(approval, "summary", mem));
	op_append_fact(out, "Destination",
		       arena_printf(mem, "%.*s %.*s",
				    STR_ARG(op_member_text(destination, "method", mem)),
				    STR_ARG(op_member_text(destination, "url", mem))));
	op_append_fact(out, "Upstream", upstream);
	op_append_fact(out, "Consequence", op_member_text(approval, "consequence", mem));
	op_append_fact(out, "Reversible", reversible_text(approval));
}

/* -- who asks, and who has answered ------------------------------------------------ */

static struct str standing_text(const struct json_value *approval, struct arena *mem)
{
	const struct json_value *operation = op_member(approval, "operation");
	struct str needed = op_member_text(approval, "needed", mem);

	return arena_printf(mem, "%.*s, %.*s of %.*s %s given",
			    STR_ARG(op_member_text(operation, "state", mem)),
			    STR_ARG(op_member_text(approval, "given", mem)), STR_ARG(needed),
			    str_equal(needed, STR("1")) ? "approval" : "approvals");
}

void approval_view_standing(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *operation = op_member(approval, "operation");

	terminal_append(out, op_member_text(operation, "id", mem));
	buf_append_str(out, STR("  "));
	terminal_append(out, standing_text(approval, mem));
	buf_append_byte(out, '\n');
}

static void append_asker(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *asked = op_member(approval, "asked");

	op_append_fact(out, "Asked by", op_member_text(asked, "by", mem));
	op_append_fact(out, "Agent", op_member_text(asked, "agent", mem));
	op_append_fact(out, "Account", op_member_text(asked, "account", mem));
	op_append_fact(out, "Asked at", op_member_text(asked, "at", mem));
	op_append_fact(out, "Until", op_member_text(approval, "expires_at", mem));
}

static struct str answer_text(const struct json_value *answer, struct arena *mem)
{
	struct str why = op_member_text(answer, "why", mem);

	return arena_printf(
		mem, "%.*s  %.*s by %.*s (%.*s)%s%.*s", STR_ARG(op_member_text(answer, "at", mem)),
		STR_ARG(op_member_text(answer, "verdict", mem)),
		STR_ARG(op_member_text(answer, "by", mem)),
		STR_ARG(op_member_text(answer, "role", mem)), why.len ? ": " : "", STR_ARG(why));
}

static void append_answers(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *answers = list_of(approval, "answers");

	for (size_t i = 0; i < answers->array.count; i++)
		op_append_fact(out, i ? "" : "Answers", answer_text(answers->array.items[i], mem));
}

/* One that asks the same many times over is asked about once at a time all the same. */
static void append_alike(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *ids = list_of(approval, "alike_ids");
	struct str count = op_member_text(approval, "alike", mem);

	if (!count.len || str_equal(count, STR("0")))
		return;
	op_append_fact(out, "Alike",
		       arena_printf(mem,
				    "%.*s more of the same wait, each for an answer of its own",
				    STR_ARG(count)));
	for (size_t i = 0; i < ids->array.count; i++) {
		if (ids->array.items[i]->type == JSON_STRING)
			op_append_fact(out, "", ids->array.items[i]->string);
	}
}

/* -- the command ------------------------------------------------------------------- */

static struct str json_of(const struct json_value *value, struct arena *mem)
{
	struct str text;

	if (!value)
		return STR("");
	return json_canonical_str(value, mem, &text) == 0 ? text : STR("?");
}

static void append_member(struct buf *out, struct str name, struct str text)
{
	struct buf cleaned;
	size_t width;

	buf_init(&cleaned, 4 * name.len + 64);
	terminal_append(&cleaned, name);
	width = terminal_width(buf_str(&cleaned));
	buf_append_str(out, STR("  "));
	buf_append_str(out, buf_str(&cleaned));
	for (; width < MEMBER_WIDTH; width++)
		buf_append_byte(out, ' ');
	out->is_spoiled |= cleaned.is_spoiled;
	buf_fini(&cleaned);
	buf_append_byte(out, ' ');
	terminal_append(out, text);
	buf_append_byte(out, '\n');
}

static void append_command(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *command = op_member(approval, "command");

	if (!command || command->type == JSON_NULL) {
		buf_append_byte(out, '\n');
		op_append_fact(out, "Body", op_member_text(approval, "body_preview", mem));
		return;
	}
	buf_append_str(out, STR("\nCommand\n"));
	if (command->type != JSON_OBJECT) {
		append_member(out, STR(""), json_of(command, mem));
		return;
	}
	for (size_t i = 0; i < command->object.count; i++)
		append_member(out, command->object.members[i].name,
			      json_of(command->object.members[i].value, mem));
}

/* The headers that the service acts on; the path and the query stand with the destination. */
static void append_headers(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *headers = op_member(op_member(approval, "sent"), "headers");

	if (!headers || headers->type != JSON_OBJECT || !headers->object.count)
		return;
	buf_append_str(out, STR("\nHeaders\n"));
	for (size_t i = 0; i < headers->object.count; i++)
		append_member(out, headers->object.members[i].name,
			      json_of(headers->object.members[i].value, mem));
}

static void append_list_of_changes(const struct json_value *changes, struct arena *mem,
				   struct buf *out);

static struct str change_text(const struct json_value *change, struct arena *mem)
{
	const struct json_value *from = op_member(change, "from"), *to = op_member(change, "to");

	if (!from)
		return arena_printf(mem, "new: %.*s", STR_ARG(json_of(to, mem)));
	if (!to)
		return arena_printf(mem, "no longer there; it was %.*s",
				    STR_ARG(json_of(from, mem)));
	return arena_printf(mem, "%.*s; it was %.*s", STR_ARG(json_of(to, mem)),
			    STR_ARG(json_of(from, mem)));
}

/* Masks are equal, whatever is behind them. */
static bool holds_masked(const struct json_value *approval, struct arena *mem)
{
	return strstr(json_of(op_member(approval, "command"), mem).at, APPROVAL_MASK) != NULL;
}

static void append_changes(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	const struct json_value *previous = op_member(approval, "previous");
	const struct json_value *changes = list_of(approval, "changed");
	const struct json_value *sent = list_of(approval, "sent_changed");

	if (!previous || previous->type != JSON_OBJECT)
		return;
	buf_append_str(out, STR("\nOther than the last one, "));
	terminal_append(out, op_member_text(previous, "operation", mem));
	buf_append_str(out, STR(" of "));
	terminal_append(out, op_member_text(previous, "at", mem));
	buf_append_str(out,
		       changes->array.count || sent->array.count ? STR("\n") : STR(": nothing\n"));
	append_list_of_changes(sent, mem, out);
	append_list_of_changes(changes, mem, out);
	if (holds_masked(approval, mem))
		buf_append_str(out, STR("  Secret fields may differ; they are not compared.\n"));
}

static void append_list_of_changes(const struct json_value *changes, struct arena *mem,
				   struct buf *out)
{
	for (size_t i = 0; i < changes->array.count; i++)
		append_member(out, op_member_text(changes->array.items[i], "path", mem),
			      change_text(changes->array.items[i], mem));
}

void approval_view_show(const struct json_value *approval, struct arena *mem, struct buf *out)
{
	op_append_fact(out, "Operation",
		       op_member_text(op_member(approval, "operation"), "id", mem));
	op_append_fact(out, "State", standing_text(approval, mem));
	append_deed(approval, mem, out);
	append_asker(approval, mem, out);
	append_answers(approval, mem, out);
	append_alike(approval, mem, out);
	append_headers(approval, mem, out);
	append_command(approval, mem, out);
	append_changes(approval, mem, out);
	buf_append_byte(out, '\n');
	op_append_fact(out, "Fingerprint", op_member_text(approval, "fingerprint", mem));
}
