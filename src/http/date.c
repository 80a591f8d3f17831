/*
 * Dates of header fields, as RFC 9110 § 5.6.7 has them to be written: IMF-fixdate, which is
 * "Sun, 06 Nov 1994 08:49:37 GMT" to the letter. The two obsolete forms are none.
 */
#include "http/http.h"

#include <string.h>
#include <time.h>

static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* The place of a name of three letters among `names`; -1: it is none of them. */
static int place_of(const char *name, const char *names)
{
	for (int i = 0; names[3 * i]; i++) {
		if (memcmp(name, names + 3 * i, 3) == 0)
			return i;
	}
	return -1;
}

/* -1: not all of them are digits. */
static int number_at(struct str text, size_t at, size_t digits)
{
	uint64_t number;

	return str_to_u64(str_of(text.at + at, digits), 9999, &number) ? (int)number : -1;
}

/* Is everything where it belongs that says nothing? */
static bool has_form(struct str text)
{
	static const char form[] = "###, ## ### #### ##:##:## GMT";

	if (text.len != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (form[i] != '#' && form[i] != text.at[i])
			return false;
	}
	return true;
}

/* There is such a day, and it has that name. */
static bool is_day(const struct tm *asked, time_t when)
{
	struct tm found;

	return gmtime_r(&when, &found) && found.tm_mday == asked->tm_mday &&
	       found.tm_mon == asked->tm_mon && found.tm_wday == asked->tm_wday;
}

bool http_date_read(struct str text, int64_t *out_unix_s)
{
	struct tm parts = {0};
	time_t when;

	if (!has_form(text))
		return false;
	parts.tm_wday = place_of(text.at, days);
	parts.tm_mday = number_at(text, 5, 2);
	parts.tm_mon = place_of(text.at + 8, months);
	parts.tm_year = number_at(text, 12, 4) - 1900;
	parts.tm_hour = number_at(text, 17, 2);
	parts.tm_min = number_at(text, 20, 2);
	parts.tm_sec = number_at(text, 23, 2);
	if (parts.tm_wday < 0 || parts.tm_mday < 1 || parts.tm_mon < 0 || parts.tm_year < -1900 ||
	    parts.tm_hour < 0 || parts.tm_hour > 23 || parts.tm_min < 0 || parts.tm_min > 59 ||
	    parts.tm_sec < 0 || parts.tm_sec > 60)
		return false;
	if (parts.tm_sec == 60)
		parts.tm_sec = 59;
	when = timegm(&(struct tm){.tm_year = parts.tm_year,
				   .tm_mon = parts.tm_mon,
				   .tm_mday = parts.tm_mday,
				   .tm_hour = parts.tm_hour,
				   .tm_min = parts.tm_min,
				   .tm_sec = parts.tm_sec});
	if (!is_day(&parts, when))
		return false;
	*out_unix_s = when;
	return true;
}
