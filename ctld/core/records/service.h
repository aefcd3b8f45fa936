/* service.h - a service: a name over generations of replicas
 *
 * Each generation is an array job, whose tasks are the slots in which replicas run (job.h). The
 * service says how many replicas are wanted; which slots start is the scheduler's affair. An update
 * adds the next generation beside the present one; when its replicas have taken over, it is the
 * present one, and the one before stays without replicas, so that an undo needs no new signature.
 *
 * `struct service_info` holds the durable fields. Only the movers here write them, and each puts
 * the service on the dirty list. `struct service_link` is volatile. Services are owned by
 * `struct services` and live until services_remove().
 */
#ifndef CTLD_CORE_SERVICE_H
#define CTLD_CORE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/row.h"
#include "ctld/core/rows/service_policy.h"

struct budget;
struct job;
struct scaler;
struct service;
struct services;
struct strings;

#define SERVICE_NAME_MAX     63
#define SERVICE_REPLICAS_MAX 1000
#define SERVICE_SPEC_MAX     4096 /* bytes of a serialised ServiceSpec */

/* PRESENT serves. NEXT is being rolled out. UNDO was present before. LEAVING was
 * given up, and its replicas drain: they count until they have ended. job 0: there is none. */
enum generation_role { GEN_PRESENT, GEN_NEXT, GEN_UNDO, GEN_LEAVING, GEN_COUNT };

struct generation {
	uint64_t job;
	uint32_t number;
	uint32_t slots;      /* tasks of its job, from 0 on */
	uint32_t drain_s;    /* a replica that is to end has so long for what is in flight */
	uint32_t valid_days; /* of its signature */
	const char *spec;    /* kept: a serialised ServiceSpec in hexadecimal, for people */
};

struct service_info {
	const char *name, *user, *account, *burst_qos; /* kept */
	uint32_t uid;
	uint32_t wanted;   /* replicas */
	bool paused;       /* wanted is 0 whatever the load is */
	bool stopping;     /* its jobs are being ended, and then it is gone */
	struct service_policy policy;
	struct generation gens[GEN_COUNT];
	uint32_t last_number; /* the highest number of a generation */
	usec_t submit_time;
	const char *decision; /* kept: why so many are wanted, with numbers */
	usec_t decision_time; /* wall */
	const char *trouble;  /* kept: why the last update was given up; "": it was not */
	const char *avoids;   /* kept: link.avoids, as a text */
};

#define SERVICE_AVOIDS_MAX 16 /* then the oldest is forgotten */
#define SERVICE_AVOID_AT   2  /* times in a row */
#define SERVICE_AVOID_S    3600 /* since the last time; then the node is forgotten */
#define SERVICE_LASTING_S  600 /* so long READY, and what was before counts no more */

/* A node on which replicas have become unready, or have failed before they were READY. What then
 * comes of it is decided in services/avoid_bad_nodes.h. */
struct service_avoid {
	char *node;     /* its name; owned */
	uint32_t times; /* in a row */
	usec_t until;   /* wall: it is forgotten then */
	bool said;      /* there is an event about it */
};

/* Counted anew at each step (services/services.h). */
struct service_counts {
	uint32_t alive, pending, loading, ready, unready, draining, lost, backing_off;
};

struct service_link {
	struct scaler *scaler;            /* owned */
	struct service_counts counts[GEN_COUNT];
	struct job *jobs[GEN_COUNT];      /* array parents; NULL: there is none */
	double in_flight, waiting, held;  /* of replicas whose load is known; held: by gactivate */
	usec_t held_until;                /* mono: then `held` counts no more */
	usec_t stepped, due;              /* mono: the last step, the next one */
	usec_t answered_since;            /* mono: of the next two */
	uint64_t answered;                /* requests, as of then */
	double answer_rate;               /* a second */
	uint32_t failed_loads;            /* of the next generation, before READY, in a row */
	struct service_avoid avoids[SERVICE_AVOIDS_MAX]; /* durable; noted last: the last */
	uint32_t n_avoids;
	usec_t without_since;             /* mono: since when no replica is alive; 0: one is */
	uint32_t place;                   /* in the heap of services; HEAP_NOWHERE */
	bool listed;                      /* it is on the list of those to step */
	struct service *next_listed;
};

const struct service_info *service_info(const struct service *s);
struct service_link *service_link(struct service *s);
const struct service_link *service_link_of(const struct service *s);

struct services *services_new(struct strings *strings, struct dirty *dirty, struct budget *budget);
void services_free(struct services *all); /* NULL is fine */

struct service *services_find(const struct services *all, const char *name); /* NULL: none */
/* In the order of names; NULL: no more. `after` NULL: the first. */
struct service *services_next(const struct services *all, const char *after);
uint64_t services_hash(const struct services *all);

/* The service is to be looked at soon: something of it has changed. Idempotent. */
void services_touch(struct services *all, struct service *s);
/* The next one of these, which is off the list then; NULL: none. */
struct service *services_take_touched(struct services *all);
bool services_touched(const struct services *all); /* is there any? */
/* The service is to be looked at at that time (mono). INT64_MAX: no longer. */
void services_set_due(struct services *all, struct service *s, usec_t due);
struct service *services_first_due(const struct services *all); /* NULL: none is ever due */

/* How long after its order the end of a replica may take: what is in flight is answered, and a few
 * seconds. 0: the job is of no service. */
uint32_t service_drain_s(const struct job *job);
/* A replica of this array has ended by itself without ever having been READY, or it was READY. */
void service_note_load(struct service *s, const struct job *own, bool failed);
/* A replica was unready on that node, after it had been READY since `ready_since` (mono; 0: it never
 * was). */
void service_note_unready(struct services *all, struct service *s, const char *node,
        usec_t ready_since, struct clocks now);
/* Forgets those whose time is over. */
void service_expire_avoids(struct services *all, struct service *s, usec_t wall);
bool service_avoids(const struct service_avoid *a); /* false: it only counts its failures */
void service_set_said(struct services *all, struct service *s, struct service_avoid *a);
void service_forget_avoids(struct service *s); /* frees them */
char *service_avoids_text(const struct service_link *l); /* the caller frees it */
int service_read_avoids(struct service_link *l, const char *text, struct error *err);

/* --- movers ---------------------------------------------------------------------------------- */

/* Texts are copied. The name must be free. */
struct service *services_add(struct services *all, const struct service_info *info);
/* The next seal deletes the row and frees it; its jobs must have let go of it. */
void services_remove(struct services *all, struct service *s);
void service_set_policy(struct services *all, struct service *s,
        const struct service_policy *policy, const char *burst_qos);
void service_set_wanted(struct services *all, struct service *s, uint32_t wanted,
        const char *decision, usec_t wall);
void service_set_paused(struct services *all, struct service *s, bool paused);
void service_set_stopping(struct services *all, struct service *s);
void service_set_trouble(struct services *all, struct service *s, const char *trouble);
void service_set_avoids(struct services *all, struct service *s); /* link.avoids has changed */
/* Copies the texts; job 0: none is there any more. */
void service_set_generation(struct services *all, struct service *s, enum generation_role role,
        const struct generation *gen);

/* --- rows ------------------------------------------------------------------------------------ */

int services_load(struct services *all, const struct row *row, struct error *err);
void service_encode(const struct service *s, struct row *row, enum row_change change);
void service_free(struct services *all, struct service *s); /* one that was removed */

#endif
