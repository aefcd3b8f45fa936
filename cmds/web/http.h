/* http.h - the HTTP server: listeners, one table of routes, and what a client may cost
 *
 * A part of gweb (metrics, REST, pages, login) has a table of routes, and gweb.c gives all tables
 * to http_new(). A handler gets a request that was checked and fills an answer; it knows nothing of
 * sockets. The server runs on one event loop, which is the only thread that touches a connection.
 *
 *	HTTP_FAST    the handler runs on the loop. It looks at the snapshot and at nothing that could
 *	             block: no controller, no name service, no file
 *	HTTP_ASKS    the handler runs in one of HTTP_WORKERS threads, with a connection to the
 *	             controller (r->client). At most HTTP_ASKS_A_VIEWER of one viewer wait, then 503
 *	HTTP_STREAM  as HTTP_FAST, and the answer is a stream: more of it follows with each snapshot
 *
 * What is checked before a handler is called:
 *
 *	size       the head has HTTP_HEAD_MAX bytes at most, the body as many as the route takes
 *	time       a request is complete HTTP_REQUEST_S after the connection was made or the answer
 *	           before it was sent, and its answer is taken HTTP_ANSWER_S later; a stream ends
 *	           after HTTP_STREAM_LIFE_S, or HTTP_STREAM_S in which its client takes nothing
 *	number     connections in all and of one address (of IPv6: of one /64); what is more is closed
 *	path       percent-decoded once: UTF-8 without control characters, "//", "." and "..", an
 *	           encoded slash or a backslash. Else 400
 *	Host       an address in numbers, "localhost", this host's name or one of http_config.hosts: a
 *	           page of another site whose name was made to point here reads nothing. Else 421
 *	viewer     http_config.identify finds the user of the request, if needed in a worker;
 *	           HTTP_LOGGED_IN routes need a user. Else 401
 *
 * Each answer has headers that keep a browser from doing anything with it but show it: HTTP_CSP
 * (no inline script, no inline style), nosniff, no frame, no referrer, and "no-store" unless the
 * handler says how long it is good for (a->cache).
 */
#ifndef CMDS_WEB_HTTP_H
#define CMDS_WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmds/web/viewer.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

struct client;
struct event_base;
struct snapshot;
struct snapshots;

#define HTTP_HEAD_MAX      (8 * 1024) /* each connection costs as much */
#define HTTP_PATH_MAX      1024
#define HTTP_BODY_MAX      (5 * 1024 * 1024) /* of the route that takes most */
#define HTTP_BODIES_MAX    (8 * 1024 * 1024) /* of all requests together; beyond it: 503 */
#define HTTP_ANSWERS_MAX   (8 * 1024 * 1024) /* not taken yet; the address with most makes room */
#define HTTP_REQUEST_S     30
#define HTTP_ANSWER_S      60
#define HTTP_STREAM_S      60
#define HTTP_STREAM_LIFE_S 300 /* then it ends: a logout and another role take effect */
#define HTTP_BEAT_S        15 /* a stream is read at least so often */
#define HTTP_NO_PROOF      "gweb login, on a host of the cluster, gives a link" /* text of a 401 */
#define HTTP_WORKERS       4
#define HTTP_ASKS_MAX      64
#define HTTP_ASKS_A_VIEWER 8
#define HTTP_HEADERS_MAX   8 /* that a handler adds */

#define HTTP_CSP                                                                                   \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                \
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/* --- a request -------------------------------------------------------------------------------- */

struct http_request {
	const char *method; /* "GET", "HEAD" as "GET", "POST", ... */
	bool head;          /* it is a HEAD: nothing may come of it */
	const char *path;   /* decoded */
	const char *raw;    /* path and query as they came: what a signature covers */
	const char *name;   /* what the {} of the route matched; "" */
	const struct viewer *viewer; /* never NULL: viewer_nobody() */
	const struct snapshot *snap; /* NULL: the controller was not reached yet */
	const char *trouble;         /* "", or why the controller does not answer at present */
	const char *body;            /* NUL behind it */
	size_t body_len;
	bool trusted;          /* it came through a unix socket: a proxy says which user it is */
	struct client *client; /* HTTP_ASKS only: this thread's */
	void *arg;             /* of the table of the route */
	struct http_call *call;
};

/* The value of the first such parameter, decoded; NULL: there is none. */
const char *http_query(const struct http_request *r, const char *name);
/* Each parameter, also of one name several times. */
void http_each_query(const struct http_request *r,
        void (*each)(const char *name, const char *value, void *arg), void *arg);
const char *http_header(const struct http_request *r, const char *name); /* NULL: there is none */
const char *http_cookie(const struct http_request *r, const char *name);

/* --- an answer -------------------------------------------------------------------------------- */

/* A body that many answers share: made once, counted. The text is not changed any more. While a
 * table of its part has it, it costs a client nothing; then its clients are charged for it, each a
 * part. */
struct http_body;
struct http_body *http_body_new(struct strbuf *text, bool compress); /* takes the text over */
struct http_body *http_body_ref(struct http_body *b);
void http_body_put(struct http_body *b); /* NULL is fine; from any thread */
size_t http_body_size(const struct http_body *b);

/* More of an answer, on the loop, after each snapshot and every HTTP_BEAT_S. Embedded in what the
 * part needs for it. */
struct http_stream {
	/* Write at most `max` bytes. `beat`: nothing was sent for a while, a remark is due. 0:
	 * nothing at present; -1: that was all; -2: it is broken off, and the client sees that.
	 * `snap` may be NULL. */
	ssize_t (*read)(struct http_stream *s, const struct snapshot *snap, bool beat, char *buf,
	        size_t max);
	void (*free)(struct http_stream *s);
	int64_t end_us; /* see http_stream_is_over() */
};

/* Its life begins. */
void http_stream_begin(struct http_stream *s);
/* Is it over, and `more_s` seconds with it? Asked by `read`, which knows where it may end. */
bool http_stream_is_over(const struct http_stream *s, unsigned more_s);

struct http_answer {
	int status;       /* 200 */
	const char *type; /* "text/plain; charset=utf-8"; a constant */
	struct strbuf body;
	struct http_body *shared;    /* instead of `body`; the answer takes the reference over */
	struct http_stream *stream;  /* instead of both */
	const char *cache;           /* Cache-Control; NULL: "no-store" */
	const char *csp;             /* NULL: HTTP_CSP */
	bool failed;                 /* it is one of http_answer_error() */
	struct {
		const char *name; /* a constant */
		char *value;
	} headers[HTTP_HEADERS_MAX];
	size_t n_headers;
};

/* Add a header; the value is copied. Control characters in it end it. */
void http_answer_header(struct http_answer *a, const char *name, const char *value);
/* An error as text: "404 not found: TEXT". Clears the body. */
void http_answer_error(struct http_answer *a, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The status that stands for an error of the controller or the library. */
int http_status_of(const struct error *err);

/* --- routes ----------------------------------------------------------------------------------- */

typedef void http_handler(const struct http_request *r, struct http_answer *a);

enum http_needs { HTTP_NOBODY, HTTP_LOGGED_IN };
enum http_kind { HTTP_FAST, HTTP_ASKS, HTTP_STREAM };

struct http_route {
	const char *method;
	const char *path; /* "/v1/job/{}": {} is one whole segment, not empty */
	enum http_needs needs;
	enum http_kind kind;
	size_t body_max; /* 0: no body */
	http_handler *handler;
	const char *about; /* one line, for manuals and descriptions; may be NULL */
};

/* The table of one part; ends with a row of nothing. */
struct http_routes {
	const struct http_route *v;
	void *arg; /* r->arg */
};

/* --- the server ------------------------------------------------------------------------------- */

struct http_config {
	const char *const *listen; /* "127.0.0.1:7380", "[::]:7380", "unix:/run/gweb.sock" */
	size_t n_listen;
	const char *const *hosts; /* further names of this server */
	size_t n_hosts;
	unsigned max_connections, max_per_address; /* the second not of unix sockets */
	unsigned unix_mode;                        /* of the socket files */
	int64_t request_ms;                        /* 0: HTTP_REQUEST_S */
	const char *client_conf;                   /* of HTTP_ASKS; NULL: as all commands do */
	/* Finds the user of a request. Called on the loop, before the route's handler; NULL: no
	 * user is known. *out is a reference; it stays NULL for a request without a user. 1: the
	 * controller must be asked, so identify_ask() is called in a worker, with r->client and the
	 * whole body, and returns -1 with `err` for a proof that does not hold (401). */
	int (*identify)(const struct http_request *r, struct viewer **out, void *arg);
	int (*identify_ask)(const struct http_request *r, struct viewer **out, void *arg,
	        struct error *err);
	void *identify_arg;
	/* May rewrite an answer of http_answer_error() in another form than text; NULL. */
	void (*failed)(const struct http_request *r, struct http_answer *a);
};

struct http;

/* `config`, the tables and `snapshots` are borrowed. NULL with `err`. */
struct http *http_new(struct event_base *base, const struct http_config *config,
        const struct http_routes *tables, size_t n_tables, struct snapshots *snapshots,
        struct error *err);
void http_free(struct http *h); /* NULL is fine; streams end, requests of workers are waited for */

/* Where a listener listens, with the port that was really taken; "" behind the last one. */
const char *http_at(const struct http *h, size_t i);

/* There is another snapshot: streams go on. On the loop. */
void http_published(struct http *h);

/* Counted on the loop; any thread may read them. */
struct http_figures {
	_Atomic uint64_t connections, refused, requests, slow; /* slow: closed for it */
	_Atomic unsigned open, streams, asking;
	_Atomic uint64_t answers[6]; /* by the first digit of the status */
};
const struct http_figures *http_figures(const struct http *h);

#endif
