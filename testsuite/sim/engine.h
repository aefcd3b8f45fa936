/* engine.h - virtual time, chance from a seed, and a network that cannot be trusted
 *
 * The ground under the fault simulation: a queue of things that will happen, a generator of random
 * numbers that only the seed decides, and links between the controller and the nodes. Nothing here
 * knows what is simulated. One seed is one history: engine_trace() mixes everything that happens
 * into a number, and the same seed must give the same number.
 */
#ifndef TESTSUITE_SIM_ENGINE_H
#define TESTSUITE_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

#define MS  ((usec_t)1000)
#define SEC ((usec_t)1000000)

struct engine;

struct engine *engine_new(uint64_t seed);
void engine_free(struct engine *e);

/* --- time ------------------------------------------------------------------------------------ */

/* Both clocks now. The wall clock jumps when engine_jump() says so; mono never does. */
struct clocks engine_now(const struct engine *e);
void engine_jump(struct engine *e, usec_t by);

/* Call fn(arg, &own) `after` from now. Equal times happen in the order in which they were asked
 * for. `own` (may be NULL) is malloc'ed and taken over: freed after the call, or with the engine;
 * fn keeps it by setting *own to NULL. */
typedef void engine_fn(void *arg, void **own);
void engine_at(struct engine *e, usec_t after, engine_fn *fn, void *arg, void *own);

/* Let things happen until `until` (mono). Returns how many did. */
uint64_t engine_run(struct engine *e, usec_t until);

/* --- chance ---------------------------------------------------------------------------------- */

uint64_t engine_random(struct engine *e);
uint64_t engine_below(struct engine *e, uint64_t n); /* 0..n-1; n > 0 */
bool engine_chance(struct engine *e, unsigned per_million);
usec_t engine_between(struct engine *e, usec_t low, usec_t high);

/* Mix something that happened into the trace. */
void engine_trace(struct engine *e, const void *p, size_t n);
uint64_t engine_trace_hash(const struct engine *e);

/* --- links ----------------------------------------------------------------------------------- */

/* A link is one session: an ordered stream of messages each way, which ends by breaking. When it
 * breaks, what was under way may be lost, and each end learns of it at a moment of its own. A
 * message may come late, and (harsher than TCP) twice. */
enum side { SIDE_CONTROLLER, SIDE_NODE };

struct link_ops {
	/* A message for this side. Borrowed until return. */
	void (*message)(void *owner, uint64_t link, int type, const void *bytes, size_t n);
	void (*gone)(void *owner, uint64_t link);
};

struct link_faults {
	usec_t delay_low, delay_high; /* of each message */
	unsigned twice_ppm;           /* chance that a message comes twice */
	unsigned break_ppm;           /* chance, at each message, that the link breaks */
};

/* Open a link; its number is never 0 and never used again. */
uint64_t link_open(struct engine *e, const struct link_faults *faults,
        const struct link_ops *ops[2], void *owners[2]);
/* Send from `side`; the bytes are copied. A broken link swallows them. */
void link_send(
        struct engine *e, uint64_t link, enum side side, int type, const void *bytes, size_t n);
/* Break it: what is under way is lost from a random point on; ends that are still there are told,
 * at some time within `within`. */
void link_break(struct engine *e, uint64_t link, usec_t within);
/* This end has died (crash): it is told nothing more; the other end is, some time within `within`.
 */
void link_drop_end(struct engine *e, uint64_t link, enum side side, usec_t within);
/* Neither broken, nor an end gone, nor held back. */
bool link_flows(const struct engine *e, uint64_t link);
/* Hold everything on this link back for so long (a partition). */
void link_stall(struct engine *e, uint64_t link, usec_t how_long);

#endif
