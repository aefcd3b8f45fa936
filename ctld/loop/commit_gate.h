/* commit_gate.h - nothing leaves before it is on disk
 *
 * Every frame that reports the controller's state is put here with the number of the change after
 * which it was made (core_change()), and goes to its session only when that change has been
 * committed. Frames wait in a line for each user, and in one for all agents, in the order in which
 * they were made: change numbers never decrease, so the frames that are due are always at the head
 * of a line, and frames of one session keep their order. Lines are released by turns: a user's
 * short answer is not behind the thousand frames of another's.
 *
 * A frame may have a part that comes later (a launch, whose signed bytes the store reads with the
 * commit): commit_gate_reserve() keeps its place, commit_gate_fill() brings the bytes, and no frame
 * behind it in its line overtakes it.
 *
 * Pure except for the send function.
 */
#ifndef CTLD_COMMIT_GATE_H
#define CTLD_COMMIT_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct commit_gate;
struct commit_gate_slot;

/* Send whole frames to a session, borrowed; the session may be gone. */
typedef void commit_gate_send_fn(void *arg, uint64_t session, const uint8_t *frames, size_t len);

struct commit_gate *commit_gate_new(commit_gate_send_fn *send, void *arg);
void commit_gate_free(struct commit_gate *g); /* what is held is dropped; NULL is fine */

/* The line of a user. All frames of a session are put into the same line. */
#define COMMIT_GATE_AGENTS UINT64_MAX
static inline uint64_t commit_gate_user(uid_t uid)
{
	return (uint64_t)uid + 1;
}

/* Take over whole frames (malloc'd). They are sent at once when `change` is committed and nothing
 * is held before them in their line. */
void commit_gate_put(struct commit_gate *g, uint64_t line, uint64_t session, uint64_t change,
        uint8_t *frames, size_t len);

/* A place in the order whose bytes come with commit_gate_fill(): exactly once, before
 * commit_gate_free() or never. len 0 (frames NULL): nothing is to be sent after all. Filling sends
 * nothing by itself. */
struct commit_gate_slot *commit_gate_reserve(
        struct commit_gate *g, uint64_t line, uint64_t session, uint64_t change);
void commit_gate_fill(struct commit_gate_slot *slot, uint8_t *frames, size_t len);

/* All changes up to `committed` are durable: send what is due, COMMIT_GATE_SLICE frames at most:
 * half of them agents', if there are so many, and COMMIT_GATE_TURN of each user in turn. Returns
 * whether there is more: release again, after others have had their turn. Never goes back. */
#define COMMIT_GATE_SLICE 128 /* some 10 us each */
#define COMMIT_GATE_TURN  16
bool commit_gate_release(struct commit_gate *g, uint64_t committed);
uint64_t commit_gate_committed(const struct commit_gate *g);

struct commit_gate_stats {
	size_t held, held_bytes, max_held; /* frames and bytes waiting now; the most ever */
	uint64_t sent, sent_bytes, sent_at_once;
};
void commit_gate_stats(const struct commit_gate *g, struct commit_gate_stats *out);

#endif
