/*
 * The console's own files, and how a browser is to treat them.
 *
 * The pages run what is served here and nothing else, talk to this listener and nobody else, and
 * may not be framed. `require-trusted-types-for` makes the browser refuse what turns a text into
 * markup: texts of agents are shown in these pages. They are open to all: who may see anything is
 * asked by the API.
 */
#include "admin/api.h"

#include "admin/console_files.h"
#include "base/err.h"

#define CONSOLE_POLICY                                                                             \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "    \
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                    \
	"require-trusted-types-for 'script'; trusted-types 'none'"

enum { FILE_HEADERS_MAX = 1024 };

static const struct embedded_file *find(struct str name)
{
	for (size_t i = 0; i < embedded_file_count; i++) {
		if (str_equal(name, str_from(embedded_files[i].name)))
			return &embedded_files[i];
	}
	return NULL;
}

/* A list of tags, or "*" (RFC 9110 § 13.1.2); ours are quoted, so one is not found in another. */
static bool is_known(const struct exchange *exchange, const char *etag)
{
	const struct http_field *field = http_field_find(
		exchange->request.fields, exchange->request.field_count, STR("If-None-Match"));
	struct str rest = field ? field->value : STR(""), tag;

	while (field && str_split(&rest, ',', &tag)) {
		tag = str_trim(tag);
		if (str_starts_with(tag, STR("W/")))
			tag = str_from_index(tag, 2);
		if (str_equal(tag, str_from(etag)) || str_equal(tag, STR("*")))
			return true;
	}
	return false;
}

static void answer_file(struct api_call *call, const struct embedded_file *file)
{
	bool is_cached = is_known(call->exchange, file->etag);
	struct buf headers;

	buf_init(&headers, FILE_HEADERS_MAX);
	buf_printf(&headers,
		   "Content-Type: %s\r\nETag: %s\r\nCache-Control: no-cache\r\n"
		   "Content-Security-Policy: " CONSOLE_POLICY "\r\n"
		   "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
		   "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"
		   "Cross-Origin-Resource-Policy: same-origin\r\n",
		   file->type, file->etag);
	if (headers.is_spoiled)
		exchange_abort(call->exchange);
	else
		exchange_answer(call->exchange, is_cached ? 304 : 200, buf_str(&headers),
				is_cached ? STR("")
					  : str_of((const char *)file->bytes, file->size));
	buf_fini(&headers);
}

void api_console_page(struct api_call *call)
{
	const struct embedded_file *file = find(STR("index.html"));

	require(file);
	answer_file(call, file);
}

void api_console_file(struct api_call *call)
{
	const struct embedded_file *file = find(call->parameters[0]);

	if (file)
		answer_file(call, file);
	else
		api_problem(call, PROBLEM_NOT_FOUND, NULL);
}

void api_description(struct api_call *call)
{
	const struct embedded_file *file = find(STR("openapi.json"));

	require(file);
	answer_file(call, file);
}
