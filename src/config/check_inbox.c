/*
 * Inboxes: events that services send in, and the secrets they are signed with.
 *
 * Secrets are in files of their own, which only their owner may read, so that a configuration
 * can be shown to anyone. They are read with the configuration, where files may be looked at;
 * what is in them is never in a report.
 */
#include "config/table.h"

#include "base/err.h"
#include "core/webhook.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_FILE_MAX = 16384, MEND_MAX = 256 };

#define INBOX_RETENTION_MS INT64_C(604800000) /* 7 days: senders try again for longer than one */

/* One file of secrets, and what it is read into. */
struct secret_file {
	struct reading *reading;
	struct rule_inbox *inbox;
	struct place place;
	const char *path;
};

static void complain(const struct secret_file *file, const char *what, const char *mend)
{
	report_add(file->reading->report, file->place, mend, "the secret file %s %s", file->path,
		   what);
}

static void complain_of_error(const struct secret_file *file, int error_number)
{
	char what[MEND_MAX];

	snprintf(what, sizeof(what), "cannot be read: %s", strerror(error_number));
	complain(file, what, "put it there, and let the user that the gate runs as own it");
}

/* A file that is ours alone to read; else reported. */
static bool is_private(const struct secret_file *file, int fd)
{
	struct stat status;
	char mend[MEND_MAX];

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		complain(file, "is no file", "name a file with a secret a line");
		return false;
	}
	if (status.st_mode & 077) {
		snprintf(mend, sizeof(mend), "take their rights away: chmod 600 %s", file->path);
		complain(file, "can be used by others than its owner", mend);
		return false;
	}
	if (status.st_size > SECRET_FILE_MAX) {
		complain(file, "is too large for secrets", "name a file with a secret a line");
		return false;
	}
	return true;
}

/* How many bytes there are; what cannot be read is reported, and none. */
static size_t read_private(const struct secret_file *file, char text[SECRET_FILE_MAX])
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0) {
		complain_of_error(file, errno);
		return 0;
	}
	while (n > 0 && len < SECRET_FILE_MAX && (len > 0 || is_private(file, fd))) {
		do
			n = read(fd, text + len, SECRET_FILE_MAX - len);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			complain_of_error(file, errno);
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return n < 0 ? 0 : len;
}

/* A text that is no secret is reported, by its line alone. */
static void add_secret(const struct secret_file *file, struct str text, size_t line)
{
	struct rule_inbox *inbox = file->inbox;
	char what[96];

	if (inbox->secret_count == RULE_SECRETS_MAX) {
		complain(file, "has one too many", "keep 8 in all, those that are in use");
		return;
	}
	if (webhook_secret_read(text, &file->reading->settings->mem,
				&inbox->secrets[inbox->secret_count])) {
		inbox->secret_count++;
		return;
	}
	snprintf(what, sizeof(what), "has no secret in line %zu", line);
	complain(file, what, "write whsec_ and base64, or at least 16 other characters");
}

static void read_secrets(const struct secret_file *file)
{
	char text[SECRET_FILE_MAX];
	size_t before = file->inbox->secret_count, errors = reading_errors(file->reading);
	struct str rest = str_of(text, read_private(file, text)), line;
	size_t line_number = 0;

	while (rest.len > 0 && str_split(&rest, '\n', &line)) {
		line_number++;
		if (line.len > 0 && line.at[line.len - 1] == '\r')
			line.len--;
		line = str_trim(line);
		if (line.len > 0)
			add_secret(file, line, line_number);
	}
	if (file->inbox->secret_count == before && reading_errors(file->reading) == errors)
		complain(file, "is empty", "write a secret into it, one a line");
	explicit_bzero(text, sizeof(text));
}

int check_secret_file(struct reading *reading, struct place place, const char *path,
		      struct rule_inbox *inbox)
{
	const struct secret_file file = {reading, inbox, place, path};

	if (!inbox->secrets)
		inbox->secrets = arena_zalloc(&reading->settings->mem,
					      RULE_SECRETS_MAX * sizeof(*inbox->secrets));
	if (!inbox->secrets)
		return fail(FAIL_MEMORY);
	read_secrets(&file);
	return 0;
}

static int read_files(struct reading *reading, struct action_draft *draft)
{
	const struct text_list *files = &draft->rules.inbox_secrets;
	const struct node *item = node_at(draft->key->value, "inbox.secrets")->first;
	int r = 0;

	for (size_t i = 0; i < files->count && r == 0; i++, item = item->next)
		r = check_secret_file(reading, item->place, files->texts[i].at,
				      &draft->action.inbox);
	return r;
}

/* The member of the body that the id's pointer begins with; NULL: it is not declared. */
static const struct action_field *find_id(const struct action *action, bool *out_is_last)
{
	const struct action_field *fields = action->fields, *found;
	struct str rest = action->inbox.id_pointer;
	size_t count = action->field_count;

	do {
		found = action_field_enter(fields, count, &rest);
		*out_is_last = rest.len == 0;
		if (!found || found->type != FIELD_OBJECT || !found->fields)
			return found;
		fields = found->fields;
		count = found->field_count;
	} while (rest.len > 0);
	return found;
}

/* Every event that passes the check of its fields has its id. */
static void check_id(struct reading *reading, const struct action_draft *draft)
{
	const struct action *action = &draft->action;
	const struct action_field *field;
	bool is_last = false;
	const char *what = NULL;

	if (action->inbox.id_pointer.len == 0 || !action->has_fields || !action->fields ||
	    draft_is_refused(draft, "fields"))
		return;
	field = find_id(action, &is_last);
	if (!field && !action->keeps_unknown)
		what = "leads to a field that is not declared, so no event could have an id";
	else if (field && field->is_secret)
		what = "leads to a secret field, and ids are shown to people";
	else if (field && is_last && field->type != FIELD_STRING && field->type != FIELD_ANY)
		what = "leads to a field that is no string, so no event could have an id";
	if (what)
		report_add(reading->report, draft_place(draft, "inbox.id"),
			   "lead it to a string that is declared and not secret", "inbox.id %s",
			   what);
}

int check_inbox(struct reading *reading, struct action_draft *draft)
{
	struct action *action = &draft->action;
	int64_t retention_ms = action->retention_ms ? action->retention_ms
						    : reading->settings->tokens.retention_ms;

	action->inbox.is_declared = true;
	if (retention_ms < INBOX_RETENTION_MS)
		action->retention_ms = INBOX_RETENTION_MS;
	if (draft_gives(draft, "token"))
		report_add(reading->report, draft_place(draft, "token"),
			   "remove it; inbox.id says where an event's id is",
			   "the token of an inbox is the id of the event");
	check_id(reading, draft);
	if (!reading->may_look || !draft_gives(draft, "inbox.secrets") ||
	    draft_is_refused(draft, "inbox.secrets"))
		return 0;
	return read_files(reading, draft);
}
