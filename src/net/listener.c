/*
 * Listeners: from an address to connections, and the end of both.
 *
 * Several loops listen to one address with SO_REUSEPORT. That option would also let a second
 * process share the address unnoticed, so the first one looks, without it, whether the
 * address is free.
 */
#include "net/connection.h"

#include "base/err.h"

#include <errno.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 1024 };

static void write_date(struct server *server)
{
	time_t now = (time_t)(env_wall_ms(server->loop->env) / 1000);
	struct tm parts;

	gmtime_r(&now, &parts);
	strftime(server->date, sizeof(server->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
}

static void sweep_server(struct loop_sweeper *sweeper, int64_t now_ms)
{
	struct server *server = list_entry(sweeper, struct server, sweeper);
	struct list *link, *after;

	write_date(server);
	if (server->owes_accept && server->is_listening)
		connection_accept(server);
	list_for_each (link, after, &server->connections)
		connection_sweep(list_entry(link, struct connection, link), now_ms);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct server *server = listener->data;

	if (status == 0)
		connection_accept(server);
}

static bool is_free(const struct sockaddr *address, socklen_t size, const char **why)
{
	int yes = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_bound;

	if (fd < 0)
		return true;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	is_bound = bind(fd, address, size) == 0;
	if (!is_bound)
		*why = uv_strerror(uv_translate_sys_error(errno));
	close(fd);
	return is_bound;
}

static int bind_and_listen(struct server *server, struct sockaddr_storage *address, bool reuse_port)
{
	int size = sizeof(*address), yes = 1, error;
	uv_os_fd_t fd;

	error = uv_tcp_init_ex(&server->loop->uv, &server->listener, address->ss_family);
	if (error)
		return error;
	server->listener.data = server;
	if (reuse_port && uv_fileno((uv_handle_t *)&server->listener, &fd) == 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
	error = uv_tcp_bind(&server->listener, (struct sockaddr *)address, 0);
	if (!error)
		error = uv_listen((uv_stream_t *)&server->listener, LISTEN_BACKLOG, on_connection);
	if (!error)
		error = uv_tcp_getsockname(&server->listener, (struct sockaddr *)address, &size);
	if (error)
		uv_close((uv_handle_t *)&server->listener, NULL);
	return error;
}

int server_listen(struct server *server, struct loop *loop, struct service *service,
		  const struct server_limits *limits, struct tls_context *tls,
		  struct sockaddr_storage *address, bool reuse_port, const char **why)
{
	socklen_t size = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							: sizeof(struct sockaddr_in);
	int error;

	*server = (struct server){.loop = loop, .service = service, .limits = *limits, .tls = tls};
	list_init(&server->connections);
	if (!reuse_port && !is_free((struct sockaddr *)address, size, why))
		return FAIL_IO;
	error = bind_and_listen(server, address, true);
	if (error) {
		*why = uv_strerror(error);
		return FAIL_IO;
	}
	server->is_listening = true;
	write_date(server);
	server->sweeper.sweep = sweep_server;
	loop_add_sweeper(loop, &server->sweeper);
	return 0;
}

void server_drain(struct server *server)
{
	struct list *link, *after;

	server->is_draining = true;
	if (server->is_listening)
		uv_close((uv_handle_t *)&server->listener, NULL);
	server->is_listening = false;
	list_for_each (link, after, &server->connections) {
		struct connection *connection = list_entry(link, struct connection, link);

		if (connection->phase == PHASE_IDLE)
			connection_close(connection);
	}
}

bool server_is_idle(const struct server *server)
{
	return list_is_empty(&server->connections);
}

void server_close(struct server *server)
{
	struct list *link, *after;

	server_drain(server);
	list_for_each (link, after, &server->connections)
		connection_close(list_entry(link, struct connection, link));
}
