/* gate.h - nothing leaves before it is on disk
 *
 * Every frame that tells anybody anything of the controller's state is put here with the number of
 * the change it was born under (core_change()), and goes to its session only when that change has
 * been committed. All sessions share one queue, in order of birth: changes never go back, so what
 * is due is always at its head, and frames of one session keep their order.
 *
 * A frame may have a part that comes later (a launch, whose signed bytes the store reads with the
 * commit): gate_reserve() keeps its place, gate_fill() brings the bytes, and nothing behind it
 * overtakes it.
 *
 * Pure but for the send function.
 */
#ifndef CTLD_GATE_H
#define CTLD_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate;
struct gate_slot;

/* Send whole frames to a session, borrowed; the session may be gone. */
typedef void gate_send_fn(void *arg, uint64_t session, const uint8_t *frames, size_t len);

struct gate *gate_new(gate_send_fn *send, void *arg);
void gate_free(struct gate *g); /* what is held is dropped; NULL is fine */

/* Take over whole frames (malloc'd). They are sent at once when `change` is committed and nothing
 * is held before them. */
void gate_put(struct gate *g, uint64_t session, uint64_t change, uint8_t *frames, size_t len);

/* A place in the order whose bytes come with gate_fill(): exactly once, before gate_free() or
 * never. len 0 (frames NULL): nothing is to be sent after all. Filling sends nothing by itself. */
struct gate_slot *gate_reserve(struct gate *g, uint64_t session, uint64_t change);
void gate_fill(struct gate_slot *slot, uint8_t *frames, size_t len);

/* All changes up to `committed` are durable: send what is due, GATE_SLICE frames at most. Returns
 * whether there is more: release again, after others have had their turn. Never goes back. */
#define GATE_SLICE 128 /* some 10 us each */
bool gate_release(struct gate *g, uint64_t committed);
uint64_t gate_committed(const struct gate *g);

struct gate_stats {
	size_t held, held_bytes, max_held; /* frames and bytes waiting now; the most ever */
	uint64_t sent, sent_bytes, sent_at_once;
};
void gate_stats(const struct gate *g, struct gate_stats *out);

#endif
