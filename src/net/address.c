/*
 * Addresses of listeners, from text and back. Nothing is looked up: a name that a resolver would
 * have to answer for is none.
 */
#include "net/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

enum { HOST_MAX = 64 };

static bool parse_port(struct str text, uint16_t *out_port)
{
	uint64_t port;

	if (!str_to_u64(text, 65535, &port))
		return false;
	*out_port = htons((uint16_t)port);
	return true;
}

/* "host" and ":port", or "[host]" and ":port". */
static bool split(struct str text, bool is_v6, struct str *out_name, struct str *out_port)
{
	size_t end = str_find(text, is_v6 ? ']' : ':');
	struct str port = str_from_index(text, end + is_v6);

	if (end == text.len || port.len < 2 || port.at[0] != ':')
		return false;
	*out_name = str_of(text.at + is_v6, end - is_v6);
	*out_port = str_from_index(port, 1);
	return true;
}

bool address_parse(struct str text, struct sockaddr_storage *out_address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out_address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out_address;
	bool is_v6 = text.len && text.at[0] == '[';
	char host[HOST_MAX];
	struct str name, port;

	memset(out_address, 0, sizeof(*out_address));
	if (!split(text, is_v6, &name, &port) || name.len >= sizeof(host))
		return false;
	if (str_equal(name, STR("localhost")))
		name = STR("127.0.0.1");
	memcpy(host, name.at, name.len);
	host[name.len] = '\0';
	if (is_v6) {
		v6->sin6_family = AF_INET6;
		return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 &&
		       parse_port(port, &v6->sin6_port);
	}
	v4->sin_family = AF_INET;
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 && parse_port(port, &v4->sin_port);
}

void address_format(const struct sockaddr *address, char out[64])
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(out, 64, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(out, 64, "%s:%u", host, ntohs(v4->sin_port));
	}
}
