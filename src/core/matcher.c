/*
 * Matching within bounds.
 *
 * The library locks an expression while it matches, so the lock around it here makes nobody wait
 * who did not wait before. A text costs its length squared, which is what trying from each byte
 * comes to; from the start alone it costs its length.
 */
#include "core/matcher.h"

#include "base/err.h"

/* Each byte may leave a state of some KiB behind. */
enum { SEEN_MAX = 16 * 1024 };

static bool is_anchored(struct str pattern);

static int compile(struct matcher *matcher)
{
	int r = regcomp(&matcher->regex, matcher->pattern, REG_EXTENDED | REG_NOSUB);

	matcher->is_compiled = r == 0;
	matcher->seen = 0;
	return r;
}

int matcher_init(struct matcher *matcher, const char *pattern)
{
	int r;

	*matcher = (struct matcher){.pattern = pattern};
	r = compile(matcher);
	if (r != 0)
		return r;
	matcher->is_anchored = is_anchored(str_from(pattern));
	pthread_mutex_init(&matcher->lock, NULL);
	return 0;
}

void matcher_fini(struct matcher *matcher)
{
	if (matcher->is_compiled)
		regfree(&matcher->regex);
	pthread_mutex_destroy(&matcher->lock);
}

size_t matcher_cost(const struct matcher *matcher, size_t len)
{
	return matcher->is_anchored ? len : len * len;
}

/* False: there is no memory for it; the next one to ask tries again. */
static bool is_ready(struct matcher *matcher, size_t len)
{
	if (matcher->is_compiled && matcher->seen + len > SEEN_MAX) {
		regfree(&matcher->regex);
		matcher->is_compiled = false;
	}
	return matcher->is_compiled || compile(matcher) == 0;
}

int matcher_ask(struct matcher *matcher, struct str text, bool *out_does)
{
	char terminated[MATCHER_TEXT_MAX + 1]; /* as the library wants it */
	int r = REG_ESPACE;

	require(text.len <= MATCHER_TEXT_MAX && str_find(text, '\0') == text.len);
	if (text.len)
		memcpy(terminated, text.at, text.len);
	terminated[text.len] = '\0';
	pthread_mutex_lock(&matcher->lock);
	if (is_ready(matcher, text.len)) {
		matcher->seen += text.len;
		r = regexec(&matcher->regex, terminated, 0, NULL, 0);
	}
	pthread_mutex_unlock(&matcher->lock);
	*out_does = r == 0;
	return r == REG_ESPACE ? FAIL_MEMORY : 0;
}

/* The index of the bracket that closes the one at `i`. */
static size_t bracket_end(struct str pattern, size_t i)
{
	i += i + 1 < pattern.len && pattern.at[i + 1] == '^' ? 2 : 1;
	do
		i++;
	while (i < pattern.len && pattern.at[i] != ']');
	return i;
}

/*
 * It begins with ^, and every | is inside parentheses. A bracket expression with a class is not
 * looked through: beside a | it makes the answer no, which only costs.
 */
static bool is_anchored(struct str pattern)
{
	bool has_class =
		strstr(pattern.at, "[:") || strstr(pattern.at, "[.") || strstr(pattern.at, "[=");
	size_t depth = 0;

	if (!str_starts_with(pattern, STR("^")))
		return false;
	for (size_t i = 1; i < pattern.len; i++) {
		char c = pattern.at[i];

		if (c == '|' && (depth == 0 || has_class))
			return false;
		if (c == '\\')
			i++;
		else if (c == '[')
			i = bracket_end(pattern, i);
		else if (c == '(')
			depth++;
		else if (c == ')' && depth > 0)
			depth--;
	}
	return true;
}
