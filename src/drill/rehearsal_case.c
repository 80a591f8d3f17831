/*
 * The cases of a rehearsal.
 *
 * A case fails only where the configuration claims what did not hold. What it does not claim is
 * tried all the same where that is safe, and said with its counts as not applicable.
 *
 * Always true: effects are counted at the stand-in, never taken from an answer.
 */
#include "drill/rehearsal_case.h"

#include "drill/body.h"
#include "drill/judge.h"
#include "drill/protection.h"

#include <stdio.h>

enum { COPIES = 5, SLOW_MS = 200, CEILING = 100, SENTENCES_MAX = 2048 };

/* -- what is said -------------------------------------------------------------------- */

/* One after the other, as far as there is room. */
static void join(const struct str *sentences, size_t count, char out[SENTENCES_MAX])
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < count && len < SENTENCES_MAX; i++)
		len += (size_t)snprintf(out + len, SENTENCES_MAX - len, "%s%.*s", i ? " " : "",
					STR_ARG(sentences[i]));
}

/* False, and it has been said. */
static bool find_protection(struct scene *scene, struct protection *out_protection)
{
	if (protection_of(scene->settings, scene->action, &scene->mem, out_protection) == 0)
		return true;
	scene_error(scene, "no memory left");
	return false;
}

static void run_protection(struct scene *scene)
{
	struct protection protection;
	char text[SENTENCES_MAX];

	if (!find_protection(scene, &protection))
		return;
	join(protection.holds, protection.hold_count, text);
	scene_pass(scene, "%.*s: %.*s.%s%s", STR_ARG(scene->action->name),
		   STR_ARG(protection.summary), text[0] ? " " : "", text);
}

static void run_gaps(struct scene *scene)
{
	struct protection protection;
	char text[SENTENCES_MAX];

	if (!find_protection(scene, &protection))
		return;
	join(protection.gaps, protection.gap_count, text);
	if (protection.gap_count)
		scene_skip(scene, "%s", text);
	else
		scene_pass(scene, "Every rule that there is for such an action is declared.");
}

/* -- one token ----------------------------------------------------------------------- */

static void run_key_missing(struct scene *scene)
{
	struct target_answer answer;
	struct act act;

	if (scene->action->is_natural) {
		scene_skip(scene, "the action needs no token");
		return;
	}
	if (!scene->settings->tokens.required || scene->action->token_pointer.len) {
		scene_skip(
			scene, "%s",
			scene->action->token_pointer.len
				? "its token is in the body, where the fields say if it must be"
				: "tokens.required is false: without a token nothing is promised");
		return;
	}
	if (!scene_act(scene, &act))
		return;
	act.token[0] = '\0';
	if (!scene_send(scene, &act, &answer) ||
	    !scene_wants(scene, &act, 0, "sent without a token"))
		return;
	if (answer.status >= 400 && answer.status < 500)
		scene_pass(scene, "refused with %d, no effect", answer.status);
	else
		scene_fail(scene, "not refused: %.*s", STR_ARG(judge_words(&answer, &scene->mem)));
}

static void run_replay(struct scene *scene)
{
	struct target_answer first, again;
	const char *difference;
	struct act act;

	if (!scene_act(scene, &act) || !scene_do(scene, &act, &first) ||
	    !scene_complete(scene, &act, &again) ||
	    !scene_wants(scene, &act, 1, "the same request twice"))
		return;
	difference = judge_difference(&first, &again, STR("/id"), &scene->mem);
	if (difference)
		scene_fail(scene, "told something else the second time: %s", difference);
	else
		scene_pass(scene, "sent twice: 1 effect, the same answer");
}

static bool send_together(struct scene *scene, const struct act *acts, size_t count, bool is_one,
			  struct target_answer *answers)
{
	struct target_line *line = target_line_new((int)count);
	struct target_call *calls[COPIES] = {NULL};
	bool is_done = line;

	scene_event(scene, DRILL_CLIENT_TO_SERVER, "%zu requests at once", count);
	for (size_t i = 0; is_done && i < count; i++) {
		struct target_request request = scene_request(scene, is_one ? acts : &acts[i]);

		request.line = line;
		is_done = request.url.at && target_begin(&request, &calls[i]) == 0;
	}
	for (size_t i = 0; i < count; i++)
		is_done &= calls[i] && target_finish(calls[i], &scene->mem, &answers[i]) == 0;
	target_line_free(line);
	scene_event(scene, DRILL_AT_CLIENT, "all of them have ended");
	return is_done || scene_error(scene, "the requests could not be sent together");
}

static void run_copies(struct scene *scene)
{
	struct target_answer answers[COPIES], last;
	struct act act;

	if (!scene_act(scene, &act) || !send_together(scene, &act, COPIES, true, answers) ||
	    !scene_do(scene, &act, &last) || !scene_wants(scene, &act, 1, "five copies at once"))
		return;
	for (size_t i = 0; i < COPIES; i++) {
		if (scene_is_success(&answers[i]) && answers[i].status == last.status &&
		    judge_difference(&last, &answers[i], STR("/id"), &scene->mem)) {
			scene_fail(scene, "two of them were told different successes");
			return;
		}
	}
	scene_pass(scene, "%d at once: 1 effect", COPIES);
}

static void run_changed_body(struct scene *scene)
{
	struct target_answer first, other;
	struct act act, changed;

	if (scene->action->is_natural) {
		scene_skip(scene, "the action has no token that two commands could share");
		return;
	}
	if (!scene->action->field_count) {
		scene_skip(scene, "no fields are declared that could differ");
		return;
	}
	if (!scene_act(scene, &act) || !scene_do(scene, &act, &first) ||
	    !scene_act_again(scene, ++*scene->number, act.token, &changed))
		return;
	if (str_equal(act.sample.body, changed.sample.body) &&
	    str_equal(act.sample.path, changed.sample.path)) {
		scene_skip(scene, "its fields have one value each: no command differs");
		return;
	}
	if (!scene_send(scene, &changed, &other) ||
	    !scene_wants(scene, &act, 1, "another command under the same token"))
		return;
	if (other.status == 409 || other.status == 422)
		scene_pass(scene, "refused with %d, 1 effect", other.status);
	else
		scene_fail(scene, "not refused as another command: %.*s",
			   STR_ARG(judge_words(&other, &scene->mem)));
}

static void run_reordered_body(struct scene *scene)
{
	struct target_answer first, again;
	struct act act;

	if (!scene_act(scene, &act))
		return;
	if (!act.sample.has_body || !scene->action->field_count) {
		scene_skip(scene, "no fields are declared that could be in another order");
		return;
	}
	if (!scene_do(scene, &act, &first))
		return;
	if (body_reordered(act.sample.body, &scene->mem, &act.sample.body) != 0) {
		scene_error(scene, "the body could not be written in another order");
		return;
	}
	if (!scene_complete(scene, &act, &again) ||
	    !scene_wants(scene, &act, 1, "the same command in another order"))
		return;
	if (scene_is_success(&again))
		scene_pass(scene, "taken for the same command: 1 effect");
	else
		scene_fail(scene, "taken for another command: %.*s",
			   STR_ARG(judge_words(&again, &scene->mem)));
}

static void run_answer_dropped(struct scene *scene)
{
	struct target_answer answer;
	struct act act;
	bool is_told;

	if (!scene_act(scene, &act))
		return;
	if (scene->action->approval.is_declared && scene->action->approval.is_always) {
		/* the first sending only asks; the fault waits for the one that goes out */
		if (!scene_send(scene, &act, &answer))
			return;
		standin_drop_next(scene->stage->standin, true);
		if (!scene_agree(scene, &answer))
			return;
	} else {
		standin_drop_next(scene->stage->standin, true);
	}
	scene_event(scene, DRILL_AT_WIRE, "the next answer is lost after the work");
	is_told = scene_complete(scene, &act, &answer);
	standin_drop_next(scene->stage->standin, false);
	if (!is_told)
		return;
	if (scene_effects(scene, &act) == 0 && judge(&answer) == JUDGED_REFUSED) {
		scene_skip(scene, "the sample command was not taken: %.*s",
			   STR_ARG(judge_words(&answer, &scene->mem)));
		return;
	}
	if (!scene_wants(scene, &act, 1, "sent again after a lost answer"))
		return;
	if (scene_is_success(&answer))
		scene_pass(scene, "found out: 1 effect, told as %d", answer.status);
	else if (judge_is_open(judge(&answer)) || answer.status == 409)
		scene_pass(scene, "1 effect; the gate says that nobody knows (%.*s)",
			   STR_ARG(judge_words(&answer, &scene->mem)));
	else
		scene_fail(scene, "it was done, and is told as %.*s",
			   STR_ARG(judge_words(&answer, &scene->mem)));
}

/* -- rules --------------------------------------------------------------------------- */

static void run_two_tokens(struct scene *scene)
{
	const struct action *action = scene->action;
	struct target_answer first, second;
	struct act act, again;
	long long effects;

	if (!scene_act(scene, &act) || !scene_act_again(scene, act.number, "", &again) ||
	    !scene_do(scene, &act, &first) || !scene_complete(scene, &again, &second))
		return;
	if (action->unique.count || action->is_natural) {
		if (scene_wants(scene, &act, 1, "one command under two tokens"))
			scene_pass(scene,
				   "two agents, two tokens: 1 effect, the second is told %d%s%.*s",
				   second.status, scene_outcome(&second).len ? " " : "",
				   STR_ARG(scene_outcome(&second)));
		return;
	}
	effects = (long long)scene_effects(scene, &act);
	scene_skip(scene,
		   "business key none: two agents with two tokens did %.*s %lld times; "
		   "`unique` names what makes two of them the same",
		   STR_ARG(action->name), effects);
}

/* Two acts that want the same lock and nothing else alike. */
static bool two_of_one_lock(struct scene *scene, struct act acts[2])
{
	const struct rule_lock *lock = &scene->action->lock;
	unsigned number = ++*scene->number;

	for (int i = 0; i < 2; i++) {
		struct sample_wish wish = {.number = i ? ++*scene->number : number,
					   .same_number = number,
					   .same = lock->on,
					   .same_count = lock->count};

		if (scene->opened.len) {
			wish.given = &scene->action->budget.of;
			wish.given_text = scene->opened;
		}
		if (!scene_act_of(scene, scene->action, &wish, &acts[i]))
			return false;
	}
	return true;
}

static void run_lock(struct scene *scene)
{
	struct target_answer answers[2], last;
	struct act acts[2];
	int most;

	if (!scene->action->lock.count) {
		scene_skip(scene, "no lock is declared: two at once go out at once");
		return;
	}
	if (!two_of_one_lock(scene, acts))
		return;
	standin_slow(scene->stage->standin, SLOW_MS);
	standin_most_at_once(scene->stage->standin);
	if (send_together(scene, acts, 2, false, answers) && scene_agree(scene, &answers[0]) &&
	    scene_agree(scene, &answers[1]) && scene_complete(scene, &acts[0], &last))
		scene_complete(scene, &acts[1], &last);
	standin_slow(scene->stage->standin, 0);
	most = standin_most_at_once(scene->stage->standin);
	if (scene_effects(scene, &acts[0]) == 0)
		scene_skip(scene, "the sample command was not taken: %.*s",
			   STR_ARG(judge_words(&last, &scene->mem)));
	else if (most > 1)
		scene_fail(scene, "%d that want the same lock were under way at once", most);
	else
		scene_pass(scene, "two that want the same lock: never both at once, the other %s",
			   scene->action->lock.is_queue ? "waited" : "was refused meanwhile");
}

/* Is money counted in the same unit by the action that opens and by the one that spends? */
static bool is_comparable(struct scene *scene)
{
	const struct settings *settings = scene->settings;
	struct str spend_at = scene->action->budget.amount;
	const struct action_field *spends =
		action_field_enter(scene->action->fields, scene->action->field_count, &spend_at);

	for (size_t i = 0; spends && i < settings->action_count; i++) {
		const struct action *opens = &settings->actions[i];
		struct str at = opens->opens_budget.amount;
		const struct action_field *field;

		if (!opens->opens_budget.is_declared)
			continue;
		field = action_field_enter(opens->fields, opens->field_count, &at);
		return field && field->is_major == spends->is_major && !at.len && !spend_at.len;
	}
	return false;
}

static bool spend(struct scene *scene, struct str budget, struct act *out_act)
{
	const struct rule_budget *rule = &scene->action->budget;
	struct sample_wish wish = {.number = ++*scene->number,
				   .given = &rule->of,
				   .given_text = budget,
				   .amount = CEILING,
				   .amount_at = rule->amount};

	return scene_act_of(scene, scene->action, &wish, out_act);
}

static void run_budget(struct scene *scene)
{
	struct target_answer first, second;
	struct act act, more;
	struct str budget;

	if (!scene->action->budget.is_declared) {
		scene_skip(scene, "no budget is declared: nothing bounds the sum of several");
		return;
	}
	if (!is_comparable(scene)) {
		scene_skip(scene, "no action opens a budget in the same unit");
		return;
	}
	if (!scene_open(scene, CEILING, &budget) || !spend(scene, budget, &act) ||
	    !spend(scene, budget, &more) || !scene_do(scene, &act, &first) ||
	    !scene_complete(scene, &more, &second) ||
	    !scene_wants(scene, &act, 1, "spent to the full, and once more"))
		return;
	if (second.status >= 400 && second.status < 500)
		scene_pass(scene, "spent to the full; one more was refused with %d: 1 effect",
			   second.status);
	else
		scene_fail(scene, "one more than was opened is told as %.*s",
			   STR_ARG(judge_words(&second, &scene->mem)));
}

static void run_approval(struct scene *scene)
{
	const struct rule_approval *approval = &scene->action->approval;
	struct target_answer answer;
	struct act act;

	if (!approval->is_declared || !approval->is_always) {
		scene_skip(scene, "%s",
			   approval->is_declared
				   ? "people are asked on conditions, which no sample "
				     "is made for"
				   : "no approval is declared: nobody is asked");
		return;
	}
	if (!scene_act(scene, &act) || !scene_send(scene, &act, &answer) ||
	    !scene_wants(scene, &act, 0, "sent before anybody agreed"))
		return;
	if (!str_equal(scene_outcome(&answer), STR("awaiting_approval"))) {
		scene_fail(scene, "nobody is asked: %.*s",
			   STR_ARG(judge_words(&answer, &scene->mem)));
		return;
	}
	if (scene_do(scene, &act, &answer) &&
	    scene_wants(scene, &act, 1, "sent once a person has agreed"))
		scene_pass(scene, "no effect before a person agreed, 1 effect after");
}

static const struct rehearsal_case cases[] = {
	{"protection", "says which rules of the configuration protect the action",
	 "a rule that is not there protects nobody", run_protection},
	{"gaps", "says by which ways a second effect stays possible",
	 "what nobody sees to should be known before it happens", run_gaps},
	{"key-missing", "sends the command without a token",
	 "a retry without a token cannot be told from a second intention", run_key_missing},
	{"replay", "sends the same request twice under one token",
	 "a client that saw no answer asks again", run_replay},
	{"copies", "sends five copies at once under one token",
	 "retries of several workers overlap", run_copies},
	{"changed-body", "sends another command under a token that is taken",
	 "a token that is used for two intentions would hide one of them", run_changed_body},
	{"reordered-body", "sends the same command with its members in another order",
	 "a program that builds its request anew may order it otherwise", run_reordered_body},
	{"two-tokens", "sends one command under two tokens",
	 "two agents that are given the same work do not share a token", run_two_tokens},
	{"lock", "sends two at once that want the same lock",
	 "two changes to one thing at the same time undo each other", run_lock},
	{"budget", "spends all of a budget, and then once more",
	 "several small amounts can be more than the whole", run_budget},
	{"approval", "sends what people have to agree to, looks, and agrees",
	 "what was sent before anybody agreed cannot be taken back", run_approval},
	{"answer-dropped", "loses the answer after the work, and asks again",
	 "the write that was done and looks lost is the one that is done twice",
	 run_answer_dropped},
};

const struct rehearsal_case *rehearsal_case_at(size_t index)
{
	return index < sizeof(cases) / sizeof(cases[0]) ? &cases[index] : NULL;
}
