/*
 * Signing in at the console, and out of it.
 *
 * Whoever shows a key (or the admin token, or a link that the gate printed) is given a session: a
 * cookie that scripts cannot read, and a second text that must come with whatever changes
 * something. What the session may do is looked up anew on each request, so a key that is revoked
 * ends it.
 */
#include "admin/api_session.h"
#include "admin/api.h"

#include "auth/cookie.h"
#include "base/err.h"

enum { COOKIE_LINE_MAX = 512 };

static struct str field(const struct exchange *exchange, struct str name)
{
	const struct http_field *found =
		http_field_find(exchange->request.fields, exchange->request.field_count, name);

	return found ? found->value : STR("");
}

static bool is_read_only(struct str method)
{
	return str_equal(method, STR("GET")) || str_equal(method, STR("HEAD"));
}

/* Pages refresh themselves; that is nobody's presence. */
static bool is_somebody(const struct exchange *exchange)
{
	return field(exchange, STR("Counterfoil-Refresh")).len == 0;
}

bool api_brings_cookie(const struct exchange *exchange)
{
	struct str cookie;

	return cookie_find(field(exchange, STR("Cookie")), STR(SESSION_COOKIE), &cookie) !=
	       COOKIE_ABSENT;
}

struct session *api_session_of(const struct admin *admin, const struct exchange *exchange)
{
	struct session *session;
	struct str cookie;

	if (cookie_find(field(exchange, STR("Cookie")), STR(SESSION_COOKIE), &cookie) != 0 ||
	    session_find(admin->sessions, cookie, is_somebody(exchange), &session) != 0)
		return NULL;
	return session;
}

bool api_session_identify(const struct admin *admin, struct exchange *exchange,
			  struct caller *out_caller, const char **out_detail)
{
	struct session *session = api_session_of(admin, exchange);

	if (!session) {
		*out_detail = "Sign in: this session is over, or there is none.";
		return false;
	}
	if (!is_read_only(exchange->request.method) &&
	    !session_is_meant(session, field(exchange, STR("X-Counterfoil-CSRF")))) {
		*out_detail = "What changes something needs the session's csrf text in "
			      "X-Counterfoil-CSRF.";
		return false;
	}
	if (!api_credential_holds(admin, exchange, &session->caller, out_caller)) {
		session_end(admin->sessions, session);
		*out_detail = "The key of this session no longer counts.";
		return false;
	}
	return true;
}

/* -- the session as JSON ----------------------------------------------------------- */

static void write_powers(struct json_writer *json, enum caller_role role)
{
	json_name(json, "powers");
	json_open_array(json);
	for (unsigned power = 0; power < POWER_COUNT; power++) {
		if (role_may(role, (enum caller_power)power))
			json_text(json, api_power_name((enum caller_power)power));
	}
	json_close_array(json);
}

static void write_session(struct json_writer *json, const struct session *session)
{
	const struct caller *caller = &session->caller;

	json_open_object(json);
	json_name(json, "agent");
	json_string(json, caller->agent);
	json_name(json, "account");
	json_string(json, caller->account);
	json_name(json, "credential");
	json_string(json, caller->credential);
	json_name(json, "role");
	json_text(json, role_name(caller->role));
	write_powers(json, caller->role);
	json_name(json, "all_accounts");
	json_boolean(json, caller->has_all_accounts);
	json_name(json, "csrf");
	json_text(json, session->csrf);
	json_name(json, "expires_at");
	json_time(json, session->expires_ms);
	json_close_object(json);
}

static void answer(struct api_call *call, const struct session *session, const char *cookie)
{
	struct json_writer json;
	struct buf body, line;

	api_json_begin(&json, &body);
	buf_init(&line, COOKIE_LINE_MAX);
	write_session(&json, session);
	if (cookie) {
		buf_append_str(&line, STR("Set-Cookie: "));
		session_cookie_write(&line, cookie, call->exchange->is_tls);
		buf_append_str(&line, STR("\r\n"));
	}
	if (line.is_spoiled)
		body.is_spoiled = true;
	api_json_end_with(call, cookie ? 201 : 200, buf_str(&line), &body);
	buf_fini(&line);
}

/* -- endpoints --------------------------------------------------------------------- */

static void tell_of(struct api_call *call, const struct caller *caller, const char *how)
{
	const struct store_administration begun = {
		.event = "signed_in",
		.subject = caller->credential,
		.account = caller->account,
		.agent = caller->agent,
		.role = caller->role,
		.by = caller->credential,
		.why = str_from(how),
	};
	struct log_line line;

	log_begin(&line, call->admin->gate->log, LOG_INFO, "signed-in");
	log_str(&line, "agent", caller->agent);
	log_str(&line, "credential", caller->credential);
	log_text(&line, "role", role_name(caller->role));
	log_text(&line, "how", how);
	log_end(&line);
	store_tell_administration(call->admin->gate->store, &begun);
}

static void begin_session(struct api_call *call, const struct caller *caller, const char *how)
{
	char cookie[SESSION_TEXT + 1];
	struct session *session;

	switch (session_begin(call->admin->sessions, caller, cookie, &session)) {
	case 0:
		tell_of(call, caller, how);
		answer(call, session, cookie);
		break;
	case SESSION_FULL:
		api_problem(call, PROBLEM_OVERLOADED, "Too many sessions are open.");
		break;
	default:
		api_problem(call, PROBLEM_OVERLOADED, NULL);
		break;
	}
}

/* A page of another origin must not sign somebody in as somebody else. */
static bool is_own_origin(const struct exchange *exchange)
{
	struct str origin = field(exchange, STR("Origin"));
	struct str scheme = exchange->is_tls ? STR("https://") : STR("http://");

	return !origin.len ||
	       (str_starts_with(origin, scheme) &&
		str_equal_nocase(str_from_index(origin, scheme.len), exchange->request.host));
}

void api_sign_in(struct api_call *call)
{
	struct str key = api_text(call, "key"), link = api_text(call, "link");
	const char *detail = "Send a key as `key`, or the text of a link as `link`.";
	struct caller caller;

	if (!is_own_origin(call->exchange))
		api_problem(call, PROBLEM_FORBIDDEN, "Sign in from the console's own page.");
	else if (link.len && session_link_use(call->admin->sessions, link) == 0)
		begin_session(call, &api_operator, "with a link for one use");
	else if (link.len)
		api_refuse_caller(call, STR("a link that signs nobody in"),
				  "This link has been used, or is too old. Sign in with a key.");
	else if (!api_identify_text(call->admin, call->exchange, key, &caller, &detail))
		api_refuse_caller(call, STR("not let in at the console"), detail);
	else if (!role_may(caller.role, POWER_LOOK))
		api_problem(call, PROBLEM_FORBIDDEN,
			    "This key is an agent's; the console is for people.");
	else
		begin_session(call, &caller, "with a key or the admin token");
}

void api_show_session(struct api_call *call)
{
	struct session *session = api_session_of(call->admin, call->exchange);

	if (session)
		answer(call, session, NULL);
	else
		api_problem(call, PROBLEM_NOT_FOUND,
			    "There is no session; a bearer token has none.");
}

void api_sign_out(struct api_call *call)
{
	struct session *session = api_session_of(call->admin, call->exchange);
	struct json_writer json;
	struct buf body, line;

	if (session)
		session_end(call->admin->sessions, session);
	buf_init(&line, COOKIE_LINE_MAX);
	buf_append_str(&line, STR("Set-Cookie: "));
	session_cookie_write(&line, NULL, call->exchange->is_tls);
	buf_append_str(&line, STR("\r\n"));
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_close_object(&json);
	api_json_end_with(call, 200, buf_str(&line), &body);
	buf_fini(&line);
}
