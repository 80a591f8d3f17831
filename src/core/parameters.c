/*
 * Parameter lists: cut at semicolons outside quotes, ordered by name as they are read.
 *
 * Refused rather than guessed at: a name without a value, a name twice, a quote that is never
 * closed, control bytes. An empty place between two semicolons is allowed by RFC 9110.
 */
#include "core/parameters.h"

#include "base/err.h"
#include "core/text.h"

static int read_one(struct str *rest, const char *header, struct parameter *out_parameter,
		    struct fingerprint_error *out_error);
static int insert(struct parameters *parameters, const struct parameter *parameter,
		  const char *header, struct fingerprint_error *out_error);

int parameters_read(struct str text, const char *header, struct parameters *out_parameters,
		    struct fingerprint_error *out_error)
{
	struct parameters parameters;
	struct str rest = str_trim(text);

	parameters.count = 0;
	while (rest.len) {
		struct parameter parameter;
		int r;

		if (rest.at[0] != ';')
			return fingerprint_refuse(out_error,
						  "%s is malformed: a semicolon is expected before "
						  "each parameter.",
						  header);
		rest = str_trim(str_from_index(rest, 1));
		if (rest.len == 0 || rest.at[0] == ';')
			continue;
		r = read_one(&rest, header, &parameter, out_error);
		if (r == 0)
			r = insert(&parameters, &parameter, header, out_error);
		if (r != 0)
			return r;
		rest = str_trim(rest);
	}
	out_parameters->count = parameters.count;
	memcpy(out_parameters->items, parameters.items,
	       parameters.count * sizeof(parameters.items[0]));
	return 0;
}

/* The length of the text between quotes, or SIZE_MAX. `text` starts behind the first one. */
static size_t quoted_length(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] == '"')
			return i;
		if (text.at[i] == '\\')
			i++;
		if (i == text.len || text_is_control(text.at[i]))
			return SIZE_MAX;
	}
	return SIZE_MAX;
}

static int read_one(struct str *rest, const char *header, struct parameter *out_parameter,
		    struct fingerprint_error *out_error)
{
	size_t len = text_token_length(*rest);
	struct str value;

	if (len == 0 || len == rest->len || rest->at[len] != '=')
		return fingerprint_refuse(out_error,
					  "%s is malformed: a parameter is name=value, without "
					  "blanks around the equals sign.",
					  header);
	out_parameter->name = str_of(rest->at, len);
	value = str_from_index(*rest, len + 1);
	if (value.len && value.at[0] == '"') {
		value = str_from_index(value, 1);
		len = quoted_length(value);
		if (len == SIZE_MAX)
			return fingerprint_refuse(out_error,
						  "%s is malformed: a quoted value is not closed, "
						  "or holds a control byte.",
						  header);
		*rest = str_from_index(value, len + 1);
	} else {
		len = text_token_length(value);
		if (len == 0)
			return fingerprint_refuse(out_error,
						  "%s is malformed: a parameter has no value; "
						  "quote it if it has unusual characters.",
						  header);
		*rest = str_from_index(value, len);
	}
	out_parameter->value = str_of(value.at, len);
	return 0;
}

static int insert(struct parameters *parameters, const struct parameter *parameter,
		  const char *header, struct fingerprint_error *out_error)
{
	size_t at = parameters->count;

	if (parameters->count == PARAMETERS_MAX)
		return fingerprint_refuse(out_error, "%s has more than %d parameters.", header,
					  PARAMETERS_MAX);
	for (size_t i = 0; i < parameters->count; i++) {
		int order = text_order_nocase(parameter->name, parameters->items[i].name);

		if (order == 0)
			return fingerprint_refuse(
				out_error, "%s has the parameter %.*s twice.", header,
				parameter->name.len > 40 ? 40 : (int)parameter->name.len,
				parameter->name.at);
		if (order < 0 && at == parameters->count)
			at = i;
	}
	memmove(&parameters->items[at + 1], &parameters->items[at],
		(parameters->count - at) * sizeof(parameters->items[0]));
	parameters->items[at] = *parameter;
	parameters->count++;
	return 0;
}

struct str parameters_value(const struct parameters *parameters, struct str name)
{
	for (size_t i = 0; i < parameters->count; i++) {
		if (str_equal_nocase(parameters->items[i].name, name))
			return parameters->items[i].value;
	}
	return str_of(NULL, 0);
}

void parameters_write(const struct parameters *parameters, struct str without, struct str nor,
		      struct buf *out)
{
	for (size_t i = 0; i < parameters->count; i++) {
		const struct parameter *parameter = &parameters->items[i];

		if (str_equal_nocase(parameter->name, without) ||
		    str_equal_nocase(parameter->name, nor))
			continue;
		(void)buf_append_byte(out, ';');
		text_append_lower(out, parameter->name);
		(void)buf_append_str(out, STR("=\""));
		(void)buf_append_str(out, parameter->value);
		(void)buf_append_byte(out, '"');
	}
}
