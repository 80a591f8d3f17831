/*
 * Writes counterfoil.yaml(5) while the program is built: the page as it was written by hand,
 * and in the place of its line "@SETTINGS@" an entry for each row of the settings' table. So
 * the page has every setting, and says of it what the gate does.
 */
#include "config/settings.h"

#include <string.h>

int main(int count, char **words)
{
	FILE *page = count == 2 ? fopen(words[1], "r") : NULL;
	char line[1024];
	bool is_written = false;

	if (!page) {
		fprintf(stderr, "usage: manual PAGE\n");
		return 2;
	}
	while (fgets(line, sizeof(line), page)) {
		if (strcmp(line, "@SETTINGS@\n") != 0) {
			fputs(line, stdout);
			continue;
		}
		settings_write_manual(stdout);
		is_written = true;
	}
	fclose(page);
	return is_written && fflush(stdout) == 0 ? 0 : 1;
}
