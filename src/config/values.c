/*
 * The readers of single values.
 *
 * Numbers: digits, then a unit that must be known, without a blank between them; whatever
 * would overflow is refused by its reader, whatever is merely too large by the range in
 * the table. Addresses are numeric: a listener that binds what a name server says can be
 * moved from outside.
 */
#include "config/values.h"

#include "base/err.h"

#include <arpa/inet.h>

enum { MEMBER_NAME_MAX = 256 };

struct unit {
	struct str name;
	int64_t factor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at the start of `text`; *out_rest is what follows them. */
static bool leading_number(struct str text, int64_t *out_number, struct str *out_rest)
{
	size_t len = 0;
	uint64_t number;

	while (len < text.len && is_digit(text.at[len]))
		len++;
	if (!str_to_u64(str_of(text.at, len), INT64_MAX, &number))
		return false;
	*out_number = (int64_t)number;
	*out_rest = str_from_index(text, len);
	return true;
}

static bool with_unit(struct str text, const struct unit *units, size_t count, int64_t *out)
{
	struct str rest;
	int64_t number;

	if (!leading_number(text, &number, &rest))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!str_equal(rest, units[i].name))
			continue;
		if (number > INT64_MAX / units[i].factor)
			return false;
		*out = number * units[i].factor;
		return true;
	}
	return false;
}

bool value_duration(struct str text, int64_t *out_ms)
{
	static const struct unit units[] = {
		{{"ms", 2}, 1},	     {{"s", 1}, 1000},	   {{"m", 1}, 60000},
		{{"h", 1}, 3600000}, {{"d", 1}, 86400000},
	};

	if (str_equal(text, STR("forever"))) {
		*out_ms = SETTINGS_FOREVER_MS;
		return true;
	}
	return with_unit(text, units, sizeof(units) / sizeof(units[0]), out_ms);
}

bool value_size(struct str text, int64_t *out_bytes)
{
	static const struct unit units[] = {
		{{"", 0}, 1},
		{{"B", 1}, 1},
		{{"KB", 2}, 1000},
		{{"MB", 2}, 1000000},
		{{"GB", 2}, 1000000000},
		{{"KiB", 3}, INT64_C(1) << 10},
		{{"MiB", 3}, INT64_C(1) << 20},
		{{"GiB", 3}, INT64_C(1) << 30},
	};

	return with_unit(text, units, sizeof(units) / sizeof(units[0]), out_bytes);
}

bool value_count(struct str text, int64_t *out_count)
{
	struct str rest;

	return leading_number(text, out_count, &rest) && rest.len == 0;
}

static int refuse(struct value_refusal *out, const char *what, const char *mend)
{
	*out = (struct value_refusal){what, mend};
	return VALUE_REFUSED;
}

/* A numeric address of either family; `bytes` has room for 16. */
static bool read_numeric(struct str text, bool *out_is_ipv6, uint8_t bytes[16])
{
	char copy[INET6_ADDRSTRLEN];

	if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.at, '\0', text.len))
		return false;
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	*out_is_ipv6 = memchr(copy, ':', text.len) != NULL;
	return inet_pton(*out_is_ipv6 ? AF_INET6 : AF_INET, copy, bytes) == 1;
}

static bool is_mapped(const uint8_t bytes[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

static bool is_loopback(bool is_ipv6, const uint8_t bytes[16])
{
	static const uint8_t one[16] = {[15] = 1};

	if (!is_ipv6)
		return bytes[0] == 127;
	return memcmp(bytes, one, sizeof(one)) == 0 || (is_mapped(bytes) && bytes[12] == 127);
}

bool url_is_of_this_machine(const struct settings_url *url)
{
	bool is_ipv6;
	uint8_t bytes[16];

	if (str_equal_nocase(url->host, STR("localhost")))
		return true;
	return read_numeric(url->host, &is_ipv6, bytes) && is_loopback(is_ipv6, bytes);
}

/*
 * Cut "host:port" or "[host]:port". *out_port is empty, and its `at` NULL, where there is no
 * colon; false when brackets or colons are astray.
 */
static bool cut_port(struct str text, struct str *out_host, bool *out_is_bracketed,
		     struct str *out_port)
{
	size_t end;

	*out_is_bracketed = text.len > 0 && text.at[0] == '[';
	if (*out_is_bracketed) {
		end = str_find(text, ']');
		if (end == text.len)
			return false;
		*out_host = str_of(text.at + 1, end - 1);
		end++;
	} else {
		end = str_find(text, ':');
		*out_host = str_of(text.at, end);
	}
	if (end == text.len) {
		*out_port = str_of(NULL, 0);
		return true;
	}
	*out_port = str_of(text.at + end + 1, text.len - end - 1);
	return text.at[end] == ':' && str_find(*out_port, ':') == out_port->len;
}

static int fill_address(struct settings_address *address, struct arena *mem)
{
	char host[INET6_ADDRSTRLEN];
	uint8_t bytes[16];

	/* One spelling for each address, so that two of them can be compared as text. */
	require(read_numeric(address->host, &address->is_ipv6, bytes));
	inet_ntop(address->is_ipv6 ? AF_INET6 : AF_INET, bytes, host, sizeof(host));
	address->is_loopback = is_loopback(address->is_ipv6, bytes);
	address->host = arena_str(mem, str_from(host));
	address->text = arena_printf(mem, address->is_ipv6 ? "[%s]:%u" : "%s:%u", host,
				     (unsigned)address->port);
	return address->host.at && address->text.at ? 0 : FAIL_MEMORY;
}

int value_address(struct str text, struct arena *mem, struct settings_address *out_address,
		  struct value_refusal *out_refusal)
{
	struct settings_address address = {0};
	struct str port_text;
	bool is_bracketed;
	uint8_t bytes[16];
	uint64_t port;
	int r;

	if (!cut_port(text, &address.host, &is_bracketed, &port_text))
		return refuse(out_refusal, "is not host:port",
			      "write it like 127.0.0.1:8080, or [::1]:8080 for IPv6");
	if (!port_text.at)
		return refuse(out_refusal, "has no port", "write host:port, like 127.0.0.1:8080");
	if (!str_to_u64(port_text, 65535, &port))
		return refuse(out_refusal, "has no port from 0 to 65535",
			      "end it with one; 0 takes any that is free");
	if (address.host.len == 0 || str_equal(address.host, STR("*")))
		return refuse(out_refusal, "names no address",
			      "write 0.0.0.0 or [::] before the port for every address");
	if (str_equal(address.host, STR("localhost")) && !is_bracketed)
		address.host = STR("127.0.0.1");
	if (!read_numeric(address.host, &address.is_ipv6, bytes))
		return refuse(out_refusal, "has no numeric address",
			      "write an address, not a name: 127.0.0.1:8080, [::1]:8080");
	if (address.is_ipv6 != is_bracketed)
		return refuse(out_refusal, "has its brackets wrong",
			      "only IPv6 goes in brackets: 127.0.0.1:8080, [::1]:8080");
	address.port = (uint16_t)port;
	r = fill_address(&address, mem);
	if (r != 0)
		return r;
	*out_address = address;
	return 0;
}

static bool is_host_character(char c)
{
	c = ascii_lower(c);
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '.' || c == '-' || c == '_';
}

/* A name of letters, digits, '-', '_' and dots; what looks like IPv4 must be it. */
static bool is_host_name(struct str host)
{
	bool has_only_digits = true;
	bool is_ipv6;
	uint8_t bytes[16];

	if (host.len == 0 || host.len > 253 || host.at[0] == '.' || host.at[0] == '-')
		return false;
	for (size_t i = 0; i < host.len; i++) {
		if (!is_host_character(host.at[i]))
			return false;
		if (host.at[i] == '.' && i > 0 && host.at[i - 1] == '.')
			return false;
		has_only_digits = has_only_digits && (is_digit(host.at[i]) || host.at[i] == '.');
	}
	return !has_only_digits || read_numeric(host, &is_ipv6, bytes);
}

static bool is_path_character(char c)
{
	return is_host_character(c) || (c != '\0' && strchr("/~!$&'()*+,;=:@%", c));
}

static bool is_dot_segment(struct str segment)
{
	return str_equal(segment, STR(".")) || str_equal(segment, STR(".."));
}

/* A path that can stand before another: no empty, no dot segments, whole escapes. */
static bool is_base_path(struct str path)
{
	struct str rest = str_from_index(path, 1), segment;

	for (size_t i = 0; i < path.len; i++) {
		if (!is_path_character(path.at[i]))
			return false;
		if (path.at[i] != '%')
			continue;
		if (path.len - i < 3 || hex_digit(path.at[i + 1]) < 0 ||
		    hex_digit(path.at[i + 2]) < 0)
			return false;
	}
	while (path.len > 0 && str_split(&rest, '/', &segment)) {
		if (segment.len == 0 || is_dot_segment(segment))
			return false;
	}
	return true;
}

static int read_scheme(struct str *text, struct settings_url *url,
		       struct value_refusal *out_refusal)
{
	if (str_starts_with_nocase(*text, STR("http://"))) {
		url->is_tls = false;
		*text = str_from_index(*text, 7);
	} else if (str_starts_with_nocase(*text, STR("https://"))) {
		url->is_tls = true;
		*text = str_from_index(*text, 8);
	} else {
		return refuse(out_refusal, "is neither an http:// nor an https:// URL",
			      "write it like http://127.0.0.1:9000 or https://api.example.test/v1");
	}
	return 0;
}

static int read_authority(struct str authority, struct settings_url *url,
			  struct value_refusal *out_refusal)
{
	const char *shape = "write scheme://host or scheme://host:port, an IPv6 host in brackets";
	struct str port_text;
	bool is_bracketed, is_ipv6;
	uint8_t bytes[16];
	uint64_t port;

	if (str_find(authority, '@') < authority.len)
		return refuse(out_refusal, "carries a user or a password",
			      "remove what stands before the @");
	if (!cut_port(authority, &url->host, &is_bracketed, &port_text))
		return refuse(out_refusal, "has a malformed host", shape);
	if (is_bracketed ? !read_numeric(url->host, &is_ipv6, bytes) || !is_ipv6
			 : !is_host_name(url->host))
		return refuse(out_refusal, "has a malformed host", shape);
	url->port = url->is_tls ? 443 : 80;
	if (!port_text.at)
		return 0;
	if (!str_to_u64(port_text, 65535, &port) || port == 0)
		return refuse(out_refusal, "has no port from 1 to 65535",
			      "mend the port, or remove it with its colon");
	url->port = (uint16_t)port;
	return 0;
}

/* The URL's strings in one spelling: lower-case host, the scheme's own port left out. */
static int fill_url(struct settings_url *url, struct arena *mem)
{
	bool is_ipv6 = str_find(url->host, ':') < url->host.len;
	bool is_usual_port = url->port == (url->is_tls ? 443 : 80);
	struct str host = arena_str(mem, url->host);

	if (!host.at)
		return FAIL_MEMORY;
	for (size_t i = 0; i < host.len; i++)
		((char *)host.at)[i] = ascii_lower(host.at[i]);
	url->host = host;
	url->authority = is_usual_port ? arena_printf(mem, is_ipv6 ? "[%s]" : "%s", host.at)
				       : arena_printf(mem, is_ipv6 ? "[%s]:%u" : "%s:%u", host.at,
						      (unsigned)url->port);
	url->base_path = arena_str(mem, url->base_path);
	if (!url->authority.at || !url->base_path.at)
		return FAIL_MEMORY;
	url->text = arena_printf(mem, "%s://%s%s", url->is_tls ? "https" : "http",
				 url->authority.at, url->base_path.at);
	return url->text.at ? 0 : FAIL_MEMORY;
}

int value_url(struct str text, struct arena *mem, struct settings_url *out_url,
	      struct value_refusal *out_refusal)
{
	struct settings_url url = {0};
	size_t slash;
	int r;

	r = read_scheme(&text, &url, out_refusal);
	if (r != 0)
		return r;
	if (str_find(text, '?') < text.len || str_find(text, '#') < text.len)
		return refuse(out_refusal, "has a query or a fragment",
			      "remove what begins with ? or #; requests bring their own");
	slash = str_find(text, '/');
	r = read_authority(str_of(text.at, slash), &url, out_refusal);
	if (r != 0)
		return r;
	url.base_path = str_from_index(text, slash);
	if (url.base_path.len > 0 && url.base_path.at[url.base_path.len - 1] == '/')
		url.base_path.len--;
	if (!is_base_path(url.base_path))
		return refuse(out_refusal, "has a path that is not plain",
			      "write it without blanks, empty or dot segments, others as %XX");
	r = fill_url(&url, mem);
	if (r != 0)
		return r;
	*out_url = url;
	return 0;
}

static bool has_bits_after(const struct settings_network *network)
{
	size_t size = network->is_ipv6 ? 16 : 4;

	for (size_t i = 0; i < size; i++) {
		unsigned fixed = network->bits > 8 * i ? network->bits - (unsigned)(8 * i) : 0;

		if (fixed < 8 && (network->bytes[i] & (0xffu >> fixed)))
			return true;
	}
	return false;
}

int value_network(struct str text, struct settings_network *out_network,
		  struct value_refusal *out_refusal)
{
	struct settings_network network = {0};
	size_t slash = str_find(text, '/');
	uint64_t bits;

	if (!read_numeric(str_of(text.at, slash), &network.is_ipv6, network.bytes))
		return refuse(out_refusal, "is not an address or a range of them",
			      "write it like 10.0.0.7, 10.0.0.0/8 or fd00::/8");
	bits = network.is_ipv6 ? 128 : 32;
	if (slash < text.len && !str_to_u64(str_from_index(text, slash + 1), bits, &bits))
		return refuse(out_refusal, "has no prefix length that fits its address",
			      "write 0 to 32 after the slash for IPv4, 0 to 128 for IPv6");
	network.bits = (uint8_t)bits;
	if (has_bits_after(&network))
		return refuse(out_refusal, "has address bits after its prefix",
			      "set them to zero, like 10.0.0.0/8");
	*out_network = network;
	return 0;
}

bool network_has(const struct settings_network *network, bool is_ipv6, const uint8_t *bytes)
{
	size_t whole = network->bits / 8;
	unsigned rest = network->bits % 8;

	if (network->is_ipv6 != is_ipv6 || memcmp(network->bytes, bytes, whole) != 0)
		return false;
	return rest == 0 || ((network->bytes[whole] ^ bytes[whole]) >> (8 - rest)) == 0;
}

bool network_list_has(const struct network_list *list, const char *address)
{
	const uint8_t *start;
	uint8_t bytes[16];
	bool is_ipv6;

	if (!read_numeric(str_from(address), &is_ipv6, bytes))
		return false;
	start = bytes;
	if (is_ipv6 && is_mapped(bytes)) {
		is_ipv6 = false;
		start = bytes + 12;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (network_has(&list->networks[i], is_ipv6, start))
			return true;
	}
	return false;
}

bool settings_trusts_proxy(const struct settings *settings, const char *address)
{
	return network_list_has(&settings->trusted_proxies, address);
}

static bool is_one_of(struct str text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(text, str_from(words[i])))
			return true;
	}
	return false;
}

int value_method(struct str text, struct value_refusal *out_refusal)
{
	static const char *const reading[] = {"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"};

	for (size_t i = 0; i < text.len; i++) {
		if (!((text.at[i] >= 'A' && text.at[i] <= 'Z') || (i > 0 && text.at[i] == '-')))
			return refuse(out_refusal, "is not a method",
				      "write methods in upper case, like POST");
	}
	if (text.len == 0 || text.len > 32)
		return refuse(out_refusal, "is not a method", "write it like POST");
	if (is_one_of(text, reading, sizeof(reading) / sizeof(reading[0])))
		return refuse(out_refusal, "does not write, so there is nothing to protect",
			      "list methods that write: POST, PATCH, PUT, DELETE");
	return 0;
}

bool value_is_plain(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.at[i];

		if (c < 0x20 || c == 0x7f)
			return false;
	}
	return text.len > 0;
}

bool value_is_pointer(struct str text)
{
	if (text.len < 2 || text.at[0] != '/' || !value_is_plain(text))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool is_last = i + 1 == text.len;

		if (text.at[i] == '~' &&
		    (is_last || (text.at[i + 1] != '0' && text.at[i + 1] != '1')))
			return false;
	}
	return true;
}

bool value_is_member(struct str text)
{
	return text.len <= MEMBER_NAME_MAX && value_is_plain(text);
}

int value_header(struct str text, struct value_refusal *out_refusal)
{
	static const char *const taken[] = {
		"Authorization",
		"Connection",
		"Content-Encoding",
		"Content-Length",
		"Content-Type",
		"Cookie",
		"Expect",
		"Host",
		"Keep-Alive",
		"Prefer",
		"Proxy-Authorization",
		"Proxy-Connection",
		"TE",
		"Trailer",
		"Transfer-Encoding",
		"Upgrade",
		"Counterfoil-Task",
		"Counterfoil-Step",
		"Counterfoil-Retry-Of",
	};

	for (size_t i = 0; i < text.len; i++) {
		char c = ascii_lower(text.at[i]);

		if (!((c >= 'a' && c <= 'z') || is_digit(c) || (c && strchr("!#$%&'*+-.^_`|~", c))))
			return refuse(out_refusal, "is not the name of a header",
				      "write letters, digits and dashes, like Idempotency-Key");
	}
	if (text.len == 0 || text.len > 64)
		return refuse(out_refusal, "is not the name of a header",
			      "write 1 to 64 characters, like Idempotency-Key");
	if (is_one_of(text, taken, sizeof(taken) / sizeof(taken[0])))
		return refuse(out_refusal, "is a header that means something else already",
			      "choose another, like Idempotency-Key");
	return 0;
}

int value_sent_header(struct str text, struct value_refusal *out_refusal)
{
	static const char *const written[] = {
		"Accept",
		"Accept-Encoding",
		"Content-Disposition",
		"Date",
		"Forwarded",
		"If-Match",
		"If-Modified-Since",
		"If-None-Match",
		"If-Range",
		"If-Unmodified-Since",
		"Max-Forwards",
		"Range",
		"User-Agent",
		"Via",
		"X-Forwarded-For",
		"X-Forwarded-Host",
		"X-Forwarded-Proto",
		"X-HTTP-Method",
		"X-HTTP-Method-Override",
		"X-Method-Override",
	};

	if (is_one_of(text, written, sizeof(written) / sizeof(written[0])))
		return refuse(out_refusal, "is a header that means something else already",
			      "choose the one that the service knows, like Idempotency-Key");
	return value_header(text, out_refusal);
}
