/* inputs.h - everything that goes into the core
 *
 * The core is owned here, and const everywhere else: all calls that change it are made here, so
 * that they can be recorded: each is written down (recorder.h) and then made. Without a recorder
 * they are just made.
 *
 * A call is recorded before it is made: whatever the core dies of is in the file. Every so many
 * events, and no fewer than there are jobs and runs, a mark says what core_hash() is; with more
 * than RECORDER_HASHED of them that would hold up the loop. What each seal gives up is summed
 * always.
 */
#ifndef CTLD_INPUTS_H
#define CTLD_INPUTS_H

#include "ctld/core/core.h"

struct ctld;
struct inputs;

/* `path` NULL: nothing is recorded. `marks`: a mark after so many events. */
struct inputs *inputs_new(const char *path, uint64_t marks, struct error *err);
/* The core has seen its last call: a mark, and the end; it is freed too. NULL is fine. */
void inputs_free(struct inputs *in);

uint64_t inputs_bytes(const struct inputs *in); /* of the record, by this process */

/* The calls of core.h; inputs_core_new() sets c->core. */
void inputs_core_new(struct ctld *c, uint64_t seed);
int inputs_load(struct ctld *c, const struct row *row, struct error *err);
int inputs_start(struct ctld *c, struct clocks now, struct error *err);
void inputs_takeover(struct ctld *c, uint64_t epoch_above, uint64_t job_above);
void inputs_apply(struct ctld *c, const struct core_event *event, struct clocks now);
bool inputs_schedule(struct ctld *c, struct clocks now, unsigned budget);
void inputs_reconfigure(struct ctld *c, struct clocks now); /* to c->conf */
bool inputs_why(struct ctld *c, uint64_t ref, struct clocks now, struct job_why *why);
void inputs_effects_clear(struct ctld *c); /* not recorded: it decides nothing */
size_t inputs_seal(struct ctld *c, core_row_sink *sink, void *arg);

/* A tick is over. */
void inputs_tick(struct ctld *c);

/* What conf_print() makes; the caller frees it. */
char *inputs_conf_text(const struct conf *conf);

#endif
