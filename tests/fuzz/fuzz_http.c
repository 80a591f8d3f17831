/*
 * Any bytes as a request: the reader stays inside them, gives one verdict however they are
 * cut, and what it accepts means the same when it is written again.
 *
 * The first byte of the input says how the rest is cut.
 */
#include "base/err.h"
#include "http/http.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { MEM_MAX = 1 << 20, DATA_MAX = 1 << 20 };

/* Small, so that the fuzzer reaches them; large, for what was read under the small ones. */
static const struct http_limits limits = {.head_bytes = 1024, .target_bytes = 256, .fields = 16};
static const struct http_limits limits_again = {
	.head_bytes = 8192, .target_bytes = 1024, .fields = 16};

struct head {
	int r;
	size_t len;
	struct http_refusal refusal;
};

/* A copy of its own, so that the sanitizer sees one byte too far. */
static struct str copy_of(struct str text)
{
	char *copy = malloc(text.len ? text.len : 1);

	require(copy != NULL);
	if (text.len)
		memcpy(copy, text.at, text.len);
	return str_of(copy, text.len);
}

static struct head find_head(struct str input, size_t step)
{
	struct head head = {.r = HTTP_MORE};
	size_t scanned = 0;
	size_t fed = 0;

	while (head.r == HTTP_MORE && fed < input.len) {
		struct str piece;

		fed = input.len - fed < step ? input.len : fed + step;
		piece = copy_of(str_of(input.at, fed));
		head.r = http_head_end(piece, &limits, &scanned, &head.len, &head.refusal);
		free((char *)piece.at);
	}
	return head;
}

static void check_request(const struct http_request *request)
{
	require(http_is_token(request->method));
	require(request->target.len > 0);
	require(request->parts.path.len > 0);
	require(request->target.len ==
		request->parts.path.len + request->parts.has_query + request->parts.query.len);
	require(request->host.len > 0 || request->minor == 0);
	require(request->field_count <= limits.fields);
	require(http_field_count(request->fields, request->field_count, STR("host")) <= 1);
	require(http_field_count(request->fields, request->field_count, STR("content-length")) ==
		(request->framing == HTTP_LENGTH));
	require(http_field_count(request->fields, request->field_count, STR("transfer-encoding")) ==
		(request->framing == HTTP_CHUNKED));
	require(!http_is_hop_by_hop(request->fields, request->field_count, STR("host")));
	http_prefer_wait(request->fields, request->field_count);
}

static void write_request(struct buf *out, const struct http_request *request)
{
	buf_append_str(out, request->method);
	buf_append_byte(out, ' ');
	buf_append_str(out, request->target);
	buf_append_str(out, request->minor ? STR(" HTTP/1.1\r\n") : STR(" HTTP/1.0\r\n"));
	for (size_t i = 0; i < request->field_count; i++)
		http_write_field(out, request->fields[i].name, request->fields[i].value);
	http_write_head_end(out);
	require(!out->is_spoiled);
}

static void check_written(const struct http_request *request, struct arena *mem)
{
	struct http_refusal refusal;
	struct http_request again;
	size_t scanned = 0;
	size_t len = 0;
	struct buf out;

	buf_init(&out, DATA_MAX);
	write_request(&out, request);
	require(http_head_end(buf_str(&out), &limits_again, &scanned, &len, &refusal) == 0);
	require(len == out.len);
	require(http_request_read(buf_str(&out), &limits_again, mem, &again, &refusal) == 0);
	require(str_equal(again.method, request->method));
	require(str_equal(again.target, request->target));
	require(again.field_count == request->field_count);
	require(again.framing == request->framing && again.length == request->length);
	require(again.is_persistent == request->is_persistent);
	require(again.expects_continue == request->expects_continue);
	for (size_t i = 0; i < again.field_count; i++) {
		require(str_equal(again.fields[i].name, request->fields[i].name));
		require(str_equal(again.fields[i].value, request->fields[i].value));
	}
	buf_fini(&out);
}

struct body {
	int r;
	size_t used;
	struct buf data;
	struct http_refusal refusal;
};

static void read_body(struct body *out, enum http_framing framing, uint64_t length,
		      struct str input, size_t step)
{
	struct http_body body;

	*out = (struct body){0};
	buf_init(&out->data, DATA_MAX);
	http_body_init(&body, framing, length);
	do {
		size_t left = input.len - out->used;
		struct str piece = copy_of(str_of(input.at + out->used, left < step ? left : step));
		struct str data;
		size_t used;

		out->r = http_body_read(&body, piece, &used, &data, &out->refusal);
		if (out->r != HTTP_REFUSED) {
			require(used <= piece.len && data.len <= used);
			require(used > 0 || piece.len == 0 || out->r == HTTP_BODY_END);
			require(buf_append_str(&out->data, data) == 0);
			out->used += used;
		}
		free((char *)piece.at);
	} while (out->r == 0 && out->used < input.len);
	require(body.seen == out->data.len);
}

static void check_body(enum http_framing framing, uint64_t length, struct str input, size_t step)
{
	struct body whole, cut;

	read_body(&whole, framing, length, input, input.len + 1);
	read_body(&cut, framing, length, input, step);
	require(whole.r == cut.r);
	require(str_equal(buf_str(&whole.data), buf_str(&cut.data)));
	if (whole.r == HTTP_REFUSED)
		require(whole.refusal.status == cut.refusal.status);
	else
		require(whole.used == cut.used);
	buf_fini(&whole.data);
	buf_fini(&cut.data);
}

static void check_head(struct str head, struct str rest, size_t step)
{
	struct str copy = copy_of(head);
	struct http_refusal refusal = {0};
	struct http_request request;
	struct arena mem;
	int r;

	arena_init(&mem, MEM_MAX);
	r = http_request_read(copy, &limits, &mem, &request, &refusal);
	require(r == 0 || r == HTTP_REFUSED);
	if (r == 0) {
		check_request(&request);
		check_written(&request, &mem);
		check_body(request.framing, request.length, rest, step);
	} else {
		require(refusal.status >= 400 && refusal.detail);
	}
	arena_fini(&mem);
	free((char *)copy.at);
}

/* Fields of an answer, told from the same bytes. */
static void check_lines(struct str input)
{
	struct http_field field;

	while (http_next_line(&input, &field)) {
		require(http_is_token(field.name));
		require(http_is_field_value(field.value));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct head whole, cut;
	struct str input;
	size_t step;

	if (len < 2)
		return 0;
	step = (size_t)(bytes[0] & 63) + 1;
	input = str_of((const char *)bytes + 1, len - 1);
	whole = find_head(input, input.len);
	cut = find_head(input, step);
	require(whole.r == cut.r);
	if (whole.r == HTTP_REFUSED)
		require(whole.refusal.status == cut.refusal.status);
	if (whole.r == 0) {
		require(whole.len == cut.len && whole.len <= limits.head_bytes);
		check_head(str_of(input.at, whole.len), str_from_index(input, whole.len), step);
	}
	check_body(HTTP_CHUNKED, 0, input, step);
	check_lines(input);
	return 0;
}
