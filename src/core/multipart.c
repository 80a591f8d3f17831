/*
 * Multipart bodies: ordered parts, without the boundary that holds them.
 *
 * Readers of multipart differ where the text is sloppy, so the sloppy is refused: text before
 * the first boundary or behind the last, a boundary after a bare line feed, one with more on
 * its line, no closing one, folded headers, a header twice, an encoded content. What is left
 * has one reading: CRLF, two dashes and the boundary end a content, nothing else does.
 *
 * Of a part count its Content-Disposition (name, file name), its media type, any other header,
 * and its bytes. Content-Transfer-Encoding says nothing once it is the identity.
 */
#include "core/multipart.h"

#include "base/err.h"
#include "base/hash.h"
#include "core/text.h"

struct part_header {
	struct str name;
	struct str value;
};

struct part {
	struct part_header headers[MULTIPART_HEADERS_MAX]; /* ordered by name */
	size_t header_count;
	struct str content;
};

/* Where the reading stands: always right behind a boundary. */
struct reader {
	struct str rest;     /* what has not been read */
	struct str boundary; /* with the two dashes before it */
	bool is_form;	     /* multipart/form-data: every part has a name */
	size_t part;	     /* from 1, for errors */
	struct fingerprint_error *error;
};

static int read_boundary(const struct media_type *media_type, char *room, struct str *out_boundary,
			 struct fingerprint_error *out_error);
static int open_body(struct reader *reader);
static int read_part(struct reader *reader, struct part *out_part);
static int write_part(const struct reader *reader, const struct part *part, struct buf *out);
static int close_body(struct reader *reader);

int multipart_canonical(struct str body, const struct media_type *media_type, struct buf *out,
			struct fingerprint_error *out_error)
{
	char room[2 + MULTIPART_BOUNDARY_MAX];
	struct reader reader = {.rest = body, .error = out_error};
	struct part part;
	int r = read_boundary(media_type, room, &reader.boundary, out_error);

	reader.is_form = str_equal_nocase(media_type->subtype, STR("form-data"));
	if (r == 0)
		r = open_body(&reader);
	while (r == 0 && !str_starts_with(reader.rest, STR("--"))) {
		r = read_part(&reader, &part);
		if (r == 0)
			r = write_part(&reader, &part, out);
	}
	if (r == 0)
		r = close_body(&reader);
	if (r != 0)
		return r;
	return buf_append_byte(out, 'e') == 0 ? 0 : FAIL_MEMORY;
}

static bool is_boundary_byte(char c)
{
	if ((c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'))
		return true;
	return c != '\0' && strchr("'()+_,-./:=? ", c);
}

static int read_boundary(const struct media_type *media_type, char *room, struct str *out_boundary,
			 struct fingerprint_error *out_error)
{
	struct str boundary = parameters_value(&media_type->parameters, STR("boundary"));
	bool is_good = boundary.len > 0 && boundary.len <= MULTIPART_BOUNDARY_MAX &&
		       boundary.at[boundary.len - 1] != ' ';

	for (size_t i = 0; is_good && i < boundary.len; i++)
		is_good = is_boundary_byte(boundary.at[i]);
	if (!is_good)
		return fingerprint_refuse(out_error,
					  "The Content-Type has no boundary of 1 to %d characters "
					  "as RFC 2046 section 5.1.1 allows them.",
					  MULTIPART_BOUNDARY_MAX);
	memcpy(room, "--", 2);
	memcpy(room + 2, boundary.at, boundary.len);
	*out_boundary = str_of(room, boundary.len + 2);
	return 0;
}

/* One line break before the first boundary is an empty preamble; anything more is refused. */
static int open_body(struct reader *reader)
{
	if (str_starts_with(reader->rest, STR("\r\n")))
		reader->rest = str_from_index(reader->rest, 2);
	if (!str_starts_with(reader->rest, reader->boundary))
		return fingerprint_refuse(reader->error,
					  "The multipart body does not begin with its boundary.");
	reader->rest = str_from_index(reader->rest, reader->boundary.len);
	return 0;
}

static int close_body(struct reader *reader)
{
	struct str behind = str_from_index(reader->rest, 2);

	if (behind.len == 0 || str_equal(behind, STR("\r\n")))
		return 0;
	return fingerprint_refuse(reader->error,
				  "The multipart body goes on behind its closing boundary.");
}

static int read_headers(struct reader *reader, struct part *part);
static int find_content(const struct reader *reader, size_t *out_len);

static int read_part(struct reader *reader, struct part *out_part)
{
	size_t len = 0;
	int r;

	if (++reader->part > MULTIPART_PARTS_MAX)
		return fingerprint_refuse(reader->error,
					  "The multipart body has more than %d parts.",
					  MULTIPART_PARTS_MAX);
	if (!str_starts_with(reader->rest, STR("\r\n")))
		return fingerprint_refuse(reader->error,
					  "The boundary before part %zu has more on its line; CRLF "
					  "is expected right behind it.",
					  reader->part);
	reader->rest = str_from_index(reader->rest, 2);
	r = read_headers(reader, out_part);
	if (r == 0)
		r = find_content(reader, &len);
	if (r != 0)
		return r;
	out_part->content = str_of(reader->rest.at, len);
	reader->rest = str_from_index(reader->rest, len + 2 + reader->boundary.len);
	return 0;
}

/* The content ends where CRLF and the boundary follow. */
static int find_content(const struct reader *reader, size_t *out_len)
{
	struct str rest = reader->rest;
	size_t from = 0;

	while (from < rest.len) {
		const char *hit = memmem(rest.at + from, rest.len - from, reader->boundary.at,
					 reader->boundary.len);
		size_t at = hit ? (size_t)(hit - rest.at) : 0;

		if (!hit)
			break;
		if (at >= 2 && hit[-2] == '\r' && hit[-1] == '\n') {
			*out_len = at - 2;
			return 0;
		}
		if (at == 0 || hit[-1] == '\r' || hit[-1] == '\n')
			return fingerprint_refuse(reader->error,
						  "Part %zu has its boundary at the start of a "
						  "line that does not follow CRLF.",
						  reader->part);
		from = at + 1;
	}
	return fingerprint_refuse(reader->error, "Part %zu has no boundary behind it.",
				  reader->part);
}

static int read_header(const struct reader *reader, struct str line,
		       struct part_header *out_header);
static int insert_header(const struct reader *reader, struct part *part,
			 const struct part_header *header);

static int read_headers(struct reader *reader, struct part *part)
{
	part->header_count = 0;
	for (;;) {
		struct str rest = reader->rest;
		const char *end = rest.len ? memmem(rest.at, rest.len, "\r\n", 2) : NULL;
		struct part_header header;
		int r;

		if (!end)
			return fingerprint_refuse(reader->error,
						  "The headers of part %zu have no end.",
						  reader->part);
		rest.len = (size_t)(end - rest.at);
		reader->rest = str_from_index(reader->rest, rest.len + 2);
		if (rest.len == 0)
			return 0;
		r = read_header(reader, rest, &header);
		if (r == 0)
			r = insert_header(reader, part, &header);
		if (r != 0)
			return r;
	}
}

static bool has_control(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text_is_control(text.at[i]))
			return true;
	}
	return false;
}

static int read_header(const struct reader *reader, struct str line, struct part_header *out_header)
{
	size_t colon = str_find(line, ':');

	out_header->name = str_of(line.at, colon);
	out_header->value = str_trim(str_from_index(line, colon + 1));
	if (colon == line.len || !text_is_token(out_header->name) ||
	    has_control(out_header->value) || str_starts_with(line, reader->boundary))
		return fingerprint_refuse(reader->error,
					  "Part %zu has a malformed header; name: value is "
					  "expected, on one line.",
					  reader->part);
	return 0;
}

static int insert_header(const struct reader *reader, struct part *part,
			 const struct part_header *header)
{
	size_t at = 0;

	if (part->header_count == MULTIPART_HEADERS_MAX)
		return fingerprint_refuse(reader->error, "Part %zu has more than %d headers.",
					  reader->part, MULTIPART_HEADERS_MAX);
	while (at < part->header_count &&
	       text_order_nocase(part->headers[at].name, header->name) < 0)
		at++;
	if (at < part->header_count && str_equal_nocase(part->headers[at].name, header->name))
		return fingerprint_refuse(reader->error, "Part %zu has a header twice.",
					  reader->part);
	memmove(&part->headers[at + 1], &part->headers[at],
		(part->header_count - at) * sizeof(part->headers[0]));
	part->headers[at] = *header;
	part->header_count++;
	return 0;
}

/* --- writing --- */

static int write_disposition(const struct reader *reader, const struct part *part, struct buf *out);
static int write_media_type(const struct reader *reader, const struct part *part, struct buf *out);
static int write_others(const struct reader *reader, const struct part *part, struct buf *out);

static int write_part(const struct reader *reader, const struct part *part, struct buf *out)
{
	struct hash digest;
	int r;

	(void)buf_append_byte(out, 'p');
	r = write_disposition(reader, part, out);
	if (r == 0)
		r = write_media_type(reader, part, out);
	if (r == 0)
		r = write_others(reader, part, out);
	if (r != 0)
		return r;
	hash_bytes(part->content.at, part->content.len, &digest);
	(void)buf_append(out, digest.bytes, HASH_SIZE);
	return out->is_spoiled ? FAIL_MEMORY : 0;
}

static const struct part_header *find_header(const struct part *part, struct str name)
{
	for (size_t i = 0; i < part->header_count; i++) {
		if (str_equal_nocase(part->headers[i].name, name))
			return &part->headers[i];
	}
	return NULL;
}

static bool is_form_field(struct str type, const struct parameters *parameters)
{
	return str_equal_nocase(type, STR("form-data")) &&
	       parameters_value(parameters, STR("name")).at != NULL;
}

static int refuse_nameless(const struct reader *reader)
{
	return fingerprint_refuse(reader->error,
				  "Part %zu has no Content-Disposition: form-data with a name.",
				  reader->part);
}

/* Content-Disposition, with its parameters (name, file name and any other) ordered. */
static int write_disposition(const struct reader *reader, const struct part *part, struct buf *out)
{
	const struct part_header *header = find_header(part, STR("content-disposition"));
	size_t opened = text_open(out);

	if (header) {
		struct parameters parameters;
		size_t end = str_find(header->value, ';');
		struct str type = str_trim(str_of(header->value.at, end));
		int r = parameters_read(str_from_index(header->value, end),
					"A Content-Disposition of the multipart body", &parameters,
					reader->error);

		if (r != 0)
			return r;
		if (!text_is_token(type))
			return fingerprint_refuse(
				reader->error, "The Content-Disposition of part %zu is malformed.",
				reader->part);
		if (reader->is_form && !is_form_field(type, &parameters))
			return refuse_nameless(reader);
		text_append_lower(out, type);
		parameters_write(&parameters, STR(""), STR(""), out);
	} else if (reader->is_form) {
		return refuse_nameless(reader);
	}
	text_close(out, opened);
	return 0;
}

static int write_media_type(const struct reader *reader, const struct part *part, struct buf *out)
{
	const struct part_header *header = find_header(part, STR("content-type"));
	size_t opened = text_open(out);
	struct media_type media_type;
	int r;

	if (header) {
		r = media_type_read(header->value, "A Content-Type of the multipart body",
				    &media_type, reader->error);
		if (r != 0)
			return r;
		media_type_write(&media_type, out);
	}
	text_close(out, opened);
	return 0;
}

static bool is_identity(struct str coding)
{
	return str_equal_nocase(coding, STR("binary")) || str_equal_nocase(coding, STR("8bit")) ||
	       str_equal_nocase(coding, STR("7bit")) || str_equal_nocase(coding, STR("identity"));
}

static void write_other(const struct part_header *header, struct buf *out)
{
	size_t opened = text_open(out);

	text_append_lower(out, header->name);
	text_close(out, opened);
	opened = text_open(out);
	(void)buf_append_str(out, header->value);
	text_close(out, opened);
}

/* All other headers, ended by an empty name. */
static int write_others(const struct reader *reader, const struct part *part, struct buf *out)
{
	for (size_t i = 0; i < part->header_count; i++) {
		const struct part_header *header = &part->headers[i];

		if (str_equal_nocase(header->name, STR("content-disposition")) ||
		    str_equal_nocase(header->name, STR("content-type")))
			continue;
		if (!str_equal_nocase(header->name, STR("content-transfer-encoding"))) {
			write_other(header, out);
			continue;
		}
		if (!is_identity(header->value))
			return fingerprint_refuse(
				reader->error,
				"Part %zu is encoded; send its bytes as they are, "
				"without Content-Transfer-Encoding.",
				reader->part);
	}
	text_close(out, text_open(out));
	return 0;
}
