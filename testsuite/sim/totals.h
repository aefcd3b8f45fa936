/* totals.h - what happened in the histories of the fault simulation, all together */
#ifndef TESTSUITE_SIM_TOTALS_H
#define TESTSUITE_SIM_TOTALS_H

#include "testsuite/sim/client.h"
#include "testsuite/sim/owners.h"
#include "testsuite/sim/step_managers.h"

struct totals {
	struct sim_client_count clients;
	struct step_managers_count steps;
	struct owners_count owners;
	struct checker_steps judged;
	uint64_t faults, facts, looks, owed, endpoints, answers, commits, restarts, simulated_s,
	        whole, in_part, stops, gpus, parts, asked, reclaimed;
};

void totals_print(const struct totals *t, uint64_t first, uint64_t n, long seconds);
/* Has each thing happened that is to be judged? */
bool totals_tell(const struct totals *t);

#endif
