/*
 * `drill init`.
 *
 * A draft is filled from the command line, from answers, or from an action that the import makes
 * of an OpenAPI document; then it is written with what can be added as comments. Everything that
 * came from outside is written as a quoted scalar or as JSON that was read first.
 *
 * Can fail: an answer that is no write, no JSON, no pointer; a description that cannot be read.
 */
#include "drill/init.h"

#include "base/err.h"
#include "config/import.h"
#include "drill/sample.h"
#include "drill/target.h"
#include "json/json.h"

#include <stdlib.h>

enum {
	LINE_MAX_BYTES = 4096,
	MEMORY_MAX = 32 * 1024 * 1024,
	CONFIG_MAX = SETTINGS_FILE_MAX,
	FETCH_MS = 20000,
	PATH_BYTES = 1024,
	SCENARIOS_MAX = 256,
};

struct draft {
	struct str name, target, method, path, body, id, count_get, count;
};

static int from_answers(const struct drill_init_options *options, FILE *in, FILE *out,
			struct arena *mem);
static int from_description(const struct drill_init_options *options, FILE *out, struct arena *mem);
static void write_draft(const struct draft *draft, FILE *out);

static int unfit(const char *what, struct str text)
{
	fprintf(stderr, "counterfoil: %s: %.*s\n", what, STR_ARG(text));
	return DRILL_INIT_UNFIT;
}

int drill_init(const struct drill_init_options *options, FILE *in, FILE *out)
{
	struct arena mem;
	int r;

	arena_init(&mem, MEMORY_MAX);
	if (strncmp(options->url, "http://", 7) != 0 && strncmp(options->url, "https://", 8) != 0)
		r = unfit("the URL of the API begins with http:// or https://",
			  str_from(options->url));
	else if (options->openapi)
		r = from_description(options, out, &mem);
	else
		r = from_answers(options, in, out, &mem);
	arena_fini(&mem);
	return r;
}

/* -- asking -------------------------------------------------------------------------- */

/* What the command line says, else what is answered, else the default. */
static struct str ask(const struct drill_init_options *options, FILE *in, const char *given,
		      const char *question, struct str usual, struct arena *mem)
{
	char line[LINE_MAX_BYTES];
	struct str answer;

	if (given)
		return str_from(given);
	if (options->is_sure)
		return usual;
	fprintf(stderr, "%s [%.*s]: ", question, STR_ARG(usual));
	fflush(stderr);
	if (!fgets(line, sizeof(line), in))
		return usual;
	answer = str_trim(str_from(line));
	return answer.len ? arena_str(mem, answer) : usual;
}

static bool is_json(struct str text, bool is_object, struct arena *mem)
{
	struct json_value *value;
	struct json_error error;

	return json_read(text, &json_limits_default, mem, &value, &error) == 0 &&
	       (!is_object || value->type == JSON_OBJECT);
}

static bool is_pointer(struct str text)
{
	return text.len && text.at[0] == '/' && json_is_utf8(text);
}

/* A member whose text is the marker alone: what a list can be asked for. */
static struct str marked_member(struct str body, struct arena *mem)
{
	struct json_value *value;
	struct json_error error;

	if (json_read(body, &json_limits_default, mem, &value, &error) != 0 ||
	    value->type != JSON_OBJECT)
		return STR("");
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];

		if (member->value->type == JSON_STRING &&
		    str_equal(member->value->string, STR("{marker}")))
			return member->name;
	}
	return STR("");
}

static struct str usual_count(const struct draft *draft, struct arena *mem)
{
	struct str member = marked_member(draft->body, mem);

	if (!member.len)
		return draft->path;
	return arena_printf(mem, "%.*s?%.*s={marker}", STR_ARG(draft->path), STR_ARG(member));
}

static int check_draft(const struct draft *draft, struct arena *mem)
{
	if (!draft->method.len || !draft->path.len || draft->path.at[0] != '/')
		return unfit("a write is a method and a path, as in POST /v1/tickets", draft->path);
	if (!is_json(draft->body, false, mem))
		return unfit("the body is not JSON", draft->body);
	if (!is_pointer(draft->id))
		return unfit("the id is a JSON pointer, as in /id", draft->id);
	if (!is_pointer(draft->count))
		return unfit("the count is a JSON pointer, as in /data", draft->count);
	return 0;
}

static int from_answers(const struct drill_init_options *options, FILE *in, FILE *out,
			struct arena *mem)
{
	struct draft draft = {.target = str_from(options->url)};
	struct str write =
		ask(options, in, options->write, "The write", STR("POST /v1/tickets"), mem);
	int r;

	draft.name = write;
	str_split(&write, ' ', &draft.method);
	draft.path = str_trim(write);
	draft.body = ask(options, in, options->body, "Its body, with {marker} where a text is free",
			 STR("{\"project\": \"drill\", \"title\": \"{marker}\"}"), mem);
	draft.id = ask(options, in, options->id, "Where the id is in its answer", STR("/id"), mem);
	draft.count_get = ask(options, in, options->count_get, "What lists the effects",
			      usual_count(&draft, mem), mem);
	draft.count = ask(options, in, options->count, "Where the list or number is in that",
			  STR("/data"), mem);
	r = check_draft(&draft, mem);
	if (r == 0)
		write_draft(&draft, out);
	return r;
}

/* -- a description ------------------------------------------------------------------- */

static int import(const char *openapi, struct buf *config, struct settings_report *report,
		  struct arena *mem)
{
	const struct target_request request = {.method = STR("GET"),
					       .url = str_from(openapi),
					       .verify = true,
					       .timeout_ms = FETCH_MS};
	struct target_answer answer;
	int r;

	if (strncmp(openapi, "http://", 7) != 0 && strncmp(openapi, "https://", 8) != 0)
		return import_openapi(openapi, config, report);
	r = target_ask(&request, mem, &answer);
	if (r != 0)
		return r;
	if (answer.status != 200)
		return unfit("the description could not be fetched", request.url);
	return import_openapi_text(answer.body, openapi, config, report);
}

/* The sample with its marker as {marker}. */
static struct str with_marker(struct str text, struct str marker, struct arena *mem)
{
	struct buf out;
	struct str done;

	buf_init(&out, CONFIG_MAX);
	while (text.len) {
		const char *at =
			marker.len ? memmem(text.at, text.len, marker.at, marker.len) : NULL;

		buf_append_str(&out, str_of(text.at, at ? (size_t)(at - text.at) : text.len));
		if (at)
			buf_append_str(&out, STR("{marker}"));
		text = at ? str_from_index(text, (size_t)(at - text.at) + marker.len) : STR("");
	}
	done = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	return done;
}

static int draft_action(const struct drill_init_options *options, const struct action *action,
			struct arena *mem, struct draft *out_draft)
{
	struct sample_wish wish = {.run = STR("xqzj"), .number = 1};
	char why[SAMPLE_WHY_MAX];
	struct sample sample;
	int r = sample_make(action, &wish, mem, &sample, why);

	if (r == SAMPLE_IMPOSSIBLE)
		return unfit(why, action->name);
	if (r != 0)
		return r;
	*out_draft =
		(struct draft){.name = action->name,
			       .target = str_from(options->url),
			       .method = action->method,
			       .path = with_marker(sample.path, sample.marker, mem),
			       .body = with_marker(sample.body, sample.marker, mem),
			       .id = options->id ? str_from(options->id) : STR("/id"),
			       .count = options->count ? str_from(options->count) : STR("/data")};
	out_draft->count_get =
		options->count_get ? str_from(options->count_get) : usual_count(out_draft, mem);
	return 0;
}

static bool is_wanted(const struct drill_init_options *options, const struct action *action,
		      struct arena *mem)
{
	struct str route = arena_printf(mem, "%.*s %.*s", STR_ARG(action->method),
					STR_ARG(action->route.pattern));

	if (options->write)
		return str_equal(route, str_from(options->write));
	return str_equal(action->method, STR("POST"));
}

static int write_actions(const struct drill_init_options *options, const struct settings *settings,
			 FILE *out, struct arena *mem)
{
	size_t count = 0;

	for (size_t i = 0; i < settings->action_count && count < SCENARIOS_MAX; i++) {
		struct draft draft;
		int r;

		if (!is_wanted(options, &settings->actions[i], mem))
			continue;
		r = draft_action(options, &settings->actions[i], mem, &draft);
		if (r < 0)
			return r;
		if (r != 0)
			continue;
		if (count++)
			fprintf(out, "---\n");
		write_draft(&draft, out);
	}
	if (count)
		return 0;
	return unfit("the description has no such write",
		     str_from(options->write ? options->write : "POST"));
}

static int from_description(const struct drill_init_options *options, FILE *out, struct arena *mem)
{
	struct settings *settings = NULL;
	struct settings_report report;
	struct buf config;
	int r;

	settings_report_init(&report);
	buf_init(&config, CONFIG_MAX);
	r = import(options->openapi, &config, &report, mem);
	if (r == 0)
		r = settings_parse(buf_str(&config), options->openapi, NULL, &settings, &report);
	settings_report_print(&report, stderr);
	if (r == 0)
		r = write_actions(options, settings, out, mem);
	settings_free(settings);
	buf_fini(&config);
	settings_report_fini(&report);
	return r < 0 ? r : r == 0 ? 0 : DRILL_INIT_UNFIT;
}

/* -- writing ------------------------------------------------------------------------- */

static void put_quoted(FILE *out, const char *before, struct str text, const char *after)
{
	struct json_writer writer;
	struct buf quoted;

	buf_init(&quoted, CONFIG_MAX);
	json_writer_init(&writer, &quoted);
	json_string(&writer, text);
	fprintf(out, "%s%.*s%s", before, STR_ARG(buf_str(&quoted)), after);
	buf_fini(&quoted);
}

static void write_comments(FILE *out)
{
	fputs("\n"
	      "# What can be added, each for cases that do not apply without it\n"
	      "# (docs/guide/drill.md has every key; `counterfoil drill cases` lists the cases):\n"
	      "#\n"
	      "# The thing itself, looked at after each success:\n"
	      "# resource: {get: \"/v1/tickets/{id}\", equals: {/title: \"{marker}\"}}\n"
	      "#\n"
	      "# Another caller, who must never see the first one's answer:\n"
	      "# second_account: {headers: {Authorization: Bearer b}}\n"
	      "#\n"
	      "# Another write, for the same key on another route:\n"
	      "# other_write: {path: /v1/payments, body: {note: \"{marker}\"}}\n"
	      "#\n"
	      "# A server that may be started, killed and started again:\n"
	      "# server: {start: ./server, ready: {get: /healthz, within: 20s}}\n"
	      "#\n"
	      "# How long a key is remembered, and what happens then:\n"
	      "# expiry: {after: 3s, then: refused}\n"
	      "#\n"
	      "# What the altered body says, and how many copies are sent at once:\n"
	      "# change: {/title: \"{marker} changed\"}\n"
	      "# copies: 20\n"
	      "#\n"
	      "# How long a request may take, and a count until it is right:\n"
	      "# timeout: 10s\n"
	      "# settle: 5s\n",
	      out);
}

static void write_draft(const struct draft *draft, FILE *out)
{
	fputs("# A scenario for `counterfoil drill`. It writes for real: point it at an API that\n"
	      "# is there to be tried.\n",
	      out);
	put_quoted(out, "name: ", draft->name, "\n");
	put_quoted(out, "target: ", draft->target, "\n");
	fputs("\n# The write. {marker} is another text for each intended action.\nwrite:\n", out);
	put_quoted(out, "  method: ", draft->method, "\n");
	put_quoted(out, "  path: ", draft->path, "\n");
	fputs("  # headers: {Authorization: Bearer a}\n", out);
	fprintf(out, "  body: %.*s\n", STR_ARG(draft->body));
	fputs("\n# The header that makes a retry a retry; required: false where it may be left "
	      "out.\n"
	      "key: {header: Idempotency-Key, required: true, max_length: 255}\n"
	      "\n# Where the answer has the id of what was made.\n",
	      out);
	put_quoted(out, "id: ", draft->id, "\n");
	fputs("\n# How effects are counted: at what lists them, best past whatever is under "
	      "drill.\n"
	      "# A list is counted, a number taken. A command that prints a number does, too:\n"
	      "# effects: {command: \"psql -tAc 'select count(*) from ticket'\"}\n",
	      out);
	put_quoted(out, "effects: {get: ", draft->count_get, ", ");
	put_quoted(out, "count: ", draft->count, "}\n");
	write_comments(out);
}
