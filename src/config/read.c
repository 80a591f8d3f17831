/*
 * One value: from a node of the file into a member of the settings.
 *
 * Every kind has one reader. It checks the shape of the node, then the text, then the
 * range, reports the first of these that is wrong, and writes the member only when all are
 * right. Defaults of the table come this way, too.
 */
#include "config/table.h"

#include "base/err.h"
#include "config/values.h"
#include "core/secret.h"

#include <sched.h>
#include <stdarg.h>

enum { MEND_MAX = 256 };

static int read_scalar(struct reading *reading, const struct setting *setting, void *member,
		       struct node *node);
static int read_list(struct reading *reading, const struct setting *setting, void *member,
		     struct node *node);

/* What a node has to be. A status may stand alone, as a list of one. */
static enum node_kind shape_of(const struct setting *setting, const struct node *node)
{
	switch (setting->kind) {
	case KIND_WHEN:
	case KIND_STATUS:
		return node->kind == NODE_LIST ? NODE_LIST : NODE_SCALAR;
	case KIND_METHODS:
	case KIND_STATUSES:
	case KIND_NETWORKS:
	case KIND_HEADERS:
	case KIND_VALUES:
	case KIND_PARTS:
	case KIND_PATHS:
	case KIND_WORDS:
	case KIND_ANCHORS:
	case KIND_WITNESSES:
	case KIND_CONDITIONS:
		return NODE_LIST;
	case KIND_FIELDS:
	case KIND_ITEM:
		return NODE_MAP;
	default:
		return NODE_SCALAR;
	}
}

static bool is_nothing(const struct node *node)
{
	return node->kind == NODE_SCALAR && node->is_plain &&
	       (node->text.len == 0 || str_equal(node->text, STR("~")) ||
		str_equal(node->text, STR("null")));
}

static const char *sample(const struct setting *setting)
{
	return setting->example ? setting->example : setting->default_value;
}

static int read_node(struct reading *reading, const struct setting *setting, void *member,
		     struct node *node)
{
	static const char *const found[] = {"a single value", "a list", "a mapping"};
	enum node_kind expected = shape_of(setting, node);
	char mend[MEND_MAX];

	if (setting->kind == KIND_VALUE)
		return value_read_of_action(reading, setting, member, node);
	snprintf(mend, sizeof(mend), "write %s, like %s", setting_type(setting), sample(setting));
	if (is_nothing(node)) {
		value_report(reading, setting, node->place, mend, "has no value");
		return 0;
	}
	if (node->kind != expected) {
		value_report(reading, setting, node->place, mend, "is %s where %s belongs",
			     found[node->kind], setting_type(setting));
		return 0;
	}
	if (expected == NODE_LIST)
		return read_list(reading, setting, member, node);
	if (node->text.len > SETTINGS_TEXT_MAX) {
		value_report(reading, setting, node->place, "write at most 4096 bytes",
			     "is too long");
		return 0;
	}
	return read_scalar(reading, setting, member, node);
}

size_t reading_errors(const struct reading *reading)
{
	return reading->report->count + reading->report->left_out;
}

int value_read(struct reading *reading, const struct setting *setting, void *base,
	       struct node *node)
{
	size_t before = reading_errors(reading);
	int r;

	if (node->is_refused)
		return 0;
	r = read_node(reading, setting, (char *)base + setting->at, node);
	if (reading_errors(reading) > before)
		node->is_refused = true;
	return r;
}

void value_report(struct reading *reading, const struct setting *setting, struct place place,
		  const char *mend, const char *format, ...)
{
	char what[MEND_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	report_add(reading->report, place, mend, "%s %s", setting_short_name(setting), what);
}

typedef bool number_reader(struct str text, int64_t *out_number);

static void report_not_a(struct reading *reading, const struct setting *setting,
			 const struct node *node, const char *mend)
{
	char shown[QUOTE_SIZE];

	value_report(reading, setting, node->place, mend, "is `%s`, which is not %s",
		     quote(shown, node->text), setting_type(setting));
}

/* The two ends of "1s to 10m", in the setting's own unit. */
static void read_range(const struct setting *setting, number_reader *read, int64_t *out_min,
		       int64_t *out_max)
{
	const char *middle = strstr(setting->range, " to ");

	require(middle);
	require(read(str_of(setting->range, (size_t)(middle - setting->range)), out_min));
	require(read(str_from(middle + 4), out_max));
}

/* A number in its range: true and *out; else it has been reported. */
static bool read_number(struct reading *reading, const struct setting *setting,
			const struct node *node, number_reader *read, const char *mend,
			int64_t *out)
{
	char range_mend[MEND_MAX], shown[QUOTE_SIZE];
	int64_t number, min, max;

	if (!read(node->text, &number)) {
		report_not_a(reading, setting, node, mend);
		return false;
	}
	read_range(setting, read, &min, &max);
	if (number < min || number > max) {
		snprintf(range_mend, sizeof(range_mend), "write %s", setting->range);
		value_report(reading, setting, node->place, range_mend, "is %s, out of its range",
			     quote(shown, node->text));
		return false;
	}
	*out = number;
	return true;
}

static void read_duration(struct reading *reading, const struct setting *setting, int64_t *member,
			  const struct node *node)
{
	read_number(reading, setting, node, value_duration,
		    "write a whole number and its unit, ms, s, m, h or d, like 250ms or 30s",
		    member);
}

static void read_size(struct reading *reading, const struct setting *setting, size_t *member,
		      const struct node *node)
{
	int64_t bytes;

	if (read_number(reading, setting, node, value_size,
			"write a whole number of bytes, or with KiB, MiB, GiB, KB, MB or GB",
			&bytes))
		*member = (size_t)bytes;
}

static void read_count(struct reading *reading, const struct setting *setting, uint32_t *member,
		       const struct node *node)
{
	int64_t count;

	if (read_number(reading, setting, node, value_count, "write digits alone", &count))
		*member = (uint32_t)count;
}

/* The processors this process may run on, at least one. */
static uint32_t count_cores(void)
{
	cpu_set_t set;
	int count;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	count = CPU_COUNT(&set);
	if (count < 1)
		return 1;
	return count > SETTINGS_THREADS_MAX ? SETTINGS_THREADS_MAX : (uint32_t)count;
}

static void read_threads(struct reading *reading, const struct setting *setting, uint32_t *member,
			 const struct node *node)
{
	if (str_equal(node->text, STR("cores")))
		*member = count_cores();
	else
		read_count(reading, setting, member, node);
}

static void read_bool(struct reading *reading, const struct setting *setting, bool *member,
		      const struct node *node)
{
	bool is_true = str_equal(node->text, STR("true"));

	if (node->is_plain && (is_true || str_equal(node->text, STR("false"))))
		*member = is_true;
	else
		report_not_a(reading, setting, node, "write true or false, without quotes");
}

/* Cut the next word off "a | b | c"; false at the end. */
static bool next_word(struct str *words, struct str *out_word)
{
	if (!str_split(words, '|', out_word))
		return false;
	*out_word = str_trim(*out_word);
	return true;
}

/* A word that this build knows of but cannot do; "x://" stands for all that begins so. */
static bool is_later(const struct setting *setting, struct str text, struct str *out_word)
{
	struct str words = str_from(setting->later);

	while (next_word(&words, out_word)) {
		bool is_prefix = out_word->len > 0 && out_word->at[out_word->len - 1] == '/';

		if (str_equal(text, *out_word) || (is_prefix && str_starts_with(text, *out_word)))
			return true;
	}
	return false;
}

static void read_choice(struct reading *reading, const struct setting *setting, int *member,
			const struct node *node)
{
	struct str words = str_from(setting->range), word;
	char mend[MEND_MAX], shown[QUOTE_SIZE];

	for (int i = 0; next_word(&words, &word); i++) {
		if (str_equal(node->text, word)) {
			*member = i;
			return;
		}
	}
	snprintf(mend, sizeof(mend), "write %s", setting->range);
	if (is_later(setting, node->text, &word))
		value_report(reading, setting, node->place, mend, "`%.*s` is not in this build",
			     STR_ARG(word));
	else
		value_report(reading, setting, node->place, mend,
			     "is `%s`, which is none of its words", quote(shown, node->text));
}

/* Text without control characters, in the settings' own memory. */
static int keep_text(struct reading *reading, const struct setting *setting, struct str *member,
		     const struct node *node)
{
	struct str copy;

	if (node->text.len == 0) {
		value_report(reading, setting, node->place, "write a value, or remove the line",
			     "is empty");
		return 0;
	}
	for (size_t i = 0; i < node->text.len; i++) {
		unsigned char c = (unsigned char)node->text.at[i];

		if (c < 0x20 || c == 0x7f) {
			value_report(reading, setting, node->place, "remove it",
				     "holds a control character");
			return 0;
		}
	}
	copy = arena_str(&reading->settings->mem, node->text);
	if (!copy.at)
		return fail(FAIL_MEMORY);
	*member = copy;
	return 0;
}

/* What a reader of values.h said, passed on. */
static int pass_on(struct reading *reading, const struct setting *setting, const struct node *node,
		   int r, const struct value_refusal *refusal)
{
	if (r != VALUE_REFUSED)
		return r;
	value_report(reading, setting, node->place, refusal->mend, "%s", refusal->what);
	return 0;
}

static int read_header(struct reading *reading, const struct setting *setting, struct str *member,
		       const struct node *node)
{
	struct value_refusal refusal;
	int r = value_header(node->text, &refusal);

	if (r != 0)
		return pass_on(reading, setting, node, r, &refusal);
	return keep_text(reading, setting, member, node);
}

static int read_sent(struct reading *reading, const struct setting *setting, struct str *member,
		     const struct node *node)
{
	struct value_refusal refusal;
	int r = value_sent_header(node->text, &refusal);

	if (r != 0)
		return pass_on(reading, setting, node, r, &refusal);
	return keep_text(reading, setting, member, node);
}

/* Only a name: a secret itself has no place in a file, and is not shown if it is there. */
static int read_secret_name(struct reading *reading, const struct setting *setting,
			    struct str *member, const struct node *node)
{
	if (secret_name_is_fine(node->text))
		return keep_text(reading, setting, member, node);
	value_report(reading, setting, node->place,
		     "write 1 to 64 letters, digits, `.`, `-` or `_`; the secret itself is kept "
		     "by `counterfoil secret set NAME`",
		     "is not the name of a secret");
	return 0;
}

/* One status into a set. */
static void read_status(struct reading *reading, const struct setting *setting, uint64_t member[8],
			const struct node *node)
{
	int64_t status;

	if (read_number(reading, setting, node, value_count,
			"write numbers, like 200 or [429, 503]", &status))
		status_class_add(member, (int)status);
}

static int read_scalar(struct reading *reading, const struct setting *setting, void *member,
		       struct node *node)
{
	struct arena *mem = &reading->settings->mem;
	struct value_refusal refusal;

	switch (setting->kind) {
	case KIND_ADDRESS:
		return pass_on(reading, setting, node,
			       value_address(node->text, mem, member, &refusal), &refusal);
	case KIND_URL:
		return pass_on(reading, setting, node, value_url(node->text, mem, member, &refusal),
			       &refusal);
	case KIND_PATH:
	case KIND_TEXT:
		return keep_text(reading, setting, member, node);
	case KIND_HEADER:
		return read_header(reading, setting, member, node);
	case KIND_DURATION:
		read_duration(reading, setting, member, node);
		return 0;
	case KIND_SIZE:
		read_size(reading, setting, member, node);
		return 0;
	case KIND_COUNT:
		read_count(reading, setting, member, node);
		return 0;
	case KIND_THREADS:
		read_threads(reading, setting, member, node);
		return 0;
	case KIND_BOOL:
		read_bool(reading, setting, member, node);
		return 0;
	case KIND_CHOICE:
		read_choice(reading, setting, member, node);
		return 0;
	case KIND_SENT:
		return read_sent(reading, setting, member, node);
	case KIND_SECRET:
		return read_secret_name(reading, setting, member, node);
	case KIND_CREDENTIAL_HEADER:
		return str_equal_nocase(node->text, STR("Authorization"))
			       ? keep_text(reading, setting, member, node)
			       : read_sent(reading, setting, member, node);
	case KIND_STATUS:
		read_status(reading, setting, member, node);
		return 0;
	case KIND_PART:
	case KIND_MEMBER:
	case KIND_WHEN:
	case KIND_ANSWER:
	case KIND_QUESTION:
		return value_read_of_rule(reading, setting, member, node);
	case KIND_ROUTE:
	case KIND_POINTER:
	case KIND_FIELDS:
	case KIND_ITEM:
	case KIND_PATTERN:
	case KIND_NUMBER:
		return value_read_of_action(reading, setting, member, node);
	default:
		unreachable("a kind without a reader");
	}
}

bool read_is_item(struct reading *reading, const struct setting *setting, const struct node *item)
{
	char mend[MEND_MAX];

	if (item->is_refused)
		return false;
	if (item->kind == NODE_SCALAR && !is_nothing(item))
		return true;
	snprintf(mend, sizeof(mend), "write a list like %s", sample(setting));
	value_report(reading, setting, item->place, mend, "has an item that is not a single value");
	return false;
}

bool read_is_repeated(const struct node *list, const struct node *item)
{
	for (const struct node *other = list->first; other != item; other = other->next) {
		if (other->kind == NODE_SCALAR && str_equal(other->text, item->text))
			return true;
	}
	return false;
}

static void report_item(struct reading *reading, const struct setting *setting,
			const struct node *item, const struct value_refusal *refusal)
{
	char shown[QUOTE_SIZE];

	value_report(reading, setting, item->place, refusal->mend, "lists `%s`, which %s",
		     quote(shown, item->text), refusal->what);
}

static const struct value_refusal repeated = {"is there already", "remove one of the two"};

static int read_methods(struct reading *reading, const struct setting *setting,
			const struct node *node)
{
	struct settings *settings = reading->settings;
	struct str *methods = arena_alloc(&settings->mem, (node->count + 1) * sizeof(*methods));
	struct value_refusal refusal;
	size_t count = 0;

	if (!methods)
		return fail(FAIL_MEMORY);
	for (const struct node *item = node->first; item; item = item->next) {
		if (!read_is_item(reading, setting, item))
			continue;
		if (value_method(item->text, &refusal) != 0) {
			report_item(reading, setting, item, &refusal);
		} else if (read_is_repeated(node, item)) {
			report_item(reading, setting, item, &repeated);
		} else {
			methods[count] = arena_str(&settings->mem, item->text);
			if (!methods[count++].at)
				return fail(FAIL_MEMORY);
		}
	}
	settings->protect.methods = methods;
	settings->protect.count = count;
	return 0;
}

static void read_statuses(struct reading *reading, const struct setting *setting,
			  uint64_t member[8], const struct node *node)
{
	memset(member, 0, 8 * sizeof(*member));
	for (const struct node *item = node->first; item; item = item->next) {
		if (!read_is_item(reading, setting, item))
			continue;
		if (read_is_repeated(node, item))
			report_item(reading, setting, item, &repeated);
		else
			read_status(reading, setting, member, item);
	}
	if (setting->kind == KIND_STATUS && node->count == 0)
		value_report(reading, setting, node->place, "list at least one status, like 200",
			     "is empty");
}

static int read_networks(struct reading *reading, const struct setting *setting,
			 struct network_list *member, const struct node *node)
{
	struct settings_network *networks =
		arena_alloc(&reading->settings->mem, (node->count + 1) * sizeof(*networks));
	struct value_refusal refusal;
	size_t count = 0;

	if (!networks)
		return fail(FAIL_MEMORY);
	for (const struct node *item = node->first; item; item = item->next) {
		if (!read_is_item(reading, setting, item))
			continue;
		if (value_network(item->text, &networks[count], &refusal) != 0)
			report_item(reading, setting, item, &refusal);
		else if (read_is_repeated(node, item))
			report_item(reading, setting, item, &repeated);
		else
			count++;
	}
	*member = (struct network_list){.networks = networks, .count = count};
	return 0;
}

static int read_list(struct reading *reading, const struct setting *setting, void *member,
		     struct node *node)
{
	if (node->count > SETTINGS_LIST_MAX) {
		value_report(reading, setting, node->place, "write at most 256 items",
			     "has too many items");
		return 0;
	}
	switch (setting->kind) {
	case KIND_METHODS:
		return read_methods(reading, setting, node);
	case KIND_STATUSES:
	case KIND_STATUS:
		read_statuses(reading, setting, member, node);
		return 0;
	case KIND_NETWORKS:
		return read_networks(reading, setting, member, node);
	case KIND_HEADERS:
	case KIND_VALUES:
		return value_read_of_action(reading, setting, member, node);
	case KIND_PARTS:
	case KIND_PATHS:
	case KIND_WORDS:
	case KIND_ANCHORS:
	case KIND_WITNESSES:
	case KIND_WHEN:
	case KIND_CONDITIONS:
		return value_read_of_rule(reading, setting, member, node);
	default:
		unreachable("a list without a reader");
	}
}
