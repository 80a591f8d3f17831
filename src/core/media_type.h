/*
 * The media type of a body: which canonical form it gets, and its own one spelling.
 */
#ifndef CORE_MEDIA_TYPE_H
#define CORE_MEDIA_TYPE_H

#include "base/buf.h"
#include "base/str.h"
#include "core/parameters.h"

/* How a body of a media type is compared. */
enum body_kind {
	BODY_OPAQUE, /* byte by byte, also when there is no media type */
	BODY_JSON,   /* application/json and everything +json */
	BODY_FORM,   /* application/x-www-form-urlencoded */
	BODY_MULTIPART,
};

struct media_type {
	struct str type;    /* as it came; empty: there was none */
	struct str subtype; /* as it came */
	struct parameters parameters;
};

/*
 * Read a Content-Type; `header` names it in the error. 0 with everything pointing into
 * `text`, an empty one giving the empty media type; FINGERPRINT_REFUSED when it is malformed,
 * or is JSON in another charset than UTF-8.
 */
int media_type_read(struct str text, const char *header, struct media_type *out_media_type,
		    struct fingerprint_error *out_error);

enum body_kind media_type_kind(const struct media_type *media_type);

/*
 * Append the one spelling: lower case, parameters ordered by name and quoted, without charset
 * (and without the boundary of a multipart type). Failures show in out->is_spoiled.
 */
void media_type_write(const struct media_type *media_type, struct buf *out);

#endif
