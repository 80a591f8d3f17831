/*
 * Verdicts, events, strands and attempts.
 *
 * Memory of a case is the bench's and dies with it; what is reported is copied into the report's
 * arena. Events come from several threads, so they are added under a mutex and have an arena's
 * ceiling and a number as their bounds.
 */
#include "drill/bench.h"

#include "base/env.h"
#include "base/err.h"
#include "config/values.h"
#include "drill/count.h"
#include "drill/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
	KEY_RANDOM = 6, /* bytes drawn for a key */
	RETRY_FIRST_MS = 50,
	RETRY_MAX_MS = 1000,
	KEY_SHOWN = 48, /* bytes of a key in an event */
};

/* -- verdicts ------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 0))) static void
give_verdict(struct bench *bench, enum drill_verdict verdict, const char *format, va_list arguments)
{
	char text[BENCH_TEXT_MAX];

	if (bench->is_judged)
		return;
	bench->is_judged = true;
	vsnprintf(text, sizeof(text), format, arguments);
	bench->result->verdict = verdict;
	pthread_mutex_lock(&bench->mutex);
	bench->result->seen = arena_str(bench->out, str_from(text));
	pthread_mutex_unlock(&bench->mutex);
	if (!bench->result->seen.at)
		bench->result->seen = STR("(no memory left to say more)");
}

void bench_pass(struct bench *bench, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	give_verdict(bench, DRILL_PASS, format, arguments);
	va_end(arguments);
}

bool bench_fail(struct bench *bench, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	give_verdict(bench, DRILL_FAIL, format, arguments);
	va_end(arguments);
	return false;
}

bool bench_error(struct bench *bench, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	give_verdict(bench, DRILL_ERROR, format, arguments);
	va_end(arguments);
	return false;
}

bool bench_not_applicable(struct bench *bench, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	give_verdict(bench, DRILL_NOT_APPLICABLE, format, arguments);
	va_end(arguments);
	return false;
}

static bool no_memory(struct bench *bench)
{
	return bench_error(bench, "the drill has no memory left");
}

void bench_event(struct bench *bench, enum drill_move move, int lane, const char *format, ...)
{
	int64_t at_us = env_monotonic_us(&env_machine) - bench->began_us;
	char text[BENCH_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&bench->mutex);
	drill_event_add(bench->result, bench->out, at_us, move, lane, "%s", text);
	pthread_mutex_unlock(&bench->mutex);
}

/* -- strands ------------------------------------------------------------------------- */

static bool name_strand(struct bench *bench, struct strand *strand)
{
	char hex[KEY_RANDOM * 2];
	uint8_t random[KEY_RANDOM];

	env_random(&env_machine, random, sizeof(random));
	hex_write(random, sizeof(random), hex);
	bench->strands++;
	strand->names = (struct names){.run = bench->run, .test_case = bench->test_case};
	strand->names.marker = arena_printf(&bench->mem, "drill-%.*s-%.*s-%u", STR_ARG(bench->run),
					    STR_ARG(bench->test_case), bench->strands);
	strand->names.key = arena_printf(&bench->mem, "%.*s-%.*s", STR_ARG(strand->names.marker),
					 (int)sizeof(hex), hex);
	return strand->names.marker.at && strand->names.key.at;
}

static bool has_header(const struct scenario_pairs *headers, struct str name)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (str_equal_nocase(headers->items[i].name, name))
			return true;
	}
	return false;
}

/* The write's own headers, filled in, and a media type for a body of JSON. */
static bool fill_headers(struct bench *bench, const struct scenario_write *write,
			 struct strand *strand)
{
	size_t room = write->headers.count + 1;
	struct scenario_pair *items = arena_alloc(&bench->mem, room * sizeof(*items));
	size_t count = 0;

	if (!items)
		return false;
	for (; count < write->headers.count; count++) {
		items[count].name = write->headers.items[count].name;
		items[count].value = names_fill(write->headers.items[count].value, &strand->names,
						NAMES_PLAIN, &bench->mem);
		if (!items[count].value.at)
			return false;
	}
	if (write->body.is_json && !has_header(&write->headers, STR("Content-Type")))
		items[count++] =
			(struct scenario_pair){STR("Content-Type"), STR("application/json")};
	strand->headers = (struct scenario_pairs){items, count};
	return true;
}

static bool fill_strand(struct bench *bench, const struct scenario_write *write,
			const struct scenario_effects *effects, struct strand *strand)
{
	strand->method = write->method;
	strand->effects = effects;
	strand->has_body = write->body.is_given;
	strand->path = names_fill(write->path, &strand->names, NAMES_URL, &bench->mem);
	strand->body = names_fill(write->body.text, &strand->names, NAMES_PLAIN, &bench->mem);
	return strand->path.at && strand->body.at && fill_headers(bench, write, strand);
}

static bool count_before(struct bench *bench, struct strand *strand)
{
	char why[COUNT_WHY_MAX];
	int r;

	if (!scenario_counts(strand->effects))
		return true;
	r = count_look(bench->scenario, strand->effects, &strand->names, &bench->mem,
		       &strand->before, why);
	if (r == COUNT_FAILED)
		return bench_error(bench, "effects could not be counted: %s", why);
	if (r != 0)
		return no_memory(bench);
	bench_event(bench, DRILL_SERVER_TO_COUNT, 0, "effects before: %lld",
		    (long long)strand->before);
	return true;
}

bool bench_strand(struct bench *bench, struct strand *out_strand)
{
	const struct scenario *scenario = bench->scenario;

	*out_strand = (struct strand){0};
	if (!name_strand(bench, out_strand) ||
	    !fill_strand(bench, &scenario->write, &scenario->effects, out_strand))
		return no_memory(bench);
	return count_before(bench, out_strand);
}

bool bench_other_strand(struct bench *bench, const struct strand *first, struct strand *out_strand)
{
	const struct scenario *scenario = bench->scenario;

	*out_strand = (struct strand){0};
	if (!name_strand(bench, out_strand))
		return no_memory(bench);
	out_strand->names.key = first->names.key;
	if (!fill_strand(bench, &scenario->other_write, &scenario->other_effects, out_strand))
		return no_memory(bench);
	return count_before(bench, out_strand);
}

/* -- attempts ------------------------------------------------------------------------ */

/* The header lines of an attempt; {NULL, 0} without memory. */
static struct str lines_of(struct bench *bench, const struct strand *strand,
			   const struct attempt *attempt, struct str host)
{
	struct str key = attempt->key.at ? attempt->key : strand->names.key;
	struct str lines = place_headers(&strand->headers, attempt->account, &bench->mem);
	struct str extra = place_headers(attempt->extra, NULL, &bench->mem);

	if (!lines.at || !extra.at)
		return str_of(NULL, 0);
	if (host.len)
		lines = arena_printf(&bench->mem, "%.*sHost: %.*s\n", STR_ARG(lines),
				     STR_ARG(host));
	if (lines.at && !attempt->is_without_key)
		lines = arena_printf(&bench->mem, "%.*s%.*s: %.*s\n", STR_ARG(lines),
				     STR_ARG(bench->scenario->key.header), STR_ARG(key));
	return lines.at ? arena_printf(&bench->mem, "%.*s%.*s", STR_ARG(lines), STR_ARG(extra))
			: lines;
}

static bool prepare(struct bench *bench, const struct strand *strand, const struct attempt *attempt,
		    struct target_request *out_request)
{
	const struct scenario *scenario = bench->scenario;
	struct value_refusal refusal;
	struct settings_url url;
	struct target_request request = {.method = strand->method,
					 .body = attempt->body.at ? attempt->body : strand->body,
					 .has_body = strand->has_body,
					 .ca_file = scenario->tls.ca_file,
					 .verify = scenario->tls.verify,
					 .timeout_ms = scenario->timeout_ms,
					 .line = attempt->line};

	if (value_url(scenario->target, &bench->mem, &url, &refusal) != 0)
		return no_memory(bench);
	if (attempt->is_by_proxy)
		request.url = arena_printf(&bench->mem, "http://127.0.0.1:%u%.*s%.*s",
					   (unsigned)bench->proxy_port, STR_ARG(url.base_path),
					   STR_ARG(strand->path));
	else
		request.url = place_url(scenario, strand->path, &bench->mem);
	request.headers =
		lines_of(bench, strand, attempt, attempt->is_by_proxy ? url.authority : STR(""));
	if (!request.url.at || !request.headers.at)
		return no_memory(bench);
	*out_request = request;
	return true;
}

static void tell_sending(struct bench *bench, const struct strand *strand,
			 const struct attempt *attempt)
{
	struct str key = attempt->key.at ? attempt->key : strand->names.key;
	bool is_cut = key.len > KEY_SHOWN;
	enum drill_move move = attempt->is_by_proxy ? DRILL_CLIENT_TO_WIRE : DRILL_CLIENT_TO_SERVER;

	if (attempt->is_without_key)
		bench_event(bench, move, attempt->lane, "%.*s %.*s without a key",
			    STR_ARG(strand->method), STR_ARG(strand->path));
	else
		bench_event(bench, move, attempt->lane, "%.*s %.*s, key \"%.*s%s\"%s%s",
			    STR_ARG(strand->method), STR_ARG(strand->path),
			    (int)(is_cut ? KEY_SHOWN : key.len), key.at, is_cut ? "…" : "",
			    attempt->body.at ? ", another body" : "",
			    attempt->account ? ", another caller" : "");
}

/* Through the wire it has come already, or not. */
static enum drill_move way_back(const struct attempt *attempt, const struct target_answer *answer)
{
	if (attempt->is_by_proxy)
		return DRILL_AT_CLIENT;
	return answer->end == TARGET_ANSWERED ? DRILL_SERVER_TO_CLIENT : DRILL_LOST_ON_THE_WAY;
}

static void tell_answer(struct bench *bench, const struct attempt *attempt,
			const struct target_answer *answer)
{
	struct str id = judge_id(answer, bench->scenario->id, &bench->mem);
	struct str words = judge_words(answer, &bench->mem);

	bench_event(bench, way_back(attempt, answer), attempt->lane, "was told %.*s%s%.60s",
		    STR_ARG(words), id.len ? ", id " : "", id.len ? id.at : "");
}

bool bench_begin(struct bench *bench, const struct strand *strand, const struct attempt *attempt,
		 struct target_call **out_call)
{
	struct target_request request;

	if (!prepare(bench, strand, attempt, &request))
		return false;
	tell_sending(bench, strand, attempt);
	if (target_begin(&request, out_call) != 0)
		return bench_error(bench, "the drill could not begin a request");
	return true;
}

bool bench_finish(struct bench *bench, const struct attempt *attempt, struct target_call *call,
		  struct target_answer *out_answer)
{
	if (target_finish(call, &bench->mem, out_answer) != 0)
		return no_memory(bench);
	tell_answer(bench, attempt, out_answer);
	return true;
}

bool bench_send(struct bench *bench, const struct strand *strand, const struct attempt *attempt,
		struct target_answer *out_answer)
{
	struct target_call *call;

	return bench_begin(bench, strand, attempt, &call) &&
	       bench_finish(bench, attempt, call, out_answer);
}

bool bench_write(struct bench *bench, const struct strand *strand, const struct attempt *attempt,
		 struct target_answer *out_answer)
{
	struct str words;

	if (!bench_send(bench, strand, attempt, out_answer))
		return false;
	words = judge_words(out_answer, &bench->mem);
	if (judge(out_answer) != JUDGED_SUCCESS)
		return bench_error(bench, "a plain write was told %.*s, so nothing can be judged",
				   STR_ARG(words));
	if (!judge_id(out_answer, bench->scenario->id, &bench->mem).len)
		return bench_error(bench, "the answer of a write (%.*s) has nothing at id, %.*s",
				   STR_ARG(words), STR_ARG(bench->scenario->id));
	return true;
}

bool bench_retry(struct bench *bench, const struct strand *strand, const struct attempt *attempt,
		 struct target_answer *out_answer)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + bench->scenario->settle_ms;
	int64_t pause_ms = RETRY_FIRST_MS;

	for (;;) {
		if (!bench_send(bench, strand, attempt, out_answer))
			return false;
		if (!judge_is_open(judge(out_answer)) ||
		    env_monotonic_ms(&env_machine) + pause_ms >= until_ms)
			return true;
		usleep((useconds_t)pause_ms * 1000);
		pause_ms = pause_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : pause_ms * 2;
	}
}

static void on_wire(void *owner, enum drill_move move, int lane, const char *text)
{
	bench_event(owner, move, lane, "%s", text);
}

static bool start_proxy(struct bench *bench)
{
	const struct scenario *scenario = bench->scenario;
	struct proxy_settings settings = {
		.ca_file = scenario->tls.ca_file.len ? scenario->tls.ca_file.at : NULL,
		.verify = scenario->tls.verify,
		.timeout_ms = scenario->timeout_ms};
	struct value_refusal refusal;
	struct settings_url url;
	char why[PROXY_WHY_MAX];

	if (value_url(scenario->target, &bench->mem, &url, &refusal) != 0)
		return no_memory(bench);
	settings.host = url.host.at;
	settings.port = url.port;
	settings.is_tls = url.is_tls;
	if (proxy_start(&settings, &bench->proxy, why) != 0) {
		bench->proxy = NULL;
		return bench_error(bench, "the drill's wire could not be laid: %s", why);
	}
	bench->proxy_port = proxy_port(bench->proxy);
	proxy_watch(bench->proxy, (struct proxy_watch){.event = on_wire, .owner = bench});
	return true;
}

bool bench_fault(struct bench *bench, enum proxy_fault fault, int64_t delay_ms)
{
	if (!bench->proxy && !start_proxy(bench))
		return false;
	proxy_plan(bench->proxy, (struct proxy_plan){.fault = fault, .delay_ms = delay_ms});
	return true;
}

bool bench_command(struct bench *bench, const char *name, struct str command,
		   const struct strand *strand)
{
	struct str text = names_fill(command, &strand->names, NAMES_PLAIN, &bench->mem);
	char why[SHELL_WHY_MAX];
	int r;

	if (!text.at)
		return no_memory(bench);
	bench_event(bench, DRILL_AT_SERVER, 0, "%s: %.*s", name, STR_ARG(text));
	r = shell_run(text, bench->scenario->server.ready_within_ms, &bench->mem, NULL, why);
	if (r == SHELL_FAILED)
		return bench_error(bench, "%s: %s", name, why);
	return r == 0 || no_memory(bench);
}
