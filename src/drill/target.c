/*
 * One request on a thread of its own, through libcurl.
 *
 * The thread owns the handle from its start to its end; who began the call sees it only through
 * the few members under the mutex. "Sent" is what libcurl reports as written to the connection,
 * so it is true of bytes, not of intentions. Giving up shuts the socket down from outside, which
 * ends the transfer at once; the mutex keeps that from meeting a socket that was closed.
 *
 * Always true: a call makes one connection and sends its request at most once. Can fail: no
 * memory, no thread; whatever the other side does is an answer or the lack of one.
 */
#include "drill/target.h"

#include "base/buf.h"
#include "base/env.h"
#include "base/err.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CALL_STACK = 512 * 1024 };

struct target_call {
	/* set before the thread starts */
	struct arena mem;
	struct target_request request;
	struct curl_slist *lines;
	CURL *easy;
	pthread_t thread;

	/* the thread's own until it has ended */
	struct buf head, body;
	CURLcode code;
	long status;
	int64_t took_us;
	uint64_t body_sent;
	bool is_begun;	    /* a first byte has left */
	bool is_head_whole; /* the empty line after the final head has come */

	pthread_mutex_t mutex; /* of what follows */
	pthread_cond_t change;
	int socket; /* -1: none is open */
	bool is_given_up;
	bool is_sent, is_over;
};

static void *run(void *owner);
static bool prepare(struct target_call *call);
static void call_free(struct target_call *call);
static int collect(const struct target_call *call, struct arena *mem,
		   struct target_answer *out_answer);

static bool copy_request(struct target_call *call, const struct target_request *request)
{
	struct target_request *copy = &call->request;

	*copy = *request;
	copy->method = arena_str(&call->mem, request->method);
	copy->url = arena_str(&call->mem, request->url);
	copy->headers = arena_str(&call->mem, request->headers);
	copy->body = arena_str(&call->mem, request->body);
	copy->ca_file = arena_str(&call->mem, request->ca_file);
	return copy->method.at && copy->url.at && copy->headers.at && copy->body.at &&
	       copy->ca_file.at;
}

static void init_sync(pthread_mutex_t *mutex, pthread_cond_t *change)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(change, &attributes);
	pthread_condattr_destroy(&attributes);
}

static struct timespec in_ms(int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

static int start_thread(struct target_call *call)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, CALL_STACK);
	error = pthread_create(&call->thread, &attributes, run, call);
	pthread_attr_destroy(&attributes);
	return error == 0 ? 0 : fail_errno(FAIL_IO, error);
}

int target_begin(const struct target_request *request, struct target_call **out_call)
{
	struct target_call *call = calloc(1, sizeof(*call));
	int r;

	if (!call)
		return fail(FAIL_MEMORY);
	call->socket = -1;
	arena_init(&call->mem, TARGET_REQUEST_MAX);
	buf_init(&call->head, TARGET_HEAD_MAX);
	buf_init(&call->body, TARGET_BODY_MAX);
	init_sync(&call->mutex, &call->change);
	r = copy_request(call, request) && prepare(call) ? 0 : fail(FAIL_MEMORY);
	if (r == 0)
		r = start_thread(call);
	if (r == 0)
		*out_call = call;
	else
		call_free(call);
	return r;
}

bool target_wait_sent(struct target_call *call, int64_t timeout_ms)
{
	struct timespec until = in_ms(timeout_ms);
	bool is_sent;

	pthread_mutex_lock(&call->mutex);
	while (!call->is_sent && !call->is_over &&
	       pthread_cond_timedwait(&call->change, &call->mutex, &until) != ETIMEDOUT)
		;
	is_sent = call->is_sent;
	pthread_mutex_unlock(&call->mutex);
	return is_sent;
}

void target_give_up(struct target_call *call)
{
	pthread_mutex_lock(&call->mutex);
	call->is_given_up = true;
	if (call->socket >= 0)
		shutdown(call->socket, SHUT_RDWR);
	pthread_mutex_unlock(&call->mutex);
}

int target_finish(struct target_call *call, struct arena *mem, struct target_answer *out_answer)
{
	int r;

	require(pthread_join(call->thread, NULL) == 0);
	r = collect(call, mem, out_answer);
	call_free(call);
	return r;
}

int target_ask(const struct target_request *request, struct arena *mem,
	       struct target_answer *out_answer)
{
	struct target_call *call;
	int r = target_begin(request, &call);

	return r == 0 ? target_finish(call, mem, out_answer) : r;
}

static void call_free(struct target_call *call)
{
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->lines);
	buf_fini(&call->head);
	buf_fini(&call->body);
	arena_fini(&call->mem);
	pthread_cond_destroy(&call->change);
	pthread_mutex_destroy(&call->mutex);
	free(call);
}

/* -- a starting line ----------------------------------------------------------------- */

struct target_line {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	int missing;
};

struct target_line *target_line_new(int calls)
{
	struct target_line *line = calloc(1, sizeof(*line));

	if (!line)
		return NULL;
	line->missing = calls;
	init_sync(&line->mutex, &line->change);
	return line;
}

void target_line_free(struct target_line *line)
{
	if (!line)
		return;
	pthread_cond_destroy(&line->change);
	pthread_mutex_destroy(&line->mutex);
	free(line);
}

static void line_up(struct target_line *line)
{
	struct timespec until = in_ms(TARGET_LINE_MS);

	pthread_mutex_lock(&line->mutex);
	if (--line->missing <= 0)
		pthread_cond_broadcast(&line->change);
	while (line->missing > 0 &&
	       pthread_cond_timedwait(&line->change, &line->mutex, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&line->mutex);
}

/* -- the thread ---------------------------------------------------------------------- */

static void *run(void *owner)
{
	struct target_call *call = owner;
	int64_t began_us = env_monotonic_us(&env_machine);

	call->code = curl_easy_perform(call->easy);
	if (call->code == CURLE_OK && !call->is_head_whole)
		call->code = CURLE_PARTIAL_FILE; /* to libcurl, a head that breaks off is one */
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &call->status);
	call->took_us = env_monotonic_us(&env_machine) - began_us;
	pthread_mutex_lock(&call->mutex);
	call->is_over = true;
	pthread_cond_broadcast(&call->change);
	pthread_mutex_unlock(&call->mutex);
	return NULL;
}

static void tell_sent(struct target_call *call)
{
	pthread_mutex_lock(&call->mutex);
	call->is_sent = true;
	pthread_cond_broadcast(&call->change);
	pthread_mutex_unlock(&call->mutex);
}

static int on_debug(CURL *easy, curl_infotype type, char *bytes, size_t size, void *owner)
{
	struct target_call *call = owner;

	if (type != CURLINFO_HEADER_OUT && type != CURLINFO_DATA_OUT)
		return 0;
	call->is_begun = true;
	if (type == CURLINFO_DATA_OUT)
		call->body_sent += size;
	if (call->body_sent >= call->request.body.len)
		tell_sent(call);
	return 0;
}

/* A head of an interim answer is forgotten with the next status line. */
static size_t on_header(char *bytes, size_t size, size_t count, void *owner)
{
	struct target_call *call = owner;
	struct str line = str_of(bytes, size * count);
	size_t all = line.len;

	if (str_starts_with(line, STR("HTTP/"))) {
		buf_clear(&call->head);
		call->is_head_whole = false;
		return all;
	}
	while (line.len && (line.at[line.len - 1] == '\n' || line.at[line.len - 1] == '\r'))
		line.len--;
	if (line.len == 0) {
		call->is_head_whole = true;
		return all;
	}
	buf_append_str(&call->head, line);
	return buf_append_byte(&call->head, '\n') == 0 ? all : 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *owner)
{
	struct target_call *call = owner;

	return buf_append(&call->body, bytes, size * count) == 0 ? size * count : 0;
}

static int before_sending(void *owner, char *peer, char *own, int peer_port, int own_port)
{
	struct target_call *call = owner;

	if (call->request.line)
		line_up(call->request.line);
	return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open(void *owner, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct target_call *call = owner;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	pthread_mutex_lock(&call->mutex);
	if (call->is_given_up && fd >= 0) {
		close(fd);
		fd = -1;
	}
	call->socket = fd;
	pthread_mutex_unlock(&call->mutex);
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close(void *owner, curl_socket_t fd)
{
	struct target_call *call = owner;

	pthread_mutex_lock(&call->mutex);
	if (call->socket == fd)
		call->socket = -1;
	pthread_mutex_unlock(&call->mutex);
	return close(fd);
}

/* -- options ------------------------------------------------------------------------- */

static bool add_text(struct target_call *call, const char *text)
{
	struct curl_slist *lines = curl_slist_append(call->lines, text);

	if (lines)
		call->lines = lines;
	return lines;
}

static bool add_line(struct target_call *call, struct str line)
{
	size_t colon = str_find(line, ':');
	bool is_empty = str_trim(str_from_index(line, colon + 1)).len == 0;
	struct str text = is_empty ? arena_printf(&call->mem, "%.*s;", (int)colon, line.at)
				   : arena_str(&call->mem, line);

	return text.at && add_text(call, text.at);
}

/* "Expect:" and the like tell libcurl not to add them. */
static bool add_lines(struct target_call *call)
{
	static const char *const unwanted[] = {"Expect:", "Accept:", "User-Agent:"};
	struct str rest = call->request.headers, line;
	bool has_type = false;

	while (rest.len && str_split(&rest, '\n', &line)) {
		has_type = has_type || str_starts_with_nocase(line, STR("content-type:"));
		if (line.len && !add_line(call, line))
			return false;
	}
	for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++) {
		if (!add_text(call, unwanted[i]))
			return false;
	}
	return has_type || !call->request.has_body || add_text(call, "Content-Type:");
}

#define SET(option, value) require(curl_easy_setopt(call->easy, (option), (value)) == CURLE_OK)

static void set_watching(struct target_call *call)
{
	SET(CURLOPT_VERBOSE, 1L);
	SET(CURLOPT_DEBUGFUNCTION, on_debug);
	SET(CURLOPT_DEBUGDATA, call);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, call);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, call);
	SET(CURLOPT_PREREQFUNCTION, before_sending);
	SET(CURLOPT_PREREQDATA, call);
	SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
	SET(CURLOPT_OPENSOCKETDATA, call);
	SET(CURLOPT_CLOSESOCKETFUNCTION, on_close);
	SET(CURLOPT_CLOSESOCKETDATA, call);
}

static void set_request(struct target_call *call)
{
	const struct target_request *request = &call->request;

	SET(CURLOPT_URL, request->url.at);
	SET(CURLOPT_HTTPHEADER, call->lines);
	if (request->has_body) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
		SET(CURLOPT_POSTFIELDS, request->body.at);
	}
	SET(CURLOPT_CUSTOMREQUEST, request->method.at);
	SET(CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	SET(CURLOPT_SSL_VERIFYPEER, request->verify ? 1L : 0L);
	SET(CURLOPT_SSL_VERIFYHOST, request->verify ? 2L : 0L);
	if (request->ca_file.len)
		SET(CURLOPT_CAINFO, request->ca_file.at);
}

static bool prepare(struct target_call *call)
{
	call->easy = curl_easy_init();
	if (!call->easy || !add_lines(call))
		return false;
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_FRESH_CONNECT, 1L);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	set_watching(call);
	set_request(call);
	return true;
}

/* -- the answer ---------------------------------------------------------------------- */

static int collect(const struct target_call *call, struct arena *mem,
		   struct target_answer *out_answer)
{
	struct target_answer answer = {.took_us = call->took_us, .end = TARGET_ANSWERED};
	const char *why =
		call->is_given_up ? "the client went away" : curl_easy_strerror(call->code);

	answer.why = STR("");
	if (call->code == CURLE_OK) {
		answer.status = (int)call->status;
	} else {
		answer.end = call->is_begun ? TARGET_NO_ANSWER : TARGET_NOT_SENT;
		answer.why = arena_str(mem, str_from(why));
	}
	answer.headers = arena_str(mem, buf_str(&call->head));
	answer.body = arena_str(mem, buf_str(&call->body));
	if (!answer.headers.at || !answer.body.at || !answer.why.at)
		return fail(FAIL_MEMORY);
	*out_answer = answer;
	return 0;
}

struct str target_header(const struct target_answer *answer, struct str name)
{
	struct str rest = answer->headers, line;

	while (rest.len && str_split(&rest, '\n', &line)) {
		size_t colon = str_find(line, ':');

		if (colon < line.len && str_equal_nocase(str_of(line.at, colon), name))
			return str_trim(str_from_index(line, colon + 1));
	}
	return str_of(NULL, 0);
}
