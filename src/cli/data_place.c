/* Finding a data directory and opening its vault (see data_place.h). */
#include "cli/data_place.h"

#include "base/err.h"
#include "cli/command.h"

static int load(const char *config, struct data_place *place)
{
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = settings_load(config, NULL, &place->settings, &report);
	if (r == SETTINGS_WRONG)
		settings_report_print(&report, stderr);
	else if (r < 0)
		command_message("%s", fail_text(r));
	settings_report_fini(&report);
	return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

int data_place_find(const char *config, const char *data, struct data_place *out)
{
	int r;

	*out = (struct data_place){.data = "counterfoil-data"};
	r = config ? load(config, out) : EXIT_DONE;
	if (r != EXIT_DONE)
		return r;
	if (out->settings) {
		out->data = out->settings->data.at;
		out->master = out->settings->master_key;
	}
	if (data)
		out->data = data;
	if (snprintf(out->keys, sizeof(out->keys), "%s/keys", out->data) < (int)sizeof(out->keys))
		return EXIT_DONE;
	command_message("%s is too long a path", out->data);
	return EXIT_USAGE;
}

void data_place_fini(struct data_place *place)
{
	settings_free(place->settings);
}

int data_place_vault(const struct data_place *place, struct vault **out_vault)
{
	char why[DATA_PATH_MAX + 512];
	int r;

	*out_vault = NULL;
	r = vault_open_there(place->keys, &place->master, &env_machine, out_vault, why,
			     sizeof(why));
	if (r == 0 || r == VAULT_ABSENT)
		return EXIT_DONE;
	command_message("%s%s", why,
			place->settings ? "" : " (--config FILE says where the master key is)");
	return EXIT_NOT_SO;
}
