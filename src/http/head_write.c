/*
 * Writing heads and chunks.
 *
 * Whoever answers writes into a buffer and looks once, at the end, whether it is spoiled.
 * A field that could end its own line (and start another one, or another answer) is not
 * written and spoils the buffer: that is a mistake of the caller, and an answer that is not
 * sent does less harm than one that is split.
 */
#include "base/err.h"
#include "http/http.h"

static const char *const reasons[] = {
	[100] = "Continue",
	[101] = "Switching Protocols",
	[103] = "Early Hints",
	[200] = "OK",
	[201] = "Created",
	[202] = "Accepted",
	[203] = "Non-Authoritative Information",
	[204] = "No Content",
	[205] = "Reset Content",
	[206] = "Partial Content",
	[207] = "Multi-Status",
	[208] = "Already Reported",
	[226] = "IM Used",
	[300] = "Multiple Choices",
	[301] = "Moved Permanently",
	[302] = "Found",
	[303] = "See Other",
	[304] = "Not Modified",
	[305] = "Use Proxy",
	[307] = "Temporary Redirect",
	[308] = "Permanent Redirect",
	[400] = "Bad Request",
	[401] = "Unauthorized",
	[402] = "Payment Required",
	[403] = "Forbidden",
	[404] = "Not Found",
	[405] = "Method Not Allowed",
	[406] = "Not Acceptable",
	[407] = "Proxy Authentication Required",
	[408] = "Request Timeout",
	[409] = "Conflict",
	[410] = "Gone",
	[411] = "Length Required",
	[412] = "Precondition Failed",
	[413] = "Content Too Large",
	[414] = "URI Too Long",
	[415] = "Unsupported Media Type",
	[416] = "Range Not Satisfiable",
	[417] = "Expectation Failed",
	[421] = "Misdirected Request",
	[422] = "Unprocessable Content",
	[423] = "Locked",
	[424] = "Failed Dependency",
	[425] = "Too Early",
	[426] = "Upgrade Required",
	[428] = "Precondition Required",
	[429] = "Too Many Requests",
	[431] = "Request Header Fields Too Large",
	[451] = "Unavailable For Legal Reasons",
	[500] = "Internal Server Error",
	[501] = "Not Implemented",
	[502] = "Bad Gateway",
	[503] = "Service Unavailable",
	[504] = "Gateway Timeout",
	[505] = "HTTP Version Not Supported",
	[506] = "Variant Also Negotiates",
	[507] = "Insufficient Storage",
	[508] = "Loop Detected",
	[511] = "Network Authentication Required",
};

const char *http_reason(int status)
{
	if (status < 0 || (size_t)status >= sizeof(reasons) / sizeof(reasons[0]))
		return "Status";
	return reasons[status] ? reasons[status] : "Status";
}

void http_write_status(struct buf *out, int status)
{
	require(status >= 100);
	require(status <= 999);
	buf_append_str(out, STR("HTTP/1.1 "));
	buf_append_u64(out, (uint64_t)status);
	buf_append_byte(out, ' ');
	buf_append_str(out, str_from(http_reason(status)));
	buf_append_str(out, STR("\r\n"));
}

void http_write_field(struct buf *out, struct str name, struct str value)
{
	if (!http_is_token(name) || !http_is_field_value(value)) {
		out->is_spoiled = true;
		return;
	}
	buf_append_str(out, name);
	buf_append_str(out, STR(": "));
	buf_append_str(out, value);
	buf_append_str(out, STR("\r\n"));
}

void http_write_field_u64(struct buf *out, struct str name, uint64_t value)
{
	if (!http_is_token(name)) {
		out->is_spoiled = true;
		return;
	}
	buf_append_str(out, name);
	buf_append_str(out, STR(": "));
	buf_append_u64(out, value);
	buf_append_str(out, STR("\r\n"));
}

void http_write_head_end(struct buf *out)
{
	buf_append_str(out, STR("\r\n"));
}

void http_write_chunk_start(struct buf *out, size_t len)
{
	char digits[2 * sizeof(len)];
	size_t at = sizeof(digits);

	require(len > 0); /* it would be the last chunk */
	while (len > 0) {
		digits[--at] = "0123456789abcdef"[len & 15];
		len >>= 4;
	}
	buf_append(out, digits + at, sizeof(digits) - at);
	buf_append_str(out, STR("\r\n"));
}

void http_write_last_chunk(struct buf *out)
{
	buf_append_str(out, STR("0\r\n\r\n"));
}
