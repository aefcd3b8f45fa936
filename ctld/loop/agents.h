/* agents.h - the sessions of agents: what they report, and the orders they get
 *
 * An agent's session begins with REGISTER; the core answers with the whole wanted set and speaks to
 * that session until it is superseded or gone. Orders are messages like others: held by the gate
 * until the state they follow from is on disk. A launch also needs what its owner signed: at hand
 * (script_cache.h), or read by the store with the commit it waits for anyway.
 */
#ifndef CTLD_AGENTS_H
#define CTLD_AGENTS_H

#include "common/job/run.h"
#include "ctld/core/rows/event.h"

struct ctld;
struct peer;

/* There is another configuration, and the core has it: nodes have other numbers. */
void agents_remap(struct ctld *c);

/* An agent's session has ended. */
void agents_gone(struct ctld *c, const struct peer *peer, struct clocks now);

/* --- effects ------------------------------------------------------------------------------- */
void agents_registered(struct ctld *c, const struct effect *effect, struct clocks now);
void agents_close(struct ctld *c, const struct effect *effect, struct clocks now);
void agents_start_run(struct ctld *c, const struct effect *effect, struct clocks now);
/* EFFECT_END_RUN, SIGNAL_RUN, SUSPEND_RUN, FORGET_RUN, ACK_GPUS, CHECK_GPUS */
void agents_order(struct ctld *c, const struct effect *effect, struct clocks now);

#endif
