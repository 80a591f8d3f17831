/*
 * A folder with an open journal, and a plain service on loopback that counts its writes.
 */
#include "library_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* -- the service --------------------------------------------------------------------- */

/* No file of this process may grow, as on a full disk; or again as before. */
void fill_disk(bool is_full)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = is_full ? 0 : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* One request, until its body is whole; how many bytes, with a NUL after them. */
static size_t read_message(int fd, char out[MESSAGE_MAX])
{
	size_t len = 0, whole = MESSAGE_MAX - 1;

	while (len < whole) {
		ssize_t n = read(fd, out + len, MESSAGE_MAX - 1 - len);
		const char *end, *length;

		if (n <= 0)
			break;
		len += (size_t)n;
		out[len] = '\0';
		end = strstr(out, "\r\n\r\n");
		if (!end)
			continue;
		length = strstr(out, "Content-Length: ");
		whole = (size_t)(end - out) + 4 + (length ? strtoul(length + 16, NULL, 10) : 0);
		assert_true(whole < MESSAGE_MAX);
	}
	out[len] = '\0';
	return len;
}

static void answer(struct service *service, int fd)
{
	char message[MESSAGE_MAX], body[TEXT_MAX], text[2 * TEXT_MAX];
	int len;

	if (!read_message(fd, message))
		return;
	if (strncmp(message, "GET ", 4) == 0) {
		len = snprintf(text, sizeof(text),
			       "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	} else {
		pthread_mutex_lock(&service->lock);
		memcpy(service->message, message, sizeof(message));
		snprintf(body, sizeof(body), "{\"id\": %d}", ++service->writes);
		if (service->fills_disk)
			fill_disk(true);
		service->fills_disk = false;
		pthread_mutex_unlock(&service->lock);
		len = snprintf(text, sizeof(text),
			       "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
			       "Content-Length: %zu\r\n\r\n%s",
			       strlen(body), body);
	}
	(void)!write(fd, text, (size_t)len);
}

/* Until the listener is shut down. */
static void *serve(void *owner)
{
	struct service *service = owner;
	int fd;

	while ((fd = accept(service->listener, NULL, NULL)) >= 0) {
		answer(service, fd);
		close(fd);
	}
	return NULL;
}

static void service_start(struct service *service)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	service->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(service->listener >= 0);
	assert_int_equal(bind(service->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(service->listener, 64), 0);
	assert_int_equal(getsockname(service->listener, (struct sockaddr *)&address, &size), 0);
	snprintf(service->url, sizeof(service->url), "http://127.0.0.1:%u/v1/payments",
		 (unsigned)ntohs(address.sin_port));
	pthread_mutex_init(&service->lock, NULL);
	assert_int_equal(pthread_create(&service->thread, NULL, serve, service), 0);
}

static void service_stop(struct service *service)
{
	shutdown(service->listener, SHUT_RDWR);
	pthread_join(service->thread, NULL);
	close(service->listener);
	pthread_mutex_destroy(&service->lock);
}

int effects(struct scene *scene)
{
	int writes;

	pthread_mutex_lock(&scene->service.lock);
	writes = scene->service.writes;
	pthread_mutex_unlock(&scene->service.lock);
	return writes;
}

/* Did the last write have this in it? */
bool was_sent(struct scene *scene, const char *text)
{
	bool is_there;

	pthread_mutex_lock(&scene->service.lock);
	is_there = strstr(scene->service.message, text) != NULL;
	pthread_mutex_unlock(&scene->service.lock);
	return is_there;
}

/* -- scenes -------------------------------------------------------------------------- */

int scene_setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	memcpy(scene->folder, "/tmp/library-XXXXXX", sizeof("/tmp/library-XXXXXX"));
	assert_non_null(mkdtemp(scene->folder));
	snprintf(scene->journal_path, sizeof(scene->journal_path), "%s/state/journal.db",
		 scene->folder);
	snprintf(scene->output, sizeof(scene->output), "%s/answer", scene->folder);
	service_start(&scene->service);
	assert_int_equal(counterfoil_journal_open(scene->journal_path, &scene->journal), 0);
	*state = scene;
	return 0;
}

int scene_teardown(void **state)
{
	struct scene *scene = *state;
	char command[TEXT_MAX];

	counterfoil_journal_close(scene->journal);
	service_stop(&scene->service);
	snprintf(command, sizeof(command), "rm -rf '%s'", scene->folder);
	assert_int_equal(system(command), 0);
	free(scene);
	return 0;
}

/* A write of this step, with a body. */
counterfoil_request *request_of(struct scene *scene, const char *step)
{
	counterfoil_request *request = counterfoil_request_new("POST", scene->service.url);

	assert_non_null(request);
	assert_int_equal(counterfoil_request_set_step(request, "invoice 1873", step), 0);
	assert_int_equal(counterfoil_request_set_body(request, "application/json", "{\"n\": 1}", 8),
			 0);
	assert_int_equal(counterfoil_request_set_times(request, WAIT_MS, WAIT_MS), 0);
	return request;
}

counterfoil_result *send_now(struct scene *scene, const counterfoil_request *request)
{
	counterfoil_result *result;
	int r = counterfoil_send(scene->journal, request, &result);

	if (r != COUNTERFOIL_OK)
		fail_msg("%d: %s", r, counterfoil_error());
	return result;
}

/* `code` is a refusal, with a sentence that has `word` in it. */
void assert_refused(int code, const char *word)
{
	assert_int_equal(code, COUNTERFOIL_REFUSED);
	if (!strstr(counterfoil_error(), word))
		fail_msg("%s: %s is not in it", counterfoil_error(), word);
}
