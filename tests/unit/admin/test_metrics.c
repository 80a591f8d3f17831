/* Shows that the metrics are valid Prometheus text (version 0.0.4) and say what the workers
 * counted: every line is read again by the rules of that format. */
#include "admin_test.h"

#include "admin/admin.h"
#include "core/inquiry.h"
#include "store/store_mem.h"

enum { WORKERS = 2, FAMILIES_MAX = 64, SAMPLES_MAX = 512 };

struct sample {
	struct str name, labels; /* labels: what is between the braces */
	struct str text;	 /* of the value */
	double value;
};

struct page {
	struct gate gate;
	struct settings settings;
	struct settings_hold hold;
	struct worker *workers;
	struct store_mem_script script;
	struct buf text;
	struct str families[FAMILIES_MAX], types[FAMILIES_MAX];
	size_t family_count;
	struct sample samples[SAMPLES_MAX];
	size_t sample_count;
};

static int set_up(void **state)
{
	struct page *page = calloc(1, sizeof(*page));

	page->workers = calloc(WORKERS, sizeof(*page->workers));
	assert_int_equal(store_open_memory(&page->script, &env_machine, NULL, &page->gate.store),
			 0);
	page->settings.data = STR("/nowhere-at-all");
	page->hold.settings = &page->settings;
	page->gate.hold = &page->hold;
	page->gate.env = &env_machine;
	page->gate.workers = page->workers;
	page->gate.worker_count = WORKERS;
	waiting_room_init(&page->gate.waiting);
	buf_init(&page->text, 1024 * 1024);
	*state = page;
	return 0;
}

static int tear_down(void **state)
{
	struct page *page = *state;

	store_close(page->gate.store);
	waiting_room_fini(&page->gate.waiting);
	buf_fini(&page->text);
	free(page->workers);
	free(page);
	return 0;
}

/* Reading. */

static bool is_name(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = ascii_lower(text.at[i]);

		if (!(c >= 'a' && c <= 'z') && c != '_' && !(i > 0 && c >= '0' && c <= '9'))
			return false;
	}
	return text.len > 0;
}

static struct str cut(struct str *rest, char separator)
{
	struct str part = str_of(NULL, 0);

	str_split(rest, separator, &part);
	return part;
}

static bool has_family(const struct page *page, struct str name)
{
	for (size_t i = 0; i < page->family_count; i++) {
		if (str_equal(page->families[i], name))
			return true;
	}
	return false;
}

/* "# HELP name text" and right after it "# TYPE name type", once a name. */
static void read_family(struct page *page, struct str help, struct str *rest)
{
	struct str type = cut(rest, '\n'), name;

	assert_true(str_starts_with(help, STR("# HELP ")));
	assert_true(str_starts_with(type, STR("# TYPE ")));
	help = str_from_index(help, 7);
	type = str_from_index(type, 7);
	name = cut(&help, ' ');
	assert_true(str_equal(cut(&type, ' '), name));
	assert_true(is_name(name) && help.len > 0);
	assert_true(str_equal(type, STR("counter")) || str_equal(type, STR("gauge")) ||
		    str_equal(type, STR("histogram")));
	assert_false(has_family(page, name));
	assert_in_range(page->family_count, 0, FAMILIES_MAX - 1);
	page->families[page->family_count] = name;
	page->types[page->family_count++] = type;
}

/* name="value" pairs with commas between. */
static void check_labels(struct str labels)
{
	while (labels.len) {
		struct str name = cut(&labels, '='), text;

		assert_true(is_name(name));
		assert_true(labels.len >= 2 && labels.at[0] == '"');
		labels = str_from_index(labels, 1);
		text = cut(&labels, '"');
		assert_int_equal(str_find(text, '\\'), text.len); /* nothing needs an escape */
		if (labels.len) {
			assert_true(labels.at[0] == ',' && labels.len > 1);
			labels = str_from_index(labels, 1);
		}
	}
}

/* Does a sample of this name belong to the family described last? */
static bool is_of_family(const struct page *page, struct str name)
{
	struct str family = page->families[page->family_count - 1];
	struct str end = str_from_index(name, family.len);

	if (!str_starts_with(name, family))
		return false;
	if (!str_equal(page->types[page->family_count - 1], STR("histogram")))
		return end.len == 0;
	return str_equal(end, STR("_bucket")) || str_equal(end, STR("_sum")) ||
	       str_equal(end, STR("_count"));
}

static void read_sample(struct page *page, struct str line)
{
	struct sample *sample = &page->samples[page->sample_count++];
	size_t brace = str_find(line, '{');
	char number[64], *end;

	assert_in_range(page->sample_count, 1, SAMPLES_MAX);
	if (brace < line.len) {
		sample->name = cut(&line, '{');
		sample->labels = cut(&line, '}');
		assert_true(sample->labels.len > 0);
		check_labels(sample->labels);
		assert_true(line.len > 1 && line.at[0] == ' ');
		line = str_from_index(line, 1);
	} else {
		sample->name = cut(&line, ' ');
	}
	assert_true(is_name(sample->name));
	assert_true(page->family_count > 0 && is_of_family(page, sample->name));
	assert_in_range(line.len, 1, sizeof(number) - 1);
	memcpy(number, line.at, line.len);
	number[line.len] = '\0';
	sample->text = line;
	sample->value = strtod(number, &end);
	assert_true(*end == '\0' && sample->value >= 0);
}

static void read_page(struct page *page)
{
	struct str rest, line;

	buf_clear(&page->text);
	page->family_count = page->sample_count = 0;
	admin_metrics(&(struct admin){.gate = &page->gate}, &page->text);
	assert_false(page->text.is_spoiled);
	rest = buf_str(&page->text);
	assert_true(rest.len > 0 && rest.at[rest.len - 1] == '\n');
	rest.len--; /* every line ends, so there is none after the last */
	while (str_split(&rest, '\n', &line)) {
		assert_true(line.len > 0);
		if (line.at[0] == '#')
			read_family(page, line, &rest);
		else
			read_sample(page, line);
	}
}

static const struct sample *find(const struct page *page, const char *name, const char *labels)
{
	for (size_t i = 0; i < page->sample_count; i++) {
		if (str_equal(page->samples[i].name, str_from(name)) &&
		    str_equal(page->samples[i].labels, str_from(labels)))
			return &page->samples[i];
	}
	print_error("no %s{%s}\n", name, labels);
	assert_true(false);
	return NULL;
}

static double value(const struct page *page, const char *name, const char *labels)
{
	return find(page, name, labels)->value;
}

static void assert_value(const struct page *page, const char *name, const char *labels,
			 int expected)
{
	double found = value(page, name, labels);

	if (found != (double)expected)
		print_error("%s{%s} is %g, not %d\n", name, labels, found, expected);
	assert_true(found == (double)expected);
}

/* The shape. */

static void every_line_is_valid_and_no_sample_comes_twice(void **state)
{
	struct page *page = *state;

	read_page(page);
	assert_true(page->family_count > 15);
	for (size_t i = 0; i < page->sample_count; i++) {
		for (size_t k = i + 1; k < page->sample_count; k++)
			assert_false(str_equal(page->samples[i].name, page->samples[k].name) &&
				     str_equal(page->samples[i].labels, page->samples[k].labels));
	}
}

static bool ends_with(struct str text, struct str end)
{
	return text.len >= end.len && str_equal(str_from_index(text, text.len - end.len), end);
}

static void names_follow_the_rules(void **state)
{
	struct page *page = *state;

	read_page(page);
	for (size_t i = 0; i < page->family_count; i++) {
		struct str name = page->families[i];

		assert_true(str_starts_with(name, STR("counterfoil_")));
		assert_int_equal(ends_with(name, STR("_total")),
				 str_equal(page->types[i], STR("counter")));
	}
}

/* Buckets of one histogram: bounds grow, counts never fall, the last is all of them. */
static void check_histogram(const struct page *page, struct str family)
{
	double bound = -1, count = 0, total = -1;
	bool has_end = false;

	for (size_t i = 0; i < page->sample_count; i++) {
		const struct sample *sample = &page->samples[i];
		struct str end = str_from_index(sample->name, family.len);
		double le;

		if (!str_starts_with(sample->name, family))
			continue;
		if (str_equal(end, STR("_count")))
			total = sample->value;
		if (!str_equal(end, STR("_bucket")))
			continue;
		assert_true(str_starts_with(sample->labels, STR("le=\"")));
		le = strtod(sample->labels.at + 4, NULL); /* "+Inf" too */
		assert_true(le > bound);
		assert_true(sample->value >= count);
		bound = le;
		count = sample->value;
		has_end = str_equal(sample->labels, STR("le=\"+Inf\""));
	}
	assert_true(has_end);
	assert_true(count == total);
}

static void histograms_are_cumulative_and_whole(void **state)
{
	struct page *page = *state;
	int histograms = 0;

	for (int i = 0; i < 1000; i++) {
		histogram_add(&page->workers[i % WORKERS].metrics.upstream, i * i * 20);
		histogram_add(&page->workers[0].metrics.request, i);
	}
	read_page(page);
	for (size_t i = 0; i < page->family_count; i++) {
		if (!str_equal(page->types[i], STR("histogram")))
			continue;
		check_histogram(page, page->families[i]);
		histograms++;
	}
	assert_int_equal(histograms, 4);
	assert_value(page, "counterfoil_upstream_seconds_count", "", 1000);
	assert_value(page, "counterfoil_request_seconds_bucket", "le=\"0.00025\"", 251);
	assert_value(page, "counterfoil_request_seconds_bucket", "le=\"0.0005\"", 501);
}

static void a_time_is_counted_in_its_bucket(void **state)
{
	struct page *page = *state;
	struct histogram *histogram = &page->workers[1].metrics.upstream;

	histogram_add(histogram, 250); /* the bound belongs to it */
	histogram_add(histogram, 251);
	histogram_add(histogram, 8192000); /* the last bound */
	histogram_add(histogram, 8192001); /* more than all */
	histogram_add(histogram, -5);	   /* a clock that went back */
	read_page(page);
	assert_value(page, "counterfoil_upstream_seconds_bucket", "le=\"0.00025\"", 2);
	assert_value(page, "counterfoil_upstream_seconds_bucket", "le=\"0.0005\"", 3);
	assert_value(page, "counterfoil_upstream_seconds_bucket", "le=\"4.096\"", 3);
	assert_value(page, "counterfoil_upstream_seconds_bucket", "le=\"8.192\"", 4);
	assert_value(page, "counterfoil_upstream_seconds_bucket", "le=\"+Inf\"", 5);
	assert_value(page, "counterfoil_upstream_seconds_count", "", 5);
}

/* After some days a sum is large, and a rate is the difference of two of them. */
static void a_sum_keeps_its_small_digits(void **state)
{
	struct page *page = *state;

	metrics_add(&page->workers[0].metrics.upstream.sum_us, UINT64_C(1234567890123));
	read_page(page);
	assert_true(str_equal(find(page, "counterfoil_upstream_seconds_sum", "")->text,
			      STR("1234567.890123")));
	histogram_add(&page->workers[1].metrics.upstream, 1);
	read_page(page);
	assert_true(str_equal(find(page, "counterfoil_upstream_seconds_sum", "")->text,
			      STR("1234567.890124")));
}

/* The numbers. */

static void workers_are_added_up(void **state)
{
	struct page *page = *state;

	metrics_add(&page->workers[0].metrics.outcomes[OUTCOME_CREATED], 3);
	metrics_add(&page->workers[1].metrics.outcomes[OUTCOME_CREATED], 4);
	metrics_add(&page->workers[1].metrics.outcomes[OUTCOME_EXPIRED], 1);
	metrics_add(&page->workers[1].metrics.outcomes[0], 2);
	metrics_add(&page->workers[0].metrics.passed[2], 5);
	metrics_add(&page->workers[0].metrics.passed[5], 6);
	metrics_add(&page->workers[0].metrics.passed_broken, 7);
	metrics_set(&page->workers[0].metrics.connections_open, 8);
	metrics_set(&page->workers[1].metrics.connections_open, 9);
	atomic_store(&page->gate.waiting.count, 11);
	read_page(page);
	assert_value(page, "counterfoil_requests_total", "outcome=\"created\"", 7);
	assert_value(page, "counterfoil_requests_total", "outcome=\"expired\"", 1);
	assert_value(page, "counterfoil_requests_total", "outcome=\"none\"", 2);
	assert_value(page, "counterfoil_requests_total", "outcome=\"replayed\"", 0);
	assert_value(page, "counterfoil_passed_total", "class=\"2xx\"", 5);
	assert_value(page, "counterfoil_passed_total", "class=\"5xx\"", 6);
	assert_value(page, "counterfoil_passed_broken_total", "", 7);
	assert_value(page, "counterfoil_connections_open", "", 17);
	assert_value(page, "counterfoil_waiters", "", 11);
	atomic_store(&page->gate.waiting.count, 0);
}

/* The background counts in the same struct as a worker; here a worker stands for it. */
static void what_the_gate_does_by_itself_is_shown(void **state)
{
	struct page *page = *state;
	struct metrics *metrics = &page->workers[0].metrics;

	metrics_add(&metrics->dispatched[OUTCOME_CREATED], 3);
	metrics_add(&metrics->dispatched[OUTCOME_NOT_SENT], 4);
	metrics_add(&metrics->gave_up, 5);
	metrics_add(&metrics->asked[INQUIRY_FOUND], 6);
	metrics_add(&metrics->asked[INQUIRY_DOUBT], 7);
	metrics_add(&metrics->resent, 8);
	read_page(page);
	assert_value(page, "counterfoil_dispatched_total", "outcome=\"created\"", 3);
	assert_value(page, "counterfoil_dispatched_total", "outcome=\"not_sent\"", 4);
	assert_value(page, "counterfoil_dispatch_given_up_total", "", 5);
	assert_value(page, "counterfoil_questions_total", "verdict=\"found\"", 6);
	assert_value(page, "counterfoil_questions_total", "verdict=\"absent\"", 0);
	assert_value(page, "counterfoil_questions_total", "verdict=\"doubt\"", 7);
	assert_value(page, "counterfoil_resent_total", "", 8);
}

/* A clock that was set back makes nobody wait for less than no time. */
static void waiting_is_told_in_whole_seconds(void **state)
{
	struct page *page = *state;
	_Atomic uint64_t *asked_ms = &page->workers[0].metrics.oldest_asked_ms;
	uint64_t now_ms = (uint64_t)env_wall_ms(page->gate.env);

	metrics_set(asked_ms, now_ms - 3600500);
	read_page(page);
	assert_in_range((int)value(page, "counterfoil_approval_oldest_age_seconds", ""), 3600,
			3660);
	metrics_set(asked_ms, now_ms + 3600500);
	read_page(page);
	assert_value(page, "counterfoil_approval_oldest_age_seconds", "", 0);
}

/* Each counter of a worker appears under one name of its own. */
static void every_counter_is_shown_once(void **state)
{
	static const struct {
		size_t offset;
		const char *name;
	} counters[] = {
		{offsetof(struct metrics, undelivered), "counterfoil_undelivered_total"},
		{offsetof(struct metrics, requests_open), "counterfoil_requests_open"},
		{offsetof(struct metrics, waiters_refused), "counterfoil_waiters_refused_total"},
		{offsetof(struct metrics, connections_accepted),
		 "counterfoil_connections_accepted_total"},
		{offsetof(struct metrics, connections_refused),
		 "counterfoil_connections_refused_total"},
		{offsetof(struct metrics, messages_refused), "counterfoil_messages_refused_total"},
		{offsetof(struct metrics, timeouts), "counterfoil_timeouts_total"},
		{offsetof(struct metrics, notices_given_up), "counterfoil_notices_given_up_total"},
		{offsetof(struct metrics, notices_waiting), "counterfoil_notices_waiting"},
	};
	struct page *page = *state;

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		char *metrics = (char *)&page->workers[i % WORKERS].metrics;

		metrics_add((_Atomic uint64_t *)(void *)(metrics + counters[i].offset), i + 1);
	}
	read_page(page);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		assert_value(page, counters[i].name, "", (int)i + 1);
}

static void problems_are_counted_by_their_slug(void **state)
{
	struct page *page = *state;

	for (int i = 0; i < PROBLEM_COUNT; i++)
		metrics_add(&page->workers[0].metrics.problems[i], (uint64_t)i + 100);
	read_page(page);
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		const char *slug = problem_kind((enum problem)i)->slug;
		bool has_two = strcmp(slug, "outcome-unknown") == 0;
		char label[64];

		snprintf(label, sizeof(label), "problem=\"%s\"", slug);
		assert_value(page, "counterfoil_problems_total", label,
			     has_two ? PROBLEM_OUTCOME_UNKNOWN + PROBLEM_OUTCOME_UNKNOWN_NOW + 200
				     : i + 100);
	}
}

static void the_problems_fit_into_their_counters(void **state)
{
	assert_in_range(PROBLEM_COUNT, 1, METRICS_PROBLEMS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_line_is_valid_and_no_sample_comes_twice),
		TEST(names_follow_the_rules),
		TEST(histograms_are_cumulative_and_whole),
		TEST(a_time_is_counted_in_its_bucket),
		TEST(a_sum_keeps_its_small_digits),
		TEST(workers_are_added_up),
		TEST(what_the_gate_does_by_itself_is_shown),
		TEST(waiting_is_told_in_whole_seconds),
		TEST(every_counter_is_shown_once),
		TEST(problems_are_counted_by_their_slug),
		TEST(the_problems_fit_into_their_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
