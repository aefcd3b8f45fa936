/* client_lab.h - a controller in a thread, and a client of it, for test_client and test_submit
 *
 * The controller has a real handshake and real frames; it checks signatures, remembers nonces, and
 * misbehaves by plan: it drops connections before or after it has taken a submit, is busy, refuses.
 * Munge is a stand-in. One laboratory a process, made anew for each test (CLIENT_TEST).
 */
#ifndef UNIT_CLIENT_LAB_H
#define UNIT_CLIENT_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "cmds/api/client.h"
#include "cmds/api/gpusched.h"
#include "common/gpusched.pb-c.h"
#include "testsuite/sim/fake_munge.h"

#define T(sym)   GPUSCHED__MSG_TYPE__MSG_##sym
#define JOBS_MAX 100000
#define LEN(a)   (sizeof(a) / sizeof((a)[0]))

enum act { ANSWER, DROP_BEFORE, DROP_AFTER, BUSY, REFUSE, EXPIRED, CUT_LIST };

struct job;
struct noise;

struct server {
	int listener, port;
	pthread_t thread;
	struct mcred_ops *munge;
	uint64_t seed;     /* of chance; 0: by plan alone */
	enum act plan[64]; /* of the n-th submit or list; then ANSWER */
	size_t n_plan, at;
	volatile bool stop;
	struct job *jobs; /* taken; index + 1 is the id */
	volatile size_t n_jobs;
	size_t submits, repeats, connections;
	/* Other requests; NULL: refused. False: the connection ends. */
	bool (*other)(
	        int fd, struct noise *noise, unsigned type, uint64_t id, const ProtobufCMessage *m);
	struct error fault; /* what a client did wrong */
};

extern struct server server;
extern struct client *client;
extern int64_t time_shift; /* of time(2) as submit.c sees it: the linker wraps it */

int lab_setup(void **state);
int lab_teardown(void **state); /* fails if a client did something wrong */
#define CLIENT_TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

/* The client must have given up its connection before a stop: the server serves one at a time. */
void server_start(void);
void server_stop(void);

/* For server.other: parts of the answer, and its end. */
bool lab_answer(int fd, struct noise *noise, unsigned type, uint64_t id, const ProtobufCMessage *m);
bool lab_reply(int fd, struct noise *noise, uint64_t id, int code, const char *text);

/* A process of that user on the host of client and server. */
struct mcred_ops *lab_munge(uid_t uid, gid_t gid);
extern struct fake_munge *lab_host;

/* What the server does with the next `n` submits or lists. */
void plan(size_t n, const enum act *acts);

/* A job that can be submitted; it borrows nothing that ends. */
void fill(struct gpusched_spec *spec);

#endif
