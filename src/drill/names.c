/*
 * Texts with names in braces.
 *
 * Only the five names are filled in, each where it stands in braces exactly; so bodies, which are
 * full of braces, need no escapes. What is filled in was made by the drill and needs none either,
 * but the id: it comes from the API, goes into URLs alone, and is percent-encoded there.
 */
#include "drill/names.h"

#include "base/buf.h"
#include "core/text.h"

enum { FILLED_MAX = 1024 * 1024 };

static bool find(struct str name, const struct names *names, enum names_as as, struct str *out)
{
	if (str_equal(name, STR("marker")))
		*out = names->marker;
	else if (str_equal(name, STR("run")))
		*out = names->run;
	else if (str_equal(name, STR("case")))
		*out = names->test_case;
	else if (str_equal(name, STR("key")))
		*out = names->key;
	else if (str_equal(name, STR("id")) && as == NAMES_URL && names->id.len)
		*out = names->id;
	else
		return false;
	return true;
}

/* The text between the brace at `at` and the next closing one; NULL: there is none. */
static struct str braced(struct str text, size_t at)
{
	struct str rest = str_from_index(text, at + 1);
	size_t end = str_find(rest, '}');

	return end == rest.len ? str_of(NULL, 0) : str_of(rest.at, end);
}

static void append(struct buf *out, struct str value, enum names_as as)
{
	char escape[3];

	for (size_t i = 0; i < value.len; i++) {
		if (as == NAMES_PLAIN || text_is_unreserved(value.at[i])) {
			buf_append_byte(out, value.at[i]);
			continue;
		}
		text_escape((unsigned char)value.at[i], escape);
		buf_append(out, escape, sizeof(escape));
	}
}

struct str names_fill(struct str text, const struct names *names, enum names_as as,
		      struct arena *mem)
{
	struct str name, value, filled = {NULL, 0};
	struct buf out;

	buf_init(&out, FILLED_MAX);
	for (size_t at = 0; at < text.len; at++) {
		name = text.at[at] == '{' ? braced(text, at) : str_of(NULL, 0);
		if (name.at && find(name, names, as, &value)) {
			append(&out, value, as);
			at += name.len + 1;
		} else {
			buf_append_byte(&out, text.at[at]);
		}
	}
	if (!out.is_spoiled)
		filled = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	return filled;
}

bool names_tell_apart(struct str text)
{
	for (size_t at = 0; at < text.len; at++) {
		struct str name = text.at[at] == '{' ? braced(text, at) : str_of(NULL, 0);

		if (name.at && (str_equal(name, STR("marker")) || str_equal(name, STR("key"))))
			return true;
	}
	return false;
}

static bool is_word(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = ascii_lower(text.at[i]);

		if ((c < 'a' || c > 'z') && c != '_')
			return false;
	}
	return text.len > 0;
}

struct str names_unknown(struct str text, bool knows_id)
{
	const struct names all = {.id = knows_id ? STR("x") : STR("")};
	struct str ignored;

	for (size_t at = 0; at < text.len; at++) {
		struct str name = text.at[at] == '{' ? braced(text, at) : str_of(NULL, 0);

		if (name.at && is_word(name) && !find(name, &all, NAMES_URL, &ignored))
			return name;
	}
	return str_of(NULL, 0);
}
