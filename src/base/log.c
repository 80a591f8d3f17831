/*
 * The log's buffers and the writing of its members.
 *
 * Finished lines are appended to `waiting` under a lock that is held for a copy and no
 * longer. Whoever flushes takes the other lock, exchanges `waiting` for the empty
 * `leaving` and writes that: so a slow reader holds back those who flush, each for a
 * bounded time, and never those who append. What a slow reader does not take stays in
 * `leaving`, so a line is never torn; when `waiting` is full too, lines are dropped and
 * counted. Once a reader was too slow, nobody waits for it again until it has caught up.
 *
 * Strings are escaped as JSON; bytes that are not ASCII are written as \u00xx, since a
 * log line must be valid UTF-8 whatever a client sent.
 */
#include "base/log.h"

#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LOG_BUFFER = 256 * 1024,
	LOG_FLUSH_AT = LOG_BUFFER / 2,
	LOG_NOTE_MAX = 96,	 /* bytes of the line that counts the dropped ones */
	LOG_PIECE = 4096,	 /* a pipe that is ready takes this much without blocking */
	LOG_WRITE_WAIT_MS = 100, /* how long one flush waits for a slow reader */
	LOG_LAST_FLUSHES = 10,	 /* how often the end of the log waits that long */
	LOG_TAIL = 14,		 /* room kept for the end of a line: ,"cut":true}\n */
};

struct pile {
	size_t len;
	char bytes[LOG_BUFFER];
};

struct log {
	const struct env *env;
	int fd;
	atomic_int level; /* enum log_level */

	pthread_mutex_t append_lock; /* held for a copy; taken last */
	struct pile *waiting;	     /* whole lines that nobody has begun to write */
	uint64_t dropped;	     /* lines there was no room for and that were not told yet */

	pthread_mutex_t flush_lock; /* held while writing; taken first */
	struct pile *leaving;	    /* what is being written */
	size_t left;		    /* bytes of `leaving` that have been written */
	bool is_slow;		    /* the reader let the last flush wait in vain */

	struct pile piles[2];
};

static const char *const level_names[] = {"debug", "info", "warning", "error"};

struct log *log_new(const struct env *env, int fd, enum log_level level)
{
	struct log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->env = env;
	log->fd = fd;
	atomic_init(&log->level, (int)level);
	log->waiting = &log->piles[0];
	log->leaving = &log->piles[1];
	pthread_mutex_init(&log->append_lock, NULL);
	pthread_mutex_init(&log->flush_lock, NULL);
	return log;
}

void log_free(struct log *log)
{
	if (!log)
		return;
	for (int i = 0; i < LOG_LAST_FLUSHES; i++) {
		log->is_slow = false;
		log_flush(log);
		if (!log->waiting->len && !log->leaving->len)
			break;
	}
	pthread_mutex_destroy(&log->append_lock);
	pthread_mutex_destroy(&log->flush_lock);
	free(log);
}

void log_set_level(struct log *log, enum log_level level)
{
	atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

bool log_level_from(struct str name, enum log_level *out_level)
{
	for (int i = LOG_DEBUG; i <= LOG_ERROR; i++) {
		if (str_equal(name, str_from(level_names[i]))) {
			*out_level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

/* The descriptor broke: what was leaving is lost, and counted. */
static void lose_leaving(struct log *log)
{
	uint64_t lines = 0;

	for (size_t i = log->left; i < log->leaving->len; i++)
		lines += log->leaving->bytes[i] == '\n';
	log->leaving->len = log->left = 0;
	pthread_mutex_lock(&log->append_lock);
	log->dropped += lines;
	pthread_mutex_unlock(&log->append_lock);
}

/* Whether the reader takes more; waits for it once in a flush, if `*may_wait_ms` allows. */
static bool reader_is_ready(struct log *log, int *may_wait_ms)
{
	struct pollfd reader = {.fd = log->fd, .events = POLLOUT};

	if (poll(&reader, 1, 0) > 0)
		return true;
	if (*may_wait_ms > 0 && poll(&reader, 1, *may_wait_ms) > 0) {
		*may_wait_ms = 0;
		return true;
	}
	log->is_slow = true;
	return false;
}

/* True when nothing is left in `leaving`. The flush lock is held. */
static bool write_leaving(struct log *log, int *may_wait_ms)
{
	while (log->left < log->leaving->len) {
		size_t len = log->leaving->len - log->left;
		ssize_t n;

		if (!reader_is_ready(log, may_wait_ms))
			return false;
		n = write(log->fd, log->leaving->bytes + log->left,
			  len < LOG_PIECE ? len : LOG_PIECE);
		if (n > 0) {
			log->left += (size_t)n;
		} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
			lose_leaving(log);
			return true;
		}
	}
	log->leaving->len = log->left = 0;
	return true;
}

/* Exchange the full pile for the empty one. The flush lock is held. */
static void take_waiting(struct log *log)
{
	struct pile *taken;
	uint64_t dropped;

	pthread_mutex_lock(&log->append_lock);
	taken = log->waiting;
	log->waiting = log->leaving;
	log->leaving = taken;
	dropped = log->dropped;
	log->dropped = 0;
	pthread_mutex_unlock(&log->append_lock);
	if (dropped)
		taken->len += (size_t)snprintf(
			taken->bytes + taken->len, LOG_NOTE_MAX,
			"{\"level\":\"warning\",\"event\":\"log-dropped\",\"lines\":%llu}\n",
			(unsigned long long)dropped);
}

void log_flush(struct log *log)
{
	int may_wait_ms;

	if (!log)
		return;
	pthread_mutex_lock(&log->flush_lock);
	may_wait_ms = log->is_slow ? 0 : LOG_WRITE_WAIT_MS;
	if (write_leaving(log, &may_wait_ms)) {
		take_waiting(log);
		if (write_leaving(log, &may_wait_ms))
			log->is_slow = false;
	}
	pthread_mutex_unlock(&log->flush_lock);
}

/* The length of a line while a member that does not fit is being written. */
static const size_t MEMBER_TOO_LONG = SIZE_MAX;

static void put(struct log_line *line, const char *bytes, size_t len)
{
	if (line->len > LOG_LINE_MAX - LOG_TAIL || len > LOG_LINE_MAX - LOG_TAIL - line->len) {
		line->len = MEMBER_TOO_LONG;
		return;
	}
	memcpy(line->text + line->len, bytes, len);
	line->len += len;
}

static void put_escaped(struct log_line *line, struct str text)
{
	for (size_t i = 0; i < text.len && line->len != MEMBER_TOO_LONG; i++) {
		unsigned char c = (unsigned char)text.at[i];
		char escaped[8];

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			put(line, text.at + i, 1);
			continue;
		}
		snprintf(escaped, sizeof(escaped), "\\u%04x", c);
		put(line, escaped, 6);
	}
}

void log_begin(struct log_line *line, struct log *log, enum log_level level, const char *event)
{
	char when[25];

	line->log = (log && (int)level >= atomic_load_explicit(&log->level, memory_order_relaxed))
			    ? log
			    : NULL;
	line->level = level;
	line->len = 0;
	line->is_cut = false;
	if (!line->log)
		return;
	time_format(env_wall_ms(log->env), when);
	put(line, "{\"time\":\"", 9);
	put(line, when, 24);
	put(line, "\"", 1);
	log_text(line, "level", level_names[level]);
	log_text(line, "event", event);
}

static void put_name(struct log_line *line, const char *name)
{
	put(line, ",\"", 2);
	put(line, name, strlen(name));
	put(line, "\":", 2);
}

/* A member goes in whole or not at all, so that a cut line is still one JSON object. */
static void undo_if_too_long(struct log_line *line, size_t before)
{
	if (line->len != MEMBER_TOO_LONG)
		return;
	line->len = before;
	line->is_cut = true;
}

void log_str(struct log_line *line, const char *name, struct str value)
{
	size_t before = line->len;

	if (!line->log)
		return;
	put_name(line, name);
	put(line, "\"", 1);
	put_escaped(line, value);
	put(line, "\"", 1);
	undo_if_too_long(line, before);
}

void log_text(struct log_line *line, const char *name, const char *value)
{
	log_str(line, name, str_from(value));
}

static void log_bare(struct log_line *line, const char *name, const char *value, size_t len)
{
	size_t before = line->len;

	put_name(line, name);
	put(line, value, len);
	undo_if_too_long(line, before);
}

void log_int(struct log_line *line, const char *name, int64_t value)
{
	char digits[24];
	int length;

	if (!line->log)
		return;
	length = snprintf(digits, sizeof(digits), "%lld", (long long)value);
	log_bare(line, name, digits, (size_t)length);
}

void log_bool(struct log_line *line, const char *name, bool value)
{
	if (line->log)
		log_bare(line, name, value ? "true" : "false", value ? 4 : 5);
}

/* Hand the line over; true when it is time to write. */
static bool append(struct log *log, const struct log_line *line)
{
	struct pile *pile;
	bool is_time;

	pthread_mutex_lock(&log->append_lock);
	pile = log->waiting;
	if (line->len > LOG_BUFFER - LOG_NOTE_MAX - pile->len) {
		log->dropped++;
	} else {
		memcpy(pile->bytes + pile->len, line->text, line->len);
		pile->len += line->len;
	}
	is_time = pile->len >= LOG_FLUSH_AT;
	pthread_mutex_unlock(&log->append_lock);
	return is_time;
}

void log_end(struct log_line *line)
{
	static const char cut[] = ",\"cut\":true";
	struct log *log = line->log;

	if (!log)
		return;
	if (line->is_cut) {
		memcpy(line->text + line->len, cut, sizeof(cut) - 1);
		line->len += sizeof(cut) - 1;
	}
	memcpy(line->text + line->len, "}\n", 2);
	line->len += 2;
	if (append(log, line) || line->level >= LOG_WARNING)
		log_flush(log);
	line->log = NULL;
}

void log_note(struct log *log, enum log_level level, const char *event, const char *name,
	      const char *value)
{
	struct log_line line;

	log_begin(&line, log, level, event);
	log_text(&line, name, value);
	log_end(&line);
}
