/* imagine.h - a job that is not there, as the scheduler sees one
 *
 * For what is only asked about: a trial submit, or a waiting job that asked for something else. It
 * is as intake_fill() has checked it, and nothing of it is kept; imagined_clear() afterwards.
 */
#ifndef CTLD_CORE_IMAGINE_H
#define CTLD_CORE_IMAGINE_H

#include "ctld/core/internal.h"

struct imagined {
	struct contender who;
	struct class_info info;
	struct gate_path *path;
};
struct intake;
void imagine(struct core *core, const struct intake *t, const char *user, uint64_t id,
        usec_t submit_time, struct imagined *out);
void imagined_clear(struct core *core, struct imagined *im);

#endif
