/* usage_loop.h - samples what the running runs use, round after round
 *
 * The result of each run is in run_usage.h.
 */
#ifndef NODED_LAUNCHER_USAGE_LOOP_H
#define NODED_LAUNCHER_USAGE_LOOP_H

#include <stdint.h>

struct launcher;
struct usage_loop;

struct usage_loop *usage_loop_new(struct launcher *l);
void usage_loop_free(struct usage_loop *w); /* NULL is fine */

void usage_loop_started(struct launcher *l); /* a run has started: sample it soon */
void usage_loop_allocated(struct launcher *l, uint64_t gpus); /* a further run holds them now */
void usage_loop_period(struct launcher *l); /* rules.sample_ms, idle_sample_ms may have changed */
void usage_loop_gpus_changed(struct launcher *l);             /* query the GPUs anew */
void usage_loop_hurry(struct launcher *l);                    /* sample shared GPUs now */

#endif
