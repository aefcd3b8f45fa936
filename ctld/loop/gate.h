/* gate.h - nothing leaves before it is on disk
 *
 * Every frame that reports the controller's state is put here with the number of the change after
 * which it was made (core_change()), and goes to its session only when that change has been
 * committed. Frames wait in a line for each user, and in one for all agents, in the order in which
 * they were made: change numbers never decrease, so the frames that are due are always at the head
 * of a line, and frames of one session keep their order. Lines are released by turns: a user's
 * short answer is not behind the thousand frames of another's.
 *
 * A frame may have a part that comes later (a launch, whose signed bytes the store reads with the
 * commit): gate_reserve() keeps its place, gate_fill() brings the bytes, and no frame behind it in
 * its line overtakes it.
 *
 * Pure except for the send function.
 */
#ifndef CTLD_GATE_H
#define CTLD_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gate;
struct gate_slot;

/* Send whole frames to a session, borrowed; the session may be gone. */
typedef void gate_send_fn(void *arg, uint64_t session, const uint8_t *frames, size_t len);

struct gate *gate_new(gate_send_fn *send, void *arg);
void gate_free(struct gate *g); /* what is held is dropped; NULL is fine */

/* The line of a user. All frames of a session are put into the same line. */
#define GATE_AGENTS UINT64_MAX
static inline uint64_t gate_user(uid_t uid)
{
	return (uint64_t)uid + 1;
}

/* Take over whole frames (malloc'd). They are sent at once when `change` is committed and nothing
 * is held before them in their line. */
void gate_put(struct gate *g, uint64_t line, uint64_t session, uint64_t change, uint8_t *frames,
        size_t len);

/* A place in the order whose bytes come with gate_fill(): exactly once, before gate_free() or
 * never. len 0 (frames NULL): nothing is to be sent after all. Filling sends nothing by itself. */
struct gate_slot *gate_reserve(
        struct gate *g, uint64_t line, uint64_t session, uint64_t change);
void gate_fill(struct gate_slot *slot, uint8_t *frames, size_t len);

/* All changes up to `committed` are durable: send what is due, GATE_SLICE frames at most: half of
 * them agents', if there are so many, and GATE_TURN of each user in turn. Returns whether there
 * is more: release again, after others have had their turn. Never goes back. */
#define GATE_SLICE 128 /* some 10 us each */
#define GATE_TURN  16
bool gate_release(struct gate *g, uint64_t committed);
uint64_t gate_committed(const struct gate *g);

struct gate_stats {
	size_t held, held_bytes, max_held; /* frames and bytes waiting now; the most ever */
	uint64_t sent, sent_bytes, sent_at_once;
};
void gate_stats(const struct gate *g, struct gate_stats *out);

#endif
