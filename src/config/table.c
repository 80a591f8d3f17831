/*
 * The table of settings: its general rows, and what is asked of all of them.
 *
 * A new setting is a row here and a member in settings.h; reading it, its default, its
 * place in the example, in the manual and in the schema follow from the row. Rows of one
 * section stand together, in the order in which people read about them; those of
 * actions are in table_actions.c.
 */
#include "config/table.h"

#define IN(member)	    offsetof(struct settings, member)
#define IN_UPSTREAM(member) offsetof(struct settings_upstream, member)

static const struct setting general_rows[] = {
	{.name = "listen",
	 .kind = KIND_ADDRESS,
	 .at = IN(listen),
	 .default_value = "127.0.0.1:8080",
	 .needs_restart = true,
	 .help = "Where agents connect: the data listener. Port 0 takes any free one, which the "
		 "first line of output names."},
	{.name = "admin",
	 .kind = KIND_ADDRESS,
	 .at = IN(admin),
	 .default_value = "127.0.0.1:8081",
	 .needs_restart = true,
	 .help = "Where operators connect: counterfoil op, metrics, health. It leaves this machine "
		 "only with admin_tls, or with insecure: true."},
	{.name = "data",
	 .kind = KIND_PATH,
	 .at = IN(data),
	 .default_value = "./counterfoil-data",
	 .needs_restart = true,
	 .help = "The directory of everything that is kept. One gate uses it at a time. A "
		 "relative path starts where the gate was started, as for every file named here."},
	{.name = "store",
	 .kind = KIND_CHOICE,
	 .at = IN(store),
	 .default_value = "sqlite",
	 .range = "sqlite",
	 .later = "postgresql:// | postgres://",
	 .needs_restart = true,
	 .help = "The engine that keeps operations: sqlite lives in the data directory."},
	{.name = "threads",
	 .kind = KIND_THREADS,
	 .at = IN(threads),
	 .default_value = "cores",
	 .range = "1 to 64",
	 .needs_restart = true,
	 .help = "Threads that serve requests; `cores` takes as many as the machine lets it use."},
	{.name = "tls.certificate",
	 .kind = KIND_PATH,
	 .at = IN(tls.certificate),
	 .example = "/etc/counterfoil/gate.crt",
	 .help = "Certificate chain (PEM) of the data listener; with it, it speaks TLS."},
	{.name = "tls.key",
	 .kind = KIND_PATH,
	 .at = IN(tls.key),
	 .example = "/etc/counterfoil/gate.key",
	 .help = "Private key (PEM) of that certificate."},
	{.name = "admin_tls.certificate",
	 .kind = KIND_PATH,
	 .at = IN(admin_tls.certificate),
	 .example = "/etc/counterfoil/admin.crt",
	 .help = "Certificate chain (PEM) of the admin listener; with it, it speaks TLS."},
	{.name = "admin_tls.key",
	 .kind = KIND_PATH,
	 .at = IN(admin_tls.key),
	 .example = "/etc/counterfoil/admin.key",
	 .help = "Private key (PEM) of that certificate."},
	{.name = "insecure",
	 .kind = KIND_BOOL,
	 .at = IN(insecure),
	 .default_value = "false",
	 .help = "Lets the admin listener bind an address that others reach without TLS. Only "
		 "behind something else that protects it."},
	{.name = "trusted_proxies",
	 .kind = KIND_NETWORKS,
	 .at = IN(trusted_proxies),
	 .default_value = "[]",
	 .example = "[127.0.0.1, 10.0.0.0/8, \"fd00::/8\"]",
	 .help = "Addresses and ranges whose X-Forwarded-* headers are passed on; from everyone "
		 "else they are dropped and written anew."},

	{.name = UPSTREAM_PREFIX "url",
	 .kind = KIND_URL,
	 .at = IN_UPSTREAM(url),
	 .example = "http://127.0.0.1:9000",
	 .is_required = true,
	 .help = "Where the service is: scheme, host, perhaps a port and a path that is put before "
		 "every request's own."},
	{.name = UPSTREAM_PREFIX "timeout",
	 .kind = KIND_DURATION,
	 .at = IN_UPSTREAM(timeout_ms),
	 .default_value = "30s",
	 .range = "10ms to 1h",
	 .help = "How long one call may take, from connecting to the answer's last byte. A "
		 "protected call that takes longer has an unknown outcome."},
	{.name = UPSTREAM_PREFIX "connect_timeout",
	 .kind = KIND_DURATION,
	 .at = IN_UPSTREAM(connect_timeout_ms),
	 .default_value = "5s",
	 .range = "10ms to 5m",
	 .help = "How long connecting may take, name and TLS included; unless it is given, never "
		 "more than timeout."},
	{.name = UPSTREAM_PREFIX "ca_file",
	 .kind = KIND_PATH,
	 .at = IN_UPSTREAM(ca_file),
	 .example = "/etc/counterfoil/upstream-ca.pem",
	 .help = "Roots (PEM) to trust for this service instead of the system's."},
	{.name = UPSTREAM_PREFIX "verify",
	 .kind = KIND_BOOL,
	 .at = IN_UPSTREAM(verify),
	 .default_value = "true",
	 .help = "Check the service's certificate and name. false is for rehearsals only."},
	{.name = UPSTREAM_PREFIX "max_connections",
	 .kind = KIND_COUNT,
	 .at = IN_UPSTREAM(max_connections),
	 .default_value = "256",
	 .range = "1 to 65536",
	 .help = "Connections to this service that are open at once, over all threads."},
	{.name = UPSTREAM_PREFIX "downstream_key",
	 .kind = KIND_SENT,
	 .at = IN_UPSTREAM(downstream_key),
	 .example = "Idempotency-Key",
	 .help = "The header in which this service honours a key for every write: sent twice with "
		 "the same one, it acts once. Where only some do, give it to those actions."},
	{.name = UPSTREAM_PREFIX "downstream_key_for",
	 .kind = KIND_DURATION,
	 .at = IN_UPSTREAM(downstream_key_ms),
	 .default_value = "24h",
	 .range = "1s to forever",
	 .help = "How long after the first sending it still knows that key."},
	{.name = UPSTREAM_PREFIX "auth_check",
	 .kind = KIND_TEXT,
	 .at = IN_UPSTREAM(auth_check),
	 .example = "/v1/me",
	 .help = "The path of this service for auth.check, where it is another one than "
		 "auth.check.get; `none`: it is not asked."},
	{.name = UPSTREAM_PREFIX "credential",
	 .kind = KIND_SECRET,
	 .at = IN_UPSTREAM(credential.secret),
	 .example = "service_key",
	 .help = "Short for credential.secret."},
	{.name = CREDENTIAL_PREFIX "secret",
	 .kind = KIND_SECRET,
	 .at = IN_UPSTREAM(credential.secret),
	 .example = "service_key",
	 .is_required = true,
	 .help = "The secret with which the gate itself speaks to this service, by the name under "
		 "which `counterfoil secret set` keeps it. It takes the place of each caller's "
		 "Authorization, which then goes no further than the gate."},
	{.name = CREDENTIAL_PREFIX "as",
	 .kind = KIND_CHOICE,
	 .at = IN_UPSTREAM(credential.as),
	 .default_value = "bearer",
	 .range = "bearer | basic | header",
	 .help = "How it is sent. bearer: Authorization: Bearer and the secret. basic: "
		 "Authorization: "
		 "Basic, the secret being user:password. header: the secret as it is, in "
		 "credential.header."},
	{.name = CREDENTIAL_PREFIX "header",
	 .kind = KIND_CREDENTIAL_HEADER,
	 .at = IN_UPSTREAM(credential.header),
	 .example = "X-Api-Key",
	 .help = "With as: header, the header that the service reads it from."},
	{.name = OAUTH2_PREFIX "token_url",
	 .kind = KIND_URL,
	 .at = IN_UPSTREAM(credential.oauth2.token_url),
	 .example = "https://login.example.com/oauth/token",
	 .is_required = true,
	 .help = "Where the gate fetches access tokens by OAuth 2.0 client credentials; the secret "
		 "is "
		 "the client's. https, but for an address of this machine."},
	{.name = OAUTH2_PREFIX "client_id",
	 .kind = KIND_TEXT,
	 .at = IN_UPSTREAM(credential.oauth2.client_id),
	 .example = "counterfoil",
	 .is_required = true,
	 .help = "The id under which the token endpoint knows the gate."},
	{.name = OAUTH2_PREFIX "auth",
	 .kind = KIND_CHOICE,
	 .at = IN_UPSTREAM(credential.oauth2.auth),
	 .default_value = "basic",
	 .range = "basic | post",
	 .help = "How the client shows its secret. basic: in an Authorization header. post: in the "
		 "body."},
	{.name = OAUTH2_PREFIX "scope",
	 .kind = KIND_TEXT,
	 .at = IN_UPSTREAM(credential.oauth2.scope),
	 .example = "payments.write payments.read",
	 .help = "The scope that is asked for."},
	{.name = OAUTH2_PREFIX "audience",
	 .kind = KIND_TEXT,
	 .at = IN_UPSTREAM(credential.oauth2.audience),
	 .example = "https://api.example.com",
	 .help = "The audience that is asked for, where the token endpoint wants one."},
	{.name = OAUTH2_PREFIX "timeout",
	 .kind = KIND_DURATION,
	 .at = IN_UPSTREAM(credential.oauth2.timeout_ms),
	 .default_value = "10s",
	 .range = "10ms to 5m",
	 .help = "How long fetching a token may take. What waits for it longer is not sent."},
	{.name = OAUTH2_PREFIX "token_ca_file",
	 .kind = KIND_PATH,
	 .at = IN_UPSTREAM(credential.oauth2.token_ca_file),
	 .example = "/etc/counterfoil/login-ca.pem",
	 .help = "Roots (PEM) to trust for the token endpoint instead of the system's."},

	{.name = "accounts.from",
	 .kind = KIND_CHOICE,
	 .at = IN(accounts.from),
	 .default_value = "credential",
	 .range = "credential | key | jwt | header",
	 .help = "What tells whose request it is. credential: a digest of the Authorization "
		 "header; each credential is an account of its own. key: keys of the gate's own "
		 "(counterfoil key create), sent as a bearer token or in Counterfoil-Key; they "
		 "never reach the service. jwt: a claim of a signed token in Authorization; a "
		 "renewed token is the same account. header: a header that something in front of "
		 "the gate sets."},
	{.name = "accounts.jwt.jwks",
	 .kind = KIND_TEXT,
	 .at = IN(accounts.jwt.jwks),
	 .example = "https://id.example.com/.well-known/jwks.json",
	 .help = "The issuer's public keys, as a JSON Web Key Set: a file, which is read again "
		 "when "
		 "it changes, or a URL, which is fetched now and then. Plain http only from this "
		 "machine. The last good set stays in force while nothing better can be had."},
	{.name = "accounts.jwt.ca_file",
	 .kind = KIND_PATH,
	 .at = IN(accounts.jwt.ca_file),
	 .example = "/etc/counterfoil/issuer-ca.pem",
	 .help = "Roots (PEM) to trust for that URL instead of the system's."},
	{.name = "accounts.jwt.refresh",
	 .kind = KIND_DURATION,
	 .at = IN(accounts.jwt.refresh_ms),
	 .default_value = "10m",
	 .range = "1s to 24h",
	 .help = "How often that URL is fetched. A token whose key is not known yet has it fetched "
		 "sooner, and waits for that."},
	{.name = "accounts.jwt.issuer",
	 .kind = KIND_TEXT,
	 .at = IN(accounts.jwt.issuer),
	 .example = "https://id.example.com",
	 .help = "What the claim iss of a token must be, to the letter."},
	{.name = "accounts.jwt.audience",
	 .kind = KIND_TEXT,
	 .at = IN(accounts.jwt.audience),
	 .example = "counterfoil",
	 .help = "What the claim aud of a token must be, or have among others: a token that was "
		 "issued for another service is refused."},
	{.name = "accounts.jwt.account_claim",
	 .kind = KIND_TEXT,
	 .at = IN(accounts.jwt.account_claim),
	 .example = "org_id",
	 .help = "The claim that is the account: its name, or a JSON pointer that begins with a "
		 "slash."},
	{.name = "accounts.jwt.agent_claim",
	 .kind = KIND_TEXT,
	 .at = IN(accounts.jwt.agent_claim),
	 .default_value = "sub",
	 .help = "The claim that is the agent inside that account, written the same way."},
	{.name = "accounts.jwt.tolerance",
	 .kind = KIND_DURATION,
	 .at = IN(accounts.jwt.tolerance_ms),
	 .default_value = "30s",
	 .range = "0s to 5m",
	 .help = "How far the issuer's clock and this machine's may be apart."},
	{.name = "accounts.header.account",
	 .kind = KIND_HEADER,
	 .at = IN(accounts.header.account),
	 .example = "X-Account",
	 .help = "The header that names the account. Only those below are believed."},
	{.name = "accounts.header.agent",
	 .kind = KIND_HEADER,
	 .at = IN(accounts.header.agent),
	 .example = "X-Agent",
	 .help = "The header that names the agent inside that account; unless it is given, there "
		 "is one agent."},
	{.name = "accounts.header.trusted",
	 .kind = KIND_NETWORKS,
	 .at = IN(accounts.header.trusted),
	 .example = "[127.0.0.1, 10.0.0.0/8]",
	 .help = "Addresses and ranges that may set those headers. A request from elsewhere is "
		 "refused with 401, whatever it says, and neither header goes on to the service."},

	{.name = "auth.check.get",
	 .kind = KIND_TEXT,
	 .at = IN(auth.check.get),
	 .example = "/v1/me",
	 .help = "A path at which each service says whether a credential still holds: 2xx yes, 401 "
		 "or 403 no. Before anything of a record is shown, as a replay or by the status "
		 "resource, the service is asked with the caller's own Authorization. A first "
		 "write "
		 "is not asked about: the service judges that itself."},
	{.name = "auth.check.cache",
	 .kind = KIND_DURATION,
	 .at = IN(auth.check.cache_ms),
	 .default_value = "30s",
	 .range = "0s to 1h",
	 .help = "How long it is remembered that a credential holds; that it does not hold is not "
		 "remembered."},
	{.name = "auth.check.timeout",
	 .kind = KIND_DURATION,
	 .at = IN(auth.check.timeout_ms),
	 .default_value = "5s",
	 .range = "10ms to 5m",
	 .help = "How long the question may take."},
	{.name = "auth.check.if_unknown",
	 .kind = KIND_CHOICE,
	 .at = IN(auth.check.if_unknown),
	 .default_value = "refuse",
	 .range = "refuse | allow",
	 .help = "What becomes of a request when the service does not say: refuse it with 503, so "
		 "that the same token may be tried again, or allow it."},

	{.name = "tokens.required",
	 .kind = KIND_BOOL,
	 .at = IN(tokens.required),
	 .default_value = "true",
	 .help = "Refuse a protected request that carries no token. false lets it pass, "
		 "unprotected; but a declared action always needs its token, unless it is "
		 "natural."},
	{.name = "tokens.header",
	 .kind = KIND_HEADER,
	 .at = IN(tokens.header),
	 .default_value = "Idempotency-Key",
	 .help = "The request header that carries the token."},
	{.name = "tokens.retention",
	 .kind = KIND_DURATION,
	 .at = IN(tokens.retention_ms),
	 .default_value = "24h",
	 .range = "100ms to forever",
	 .help = "How long an operation that has ended is kept, and replayed. Open ones are kept "
		 "however old they are."},
	{.name = "tokens.tombstones",
	 .kind = KIND_DURATION,
	 .at = IN(tokens.tombstones_ms),
	 .default_value = "30d",
	 .range = "0s to forever",
	 .help = "How long after that its token is still refused, so that a late retry never acts "
		 "again. 0s: a token is new again once its operation is forgotten."},
	{.name = "tokens.max_wait",
	 .kind = KIND_DURATION,
	 .at = IN(tokens.max_wait_ms),
	 .default_value = "60s",
	 .range = "0s to 10m",
	 .help = "The longest that `Prefer: wait=N` may make a duplicate wait."},
	{.name = "tokens.max_waiters",
	 .kind = KIND_COUNT,
	 .at = IN(tokens.max_waiters),
	 .default_value = "1000",
	 .range = "0 to 1000000",
	 .help = "Requests that may wait at once; one more is answered without waiting."},

	{.name = "protect",
	 .kind = KIND_METHODS,
	 .at = IN(protect),
	 .default_value = "[POST, PATCH]",
	 .help = "Methods whose requests are protected where no action is declared. A PUT or "
		 "DELETE is protected, too, when it carries a token."},
	{.name = "undeclared",
	 .kind = KIND_CHOICE,
	 .at = IN(undeclared),
	 .default_value = "protect",
	 .range = "protect | pass | deny",
	 .help = "What becomes of writes that match no declared action: protect, pass them on as "
		 "they are, or deny them."},
	{.name = "statuses.not_sent",
	 .kind = KIND_STATUSES,
	 .at = IN(statuses.not_sent),
	 .default_value = "[429, 503]",
	 .range = "300 to 599",
	 .help = "Statuses by which a service says for certain that it did not act: the token may "
		 "be tried again."},
	{.name = "statuses.unknown",
	 .kind = KIND_STATUSES,
	 .at = IN(statuses.unknown),
	 .default_value = "[408, 500, 502, 504]",
	 .range = "300 to 599",
	 .help = "Statuses that leave open whether it acted: the operation becomes unknown and is "
		 "never sent again by itself. One of 5xx that no standard has, such as a proxy's "
		 "520 to 530, is as 500. All others are final."},

	{.name = "outbox.max_waiting",
	 .kind = KIND_COUNT,
	 .at = IN(outbox.max_waiting),
	 .default_value = "100000",
	 .range = "1 to 10000000",
	 .help = "Operations that may wait for the gate to send them (dispatch: outbox, held: "
		 "queue); one more is refused with 503."},
	{.name = "outbox.concurrency",
	 .kind = KIND_COUNT,
	 .at = IN(outbox.concurrency),
	 .default_value = "16",
	 .range = "1 to 1024",
	 .help = "How many of them are being sent at once, to one upstream."},
	{.name = "outbox.attempts",
	 .kind = KIND_COUNT,
	 .at = IN(outbox.attempts),
	 .default_value = "20",
	 .range = "1 to 1000",
	 .help = "Sendings in a row that certainly did not arrive, before one is given up and "
		 "fails."},
	{.name = "outbox.first_pause",
	 .kind = KIND_DURATION,
	 .at = IN(outbox.first_pause_ms),
	 .default_value = "1s",
	 .range = "10ms to 1h",
	 .help = "The pause after the first of those; it doubles with each."},
	{.name = "outbox.max_pause",
	 .kind = KIND_DURATION,
	 .at = IN(outbox.max_pause_ms),
	 .default_value = "10m",
	 .range = "10ms to 24h",
	 .help = "The longest of these pauses."},

	{.name = "notify.url",
	 .kind = KIND_URL,
	 .at = IN(notify.url),
	 .example = "https://chat.example.com/hooks/approvals",
	 .help = "Who is told when an approval is asked for or answered: a POST with JSON, "
		 "signed as Standard Webhooks has it, tried again until it is taken. What it says "
		 "is no credential: answering needs a key all the same."},
	{.name = "notify.secret_file",
	 .kind = KIND_PATH,
	 .at = IN(notify.secret_file),
	 .example = "/etc/counterfoil/notify.secret",
	 .help = "A file with the secret it is signed with (whsec_ and base64), which only its "
		 "owner may read. Two lines are two signatures, while one secret replaces "
		 "another."},
	{.name = "notify.ca_file",
	 .kind = KIND_PATH,
	 .at = IN(notify.ca_file),
	 .example = "/etc/counterfoil/notify-ca.pem",
	 .help = "Roots (PEM) to trust there instead of the system's."},
	{.name = "notify.timeout",
	 .kind = KIND_DURATION,
	 .at = IN(notify.timeout_ms),
	 .default_value = "10s",
	 .range = "10ms to 5m",
	 .help = "How long one telling may take."},
	{.name = "console.url",
	 .kind = KIND_URL,
	 .at = IN(console.url),
	 .example = "https://gate.example.com:8081",
	 .help = "Where people reach the admin listener's console: links in what is told lead "
		 "there."},

	{.name = "limits.max_body",
	 .kind = KIND_SIZE,
	 .at = IN(limits.max_body),
	 .default_value = "1MiB",
	 .range = "1 to 1GiB",
	 .help = "The largest body of a protected request, also once it is decoded; over it 413."},
	{.name = "limits.max_response",
	 .kind = KIND_SIZE,
	 .at = IN(limits.max_response),
	 .default_value = "1MiB",
	 .range = "0 to 1GiB",
	 .help = "The largest answer that is kept for replays. A larger one is passed on whole "
		 "and kept as status, headers, length and digest."},
	{.name = "limits.max_head",
	 .kind = KIND_SIZE,
	 .at = IN(limits.max_head),
	 .default_value = "32KiB",
	 .range = "1KiB to 128KiB",
	 .help = "The largest request line and headers together; over it 431."},
	{.name = "limits.request_memory",
	 .kind = KIND_SIZE,
	 .at = IN(limits.request_memory),
	 .default_value = "32MiB",
	 .range = "64KiB to 16GiB",
	 .help = "The memory that understanding one request may take; over it 413. At least twice "
		 "max_body; unless it is given, never less than eight times."},
	{.name = "limits.max_connections",
	 .kind = KIND_COUNT,
	 .at = IN(limits.max_connections),
	 .default_value = "16000",
	 .range = "1 to 1000000",
	 .help = "Connections of clients that are open at once, over the whole gate."},
	{.name = "limits.idle_timeout",
	 .kind = KIND_DURATION,
	 .at = IN(limits.idle_timeout_ms),
	 .default_value = "60s",
	 .range = "100ms to 24h",
	 .help = "How long a connection may stay open between two requests."},
	{.name = "limits.head_timeout",
	 .kind = KIND_DURATION,
	 .at = IN(limits.head_timeout_ms),
	 .default_value = "10s",
	 .range = "100ms to 1h",
	 .help = "How long request line and headers may take to arrive; over it 408."},
	{.name = "limits.body_timeout",
	 .kind = KIND_DURATION,
	 .at = IN(limits.body_timeout_ms),
	 .default_value = "30s",
	 .range = "100ms to 1h",
	 .help = "How long a body may make no progress; over it 408."},
	{.name = "limits.drain_timeout",
	 .kind = KIND_DURATION,
	 .at = IN(limits.drain_timeout_ms),
	 .default_value = "30s",
	 .range = "0s to 1h",
	 .help = "How long the gate waits after SIGTERM for what is running. What still runs then "
		 "is unknown at the next start."},

	{.name = "master_key.file",
	 .kind = KIND_PATH,
	 .at = IN(master_key.file),
	 .example = "/etc/counterfoil/master.key",
	 .help = "The key that opens what is sealed in the data directory: 32 bytes, or 64 "
		 "hexadecimal digits, that nobody else can read. Unless one of these three is "
		 "given it lies in the data directory, as keys/master.key, made at the first "
		 "start: "
		 "then whoever copies the directory can read it. Keep a copy elsewhere."},
	{.name = "master_key.credential",
	 .kind = KIND_TEXT,
	 .at = IN(master_key.credential),
	 .example = "counterfoil-master",
	 .help = "Or the name of a credential of systemd (LoadCredentialEncrypted=) that holds "
		 "it."},
	{.name = "master_key.passphrase_file",
	 .kind = KIND_PATH,
	 .at = IN(master_key.passphrase_file),
	 .example = "/run/secrets/counterfoil-passphrase",
	 .help = "Or a file with a passphrase of at least 12 bytes that it is made of, by "
		 "Argon2id; at least while the gate starts or reloads."},

	{.name = "audit.origin",
	 .kind = KIND_TEXT,
	 .at = IN(audit.origin),
	 .example = "counterfoil.example.com/payments",
	 .needs_restart = true,
	 .help = "The audit log's name, which its checkpoints and its key carry; without spaces "
		 "or +. Unless it is given, one is drawn for each new data directory. It cannot "
		 "change once the log has begun."},
	{.name = "audit.checkpoint_entries",
	 .kind = KIND_COUNT,
	 .at = IN(audit.checkpoint_entries),
	 .default_value = "1000",
	 .range = "1 to 1000000",
	 .needs_restart = true,
	 .help = "A checkpoint is signed each time so many entries of the audit log are new; under "
		 "load, once a second."},
	{.name = "audit.checkpoint_interval",
	 .kind = KIND_DURATION,
	 .at = IN(audit.checkpoint_interval_ms),
	 .default_value = "10s",
	 .range = "100ms to 1h",
	 .needs_restart = true,
	 .help = "And so long after the last one, where anything is new. What no checkpoint covers "
		 "yet is what somebody with the machine in hand could still change unseen."},
	{.name = "audit.anchors",
	 .kind = KIND_ANCHORS,
	 .at = IN(audit.anchors),
	 .example = "[/mnt/elsewhere/counterfoil, https://anchor.example.com/counterfoil]",
	 .needs_restart = true,
	 .help = "What this machine's owner cannot rewrite and gets a copy of each checkpoint: "
		 "folders on other storage, and URLs, below which it is PUT as checkpoint and "
		 "checkpoints/SIZE. Each is one gate's alone. The gate refuses to start from a "
		 "data directory that is older than they are. Without TLS only on this machine."},
	{.name = "audit.witnesses",
	 .kind = KIND_WITNESSES,
	 .at = IN(audit.witnesses),
	 .example = "[https://witness.example.com "
		    "witness.example.com+7e62d793+BHm1Vi6P5lT5QHixEuipi6eQH4U65pW+1+DjkQutBJZk]",
	 .needs_restart = true,
	 .help = "Witnesses (c2sp.org/tlog-witness) that cosign each checkpoint once it is shown "
		 "to them that the log has only grown: the URL that /add-checkpoint comes after, a "
		 "blank, and the witness's key. One that cannot be reached is tried again, and "
		 "nothing waits for it."},

	{.name = "audit.rotate",
	 .kind = KIND_DURATION,
	 .at = IN(audit.rotate_ms),
	 .default_value = "forever",
	 .range = "1m to forever",
	 .needs_restart = true,
	 .help = "How long an epoch lasts: then the log's keys are new ones, and the old signing "
		 "key is erased. forever: until counterfoil audit rotate."},
	{.name = "audit.keep",
	 .kind = KIND_DURATION,
	 .at = IN(audit.keep_ms),
	 .default_value = "forever",
	 .range = "1m to forever",
	 .needs_restart = true,
	 .help = "How long the entries of an epoch are kept after its end. Then its data key is "
		 "erased and they are taken away; the log still verifies."},
	{.name = "audit.verify",
	 .kind = KIND_DURATION,
	 .at = IN(audit.verify_ms),
	 .default_value = "forever",
	 .range = "1s to forever",
	 .needs_restart = true,
	 .help = "How often the gate goes through all of its own log, as counterfoil audit verify "
		 "does, and says in its log and its metrics what it found. forever: only when "
		 "somebody asks."},

	{.name = "log.level",
	 .kind = KIND_CHOICE,
	 .at = IN(log.level),
	 .default_value = "info",
	 .range = "debug | info | warning | error",
	 .help = "The least important lines that are written."},
	{.name = "log.requests",
	 .kind = KIND_BOOL,
	 .at = IN(log.requests),
	 .default_value = "true",
	 .help = "Write a line for every request."},

	{.name = "mcp_servers",
	 .kind = KIND_LATER,
	 .help = "wrapped MCP servers are not in this build yet"},
};

const struct setting *setting_at(size_t index)
{
	const size_t count = sizeof(general_rows) / sizeof(general_rows[0]);

	if (index < count)
		return &general_rows[index];
	if (index - count < setting_action_row_count)
		return &setting_action_rows[index - count];
	return NULL;
}

/* In the order of enum setting_kind. */
static const char *const type_names[KIND_COUNT_OF] = {
	[KIND_ADDRESS] = "host:port",
	[KIND_PATH] = "a path",
	[KIND_URL] = "a URL",
	[KIND_HEADER] = "the name of a header",
	[KIND_DURATION] = "a duration",
	[KIND_SIZE] = "a size",
	[KIND_COUNT] = "a whole number",
	[KIND_THREADS] = "a whole number or cores",
	[KIND_BOOL] = "true or false",
	[KIND_CHOICE] = "a word",
	[KIND_METHODS] = "a list of methods",
	[KIND_STATUSES] = "a list of statuses",
	[KIND_NETWORKS] = "a list of addresses",
	[KIND_ROUTE] = "a method and a path",
	[KIND_TEXT] = "a text",
	[KIND_POINTER] = "a JSON pointer",
	[KIND_HEADERS] = "a list of headers",
	[KIND_FIELDS] = "a mapping of fields",
	[KIND_ITEM] = "a field",
	[KIND_VALUE] = "a value",
	[KIND_VALUES] = "a list of values",
	[KIND_PATTERN] = "a regular expression",
	[KIND_NUMBER] = "a number",
	[KIND_SENT] = "the name of a header",
	[KIND_STATUS] = "a status or a list of them",
	[KIND_PART] = "a field or a parameter of the route",
	[KIND_PARTS] = "a list of fields",
	[KIND_PATHS] = "a list of paths",
	[KIND_MEMBER] = "the name of a member",
	[KIND_ANSWER] = "a JSON pointer into an answer",
	[KIND_QUESTION] = "a path with its query",
	[KIND_CONDITIONS] = "a list of conditions",
	[KIND_SECRET] = "the name of a secret",
	[KIND_CREDENTIAL_HEADER] = "the name of a header",
	[KIND_WORDS] = "a list of words",
	[KIND_WHEN] = "always or a list of conditions",
	[KIND_ANCHORS] = "a list of folders and URLs",
	[KIND_WITNESSES] = "a list of URLs with keys",
	[KIND_LATER] = "not in this build",
};

enum setting_owner setting_owner(const struct setting *setting)
{
	struct str name = str_from(setting->name);

	if (str_starts_with(name, STR(FIELD_PREFIX)))
		return OWNER_FIELD;
	if (str_starts_with(name, STR(CONDITION_PREFIX)))
		return OWNER_CONDITION;
	if (str_starts_with(name, STR(WHEN_PREFIX)))
		return OWNER_WHEN;
	if (str_starts_with(name, STR(ACTION_PREFIX)))
		return OWNER_ACTION;
	if (str_starts_with(name, STR(UPSTREAM_PREFIX)))
		return OWNER_UPSTREAM;
	return OWNER_SETTINGS;
}

const char *setting_short_name(const struct setting *setting)
{
	static const char *const prefixes[] = {"",	     UPSTREAM_PREFIX,  ACTION_PREFIX,
					       FIELD_PREFIX, CONDITION_PREFIX, WHEN_PREFIX};

	return setting->name + strlen(prefixes[setting_owner(setting)]);
}

const char *setting_type(const struct setting *setting)
{
	return type_names[setting->kind];
}

const struct setting *setting_find(struct str path)
{
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (str_equal(path, str_from(setting->name)))
			return setting;
	}
	return NULL;
}

bool setting_is_section(struct str path)
{
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		struct str name = str_from(setting->name);

		if (name.len > path.len && name.at[path.len] == '.' && str_starts_with(name, path))
			return true;
	}
	return false;
}

bool setting_is_short(const struct setting *setting)
{
	return (setting->kind == KIND_SENT || setting->kind == KIND_SECRET) &&
	       setting_is_section(str_from(setting->name));
}
