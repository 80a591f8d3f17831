/*
 * Fuzzing tokens and key sets: behind "k", the text of a set; else a token, judged by a set with
 * one key of each kind.
 *
 * Nothing is genuine here: no input has a private key. And what is refused has a reason.
 */
#include "auth/jwt.h"

#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 15, CEILING = 1 << 21 };

/* Public halves of keys whose private ones are nowhere. */
#define SET                                                                                        \
	"{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"rsa\",\"n\":\"" RSA_N "\",\"e\":\"AQAB\"},"         \
	"{\"kty\":\"EC\",\"kid\":\"ec\",\"crv\":\"P-256\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\"}," \
	"{\"kty\":\"OKP\",\"kid\":\"ed\",\"crv\":\"Ed25519\",\"x\":\"" ED_X "\"}]}"
#define RSA_N                                                                                      \
	"hboogVzgxy5JrK_rXXQkIm_phKhNWPw2GXuIzaOQYqAJPP7LkuaWPwbDvvdzxRA77ISdHv"                   \
	"IvagR4pHyt-PN_fQbrHOIBVzctG0RWCBv-MqJA-TNYWXhpa8zOe6HrJyaiviTBhhax7ixN"                   \
	"TLItGNG58Ct7S1xI65NxI8rXdbx786E8mVEa2mMbYWf_dUL814PM_lXWRl9psgGAmYSNWb"                   \
	"ofAynq-_T07r1kWt1_3g4DdA2uSwTo80dM7x67Vas8AAhmuzWBqsReG9z2qtXnjYghyMoV"                   \
	"Jlc0M_F6-MhBLlRKB7jb6mpZ5uQUu0l_V1q-S_qbIAVGZUCf55BVclAuesduUw"
#define EC_X "2UBfKkbqFOBq745scfXagwd28prH9i5H7wm7npszyUg"
#define EC_Y "DTS_gNQJsZXasA7jeD9kagwid38Cqddy4Q_lp6Rd5ZU"
#define ED_X "hSyqO-3C7oAaaP42pcuBRCV9XdgiJ732tZYHJCjRM7M"

static const struct jwt_rules rules = {
	.issuer = {"i", 1},
	.audience = {"a", 1},
	.account_claim = {"org", 3},
	.agent_claim = {"sub", 3},
};

static void check_set(struct str text)
{
	char why[JWKS_WHY_MAX] = "";
	struct jwks *set = NULL;
	int r = jwks_read(text, &set, why);

	require(r == 0 || r == JWKS_REFUSED || r == FAIL_MEMORY);
	require(r != JWKS_REFUSED || *why);
	require((r == 0) == (set != NULL));
	require(r != 0 || jwks_count(set) > 0);
	jwks_drop(set);
}

static void check_token(struct str text)
{
	char why_set[JWKS_WHY_MAX];
	struct jwt_claims claims;
	const char *why = NULL;
	struct jwks *set;
	struct arena mem;
	int r;

	require(jwks_read(STR(SET), &set, why_set) == 0 && jwks_count(set) == 3);
	arena_init(&mem, CEILING);
	r = jwt_verify(set, &rules, text, 0, &mem, &claims, &why);
	require(r != 0);
	require(r == FAIL_MEMORY || (why && *why));
	arena_fini(&mem);
	jwks_drop(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size);

	if (size == 0 || size > INPUT_MAX)
		return 0;
	if (bytes[0] == 'k')
		check_set(str_from_index(text, 1));
	else
		check_token(text);
	return 0;
}
