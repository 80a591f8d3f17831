/*
 * The stage of a rehearsal.
 *
 * Always true: everything the gate keeps is in a folder of 0700 that this made, and that goes with
 * the stage; every address is one of loopback that the system chose.
 * Can fail: a folder, a thread, a port; a gate that does not say where it is, in time.
 */
#include "drill/stage.h"

#include "base/env.h"
#include "base/err.h"
#include "drill/derived.h"
#include "drill/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 4 * 1024 * 1024, LOOK_MS = 20, LINE_BYTES = 1024, GRACE_MS = 5000 };

static int make_folder(struct stage *stage, char why[SHELL_WHY_MAX]);
static int write_config(const struct stage *stage, const struct node *config,
			char why[SHELL_WHY_MAX]);
static int start_gate(struct stage *stage, const char *gate, char why[SHELL_WHY_MAX]);
static int wait_for_gate(struct stage *stage, struct arena *mem, char why[SHELL_WHY_MAX]);
static int read_admin_token(struct stage *stage, struct arena *mem);

int stage_begin(struct stage *stage, const struct node *config, const char *gate,
		struct interrupt *interrupt, struct arena *mem, char why[SHELL_WHY_MAX])
{
	int r;

	*stage = (struct stage){.interrupt = interrupt, .gate = {.output = -1}};
	r = make_folder(stage, why);
	if (r == 0)
		r = standin_start(&stage->standin, why) == 0 ? 0 : STAGE_FAILED;
	if (r == 0)
		r = write_config(stage, config, why);
	if (r == 0)
		r = start_gate(stage, gate, why);
	if (r == 0)
		r = wait_for_gate(stage, mem, why);
	if (r == 0)
		r = read_admin_token(stage, mem);
	return r;
}

void stage_end(struct stage *stage)
{
	interrupt_hold(stage->interrupt);
	shell_end(&stage->gate, GRACE_MS);
	if (stage->folder[0])
		folder_remove(stage->folder);
	interrupt_folder(stage->interrupt, NULL);
	interrupt_release(stage->interrupt, 0);
	standin_stop(stage->standin);
}

static int say(char why[SHELL_WHY_MAX], const char *what)
{
	snprintf(why, SHELL_WHY_MAX, "%s: %s", what, strerror(errno));
	return STAGE_FAILED;
}

static int make_folder(struct stage *stage, char why[SHELL_WHY_MAX])
{
	const char *base = getenv("TMPDIR");
	int len = snprintf(stage->folder, sizeof(stage->folder), "%s/counterfoil-rehearsal-XXXXXX",
			   base && base[0] == '/' ? base : "/tmp");
	bool is_made;

	interrupt_hold(stage->interrupt);
	is_made = len < (int)sizeof(stage->folder) && mkdtemp(stage->folder);
	interrupt_folder(stage->interrupt, is_made ? stage->folder : NULL);
	interrupt_release(stage->interrupt, 0);
	if (is_made)
		return 0;
	stage->folder[0] = '\0';
	return say(why, "no folder could be made for the rehearsal");
}

static int write_config(const struct stage *stage, const struct node *config,
			char why[SHELL_WHY_MAX])
{
	char data[STAGE_PATH_MAX + 16], file[STAGE_PATH_MAX + 16], url[64];
	struct derived_places places;
	bool is_written;
	struct buf text;
	FILE *out;

	snprintf(data, sizeof(data), "%s/data", stage->folder);
	snprintf(file, sizeof(file), "%s/gate.yaml", stage->folder);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", standin_port(stage->standin));
	places = (struct derived_places){str_from(data), str_from(url)};
	buf_init(&text, FILE_MAX);
	derived_write(config, &places, &text);
	out = text.is_spoiled ? NULL : fopen(file, "wxe");
	is_written = out && fwrite(text.at, 1, text.len, out) == text.len;
	is_written &= out && fclose(out) == 0;
	buf_fini(&text);
	return is_written ? 0 : say(why, "the configuration of the rehearsal could not be written");
}

/* A word of a shell's line, whatever is in it. */
static void quote_word(struct buf *out, const char *word)
{
	buf_append_byte(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_printf(out, "'\\''");
		else
			buf_append_byte(out, *word);
	}
	buf_append_byte(out, '\'');
}

static int start_gate(struct stage *stage, const char *gate, char why[SHELL_WHY_MAX])
{
	char file[STAGE_PATH_MAX + 16], self[STAGE_GATE_MAX];
	struct buf command;
	int r = STAGE_FAILED;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[len > 0 ? len : 0] = '\0';
	snprintf(file, sizeof(file), "%s/gate.yaml", stage->folder);
	buf_init(&command, FILE_MAX);
	buf_printf(&command, "exec ");
	quote_word(&command, gate ? gate : self);
	buf_printf(&command, " serve --config ");
	quote_word(&command, file);
	interrupt_hold(stage->interrupt);
	if (!command.is_spoiled)
		r = shell_start(buf_str(&command), &stage->gate, why);
	interrupt_release(stage->interrupt, stage->gate.pid);
	buf_fini(&command);
	return r == 0 ? 0 : STAGE_FAILED;
}

/* "counterfoil: gate on URL, admin on URL, …" */
static bool read_line(struct stage *stage, struct str line, struct arena *mem)
{
	static const char before_gate[] = "gate on ", before_admin[] = "admin on ";
	const char *gate = memmem(line.at, line.len, before_gate, sizeof(before_gate) - 1);
	const char *admin = memmem(line.at, line.len, before_admin, sizeof(before_admin) - 1);
	struct str rest, url;

	if (!gate || !admin || !memchr(line.at, '\n', line.len))
		return false;
	gate += sizeof(before_gate) - 1;
	admin += sizeof(before_admin) - 1;
	rest = str_of(gate, (size_t)(line.at + line.len - gate));
	str_split(&rest, ',', &url);
	stage->url = str_starts_with(url, STR("http"))
			     ? arena_str(mem, url)
			     : arena_printf(mem, "http://%.*s", STR_ARG(url));
	rest = str_of(admin, (size_t)(line.at + line.len - admin));
	rest.len = strcspn(admin, ",\n");
	while (rest.len && rest.at[rest.len - 1] == '/')
		rest.len--;
	stage->admin_url = arena_str(mem, rest);
	return stage->url.at && stage->admin_url.at;
}

static int wait_for_gate(struct stage *stage, struct arena *mem, char why[SHELL_WHY_MAX])
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + STAGE_START_MS;
	char words[SHELL_WHY_MAX], text[LINE_BYTES + 1];

	while (env_monotonic_ms(&env_machine) < until_ms && !shell_is_over(&stage->gate)) {
		ssize_t n = pread(stage->gate.output, text, LINE_BYTES, 0);

		text[n > 0 ? n : 0] = '\0';
		if (n > 0 && read_line(stage, str_of(text, (size_t)n), mem))
			return 0;
		poll(NULL, 0, LOOK_MS);
	}
	shell_last_words(&stage->gate, words);
	snprintf(why, SHELL_WHY_MAX, "the gate of the rehearsal did not start: %.400s", words);
	return STAGE_FAILED;
}

static int read_admin_token(struct stage *stage, struct arena *mem)
{
	char file[STAGE_PATH_MAX + 32], text[LINE_BYTES];
	ssize_t n;
	int fd;

	snprintf(file, sizeof(file), "%s/data/admin-token", stage->folder);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
	if (fd >= 0)
		close(fd);
	stage->admin_token = arena_str(mem, str_trim(str_of(text, n > 0 ? (size_t)n : 0)));
	return stage->admin_token.at || n <= 0 ? 0 : fail(FAIL_MEMORY);
}
