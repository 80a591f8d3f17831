/*
 * Names and values of secrets (see secret.h).
 */
#include "core/secret.h"

static bool is_alphanumeric(char c)
{
	c = ascii_lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool secret_name_is_fine(struct str name)
{
	if (name.len == 0 || name.len > SECRET_NAME_MAX || !is_alphanumeric(name.at[0]))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i];

		if (!is_alphanumeric(c) && c != '.' && c != '-' && c != '_')
			return false;
	}
	return true;
}

const char *secret_value_fault(struct str value)
{
	if (value.len == 0)
		return "The secret is empty.";
	if (value.len > SECRET_VALUE_MAX)
		return "The secret is longer than 16 KiB.";
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.at[i];

		if (c < 0x20 || c == 0x7f)
			return "The secret holds a line break or another control character; it "
			       "has to be one line of text.";
	}
	if (value.at[0] == ' ' || value.at[value.len - 1] == ' ')
		return "The secret begins or ends with a blank, which no header would keep.";
	return NULL;
}
