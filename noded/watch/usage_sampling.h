/* usage_sampling.h - samples what the running runs use, round after round
 *
 * The result of each run is in run_usage.h.
 */
#ifndef NODED_USAGE_SAMPLING_H
#define NODED_USAGE_SAMPLING_H

#include <stdint.h>

struct launcher;
struct usage_sampling;

struct usage_sampling *usage_sampling_new(struct launcher *l);
void usage_sampling_free(struct usage_sampling *w); /* NULL is fine */

void usage_sampling_started(struct launcher *l); /* a run has started: sample it soon */
void usage_sampling_allocated(struct launcher *l, uint64_t gpus); /* a further run holds them now */
void usage_sampling_period(struct launcher *l); /* sample_ms, idle_sample_ms may have changed */
void usage_sampling_gpus_changed(struct launcher *l); /* query the GPUs anew */
void usage_sampling_hurry(struct launcher *l);        /* sample shared GPUs now */

#endif
