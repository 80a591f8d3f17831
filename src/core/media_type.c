/*
 * Media types (RFC 9110 § 8.3.1).
 *
 * Charset is taken out of the spelling: the same bytes are the same intention. Only JSON has
 * a say about it, because it is read here, and read as UTF-8.
 */
#include "core/media_type.h"

#include "core/text.h"

static int check_charset(const struct media_type *media_type, const char *header,
			 struct fingerprint_error *out_error);

int media_type_read(struct str text, const char *header, struct media_type *out_media_type,
		    struct fingerprint_error *out_error)
{
	size_t slash, end;
	int r;

	text = str_trim(text);
	end = str_find(text, ';');
	slash = str_find(text, '/');
	out_media_type->type = out_media_type->subtype = str_of(NULL, 0);
	out_media_type->parameters.count = 0;
	if (text.len == 0)
		return 0;
	if (slash < end) {
		out_media_type->type = str_of(text.at, slash);
		out_media_type->subtype = str_trim(str_of(text.at + slash + 1, end - slash - 1));
	}
	if (!text_is_token(out_media_type->type) || !text_is_token(out_media_type->subtype))
		return fingerprint_refuse(out_error,
					  "%s is malformed: type/subtype is expected, as in "
					  "application/json.",
					  header);
	r = parameters_read(str_from_index(text, end), header, &out_media_type->parameters,
			    out_error);
	if (r != 0)
		return r;
	return check_charset(out_media_type, header, out_error);
}

static int check_charset(const struct media_type *media_type, const char *header,
			 struct fingerprint_error *out_error)
{
	struct str charset = parameters_value(&media_type->parameters, STR("charset"));

	if (media_type_kind(media_type) != BODY_JSON || !charset.at ||
	    str_equal_nocase(charset, STR("utf-8")) || str_equal_nocase(charset, STR("utf8")))
		return 0;
	return fingerprint_refuse(out_error,
				  "%s names another charset than UTF-8; JSON is UTF-8 (RFC 8259 "
				  "section 8.1): convert the text and leave the parameter out.",
				  header);
}

static bool is_json(const struct media_type *media_type)
{
	struct str subtype = media_type->subtype;

	if (str_equal_nocase(media_type->type, STR("application")) &&
	    str_equal_nocase(subtype, STR("json")))
		return true;
	return subtype.len > 5 &&
	       str_equal_nocase(str_from_index(subtype, subtype.len - 5), STR("+json"));
}

enum body_kind media_type_kind(const struct media_type *media_type)
{
	if (is_json(media_type))
		return BODY_JSON;
	if (str_equal_nocase(media_type->type, STR("multipart")))
		return BODY_MULTIPART;
	if (str_equal_nocase(media_type->type, STR("application")) &&
	    str_equal_nocase(media_type->subtype, STR("x-www-form-urlencoded")))
		return BODY_FORM;
	return BODY_OPAQUE;
}

void media_type_write(const struct media_type *media_type, struct buf *out)
{
	bool is_multipart = media_type_kind(media_type) == BODY_MULTIPART;

	if (media_type->type.len == 0)
		return;
	text_append_lower(out, media_type->type);
	(void)buf_append_byte(out, '/');
	text_append_lower(out, media_type->subtype);
	parameters_write(&media_type->parameters, STR("charset"),
			 is_multipart ? STR("boundary") : STR(""), out);
}
