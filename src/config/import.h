/*
 * Actions from the description of an API.
 *
 * An OpenAPI 3.0 or 3.1 document, YAML or JSON, becomes a configuration with an action for
 * each operation that writes. What the document cannot say, because a person must decide it,
 * stands there as a comment. What is printed passes `config check`: every action is checked by
 * itself before it is taken, and what does not pass is taken with fewer rules.
 */
#ifndef CONFIG_IMPORT_H
#define CONFIG_IMPORT_H

#include "config/settings.h"

enum { IMPORT_FILE_MAX = 8 * 1024 * 1024 };

/*
 * Append the configuration to `out`, whose maximum is at least SETTINGS_FILE_MAX. Blocks; any
 * thread.
 *   0               it is whole
 *   SETTINGS_WRONG  the report says why it cannot be read, or is no OpenAPI document
 *   FAIL_MEMORY
 */
int import_openapi(const char *file, struct buf *out, struct settings_report *report);

/* The same from memory; `name` stands for the file. */
int import_openapi_text(struct str text, const char *name, struct buf *out,
			struct settings_report *report);

#endif
