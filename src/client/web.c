/*
 * Sending by libcurl, one handle for one request.
 *
 * Always true: CURLOPT_PREREQFUNCTION is called right before a request is written; what ended
 * before its first call certainly did not leave. A second call is refused.
 * Can fail: in the three ways that the answer tells; running out of memory before anything left is
 * one of the first.
 */
#include "client/web.h"

#include "base/err.h"
#include "http/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINE_MAX_BYTES = 16 * 1024, METHOD_TEXT_MAX = 64 };

/* One request under way. */
struct transfer {
	const struct web_request *request;
	struct web_answer *answer;
	CURL *easy;
	struct curl_slist *lines;
	char *url;
	unsigned sends;
	bool has_head; /* the empty line behind the final head has come */
	char error[CURL_ERROR_SIZE];
};

static bool set_up(struct transfer *transfer);
static void conclude(struct transfer *transfer, CURLcode code);
static CURLcode perform(CURL *easy);

void web_answer_init(struct web_answer *answer)
{
	*answer = (struct web_answer){.sending = SENDING_NEVER_LEFT};
	buf_init(&answer->headers, WEB_HEAD_MAX);
	buf_init(&answer->body, WEB_ANSWER_MAX);
}

void web_answer_fini(struct web_answer *answer)
{
	buf_fini(&answer->headers);
	buf_fini(&answer->body);
}

void web_ask(const struct web_request *request, struct web_answer *answer)
{
	struct transfer transfer = {.request = request, .answer = answer};
	CURLcode code = CURLE_OUT_OF_MEMORY;

	web_answer_fini(answer);
	web_answer_init(answer);
	if (set_up(&transfer))
		code = perform(transfer.easy);
	conclude(&transfer, code);
	curl_easy_cleanup(transfer.easy);
	curl_slist_free_all(transfer.lines);
	free(transfer.url);
}

/*
 * OpenSSL may write to a connection that has gone, and a signal that ends the process must not come
 * of it. Whoever wants signals keeps them: only this thread does not get that one now.
 */
static CURLcode perform(CURL *easy)
{
	const struct timespec now = {0};
	sigset_t pipe_only, before, pending;
	bool was_pending;
	CURLcode code;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	code = curl_easy_perform(easy);
	if (!was_pending)
		sigtimedwait(&pipe_only, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

static void conclude(struct transfer *transfer, CURLcode code)
{
	struct web_answer *answer = transfer->answer;
	long status = 0;

	if (transfer->easy)
		curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (int)status;
	/* libcurl takes the end of a connection inside the head for the head's end. */
	if (transfer->has_head && status >= 200 && status <= 599 &&
	    (code == CURLE_OK || answer->is_body_cut)) {
		answer->sending = SENDING_ANSWERED;
		return;
	}
	answer->sending = transfer->sends ? SENDING_UNCLEAR : SENDING_NEVER_LEFT;
	snprintf(answer->reason, sizeof(answer->reason), "%s",
		 code == CURLE_OK	      ? "the answer broke off in its head"
		 : answer->headers.is_spoiled ? "the answer's head is too large"
		 : *transfer->error	      ? transfer->error
					      : curl_easy_strerror(code));
}

static int before_sending(void *owner, char *peer, char *own, int peer_port, int own_port)
{
	struct transfer *transfer = owner;

	transfer->sends++;
	return transfer->sends > 1 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* Of the connection and its framing, not of the answer. */
static bool is_of_the_connection(struct str name)
{
	static const char *const names[] = {"Connection", "Keep-Alive",	     "Transfer-Encoding",
					    "Trailer",	  "Upgrade",	     "Content-Length",
					    "TE",	  "Proxy-Connection"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_equal_nocase(name, str_from(names[i])))
			return true;
	return false;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *owner)
{
	struct transfer *transfer = owner;
	struct buf *headers = &transfer->answer->headers;
	struct str line = str_of(bytes, size * count), name;

	while (line.len && (line.at[line.len - 1] == '\n' || line.at[line.len - 1] == '\r'))
		line.len--;
	name = str_of(line.at, str_find(line, ':'));
	if (str_starts_with(line, STR("HTTP/"))) {
		buf_clear(headers); /* of an interim answer, or the proxy's */
		transfer->has_head = false;
		return size * count;
	}
	if (transfer->has_head) /* a trailer: it says nothing that counts here */
		return size * count;
	transfer->has_head = line.len == 0;
	if (name.len < line.len && !is_of_the_connection(name)) {
		buf_append_str(headers, line);
		buf_append_byte(headers, '\n');
	}
	return headers->is_spoiled ? 0 : size * count;
}

static size_t on_data(char *bytes, size_t size, size_t count, void *owner)
{
	struct transfer *transfer = owner;

	if (buf_append(&transfer->answer->body, bytes, size * count) == 0)
		return size * count;
	transfer->answer->is_body_cut = true;
	return 0;
}

static bool append(struct transfer *transfer, const char *text)
{
	struct curl_slist *lines = curl_slist_append(transfer->lines, text);

	if (lines)
		transfer->lines = lines;
	return lines != NULL;
}

/* "Name: value" as it is; an empty value is "Name;" to libcurl, which would leave it out. */
static bool add_line(struct transfer *transfer, struct str line)
{
	char text[LINE_MAX_BYTES];
	size_t colon = str_find(line, ':');

	if (line.len >= sizeof(text))
		return false;
	memcpy(text, line.at, line.len);
	text[line.len] = '\0';
	if (colon < line.len && !str_trim(str_from_index(line, colon + 1)).len)
		memcpy(text + colon, ";", 2);
	return append(transfer, text);
}

/* The request's own lines, and none of those that libcurl would add by itself. */
static bool add_lines(struct transfer *transfer)
{
	struct str rest = transfer->request->headers, line;
	bool has_type = web_header(rest, STR("Content-Type")).len > 0;
	bool is_fine =
		append(transfer, "Expect:") && (has_type || append(transfer, "Content-Type:"));

	while (is_fine && str_split(&rest, '\n', &line)) {
		if (line.len && line.at[line.len - 1] == '\r')
			line.len--;
		is_fine = !line.len || add_line(transfer, line);
	}
	return is_fine;
}

#define SET(easy, option, value) (curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

static bool set_way(CURL *easy, const struct web_options *options)
{
	bool is_fine = SET(easy, CURLOPT_CONNECTTIMEOUT_MS,
			   (long)(options->connect_ms ? options->connect_ms : WEB_CONNECT_MS));

	if (options->proxy)
		is_fine &= SET(easy, CURLOPT_PROXY, options->proxy);
	if (options->no_proxy)
		is_fine &= SET(easy, CURLOPT_NOPROXY, options->no_proxy);
	if (options->ca_file)
		is_fine &= SET(easy, CURLOPT_CAINFO, options->ca_file);
	if (options->certificate)
		is_fine &= SET(easy, CURLOPT_SSLCERT, options->certificate);
	if (options->key)
		is_fine &= SET(easy, CURLOPT_SSLKEY, options->key);
	if (options->is_insecure)
		is_fine &= SET(easy, CURLOPT_SSL_VERIFYPEER, 0L) &&
			   SET(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	return is_fine;
}

static bool set_body(CURL *easy, const struct web_request *request)
{
	if (!request->has_body && str_equal(request->method, STR("GET")))
		return true;
	return SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len) &&
	       SET(easy, CURLOPT_POSTFIELDS, request->body.len ? request->body.at : "");
}

static bool set_up(struct transfer *transfer)
{
	const struct web_request *request = transfer->request;
	char method[METHOD_TEXT_MAX];
	CURL *easy = transfer->easy = curl_easy_init();

	transfer->url = strndup(request->url.at, request->url.len);
	if (!easy || !transfer->url || request->method.len >= sizeof(method) ||
	    !add_lines(transfer))
		return false;
	memcpy(method, request->method.at, request->method.len);
	method[request->method.len] = '\0';
	return SET(easy, CURLOPT_URL, transfer->url) &&
	       SET(easy, CURLOPT_PROTOCOLS_STR, "http,https") && set_body(easy, request) &&
	       SET(easy, CURLOPT_CUSTOMREQUEST, method) &&
	       SET(easy, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L) &&
	       SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
	       SET(easy, CURLOPT_NOSIGNAL, 1L) && SET(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
	       SET(easy, CURLOPT_PATH_AS_IS, 1L) && SET(easy, CURLOPT_FRESH_CONNECT, 1L) &&
	       SET(easy, CURLOPT_FORBID_REUSE, 1L) &&
	       SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L) &&
	       SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) &&
	       SET(easy, CURLOPT_HTTPHEADER, transfer->lines) &&
	       SET(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms) &&
	       SET(easy, CURLOPT_ERRORBUFFER, transfer->error) &&
	       SET(easy, CURLOPT_HEADERFUNCTION, on_header) &&
	       SET(easy, CURLOPT_HEADERDATA, transfer) &&
	       SET(easy, CURLOPT_WRITEFUNCTION, on_data) &&
	       SET(easy, CURLOPT_WRITEDATA, transfer) &&
	       SET(easy, CURLOPT_PREREQFUNCTION, before_sending) &&
	       SET(easy, CURLOPT_PREREQDATA, transfer) && set_way(easy, request->options);
}

struct str web_header(struct str headers, struct str name)
{
	struct str line;

	while (str_split(&headers, '\n', &line)) {
		if (line.len > name.len && line.at[name.len] == ':' &&
		    str_equal_nocase(str_of(line.at, name.len), name)) {
			line = str_from_index(line, name.len + 1);
			if (line.len && line.at[line.len - 1] == '\r')
				line.len--;
			return str_trim(line);
		}
	}
	return STR("");
}
