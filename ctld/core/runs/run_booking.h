/* run_booking.h - what a run has on its node is booked from its order until it is over
 *
 * The ledger, the node's list of runs, the meter of the bill and the scheduler follow together.
 * What is booked (`booked`) may be less than what the run has, because each GPU is booked once: an
 * orphan run may sit on a GPU that was given to another run meanwhile, and books it when that one
 * ends.
 */
#ifndef CTLD_CORE_RUN_BOOKING_H
#define CTLD_CORE_RUN_BOOKING_H

struct core;
struct node;
struct place;
struct run;

void run_book(struct core *core, struct run *run, struct node *node);
/* The run is over; without effect if it is not booked. */
void run_unbook(struct core *core, struct run *run);
/* Book a linked run in a new ledger. */
void run_hold(struct core *core, struct run *run);
/* What is booked for it. */
struct place run_place(const struct run *run);

#endif
