/*
 * A data directory and its vault, for commands that work on files without asking a gate.
 */
#ifndef CLI_DATA_PLACE_H
#define CLI_DATA_PLACE_H

#include "config/settings.h"
#include "vault/vault.h"

enum { DATA_PATH_MAX = 4096 };

struct data_place {
	const char *data; /* the directory */
	char keys[DATA_PATH_MAX];
	struct vault_master master; /* where its master key is */
	struct settings *settings;  /* of the configuration that said so; or NULL */
};

/*
 * The directory `data` (NULL: the configuration's, else counterfoil-data) and the master key that
 * the configuration `config` (NULL: none) names. EXIT_DONE, or the exit status after a message.
 * data_place_fini() it in either case.
 */
int data_place_find(const char *config, const char *data, struct data_place *out);
void data_place_fini(struct data_place *place);

/* Its vault; NULL where it has none, as an earlier version left it. EXIT_DONE, or the exit status
 * after a message. */
int data_place_vault(const struct data_place *place, struct vault **out_vault);

#endif
