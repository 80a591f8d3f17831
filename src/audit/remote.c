/*
 * The exchange, by libcurl's easy interface (see remote.h).
 *
 * A handle for each: checkpoints are rare, and a connection that is kept would mostly be found
 * closed.
 */
#include "audit/remote.h"

#include "base/err.h"

#include <curl/curl.h>
#include <stdio.h>

struct receiving {
	struct buf *body;
	bool is_too_large;
};

bool remote_is_url(struct str text)
{
	return str_starts_with_nocase(text, STR("http://")) ||
	       str_starts_with_nocase(text, STR("https://"));
}

static size_t receive(char *bytes, size_t one, size_t count, void *state)
{
	struct receiving *receiving = state;

	if (buf_append(receiving->body, bytes, one * count) == 0)
		return one * count;
	receiving->is_too_large = true;
	return CURL_WRITEFUNC_ERROR;
}

static int may_go_on(void *state, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const atomic_bool *is_stopping = state;

	(void)a, (void)b, (void)c, (void)d;
	return atomic_load(is_stopping) ? 1 : 0;
}

static void set_bounds(CURL *easy, const struct remote_call *call)
{
	curl_easy_setopt(easy, CURLOPT_URL, call->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)REMOTE_CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)REMOTE_TOTAL_MS);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "counterfoil");
	if (call->is_stopping) {
		curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, may_go_on);
		curl_easy_setopt(easy, CURLOPT_XFERINFODATA, (void *)(uintptr_t)call->is_stopping);
	}
}

static void set_body(CURL *easy, const struct remote_call *call, struct curl_slist *fields)
{
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
	if (call->method == REMOTE_GET)
		return;
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body.at);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
	if (call->method == REMOTE_PUT)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PUT");
}

/* What libcurl keeps of a list it is given is the first item: a list that grows is lost with it. */
static struct curl_slist *make_fields(void)
{
	struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: text/plain");
	struct curl_slist *more = fields ? curl_slist_append(fields, "Expect:") : NULL;

	if (!more)
		curl_slist_free_all(fields);
	return more;
}

static int explain(CURLcode code, bool is_too_large, const char *said, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s",
		 is_too_large ? "its answer is too large"
		 : said[0]    ? said
			      : curl_easy_strerror(code));
	return is_too_large ? FAIL_LIMIT : fail(FAIL_IO);
}

static int perform(CURL *easy, struct remote_answer *answer, char *why, size_t why_size)
{
	struct receiving receiving = {.body = answer->body};
	char said[CURL_ERROR_SIZE] = "";
	const char *type = NULL;
	CURLcode code;

	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, said);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)&receiving);
	code = curl_easy_perform(easy);
	if (code != CURLE_OK)
		return explain(code, receiving.is_too_large, said, why, why_size);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
	snprintf(answer->type, sizeof(answer->type), "%s", type ? type : "");
	return 0;
}

int remote_ask(const struct remote_call *call, struct remote_answer *answer, char *why,
	       size_t why_size)
{
	CURL *easy = curl_easy_init();
	struct curl_slist *fields = make_fields();
	int r = FAIL_MEMORY;

	buf_clear(answer->body);
	if (easy && fields) {
		set_bounds(easy, call);
		set_body(easy, call, fields);
		r = perform(easy, answer, why, why_size);
	} else {
		snprintf(why, why_size, "there is no memory to ask");
		fail(r);
	}
	curl_slist_free_all(fields);
	curl_easy_cleanup(easy);
	return r;
}
