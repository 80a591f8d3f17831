/*
 * The program: a table of commands, and the two things that are not in it.
 *
 * To add a command: a file cmd_NAME.c with a `struct command`, its declaration in command.h,
 * its place in the table below.
 */
#include "cli/command.h"
#include "commit.h"

#include <cjose/version.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>
#include <yaml.h>
#include <zlib.h>

static const struct command root;

static int run_help(const struct command_call *call)
{
	const struct command *command = command_find(&root, call->operand_count, call->operands);

	if (!command)
		return EXIT_USAGE;
	command_help(command, stdout);
	return EXIT_DONE;
}

static const struct command command_help_row = {
	.name = "help",
	.summary = "says what the program or one of its commands does",
	.usage = "[COMMAND]",
	.operands_max = 2,
	.run = run_help,
};

/* In the order of `counterfoil help`. */
static const struct command *const commands[] = {
	&command_serve, &command_sandbox, &command_call,     &command_op,    &command_approve,
	&command_deny,	&command_key,	  &command_secret,   &command_audit, &command_vault,
	&command_drill, &command_config,  &command_help_row, NULL,
};

static const struct command root = {
	.name = "",
	.summary =
		"One intended action, one effect: a gate between agents and the APIs they write to",
	.usage = "COMMAND [OPTIONS]",
	.text = "`counterfoil help COMMAND` says more of one; `counterfoil --version` which one "
		"this\n"
		"is. Exit status: 0 as asked, 1 it did not hold or is not possible, 2 usage or\n"
		"configuration.\n",
	.commands = commands,
};

/* Libraries as they are at run time, which may differ from what it was built with. */
static int print_version(void)
{
	printf("counterfoil %s (%s)\n", COUNTERFOIL_VERSION, COUNTERFOIL_COMMIT);
	printf("libuv %s\n", uv_version_string());
	printf("libcurl %s\n", curl_version_info(CURLVERSION_NOW)->version);
	printf("OpenSSL %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
	printf("SQLite %s\n", sqlite3_libversion());
	printf("libsodium %s\n", sodium_version_string());
	printf("cjose %s\n", cjose_version());
	printf("zlib %s\n", zlibVersion());
	printf("libyaml %s\n", yaml_get_version_string());
	return EXIT_DONE;
}

/* What was printed must have arrived: a full disk or a closed pipe is not "as asked". */
static int flush(int status)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || status != EXIT_DONE)
		return status;
	command_message("the output could not be written");
	return EXIT_NOT_SO;
}

/*
 * 0, 1 and 2 are taken, if need be by nothing: else the first files that are opened get these
 * numbers, and the log would be written into a socket, or into a pipe that wakes a loop.
 */
static bool standard_files_are_open(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(int count, char **words)
{
	if (!standard_files_are_open())
		return EXIT_NOT_SO;
	if (count == 2 && (strcmp(words[1], "--version") == 0 || strcmp(words[1], "-V") == 0))
		return flush(print_version());
	/* libcurl would write the secrets of TLS sessions into the file that it names. */
	unsetenv("SSLKEYLOGFILE");
	if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		command_message("libsodium or libcurl cannot be used on this machine");
		return EXIT_NOT_SO;
	}
	return flush(command_run(&root, count - 1, words + 1));
}
