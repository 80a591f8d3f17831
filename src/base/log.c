/*
 * The log's buffer and the writing of its members.
 *
 * The buffer is flushed under its lock, so a slow reader holds back other flushers but
 * not those who only append: they drop. Strings are escaped as JSON; bytes that are not
 * ASCII are written as \u00xx, since a log line must be valid UTF-8 whatever a client sent.
 */
#include "base/log.h"

#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LOG_BUFFER = 256 * 1024,
	LOG_FLUSH_AT = LOG_BUFFER / 2,
	LOG_WRITE_WAIT_MS = 1000, /* how long one flush waits for a slow reader */
	LOG_TAIL = 3,		  /* room kept for "}\n" */
};

struct log {
	const struct env *env;
	int fd;
	enum log_level level;
	pthread_mutex_t lock;
	uint64_t dropped; /* lines since the last flush that succeeded */
	size_t len;
	char buffer[LOG_BUFFER];
};

static const char *const level_names[] = {"debug", "info", "warning", "error"};

struct log *log_new(const struct env *env, int fd, enum log_level level)
{
	struct log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->env = env;
	log->fd = fd;
	log->level = level;
	pthread_mutex_init(&log->lock, NULL);
	return log;
}

void log_free(struct log *log)
{
	if (!log)
		return;
	log_flush(log);
	pthread_mutex_destroy(&log->lock);
	free(log);
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

/* All of it, or nothing more once the descriptor breaks or its reader is too slow. */
static void write_all(struct log *log, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(log->fd, bytes, len);

		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd reader = {.fd = log->fd, .events = POLLOUT};

			if (poll(&reader, 1, LOG_WRITE_WAIT_MS) <= 0)
				return;
		} else if (n == 0 || errno != EINTR) {
			return;
		}
	}
}

static void flush_locked(struct log *log)
{
	char note[96];
	int length;

	if (log->len)
		write_all(log, log->buffer, log->len);
	log->len = 0;
	if (!log->dropped)
		return;
	length = snprintf(note, sizeof(note),
			  "{\"level\":\"warning\",\"event\":\"log-dropped\",\"lines\":%llu}\n",
			  (unsigned long long)log->dropped);
	log->dropped = 0;
	write_all(log, note, (size_t)length);
}

void log_flush(struct log *log)
{
	if (!log)
		return;
	pthread_mutex_lock(&log->lock);
	flush_locked(log);
	pthread_mutex_unlock(&log->lock);
}

static void put(struct log_line *line, const char *bytes, size_t len)
{
	if (line->is_cut || len > sizeof(line->text) - LOG_TAIL - line->len) {
		line->is_cut = true;
		return;
	}
	memcpy(line->text + line->len, bytes, len);
	line->len += len;
}

static void put_escaped(struct log_line *line, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
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

	line->log = (log && level >= log->level) ? log : NULL;
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
static void undo_if_cut(struct log_line *line, size_t before, bool was_cut)
{
	if (line->is_cut && !was_cut)
		line->len = before;
}

void log_str(struct log_line *line, const char *name, struct str value)
{
	size_t before = line->len;
	bool was_cut = line->is_cut;

	if (!line->log)
		return;
	put_name(line, name);
	put(line, "\"", 1);
	put_escaped(line, value);
	put(line, "\"", 1);
	undo_if_cut(line, before, was_cut);
}

void log_text(struct log_line *line, const char *name, const char *value)
{
	log_str(line, name, str_from(value));
}

static void log_bare(struct log_line *line, const char *name, const char *value, size_t len)
{
	size_t before = line->len;
	bool was_cut = line->is_cut;

	put_name(line, name);
	put(line, value, len);
	undo_if_cut(line, before, was_cut);
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

void log_end(struct log_line *line)
{
	struct log *log = line->log;

	if (!log)
		return;
	memcpy(line->text + line->len, "}\n", 2);
	line->len += 2;
	pthread_mutex_lock(&log->lock);
	if (line->len > LOG_BUFFER - log->len) {
		log->dropped++;
	} else {
		memcpy(log->buffer + log->len, line->text, line->len);
		log->len += line->len;
	}
	if (log->len >= LOG_FLUSH_AT || line->level >= LOG_WARNING)
		flush_locked(log);
	pthread_mutex_unlock(&log->lock);
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
