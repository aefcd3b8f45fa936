/* service_avoid.h - nodes on which replicas of a service do badly
 *
 * Noted with the service are the last nodes on which a replica has become unready or has failed
 * before it was READY. What then comes of it is decided in services/avoid.h. Not durable.
 */
#ifndef CTLD_CORE_SERVICE_AVOID_H
#define CTLD_CORE_SERVICE_AVOID_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/core/rows/event.h"

struct service;

#define SERVICE_AVOIDS_MAX 16  /* then the oldest is forgotten */
#define SERVICE_AVOID_AT   2   /* times in a row */
#define SERVICE_AVOID_S    3600
#define SERVICE_LASTING_S  600 /* so long READY, and what was before counts no more */

struct service_avoid {
	char *node;       /* its name; owned */
	uint32_t times;   /* in a row */
	usec_t until;     /* mono: it is avoided until then; 0: it is not */
	bool said;        /* there is an event about it */
};

/* A replica was unready there, after it had been READY since `ready_since` (mono; 0: it never was). */
void service_note_unready(
        struct service *s, const char *node, usec_t ready_since, usec_t mono);
void service_forget_avoids(struct service *s);

#endif
