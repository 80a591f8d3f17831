/*
 * Keys and signed tokens made by OpenSSL, and not by what the gate verifies them with.
 */
#ifndef TEST_TOKENS_H
#define TEST_TOKENS_H

#include "base/buf.h"

#include <openssl/evp.h>

enum signer_kind { SIGNER_RSA, SIGNER_P256, SIGNER_P384, SIGNER_P521, SIGNER_ED25519 };

struct signer {
	enum signer_kind kind;
	EVP_PKEY *key;
};

void signer_init(struct signer *signer, enum signer_kind kind, unsigned rsa_bits);
void signer_fini(struct signer *signer);

/* Append its public half as a JWK; `more` are further members (`,"kid":"a"`), or "". */
void signer_jwk(const struct signer *signer, const char *more, struct buf *out);

/*
 * A compact token of that header and those claims (JSON texts, as they are), signed as `algorithm`
 * says: "RS256" and its like; "HS256" with `secret`; "none" leaves the signature empty.
 */
void token_sign(const struct signer *signer, const char *algorithm, struct str secret,
		const char *header, const char *claims, struct buf *out);

/* Append `bytes` in base64url. */
void base64url_put(struct str bytes, struct buf *out);

#endif
