/*
 * From what somebody wrote to what it means: durations, sizes, addresses, URLs, networks.
 *
 * Pure code. Each reader takes all of its text or refuses it; nothing is guessed at.
 */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include "base/arena.h"
#include "config/settings.h"

enum { VALUE_REFUSED = 1 };

/* Why a value was refused. Constant texts, which never repeat the value: it may be a secret. */
struct value_refusal {
	const char *what; /* "has no port" */
	const char *mend; /* "write …" */
};

/* "250ms", "30s", "15m", "24h", "30d", "forever" into milliseconds. False: it is none. */
bool value_duration(struct str text, int64_t *out_ms);

/* "1024", "64KiB", "1MB" (10^6), "1MiB" (2^20) into bytes. False: it is none. */
bool value_size(struct str text, int64_t *out_bytes);

/* A whole number in decimal. */
bool value_count(struct str text, int64_t *out_count);

/*
 * "127.0.0.1:8080", "[::1]:0", "localhost:80" (taken as 127.0.0.1). Strings in `mem`.
 * 0, VALUE_REFUSED, FAIL_MEMORY.
 */
int value_address(struct str text, struct arena *mem, struct settings_address *out_address,
		  struct value_refusal *out_refusal);

/* http or https, host, perhaps a port and a path before every other. As above. */
int value_url(struct str text, struct arena *mem, struct settings_url *out_url,
	      struct value_refusal *out_refusal);

/* Is its host this machine? `localhost`, and numeric loopback addresses: of any other name somebody
 * else may say where it is. */
bool url_is_of_this_machine(const struct settings_url *url);

/* "10.0.0.7", "10.0.0.0/8", "fd00::/8". 0 or VALUE_REFUSED. */
int value_network(struct str text, struct settings_network *out_network,
		  struct value_refusal *out_refusal);

/* Is the numeric address of `bytes` inside `network`? Of different families: no. */
bool network_has(const struct settings_network *network, bool is_ipv6, const uint8_t *bytes);

/* A method in upper case that writes. 0 or VALUE_REFUSED. */
int value_method(struct str text, struct value_refusal *out_refusal);

/* A JSON pointer to a part of a document, RFC 6901: a slash before each name, ~ only as ~0 and ~1.
 */
bool value_is_pointer(struct str text);

/* Not empty, and without control characters. */
bool value_is_plain(struct str text);

/* What may be the name of a member of a command: 1 to 256 bytes without control characters. */
bool value_is_member(struct str text);

/* The name of a request header that may hold a token. 0 or VALUE_REFUSED. */
int value_header(struct str text, struct value_refusal *out_refusal);

/* The name of a header that the gate may send, whatever the request had. 0 or VALUE_REFUSED. */
int value_sent_header(struct str text, struct value_refusal *out_refusal);

#endif
