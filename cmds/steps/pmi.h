/* pmi.h - the process management interface of MPI libraries: PMI-1 and PMI-2 on the wire
 *
 * A task writes questions to the descriptor PMI_FD and reads their answers. PMI-1 are lines
 * ("cmd=put kvsname=.. key=.. value=..\n"), PMI-2 messages "LENGTH cmd=..;key=..;value=..;" with
 * six digits of length; the first line of both is PMI-1's "cmd=init". All that tasks put is kept
 * here, once a step, and answered from here: what a task has put can be read once all of them have
 * met in a fence (barrier_in).
 *
 * Pure: questions in, answers out.
 */
#ifndef CMDS_STEPS_PMI_H
#define CMDS_STEPS_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI_KEYS_MAX                                                                 \
	262144 /* of one step; PMI-1's and PMI-2's limits a key and a value hold too \
	        */

struct pmi;

/* `rank`: the node of each task; borrowed as long as it lives. */
struct pmi *pmi_new(uint32_t tasks, const uint32_t *rank, const char *name);
void pmi_free(struct pmi *p); /* NULL is fine */

typedef void pmi_answer_fn(void *arg, uint32_t task, const void *data, size_t len);

/* One question as the task wrote it. Answers may go to other tasks, too. */
void pmi_ask(struct pmi *p, uint32_t task, const uint8_t *data, size_t len, pmi_answer_fn *answer,
        void *arg);

bool pmi_is_aborted(const struct pmi *p); /* a task asked for that */

/* PMI_process_mapping of tasks on nodes: "(vector,(0,2,4))". The caller frees it. */
char *pmi_mapping(const uint32_t *rank, uint32_t tasks);

#endif
