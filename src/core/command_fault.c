/*
 * What is wrong with a command, said to the one who sent it.
 *
 * A fault is a place and a sentence: what is expected there and what was sent. The place is
 * spelled only here, from the chain of spots, so that a good command costs no pointers. Values
 * are shown cut short and in printable ASCII: they go into logs, terminals and other people's
 * prompts. Of a secret field none is shown, and no name inside it either.
 *
 * Beyond COMMAND_FAULTS_MAX faults are counted and not written.
 */
#include "core/command_internal.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_CHARACTERS = 40 };

static bool spell(const struct spot *spot, struct arena *mem, struct str *out_pointer);
static void cut_whole(char *text, size_t size);

/* Room for a fault at `spot`; *out_fault is NULL when it is only counted. */
static int open_fault(struct reading *reading, const struct spot *spot,
		      struct command_fault **out_fault)
{
	struct command_faults *faults = reading->faults;
	struct command_fault *fault;

	*out_fault = NULL;
	if (!faults)
		return COMMAND_REFUSED;
	if (faults->count == COMMAND_FAULTS_MAX) {
		faults->left_out++;
		return COMMAND_REFUSED;
	}
	fault = &faults->faults[faults->count];
	*fault = (struct command_fault){.detail = ""};
	if (!spell(spot, reading->mem, &fault->pointer))
		return FAIL_MEMORY;
	faults->count++;
	*out_fault = fault;
	return COMMAND_REFUSED;
}

/* What goes behind a sentence. */
static void add_given(struct command_fault *fault, const struct spot *spot,
		      const struct json_value *given)
{
	size_t len = strlen(fault->detail), room = sizeof(fault->detail) - len;
	char shown[SHOWN_SIZE], ending[SHOWN_SIZE + 16] = ".";

	if (len && fault->detail[len - 1] == '?')
		return;
	if (given && !spot->is_secret) {
		fault_show(given, shown);
		snprintf(ending, sizeof(ending), "; %s was sent.", shown);
	}
	if (strlen(ending) < room)
		snprintf(fault->detail + len, room, "%s", ending);
	else if (room > 1)
		snprintf(fault->detail + len, room, ".");
}

int fault_tell(struct reading *reading, const struct spot *spot, const struct json_value *given,
	       const char *format, ...)
{
	struct command_fault *fault;
	int r = open_fault(reading, spot, &fault);
	va_list args;

	if (!fault)
		return r;
	va_start(args, format);
	vsnprintf(fault->detail, sizeof(fault->detail), format, args);
	va_end(args);
	cut_whole(fault->detail, sizeof(fault->detail));
	add_given(fault, spot, given);
	return r;
}

int fault_tell_mutable(struct reading *reading, const struct spot *spot,
		       const struct json_value *given)
{
	struct command_fault *fault;
	int r = open_fault(reading, spot, &fault);

	if (!fault)
		return r;
	fault->is_mutable_reference = true;
	snprintf(fault->detail, sizeof(fault->detail),
		 "What this names can change: name it by a digest (sha256:…, name@sha256:…) or "
		 "a full commit id of 40 or 64 digits");
	add_given(fault, spot, given);
	return r;
}

/* Take off half a UTF-8 character that a full buffer may end in. */
static void cut_whole(char *text, size_t size)
{
	size_t len = strlen(text), back = len;

	if (len + 1 < size)
		return;
	while (back > 0 && ((unsigned char)text[back - 1] & 0xc0) == 0x80)
		back--;
	if (back > 0 && (unsigned char)text[back - 1] >= 0xc0)
		text[back - 1] = '\0';
}

/* JSON pointers (RFC 6901) */

static size_t escaped_length(struct str name)
{
	size_t len = name.len;

	for (size_t i = 0; i < name.len; i++)
		len += name.at[i] == '~' || name.at[i] == '/';
	return len;
}

static struct str step_text(const struct spot *spot, char index[24])
{
	if (!spot->is_item)
		return spot->name;
	snprintf(index, 24, "%zu", spot->index);
	return str_from(index);
}

static void write_step(struct str name, char *out)
{
	*out++ = '/';
	for (size_t i = 0; i < name.len; i++) {
		bool is_special = name.at[i] == '~' || name.at[i] == '/';

		*out++ = is_special ? '~' : name.at[i];
		if (is_special)
			*out++ = name.at[i] == '~' ? '0' : '1';
	}
}

static bool spell(const struct spot *spot, struct arena *mem, struct str *out_pointer)
{
	char index[24], *room;
	size_t len = 0;

	for (const struct spot *at = spot; at->above; at = at->above)
		len += 1 + escaped_length(step_text(at, index));
	room = arena_alloc(mem, len + 1);
	if (!room)
		return false;
	room[len] = '\0';
	*out_pointer = str_of(room, len);
	for (const struct spot *at = spot; at->above; at = at->above) {
		struct str step = step_text(at, index);

		len -= 1 + escaped_length(step);
		write_step(step, room + len);
	}
	return true;
}

/* Values for people */

/* Written in `quote` if it is not NUL; always with the NUL, three dots where it was cut. */
static void show(struct str text, char quote, char out[SHOWN_SIZE])
{
	size_t shown = text.len > SHOWN_CHARACTERS ? SHOWN_CHARACTERS : text.len, len = 0;

	if (quote)
		out[len++] = quote;
	for (size_t i = 0; i < shown; i++) {
		char c = text.at[i];

		out[len++] = (char)(c < 0x20 || c > 0x7e || c == '"' ? '?' : c);
	}
	if (shown < text.len) {
		memcpy(out + len, "...", 3);
		len += 3;
	}
	if (quote)
		out[len++] = quote;
	out[len] = '\0';
}

void fault_show_text(struct str text, char out[SHOWN_SIZE])
{
	show(text, '"', out);
}

void fault_show_number(const struct json_number *number, char out[SHOWN_SIZE])
{
	const struct json_value value = {.type = JSON_NUMBER, .number = *number};
	struct buf text;

	buf_init(&text, 512);
	if (json_canonical(&value, NULL, &text) == 0)
		show(buf_str(&text), '\0', out);
	else
		snprintf(out, SHOWN_SIZE, "a number");
	buf_fini(&text);
}

void fault_show(const struct json_value *value, char out[SHOWN_SIZE])
{
	static const char *const names[] = {
		[JSON_NULL] = "null",	     [JSON_FALSE] = "false",	 [JSON_TRUE] = "true",
		[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	if (value->type == JSON_STRING)
		fault_show_text(value->string, out);
	else if (value->type == JSON_NUMBER)
		fault_show_number(&value->number, out);
	else
		snprintf(out, SHOWN_SIZE, "%s", names[value->type]);
}
