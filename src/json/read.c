/*
 * Reading a JSON text (RFC 8259) into a tree.
 *
 * The reader walks the text once. Each array or object that is still open is a frame on a
 * stack of its own; what belongs to it hangs in a chain until its bracket closes, and is
 * then laid out side by side. So the text may be as deep as the limit says without the C
 * stack noticing, and nothing is ever copied to grow.
 *
 * Always true: every turn of a loop takes at least one byte of the text; the chains of the
 * open frames hold exactly the values read and not yet laid out; line breaks occur in white
 * space alone, so everything else is on the line where it starts.
 * Can fail: the text is refused (the first fault in it, but a name that comes twice is seen
 * when its object closes); the arena is full.
 */
#include "base/err.h"
#include "json/internal.h"

enum {
	FRAMES_FIRST = 16, /* as deep as most bodies get: these cost no arena */
	NAME_SHOWN = 48,   /* bytes of a name in an error */
};

/* A member whose object is still open. */
struct pending {
	struct json_member member;
	struct pending *next;
	uint32_t line, column; /* where its name starts */
};

/* An array or object that is still open. */
struct frame {
	struct json_value *value;
	bool is_object;
	bool is_fresh; /* nothing after the bracket yet */
	size_t count;
	struct json_value *first_item, *last_item;
	struct pending *first_member, *last_member;
};

struct reader {
	/* given */
	const struct json_limits *limits;
	struct arena *mem;
	const char *end;

	/* where we are */
	const char *at;
	const char *line_start;
	size_t line;
	size_t values; /* read so far */

	/* what is open, outermost first */
	struct frame *frames;
	size_t depth;
	size_t capacity;
	struct frame first_frames[FRAMES_FIRST];

	struct json_value *root;
	struct json_fault fault;
};

_Static_assert(sizeof(struct json_value) == 48 || sizeof(void *) != 8,
	       "json.h promises what a value costs");

const struct json_limits json_limits_default = {
	.depth = 128,
	.digits = 64,
	.exponent = 307,
	.values = 1000000,
};

static int read_text(struct reader *reader);
static void skip_space(struct reader *reader);
static int read_value(struct reader *reader);
static int read_between(struct reader *reader);

int json_read(struct str text, const struct json_limits *limits, struct arena *mem,
	      struct json_value **out_value, struct json_error *out_error)
{
	const char *start = text.len ? text.at : "";
	struct reader reader;
	int r;

	reader.limits = limits;
	reader.mem = mem;
	reader.at = reader.line_start = start;
	reader.end = start + text.len;
	reader.line = 1;
	reader.values = 0;
	reader.frames = reader.first_frames;
	reader.depth = 0;
	reader.capacity = FRAMES_FIRST;
	reader.root = NULL;

	r = read_text(&reader);
	if (r == 0) {
		*out_value = reader.root;
	} else if (r == JSON_REFUSED) {
		out_error->line = reader.line;
		out_error->column = (size_t)(reader.fault.at - reader.line_start) + 1;
		memcpy(out_error->detail, reader.fault.detail, sizeof(out_error->detail));
	}
	return r;
}

static int read_text(struct reader *reader)
{
	int r;

	if (str_starts_with(str_of(reader->at, (size_t)(reader->end - reader->at)),
			    STR("\xef\xbb\xbf")))
		return json_fault_says(&reader->fault, reader->at,
				       "a byte-order mark found where a value was expected");
	do {
		skip_space(reader);
		r = read_value(reader);
		if (r != 0)
			return r;
		r = read_between(reader);
		if (r != 0)
			return r;
	} while (reader->depth > 0);

	skip_space(reader);
	if (reader->at != reader->end)
		return json_fault_expected(&reader->fault, reader->at, reader->end,
					   "the end of the text");
	return 0;
}

static void skip_space(struct reader *reader)
{
	for (; reader->at < reader->end; reader->at++) {
		switch (*reader->at) {
		case '\n':
			reader->line++;
			reader->line_start = reader->at + 1;
			break;
		case ' ':
		case '\t':
		case '\r':
			break;
		default:
			return;
		}
	}
}

static int expected(struct reader *reader, const char *what)
{
	return json_fault_expected(&reader->fault, reader->at, reader->end, what);
}

/* Values */

static int new_value(struct reader *reader, enum json_type type, struct json_value **out_value);
static int open_frame(struct reader *reader, struct json_value *value);
static int read_literal(struct reader *reader, struct str word);
static int read_number(struct reader *reader);

static bool starts_number(char byte)
{
	return byte == '-' || (byte >= '0' && byte <= '9');
}

/* A whole scalar, or the opening bracket of an array or object. */
static int read_value(struct reader *reader)
{
	struct json_value *value = NULL;
	int r;

	if (reader->at == reader->end)
		return expected(reader, "a value");
	switch (*reader->at) {
	case '"':
		r = new_value(reader, JSON_STRING, &value);
		return r ? r
			 : json_scan_string(&reader->at, reader->end, reader->mem, &value->string,
					    &reader->fault);
	case '{':
		r = new_value(reader, JSON_OBJECT, &value);
		return r ? r : open_frame(reader, value);
	case '[':
		r = new_value(reader, JSON_ARRAY, &value);
		return r ? r : open_frame(reader, value);
	case 't':
		r = new_value(reader, JSON_TRUE, &value);
		return r ? r : read_literal(reader, STR("true"));
	case 'f':
		r = new_value(reader, JSON_FALSE, &value);
		return r ? r : read_literal(reader, STR("false"));
	case 'n':
		r = new_value(reader, JSON_NULL, &value);
		return r ? r : read_literal(reader, STR("null"));
	default:
		return starts_number(*reader->at) ? read_number(reader)
						  : expected(reader, "a value");
	}
}

static int read_number(struct reader *reader)
{
	struct json_value *value = NULL;
	int r = new_value(reader, JSON_NUMBER, &value);

	return r ? r
		 : json_scan_number(&reader->at, reader->end, reader->limits, reader->mem,
				    &value->number, &reader->fault);
}

static int read_literal(struct reader *reader, struct str word)
{
	if (!str_starts_with(str_of(reader->at, (size_t)(reader->end - reader->at)), word))
		return json_fault_says(&reader->fault, reader->at,
				       "an unknown word found where a value was expected");
	reader->at += word.len;
	return 0;
}

static struct frame *innermost(struct reader *reader)
{
	return reader->depth ? &reader->frames[reader->depth - 1] : NULL;
}

static uint32_t here_column(const struct reader *reader)
{
	size_t column = (size_t)(reader->at - reader->line_start) + 1;

	return column < UINT32_MAX ? (uint32_t)column : UINT32_MAX;
}

static uint32_t here_line(const struct reader *reader)
{
	return reader->line < UINT32_MAX ? (uint32_t)reader->line : UINT32_MAX;
}

static void attach(struct reader *reader, struct json_value *value)
{
	struct frame *frame = innermost(reader);

	if (!frame) {
		reader->root = value;
	} else if (frame->is_object) {
		frame->last_member->member.value = value;
	} else {
		if (frame->last_item)
			frame->last_item->next = value;
		else
			frame->first_item = value;
		frame->last_item = value;
		frame->count++;
	}
}

static int new_value(struct reader *reader, enum json_type type, struct json_value **out_value)
{
	struct json_value *value;

	if (reader->values == reader->limits->values)
		return json_fault_says(&reader->fault, reader->at,
				       "the text holds more than %zu values",
				       reader->limits->values);
	value = arena_alloc(reader->mem, sizeof(*value));
	if (!value)
		return FAIL_MEMORY;
	value->type = type;
	value->line = here_line(reader);
	value->column = here_column(reader);
	value->next = NULL;
	reader->values++;
	attach(reader, value);
	*out_value = value;
	return 0;
}

static int add_frames(struct reader *reader)
{
	struct frame *frames;

	if (reader->capacity > SIZE_MAX / 2 / sizeof(*frames))
		return FAIL_MEMORY;
	frames = arena_alloc(reader->mem, 2 * reader->capacity * sizeof(*frames));
	if (!frames)
		return FAIL_MEMORY;
	memcpy(frames, reader->frames, reader->depth * sizeof(*frames));
	reader->frames = frames;
	reader->capacity *= 2;
	return 0;
}

static int open_frame(struct reader *reader, struct json_value *value)
{
	if (reader->depth == reader->limits->depth)
		return json_fault_says(&reader->fault, reader->at,
				       "arrays and objects inside one another more than %zu deep",
				       reader->limits->depth);
	if (reader->depth == reader->capacity && add_frames(reader) != 0)
		return FAIL_MEMORY;
	reader->frames[reader->depth++] = (struct frame){
		.value = value,
		.is_object = value->type == JSON_OBJECT,
		.is_fresh = true,
	};
	reader->at++;
	return 0;
}

/* Between values: commas, names and closing brackets */

static int read_name(struct reader *reader);
static int close_frame(struct reader *reader);
static const char *what_may_follow(const struct frame *frame);

/* Go on to where the next value must start, or to the end of the outermost one. */
static int read_between(struct reader *reader)
{
	struct frame *frame;
	int r;

	while ((frame = innermost(reader))) {
		skip_space(reader);
		if (reader->at < reader->end && *reader->at == (frame->is_object ? '}' : ']')) {
			r = close_frame(reader);
			if (r != 0)
				return r;
			continue;
		}
		if (frame->is_fresh)
			frame->is_fresh = false;
		else if (reader->at < reader->end && *reader->at == ',')
			reader->at++;
		else
			return expected(reader, what_may_follow(frame));
		return frame->is_object ? read_name(reader) : 0;
	}
	return 0;
}

static const char *what_may_follow(const struct frame *frame)
{
	return frame->is_object ? "',' or '}'" : "',' or ']'";
}

/* A name and its colon. */
static int read_name(struct reader *reader)
{
	struct frame *frame = innermost(reader);
	struct pending *pending;
	int r;

	skip_space(reader);
	if (reader->at == reader->end || *reader->at != '"')
		return expected(reader, "a name in quotes");
	pending = arena_alloc(reader->mem, sizeof(*pending));
	if (!pending)
		return FAIL_MEMORY;
	*pending = (struct pending){.line = here_line(reader), .column = here_column(reader)};
	r = json_scan_string(&reader->at, reader->end, reader->mem, &pending->member.name,
			     &reader->fault);
	if (r != 0)
		return r;
	if (frame->last_member)
		frame->last_member->next = pending;
	else
		frame->first_member = pending;
	frame->last_member = pending;
	frame->count++;

	skip_space(reader);
	if (reader->at == reader->end || *reader->at != ':')
		return expected(reader, "':'");
	reader->at++;
	return 0;
}

static int close_array(struct reader *reader, const struct frame *frame);
static int close_object(struct reader *reader, const struct frame *frame);

static int close_frame(struct reader *reader)
{
	const struct frame *frame = innermost(reader);
	int r = frame->is_object ? close_object(reader, frame) : close_array(reader, frame);

	if (r != 0)
		return r;
	reader->at++;
	reader->depth--;
	return 0;
}

static int close_array(struct reader *reader, const struct frame *frame)
{
	struct json_value **items = NULL;
	struct json_value *item = frame->first_item;

	if (frame->count) {
		items = arena_alloc(reader->mem, frame->count * sizeof(struct json_value *));
		if (!items)
			return FAIL_MEMORY;
	}
	for (size_t i = 0; i < frame->count; i++, item = item->next)
		items[i] = item;
	frame->value->array.items = items;
	frame->value->array.count = frame->count;
	return 0;
}

static int refuse_twins(struct reader *reader, const struct frame *frame,
			struct json_member *members);

static int close_object(struct reader *reader, const struct frame *frame)
{
	struct json_member *members = NULL;
	const struct pending *pending = frame->first_member;

	if (frame->count) {
		members = arena_alloc(reader->mem, frame->count * sizeof(*members));
		if (!members)
			return FAIL_MEMORY;
	}
	for (size_t i = 0; i < frame->count; i++, pending = pending->next)
		members[i] = pending->member;
	frame->value->object.members = members;
	frame->value->object.count = frame->count;
	return frame->count < 2 ? 0 : refuse_twins(reader, frame, members);
}

static int twin_fault(struct reader *reader, const struct frame *frame, size_t index);

/* Two members of one name stand side by side once they are in order. */
static int refuse_twins(struct reader *reader, const struct frame *frame,
			struct json_member *members)
{
	struct json_place *places;
	int r = json_order(members, frame->count, reader->mem, &places);

	if (r != 0)
		return r;
	for (size_t i = 1; i < frame->count; i++) {
		if (places[i].prefix == places[i - 1].prefix &&
		    str_equal(places[i].member->name, places[i - 1].member->name))
			return twin_fault(reader, frame, (size_t)(places[i].member - members));
	}
	return 0;
}

/* The fault is where the second of them is named, which may be lines ago. */
static int twin_fault(struct reader *reader, const struct frame *frame, size_t index)
{
	const struct pending *pending = frame->first_member;
	struct str name;
	size_t shown = 0, length;

	for (size_t i = 0; i < index; i++)
		pending = pending->next;
	name = pending->member.name;
	while (shown < name.len) {
		length = json_utf8_length(name.at + shown, name.at + name.len);
		if (length == 0 || shown + length > NAME_SHOWN)
			break;
		shown += length;
	}
	reader->line = pending->line;
	reader->line_start = reader->at - (pending->column - 1);
	return json_fault_says(&reader->fault, reader->at,
			       "the name \"%.*s%s\" is in its object twice", (int)shown,
			       name.len ? name.at : "", shown < name.len ? "…" : "");
}
