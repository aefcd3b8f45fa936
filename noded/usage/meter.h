/* meter.h - what the processes of a run use: CPU time, memory, I/O
 *
 * From its cgroups, of each controller that the run has one of: `cpu.stat`, which every cgroup v2
 * has, `memory.current` and `memory.peak` of v2, `memory.usage_in_bytes` and `max_usage_in_bytes`
 * of v1, which count the page cache of its files too [kernel: admin-guide/cgroup-v2]. What has no
 * cgroup is summed over its processes in /proc, resident memory without cache. I/O is always
 * /proc's: what went to and from storage, of processes that were waited for as their parents'
 * (proc_pid_io(5)).
 *
 * How long it wanted a CPU and got none, other processes having it or its own share being used up:
 * v2's `cpu.pressure` ("some": at least one of its threads waits [kernel: accounting/psi]); where
 * the kernel keeps none, the run delay of its processes' first threads
 * [kernel: scheduler/sched-stats].
 *
 * Whose a process is: it is in the run's cgroup, or a descendant of its shepherd.
 */
#ifndef NODED_METER_H
#define NODED_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct meter {
	bool cpu_known, mem_known;
	uint64_t cpu_us;
	bool wait_known; /* from the cgroup; else a sum over processes that live, which may fall */
	uint64_t wait_us;
	uint64_t mem_kb, mem_peak_kb; /* now, and as the kernel remembers it; 0: it does not */
	uint64_t read_bytes, written_bytes;
};

/* What the cgroups say. `leaf`: of v2, `memory`: of v1's controller; NULL or "": there is none. */
void meter_cgroups(const char *leaf, const char *memory, struct meter *m);

/* Processes in the v2 leaf, sorted. Returns how many; *pids is the caller's, also when 0 (NULL). */
size_t meter_pids(const char *leaf, uint32_t **pids);

/* Add for how long a process has waited for a CPU, unless the cgroup says it. */
void meter_wait(pid_t pid, struct meter *m);

/* Add the I/O of a process to `m`; the second by its open /proc/PID/io. */
void meter_io(pid_t pid, struct meter *m);
void meter_io_of(int fd, struct meter *m);

/* --- all processes there are, looked at piece by piece -----------------------------------------
 */

struct meter_scan;

struct meter_scan *meter_scan_new(void);    /* NULL: /proc cannot be read */
void meter_scan_free(struct meter_scan *s); /* NULL is fine */
/* Look at `n` more. False: that was all. */
bool meter_scan_step(struct meter_scan *s, unsigned n);

/* When all is known: what is below `shepherd`. CPU time and memory are set where they are not
 * known; *pids as meter_pids() has them. */
size_t meter_scan_run(const struct meter_scan *s, pid_t shepherd, struct meter *m, uint32_t **pids);

#endif
