/*
 * Whose request it is: combinations of `accounts` and `auth` that cannot be.
 *
 * What a way of telling accounts needs is asked for as a whole, and what belongs to another way is
 * refused: who names a trusted header and forgets accounts.from would believe that somebody looks.
 */
#include "config/table.h"
#include "config/values.h"

#include <stdio.h>

static const char *const ways[] = {
	[SETTINGS_ACCOUNTS_CREDENTIAL] = "credential",
	[SETTINGS_ACCOUNTS_KEY] = "key",
	[SETTINGS_ACCOUNTS_JWT] = "jwt",
	[SETTINGS_ACCOUNTS_HEADER] = "header",
};

static bool is_url(struct str text)
{
	return str_starts_with_nocase(text, STR("http://")) ||
	       str_starts_with_nocase(text, STR("https://"));
}

static void refuse_source(struct reading *reading, const char *what, const char *mend)
{
	report_add(reading->report, check_place(reading, "accounts.jwt.jwks"), mend,
		   "accounts.jwt.jwks %s", what);
}

static bool is_visible(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] <= ' ' || text.at[i] >= 0x7f || text.at[i] == '#')
			return false;
	}
	return true;
}

/* Whoever can change the keys on their way is the issuer: so they come by TLS, or from here. */
static int read_source(struct reading *reading)
{
	struct settings_jwt *jwt = &reading->settings->accounts.jwt;
	struct str scheme = STR("https://");
	struct value_refusal refusal;
	size_t slash;
	int r;

	if (!is_url(jwt->jwks))
		return 0;
	if (!is_visible(jwt->jwks)) {
		refuse_source(reading, "has blanks, a # or other characters that no URL has",
			      "write a URL like https://id.example.com/jwks.json");
		return 0;
	}
	slash = str_find(str_from_index(jwt->jwks, scheme.len), '/') + scheme.len;
	if (slash > jwt->jwks.len)
		slash = jwt->jwks.len;
	r = value_url(str_of(jwt->jwks.at, slash), &reading->settings->mem, &jwt->url, &refusal);
	if (r == VALUE_REFUSED)
		refuse_source(reading, refusal.what, refusal.mend);
	if (r != 0)
		return r < 0 ? r : 0;
	jwt->target = slash < jwt->jwks.len ? str_from_index(jwt->jwks, slash) : STR("/");
	if (!jwt->url.is_tls && !url_is_of_this_machine(&jwt->url))
		refuse_source(reading, "is fetched from another machine without TLS",
			      "write https://, or fetch it into a file");
	return 0;
}

static void look_at_source(struct reading *reading)
{
	const struct settings_jwt *jwt = &reading->settings->accounts.jwt;
	FILE *file;

	if (!jwt->jwks.len || is_url(jwt->jwks) || !reading->may_look)
		return;
	file = fopen(jwt->jwks.at, "re");
	if (file)
		fclose(file);
	else
		refuse_source(reading, "names a file that cannot be read",
			      "put the issuer's key set there, or write its URL");
}

/* All that this way needs; and of what it does not know, nothing. */
static void check_way(struct reading *reading, int way, const char *const paths[], size_t count)
{
	int from = reading->settings->accounts.from;
	bool is_in_force = from == way;

	for (size_t i = 0; i < count; i++) {
		bool is_given = check_gives(reading, paths[i]);

		if (is_in_force && !is_given)
			report_add(reading->report, check_place(reading, paths[i]),
				   "add it, or take accounts.from: credential",
				   "accounts.from is %s, and %s is missing", ways[way], paths[i]);
		else if (!is_in_force && is_given)
			report_add(reading->report, check_place(reading, paths[i]),
				   "say accounts.from: jwt or header, as you mean it, or remove it",
				   "%s has no use while accounts.from is %s", paths[i], ways[from]);
	}
}

static void check_header(struct reading *reading)
{
	const struct settings_caller_headers *header = &reading->settings->accounts.header;

	if (reading->settings->accounts.from != SETTINGS_ACCOUNTS_HEADER)
		return;
	if (!check_is_refused(reading, "accounts.header.trusted") && header->trusted.count == 0 &&
	    check_gives(reading, "accounts.header.trusted"))
		report_add(reading->report, check_place(reading, "accounts.header.trusted"),
			   "list the addresses of what sets the headers, like 127.0.0.1",
			   "accounts.header.trusted is empty, so nobody is let in");
	if (header->agent.len && str_equal_nocase(header->agent, header->account))
		report_add(reading->report, check_place(reading, "accounts.header.agent"),
			   "name another header, or remove it",
			   "accounts.header.agent is the header of the account");
}

static bool is_path(struct str text)
{
	return str_starts_with(text, STR("/")) && is_visible(text);
}

static void refuse_path(struct reading *reading, const char *path)
{
	report_add(reading->report, check_place(reading, path), "write a path like /v1/me",
		   "%s is no path", path);
}

/*
 * Where the gate has a credential of its own, the callers' go no further than the gate, and what
 * the service says of them means nothing.
 */
static void check_whom(struct reading *reading, size_t upstream)
{
	const struct settings_upstream *asked = &reading->settings->upstreams[upstream];
	char path[128], mend[128];

	if (!asked->credential.secret.len || !settings_check_path(reading->settings, upstream).len)
		return;
	snprintf(path, sizeof(path), "upstreams.%s.credential", asked->name.at);
	snprintf(mend, sizeof(mend), "write upstreams.%s.auth_check: none", asked->name.at);
	report_add(reading->report, check_place(reading, path), mend,
		   "auth.check would show the callers' credentials to the upstream %s, which has "
		   "a credential of the gate's own",
		   asked->name.at);
}

static void check_asking(struct reading *reading)
{
	const struct settings *settings = reading->settings;
	char path[128];

	if (settings->auth.check.get.len && !is_path(settings->auth.check.get))
		refuse_path(reading, "auth.check.get");
	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];

		check_whom(reading, i);
		if (!upstream->auth_check.len || is_path(upstream->auth_check) ||
		    str_equal(upstream->auth_check, STR("none")))
			continue;
		snprintf(path, sizeof(path), "upstreams.%s.auth_check", upstream->name.at);
		refuse_path(reading, path);
	}
}

int check_accounts(struct reading *reading)
{
	static const char *const of_jwt[] = {"accounts.jwt.jwks", "accounts.jwt.issuer",
					     "accounts.jwt.audience", "accounts.jwt.account_claim"};
	static const char *const of_header[] = {"accounts.header.account",
						"accounts.header.trusted"};

	check_asking(reading);
	if (check_is_refused(reading, "accounts.from"))
		return 0;
	check_way(reading, SETTINGS_ACCOUNTS_JWT, of_jwt, sizeof(of_jwt) / sizeof(of_jwt[0]));
	check_way(reading, SETTINGS_ACCOUNTS_HEADER, of_header,
		  sizeof(of_header) / sizeof(of_header[0]));
	check_header(reading);
	if (reading->settings->accounts.from != SETTINGS_ACCOUNTS_JWT)
		return 0;
	look_at_source(reading);
	return read_source(reading);
}

struct str settings_check_path(const struct settings *settings, size_t upstream)
{
	struct str own = settings->upstreams[upstream].auth_check;

	if (str_equal(own, STR("none")))
		return STR("");
	return own.len ? own : settings->auth.check.get;
}
