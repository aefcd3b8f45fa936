/* suspend_run.c - suspends a run: stops all its processes and its time limit; see
 * shepherd_impl.h
 *
 * A run that is to end must be able to react, so it is not kept suspended.
 */
#include "config.h"

#include "noded/shepherd/shepherd_impl.h"

/* until processes that do not stop at once are checked again */
#define HOLD_RETRY ((usec_t)20000)
/* the same for stopped processes, which a user may continue */
#define HOLD_AGAIN ((usec_t)1000000)

static void hold(struct shepherd *s, usec_t now)
{
	bool all;

	if (s->held && now < s->hold_next)
		return;
	s->holding = true;
	all = contain_suspend(s->leaf);
	s->hold_next = now + (all ? HOLD_AGAIN : HOLD_RETRY);
	if (!all || s->held)
		return;
	s->held = now;
	deadline_pause(&s->ending, now);
	shepherd_tell_notes(s, now);
}

static void release(struct shepherd *s, usec_t now)
{
	contain_resume(s->leaf);
	s->holding = false;
	if (!s->held)
		return;
	s->held_us += now - s->held;
	s->held = 0;
	deadline_resume(&s->ending, now);
	shepherd_tell_notes(s, now);
}

void shepherd_suspend_or_resume(struct shepherd *s, usec_t now)
{
	if (s->hold && s->ending.phase == DEADLINE_RUNNING)
		hold(s, now);
	else if (s->holding)
		release(s, now);
}
