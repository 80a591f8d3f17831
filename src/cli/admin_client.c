/*
 * Finding the gate, proving to be allowed, asking one thing.
 *
 * The token is worth the whole gate, so it is read only from a file that nobody else can
 * read, and sent only where the gate's own private file, or the operator, says it is.
 */
#include "cli/admin_client.h"

#include "base/terminal.h"
#include "config/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTION_DATA, OPTION_CONFIG, OPTION_ADMIN, OPTION_KEY_FILE, OPTION_JSON };

enum { DEPTH_MORE = 8 }; /* answers stand around a command that is as deep as one may be */

#define KEY_VARIABLE "COUNTERFOIL_KEY"

static const char default_data[] = "./counterfoil-data";

static const char *option(const struct command_call *call, size_t which)
{
	return call->options[call->command->option_count - ADMIN_OPTION_COUNT + which];
}

int admin_wants_json(const struct command_call *call)
{
	return option(call, OPTION_JSON) != NULL;
}

/* -- finding the gate -------------------------------------------------------------- */

static int no_gate_here(const char *data)
{
	command_message("no gate runs on %s (it has no gate.json); name the gate's data directory "
			"with --data DIR or --config FILE, or its admin listener with --admin URL",
			data);
	return EXIT_NOT_SO;
}

/* Is the open file for its owner alone? Says why not. */
static bool is_private(int fd, const char *file)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		command_message("%s is not a file", file);
		return false;
	}
	if (status.st_mode & (S_IRWXG | S_IRWXO)) {
		command_message("others than its owner may use %s (mode %04o); if nobody did, make "
				"it private again with chmod 600, else let it be replaced: "
				"admin-token by a restart "
				"once it is deleted, a key by key revoke and key create",
				file, (unsigned)(status.st_mode & 07777));
		return false;
	}
	return true;
}

/* All of an open file into `mem`; false when it is too long or cannot be read. */
static bool read_whole(int fd, struct arena *mem, struct str *out_text)
{
	char *bytes = arena_alloc(mem, ADMIN_FILE_MAX + 1);
	size_t len = 0;

	while (bytes && len <= ADMIN_FILE_MAX) {
		ssize_t n = read(fd, bytes + len, ADMIN_FILE_MAX + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0) {
			*out_text = str_of(bytes, len);
			return true;
		}
		len += (size_t)n;
	}
	return false;
}

/*
 * A private file of the data directory.
 *   EXIT_DONE    *out_text
 *   ENOENT       it is not there
 *   EXIT_NOT_SO  another reason, which has been said
 */
static int read_private(const char *file, struct arena *mem, struct str *out_text)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_read;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return ENOENT;
	if (fd < 0) {
		command_message("%s cannot be opened: %s", file, strerror(errno));
		return EXIT_NOT_SO;
	}
	if (!is_private(fd, file)) {
		close(fd);
		return EXIT_NOT_SO;
	}
	is_read = read_whole(fd, mem, out_text);
	if (!is_read)
		command_message("%s cannot be read, or is longer than %d bytes", file,
				ADMIN_FILE_MAX);
	close(fd);
	return is_read ? EXIT_DONE : EXIT_NOT_SO;
}

static bool is_visible(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] <= ' ' || text.at[i] > '~')
			return false;
	}
	return text.len > 0;
}

/* What the credential came in, a whole line or not. */
static int take_token(struct admin_client *client, struct str text)
{
	while (text.len && strchr("\r\n", text.at[text.len - 1]))
		text.len--;
	if (!is_visible(text)) {
		command_message("%s does not hold a token", client->token_file.at);
		return EXIT_NOT_SO;
	}
	client->token = text;
	return EXIT_DONE;
}

static int read_token_file(struct admin_client *client, const char *otherwise)
{
	struct str text = {0};
	int r = read_private(client->token_file.at, &client->mem, &text);

	if (r == ENOENT) {
		command_message("there is no %s%s", client->token_file.at, otherwise);
		return EXIT_NOT_SO;
	}
	return r == EXIT_DONE ? take_token(client, text) : r;
}

/* A key that was named, or is in the environment; else the gate's own file. */
static int read_token(struct admin_client *client, const char *key_file, const char *data)
{
	const char *key = getenv(KEY_VARIABLE);

	if (key_file) {
		client->token_file = str_from(key_file);
		return read_token_file(client, "; --key-file names the file of a key");
	}
	if (key && key[0]) {
		client->token_file = STR(KEY_VARIABLE);
		return take_token(client, str_from(key));
	}
	client->token_file = arena_printf(&client->mem, "%s/admin-token", data);
	if (!client->token_file.at)
		return EXIT_NOT_SO;
	return read_token_file(client, ", which the gate makes when it starts; name its data "
				       "directory with --data DIR or --config FILE, or a key of "
				       "yours with --key-file FILE");
}

/* Where the gate's own file says that its admin listener is. */
static int read_place(struct admin_client *client, const char *data)
{
	struct str file = arena_printf(&client->mem, "%s/gate.json", data);
	struct str text = {0};
	struct json_value *json = NULL, *admin;
	struct json_error error;
	int r;

	if (!file.at)
		return EXIT_NOT_SO;
	r = read_private(file.at, &client->mem, &text);
	if (r == ENOENT)
		return no_gate_here(data);
	if (r != EXIT_DONE)
		return r;
	r = json_read(text, &json_limits_default, &client->mem, &json, &error);
	admin = r == 0 ? json_member(json, STR("admin")) : NULL;
	if (!admin || admin->type != JSON_STRING) {
		command_message("%s does not say where the gate's admin listener is", file.at);
		return EXIT_NOT_SO;
	}
	client->url = arena_str(&client->mem, admin->string);
	return client->url.at ? EXIT_DONE : EXIT_NOT_SO;
}

/* The data directory, and a certificate to trust, from a configuration file. */
static int read_settings(struct admin_client *client, const char *file, struct str *out_data)
{
	struct settings_report report;
	struct settings *settings = NULL;
	int r;

	settings_report_init(&report);
	r = settings_load(file, NULL, &settings, &report);
	if (r == 0) {
		*out_data = arena_str(&client->mem, settings->data);
		client->ca_file = arena_str(&client->mem, settings->admin_tls.certificate);
	} else if (r == SETTINGS_WRONG) {
		settings_report_print(&report, stderr);
	}
	settings_free(settings);
	settings_report_fini(&report);
	if (r == 0 && out_data->at && client->ca_file.at)
		return EXIT_DONE;
	return EXIT_USAGE;
}

static int check_url(struct admin_client *client, const struct command *command)
{
	struct str url = client->url;

	while (url.len && url.at[url.len - 1] == '/')
		url.len--;
	client->url = arena_str(&client->mem, url);
	if ((str_starts_with(url, STR("http://")) || str_starts_with(url, STR("https://"))) &&
	    is_visible(url))
		return EXIT_DONE;
	return command_misused(command,
			       "\"%.*s\" is no URL of an admin listener, such as "
			       "http://127.0.0.1:8081",
			       STR_ARG(url));
}

int admin_client_open(struct admin_client *client, const struct command_call *call)
{
	struct str data = str_from(option(call, OPTION_DATA));
	const char *config = option(call, OPTION_CONFIG);
	int r = EXIT_DONE;

	*client = (struct admin_client){.url = str_from(option(call, OPTION_ADMIN))};
	arena_init(&client->mem, ADMIN_MEMORY_MAX);
	buf_init(&client->text, ADMIN_ANSWER_MAX);
	if (config && data.at)
		return command_misused(call->command, "--data and --config both name the data "
						      "directory; give one of them");
	if (config)
		r = read_settings(client, config, &data);
	if (r == EXIT_DONE && !data.at)
		data = str_from(default_data);
	if (r == EXIT_DONE && !client->url.at)
		r = read_place(client, data.at);
	if (r == EXIT_DONE)
		r = check_url(client, call->command);
	if (r == EXIT_DONE)
		r = read_token(client, option(call, OPTION_KEY_FILE), data.at);
	if (r != EXIT_DONE)
		return r;
	client->easy = curl_easy_init();
	return client->easy ? EXIT_DONE : EXIT_NOT_SO;
}

void admin_client_close(struct admin_client *client)
{
	if (client->easy)
		curl_easy_cleanup(client->easy);
	buf_fini(&client->text);
	arena_fini(&client->mem);
}

/* -- asking it --------------------------------------------------------------------- */

static size_t take_piece(char *bytes, size_t one, size_t len, void *owner)
{
	struct admin_client *client = owner;

	return buf_append(&client->text, bytes, len) == 0 ? len : 0;
}

static void set_options(struct admin_client *client, const char *method, const char *url,
			struct str body, struct curl_slist *headers)
{
	CURL *easy = client->easy;

	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)ADMIN_CONNECT_S);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)ADMIN_TOTAL_S);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_piece);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
	if (client->ca_file.len)
		curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file.at);
	if (body.len) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.at);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
	}
}

/* One request and its whole answer. */
static CURLcode exchange(struct admin_client *client, const char *method, struct str target,
			 struct str body)
{
	struct str url =
		arena_printf(&client->mem, "%.*s%.*s", STR_ARG(client->url), STR_ARG(target));
	struct str bearer =
		arena_printf(&client->mem, "Authorization: Bearer %.*s", STR_ARG(client->token));
	struct curl_slist *headers = NULL, *grown;
	const char *lines[] = {bearer.at, "Accept: application/json, application/problem+json",
			       body.len ? "Content-Type: application/json" : NULL};
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (!url.at || !bearer.at)
		return code;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && lines[i]; i++) {
		grown = curl_slist_append(headers, lines[i]);
		if (!grown)
			goto out;
		headers = grown;
	}
	set_options(client, method, url.at, body, headers);
	code = curl_easy_perform(client->easy);
	curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &client->status);
out:
	curl_slist_free_all(headers);
	return code;
}

static int not_reached(const struct admin_client *client, CURLcode code)
{
	if (client->text.is_spoiled)
		command_message("the gate's answer is longer than %d bytes; ask for less at once",
				ADMIN_ANSWER_MAX);
	else if (code == CURLE_PEER_FAILED_VERIFICATION)
		command_message("the certificate of the admin listener at %s is not trusted, or is "
				"for another name; --config FILE trusts the admin_tls.certificate "
				"of FILE, --admin https://NAME:PORT asks under the name it is for",
				client->url.at);
	else
		command_message("the gate's admin listener at %s does not answer (%s); is it "
				"running? --data DIR, --config FILE or --admin URL say which gate",
				client->url.at, curl_easy_strerror(code));
	return EXIT_NOT_SO;
}

/* The gate said no: in its own words. */
static int refused(const struct admin_client *client)
{
	struct json_value *detail = client->json ? json_member(client->json, STR("detail")) : NULL;

	if (client->status == 401)
		command_message("the gate at %s does not accept the token in %s", client->url.at,
				client->token_file.at);
	else if (detail && detail->type == JSON_STRING)
		command_message("%.*s", STR_ARG(detail->string));
	else
		command_message("%s answered with status %ld", client->url.at, client->status);
	return EXIT_NOT_SO;
}

int admin_ask(struct admin_client *client, const char *method, struct str target, struct str body)
{
	struct json_limits limits = json_limits_default;
	struct json_error error;
	CURLcode code;

	limits.depth += DEPTH_MORE;
	buf_clear(&client->text);
	client->status = 0;
	client->json = NULL;
	code = exchange(client, method, target, body);
	if (code != CURLE_OK)
		return not_reached(client, code);
	if (json_read(buf_str(&client->text), &limits, &client->mem, &client->json, &error) != 0)
		client->json = NULL;
	if (client->status < 200 || client->status > 299)
		return refused(client);
	if (!client->json || client->json->type != JSON_OBJECT) {
		command_message("what answers at %s is not a gate's admin listener",
				client->url.at);
		return EXIT_NOT_SO;
	}
	return EXIT_DONE;
}

void admin_print_json(const struct admin_client *client)
{
	struct buf out;
	struct str text = buf_str(&client->text);

	while (text.len && text.at[text.len - 1] == '\n')
		text.len--;
	buf_init(&out, 2 * (size_t)ADMIN_ANSWER_MAX);
	terminal_append_json(&out, text);
	fwrite(out.at, 1, out.len, stdout);
	fputc('\n', stdout);
	buf_fini(&out);
}

void admin_append_encoded(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '-' || c == '.' || c == '_' || c == '~')
			buf_append_byte(out, c);
		else
			buf_printf(out, "%%%02X", (uint8_t)c);
	}
}
