/*
 * libcounterfoil: the calls of include/counterfoil.h over client/journal.h and client/delivery.h.
 *
 * Always true: a request owns copies of all it was given, a result all it gives; the request of a
 * caller is only read while it is sent. Can fail: as the header says; the sentence is kept for the
 * thread that called.
 */
#include "counterfoil.h"

#include "base/err.h"
#include "base/terminal.h"
#include "client/delivery.h"
#include "client/result_json.h"
#include "core/token.h"
#include "http/http.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	LIBRARY_HEADERS_MAX = 64 * 1024,
	LIBRARY_BODY_MAX = 64 * 1024 * 1024,
	LIBRARY_JSON_MAX = 1024 * 1024 * 1024,
	LIBRARY_TIME_MAX = 24 * 60 * 60 * 1000, /* milliseconds */
	LIBRARY_AGE_MAX_S = 10 * 365 * 24 * 60 * 60,
	LIBRARY_TOKEN_MEMORY = 1024 * 1024,
	LIBRARY_FLAGS = COUNTERFOIL_NEW | COUNTERFOIL_HONOURS_KEY | COUNTERFOIL_SAME_ACCOUNT |
			COUNTERFOIL_INSECURE
};

_Static_assert((int)COUNTERFOIL_TOKEN_SIZE > (int)TOKEN_MAX,
	       "a token has room in what callers give");

/* Texts of a request, each a copy of its own, or NULL. */
enum library_text {
	TEXT_METHOD,
	TEXT_URL,
	TEXT_TASK,
	TEXT_STEP,
	TEXT_TOKEN,
	TEXT_MEDIA_TYPE,
	TEXT_OUTPUT,
	TEXT_CA_FILE,
	TEXT_CERTIFICATE,
	TEXT_KEY,
	TEXT_PROXY,
	TEXT_NO_PROXY,
	TEXTS
};

struct counterfoil_journal {
	struct journal *open;
};

struct counterfoil_request {
	char *texts[TEXTS];
	struct buf headers; /* lines, without the Content-Type */
	struct buf body;
	bool has_body;
	unsigned flags;
	long wait_ms, timeout_ms;
	long connect_ms; /* 0: nobody has said */
};

struct counterfoil_result {
	struct arena mem;
	struct delivery_result told;
	struct buf json; /* empty: not asked for yet */
};

static _Thread_local struct journal_error last_error;

/*
 * env_machine keeps random bytes for later, which a forked child would draw again: two new actions
 * with one token. Programs of others fork as they like.
 */
static void draw(const struct env *env, void *out, size_t len)
{
	randombytes_buf(out, len);
}

/* Like env_machine otherwise; set once, by whoever opens a journal first. */
static struct env library_env;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void set_env(void)
{
	library_env = env_machine;
	library_env.random = draw;
}

typedef int (*library_delivery)(struct journal *journal, const struct delivery_request *request,
				struct arena *mem, struct delivery_result *out_result,
				struct journal_error *err);

static int deliver(counterfoil_journal *journal, const counterfoil_request *request,
		   library_delivery way, counterfoil_result **out_result);
static int read_request(const counterfoil_request *from, struct arena *mem,
			struct delivery_request *out_request);

int counterfoil_send(counterfoil_journal *journal, const counterfoil_request *request,
		     counterfoil_result **out_result)
{
	return deliver(journal, request, delivery_send, out_result);
}

int counterfoil_resolve(counterfoil_journal *journal, const counterfoil_request *request,
			counterfoil_result **out_result)
{
	return deliver(journal, request, delivery_resolve, out_result);
}

const char *counterfoil_version(void)
{
	return COUNTERFOIL_VERSION;
}

const char *counterfoil_error(void)
{
	return last_error.text;
}

/* -- what went wrong ----------------------------------------------------------------- */

static int refuse(const char *why)
{
	snprintf(last_error.text, sizeof(last_error.text), "%s", why);
	return COUNTERFOIL_REFUSED;
}

static int no_memory(void)
{
	refuse("there is not enough memory");
	return COUNTERFOIL_NO_MEMORY;
}

/* The caller's code for what the journal or a delivery returned, whose sentence is there. */
static int explain(int r)
{
	switch (r) {
	case 0:
		return COUNTERFOIL_OK;
	case JOURNAL_REFUSED:
	case DELIVERY_REFUSED:
		return COUNTERFOIL_REFUSED;
	case JOURNAL_BUSY:
		return COUNTERFOIL_BUSY;
	case JOURNAL_NONE:
		return COUNTERFOIL_NONE;
	case FAIL_MEMORY:
		return no_memory();
	default:
		return COUNTERFOIL_UNRECORDED;
	}
}

/* -- the journal --------------------------------------------------------------------- */

int counterfoil_journal_open(const char *path, counterfoil_journal **out_journal)
{
	counterfoil_journal *journal = calloc(1, sizeof(*journal));
	int r;

	*out_journal = NULL;
	if (!journal)
		return no_memory();
	pthread_once(&library_once, set_env);
	r = journal_open(path, &library_env, &journal->open, &last_error);
	if (r != 0) {
		free(journal);
		return explain(r);
	}
	*out_journal = journal;
	return COUNTERFOIL_OK;
}

void counterfoil_journal_close(counterfoil_journal *journal)
{
	if (journal)
		journal_close(journal->open);
	free(journal);
}

int counterfoil_journal_prune(counterfoil_journal *journal, long older_seconds,
			      unsigned long *out_count)
{
	uint64_t count = 0;
	int r;

	if (older_seconds < 1 || older_seconds > LIBRARY_AGE_MAX_S)
		return refuse("an age is 1 to 315360000 seconds");
	r = explain(journal_prune(journal->open,
				  env_wall_ms(&library_env) - (int64_t)older_seconds * 1000, &count,
				  &last_error));
	if (r == COUNTERFOIL_OK && out_count)
		*out_count = (unsigned long)count;
	return r;
}

/* -- a request ----------------------------------------------------------------------- */

/* NULL takes the text away. */
static int set_text(counterfoil_request *request, enum library_text which, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return no_memory();
	free(request->texts[which]);
	request->texts[which] = copy;
	return COUNTERFOIL_OK;
}

counterfoil_request *counterfoil_request_new(const char *method, const char *url)
{
	counterfoil_request *request = calloc(1, sizeof(*request));

	if (!request) {
		no_memory();
		return NULL;
	}
	buf_init(&request->headers, LIBRARY_HEADERS_MAX);
	buf_init(&request->body, LIBRARY_BODY_MAX);
	request->wait_ms = DELIVERY_WAIT_MS;
	request->timeout_ms = DELIVERY_REQUEST_MS;
	if (set_text(request, TEXT_METHOD, method) == COUNTERFOIL_OK &&
	    set_text(request, TEXT_URL, url) == COUNTERFOIL_OK)
		return request;
	counterfoil_request_free(request);
	return NULL;
}

void counterfoil_request_free(counterfoil_request *request)
{
	if (!request)
		return;
	for (size_t i = 0; i < TEXTS; i++)
		free(request->texts[i]);
	buf_fini_wiped(&request->headers);
	buf_fini(&request->body);
	free(request);
}

int counterfoil_request_set_step(counterfoil_request *request, const char *task, const char *step)
{
	char *task_copy = task ? strdup(task) : NULL;

	if (task && !task_copy)
		return no_memory();
	if (set_text(request, TEXT_STEP, step) != COUNTERFOIL_OK) {
		free(task_copy);
		return COUNTERFOIL_NO_MEMORY;
	}
	free(request->texts[TEXT_TASK]);
	request->texts[TEXT_TASK] = task_copy;
	return COUNTERFOIL_OK;
}

int counterfoil_request_set_token(counterfoil_request *request, const char *token)
{
	return set_text(request, TEXT_TOKEN, token);
}

int counterfoil_request_add_header(counterfoil_request *request, const char *name,
				   const char *value)
{
	struct buf line;
	int r;

	if (!http_is_token(str_from(name)) || !http_is_field_value(str_from(value)))
		return refuse("a header has a name of letters, digits and dashes, and a value "
			      "without line breaks");
	if (str_equal_nocase(str_from(name), STR("Content-Type")))
		return refuse("the Content-Type goes with the body: "
			      "counterfoil_request_set_body()");
	buf_init(&line, LIBRARY_HEADERS_MAX);
	buf_printf(&line, "%s: %s\r\n", name, value);
	r = line.is_spoiled || request->headers.len + line.len > LIBRARY_HEADERS_MAX
		    ? refuse("the headers are too long")
		    : COUNTERFOIL_OK;
	if (r == COUNTERFOIL_OK && buf_append_str(&request->headers, buf_str(&line)) != 0)
		r = no_memory();
	buf_fini_wiped(&line);
	return r;
}

int counterfoil_request_set_body(counterfoil_request *request, const char *media_type,
				 const void *body, size_t length)
{
	struct buf copy;
	int r;

	if (length > LIBRARY_BODY_MAX)
		return refuse("a body has 64 MiB at most");
	if (media_type && !http_is_field_value(str_from(media_type)))
		return refuse("a media type has no line breaks");
	buf_init(&copy, LIBRARY_BODY_MAX);
	r = length && buf_append(&copy, body, length) != 0 ? no_memory() : COUNTERFOIL_OK;
	if (r == COUNTERFOIL_OK)
		r = set_text(request, TEXT_MEDIA_TYPE, media_type);
	if (r != COUNTERFOIL_OK) {
		buf_fini(&copy);
		return r;
	}
	buf_fini(&request->body);
	request->body = copy;
	request->has_body = true;
	return COUNTERFOIL_OK;
}

int counterfoil_request_set_output(counterfoil_request *request, const char *path)
{
	return set_text(request, TEXT_OUTPUT, path);
}

int counterfoil_request_set_tls(counterfoil_request *request, const char *ca_file,
				const char *certificate, const char *key)
{
	const char *const given[] = {ca_file, certificate, key};
	char *copies[3];
	bool is_whole = true;

	for (int i = 0; i < 3; i++) {
		copies[i] = given[i] ? strdup(given[i]) : NULL;
		is_whole = is_whole && (copies[i] || !given[i]);
	}
	for (int i = 0; i < 3; i++) {
		char **text = &request->texts[TEXT_CA_FILE + i];

		free(is_whole ? *text : copies[i]);
		if (is_whole)
			*text = copies[i];
	}
	return is_whole ? COUNTERFOIL_OK : no_memory();
}

int counterfoil_request_set_proxy(counterfoil_request *request, const char *proxy)
{
	return set_text(request, TEXT_PROXY, proxy);
}

int counterfoil_request_set_no_proxy(counterfoil_request *request, const char *hosts)
{
	return set_text(request, TEXT_NO_PROXY, hosts);
}

int counterfoil_request_set_flags(counterfoil_request *request, unsigned flags)
{
	if (flags & ~(unsigned)LIBRARY_FLAGS)
		return refuse("there is no such flag");
	request->flags = flags;
	return COUNTERFOIL_OK;
}

int counterfoil_request_set_times(counterfoil_request *request, long wait, long timeout)
{
	if (wait < 0 || wait > LIBRARY_TIME_MAX || timeout < 1 || timeout > LIBRARY_TIME_MAX)
		return refuse("a wait is 0 to 86400000 milliseconds, a timeout 1 to 86400000");
	request->wait_ms = wait;
	request->timeout_ms = timeout;
	return COUNTERFOIL_OK;
}

int counterfoil_request_set_connect_timeout(counterfoil_request *request, long timeout)
{
	if (timeout < 1 || timeout > LIBRARY_TIME_MAX)
		return refuse("a timeout is 1 to 86400000 milliseconds");
	request->connect_ms = timeout;
	return COUNTERFOIL_OK;
}

/* -- from a request to what is delivered --------------------------------------------- */

static struct str text_of(const counterfoil_request *request, enum library_text which)
{
	return request->texts[which] ? str_from(request->texts[which]) : STR("");
}

static int read_request(const counterfoil_request *from, struct arena *mem,
			struct delivery_request *out_request)
{
	struct step wish = {.task = text_of(from, TEXT_TASK),
			    .step = text_of(from, TEXT_STEP),
			    .method = text_of(from, TEXT_METHOD),
			    .url = text_of(from, TEXT_URL),
			    .token = text_of(from, TEXT_TOKEN)};
	const char *media_type = from->texts[TEXT_MEDIA_TYPE], *why = "";
	int r;

	*out_request = (struct delivery_request){
		.is_new = (from->flags & COUNTERFOIL_NEW) != 0,
		.honours_key = (from->flags & COUNTERFOIL_HONOURS_KEY) != 0,
		.same_account = (from->flags & COUNTERFOIL_SAME_ACCOUNT) != 0,
		.body = buf_str(&from->body),
		.has_body = from->has_body,
		.wait_ms = from->wait_ms,
		.request_ms = from->timeout_ms,
		.output = from->texts[TEXT_OUTPUT],
		.web = {.proxy = from->texts[TEXT_PROXY],
			.no_proxy = from->texts[TEXT_NO_PROXY],
			.ca_file = from->texts[TEXT_CA_FILE],
			.certificate = from->texts[TEXT_CERTIFICATE],
			.key = from->texts[TEXT_KEY],
			.is_insecure = (from->flags & COUNTERFOIL_INSECURE) != 0,
			.connect_ms = from->connect_ms},
	};
	out_request->headers = arena_printf(mem, "%.*s%s%s%s", STR_ARG(buf_str(&from->headers)),
					    media_type ? "Content-Type: " : "",
					    media_type ? media_type : "", media_type ? "\r\n" : "");
	if (!out_request->headers.at)
		return no_memory();
	r = step_read(&wish, mem, &out_request->step, &why);
	if (r == IDENTITY_REFUSED)
		return refuse(why);
	return r == 0 ? COUNTERFOIL_OK : no_memory();
}

int counterfoil_token(counterfoil_journal *journal, const counterfoil_request *request,
		      char *out_token, size_t size)
{
	struct delivery_request wish;
	struct journal_entry entry;
	struct arena mem;
	int r;

	if (size < COUNTERFOIL_TOKEN_SIZE)
		return refuse("a token needs room for COUNTERFOIL_TOKEN_SIZE characters");
	arena_init(&mem, LIBRARY_TOKEN_MEMORY);
	r = read_request(request, &mem, &wish);
	if (r == COUNTERFOIL_OK)
		r = explain(journal_token(journal->open, &wish.step, wish.is_new, &mem, &entry,
					  &last_error));
	if (r == COUNTERFOIL_OK)
		snprintf(out_token, size, "%.*s", STR_ARG(entry.step.token));
	arena_fini(&mem);
	return r;
}

/* Every text of a result with a NUL after it, in its own memory. */
static bool keep_texts(counterfoil_result *result)
{
	struct delivery_result *told = &result->told;
	struct str *const texts[] = {
		&told->outcome,	       &told->step.token,  &told->operation,
		&told->answer.headers, &told->answer.body, &told->answer.body_file,
		&told->difference,     &told->advice,	   &told->reason};
	bool is_whole = true;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i] = arena_str(&result->mem, *texts[i]);
		is_whole = is_whole && texts[i]->at;
	}
	return is_whole;
}

static int deliver(counterfoil_journal *journal, const counterfoil_request *request,
		   library_delivery way, counterfoil_result **out_result)
{
	counterfoil_result *result = calloc(1, sizeof(*result));
	struct delivery_request wish;
	int r;

	*out_result = NULL;
	if (!result)
		return no_memory();
	arena_init(&result->mem, DELIVERY_MEMORY_MAX);
	buf_init(&result->json, LIBRARY_JSON_MAX);
	r = read_request(request, &result->mem, &wish);
	if (r == COUNTERFOIL_OK)
		r = explain(way(journal->open, &wish, &result->mem, &result->told, &last_error));
	if (r == COUNTERFOIL_OK && !keep_texts(result))
		r = no_memory();
	if (r == COUNTERFOIL_OK)
		*out_result = result;
	else
		counterfoil_result_free(result);
	return r;
}

/* -- a result ------------------------------------------------------------------------ */

void counterfoil_result_free(counterfoil_result *result)
{
	if (!result)
		return;
	arena_fini(&result->mem);
	buf_fini(&result->json);
	free(result);
}

const char *counterfoil_result_outcome(const counterfoil_result *result)
{
	return result->told.outcome.at;
}

const char *counterfoil_result_state(const counterfoil_result *result)
{
	return entry_state_text(result->told.state);
}

const char *counterfoil_result_advice(const counterfoil_result *result)
{
	return result->told.advice.at;
}

const char *counterfoil_result_token(const counterfoil_result *result)
{
	return result->told.step.token.at;
}

const char *counterfoil_result_operation(const counterfoil_result *result)
{
	return result->told.operation.at;
}

const char *counterfoil_result_difference(const counterfoil_result *result)
{
	return result->told.difference.at;
}

const char *counterfoil_result_reason(const counterfoil_result *result)
{
	return result->told.reason.at;
}

const char *counterfoil_result_source(const counterfoil_result *result)
{
	return result->told.source;
}

const char *counterfoil_result_headers(const counterfoil_result *result)
{
	return result->told.answer.headers.at;
}

const char *counterfoil_result_body_file(const counterfoil_result *result)
{
	return result->told.answer.body_file.at;
}

const char *counterfoil_result_body(const counterfoil_result *result, size_t *out_length)
{
	const struct kept_answer *answer = &result->told.answer;
	bool is_here = answer->has_body && !answer->body_file.len;

	*out_length = is_here ? answer->body.len : 0;
	return is_here ? answer->body.at : NULL;
}

const char *counterfoil_result_json(counterfoil_result *result)
{
	struct json_writer json;
	struct buf text;

	if (result->json.len)
		return result->json.at;
	buf_clear(&result->json);
	buf_init(&text, LIBRARY_JSON_MAX);
	json_writer_init(&json, &text);
	result_json_write(&json, &result->told);
	terminal_append_json(&result->json, buf_str(&text));
	buf_append_byte(&result->json, '\0');
	if (text.is_spoiled || result->json.is_spoiled) {
		buf_clear(&result->json);
		no_memory();
	}
	buf_fini(&text);
	return result->json.len ? result->json.at : NULL;
}

long counterfoil_result_after_seconds(const counterfoil_result *result)
{
	return (long)result->told.after_s;
}

int counterfoil_result_status(const counterfoil_result *result)
{
	return (int)result->told.answer.status;
}

long counterfoil_result_attempts(const counterfoil_result *result)
{
	return (long)result->told.attempts;
}

int counterfoil_result_is_gate(const counterfoil_result *result)
{
	return result->told.is_gate;
}
