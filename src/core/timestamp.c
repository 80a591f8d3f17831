/*
 * Instants: RFC 3339 § 5.6, brought to UTC.
 *
 * The parts are read by their places, checked against the calendar, then moved by the offset:
 * minutes of a day go under 0 or over 1439, and the day goes one back or forth. Seconds and
 * their fraction never change. A leap second keeps its own name, 23:59:60; it can be at the end
 * of June and of December in UTC, of any year, because no table here could know the next one.
 *
 * Accepted: T and Z in either case. Refused, though some readers take them: a blank for the T,
 * a missing offset, 24:00, an offset without its colon.
 */
#include "core/timestamp.h"

#include "base/err.h"

enum { FRACTION_MAX = 9, DAY_MINUTES = 24 * 60 };

struct instant {
	int year, month, day;
	int minutes; /* of the day */
	int second;
	int offset; /* minutes to the east of UTC */
	struct str fraction;
};

static bool scan(struct str text, struct instant *out_instant);
static bool is_on_calendar(const struct instant *instant);
static void move_to_utc(struct instant *instant);
static bool is_leap_second_fine(const struct instant *instant);

int timestamp_read(struct str text, struct arena *mem, struct str *out_instant)
{
	struct instant instant;
	struct str written;

	if (!scan(text, &instant) || !is_on_calendar(&instant))
		return TIMESTAMP_MALFORMED;
	move_to_utc(&instant);
	if (instant.year < 0 || instant.year > 9999 || !is_leap_second_fine(&instant))
		return TIMESTAMP_MALFORMED;
	while (instant.fraction.len && instant.fraction.at[instant.fraction.len - 1] == '0')
		instant.fraction.len--;
	written = arena_printf(mem, "%04d-%02d-%02dT%02d:%02d:%02d%s%.*sZ", instant.year,
			       instant.month, instant.day, instant.minutes / 60,
			       instant.minutes % 60, instant.second,
			       instant.fraction.len ? "." : "", STR_ARG(instant.fraction));
	if (!written.at)
		return FAIL_MEMORY;
	*out_instant = written;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take `count` digits off the front of *rest. */
static bool take_number(struct str *rest, size_t count, int *out_number)
{
	int number = 0;

	if (rest->len < count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_digit(rest->at[i]))
			return false;
		number = number * 10 + (rest->at[i] - '0');
	}
	*rest = str_from_index(*rest, count);
	*out_number = number;
	return true;
}

/* Take one character; `wanted` is its lower case. */
static bool take(struct str *rest, char wanted)
{
	if (rest->len == 0 || ascii_lower(rest->at[0]) != wanted)
		return false;
	*rest = str_from_index(*rest, 1);
	return true;
}

static bool take_fraction(struct str *rest, struct str *out_fraction)
{
	size_t len = 0;

	*out_fraction = str_of(NULL, 0);
	if (!take(rest, '.'))
		return true;
	while (len < rest->len && is_digit(rest->at[len]))
		len++;
	*out_fraction = str_of(rest->at, len);
	*rest = str_from_index(*rest, len);
	return len >= 1 && len <= FRACTION_MAX;
}

static bool take_clock(struct str *rest, int *out_minutes)
{
	int hour, minute;

	if (!take_number(rest, 2, &hour) || !take(rest, ':') || !take_number(rest, 2, &minute))
		return false;
	*out_minutes = hour * 60 + minute;
	return hour <= 23 && minute <= 59;
}

static bool take_offset(struct str *rest, int *out_offset)
{
	bool is_west = str_starts_with(*rest, STR("-"));

	*out_offset = 0;
	if (take(rest, 'z'))
		return true;
	if (!take(rest, is_west ? '-' : '+') || !take_clock(rest, out_offset))
		return false;
	if (is_west)
		*out_offset = -*out_offset;
	return true;
}

static bool scan(struct str text, struct instant *out_instant)
{
	return take_number(&text, 4, &out_instant->year) && take(&text, '-') &&
	       take_number(&text, 2, &out_instant->month) && take(&text, '-') &&
	       take_number(&text, 2, &out_instant->day) && take(&text, 't') &&
	       take_clock(&text, &out_instant->minutes) && take(&text, ':') &&
	       take_number(&text, 2, &out_instant->second) &&
	       take_fraction(&text, &out_instant->fraction) &&
	       take_offset(&text, &out_instant->offset) && text.len == 0;
}

static bool is_leap_year(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* `month` from 1. */
static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap_year(year));
}

static bool is_on_calendar(const struct instant *instant)
{
	return instant->month >= 1 && instant->month <= 12 && instant->day >= 1 &&
	       instant->day <= days_of(instant->year, instant->month) && instant->second <= 60;
}

static void step_back(struct instant *instant)
{
	if (--instant->day >= 1)
		return;
	if (--instant->month < 1) {
		instant->month = 12;
		instant->year--;
	}
	instant->day = days_of(instant->year, instant->month);
}

static void step_forth(struct instant *instant)
{
	if (++instant->day <= days_of(instant->year, instant->month))
		return;
	instant->day = 1;
	if (++instant->month > 12) {
		instant->month = 1;
		instant->year++;
	}
}

static void move_to_utc(struct instant *instant)
{
	instant->minutes -= instant->offset;
	if (instant->minutes < 0) {
		instant->minutes += DAY_MINUTES;
		step_back(instant);
	} else if (instant->minutes >= DAY_MINUTES) {
		instant->minutes -= DAY_MINUTES;
		step_forth(instant);
	}
}

/* `instant` is in UTC. */
static bool is_leap_second_fine(const struct instant *instant)
{
	if (instant->second < 60)
		return true;
	return instant->minutes == DAY_MINUTES - 1 &&
	       ((instant->month == 6 && instant->day == 30) ||
		(instant->month == 12 && instant->day == 31));
}
