/*
 * The table as text: the commented example, and the list for the manual page.
 *
 * Every setting appears in the example. One with a default stands there with it, and so
 * changes nothing; one without is a comment with a plausible value. The example passes
 * its own check.
 */
#include "config/table.h"

enum { COMMENT_WIDTH = 92, COMMENT_MAX = 1024, INDENT = 2 };

/* `text` as comment lines of at most COMMENT_WIDTH columns. */
static void write_comment(FILE *out, int indent, const char *text)
{
	struct str rest = str_from(text), word;
	int column = 0;

	while (str_split(&rest, ' ', &word)) {
		if (column > 0 && column + 1 + (int)word.len > COMMENT_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		if (column == 0)
			column = fprintf(out, "%*s#", indent, "");
		column += fprintf(out, " %.*s", STR_ARG(word));
	}
	if (column > 0)
		fputc('\n', out);
}

/* Has any setting of the section a value to write? Else its heading is a comment, too. */
static bool section_is_live(struct str section)
{
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		struct str name = str_from(setting->name);

		if (name.len > section.len && name.at[section.len] == '.' &&
		    str_starts_with(name, section) && setting->default_value)
			return true;
	}
	return false;
}

/* "tokens" of "tokens.header", "upstreams.*" of "upstreams.*.url", "" of "listen". */
static struct str section_of(const struct setting *setting)
{
	const char *dot = strrchr(setting->name, '.');

	return str_of(setting->name, dot ? (size_t)(dot - setting->name) : 0);
}

/* "accounts.jwt" stands below "accounts", which has been written if `last` is or is below it. */
static int write_inner_heading(FILE *out, struct str section, struct str last, size_t dot)
{
	struct str outer = str_of(section.at, dot);

	if (!str_starts_with(last, outer) || (last.len > dot && last.at[dot] != '.'))
		fprintf(out, "%s%.*s:\n", section_is_live(outer) ? "" : "# ", STR_ARG(outer));
	fprintf(out, "%*s%s%.*s:\n", INDENT, "", section_is_live(section) ? "" : "# ",
		STR_ARG(str_from_index(section, dot + 1)));
	return 2 * INDENT;
}

static int write_heading(FILE *out, struct str section, struct str last)
{
	size_t dot = str_find(section, '.');

	fputc('\n', out);
	if (section.len == 0)
		return 0;
	if (str_equal(section, STR("upstreams.*"))) {
		fputs("# The services behind the gate, by name. `default` takes every request.\n"
		      "upstreams:\n  default:\n",
		      out);
		return 2 * INDENT;
	}
	if (dot < section.len)
		return write_inner_heading(out, section, last, dot);
	fprintf(out, "%s%.*s:\n", section_is_live(section) ? "" : "# ", STR_ARG(section));
	return INDENT;
}

static void write_setting(FILE *out, const struct setting *setting, int indent)
{
	const char *dot = strrchr(setting->name, '.');
	bool is_live = setting->default_value || setting->is_required;
	const char *value = setting->default_value ? setting->default_value : setting->example;
	char range[128] = "", comment[COMMENT_MAX];

	if (setting->range && strcmp(setting->range, value) != 0)
		snprintf(range, sizeof(range), " %s: %s.",
			 setting->kind == KIND_CHOICE ? "One of" : "Range", setting->range);
	snprintf(comment, sizeof(comment), "%s%s%s", setting->help, range,
		 setting->needs_restart ? " Changing it needs a restart." : "");
	write_comment(out, indent, comment);
	fprintf(out, "%*s%s%s: %s\n", indent, "", is_live ? "" : "# ",
		dot ? dot + 1 : setting->name, value);
	if (setting->default_value && setting->example)
		fprintf(out, "%*s# %s: %s\n", indent, "", dot ? dot + 1 : setting->name,
			setting->example);
}

/*
 * A line of the example of an action: what stands there, and the row that says what it is for
 * where it comes first.
 */
struct example_line {
	int level;
	const char *text;
	const char *row; /* NULL: said already */
};

static const struct example_line action_lines[] = {
	{0, "actions:", NULL},
	{1, "payments.create:", NULL},
	{2, "route: POST /v1/payments", "route"},
	{2, "summary: \"Pay {amount} {currency} for {invoice_id}\"", "summary"},
	{2, "upstream: default", "upstream"},
	{2, "unknown_fields: refuse", "unknown_fields"},
	{2, "token:", NULL},
	{3, "from: body", "token.from"},
	{3, "pointer: /request_id", "token.pointer"},
	{2, "headers: [X-Tenant]", "headers"},
	{2, "statuses:", NULL},
	{3, "not_sent: [429, 503]", "statuses.not_sent"},
	{3, "unknown: [408, 500, 502, 504]", "statuses.unknown"},
	{2, "timeout: 30s", "timeout"},
	{2, "max_body: 64KiB", "max_body"},
	{2, "max_response: 1MiB", "max_response"},
	{2, "retention: 7d", "retention"},
	{2, "fields:", "fields"},
	{3, "amount:", NULL},
	{4, "type: money", "fields.*.type"},
	{4, "currency: currency", "fields.*.currency"},
	{4, "unit: minor", "fields.*.unit"},
	{4, "required: true", "fields.*.required"},
	{4, "minimum: 1", "fields.*.minimum"},
	{4, "maximum: 10000000", "fields.*.maximum"},
	{3, "currency: {type: string, required: true}", NULL},
	{3, "invoice_id:", NULL},
	{4, "type: string", NULL},
	{4, "description: \"The invoice that is paid\"", "fields.*.description"},
	{4, "required: true", NULL},
	{4, "min_length: 5", "fields.*.min_length"},
	{4, "max_length: 20", "fields.*.max_length"},
	{4, "pattern: \"^INV-[0-9]+$\"", "fields.*.pattern"},
	{3, "speed:", NULL},
	{4, "type: string", NULL},
	{4, "enum: [normal, instant]", "fields.*.enum"},
	{4, "default: normal", "fields.*.default"},
	{3, "note:", NULL},
	{4, "type: string", NULL},
	{4, "nullable: true", "fields.*.nullable"},
	{4, "secret: true", "fields.*.secret"},
	{3, "created_at:", NULL},
	{4, "type: timestamp", NULL},
	{4, "server_assigned: true", "fields.*.server_assigned"},
	{3, "recipient:", NULL},
	{4, "type: object", NULL},
	{4, "unknown_fields: keep", "fields.*.unknown_fields"},
	{4, "fields:", "fields.*.fields"},
	{5, "name: {type: string, required: true}", NULL},
	{3, "labels:", NULL},
	{4, "type: array", NULL},
	{4, "min_items: 1", "fields.*.min_items"},
	{4, "max_items: 20", "fields.*.max_items"},
	{4, "items: {type: string}", "fields.*.items"},
	{2, "unique:", NULL},
	{3, "by: [invoice_id]", "unique.by"},
	{3, "for: 30d", "unique.for"},
	{2, "opens_budget:", NULL},
	{3, "id: response/id", "opens_budget.id"},
	{3, "amount: amount", "opens_budget.amount"},
	{3, "for: forever", "opens_budget.for"},
	{2, "response:", NULL},
	{3, "reference: /id", "response.reference"},
	{3, "resource: /url", "response.resource"},
	{2, "failed_when: [{at: /status, is: failed}, {at: /error}]", "failed_when"},
	{2, "downstream_key:", "downstream_key"},
	{3, "header: Idempotency-Key", "downstream_key.header"},
	{3, "for: 24h", "downstream_key.for"},
	{2, "probe:", NULL},
	{3, "get: \"/v1/payments?reference={downstream_key}\"", "probe.get"},
	{3, "found:", NULL},
	{4, "status: 200", "probe.found.status"},
	{4, "at: /data/0", "probe.found.at"},
	{4, "as: 201", "probe.found.as"},
	{3, "absent:", NULL},
	{4, "status: 200", "probe.absent.status"},
	{4, "empty: /data", "probe.absent.empty"},
	{3, "settle: 10s", "probe.settle"},
	{3, "every: 5s", "probe.every"},
	{3, "give_up: 24h", "probe.give_up"},
	{3, "timeout: 10s", "probe.timeout"},
	{2, "lookup:", NULL},
	{3, "get: \"/v1/payments?invoice={invoice_id}\"", "lookup.get"},
	{3, "found:", NULL},
	{4, "status: 200", "lookup.found.status"},
	{4, "at: /data/0", "lookup.found.at"},
	{4, "as: 201", "lookup.found.as"},
	{3, "absent:", NULL},
	{4, "status: [200, 404]", "lookup.absent.status"},
	{4, "empty: /data", "lookup.absent.empty"},
	{3, "timeout: 10s", "lookup.timeout"},
	{1, "refunds.create:", NULL},
	{2, "route: POST /v1/payments/{payment_id}/refunds", NULL},
	{2, "fields:", NULL},
	{3, "amount: {type: money, currency: EUR, required: true, minimum: 1}", NULL},
	{2, "budget:", NULL},
	{3, "of: payment_id", "budget.of"},
	{3, "amount: amount", "budget.amount"},
	{3, "if_unknown: refuse", "budget.if_unknown"},
	{2, "approval:", NULL},
	{3, "when:", NULL},
	{4, "- field: amount", NULL},
	{5, "over: 100000", "approval.when.*.over"},
	{5, "currency: EUR", "approval.when.*.currency"},
	{2, "downstream_key:", NULL},
	{3, "field: reference", "downstream_key.field"},
	{2, "failed_when:", NULL},
	{3, "- at: /status", "failed_when.*.at"},
	{4, "is: failed", "failed_when.*.is"},
	{3, "- at: /error/code", NULL},
	{4, "in: [declined, expired]", "failed_when.*.in"},
	{1, "deployments.create:", NULL},
	{2, "route: POST /v1/deployments", NULL},
	{2, "fields:", NULL},
	{3, "environment: {type: string, required: true}", NULL},
	{3, "service: {type: string, required: true}", NULL},
	{3, "artifact: {type: reference, required: true}", NULL},
	{3, "expected_version: {type: integer}", NULL},
	{2, "lock:", NULL},
	{3, "on: [environment, service]", "lock.on"},
	{3, "resource: deployments", "lock.resource"},
	{3, "held: queue", "lock.held"},
	{3, "version: expected_version", "lock.version"},
	{3, "fencing: X-Fencing-Token", "lock.fencing"},
	{2, "dispatch: outbox", "dispatch"},
	{2, "approval:", NULL},
	{3, "when:", "approval.when"},
	{4, "- field: environment", "approval.when.*.field"},
	{5, "is: production", "approval.when.*.is"},
	{4, "- field: service", NULL},
	{5, "in: [billing, identity]", "approval.when.*.in"},
	{4, "- field: service", NULL},
	{5, "matches: \"^db-\"", "approval.when.*.matches"},
	{4, "- first_use: agent", "approval.when.*.first_use"},
	{3, "approvers: 1", "approval.approvers"},
	{3, "by:", NULL},
	{4, "roles: [approver, operator]", "approval.by.roles"},
	{4, "accounts: [platform]", "approval.by.accounts"},
	{3, "expires: 30m", "approval.expires"},
	{3, "summary: \"Deploy {service} to {environment}\"", "approval.summary"},
	{3, "consequence: Replaces the running release", "approval.consequence"},
	{3, "reversible: true", "approval.reversible"},
	{3, "class: deployment", "approval.class"},
	{1, "events.paid:", NULL},
	{2, "route: POST /v1/events", NULL},
	{2, "inbox:", NULL},
	{3, "id: /event/id", "inbox.id"},
	{3, "secrets: [/etc/counterfoil/events.secret]", "inbox.secrets"},
	{3, "tolerance: 5m", "inbox.tolerance"},
	{1, "orders.put:", NULL},
	{2, "route: PUT /v1/orders/{order_id}", NULL},
	{2, "natural: true", "natural"},
};

/* Shown with the upstream `default`, and another one for what cannot stand beside it. */
static const struct example_line credential_lines[] = {
	{2, "credential:", NULL},
	{3, "secret: service_key", "secret"},
	{3, "as: bearer", "as"},
	{3, "oauth2:", NULL},
	{4, "token_url: https://login.example.com/oauth/token", "oauth2.token_url"},
	{4, "client_id: counterfoil", "oauth2.client_id"},
	{4, "auth: basic", "oauth2.auth"},
	{4, "scope: payments.write payments.read", "oauth2.scope"},
	{4, "audience: https://api.example.com", "oauth2.audience"},
	{4, "timeout: 10s", "oauth2.timeout"},
	{4, "token_ca_file: /etc/counterfoil/login-ca.pem", "oauth2.token_ca_file"},
	{1, "metered:", NULL},
	{2, "url: https://metered.example.com", NULL},
	{2, "credential:", NULL},
	{3, "secret: metered_key", NULL},
	{3, "as: header", NULL},
	{3, "header: X-Api-Key", "header"},
};

static void write_line(FILE *out, const char *prefix, const struct example_line *line)
{
	char name[64], comment[COMMENT_MAX];
	const struct setting *setting = NULL;

	if (line->row) {
		snprintf(name, sizeof(name), "%s%s", prefix, line->row);
		setting = setting_find(str_from(name));
	}
	if (setting) {
		snprintf(comment, sizeof(comment), "%s%s%s%s%s%s%s", setting->help,
			 !setting->range		? ""
			 : setting->kind == KIND_CHOICE ? " One of: "
							: " Range: ",
			 setting->range ? setting->range : "", setting->range ? "." : "",
			 setting->default_value ? " Default: " : "",
			 setting->default_value ? setting->default_value : "",
			 setting->default_value ? "." : "");
		write_comment(out, line->level * INDENT, comment);
	}
	fprintf(out, "%*s# %s\n", line->level * INDENT, "", line->text);
}

static void write_actions(FILE *out)
{
	fputs("\n# The writes that the gate knows, by name: a route, the fields of the command "
	      "and\n"
	      "# the rules they keep. What matches no action is protected as `undeclared` says.\n",
	      out);
	for (size_t i = 0; i < sizeof(action_lines) / sizeof(action_lines[0]); i++)
		write_line(out, ACTION_PREFIX, &action_lines[i]);
}

static void write_credential(FILE *out)
{
	for (size_t i = 0; i < sizeof(credential_lines) / sizeof(credential_lines[0]); i++)
		write_line(out, CREDENTIAL_PREFIX, &credential_lines[i]);
}

/* `credential` itself, and all below it. */
static bool is_of_credential(const struct setting *setting)
{
	return str_starts_with(str_from(setting->name), STR(UPSTREAM_PREFIX "credential"));
}

static bool is_of_action(const struct setting *setting)
{
	enum setting_owner owner = setting_owner(setting);

	return owner == OWNER_ACTION || owner == OWNER_FIELD || owner == OWNER_CONDITION ||
	       owner == OWNER_WHEN;
}

void settings_write_example(FILE *out)
{
	const struct setting *setting;
	struct str section = STR("");
	int indent = 0;

	fputs("# The configuration of a Counterfoil gate, with every setting it has. Values are "
	      "the\n"
	      "# defaults, but for the url of the service; what has none is a comment. Durations "
	      "are\n"
	      "# whole numbers with ms, s, m, h or d; sizes are bytes, or with KiB, MiB, GiB, KB, "
	      "MB\n"
	      "# or GB. Check a file with `counterfoil config check FILE`.\n\n",
	      out);
	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (setting->kind == KIND_SECRET && setting_is_short(setting))
			write_credential(out);
		if (setting->kind == KIND_LATER || is_of_action(setting) ||
		    is_of_credential(setting))
			continue;
		if (!str_equal(section, section_of(setting))) {
			indent = write_heading(out, section_of(setting), section);
			section = section_of(setting);
		}
		write_setting(out, setting, indent);
	}
	write_actions(out);
}

/* Text in which roff finds nothing to do. */
static void write_roff(FILE *out, const char *text)
{
	if (text[0] == '.' || text[0] == '\'')
		fputs("\\&", out);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
}

static void write_manual_row(FILE *out, const struct settings_row *row)
{
	fputs(".TP\n.B ", out);
	write_roff(out, row->name);
	fputc('\n', out);
	write_roff(out, row->help);
	fputs("\n.br\nTakes ", out);
	write_roff(out, row->type);
	if (row->range[0]) {
		fputs(": ", out);
		write_roff(out, row->range);
	}
	if (row->default_value) {
		fputs("; default ", out);
		write_roff(out, row->default_value);
	}
	fputs(row->needs_restart ? ". Needs a restart.\n" : ".\n", out);
}

void settings_write_manual(FILE *out)
{
	struct settings_row row;

	for (size_t i = 0; settings_row_at(i, &row); i++)
		write_manual_row(out, &row);
}
