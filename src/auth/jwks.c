/*
 * Reading a key set.
 *
 * Our own JSON reader takes the text apart, so that a repeated name is refused and every length is
 * known before a library sees a byte; cjose gets the numbers of RSA and EC keys and says whether
 * they are a key (a point on its curve). It knows no Ed25519; those 32 bytes are libsodium's.
 *
 * Always true: a key of a set has its type's exact sizes; `kid` lives in the set's own memory.
 */
#include "auth/jwks.h"

#include "auth/base64url.h"
#include "base/err.h"
#include "json/json.h"

#include <cjose/jwk.h>
#include <openssl/err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	EXPONENT_MAX = 8,	   /* bytes of an RSA exponent */
	COORDINATE_MAX = 66,	   /* of P-521 */
	KIDS_MAX = 32 * 1024,	   /* memory of all names */
	READING_MAX = 8 * 1048576, /* memory while a set is read: 32 bytes for each of its own */
	DEPTH_MAX = 16,
};

struct jwks {
	atomic_size_t holds;
	size_t count;
	size_t passed_over;
	struct jwks_key keys[JWKS_KEYS_MAX];
	struct arena mem; /* the names */
};

/* The first of a type has its family's name in `alg`-less sets; order does not matter. */
static const struct jwks_algorithm algorithms[] = {
	{"RS256", JWKS_RSA},	 {"RS384", JWKS_RSA},	    {"RS512", JWKS_RSA},
	{"PS256", JWKS_RSA},	 {"PS384", JWKS_RSA},	    {"PS512", JWKS_RSA},
	{"ES256", JWKS_P256},	 {"ES384", JWKS_P384},	    {"ES512", JWKS_P521},
	{"EdDSA", JWKS_ED25519}, {"Ed25519", JWKS_ED25519},
};
enum { ALGORITHM_COUNT = sizeof(algorithms) / sizeof(algorithms[0]) };

/* Curves by their names in a JWK. */
static const struct curve {
	const char *name;
	enum jwks_type type;
	cjose_jwk_ec_curve curve;
	size_t size; /* bytes of a coordinate */
} curves[] = {
	{"P-256", JWKS_P256, CJOSE_JWK_EC_P_256, 32},
	{"P-384", JWKS_P384, CJOSE_JWK_EC_P_384, 48},
	{"P-521", JWKS_P521, CJOSE_JWK_EC_P_521, COORDINATE_MAX},
};
enum { CURVE_COUNT = sizeof(curves) / sizeof(curves[0]) };

static int read_keys(struct jwks *set, const struct json_value *list, struct arena *mem, char *why);
static int read_key(const struct json_value *value, struct arena *mem, struct jwks_key *out);

int jwks_read(struct str text, struct jwks **out_set, char why[JWKS_WHY_MAX])
{
	struct json_limits limits = json_limits_default;
	struct json_value *value;
	struct json_error error;
	struct jwks *set;
	struct arena mem;
	int r;

	if (text.len > JWKS_BYTES_MAX) {
		snprintf(why, JWKS_WHY_MAX, "it is larger than %d bytes", JWKS_BYTES_MAX);
		return JWKS_REFUSED;
	}
	set = calloc(1, sizeof(*set));
	if (!set)
		return fail(FAIL_MEMORY);
	atomic_init(&set->holds, 1);
	arena_init(&set->mem, KIDS_MAX);
	arena_init(&mem, READING_MAX + 16384);
	limits.depth = DEPTH_MAX;
	r = json_read(text, &limits, &mem, &value, &error);
	if (r == JSON_REFUSED) {
		snprintf(why, JWKS_WHY_MAX, "it is not JSON: line %zu, column %zu: %.120s",
			 error.line, error.column, error.detail);
		r = JWKS_REFUSED;
	} else if (r == 0) {
		r = read_keys(set, json_member(value, STR("keys")), &mem, why);
	}
	arena_fini(&mem);
	ERR_clear_error(); /* what is left there, the next TLS call of this thread would take */
	if (r == 0)
		*out_set = set;
	else
		jwks_drop(set);
	return r;
}

static int read_keys(struct jwks *set, const struct json_value *list, struct arena *mem, char *why)
{
	if (!list || list->type != JSON_ARRAY) {
		snprintf(why, JWKS_WHY_MAX, "it has no list \"keys\"");
		return JWKS_REFUSED;
	}
	for (size_t i = 0; i < list->array.count; i++) {
		struct jwks_key key = {0};
		int r;

		if (set->count == JWKS_KEYS_MAX) {
			snprintf(why, JWKS_WHY_MAX, "it has more than %d keys", JWKS_KEYS_MAX);
			return JWKS_REFUSED;
		}
		r = read_key(list->array.items[i], mem, &key);
		if (r < 0)
			return r;
		if (r == JWKS_REFUSED) {
			set->passed_over++;
			continue;
		}
		key.kid = arena_str(&set->mem, key.kid);
		set->keys[set->count++] = key;
		if (!key.kid.at)
			return fail(FAIL_MEMORY);
	}
	if (set->count == 0) {
		snprintf(why, JWKS_WHY_MAX,
			 "none of its %zu keys is a public one for signatures "
			 "(RSA from 2048 bits, P-256, P-384, P-521, Ed25519)",
			 list->array.count);
		return JWKS_REFUSED;
	}
	return 0;
}

struct jwks *jwks_hold(struct jwks *set)
{
	if (set)
		atomic_fetch_add(&set->holds, 1);
	return set;
}

void jwks_drop(struct jwks *set)
{
	if (!set || atomic_fetch_sub(&set->holds, 1) != 1)
		return;
	for (size_t i = 0; i < set->count; i++) {
		if (set->keys[i].cjose)
			cjose_jwk_release(set->keys[i].cjose);
	}
	arena_fini(&set->mem);
	free(set);
}

size_t jwks_count(const struct jwks *set)
{
	return set->count;
}

size_t jwks_passed_over(const struct jwks *set)
{
	return set->passed_over;
}

const struct jwks_algorithm *jwks_algorithm(struct str name)
{
	for (size_t i = 0; i < ALGORITHM_COUNT; i++) {
		if (str_equal(name, str_from(algorithms[i].name)))
			return &algorithms[i];
	}
	return NULL;
}

static bool key_fits(const struct jwks_key *key, const struct jwks_algorithm *algorithm)
{
	return key->type == algorithm->type && (!key->only || key->only == algorithm);
}

int jwks_pick(const struct jwks *set, struct str kid, const struct jwks_algorithm *algorithm,
	      const struct jwks_key **out_key)
{
	const struct jwks_key *found = NULL;
	bool has_name = false;

	for (size_t i = 0; i < set->count; i++) {
		const struct jwks_key *key = &set->keys[i];

		if (kid.len > 0 && !str_equal(key->kid, kid))
			continue;
		has_name = kid.len > 0;
		if (!key_fits(key, algorithm))
			continue;
		if (found)
			return JWKS_AMBIGUOUS;
		found = key;
	}
	if (!found)
		return has_name ? JWKS_OTHER_ALGORITHM : JWKS_ABSENT;
	*out_key = found;
	return 0;
}

/* A member that is a string; "" for any that is absent. False: it is something else. */
static bool text_of(const struct json_value *object, struct str name, struct str *out)
{
	const struct json_value *value = json_member(object, name);

	*out = STR("");
	if (value && value->type != JSON_STRING)
		return false;
	if (value)
		*out = value->string;
	return true;
}

/* May it verify signatures, as far as it says what it is for? */
static bool is_for_signatures(const struct json_value *value)
{
	const struct json_value *operations = json_member(value, STR("key_ops"));
	struct str use;

	if (!text_of(value, STR("use"), &use) || (use.len > 0 && !str_equal(use, STR("sig"))))
		return false;
	if (!operations)
		return true;
	for (size_t i = 0; operations->type == JSON_ARRAY && i < operations->array.count; i++) {
		const struct json_value *one = operations->array.items[i];

		if (one->type == JSON_STRING && str_equal(one->string, STR("verify")))
			return true;
	}
	return false;
}

/* A member's bytes, `least` to `most` of them. */
static bool bytes_of(const struct json_value *object, struct str name, size_t least, size_t most,
		     struct arena *mem, struct str *out)
{
	struct str text;

	if (!text_of(object, name, &text) || text.len == 0)
		return false;
	*out = base64url_bytes(text, mem);
	return out->at && out->len >= least && out->len <= most;
}

static int read_rsa(const struct json_value *value, struct arena *mem, struct jwks_key *out)
{
	cjose_jwk_rsa_keyspec spec = {0};
	struct str n, e;

	if (!bytes_of(value, STR("n"), JWKS_RSA_BYTES_MIN, JWKS_RSA_BYTES_MAX, mem, &n) ||
	    !bytes_of(value, STR("e"), 1, EXPONENT_MAX, mem, &e))
		return JWKS_REFUSED;
	/* Without leading zeros, so that a length says how strong it is; and odd, as both must be;
	 * and no exponent of 1, which signs everything by itself. */
	if (!(n.at[0] & 0x80) || !(n.at[n.len - 1] & 1) || !e.at[0] || !(e.at[e.len - 1] & 1) ||
	    (e.len == 1 && e.at[0] == 1))
		return JWKS_REFUSED;
	spec.n = (uint8_t *)(uintptr_t)n.at;
	spec.nlen = n.len;
	spec.e = (uint8_t *)(uintptr_t)e.at;
	spec.elen = e.len;
	out->cjose = cjose_jwk_create_RSA_spec(&spec, NULL);
	out->type = JWKS_RSA;
	out->signature_size = n.len;
	return out->cjose ? 0 : JWKS_REFUSED;
}

static int read_ec(const struct json_value *value, struct arena *mem, struct jwks_key *out)
{
	const struct curve *curve = NULL;
	cjose_jwk_ec_keyspec spec = {0};
	struct str name, x, y;

	if (!text_of(value, STR("crv"), &name))
		return JWKS_REFUSED;
	for (size_t i = 0; i < CURVE_COUNT; i++) {
		if (str_equal(name, str_from(curves[i].name)))
			curve = &curves[i];
	}
	if (!curve || !bytes_of(value, STR("x"), curve->size, curve->size, mem, &x) ||
	    !bytes_of(value, STR("y"), curve->size, curve->size, mem, &y))
		return JWKS_REFUSED;
	spec.crv = curve->curve;
	spec.x = (uint8_t *)(uintptr_t)x.at;
	spec.xlen = x.len;
	spec.y = (uint8_t *)(uintptr_t)y.at;
	spec.ylen = y.len;
	out->cjose = cjose_jwk_create_EC_spec(&spec, NULL);
	out->type = curve->type;
	out->signature_size = 2 * curve->size;
	return out->cjose ? 0 : JWKS_REFUSED;
}

static int read_okp(const struct json_value *value, struct arena *mem, struct jwks_key *out)
{
	struct str curve, x;

	if (!text_of(value, STR("crv"), &curve) || !str_equal(curve, STR("Ed25519")) ||
	    !bytes_of(value, STR("x"), JWKS_ED25519_SIZE, JWKS_ED25519_SIZE, mem, &x))
		return JWKS_REFUSED;
	memcpy(out->ed25519, x.at, JWKS_ED25519_SIZE);
	out->type = JWKS_ED25519;
	out->signature_size = 2 * (size_t)JWKS_ED25519_SIZE;
	return 0;
}

static int read_material(const struct json_value *value, struct arena *mem, struct jwks_key *out)
{
	struct str type;

	if (!text_of(value, STR("kty"), &type) || json_member(value, STR("d")))
		return JWKS_REFUSED;
	if (str_equal(type, STR("RSA")))
		return read_rsa(value, mem, out);
	if (str_equal(type, STR("EC")))
		return read_ec(value, mem, out);
	if (str_equal(type, STR("OKP")))
		return read_okp(value, mem, out);
	return JWKS_REFUSED;
}

static int read_key(const struct json_value *value, struct arena *mem, struct jwks_key *out)
{
	struct str algorithm;
	int r;

	if (value->type != JSON_OBJECT || !is_for_signatures(value) ||
	    !text_of(value, STR("kid"), &out->kid) || out->kid.len > JWKS_KID_MAX ||
	    !text_of(value, STR("alg"), &algorithm))
		return JWKS_REFUSED;
	if (algorithm.len > 0) {
		out->only = jwks_algorithm(algorithm);
		if (!out->only)
			return JWKS_REFUSED;
	}
	r = read_material(value, mem, out);
	if (r == 0 && out->only && out->only->type != out->type) {
		if (out->cjose)
			cjose_jwk_release(out->cjose);
		return JWKS_REFUSED;
	}
	return r;
}
