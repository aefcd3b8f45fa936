/* gprobe_messages.h - the messages of gprobe about a replica, and when they are passed on
 *
 * gprobe (cmds/services/README.md) is the run's program. It writes into a pipe, whose other end is
 * ours, one line a message, at most 512 bytes with its newline, each by one write(2):
 *
 *      health loading|ready|unready TEXT     TEXT: what the last probe found
 *      load RUNNING WAITING KV_MILLI REQUESTS TOKENS     decimal numbers
 *      load unknown
 *      end TEXT                              why gprobe ends the script
 *
 * gprobe is a process of the run's owner, and the owner's other processes can write to the pipe
 * too: nothing in it is trusted. A line that makes no sense is ignored. At most REPLICA_READ bytes
 * are read at a time, and not again within REPLICA_READ_PAUSE, so a sender without end blocks
 * itself.
 *
 * The shepherd writes it to the run's notes (NotesRecord.replica, .load) and notifies the launcher:
 *
 *      health   at once; after REPLICA_BURST changes one a REPLICA_PAUSE
 *      text     of the same health: once in REPLICA_TEXT_PAUSE
 *      load     once in REPLICA_PAUSE; one that stays the same once in REPLICA_AGAIN, for its time
 *
 * A replica that is to end or that is suspended is passed on as UNREADY, whatever gprobe says
 * (replica_hide()). The time READY counts what was passed on, by the monotonic clock. If the
 * shepherd is killed the pipe is lost, and the run with it.
 *
 * Pure, except for replica_read().
 */
#ifndef NODED_GPROBE_MESSAGES_H
#define NODED_GPROBE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

#define REPLICA_LINE       512
#define REPLICA_READ       8192
#define REPLICA_READ_PAUSE ((usec_t)100000)
#define REPLICA_PAUSE      ((usec_t)1000000)
#define REPLICA_TEXT_PAUSE ((usec_t)10000000)
#define REPLICA_AGAIN      ((usec_t)10000000)
#define REPLICA_BURST      4

struct replica {
	int fd;           /* our end of the pipe; -1: the run is no replica, or gprobe has ended */
	usec_t read_next; /* mono: not to be read before */
	char line[REPLICA_LINE];
	size_t len;    /* of a line whose end is not here yet */
	bool overlong; /* it is, and the rest of it is ignored */

	enum replica_health health;      /* as gprobe says */
	char text[REPLICA_TEXT_MAX + 1]; /* plain text (text.h) */
	char end[REPLICA_TEXT_MAX + 1];  /* why gprobe ends the script; "": it does not */
	struct run_load load;            /* without the run */
	usec_t load_time;                /* wall: when it was said; 0: not yet */
	const char *hidden; /* READY is passed on as UNREADY, for this reason; NULL: it is not */

	usec_t ready_time;  /* wall: READY first; 0: not yet */
	usec_t ready_us;    /* of the times READY that are over */
	usec_t ready_since; /* mono; 0: it is not READY */

	enum replica_health told; /* what was passed on last */
	char told_text[REPLICA_TEXT_MAX + 1];
	usec_t told_at;       /* mono */
	usec_t changes_until; /* mono: the changes so far are as many as one a pause until then */
	bool load_new;        /* since it was passed on */
	usec_t load_told_at;  /* mono */
};

/* The run is a replica, and LOADING; `fd`, not blocking, is taken over. */
void replica_init(struct replica *r, int fd);
static inline bool replica_is(const struct replica *r)
{
	return r->health != HEALTH_NONE;
}

/* Read what has come, if it is time. */
void replica_read(struct replica *r, struct clocks now);
/* Take one line, without its newline. False: it makes no sense. */
bool replica_line(struct replica *r, const char *line, size_t len, struct clocks now);
/* What to poll now; -1: nothing. */
int replica_poll_fd(const struct replica *r, usec_t mono);

/* READY is passed on as UNREADY from now on, for this reason (as long as the process); NULL: no
 * more. */
void replica_hide(struct replica *r, const char *why, struct clocks now);

/* Is something to be passed on now? Then it is filled in with replica_fill(), and once that is
 * written, replica_told() says so. */
bool replica_due(const struct replica *r, usec_t mono);
void replica_told(struct replica *r, usec_t mono);
/* When replica_read() or replica_due() may have something to do (mono); INT64_MAX: when something
 * comes. */
usec_t replica_next(const struct replica *r, usec_t mono);

/* Messages of `r`, whose texts they borrow. False: nothing was said of its load. */
void replica_fill(const struct replica *r, Gpusched__Replica *m);
bool replica_fill_load(const struct replica *r, Gpusched__RunLoad *load);
/* At the end of the run: as gprobe said it last, and why gprobe ended it. */
void replica_fill_end(const struct replica *r, usec_t mono, Gpusched__Replica *m);

#endif
