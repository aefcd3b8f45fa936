/* gpu_job_files.h - which jobs are on which GPU, in files for dcgm-exporter (gnoded --gpu-jobs)
 *
 * NVIDIA's exporter labels the metrics of a GPU with the jobs that it finds in a folder, given as
 * its --hpc-job-mapping-dir. A file is named as the GPU, by NVML's index ("0"), or as the MIG
 * instance ("0.3", with the number of the GPU instance), and has a job's id in each line.
 *
 * Each slot of the node has its file, and each file has a line: the line of a free slot is empty,
 * and becomes an empty label, which Prometheus treats as none. Releases of the exporter differ in
 * how they treat a file without a line; some then report nothing at all of its GPU. The file is not
 * removed either, because the exporter gives up its whole answer if a file vanishes while it reads
 * the folder. Each is replaced as a whole, by renaming, when its jobs have changed; all of them are
 * written anew after each probe of the GPUs, thus also after a start of the launcher. Other files
 * that are named like GPUs are removed.
 *
 * The folder must be the launcher's own (root's) and writable for no other user, and no symbolic
 * link; else nothing is written. It is made if it does not exist. It must be local, because a write
 * that blocks there would block the launcher.
 */
#ifndef NODED_GPU_JOB_FILES_H
#define NODED_GPU_JOB_FILES_H

#include <stdbool.h>

struct gpu_job_files;
struct launcher;

/* NULL: the site does not want them. */
struct gpu_job_files *gpu_job_files_new(struct launcher *l);
void gpu_job_files_free(struct gpu_job_files *f); /* NULL is fine */

/* Runs have received or released GPUs: write the changed files soon. `all`: write all files. */
void gpu_job_files_changed(struct launcher *l, bool all);

#endif
