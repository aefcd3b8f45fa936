/* checker.h - did the cluster keep its promises?
 *
 * The one judge of all tests: the fault simulation calls it directly, the tests with real daemons
 * write a journal of facts and run the program `checker` on it. Facts come from the two ends that
 * know: what clients were told (submit, cancel, state) and what really happened on the nodes, from
 * the shepherds' own records (start, end, reboot, left). The controller's word about itself counts
 * for nothing.
 *
 * Judged, each with its number:
 *	I1  an acknowledged submit or cancel is never forgotten
 *	I2  job ids never repeat: one id, one (uid, token)
 *	I3  a run (job, task, attempt, rank) starts at most once anywhere, and at most one attempt
 *	    of a task lives at a time
 *	I4  no GPU is held by two runs at one instant, unless they share it: then nobody has all of
 *	    it, and no more of its compute and memory is given than it has
 *	I5  terminal states are final, unless a client asked for a requeue: once for each such
 *	I6  the GPU time the controller accounts for a run is what the node's clock measured
 *	I7  a reported exit status is the true one: of rank 0, or of a rank that failed
 *	I8  after the end, the cancel or the time limit nothing of a run is left
 *	I9  once faults stop, every job that fits has ended
 *	I12 no agent starts a run under a lower epoch than it has seen
 *	I14 an attempt is whole: its ranks agree on how many they are, each has a node of its own,
 *	    and a job is COMPLETED only when every one of them ran and ended well
 *
 *	I15 a job is shown as SUSPENDED only when a client asked for that, and every rank of that
 *	    attempt that lives was stopped before
 *
 *	I16 a job that waits for others starts only when they have started or ended as they must,
 *	    does start then, and else ends or waits for ever, as its owner wants it; of those of one
 *	    name of which one is to run at a time no two do
 *	I17 of an array no more tasks run at a time than its owner said, and none that it has not
 *	I18 a job has no more attempts than its owner signed; after an end from which it is to come
 *	    back it does, and not too soon
 *	I19 what ran was promised to somebody: of a bulk that was refused or lost nothing runs
 *	I20 no job starts before its time, and none misses a deadline that it has not
 *	I21 on a GPU, or a node, that was taken out of use because something is wrong with it no run
 *	    starts until it is well again or an operator says so; but where jobs are to go on there
 *	    one may that was ordered before, and waited for memory that was lent (I25)
 *	I22 what ran on such a GPU was told to end by then if the site wants that; for that reason
 *	    no other run is told to end. The job of such a run need not come back (I18, I25)
 *	I23 once faults stop, every GPU is given to jobs again
 *
 *	I24 a node and a controller that hear each other agree: what the one has booked there, what
 *	    the agent has to tell of, and what lives there are the same runs, and where they are not
 *	    that is over within two heartbeats (of its beginning, or of when they began to hear)
 *
 *	I25 what was borrowed of a GPU's memory is there when it is needed: no run starts while its
 *	    part is lent. Asked to give back is only who has a burst and has borrowed of what others
 *	    need, ended for it only who was asked; his job waits again or is PREEMPTED, as
 *	    its partition and its owner say, and nobody else is. Every run has its job's burst
 *
 *	I26 nothing is ordered to start under a signature that is too old
 *
 *	I27 every answer fits its frame (answers.h, not this checker)
 *	I28 a controller that was restored from a backup accounts for all time of the runs that
 *	    nodes knew of then, but those that the lost controller had told them to forget. What was promised since the backup it cannot keep: I1, I3, I5, I7,
 *	    I9, I14 to I20, I29 and I30 are not judged from the restore on
 *
 *	I29 a step whose end was answered is kept from then on, as its owner reported it, and in the
 *	    end once in history.db. What else is kept of a step is that it ended as CANCELLED with
 *	    its attempt, of which nothing runs any more; that may become what its owner reported,
 *	    never the other way round. A step that ran when its attempt ended is kept too
 *	I30 listed as running are only steps that their owner has reported for that attempt, that
 *	    attempt is not over, and their end was not answered
 *	I31 no step is listed or kept whose number is controller.max_steps or more
 *
 *	I32 when a replica of a service is ordered, no more of it are ordered and not over than are
 *	    wanted, and the surge; not counted are those on nodes that are unknown, and
 *	    of generations that were given up
 *	I33 an endpoint is no replica that is not committed, that is to end, or that is over
 *	I34 for a service's own reasons, or for a job of a higher QOS where its guarantee covers what
 *	    it keeps, no READY replica is ended so that fewer than it keeps are
 *	    READY (or than are wanted, where that is less); without a surge, one fewer than wanted
 *	    where it keeps all of them. An undo its owner has asked for
 *	I35 a slot of a service has no two replicas
 *	I36 a service is there from the answer to its submit until it is stopped. When it is gone
 *	    nothing of it lives, and its name is free
 *
 * The journal: one fact a line, words separated by blanks, '#' starts a comment. Times are
 * microseconds of one monotonic clock, non-decreasing over `start`, `end`, `reboot` of one node.
 *
 *	submit JOB UID TOKEN             a client was told this id
 *	array JOB TASKS N                it is an array of these tasks, "0-9:2,12", N at a time
 *					 (0: any number)
 *	throttle JOB N                   a client asks for N at a time
 *	waits JOB TYPE OTHER             a client submitted it with such a dependency; OTHER may
 *					 be a task, 12_3
 *	any JOB                          one of these is enough
 *	stays JOB                        it is to wait when they can never come true, not to end
 *	alone JOB NAME                   it is a singleton, of that name
 *	attempts JOB N                   so many may be started
 *	comeback JOB LOW HIGH DELAY      it runs again after these exit codes; DELAY, then twice
 *					 that
 *	begin JOB TIME                   not before that
 *	deadline JOB                     it has one
 *	kill JOB, suspend JOB            a client asks that it be cancelled, suspended; of JOB_TASK
 *					 that task
 *	again JOB			 a client asks that it be requeued, also if it has ended
 *	cancel JOB                       a client was told that it was cancelled; of JOB_TASK
 *					 likewise
 *	state JOB STATE CODE SIGNAL ATTEMPT
 *	                                 a client was shown this; of an array JOB_TASK
 *	unknown JOB                      a client was told that there is no such job
 *	retired JOB                      JOB ended long enough ago: it may be unknown from now on
 *	start JOB TASK ATTEMPT RANK NODES NODE EPOCH GPUS TIME
 *	                                 a shepherd started it, one of NODES; GPUS is hex
 *	end JOB TASK ATTEMPT RANK NODE CODE SIGNAL TIME    a shepherd saw it end, all of it
 *	stop JOB TASK ATTEMPT RANK       all of it was stopped, whatever became of it then
 *	gone JOB TASK ATTEMPT RANK NODE TIME
 *	                                 nothing is left of it; how it ended is not known
 *	share JOB TASK ATTEMPT RANK MILLI MIB BURST
 *	                                 before its start: so much of each of its GPUs, no more; of
 *					 its memory up to BURST (0: MIB) while nobody else needs it
 *	burst JOB MIB                    a client submitted it with that burst
 *	needs JOB TASK ATTEMPT RANK NODE GPUS MIB
 *					 it was ordered and is started once that is there
 *	waived JOB TASK ATTEMPT RANK	 that is not to be any more
 *	uses JOB TASK ATTEMPT RANK MIB	 so much of the memory of each of its GPUs
 *	asked JOB TASK ATTEMPT RANK	 to give back; excused ...: it need not any more
 *	reclaimed JOB TASK ATTEMPT RANK	 before its end: that is because it did not
 *	reclaims MODE			 the partition's: off, requeue, cancel
 *	stale JOB TASK ATTEMPT RANK	 an order of it came, and its owner had to sign anew
 *	lent JOB STATE ATTEMPT		 a client was shown it so with the reason GpuBurst
 *	card NODE GPU MIB                so much of that GPU's memory can be shared
 *	apart NODE                       runs of different users share no GPU there
 *	health NODE WORD                 what becomes of the jobs on a GPU that is taken out of use:
 *					 run, requeue, end
 *	fault NODE GPUS                  something happened that takes these out of use (hex)
 *	drained NODE GPUS, closed NODE   the node heard that the controller has done so; all of it
 *	returned NODE GPUS, opened NODE  they may be in use again
 *	told JOB TASK ATTEMPT RANK WHY   the node was told to end it; "drain": for such a fault
 *	kept NODE GPUS                   faults have stopped, and they are out of use all the same
 *	reboot NODE TIME                 the node went down: what ran there is dead
 *	usage JOB TASK ATTEMPT RANK ELAPSED
 *	                                 what the controller accounts, microseconds
 *	copied                           a backup was made: what is billed so far is in it
 *	restored                         the controller has its state from that backup
 *	owed JOB TASK ATTEMPT RANK       a node had it to tell of then
 *	unowed JOB TASK ATTEMPT RANK     not any more: the lost controller's word that its end is
 *					 in the database, and can be forgotten, was under way
 *	billed JOB TASK ATTEMPT RANK ELAPSED
 *	                                 its end is on its way to the database, with that time
 *	heartbeat USEC                   how often nodes say that they are there
 *	contact NODE TIME, parted NODE   from now on the controller and it hear each other; no more
 *	books JOB TASK ATTEMPT RANK NODE the controller has it booked there
 *	tells JOB TASK ATTEMPT RANK NODE the agent has it, or an end of it that was not yet
 *					 forgotten
 *	looked NODE TIME                 those since the last `looked` were all of this node
 *	maxsteps N			 controller.max_steps
 *	begun				 the controller has started: it knows of no step that runs
 *	step JOB TASK ATTEMPT STEP	 its owner reports that it runs
 *	stepruns JOB TASK ATTEMPT STEP	 and was answered that this was taken
 *	stepends JOB TASK ATTEMPT STEP STATE CODE SIGNAL LOOKS
 *					 its owner reports how it has ended; LOOKS is hex, a sum of
 *					 its name and its numbers
 *	stepdone JOB TASK ATTEMPT STEP	 and was answered that this was taken
 *	lists JOB TASK ATTEMPT STEP	 the controller lists it as running
 *	keptstep FILE JOB TASK ATTEMPT STEP STATE CODE SIGNAL LOOKS
 *					 a row of it; FILE is "history" or "state", for their .db
 *	counted				 those since the last `counted` were all
 *	service NAME JOB		 a client was told that JOB is a generation of it
 *	endservice NAME			 a client asks that it be stopped
 *	noservice NAME			 a client was told that there is none; takenservice: and then
 *					 that there is
 *	isservice NAME WANTED SURGE KEPT the controller has it
 *	generation NAME JOB		 and this as a generation of it
 *	sheds JOB TASK ATTEMPT		 it ends a READY replica, to have fewer or others, or for a
 *					 job of a higher QOS
 *	slot JOB TASK ATTEMPT LOST READY it has it as ordered and not over; 1: its node is unknown;
 *					 READY, and it is not to end
 *	slots				 those since the last `slots` were all services, and slots
 *	keptrun JOB TASK ATTEMPT ENDING OVER
 *					 committed; 1: it is to end; it is over
 *	serves JOB TASK ATTEMPT		 the controller lists it as an endpoint
 *	left JOB TASK ATTEMPT RANK       a process of it was found after its end
 *	quiet                            faults have stopped and the cluster had its time
 */
#ifndef TESTSUITE_SIM_CHECKER_H
#define TESTSUITE_SIM_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/error.h"

struct checker;

struct checker *checker_new(void);
void checker_free(struct checker *c); /* NULL is fine */

/* Take one fact. -1 with ERR_USAGE: the line cannot be understood. */
int checker_fact(struct checker *c, const char *line, struct error *err);

/* The same, formatted: the fault simulation's way. A malformed fact is the test's bug and aborts.
 */
void checker_say(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* How many violations so far, and their texts to `out` (may be NULL), each with the fact's number.
 */
size_t checker_violations(const struct checker *c);
void checker_print(const struct checker *c, FILE *out);
size_t checker_facts(const struct checker *c);
size_t checker_looks(const struct checker *c);     /* at a node that has heard for two heartbeats */
size_t checker_owed(const struct checker *c);      /* runs that were judged by I28 */
size_t checker_endpoints(const struct checker *c); /* times that one was listed */
size_t checker_stops(const struct checker *c);     /* runs that were suspended */
size_t checker_parts(const struct checker *c);     /* that had parts of GPUs */
size_t checker_asked(const struct checker *c);     /* runs, to give back what they had borrowed */
size_t checker_reclaimed(const struct checker *c); /* that were ended because they did not */
struct checker_steps {
	size_t listed; /* times that one was seen in a list */
	size_t done;   /* whose end was answered */
	size_t cut;    /* that ended with their attempt, and of which no more was heard */
	size_t late;   /* of which more was heard then */
};
struct checker_steps checker_steps(const struct checker *c);
/* Attempts on several nodes: of which all ranks were started; of which only some were. */
size_t checker_gangs(const struct checker *c, bool whole);

#endif
