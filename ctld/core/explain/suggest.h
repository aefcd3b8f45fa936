/* suggest.h - the smallest single changes that would start a waiting job now
 *
 * A change is another value of one option of gsubmit; another partition may also come with other
 * GPUs, unless as many of them would do in the present one. Each change is tried as the scheduler
 * itself would do: the changed job goes through the checks of an update (job_checks.h), then decide().
 * A change that would stop another job is not suggested.
 *
 * Kinds of changes, and what makes one of a kind smaller than another:
 *
 *	--gpus of a type it asks for    fewer GPUs less; none less if it asks for several types
 *	--gpus of another type          fewer GPUs less than in its first choice; each type by
 *	                                itself
 *	--gpu-mem                       fewer steps less, with steps as for --mem
 *	--gpu-share                     fewer whole per cent less
 *	--time                          fewer minutes less
 *	--cpus-per-task                 fewer CPUs less
 *	--mem                           fewer steps less: of 1G; of 64M if it asks for 4G or less
 *	--nodes, more                   fewer nodes more for the same GPUs, up to SUGGEST_NODES
 *	--nodes, fewer                  fewer nodes less
 *	--qos, --account                each by itself, as a whole
 *	--partition                     each by itself; if the job does not start there as it is,
 *	                                --gpus of each type with it: fewer GPUs less; not if as
 *	                                many of that type are suggested alone
 *	an option left out              each by itself: --constraint, --nodelist, --exclude,
 *	                                --licenses, --gpu-mem-min, --gpu-link,
 *	                                --tmp, --exclusive
 *
 * No smaller change of the same kind starts the job, and no change of a kind that is reported as
 * tried without success does; test_suggest shows it by trying all. The order between kinds is a
 * choice: less of the same comes before another place.
 *
 * The work is bounded by the questions put to the core, not by time, so that the answer is always
 * the same. If the budget is used up, the answer says so (job_why.cut_short) and claims nothing
 * about kinds that were not finished.
 */
#ifndef CTLD_CORE_SUGGEST_H
#define CTLD_CORE_SUGGEST_H

struct core;
struct job;
struct job_why;

#define SUGGEST_NODES           8 /* further nodes, at most */
#define SUGGEST_MEM_COARSE      4096
#define SUGGEST_MEM_STEP        64
#define SUGGEST_MEM_STEP_COARSE 1024 /* MiB; for requests of more than SUGGEST_MEM_COARSE */

/* Add to *why the changes that would start the job. Afterwards the core is as it was before. */
void suggest(struct core *core, struct job *job, struct job_why *why);

#endif
