/*
 * counterfoil vault: the keys that seal what is in the data directory.
 *
 * Works on files, beside a gate that runs or without one: the gate goes on with the keys it has,
 * and takes over new ones when it reads its configuration again (SIGHUP) or starts.
 */
#include "cli/command.h"
#include "cli/data_place.h"

#include <inttypes.h>
#include <string.h>

enum { WHERE_CONFIG, WHERE_DATA, WHERE_COUNT };
enum { TO_FILE = WHERE_COUNT, TO_CREDENTIAL, TO_PASSPHRASE };
enum { WHY_MAX = DATA_PATH_MAX + 512 };

#define WHERE_OPTIONS                                                                              \
	{"--config", "FILE", "the gate's configuration: its data directory and master_key"},       \
	{                                                                                          \
		"--data", "DIR", "the data directory (default ./counterfoil-data)"                 \
	}

static const struct command_option where_options[] = {WHERE_OPTIONS};

static const struct command_option rewrap_options[] = {
	WHERE_OPTIONS,
	{"--to-file", "FILE", "the new master key: 32 bytes, or 64 hexadecimal digits"},
	{"--to-credential", "NAME", "or the credential of systemd that holds it"},
	{"--to-passphrase-file", "FILE", "or the file with the passphrase it is made of"},
};

static int find(const struct command_call *call, struct data_place *place)
{
	return data_place_find(call->options[WHERE_CONFIG], call->options[WHERE_DATA], place);
}

/* -- show -------------------------------------------------------------------------- */

static int show(const struct data_place *place)
{
	struct vault *vault;
	int status = data_place_vault(place, &vault);

	if (status != EXIT_DONE)
		return status;
	if (!vault) {
		command_message("there is no vault in %s: a gate makes one when it starts",
				place->keys);
		return EXIT_NOT_SO;
	}
	printf("the master key opens %s/vault.json: %zu data key%s, number %" PRIu32 " seals\n",
	       place->keys, vault_key_count(vault), vault_key_count(vault) == 1 ? "" : "s",
	       vault_newest_key(vault));
	vault_close(vault);
	return EXIT_DONE;
}

static int run_show(const struct command_call *call)
{
	struct data_place place;
	int status = find(call, &place);

	if (status == EXIT_DONE)
		status = show(&place);
	data_place_fini(&place);
	return status;
}

/* -- rotate ------------------------------------------------------------------------ */

static int rotate(const struct data_place *place)
{
	char why[WHY_MAX] = "";
	uint32_t number;
	int r = vault_add_key(place->keys, &place->master, &env_machine, &number, why, sizeof(why));

	if (r != 0) {
		command_message("%s", why);
		return EXIT_NOT_SO;
	}
	printf("data key %" PRIu32 " seals what is new once the gate has started or read its "
	       "configuration again (SIGHUP)\n",
	       number);
	return EXIT_DONE;
}

static int run_rotate(const struct command_call *call)
{
	struct data_place place;
	int status = find(call, &place);

	if (status == EXIT_DONE)
		status = rotate(&place);
	data_place_fini(&place);
	return status;
}

/* -- rewrap ------------------------------------------------------------------------ */

static struct str option(const struct command_call *call, size_t which)
{
	return call->options[which] ? str_from(call->options[which]) : STR("");
}

static int rewrap(const struct data_place *place, const struct vault_master *to)
{
	char why[WHY_MAX] = "";
	int r = vault_rewrap(place->keys, &place->master, to, &env_machine, why, sizeof(why));

	if (r != 0) {
		command_message("%s", why);
		return EXIT_NOT_SO;
	}
	if (to->file.len || to->credential.len || to->passphrase_file.len)
		printf("%s/vault.json is wrapped by the new master key; say so in the gate's "
		       "configuration (master_key) before it starts again\n",
		       place->keys);
	else
		printf("%s/vault.json is wrapped by a new master key, in %s/master.key: keep a "
		       "copy of it elsewhere\n",
		       place->keys, place->keys);
	return EXIT_DONE;
}

static int run_rewrap(const struct command_call *call)
{
	const struct vault_master to = {
		.file = option(call, TO_FILE),
		.credential = option(call, TO_CREDENTIAL),
		.passphrase_file = option(call, TO_PASSPHRASE),
	};
	struct data_place place;
	int status;

	if ((to.file.len > 0) + (to.credential.len > 0) + (to.passphrase_file.len > 0) > 1)
		return command_misused(call->command, "the new master key is in one place: name "
						      "one of the three");
	status = find(call, &place);
	if (status == EXIT_DONE)
		status = rewrap(&place, &to);
	data_place_fini(&place);
	return status;
}

/* -- the commands ------------------------------------------------------------------ */

static const struct command command_show = {
	.name = "vault show",
	.summary = "says whether the master key opens the vault, and what is in it",
	.usage = "[--config FILE] [--data DIR]",
	.options = where_options,
	.option_count = sizeof(where_options) / sizeof(where_options[0]),
	.run = run_show,
};

static const struct command command_rotate = {
	.name = "vault rotate",
	.summary = "adds a data key, which seals what is new",
	.usage = "[--config FILE] [--data DIR]",
	.text = "The keys before it stay, for what they have sealed. A gate that runs takes the "
		"new\n"
		"one over when it reads its configuration again (SIGHUP).\n",
	.options = where_options,
	.option_count = sizeof(where_options) / sizeof(where_options[0]),
	.run = run_rotate,
};

static const struct command command_rewrap = {
	.name = "vault rewrap",
	.summary = "replaces the master key",
	.usage = "[--config FILE] [--data DIR]\n"
		 "           [--to-file FILE | --to-credential NAME | --to-passphrase-file FILE]",
	.text = "Wraps the data keys under another master key; what is sealed stays as it is. A\n"
		"gate that runs notices nothing. Without a new place the vault's own file,\n"
		"keys/master.key, gets a new key. With one, the configuration has to name it\n"
		"before the gate starts or reloads again. The old key opens nothing afterwards,\n"
		"but older copies of vault.json.\n",
	.options = rewrap_options,
	.option_count = sizeof(rewrap_options) / sizeof(rewrap_options[0]),
	.run = run_rewrap,
};

static const struct command *const vault_commands[] = {&command_show, &command_rotate,
						       &command_rewrap, NULL};

const struct command command_vault = {
	.name = "vault",
	.summary = "the keys that seal the data directory",
	.usage = "show | rotate | rewrap",
	.commands = vault_commands,
};
