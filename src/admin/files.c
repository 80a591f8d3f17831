/* admin-token and gate.json. */
#include "admin/files.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32, TOKEN_TEXT = 64 };

static int explain(char *why, size_t why_size, int code, const char *what, const char *path)
{
	snprintf(why, why_size, "%s %s: %s", what, path, strerror(errno));
	return code;
}

static int path_of(char out[PATH_MAX], const char *directory, const char *name, char *why,
		   size_t why_size)
{
	if (snprintf(out, PATH_MAX, "%s/%s", directory, name) < PATH_MAX)
		return 0;
	snprintf(why, why_size, "the path of the data directory is too long");
	return FAIL_CONFIG;
}

/* The digits and at most the end of their line: with anything more, others read another token. */
static bool is_token(const char *text, ssize_t len)
{
	if (len != TOKEN_TEXT && !(len == TOKEN_TEXT + 1 && text[TOKEN_TEXT] == '\n'))
		return false;
	for (int i = 0; i < TOKEN_TEXT; i++) {
		if (hex_digit(text[i]) < 0)
			return false;
	}
	return true;
}

static int read_token(int fd, const char *path, char out_token[TOKEN_TEXT + 1], char *why,
		      size_t why_size)
{
	struct stat facts;
	char text[TOKEN_TEXT + 2];
	ssize_t len;

	if (fstat(fd, &facts) != 0)
		return explain(why, why_size, FAIL_IO, "cannot look at", path);
	if (facts.st_mode & 077) {
		snprintf(why, why_size, "others can read %s; make it yours alone: chmod 600 %s",
			 path, path);
		return FAIL_CONFIG;
	}
	len = read(fd, text, sizeof(text));
	if (!is_token(text, len)) {
		snprintf(why, why_size, "%s holds no token; remove it, and a new one is made",
			 path);
		return FAIL_CONFIG;
	}
	memcpy(out_token, text, TOKEN_TEXT);
	out_token[TOKEN_TEXT] = '\0';
	return 0;
}

/* A file beside it is written first and then takes the name, so that nobody reads a part. */
static int write_whole(const char *path, const char *text, size_t len, char *why, size_t why_size)
{
	char beside[PATH_MAX + 8];
	int fd;

	snprintf(beside, sizeof(beside), "%s.new", path);
	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return explain(why, why_size, FAIL_IO, "cannot make", beside);
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) != 0 || rename(beside, path) != 0) {
		explain(why, why_size, FAIL_IO, "cannot write", path);
		close(fd);
		unlink(beside);
		return FAIL_IO;
	}
	close(fd);
	return 0;
}

static int make_token(const char *path, const struct env *env, char out_token[TOKEN_TEXT + 1],
		      char *why, size_t why_size)
{
	uint8_t random[TOKEN_BYTES];
	char line[TOKEN_TEXT + 1];

	env_random(env, random, sizeof(random));
	hex_write(random, sizeof(random), line);
	memcpy(out_token, line, TOKEN_TEXT);
	out_token[TOKEN_TEXT] = '\0';
	line[TOKEN_TEXT] = '\n';
	return write_whole(path, line, sizeof(line), why, why_size);
}

int admin_token_file(const char *directory, const struct env *env, char out_token[65], char *why,
		     size_t why_size)
{
	char path[PATH_MAX];
	int fd, r;

	r = path_of(path, directory, "admin-token", why, why_size);
	if (r != 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return make_token(path, env, out_token, why, why_size);
	if (fd < 0)
		return explain(why, why_size, FAIL_IO, "cannot read", path);
	r = read_token(fd, path, out_token, why, why_size);
	close(fd);
	return r;
}

int admin_write_gate_file(const char *directory, const char *listen, const char *admin_url,
			  char *why, size_t why_size)
{
	char path[PATH_MAX], text[256];
	int r, len;

	r = path_of(path, directory, "gate.json", why, why_size);
	if (r != 0)
		return r;
	len = snprintf(text, sizeof(text), "{\"pid\":%ld,\"listen\":\"%s\",\"admin\":\"%s\"}\n",
		       (long)getpid(), listen, admin_url);
	return write_whole(path, text, (size_t)len, why, why_size);
}

void admin_remove_gate_file(const char *directory)
{
	char path[PATH_MAX], unused[64];

	if (path_of(path, directory, "gate.json", unused, sizeof(unused)) == 0)
		unlink(path);
}
