/* Saying where and why a text is refused, in a sentence for the person who sent it. */
#include "json/internal.h"

#include <stdarg.h>
#include <stdio.h>

int json_fault_expected(struct json_fault *fault, const char *at, const char *end,
			const char *expected)
{
	unsigned char byte = at < end ? (unsigned char)*at : 0;

	if (at == end)
		return json_fault_says(fault, at, "the end of the text found where %s was expected",
				       expected);
	if (byte > ' ' && byte < 0x7f)
		return json_fault_says(fault, at, "'%c' found where %s was expected", byte,
				       expected);
	return json_fault_says(fault, at, "byte 0x%02x found where %s was expected", byte,
			       expected);
}

int json_fault_says(struct json_fault *fault, const char *at, const char *format, ...)
{
	va_list arguments;

	fault->at = at;
	va_start(arguments, format);
	vsnprintf(fault->detail, sizeof(fault->detail), format, arguments);
	va_end(arguments);
	return JSON_REFUSED;
}
