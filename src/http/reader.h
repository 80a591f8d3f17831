/*
 * What the files of the reader share. Not for other folders: they use http.h.
 */
#ifndef HTTP_READER_H
#define HTTP_READER_H

#include "http/http.h"

/* What a byte may be part of: bits of http_class[]. CR, LF and NUL are in none of them. */
enum {
	CLASS_TOKEN = 1,  /* RFC 9110 § 5.6.2 */
	CLASS_VALUE = 2,  /* a field value: visible, space, TAB, bytes over 127 */
	CLASS_TARGET = 4, /* a request target; see target.c */
	CLASS_HOST = 8,	  /* a host's name */
};
extern const uint8_t http_class[256];

static inline bool http_is_in(char byte, int class)
{
	return http_class[(unsigned char)byte] & class;
}

/* Is all of `text` in the class? True for an empty text. */
bool http_all_in(struct str text, int class);

enum { HTTP_METHOD_MAX = 32 };

/* Fill the refusal and return HTTP_REFUSED. `detail` is a constant text. */
int http_refuse(struct http_refusal *out_refusal, int status, const char *detail);

/*
 * Read the request target of a request whose method is known: fills target and parts.
 * 0, HTTP_REFUSED, FAIL_MEMORY.
 */
int http_target_read(struct str text, struct arena *mem, struct http_request *request,
		     struct http_refusal *out_refusal);

/* Is it `name[:port]`, `ipv4[:port]` or `[ipv6][:port]`? */
bool http_is_authority(struct str text);

/*
 * Give the fields of a request their meaning: host, framing, length, is_persistent,
 * expects_continue. Its line and its fields have been read. 0, HTTP_REFUSED.
 */
int http_rules_apply(struct http_request *request, struct http_refusal *out_refusal);

/*
 * Cut the next member off a comma-separated list (RFC 9110 § 5.6.1), without the blanks
 * around it. Commas inside quoted strings do not count; empty members are passed over.
 * False at the end.
 */
bool http_next_member(struct str *rest, struct str *out_member);

#endif
