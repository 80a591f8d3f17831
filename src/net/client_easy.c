/*
 * A call and its easy handle: the options, the header lines, and what libcurl asks and tells.
 *
 * Handles are kept and used again: their fixed options are set once, a call sets only what is its
 * own. CURLOPT_PREREQFUNCTION runs each time a request is about to be written to a connection;
 * what that is good for is told in client.c. Heads of answers are read in http/answer.h.
 */
#include "net/client_internal.h"

#include "base/err.h"
#include "http/http.h"

#include <stdlib.h>

enum {
	CALL_RECEIVE_BUFFER = CALL_PIECE_MAX,
	METHOD_MAX = 64,	/* bytes, with a NUL */
	TARGET_MAX = 16 * 1024, /* the same, with the upstream's own path */
	ADDED_BY_LIBCURL = 4,
};

/* Refused: the transfer ends with an error, and so as one that is unclear. */
static size_t on_header(char *bytes, size_t size, size_t count, void *owner)
{
	struct call *call = owner;
	struct str line = str_of(bytes, size * count);

	switch (http_answer_line(&call->answer, line)) {
	case HTTP_REFUSED:
		return 0;
	case HTTP_ANSWER_WHOLE:
		call->events->head(call);
		return line.len;
	default:
		return line.len;
	}
}

static size_t on_data(char *bytes, size_t size, size_t count, void *owner)
{
	struct call *call = owner;

	if (!call->answer.is_whole)
		return 0; /* libcurl took something for the final head that was none */
	if (!call->events->data(call, str_of(bytes, size * count))) {
		call->is_paused_in = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	return size * count;
}

static size_t on_body_wanted(char *out, size_t size, size_t count, void *owner)
{
	struct call *call = owner;
	ssize_t n = call->events->body(call, out, size * count);

	if (n > 0)
		return (size_t)n;
	if (n == CALL_BODY_END)
		return 0;
	if (n == CALL_BODY_BROKEN)
		return CURL_READFUNC_ABORT;
	call->is_paused_out = true;
	return CURL_READFUNC_PAUSE;
}

static int before_sending(void *owner, char *peer, char *own, int peer_port, int own_port)
{
	struct call *call = owner;

	call->sends++;
	return call->sends > 1 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

#define SET(easy, option, value) require(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

static void set_fixed(CURL *easy, const struct client *client)
{
	SET(easy, CURLOPT_URL, client->url);
	SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(easy, CURLOPT_PROXY, "");
	SET(easy, CURLOPT_NOSIGNAL, 1L);
	SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
	SET(easy, CURLOPT_PATH_AS_IS, 1L);
	SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(easy, CURLOPT_BUFFERSIZE, (long)CALL_RECEIVE_BUFFER);
	SET(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)CALL_RECEIVE_BUFFER);
	SET(easy, CURLOPT_MAXAGE_CONN, (long)CALL_IDLE_CONNECTION_S);
	SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)client->settings.connect_timeout_ms);
	SET(easy, CURLOPT_SSL_VERIFYPEER, client->settings.verify ? 1L : 0L);
	SET(easy, CURLOPT_SSL_VERIFYHOST, client->settings.verify ? 2L : 0L);
	if (client->ca_file)
		SET(easy, CURLOPT_CAINFO, client->ca_file);
	SET(easy, CURLOPT_HEADERFUNCTION, on_header);
	SET(easy, CURLOPT_WRITEFUNCTION, on_data);
	SET(easy, CURLOPT_READFUNCTION, on_body_wanted);
	SET(easy, CURLOPT_PREREQFUNCTION, before_sending);
	SET(easy, CURLOPT_OPENSOCKETFUNCTION, client_socket_open);
	SET(easy, CURLOPT_OPENSOCKETDATA, (void *)(uintptr_t)client);
	SET(easy, CURLOPT_CLOSESOCKETFUNCTION, client_socket_closed);
	SET(easy, CURLOPT_CLOSESOCKETDATA, (void *)(uintptr_t)client);
}

CURL *client_take_handle(struct client *client)
{
	CURL *easy;

	if (client->spare_count)
		return client->spare[--client->spare_count];
	easy = curl_easy_init();
	if (easy)
		set_fixed(easy, client);
	return easy;
}

void client_put_handle(struct client *client, CURL *easy)
{
	if (client->spare_count == CLIENT_SPARE_HANDLES) {
		curl_easy_cleanup(easy);
		return;
	}
	client->spare[client->spare_count++] = easy;
}

void client_drop_handles(struct client *client)
{
	while (client->spare_count)
		curl_easy_cleanup(client->spare[--client->spare_count]);
}

static size_t count_lines(struct str text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] == '\n';
	return count;
}

/* Ends the field's line in `copy` where its value ends; an empty one is written "Name;". */
static char *cut_line(char *copy, struct str text, const struct http_field *field)
{
	char *name = copy + (field->name.at - text.at);

	if (field->value.len)
		copy[field->value.at + field->value.len - text.at] = '\0';
	else
		memcpy(name + field->name.len, ";", 2);
	return name;
}

static struct curl_slist *add_node(struct curl_slist *node, const char *text)
{
	node->data = (char *)(uintptr_t)text;
	node->next = node + 1;
	return node + 1;
}

/*
 * The caller's fields as libcurl's list, and with them the fields that libcurl would otherwise
 * add by itself, without a value, which keeps them out. One piece of memory holds nodes and
 * text; libcurl only reads them.
 */
static bool build_lines(struct call *call)
{
	static const struct str added[ADDED_BY_LIBCURL] = {
		{"Accept:", 6}, {"Content-Type:", 12}, {"User-Agent:", 10}, {"Expect:", 6}};
	bool is_given[ADDED_BY_LIBCURL] = {false};
	size_t room = count_lines(call->headers) + ADDED_BY_LIBCURL;
	struct curl_slist *nodes = malloc(room * sizeof(*nodes) + call->headers.len + 2);
	struct curl_slist *next = nodes;
	struct str rest = call->headers;
	struct http_field field;
	char *copy;

	if (!nodes)
		return false;
	copy = (char *)(nodes + room);
	memcpy(copy, call->headers.at, call->headers.len);
	while (http_next_line(&rest, &field)) {
		for (size_t i = 0; i < ADDED_BY_LIBCURL; i++)
			is_given[i] |= str_equal_nocase(field.name, added[i]);
		next = add_node(next, cut_line(copy, call->headers, &field));
	}
	for (size_t i = 0; i < ADDED_BY_LIBCURL; i++) {
		if (!is_given[i])
			next = add_node(next, added[i].at);
	}
	if (next == nodes) {
		free(nodes);
		return true;
	}
	next[-1].next = NULL;
	call->lines = nodes;
	return true;
}

static void set_body(CURL *easy, const struct call *call)
{
	SET(easy, CURLOPT_POSTFIELDS, NULL);
	SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
	SET(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)-1);
	SET(easy, CURLOPT_HTTPGET, 1L);
	if (call->is_streamed) {
		SET(easy, CURLOPT_UPLOAD, 1L);
		SET(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->body_length);
		SET(easy, CURLOPT_READDATA, call);
	} else if (call->has_body) {
		SET(easy, CURLOPT_POST, 1L);
		SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
		SET(easy, CURLOPT_POSTFIELDS, call->body.len ? call->body.at : "");
	}
	if (str_equal(call->method, STR("HEAD")))
		SET(easy, CURLOPT_NOBODY, 1L);
}

void call_set_times(struct call *call, bool as_a_whole)
{
	CURL *easy = call->easy;
	int64_t waited_ms = (env_monotonic_us(call->client->loop->env) - call->began_us) / 1000;
	int64_t ms = call_timeout_ms(call) - waited_ms;

	if (ms < 1)
		ms = 1;
	SET(easy, CURLOPT_TIMEOUT_MS, as_a_whole ? (long)ms : 0L);
	SET(easy, CURLOPT_LOW_SPEED_LIMIT, as_a_whole ? 0L : 1L);
	SET(easy, CURLOPT_LOW_SPEED_TIME, as_a_whole ? 0L : (long)((ms + 999) / 1000));
}

/* Both, and a NUL. False: no room. */
static bool join(char *out, size_t size, struct str first, struct str second)
{
	int len = snprintf(out, size, "%.*s%.*s", STR_ARG(first), STR_ARG(second));

	return len >= 0 && (size_t)len < size;
}

bool call_set_request(struct call *call)
{
	CURL *easy = call->easy;
	struct str base = call->client->settings.base_path;
	char method[METHOD_MAX], target[TARGET_MAX];

	if (!str_starts_with(call->target, STR("/")))
		base = STR(""); /* "*" has no path before it */
	if (!build_lines(call) || !join(method, sizeof(method), STR(""), call->method) ||
	    !join(target, sizeof(target), base, call->target))
		return false;
	set_body(easy, call);
	call_set_times(call, call->has_total_timeout);
	SET(easy, CURLOPT_CUSTOMREQUEST, method);
	SET(easy, CURLOPT_REQUEST_TARGET, target);
	SET(easy, CURLOPT_HTTPHEADER, call->lines);
	SET(easy, CURLOPT_HEADERDATA, call);
	SET(easy, CURLOPT_WRITEDATA, call);
	SET(easy, CURLOPT_PREREQDATA, call);
	SET(easy, CURLOPT_PRIVATE, call);
	SET(easy, CURLOPT_ERRORBUFFER, call->error);
	return true;
}
