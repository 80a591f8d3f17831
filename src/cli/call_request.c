/*
 * From a command line to a request.
 *
 * Always true: a request that was read has the step in its one spelling, headers that are lines of
 * their own, and at most one Authorization. Can fail: what was written is no request, or a file
 * cannot be read; it is said how to mend it.
 */
#include "cli/call_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_FIRST = 64 * 1024 };

#define CREDENTIAL_VARIABLE "COUNTERFOIL_CREDENTIAL"

const struct command_option call_options[CALL_OPTIONS] = {
	[CALL_TASK] = {"--task", "TASK", "the workflow, as its next run will call it too"},
	[CALL_STEP] = {"--step", "STEP", "what is done in it: one action"},
	[CALL_KEY] = {"--key", "TOKEN", "a token of your own, in place of task and step"},
	[CALL_NEW] = {"--new", NULL, "a deliberate new action of this step, with a new token"},
	[CALL_HEADER] = {"--header", "LINE", "a header, \"Name: value\"; @FILE: one on each line",
			 .is_list = true, .letter = 'H'},
	[CALL_DATA] = {"--data", "BODY",
		       "the body; @FILE, @- for standard input. JSON unless a\nContent-Type says "
		       "otherwise",
		       .letter = 'd', .may_be_empty = true},
	[CALL_OUTPUT] = {"--output", "FILE", "write the answer's body there", .letter = 'o'},
	[CALL_WAIT] =
		{"--wait", "SECONDS",
		 "how long an open or uncertain outcome is followed up\n(default 30; 0: not at "
		 "all)"},
	[CALL_HONOURS_KEY] =
		{"--honours-key", NULL,
		 "the API itself has one effect for one Idempotency-Key, so\nit may be "
		 "sent again"},
	[CALL_SAME_ACCOUNT] = {"--same-account", NULL,
			       "the credential is another than before, of the same account"},
	[CALL_CREDENTIAL_ENV] =
		{"--credential-env", "NAME",
		 "the variable that has the credential (default\n" CREDENTIAL_VARIABLE
		 "): sent as Authorization, as Bearer\nwhere it names no scheme"},
	[CALL_CREDENTIAL_FILE] = {"--credential-file", "FILE", "the file that has it"},
	[CALL_JOURNAL] = {"--journal", "FILE", "another journal"},
	[CALL_MAX_TIME] = {"--max-time", "SECONDS", "of one request (default 60)", .letter = 'm'},
	[CALL_CONNECT_TIMEOUT] = {"--connect-timeout", "SECONDS", "of a connection (default 10)"},
	[CALL_PROXY] = {"--proxy", "URL",
			"as curl has it; \"\": none, whatever the environment says", 'x',
			.may_be_empty = true},
	[CALL_NO_PROXY] = {"--noproxy", "HOSTS", "reached without it, with commas; * for all"},
	[CALL_CA_FILE] = {"--cacert", "FILE", "PEM roots to trust, in place of the system's"},
	[CALL_CERTIFICATE] = {"--cert", "FILE", "PEM, the client's certificate", .letter = 'E'},
	[CALL_CERTIFICATE_KEY] = {"--cert-key", "FILE", "PEM, its private key"},
	[CALL_INSECURE] = {"--insecure", NULL, "do not check the server's certificate",
			   .letter = 'k'},
};

static int read_step(const struct command_call *call, struct arena *mem,
		     struct delivery_request *request);
static int read_headers(const struct command_call *call, struct arena *mem, struct buf *out);
static int read_body(const struct command_call *call, struct arena *mem,
		     struct delivery_request *request);
static int read_times(const struct command_call *call, struct delivery_request *request);

static int no_memory(void)
{
	command_message("there is not enough memory");
	return EXIT_NOT_SO;
}

static void read_way(const struct command_call *call, struct web_options *web)
{
	web->proxy = call->options[CALL_PROXY];
	web->no_proxy = call->options[CALL_NO_PROXY];
	web->ca_file = call->options[CALL_CA_FILE];
	web->certificate = call->options[CALL_CERTIFICATE];
	web->key = call->options[CALL_CERTIFICATE_KEY];
	web->is_insecure = call->options[CALL_INSECURE] != NULL;
}

int call_request_read(const struct command_call *call, struct arena *mem,
		      struct delivery_request *out_request)
{
	struct delivery_request request = {
		.is_new = call->options[CALL_NEW] != NULL,
		.honours_key = call->options[CALL_HONOURS_KEY] != NULL,
		.same_account = call->options[CALL_SAME_ACCOUNT] != NULL,
		.output = call->options[CALL_OUTPUT],
	};
	struct buf headers;
	int r;

	buf_init(&headers, COMMAND_VALUES_MAX * CALL_HEADER_FILE_MAX);
	r = read_step(call, mem, &request);
	if (r == EXIT_DONE)
		r = read_headers(call, mem, &headers);
	if (r == EXIT_DONE)
		r = read_body(call, mem, &request);
	if (r == EXIT_DONE && request.has_body &&
	    !web_header(buf_str(&headers), STR("Content-Type")).len)
		buf_append_str(&headers, STR("Content-Type: application/json\r\n"));
	if (r == EXIT_DONE)
		r = read_times(call, &request);
	request.headers = arena_str(mem, buf_str(&headers));
	if (r == EXIT_DONE && (headers.is_spoiled || !request.headers.at))
		r = no_memory();
	buf_fini(&headers);
	read_way(call, &request.web);
	*out_request = request;
	return r;
}

static int read_step(const struct command_call *call, struct arena *mem,
		     struct delivery_request *request)
{
	struct step wish = {.task = str_from(call->options[CALL_TASK]),
			    .step = str_from(call->options[CALL_STEP]),
			    .token = str_from(call->options[CALL_KEY]),
			    .method = str_from(call->operands[0]),
			    .url = str_from(call->operands[1])};
	const char *why;
	int r = step_read(&wish, mem, &request->step, &why);

	if (r == IDENTITY_REFUSED)
		return command_misused(call->command, "%s", why);
	return r == 0 ? EXIT_DONE : no_memory();
}

/* -- files --------------------------------------------------------------------------- */

/* All of a file ("-": standard input). EXIT_DONE, or the exit status after a message. */
static int read_file(const char *path, size_t max, struct arena *mem, struct str *out)
{
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct buf bytes;
	ssize_t n = fd < 0 ? -1 : 1;

	buf_init(&bytes, max + READ_FIRST);
	while (n > 0 && bytes.len <= max) {
		char *at = buf_reserve(&bytes, READ_FIRST);

		n = at ? read(fd, at, READ_FIRST) : -1;
		if (n < 0 && at && errno == EINTR)
			n = 1;
		else if (n > 0)
			buf_commit(&bytes, (size_t)n);
	}
	if (n < 0)
		command_message("%s cannot be read: %s", path, strerror(errno));
	else if (bytes.len > max)
		command_message("%s is longer than %zu bytes", path, max);
	*out = arena_str(mem, buf_str(&bytes));
	if (fd > STDERR_FILENO)
		close(fd);
	n = n < 0 || bytes.len > max || !out->at ? -1 : 0;
	buf_fini(&bytes);
	return n == 0 ? EXIT_DONE : EXIT_USAGE;
}

static int read_body(const struct command_call *call, struct arena *mem,
		     struct delivery_request *request)
{
	const char *data = call->options[CALL_DATA];

	if (!data)
		return EXIT_DONE;
	request->has_body = true;
	request->body = str_from(data);
	return *data == '@' ? read_file(data + 1, CALL_BODY_MAX, mem, &request->body) : EXIT_DONE;
}

/* -- headers ------------------------------------------------------------------------- */

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c)); /* RFC 9110 § 5.6.2 */
}

/* One "Name: value". */
static int add_header(const struct command_call *call, struct str line, struct buf *out)
{
	size_t colon = str_find(line, ':');
	bool is_fine = colon > 0 && colon < line.len;

	for (size_t i = 0; i < line.len && is_fine; i++)
		is_fine = i < colon ? is_name_byte(line.at[i])
				    : (unsigned char)line.at[i] >= ' ' || line.at[i] == '\t';
	if (!is_fine)
		return command_misused(call->command,
				       "\"%.*s\" is no header: \"Name: value\" is one",
				       (int)(colon < line.len ? colon : 0), line.at);
	buf_append_str(out, line);
	buf_append_str(out, STR("\r\n"));
	return EXIT_DONE;
}

static int add_headers(const struct command_call *call, const char *value, struct arena *mem,
		       struct buf *out)
{
	struct str text, line;
	int r = EXIT_DONE;

	if (*value != '@')
		return add_header(call, str_from(value), out);
	r = read_file(value + 1, CALL_HEADER_FILE_MAX, mem, &text);
	while (r == EXIT_DONE && str_split(&text, '\n', &line)) {
		if (line.len && line.at[line.len - 1] == '\r')
			line.len--;
		if (line.len)
			r = add_header(call, line, out);
	}
	return r;
}

/* "Bearer …" of a credential that names no scheme. */
static int add_credential(const struct command_call *call, struct str credential, struct buf *out)
{
	bool has_scheme;

	while (credential.len && (credential.at[credential.len - 1] == '\n' ||
				  credential.at[credential.len - 1] == '\r'))
		credential.len--;
	has_scheme = str_find(credential, ' ') < credential.len;
	for (size_t i = 0; i < credential.len; i++)
		if ((unsigned char)credential.at[i] < ' ' || credential.at[i] > '~')
			credential.len = 0;
	if (!credential.len)
		return command_misused(call->command,
				       "the credential is empty, or not one line of visible text");
	if (web_header(buf_str(out), STR("Authorization")).len)
		return command_misused(call->command, "there are two credentials: leave out the "
						      "Authorization header, or the other");
	buf_printf(out, "Authorization: %s%.*s\r\n", has_scheme ? "" : "Bearer ",
		   STR_ARG(credential));
	return EXIT_DONE;
}

static int read_credential(const struct command_call *call, struct arena *mem, struct buf *out)
{
	const char *file = call->options[CALL_CREDENTIAL_FILE];
	const char *name = call->options[CALL_CREDENTIAL_ENV];
	const char *value = getenv(name ? name : CREDENTIAL_VARIABLE);
	struct str text;
	int r;

	if (file && name)
		return command_misused(
			call->command,
			"--credential-file and --credential-env are two credentials: "
			"give one");
	if (file) {
		r = read_file(file, CALL_HEADER_FILE_MAX, mem, &text);
		return r == EXIT_DONE ? add_credential(call, text, out) : r;
	}
	if (name && !value)
		return command_misused(call->command, "there is no variable %s in the environment",
				       name);
	/* A default gives way to what is said. */
	if (!value || (!name && web_header(buf_str(out), STR("Authorization")).len))
		return EXIT_DONE;
	return add_credential(call, str_from(value), out);
}

static int read_headers(const struct command_call *call, struct arena *mem, struct buf *out)
{
	const char *value;
	size_t at = 0;
	int r = EXIT_DONE;

	while (r == EXIT_DONE && (value = command_next_value(call, CALL_HEADER, &at))) {
		r = add_headers(call, value, mem, out);
		if (r == EXIT_DONE && *value != '@' &&
		    str_starts_with_nocase(str_from(value), STR("Authorization:")))
			command_message("a credential on the command line can be read by others: "
					"put it into " CREDENTIAL_VARIABLE
					" or a file (--credential-file)");
	}
	return r == EXIT_DONE ? read_credential(call, mem, out) : r;
}

/* -- times --------------------------------------------------------------------------- */

static int read_seconds(const struct command_call *call, size_t option, uint64_t min,
			int64_t *out_ms)
{
	uint64_t seconds;

	if (!call->options[option])
		return EXIT_DONE;
	if (!str_to_u64(str_from(call->options[option]), CALL_SECONDS_MAX, &seconds) ||
	    seconds < min)
		return command_misused(call->command, "%s is a number of seconds from %d to %d",
				       call_options[option].name, (int)min, CALL_SECONDS_MAX);
	*out_ms = (int64_t)seconds * 1000;
	return EXIT_DONE;
}

static int read_times(const struct command_call *call, struct delivery_request *request)
{
	int r;

	request->wait_ms = DELIVERY_WAIT_MS;
	request->request_ms = DELIVERY_REQUEST_MS;
	r = read_seconds(call, CALL_WAIT, 0, &request->wait_ms);
	if (r == EXIT_DONE)
		r = read_seconds(call, CALL_MAX_TIME, 1, &request->request_ms);
	if (r == EXIT_DONE)
		r = read_seconds(call, CALL_CONNECT_TIMEOUT, 1, &request->web.connect_ms);
	return r;
}
