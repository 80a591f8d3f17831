/*
 * One action of a rehearsal.
 *
 * Effects are counted at the stand-in, over all that it has done since an act was made: one action
 * is rehearsed at a time, so whatever came of it is in the difference.
 *
 * Always true: a case's first verdict stands.
 */
#include "drill/scene.h"

#include "base/env.h"
#include "json/json.h"

#include "drill/judge.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX = 1024, PAUSE_MS = 100, TOKEN_LETTERS = 24, QUOTED_MAX = 200 };

/* -- verdicts ------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 0))) static bool
give(struct scene *scene, enum drill_verdict verdict, const char *format, va_list args)
{
	char text[TEXT_MAX];

	if (scene->result->seen.len)
		return false;
	vsnprintf(text, sizeof(text), format, args);
	scene->result->verdict = verdict;
	scene->result->seen = arena_str(scene->out, str_from(text));
	if (!scene->result->seen.at)
		scene->result->seen = STR("(no memory left to say more)");
	return false;
}

#define VERDICT(name, verdict)                                                                     \
	bool name(struct scene *scene, const char *format, ...)                                    \
	{                                                                                          \
		va_list args;                                                                      \
                                                                                                   \
		va_start(args, format);                                                            \
		give(scene, verdict, format, args);                                                \
		va_end(args);                                                                      \
		return false;                                                                      \
	}
VERDICT(scene_pass, DRILL_PASS)
VERDICT(scene_fail, DRILL_FAIL)
VERDICT(scene_skip, DRILL_NOT_APPLICABLE)
VERDICT(scene_error, DRILL_ERROR)

void scene_event(struct scene *scene, enum drill_move move, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	drill_event_add(scene->result, scene->out, env_monotonic_us(&env_machine) - scene->began_us,
			move, 0, "%s", text);
}

/* -- the stand-in -------------------------------------------------------------------- */

/* Where what is found lies: the list it is in, or it. */
static void shape(const struct rule_inquiry *inquiry, struct standin_manner *manner)
{
	struct str at = inquiry->found_at;
	size_t end = at.len;

	if (!inquiry->get.len)
		return;
	while (end > 0 && at.at[end - 1] >= '0' && at.at[end - 1] <= '9')
		end--;
	if (inquiry->has_absent_empty)
		manner->list_at = inquiry->absent_empty;
	else if (end > 0 && end < at.len && at.at[end - 1] == '/')
		manner->list_at = str_of(at.at, end - 1);
	else
		*manner = (struct standin_manner){.key_header = manner->key_header,
						  .knows_body = manner->knows_body,
						  .knows_path = manner->knows_path,
						  .id_at = manner->id_at,
						  .list_at = at,
						  .is_one = true};
}

void scene_behave(struct scene *scene, const struct action *action)
{
	struct standin_manner manner = {.key_header = action->downstream_key.header,
					.knows_body = action->downstream_key.field.len > 0,
					.knows_path = action->is_natural};

	if (action->opens_budget.is_declared)
		manner.id_at = action->opens_budget.id;
	shape(&action->probe, &manner);
	if (!action->probe.get.len)
		shape(&action->lookup, &manner);
	standin_behave(scene->stage->standin, &manner);
}

/* -- acts ---------------------------------------------------------------------------- */

static void draw_token(char out[SCENE_TOKEN_MAX])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[TOKEN_LETTERS];
	size_t len = (size_t)snprintf(out, SCENE_TOKEN_MAX, "drill-");

	env_random(&env_machine, random, sizeof(random));
	for (size_t i = 0; i < TOKEN_LETTERS; i++)
		out[len++] = letters[random[i] % 32];
	out[len] = '\0';
}

bool scene_act_of(struct scene *scene, const struct action *action, struct sample_wish *wish,
		  struct act *out_act)
{
	char why[SAMPLE_WHY_MAX];
	int r;

	*out_act = (struct act){.action = action, .number = wish->number};
	if (wish->token.len)
		snprintf(out_act->token, SCENE_TOKEN_MAX, "%.*s", STR_ARG(wish->token));
	else
		draw_token(out_act->token);
	wish->run = scene->run;
	wish->token = arena_str(&scene->mem, str_from(out_act->token));
	out_act->before = standin_count(scene->stage->standin, STR(""));
	r = sample_make(action, wish, &scene->mem, &out_act->sample, why);
	if (r == SAMPLE_IMPOSSIBLE)
		return scene_skip(scene, "no sample command could be made: %s", why);
	return r == 0 || scene_error(scene, "no memory left for a sample");
}

bool scene_act(struct scene *scene, struct act *out_act)
{
	return scene_act_again(scene, ++*scene->number, "", out_act);
}

bool scene_act_again(struct scene *scene, unsigned number, const char *token, struct act *out_act)
{
	struct sample_wish wish = {.number = number, .token = str_from(token)};

	if (scene->opened.len) {
		wish.given = &scene->action->budget.of;
		wish.given_text = scene->opened;
	}
	return scene_act_of(scene, scene->action, &wish, out_act);
}

static const struct action *opener(const struct settings *settings)
{
	for (size_t i = 0; i < settings->action_count; i++) {
		if (settings->actions[i].opens_budget.is_declared)
			return &settings->actions[i];
	}
	return NULL;
}

bool scene_open(struct scene *scene, int64_t amount, struct str *out_id)
{
	const struct action *action = opener(scene->settings);
	struct sample_wish wish = {.number = ++*scene->number, .amount = amount};
	struct target_answer answer;
	struct act act;

	*out_id = STR("");
	if (!scene->action->budget.is_declared)
		return true;
	if (!action)
		return scene->action->budget.lets_unknown ||
		       scene_skip(scene, "no action opens a budget, so each of these is refused");
	wish.amount_at = action->opens_budget.amount;
	scene_behave(scene, action);
	if (!scene_act_of(scene, action, &wish, &act) || !scene_do(scene, &act, &answer))
		return false;
	scene_behave(scene, scene->action);
	*out_id = judge_id(&answer, action->opens_budget.id, &scene->mem);
	return out_id->len || scene_error(scene, "the answer that opens a budget has no id");
}

/* -- requests ------------------------------------------------------------------------ */

struct target_request scene_request(struct scene *scene, const struct act *act)
{
	struct str token = STR("");

	if (!act->action->token_pointer.len && !act->action->is_natural && act->token[0])
		token = arena_printf(&scene->mem, "%.*s: %s\n",
				     STR_ARG(scene->settings->tokens.header), act->token);
	return (struct target_request){
		.method = act->action->method,
		.url = arena_printf(&scene->mem, "%.*s%.*s", STR_ARG(scene->stage->url),
				    STR_ARG(act->sample.path)),
		.headers = arena_printf(
			&scene->mem, "Authorization: Bearer rehearsal\n%.*s%sPrefer: wait=1\n",
			STR_ARG(token),
			act->sample.has_body ? "Content-Type: application/json\n" : ""),
		.body = act->sample.body,
		.has_body = act->sample.has_body,
		.verify = true,
		.timeout_ms = SCENE_ANSWER_MS,
	};
}

bool scene_send(struct scene *scene, const struct act *act, struct target_answer *out_answer)
{
	struct target_request request = scene_request(scene, act);

	scene_event(scene, DRILL_CLIENT_TO_SERVER, "%.*s %.*s", STR_ARG(request.method),
		    STR_ARG(act->sample.path));
	if (!request.url.at || !request.headers.at ||
	    target_ask(&request, &scene->mem, out_answer) != 0)
		return scene_error(scene, "no memory left for a request");
	scene_event(scene,
		    out_answer->end == TARGET_ANSWERED ? DRILL_SERVER_TO_CLIENT
						       : DRILL_LOST_ON_THE_WAY,
		    "was told %.*s", STR_ARG(judge_words(out_answer, &scene->mem)));
	return true;
}

struct str scene_outcome(const struct target_answer *answer)
{
	return target_header(answer, STR("Operation-Outcome"));
}

bool scene_is_success(const struct target_answer *answer)
{
	struct str outcome = scene_outcome(answer);

	return answer->status >= 200 && answer->status < 300 &&
	       !str_equal(outcome, STR("awaiting_approval")) &&
	       !str_equal(outcome, STR("queued")) && !str_equal(outcome, STR("running")) &&
	       !str_equal(outcome, STR("locked"));
}

/* Ask the admin listener; its answer as JSON, NULL: it has none. */
static struct json_value *ask_admin(struct scene *scene, const char *method, struct str path,
				    struct str body)
{
	struct target_request request = {
		.method = str_from(method),
		.url = arena_printf(&scene->mem, "%.*s%.*s", STR_ARG(scene->stage->admin_url),
				    STR_ARG(path)),
		.headers = arena_printf(&scene->mem,
					"Authorization: Bearer %.*s\nContent-Type: "
					"application/json\n",
					STR_ARG(scene->stage->admin_token)),
		.body = body,
		.has_body = body.len > 0,
		.verify = true,
		.timeout_ms = SCENE_ANSWER_MS};
	struct target_answer answer;
	struct json_value *value;
	struct json_error error;

	if (!request.url.at || !request.headers.at ||
	    target_ask(&request, &scene->mem, &answer) != 0 || answer.status != 200 ||
	    json_read(answer.body, &json_limits_default, &scene->mem, &value, &error) != 0)
		return NULL;
	return value;
}

bool scene_agree(struct scene *scene, const struct target_answer *answer)
{
	struct str id = target_header(answer, STR("Operation-Id")), path;
	const struct json_value *shown, *fingerprint, *question;
	bool is_agreed;

	if (!str_equal(scene_outcome(answer), STR("awaiting_approval")))
		return true;
	path = arena_printf(&scene->mem, "/api/approvals/%.*s", STR_ARG(id));
	shown = ask_admin(scene, "GET", path, STR(""));
	fingerprint = shown ? json_member(shown, STR("fingerprint")) : NULL;
	question = shown ? json_member(shown, STR("question")) : NULL;
	if (!fingerprint || !question || fingerprint->type != JSON_STRING ||
	    question->type != JSON_STRING)
		return scene_error(scene, "the question of an approval could not be read");
	is_agreed = ask_admin(
		scene, "POST", arena_printf(&scene->mem, "%.*s/approve", STR_ARG(path)),
		arena_printf(&scene->mem, "{\"fingerprint\":\"%.*s\",\"question\":\"%.*s\"}",
			     STR_ARG(fingerprint->string), STR_ARG(question->string)));
	scene_event(scene, DRILL_AT_CLIENT, "a person agrees");
	return is_agreed || scene_error(scene, "the approval was not taken");
}

/* Is there more to come? */
static bool is_open(const struct scene *scene, const struct target_answer *answer, int64_t took_ms)
{
	static const char *const open[] = {"awaiting_approval", "queued", "running", "locked",
					   "not_sent"};
	const struct action *action = scene->action;
	struct str outcome = scene_outcome(answer);

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		if (str_equal(outcome, str_from(open[i])))
			return took_ms < SCENE_SETTLE_MS;
	}
	if (str_equal(outcome, STR("unknown")) || answer->status == 504 || !answer->status ||
	    (!outcome.len && judge_is_open(judge(answer))))
		return took_ms < (action->probe.get.len || action_may_resend(action)
					  ? SCENE_FIND_OUT_MS
					  : 2 * PAUSE_MS);
	return false;
}

bool scene_complete(struct scene *scene, const struct act *act, struct target_answer *out_answer)
{
	int64_t began_ms = env_monotonic_ms(&env_machine);

	for (;;) {
		if (!scene_send(scene, act, out_answer) || !scene_agree(scene, out_answer))
			return false;
		if (!is_open(scene, out_answer, env_monotonic_ms(&env_machine) - began_ms))
			return true;
		poll(NULL, 0, PAUSE_MS);
	}
}

bool scene_do(struct scene *scene, const struct act *act, struct target_answer *out_answer)
{
	struct str body;

	if (!scene_complete(scene, act, out_answer))
		return false;
	if (str_equal(scene_outcome(out_answer), STR("reused")))
		return scene_skip(scene, "its business key has too few values for so many cases");
	if (scene_is_success(out_answer))
		return true;
	body = out_answer->body;
	if (body.len > QUOTED_MAX)
		body.len = QUOTED_MAX;
	return scene_skip(scene, "the sample command of %.*s was not taken: %.*s %.*s",
			  STR_ARG(act->action->name), STR_ARG(judge_words(out_answer, &scene->mem)),
			  STR_ARG(body));
}

/* -- counts -------------------------------------------------------------------------- */

int64_t scene_effects(struct scene *scene, const struct act *act)
{
	int64_t effects = standin_count(scene->stage->standin, STR("")) - act->before;

	scene->result->effects_before = 0;
	scene->result->effects_after = effects;
	return effects;
}

bool scene_wants(struct scene *scene, const struct act *act, int64_t wanted, const char *what)
{
	int64_t effects = scene_effects(scene, act);

	scene->result->effects_wanted = wanted;
	if (effects == wanted)
		return true;
	return scene_fail(scene, "%s: %lld effects where %lld was wanted", what, (long long)effects,
			  (long long)wanted);
}
