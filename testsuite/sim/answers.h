/* answers.h - every listing that could be asked for now, made and measured: invariant I27 */
#ifndef SIM_ANSWERS_H
#define SIM_ANSWERS_H

#include "common/base/arena.h"
#include "common/conf/conf.h"
#include "ctld/core/core.h"

/* Makes the parts of all listings as gctld does, cut and whole. Returns how many parts fit; aborts at
 * one that does not, with its name and size. */
size_t sim_answers_fit(
        struct core *core, const struct conf *conf, struct clocks now, struct arena *arena);

#endif
