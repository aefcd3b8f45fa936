/* policy_known.h - test_sched_policy: histories that were judged or decided wrongly once */
#ifndef TESTSUITE_UNIT_POLICY_KNOWN_H
#define TESTSUITE_UNIT_POLICY_KNOWN_H

#include <stdint.h>

/* Cases that were wrong once, beyond the first ones. */
static const struct {
	uint64_t seed;
	const char *what;
} known[] = {
	{ 344, "a gang of a range lost its plan when a limit allowed fewer nodes only" },
	{ 356, "a claim on whole nodes that a limit forbids" },
	{ 380, "the limit that closed on whole nodes was not named" },
	{ 382, "an exclusive job waited at a limit and not for smaller nodes" },
	{ 494, "what is told to end still counted as held: too much was reclaimed" },
	{ 495, "nothing is kept for others any more, and nobody was told" },
	{ 551, "as 380" },
	{ 612, "as 380, a gang" },
	{ 645, "a better job passes it, and nobody knows when either can start" },
	{ 727, "as 344" },
	{ 785, "as 356" },
	{ 830, "victims were stopped though a plan would have come true before" },
	{ 911, "as 494" },
	{ 1109, "a reload with another grace while runs are ending" },
	{ 1228, "victims were stopped again and again beside a run that does not end" },
	{ 1868, "victims' own guarantee took the place back that they had to leave" },
	{ 1940, "as 1868" },
	{ 2102, "as 1868" },
	{ 2910, "a plan is passed because others hold more now" },
	{ 3056, "as 380" },
	{ 3568, "an entry of the plan that is passed was not tried again" },
	{ 3867, "as 3568" },
	{ 4316, "as 3568" },
	{ 6027, "as 2910" },
	{ 6944, "as 1868, with whole nodes" },
	{ 10737, "victims for a job that only a limit of its own kept from starting" },
	{ 11863, "equal parts counted for more than the total at a limit" },
	{ 14349, "what was held changed with the last start, and nobody looked" },
	{ 15820, "a plan that its owner's guarantee forbids once others have ended" },
	{ 42, "a claim and a plan before it waited for each other at a limit" },
	{ 1286, "nobody tried again who had left a limit to others until his own time" },
	{ 24365, "as 1228: the victim took the place of a run that does not end" },
	{ 11035, "a total of GPUs on fewer nodes, where a limit on nodes allows no more" },
	{ 8962, "a run is late on the node of a plan when another starts there" },
	{ 30216, "reclaimed from whom others' rights had brought below his guarantee already" },
	{ 30696, "as 30216" },
	{ 35797, "who left a limit to a plan that went, and was held at another, was not woken" },
	{ 33117, "victims for a total that there would have been room for in unequal parts" },
	{ 40649, "as 33117" },
	{ 50840, "as many nodes of a range as a planned start leaves at a limit" },
	{ 52630, "whole nodes with less of what a limit counts were not found" },
	{ 58002, "as 52630" },
	{ 62531, "a job that is released takes the planned start of its class" },
	{ 69088, "nothing is kept but for his own account, and he was not told" },
	{ 75277, "wait groups were compared by keys of different moments" },
	{ 77165, "as 75277" },
	{ 97783, "held by a plan with one GPU type and by a limit with the other, and it rose" },
	{ 123473, "starts planned behind what never ends, at one time on one node" },
	{ 157775, "as 123473" },
	{ 111244, "who waits behind what never ends must get his turn all the same" },
	{ 181815, "who was preempted waits in his class again, and takes its planned start" },
	{ 27647, "within the guarantee only when those of its own cohort have given back" },
	/* GPUs are shared. */
	{ 10000004, "another order leaves too little for an entry, and a run was blamed" },
	{ 10015910,
	        "a GPU of which an overdue run had a part counted as free when the others end" },
	{ 20000696, "users who were mixed before a reload stay so until the GPU is free" },
	{ 10011451, "the plan allows other places when the mix of requests is another" },
	{ 10000374, "who started on a part of a GPU counted its own planned start against itself" },
};

/* The same of those where things happen between two steps of a search for victims. */
static const struct {
	uint64_t seed;
	const char *what;
} known_interrupted[] = {
	{ 347, "victims were stopped on a node that had been drained since it was looked at" },
	{ 5351, "who was searched for stood where he had when others held less" },
	{ 59246, "a job took what was to be lent to a claim, and its victim came back each time" },
};

/* The same of those that were decided otherwise in steps than at once. */
static const struct {
	uint64_t seed;
	const char *what;
} known_in_steps[] = {
	{ 28192, "an entry moved up before the class that had just lost its start was tried" },
};

#endif
