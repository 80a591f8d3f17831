/*
 * The words of a fault, and the queue of those that wait for their request. The queue is
 * walked from the oldest, so two faults for the same path come in the order they were asked
 * for.
 */
#include "sandbox/faults.h"

#include "base/err.h"

#include <stdlib.h>

/* One entry of the queue. */
struct fault {
	struct list link;
	uint64_t times; /* requests it is still for */
	struct fault_plan plan;
	char text[FAULT_TEXT_MAX + 1];
	char path[FAULT_TEXT_MAX + 1];	 /* "": any */
	char method[FAULT_TEXT_MAX + 1]; /* "": POST and PUT; "*": any */
};

static const struct ending_word {
	const char *word;
	enum ending ending;
	bool does_work;
} ending_words[] = {
	{"drop", ENDING_DROP, true},	  {"half", ENDING_HALF, true},
	{"reset", ENDING_RESET, false},	  {"hang", ENDING_HANG, false},
	{"hang;work", ENDING_HANG, true}, {"decline", ENDING_DECLINE, false},
};

bool fault_may_meet(struct str path)
{
	return str_starts_with(path, STR("/v1/")) || str_starts_with(path, STR("/hooks/"));
}

void fault_plan_none(struct fault_plan *out_plan)
{
	*out_plan = (struct fault_plan){.ending = ENDING_ANSWER, .does_work = true};
}

static int read_ms(struct str text, int64_t *out_ms, const char **out_why)
{
	uint64_t ms;

	if (!str_to_u64(text, FAULT_DELAY_MAX_MS, &ms)) {
		*out_why = "delay= and hide= take milliseconds, up to 600000.";
		return FAULT_REFUSED;
	}
	*out_ms = (int64_t)ms;
	return 0;
}

static int read_status(struct str text, struct fault_plan *plan, const char **out_why)
{
	struct str number = {0}, word = {0};
	uint64_t status;
	bool has_word = str_find(text, ';') < text.len;

	str_split(&text, ';', &number);
	word = str_trim(text);
	if (!str_to_u64(str_trim(number), 599, &status) || status < 200 ||
	    (has_word && !str_equal(word, STR("work")))) {
		*out_why = "status= takes a status from 200 to 599, and ;work after it where the "
			   "work is to be done.";
		return FAULT_REFUSED;
	}
	plan->ending = ENDING_STATUS;
	plan->status = (int)status;
	plan->does_work = has_word;
	return 0;
}

static int read_ending(struct str text, struct fault_plan *plan, const char **out_why)
{
	if (plan->ending != ENDING_ANSWER) {
		*out_why =
			"A request can end in one way only: give one of drop, half, reset, hang, "
			"decline and status=.";
		return FAULT_REFUSED;
	}
	if (str_starts_with(text, STR("status=")))
		return read_status(str_from_index(text, 7), plan, out_why);
	for (size_t i = 0; i < sizeof(ending_words) / sizeof(ending_words[0]); i++) {
		if (str_equal(text, str_from(ending_words[i].word))) {
			plan->ending = ending_words[i].ending;
			plan->does_work = ending_words[i].does_work;
			return 0;
		}
	}
	*out_why = "A fault is drop, half, reset, hang, hang;work, decline, twice, delay=MS, "
		   "hide=MS, status=N or status=N;work, or several with commas between.";
	return FAULT_REFUSED;
}

int fault_plan_read(struct str text, struct fault_plan *out_plan, const char **out_why)
{
	struct fault_plan plan;
	struct str part, rest = text.len ? text : STR("");
	int r = 0;

	fault_plan_none(&plan);
	while (r == 0 && str_split(&rest, ',', &part)) {
		part = str_trim(part);
		if (str_starts_with(part, STR("delay=")))
			r = read_ms(str_from_index(part, 6), &plan.delay_ms, out_why);
		else if (str_starts_with(part, STR("hide=")))
			r = read_ms(str_from_index(part, 5), &plan.hide_ms, out_why);
		else if (str_equal(part, STR("twice")))
			plan.is_twice = true;
		else
			r = read_ending(part, &plan, out_why);
	}
	if (r == 0)
		*out_plan = plan;
	return r;
}

/* -- the queue --------------------------------------------------------------------- */

void faults_init(struct faults *faults)
{
	*faults = (struct faults){0};
	list_init(&faults->queue);
}

static void drop_fault(struct faults *faults, struct fault *fault)
{
	list_remove(&fault->link);
	free(fault);
	faults->count--;
}

void faults_clear(struct faults *faults)
{
	struct list *link, *after;

	list_for_each (link, after, &faults->queue)
		drop_fault(faults, list_entry(link, struct fault, link));
	faults->honours_keys = false;
}

/* The text of an optional member; false when it is none, or too long. */
static bool copy_member(const struct json_value *wish, struct str name, char *out)
{
	const struct json_value *value = json_member(wish, name);

	if (!value || value->type == JSON_NULL)
		return true;
	if (value->type != JSON_STRING || value->string.len > FAULT_TEXT_MAX ||
	    (value->string.len && memchr(value->string.at, '\0', value->string.len)))
		return false;
	memcpy(out, value->string.at, value->string.len);
	out[value->string.len] = '\0';
	return true;
}

static bool read_times(const struct json_value *wish, uint64_t *out_times)
{
	const struct json_value *value = json_member(wish, STR("times"));
	int64_t times = 1;

	if (value && (value->type != JSON_NUMBER || !json_number_to_i64(&value->number, &times) ||
		      times < 1 || times > FAULT_TIMES_MAX))
		return false;
	*out_times = (uint64_t)times;
	return true;
}

static int read_wish(const struct json_value *wish, struct fault *fault, const char **out_why)
{
	*out_why = "\"fault\", \"path\" and \"method\" are texts of at most 200 bytes.";
	if (!copy_member(wish, STR("fault"), fault->text) ||
	    !copy_member(wish, STR("path"), fault->path) ||
	    !copy_member(wish, STR("method"), fault->method))
		return FAULT_REFUSED;
	*out_why = "\"times\" is a whole number from 1 to 1000000.";
	if (!read_times(wish, &fault->times))
		return FAULT_REFUSED;
	return fault_plan_read(str_from(fault->text), &fault->plan, out_why);
}

static int switch_keys(struct faults *faults, const struct json_value *value, const char **out_why)
{
	*out_why = "\"honour_keys\" is true or false, and stands alone.";
	if (value->type != JSON_TRUE && value->type != JSON_FALSE)
		return FAULT_REFUSED;
	faults->honours_keys = value->type == JSON_TRUE;
	return 0;
}

int faults_add(struct faults *faults, const struct json_value *wish, const char **out_why)
{
	const struct json_value *honour = json_member(wish, STR("honour_keys"));
	struct fault *fault;
	int r;

	if (honour && wish->object.count == 1)
		return switch_keys(faults, honour, out_why);
	if (faults->count == FAULTS_MAX) {
		*out_why = "1000 faults wait already; DELETE /faults drops them.";
		return FAULT_REFUSED;
	}
	fault = calloc(1, sizeof(*fault));
	if (!fault)
		return fail(FAIL_MEMORY);
	r = read_wish(wish, fault, out_why);
	if (r != 0) {
		free(fault);
		return r;
	}
	list_append(&faults->queue, &fault->link);
	faults->count++;
	return 0;
}

static bool is_meant(const struct fault *fault, struct str method, struct str path)
{
	bool is_method = !*fault->method
				 ? str_equal(method, STR("POST")) || str_equal(method, STR("PUT"))
				 : strcmp(fault->method, "*") == 0 ||
					   str_equal(method, str_from(fault->method));

	return is_method &&
	       (!*fault->path ? fault_may_meet(path) : str_equal(path, str_from(fault->path)));
}

bool faults_take(struct faults *faults, struct str method, struct str path,
		 struct fault_plan *out_plan)
{
	struct list *link, *after;

	fault_plan_none(out_plan);
	list_for_each (link, after, &faults->queue) {
		struct fault *fault = list_entry(link, struct fault, link);

		if (!is_meant(fault, method, path))
			continue;
		*out_plan = fault->plan;
		if (--fault->times == 0)
			drop_fault(faults, fault);
		return true;
	}
	return false;
}

void faults_write(const struct faults *faults, struct json_writer *writer)
{
	struct list *link, *after;

	json_open_object(writer);
	json_name(writer, "faults");
	json_open_array(writer);
	list_for_each (link, after, &faults->queue) {
		const struct fault *fault = list_entry(link, struct fault, link);

		json_open_object(writer);
		json_name(writer, "fault");
		json_text(writer, fault->text);
		json_name(writer, "times");
		json_integer(writer, (int64_t)fault->times);
		json_name(writer, "path");
		json_text(writer, *fault->path ? fault->path : NULL);
		json_name(writer, "method");
		json_text(writer, *fault->method ? fault->method : NULL);
		json_close_object(writer);
	}
	json_close_array(writer);
	json_name(writer, "honour_keys");
	json_boolean(writer, faults->honours_keys);
	json_close_object(writer);
}
