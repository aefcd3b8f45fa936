/* suggest.h - the smallest single changes that would start a waiting job now
 *
 * A change is another value of one option of gsubmit; of another partition also with other GPUs,
 * unless as many of them would do where it is. Each is tried as the scheduler itself would: the job
 * with the change goes through the checks of an update (intake.h), then decide(). Nothing is
 * suggested that would stop somebody else.
 *
 * Kinds of changes, and what makes one of a kind smaller than another:
 *
 *	--gpus of a type it asks for    fewer GPUs less; none less if it asks for several types
 *	--gpus of another type          fewer GPUs less than it likes best; each type for itself
 *	--gpu-mem                       fewer steps less, as of --mem
 *	--gpu-share                     fewer whole per cent less
 *	--time                          fewer minutes less
 *	--cpus-per-task                 fewer CPUs less
 *	--mem                           fewer steps less: of 1G; of 64M where it asks for 4G or less
 *	--nodes, more                   fewer nodes more for the same GPUs, up to SUGGEST_NODES
 *	--nodes, fewer                  fewer nodes less
 *	--qos, --account                each for itself, as a whole
 *	--partition                     each for itself; where it does not start as it is, --gpus of
 *	                                each type with it: fewer GPUs less; not if as many of
 *	                                that type are suggested alone
 *	an option left out              each for itself: --constraint, --nodelist, --exclude,
 *	                                --licenses, --gpu-mem-min, --gpu-link,
 *	                                --exclusive
 *
 * No smaller change of the same kind starts the job, and none of a kind that is said to have been
 * tried without success; test_suggest shows it by trying all. Between kinds the order is one of
 * taste: fewer of the same comes before another place.
 *
 * The work is bounded by what is asked of the core, not by time, so that the answer is always the
 * same. Where that is spent the answer says so (job_why.cut_short), and claims nothing of the kinds
 * it did not finish.
 */
#ifndef CTLD_CORE_SUGGEST_H
#define CTLD_CORE_SUGGEST_H

#include "ctld/core/internal.h"

#define SUGGEST_NODES           8 /* more, at most */
#define SUGGEST_MEM_COARSE      4096
#define SUGGEST_MEM_STEP        64
#define SUGGEST_MEM_STEP_COARSE 1024 /* of more than SUGGEST_MEM_COARSE */

/* Add to *why what would start the job. The core is as it was afterwards. */
void suggest(struct core *core, struct job *job, struct job_why *why);

#endif
