/* http_impl.h - what the files of the HTTP server share; for them alone
 *
 *	http.c          listeners, the loop, connections and what they may cost
 *	http_request.c  one request: checked, handed to its handler, answered
 *	http_workers.c  handlers that ask the controller, in threads
 *	http_stream.c   answers that go on
 *	http_answer.c   an answer as libmicrohttpd's response
 *	http_parse.c    what is foreign in a request
 */
#ifndef CMDS_WEB_HTTP_IMPL_H
#define CMDS_WEB_HTTP_IMPL_H

#include <microhttpd.h>
#include <pthread.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "cmds/web/http.h"
#include "cmds/web/http_parse.h"
#include "common/net/worker.h"

#define BUCKETS 16384 /* of addresses */

/* The phase of a connection. `since` is when the phase began, by the monotonic clock. */
enum phase {
	PHASE_REQUEST, /* its next request is not complete */
	PHASE_WORK,    /* a thread asks the controller */
	PHASE_ANSWER,  /* the client has not taken all of the answer */
	PHASE_STREAM,  /* nor what a stream has said */
	PHASE_WAITS,   /* a stream that has nothing to say */
	PHASE_CLOSED,  /* shut down by us */
};

struct connection {
	TAILQ_ENTRY(connection) next;
	struct listener *listener;
	int fd;
	uint32_t bucket;
	enum phase phase;
	int64_t since_ms;
	int64_t limit_ms; /* of PHASE_ANSWER */
	/* The bytes that its client has not taken. */
	size_t answer_bytes;      /* of its answer alone */
	struct http_body *shared; /* or with others; borrowed from its call; NULL */
};
TAILQ_HEAD(connections, connection);

struct listener {
	struct http *http;
	struct MHD_Daemon *daemon;
	struct event *ready, *again;
	char at[128];
	char *path; /* of a unix socket; NULL: TCP */
};

struct asks;

struct http {
	struct event_base *base;
	const struct http_config *config;
	const struct http_routes *tables;
	size_t n_tables;
	struct snapshots *snapshots;
	const char **names; /* of this server */
	char *own_name;
	struct listener *listeners;
	size_t n_listeners;
	struct connections connections; /* the longest in its phase first */
	uint16_t buckets[BUCKETS];
	uint64_t seed;
	struct event *sweep;
	struct asks *asks;
	TAILQ_HEAD(, stream) streams;
	size_t bodies; /* bytes of all that have come */
	/* Bytes of all answers that are not taken, shared ones once for each connection: what they
	 * cost is that or less. */
	size_t answers;
	size_t held[BUCKETS]; /* what those of an address cost; for http_hold_answer() alone */
	struct http_figures figures;
};

/* One request, from its first line until its answer is sent. */
struct http_call {
	struct http *http;
	struct connection *conn;
	struct MHD_Connection *c;
	char *raw;
	char path[HTTP_PATH_MAX], name[HTTP_PATH_MAX], trouble[512];
	struct http_query query;
	struct strbuf body;
	struct viewer *viewer; /* NULL: no user */
	struct http_request r;
	struct http_answer a;
	const struct http_route *route;
	bool checked, asked, answered;
	bool identify; /* in a worker, before the handler */
	bool retry;    /* a worker has identified: the handler is next */
	struct worker_job *job;
};

int64_t http_now_ms(void);
/* The connection is at another phase from now on. */
void http_phase(struct connection *conn, enum phase phase);
/* Its client is to take that answer. False: there is no room for it, and nothing is held. */
bool http_hold_answer(struct connection *conn, const struct http_answer *a);
/* It is taken, or its connection has ended. */
void http_drop_answer(struct connection *conn);
/* libmicrohttpd has work that no descriptor tells of. */
void http_kick(struct listener *l);

/* Finds the user of a call, in a worker. */
void http_call_identify(struct http_call *call);

/* http_request.c: libmicrohttpd's callbacks */
void *http_call_begin(void *http, const char *uri, struct MHD_Connection *c);
enum MHD_Result http_call_go_on(void *http, struct MHD_Connection *c, const char *url,
        const char *method, const char *version, const char *data, size_t *n, void **con_cls);
void http_call_end(void *http, struct MHD_Connection *c, void **con_cls,
        enum MHD_RequestTerminationCode how);

/* http_workers.c */
struct asks *asks_new(struct http *h, struct error *err);
void asks_free(struct asks *a);
/* Have a thread run its handler; the connection is suspended meanwhile. ERR_BUSY. */
int asks_submit(struct http_call *call, struct error *err);

/* http_stream.c */
enum MHD_Result stream_begin(struct http_call *call);
void streams_wake(struct http *h, bool all); /* all: else those whose beat is due */
#define STREAMS_MAX 2048

#endif
