/* cpu_memory_io.h - what the processes of a run use: CPU time, memory, I/O
 *
 * Values come from the run's cgroups, if it has one with the controller: `cpu.stat`, which every
 * cgroup v2 has, `memory.current` and `memory.peak` of v2, `memory.usage_in_bytes` and
 * `max_usage_in_bytes` of v1; these count the page cache of its files too [kernel:
 * admin-guide/cgroup-v2]. Values without a cgroup are summed over its processes in /proc, resident
 * memory without cache. I/O always comes from /proc: bytes to and from storage, where a parent's
 * count includes the children that it has waited for (proc_pid_io(5)).
 *
 * The wait is the time that the run wanted a CPU and got none, because other processes had it or
 * the run's own share was used up: v2's `cpu.pressure` ("some": at least one of its threads waits
 * [kernel: accounting/psi]); if the kernel keeps none, the run delay of its processes' first
 * threads [kernel: scheduler/sched-stats].
 *
 * A process belongs to the run if it is in its cgroup or is a descendant of its shepherd.
 */
#ifndef NODED_CPU_MEMORY_IO_H
#define NODED_CPU_MEMORY_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_usage {
	bool cpu_known, mem_known;
	uint64_t cpu_us;
	bool wait_known; /* from the cgroup; else a sum over living processes, which may fall */
	uint64_t wait_us;
	uint64_t mem_kb, mem_peak_kb; /* now, and the kernel's peak; 0: it keeps none */
	uint64_t read_bytes, written_bytes;
};

/* Read the cgroups. `leaf`: of v2, `memory`: of v1's controller; NULL or "": there is none. */
void process_usage_cgroups(const char *leaf, const char *memory, struct process_usage *m);

/* Processes in the v2 leaf, sorted. Returns how many; *pids is the caller's, also when 0 (NULL). */
size_t process_usage_pids(const char *leaf, uint32_t **pids);

/* Add how long a process has waited for a CPU, unless the cgroup says it. */
void process_usage_wait(pid_t pid, struct process_usage *m);

/* Add the I/O of a process to `m`; process_usage_io_of() reads its open /proc/PID/io. */
void process_usage_io(pid_t pid, struct process_usage *m);
void process_usage_io_of(int fd, struct process_usage *m);

/* --- a scan of all processes, in steps -------------------------------------------------------- */

struct process_scan;

struct process_scan *process_scan_new(void);    /* NULL: /proc cannot be read */
void process_scan_free(struct process_scan *s); /* NULL is fine */
/* Read `n` more processes. False: there are no more. */
bool process_scan_step(struct process_scan *s, unsigned n);

/* After the scan: the processes below `shepherd`. Sets CPU time and memory if they are not known;
 * *pids as in process_usage_pids(). */
size_t process_scan_run(
        const struct process_scan *s, pid_t shepherd, struct process_usage *m, uint32_t **pids);

#endif
