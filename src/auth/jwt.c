/*
 * Judging a token.
 *
 *   parts ─► header ─► key ─► signature ─► claims
 *
 * Header and claims are read by our own strict reader, which refuses a repeated name: two readers
 * could see two accounts. The signature is cjose's to judge (RSA, EC) or libsodium's (Ed25519).
 * cjose is asked only what it answers well: its import forgets to free a header without `alg`, and
 * its ECDSA takes a signature of any length in halves, so both are looked at here first.
 *
 * Claims are read after the signature is known to be good, never before.
 */
#include "auth/jwt.h"

#include "auth/base64url.h"
#include "base/env.h"
#include "base/err.h"
#include "json/json.h"

#include <cjose/jws.h>
#include <openssl/err.h>
#include <sodium.h>

enum {
	DEPTH_MAX = 16,	      /* of header and claims */
	VALUES_MAX = 4096,    /* in either */
	AUDIENCES_MAX = 64,   /* in one token */
	DATE_DIGITS_MAX = 12, /* of a time's seconds before its point: far beyond year 9999 */
	MS_DIGITS = 3,	      /* from seconds to milliseconds */
};

struct parts {
	struct str header, claims, signature; /* as they stand in the token */
	struct str input;		      /* what is signed: header and claims */
};

static int refuse(const char **out_why, const char *why)
{
	*out_why = why;
	return JWT_REFUSED;
}

static bool split(struct str token, struct parts *out)
{
	struct str rest = token;

	if (token.len == 0 || !str_split(&rest, '.', &out->header) ||
	    !str_split(&rest, '.', &out->claims))
		return false;
	out->signature = rest;
	out->input = str_of(token.at, out->header.len + 1 + out->claims.len);
	return rest.at && rest.len > 0 && out->header.len > 0 && out->claims.len > 0 &&
	       str_find(rest, '.') == rest.len;
}

bool jwt_is_like(struct str text)
{
	struct parts parts;

	return text.len <= JWT_BYTES_MAX && split(text, &parts);
}

/* 0, JWT_REFUSED (no base64url, no JSON, no object), FAIL_MEMORY. */
static int read_object(struct str part, struct arena *mem, struct json_value **out)
{
	struct json_limits limits = json_limits_default;
	struct str text = base64url_bytes(part, mem);
	struct json_error error;
	int r;

	if (!text.at)
		return JWT_REFUSED;
	limits.depth = DEPTH_MAX;
	limits.values = VALUES_MAX;
	r = json_read(text, &limits, mem, out, &error);
	if (r < 0)
		return r;
	return r == 0 && (*out)->type == JSON_OBJECT ? 0 : JWT_REFUSED;
}

/* `typ`, if there is one, says that it is a token for access (RFC 9068) or just a token. */
static bool type_is_good(const struct json_value *header)
{
	const struct json_value *type = json_member(header, STR("typ"));
	struct str text;

	if (!type)
		return true;
	if (type->type != JSON_STRING)
		return false;
	text = type->string;
	if (str_starts_with_nocase(text, STR("application/")))
		text = str_from_index(text, STR("application/").len);
	return str_equal_nocase(text, STR("jwt")) || str_equal_nocase(text, STR("at+jwt"));
}

/* The key that the header asks for, if it is one that may sign so. */
static int find_key(const struct jwks *set, const struct json_value *header,
		    const struct jwks_key **out_key, const struct jwks_algorithm **out_algorithm,
		    const char **out_why)
{
	const struct json_value *algorithm = json_member(header, STR("alg"));
	const struct json_value *kid = json_member(header, STR("kid"));

	if (!algorithm || algorithm->type != JSON_STRING ||
	    !(*out_algorithm = jwks_algorithm(algorithm->string)))
		return refuse(out_why, "its algorithm is not one that is taken");
	if (json_member(header, STR("crit")) || json_member(header, STR("b64")))
		return refuse(out_why, "its header asks for an extension that is not supported");
	if (!type_is_good(header))
		return refuse(out_why, "its type is not one that is taken");
	if (kid && (kid->type != JSON_STRING || !kid->string.len || kid->string.len > JWKS_KID_MAX))
		return refuse(out_why, "its header names no key");
	switch (jwks_pick(set, kid ? kid->string : STR(""), *out_algorithm, out_key)) {
	case 0:
		return 0;
	case JWKS_OTHER_ALGORITHM:
		return refuse(out_why, "its algorithm is not its key's");
	case JWKS_AMBIGUOUS:
		return refuse(out_why, "it does not say which key has signed it");
	default:
		*out_why = "its key is not known here";
		return JWT_UNKNOWN_KEY;
	}
}

bool jwt_key_is_known(const struct jwks *set, struct str token, struct arena *mem)
{
	const struct jwks_algorithm *algorithm;
	const struct jwks_key *key;
	struct json_value *header;
	struct parts parts;
	const char *why;

	return token.len > JWT_BYTES_MAX || !split(token, &parts) ||
	       read_object(parts.header, mem, &header) != 0 ||
	       find_key(set, header, &key, &algorithm, &why) != JWT_UNKNOWN_KEY;
}

static bool cjose_agrees(const struct jwks_key *key, struct str token)
{
	cjose_jws_t *jws = cjose_jws_import(token.at, token.len, NULL);
	bool is_good = jws && cjose_jws_verify(jws, key->cjose, NULL);

	if (jws)
		cjose_jws_release(jws);
	ERR_clear_error(); /* what is left there, the next TLS call of this thread would take */
	return is_good;
}

static bool signature_is_good(const struct jwks_key *key, struct str token,
			      const struct parts *parts, struct arena *mem)
{
	struct str signature = base64url_bytes(parts->signature, mem);

	if (!signature.at || signature.len != key->signature_size)
		return false;
	if (key->type != JWKS_ED25519)
		return cjose_agrees(key, token);
	return crypto_sign_verify_detached((const uint8_t *)signature.at,
					   (const uint8_t *)parts->input.at, parts->input.len,
					   key->ed25519) == 0;
}

/* A time of RFC 7519 § 2: seconds, a fraction too, since 1970. False: none. */
static bool read_date(const struct json_value *value, int64_t *out_ms)
{
	const struct json_number *number;
	int64_t ms = 0;

	if (value->type != JSON_NUMBER)
		return false;
	number = &value->number;
	if (number->is_negative || number->point > DATE_DIGITS_MAX)
		return false;
	for (int32_t i = 0; i < number->point + MS_DIGITS; i++) {
		size_t at = (size_t)i;

		ms = ms * 10 + (at < number->digits.len ? number->digits.at[at] - '0' : 0);
	}
	*out_ms = ms;
	return true;
}

static int check_times(const struct json_value *claims, const struct jwt_rules *rules,
		       int64_t now_ms, struct jwt_claims *out, const char **out_why)
{
	const struct json_value *expires = json_member(claims, STR("exp"));
	const struct json_value *not_before = json_member(claims, STR("nbf"));
	const struct json_value *issued = json_member(claims, STR("iat"));
	int64_t at_ms;

	if (!expires || !read_date(expires, &out->expires_ms))
		return refuse(out_why, "it does not say when it expires");
	if (now_ms >= time_add(out->expires_ms, rules->tolerance_ms))
		return refuse(out_why, "it has expired");
	if (not_before) {
		if (!read_date(not_before, &at_ms))
			return refuse(out_why, "its nbf is no time");
		if (at_ms > time_add(now_ms, rules->tolerance_ms))
			return refuse(out_why, "it is not yet valid");
	}
	if (issued) {
		if (!read_date(issued, &at_ms))
			return refuse(out_why, "its iat is no time");
		if (at_ms > time_add(now_ms, rules->tolerance_ms))
			return refuse(out_why, "it was issued in the future");
	}
	return 0;
}

static bool audience_is_ours(const struct json_value *audience, struct str ours)
{
	bool is_ours = false;

	if (!audience)
		return false;
	if (audience->type == JSON_STRING)
		return str_equal(audience->string, ours);
	if (audience->type != JSON_ARRAY || audience->array.count > AUDIENCES_MAX)
		return false;
	for (size_t i = 0; i < audience->array.count; i++) {
		const struct json_value *one = audience->array.items[i];

		if (one->type != JSON_STRING)
			return false;
		is_ours = is_ours || str_equal(one->string, ours);
	}
	return is_ours;
}

/* A claim that names somebody: a text without control characters, not empty, not endless. */
static bool read_name(const struct json_value *claims, struct str claim, struct arena *mem,
		      struct str *out)
{
	const struct json_value *value = str_starts_with(claim, STR("/"))
						 ? json_at(claims, claim)
						 : json_member(claims, claim);

	if (!value || value->type != JSON_STRING || !value->string.len ||
	    value->string.len > JWT_NAME_MAX)
		return false;
	for (size_t i = 0; i < value->string.len; i++) {
		if ((unsigned char)value->string.at[i] < ' ' || value->string.at[i] == 0x7f)
			return false;
	}
	*out = arena_str(mem, value->string);
	return out->at != NULL;
}

static int check_claims(const struct json_value *claims, const struct jwt_rules *rules,
			int64_t now_ms, struct arena *mem, struct jwt_claims *out,
			const char **out_why)
{
	const struct json_value *issuer = json_member(claims, STR("iss"));
	int r = check_times(claims, rules, now_ms, out, out_why);

	if (r != 0)
		return r;
	if (!issuer || issuer->type != JSON_STRING || !str_equal(issuer->string, rules->issuer))
		return refuse(out_why, "it is of another issuer");
	if (!audience_is_ours(json_member(claims, STR("aud")), rules->audience))
		return refuse(out_why, "it is meant for another audience");
	if (!read_name(claims, rules->account_claim, mem, &out->account))
		return refuse(out_why, "it has no claim that names the account");
	if (!read_name(claims, rules->agent_claim, mem, &out->agent))
		return refuse(out_why, "it has no claim that names the agent");
	return 0;
}

int jwt_verify(const struct jwks *set, const struct jwt_rules *rules, struct str token,
	       int64_t now_ms, struct arena *mem, struct jwt_claims *out_claims,
	       const char **out_why)
{
	const struct jwks_algorithm *algorithm;
	const struct jwks_key *key;
	struct json_value *header, *claims;
	struct jwt_claims read = {0};
	struct parts parts;
	int r;

	/* An empty one would be met by a token that says nothing. */
	require(rules->issuer.len && rules->audience.len);
	require(rules->account_claim.len && rules->agent_claim.len);
	if (token.len > JWT_BYTES_MAX || !split(token, &parts))
		return refuse(out_why, "it is no signed token");
	r = read_object(parts.header, mem, &header);
	if (r != 0)
		return r < 0 ? r : refuse(out_why, "its header cannot be read");
	r = find_key(set, header, &key, &algorithm, out_why);
	if (r != 0)
		return r;
	if (!signature_is_good(key, token, &parts, mem))
		return refuse(out_why, "its signature is wrong");
	r = read_object(parts.claims, mem, &claims);
	if (r != 0)
		return r < 0 ? r : refuse(out_why, "its claims cannot be read");
	r = check_claims(claims, rules, now_ms, mem, &read, out_why);
	if (r == 0)
		*out_claims = read;
	return r;
}
