#ifndef DRILL_PROXY_H
#define DRILL_PROXY_H
#include <stdbool.h>
#include <stdint.h>
enum { PROXY_WHY_MAX = 256 };
enum proxy_fault {
	PROXY_NONE,
	PROXY_DROP_ANSWER,
	PROXY_HALF_ANSWER,
	PROXY_DELAY_ANSWER,
	PROXY_RESET_BEFORE,
	PROXY_CUT_REQUEST,
	PROXY_DUPLICATE,
	PROXY_HOLD_ANSWER
};
struct proxy_plan {
	enum proxy_fault fault;
	int64_t delay_ms;
};
struct proxy_settings {
	const char *host;
	uint16_t port;
	bool is_tls;
	const char *ca_file;
	bool verify;
	int64_t timeout_ms;
};
struct proxy_watch {
	void (*event)(void *owner, int lane, const char *text);
	void *owner;
};
struct proxy;
int proxy_start(const struct proxy_settings *, struct proxy **out, char why[PROXY_WHY_MAX]);
uint16_t proxy_port(const struct proxy *);
void proxy_plan(struct proxy *, struct proxy_plan);
void proxy_watch(struct proxy *, struct proxy_watch);
int proxy_wait_sent(struct proxy *, int64_t timeout_ms);
void proxy_release(struct proxy *);
void proxy_stop(struct proxy *);
#endif
