/*
 * The table behind the settings; for the folder's own use.
 */
#ifndef CONFIG_TABLE_H
#define CONFIG_TABLE_H

#include "config/settings.h"
#include "config/yaml.h"

/* What a value is, and with it the member it is kept in. */
enum setting_kind {
	KIND_ADDRESS,  /* struct settings_address */
	KIND_PATH,     /* struct str: a file or directory */
	KIND_URL,      /* struct settings_url */
	KIND_HEADER,   /* struct str: the name of a header */
	KIND_DURATION, /* int64_t, ms */
	KIND_SIZE,     /* size_t, bytes */
	KIND_COUNT,    /* uint32_t */
	KIND_THREADS,  /* uint32_t; also the word `cores` */
	KIND_BOOL,     /* bool */
	KIND_CHOICE,   /* int: index into the words of `range` */
	KIND_METHODS,  /* settings.protect */
	KIND_STATUSES, /* uint64_t[8] of struct status_classes */
	KIND_NETWORKS, /* settings.trusted_proxies */
	KIND_LATER,    /* nothing: known, and not in this build */
	KIND_COUNT_OF,
};

/*
 * One setting. Its default and range are written as an operator would write them, and go
 * through the same readers as what an operator wrote.
 */
struct setting {
	const char *name; /* its path; '*' stands for the name of an upstream */
	enum setting_kind kind;
	size_t at; /* offset in struct settings; in struct settings_upstream for upstreams.*.… */
	const char *default_value; /* NULL: none */
	const char *range;	   /* "1s to 10m"; the words of a choice: "a | b"; or "" */
	const char *later;	   /* words, or their beginnings ("x://"), that this build lacks */
	const char *example;	   /* shown where there is no default */
	const char *help;	   /* sentences; with KIND_LATER: what is not in this build */
	bool needs_restart;
	bool is_required;
};

extern const struct setting settings_table[];
extern const size_t settings_table_size;

#define UPSTREAM_PREFIX "upstreams.*."

/* Is the setting part of an upstream? */
bool setting_is_of_upstream(const struct setting *setting);

/* "a duration", "a size", … */
const char *setting_type(const struct setting *setting);

/* The setting of that path, or NULL. */
const struct setting *setting_find(struct str path);

/* Do settings lie below that path ("limits")? */
bool setting_is_section(struct str path);

/* What happens while settings are being read. */
struct reading {
	struct settings *settings;
	struct settings_report *report;
	struct node *root; /* the file with the options put over it */
	bool may_look;	   /* files it names may be looked at */
};

/*
 * Read what `node` says into the member of `base` that `setting` names. Wrong values are
 * reported, leave the member alone, and mark the node as refused. 0 or FAIL_MEMORY.
 */
int value_read(struct reading *reading, const struct setting *setting, void *base,
	       struct node *node);

/* Report `setting: what`, with `what` from a format. */
void value_report(struct reading *reading, const struct setting *setting, struct place place,
		  const char *mend, const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Combinations that cannot be, reported; and defaults that follow from other settings.
 * `key` is the upstream's name in the file.
 */
void check_upstream(struct reading *reading, struct settings_upstream *upstream,
		    const struct node *key);
void check_settings(struct reading *reading);

#endif
