/*
 * From a file and the command line's options to settings.
 *
 * The file becomes a tree (yaml.c); each option is put into the tree in the place of the
 * value it wins over, so that from here on there is one source and one way. Then every key
 * is looked up in the table and its value read, and at last the combinations are checked.
 * Nothing stops at the first error, short of a file that is no tree at all.
 *
 * The tree lives in an arena of its own and is gone when the settings are there.
 */
#include "config/settings.h"

#include "base/err.h"
#include "config/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	TREE_MEMORY_MAX = 32 * 1024 * 1024, /* of one file's tree; its bounds keep it below */
	PATH_MAX_BYTES = 128,		    /* of "limits.max_body"; no setting's is longer */
	UPSTREAM_NAME_MAX = 64,
};

/* What one load is made of. */
struct source {
	struct str text;
	const char *name; /* NULL: there is no file */
	const struct settings_override *overrides;
	bool may_look;
};

static int load_tree(const struct source *source, struct arena *tree,
		     struct settings_report *report, struct settings **out_settings);

int settings_load(const char *file, const struct settings_override *overrides,
		  struct settings **out_settings, struct settings_report *report)
{
	struct source source = {.name = file, .overrides = overrides, .may_look = true};
	struct arena tree;
	struct buf text;
	int r = 0;

	buf_init(&text, SETTINGS_FILE_MAX + 1);
	arena_init(&tree, TREE_MEMORY_MAX);
	if (file)
		r = file_read(file, SETTINGS_FILE_MAX, &text, report);
	source.text = buf_str(&text);
	if (r == 0)
		r = load_tree(&source, &tree, report, out_settings);
	arena_fini(&tree);
	buf_fini(&text);
	return r;
}

int settings_parse(struct str text, const char *name, const struct settings_override *overrides,
		   struct settings **out_settings, struct settings_report *report)
{
	struct source source = {.text = text, .name = name, .overrides = overrides};
	struct arena tree;
	int r;

	require(name);
	arena_init(&tree, TREE_MEMORY_MAX);
	r = load_tree(&source, &tree, report, out_settings);
	arena_fini(&tree);
	return r;
}

static int report_unreadable(struct settings_report *report, const char *file, int error_number)
{
	const char *mend = "let the user the gate runs as read it";

	if (error_number == ENOENT || error_number == ENOTDIR)
		mend = "check its path";
	if (error_number == EISDIR)
		mend = "name a file in it";
	report_add(report, (struct place){.source = file}, mend, "cannot be read: %s",
		   strerror(error_number));
	return SETTINGS_WRONG;
}

static int report_too_large(struct settings_report *report, const char *file)
{
	report_add(report, (struct place){.source = file}, "a configuration has 1 MiB at most",
		   "the file is too large");
	return SETTINGS_WRONG;
}

static int read_all(int fd, const char *file, size_t max, struct buf *text,
		    struct settings_report *report)
{
	enum { PIECE = 65536 };

	while (text->len <= max) {
		size_t room = max + 1 - text->len;
		size_t wanted = room < PIECE ? room : PIECE;
		char *at = buf_reserve(text, wanted);
		ssize_t n;

		if (!at)
			return fail(FAIL_MEMORY);
		n = read(fd, at, wanted);
		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return report_unreadable(report, file, errno);
		buf_commit(text, (size_t)n);
	}
	return 0;
}

int file_read(const char *file, size_t max, struct buf *text, struct settings_report *report)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return report_unreadable(report, file, errno);
	r = read_all(fd, file, max, text, report);
	close(fd);
	return r;
}

/* The value at a path of keys, made where it is missing. NULL without memory. */
static struct node *make_key(struct arena *tree, struct node *map, const char *path,
			     struct place place)
{
	struct str rest = str_from(path), part;
	struct node *key = NULL;

	while (str_split(&rest, '.', &part)) {
		key = node_key(map, part);
		if (!key) {
			key = node_new(tree, NODE_SCALAR, place, part);
			if (!key)
				return NULL;
			node_add(map, key);
		}
		if (!rest.at)
			return key;
		if (!key->value)
			key->value = node_new(tree, NODE_MAP, place, STR(""));
		map = key->value;
		if (!map || map->kind != NODE_MAP)
			return map ? key : NULL;
	}
	return key;
}

/*
 * Put an option over the file. Where the file has no mapping on the way, it stays as it is:
 * it will be reported, and nothing is loaded.
 */
static int put_option(struct arena *tree, struct node *root, const char *path, const char *option,
		      const char *value)
{
	struct place place = {.source = option};
	struct str last = str_from(strrchr(path, '.') ? strrchr(path, '.') + 1 : path);
	struct node *key, *node;

	if (!value)
		return 0;
	node = node_new(tree, NODE_SCALAR, place, str_from(value));
	key = make_key(tree, root, path, place);
	if (!node || !key)
		return fail(FAIL_MEMORY);
	if (str_equal(key->text, last))
		key->value = node;
	return 0;
}

static int put_options(struct arena *tree, struct node *root, const struct settings_override *given)
{
	int r;

	if (!given || root->kind != NODE_MAP)
		return 0;
	r = put_option(tree, root, "listen", "--listen", given->listen);
	if (r == 0)
		r = put_option(tree, root, "admin", "--admin", given->admin);
	if (r == 0)
		r = put_option(tree, root, "upstreams.default.url", "--upstream", given->upstream);
	if (r == 0)
		r = put_option(tree, root, "data", "--data", given->data);
	if (r == 0)
		r = put_option(tree, root, "store", "--store", given->store);
	return r;
}

static int make_tree(const struct source *source, struct arena *tree,
		     struct settings_report *report, struct node **out_root)
{
	struct place nowhere = {.source = "--upstream"};
	struct node *root;
	int r;

	if (source->text.len > SETTINGS_FILE_MAX)
		return report_too_large(report, source->name);
	if (!source->name) {
		root = node_new(tree, NODE_MAP, nowhere, STR(""));
		if (!root)
			return fail(FAIL_MEMORY);
	} else {
		r = yaml_read(source->text, source->name, tree, report, &root);
		if (r != 0)
			return r;
	}
	if (root->kind == NODE_SCALAR && root->is_plain && root->text.len == 0)
		root->kind = NODE_MAP; /* `---` and nothing after it */
	r = put_options(tree, root, source->overrides);
	*out_root = root;
	return r;
}

static int fill(struct reading *reading)
{
	int r = read_defaults(reading, reading->settings, OWNER_SETTINGS);

	if (r == 0 && reading->root->kind != NODE_MAP)
		report_add(reading->report, reading->root->place,
			   "write settings as `name: value`, one a line",
			   "the file is not a mapping");
	else if (r == 0)
		r = read_map(reading, "", reading->settings, reading->root);
	if (r == 0 && reading->root->kind == NODE_MAP)
		r = check_settings(reading);
	return r;
}

static int load_tree(const struct source *source, struct arena *tree,
		     struct settings_report *report, struct settings **out_settings)
{
	struct settings *settings = calloc(1, sizeof(*settings));
	struct reading reading = {
		.settings = settings, .report = report, .may_look = source->may_look};
	size_t before = report->count;
	int r;

	if (!settings)
		return fail(FAIL_MEMORY);
	arena_init(&settings->mem, SETTINGS_MEMORY_MAX);
	r = make_tree(source, tree, report, &reading.root);
	if (r == 0)
		r = fill(&reading);
	free(reading.drafts);
	report_sort(report);
	if (r == 0 && report->count > before)
		r = SETTINGS_WRONG;
	if (r == 0)
		*out_settings = settings;
	else
		settings_free(settings);
	return r;
}

/* A default as a node: "[a, b]" becomes a list, everything else a scalar. */
static struct node *default_node(struct arena *mem, const char *text)
{
	struct place place = {.source = "default"};
	struct str rest = str_from(text), item;
	struct node *list;

	if (rest.at[0] != '[') {
		list = node_new(mem, NODE_SCALAR, place, rest);
		if (list)
			list->is_plain = true;
		return list;
	}
	list = node_new(mem, NODE_LIST, place, STR(""));
	rest = str_of(rest.at + 1, rest.len - 2);
	while (list && rest.len > 0 && str_split(&rest, ',', &item)) {
		struct node *child = node_new(mem, NODE_SCALAR, place, str_trim(item));

		if (!child)
			return NULL;
		node_add(list, child);
	}
	return list;
}

static int read_default(struct reading *reading, const struct setting *setting, void *base)
{
	struct node *node;
	struct arena mem;
	int r;

	arena_init(&mem, TREE_MEMORY_MAX);
	node = default_node(&mem, setting->default_value);
	r = node ? value_read(reading, setting, base, node) : fail(FAIL_MEMORY);
	require(!node || !node->is_refused);
	arena_fini(&mem);
	return r;
}

int read_defaults(struct reading *reading, void *base, enum setting_owner owner)
{
	const struct setting *setting;
	int r = 0;

	for (size_t i = 0; r == 0 && (setting = setting_at(i)); i++) {
		if (setting->default_value && setting_owner(setting) == owner)
			r = read_default(reading, setting, base);
	}
	return r;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

enum { GUESS_MAX = 32 }; /* names longer than this are not compared */

/* How many letters must be put in, left out or changed to get from one to the other. */
static size_t distance(struct str a, struct str b)
{
	size_t row[GUESS_MAX + 1];

	if (a.len > GUESS_MAX || b.len > GUESS_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			size_t change = diagonal + (a.at[i - 1] != b.at[j - 1]);

			diagonal = row[j];
			row[j] = smaller(change, smaller(row[j], row[j - 1]) + 1);
		}
	}
	return row[b.len];
}

/* The part of `name` that stands right below `section`; empty when it does not. */
static struct str child_of(const char *section, const char *name)
{
	struct str child = str_from(name);
	struct str above = str_from(section);

	if (above.len > 0) {
		if (!str_starts_with(child, above) || child.at[above.len] != '.')
			return str_of(NULL, 0);
		child = str_from_index(child, above.len + 1);
	}
	return str_of(child.at, str_find(child, '.'));
}

/* The nearest name that could have been meant in this section; empty when none is near. */
static struct str guess_here(const char *section, struct str key)
{
	struct str best = str_of(NULL, 0);
	size_t best_distance = key.len / 2 < 2 ? key.len / 2 + 1 : 3;
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		struct str child = child_of(section, setting->name);
		size_t d = child.len ? distance(key, child) : SIZE_MAX;

		if (d < best_distance) {
			best_distance = d;
			best = child;
		}
	}
	return best;
}

/* The setting whose last name is `key`, in whatever section; NULL when there is none. */
static const char *guess_elsewhere(struct str key)
{
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		const char *dot = strrchr(setting->name, '.');

		if (dot && str_equal(key, str_from(dot + 1)))
			return setting->name;
	}
	return NULL;
}

/* What people call a section: the asterisks of its name say nothing to them. */
static const char *section_words(const char *section)
{
	static const struct {
		const char *section, *words;
	} owners[] = {
		{"upstreams.*", "an upstream"},
		{"actions.*.fields.*", "a field"},
		{"actions.*.failed_when.*", "failed_when"},
		{"actions.*.approval.when.*", "approval.when"},
		{"actions.*", "an action"},
	};

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		if (strcmp(section, owners[i].section) == 0)
			return owners[i].words;
	}
	if (strncmp(section, ACTION_PREFIX, strlen(ACTION_PREFIX)) == 0)
		return section + strlen(ACTION_PREFIX);
	if (strncmp(section, UPSTREAM_PREFIX, strlen(UPSTREAM_PREFIX)) == 0)
		return section + strlen(UPSTREAM_PREFIX);
	return section;
}

static void report_unknown(struct reading *reading, const char *section, const struct node *key)
{
	struct str near = guess_here(section, key->text);
	const char *far = guess_elsewhere(key->text);
	char mend[256], shown[QUOTE_SIZE];

	if (near.len > 0)
		snprintf(mend, sizeof(mend), "did you mean %.*s?", STR_ARG(near));
	else if (far)
		snprintf(mend, sizeof(mend), "did you mean %s?", far);
	else
		snprintf(mend, sizeof(mend),
			 "remove it; `counterfoil config example` shows every setting");
	report_add(reading->report, key->place, mend, "there is no setting `%s`%s%s",
		   quote(shown, key->text), section[0] ? " in " : "", section_words(section));
}

bool read_is_duplicate(struct reading *reading, const struct node *map, const struct node *key)
{
	const struct node *first = node_key(map, key->text);
	char shown[QUOTE_SIZE];

	if (first == key)
		return false;
	report_add(reading->report, key->place, "keep one of the two",
		   "`%s` is here a second time; the first is in line %zu", quote(shown, key->text),
		   first->place.line);
	return true;
}

static bool is_upstream_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = ascii_lower(name.at[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
			return false;
	}
	return name.len > 0 && name.len <= UPSTREAM_NAME_MAX;
}

bool read_is_mapping(struct reading *reading, const char *what, const char *example,
		     const struct node *node)
{
	char mend[256] = "write its settings below it, indented, or in braces";

	if (node->is_refused)
		return false;
	if (node->kind == NODE_MAP)
		return true;
	if (example[0])
		snprintf(mend, sizeof(mend),
			 "write its settings below it, indented, or in braces, like {%s}", example);
	report_add(reading->report, node->place, mend, "%s is not a mapping", what);
	return false;
}

/* One setting of a section as it could be written, like "by: [invoice_id]"; empty: none is known.
 */
static void write_example(const char *section, char *out, size_t size)
{
	const struct setting *setting;
	size_t length = strlen(section);

	out[0] = '\0';
	for (size_t i = 0; (setting = setting_at(i)); i++) {
		struct str child = child_of(section, setting->name);
		const char *value = setting->example ? setting->example : setting->default_value;

		if (!child.len || !value || child.len != strlen(setting->name) - length - 1)
			continue;
		snprintf(out, size, "%.*s: %s", STR_ARG(child), value);
		return;
	}
}

/* Where an upstream goes: "default" first, the others in the order of the file. */
static struct settings_upstream *place_for(struct settings *settings, const struct node *map,
					   const struct node *key)
{
	bool has_default = node_key(map, STR("default")) != NULL;

	if (str_equal(key->text, STR("default")))
		return &settings->upstreams[0];
	if (has_default && settings->upstream_count == 0)
		settings->upstream_count = 1;
	return &settings->upstreams[settings->upstream_count++];
}

static int read_upstream(struct reading *reading, const struct node *map, struct node *key)
{
	struct settings_upstream *upstream;
	char shown[QUOTE_SIZE];
	int r;

	if (!is_upstream_name(key->text)) {
		report_add(reading->report, key->place, "write 1 to 64 letters, digits, `-` or `_`",
			   "`%s` cannot be the name of an upstream", quote(shown, key->text));
		return 0;
	}
	if (!read_is_mapping(reading, quote(shown, key->text), "url: http://127.0.0.1:9000",
			     key->value))
		return 0;
	upstream = place_for(reading->settings, map, key);
	upstream->name = arena_str(&reading->settings->mem, key->text);
	if (!upstream->name.at)
		return fail(FAIL_MEMORY);
	if (reading->settings->upstream_count == 0)
		reading->settings->upstream_count = 1;
	r = read_defaults(reading, upstream, OWNER_UPSTREAM);
	if (r == 0)
		r = read_map(reading, "upstreams.*", upstream, key->value);
	if (r == 0)
		check_upstream(reading, upstream, key);
	return r;
}

static int read_upstreams(struct reading *reading, struct node *map)
{
	struct settings *settings = reading->settings;
	int r = 0;

	if (map->count > SETTINGS_UPSTREAMS_MAX) {
		report_add(reading->report, map->place, "name 256 at most",
			   "there are too many upstreams");
		return 0;
	}
	settings->upstreams =
		arena_zalloc(&settings->mem, (map->count + 1) * sizeof(*settings->upstreams));
	if (!settings->upstreams)
		return fail(FAIL_MEMORY);
	for (struct node *key = map->first; r == 0 && key; key = key->next) {
		if (!key->is_refused && !read_is_duplicate(reading, map, key))
			r = read_upstream(reading, map, key);
	}
	return r;
}

static int read_key(struct reading *reading, const char *section, void *base, struct node *key)
{
	char path[PATH_MAX_BYTES], example[128];
	const struct setting *setting;
	int length = snprintf(path, sizeof(path), "%s%s%.*s", section, section[0] ? "." : "",
			      STR_ARG(key->text));
	bool is_whole = length > 0 && (size_t)length < sizeof(path) &&
			str_find(key->text, '.') == key->text.len &&
			str_find(key->text, '*') == key->text.len &&
			str_find(key->text, '\0') == key->text.len && key->text.len > 0;

	if (!is_whole) {
		report_unknown(reading, section, key);
		return 0;
	}
	setting = setting_find(str_from(path));
	if (setting && setting->kind == KIND_LATER) {
		report_add(reading->report, key->place, "remove it", "%s", setting->help);
		return 0;
	}
	if (setting && !(setting_is_short(setting) && key->value->kind == NODE_MAP))
		return value_read(reading, setting, base, key->value);
	if (!setting_is_section(str_from(path))) {
		report_unknown(reading, section, key);
		return 0;
	}
	write_example(path, example, sizeof(example));
	if (!read_is_mapping(reading, section_words(path), example, key->value))
		return 0;
	if (str_equal(str_from(path), STR("upstreams")))
		return read_upstreams(reading, key->value);
	if (str_equal(str_from(path), STR("actions")))
		return read_actions(reading, key->value);
	return read_map(reading, path, base, key->value);
}

/*
 * Sections hold settings, upstreams or actions, and are as deep as names in the table. Fields
 * hold fields, as deep as SETTINGS_FIELD_DEPTH_MAX.
 */
int read_map(struct reading *reading, const char *section, void *base, struct node *map)
{
	int r = 0;

	for (struct node *key = map->first; r == 0 && key; key = key->next) {
		if (!key->is_refused && !read_is_duplicate(reading, map, key))
			r = read_key(reading, section, base, key);
	}
	return r;
}
