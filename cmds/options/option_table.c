/* option_table.c - options.h: its rows
 *
 * To add an option: a row here, a setter in option_values.c if none fits, a field in options.h, its
 * use in gsubmit.c, a test, the manual (man/gsubmit.1).
 */
#include <stddef.h>
#include <string.h>

#include "cmds/options/option_values.h"
#include "cmds/options/options.h"

#define EVERYWHERE (OPTION_IN_SCRIPT | OPTION_IN_ENV)

#define ROW(group, name, letter, where, arg, set, field, help)              \
	{ name, letter, OPTION_##group, where, arg, option_##set,           \
	        offsetof(struct submit_options, field), help }

static const struct option_row rows[] = {
	ROW(WHAT, "wrap", 0, 0, "COMMAND", set_command, wrap,
	        "Run COMMAND with sh instead of a script"),
	ROW(WHAT, "array", 'a', EVERYWHERE, "SET", set_array, array,
	        "A job of many tasks: 0-9, 1,3,5-7, 0-15:4; with %N at most N run at a time"),
	ROW(WHAT, "bulk", 0, 0, "FILE", set_path, bulk,
	        "Submit the jobs of FILE, one JSON object a line: all or none"),
	ROW(WHAT, "chdir", 'D', EVERYWHERE, "DIR", set_path, chdir,
	        "Run in DIR (default: where gsubmit is run)"),
	ROW(WHAT, "export", 0, EVERYWHERE, "LIST", set_export, export,
	        "Variables that the job gets: ALL (default), NONE, or NAME and NAME=VALUE with "
	        "commas between"),
	ROW(WHAT, "slurm-env", 0, EVERYWHERE, NULL, set_flag, slurm_env,
	        "The job sees SLURM_* variables, and writes slurm-%j.out (default with #SBATCH "
	        "lines)"),
	ROW(WHAT, "no-slurm-env", 0, EVERYWHERE, NULL, unset_flag, slurm_env,
	        "The job sees no SLURM_* variables (default without #SBATCH lines)"),

	ROW(FOR, "job-name", 'J', EVERYWHERE, "NAME", set_text, name,
	        "Name of the job (default: the script's)"),
	ROW(FOR, "partition", 'p', EVERYWHERE, "PARTITION", set_text, partition,
	        "Partition to run in; of several (a,b) the one that starts it first"),
	ROW(FOR, "account", 'A', EVERYWHERE, "ACCOUNT", set_text, account,
	        "Account that the job belongs to"),
	ROW(FOR, "qos", 'q', EVERYWHERE, "QOS", set_text, qos, "Quality of service"),
	ROW(FOR, "label", 0, EVERYWHERE, "KEY=VALUE", set_label, labels,
	        "Attach a label; may be given several times"),
	ROW(FOR, "comment", 0, EVERYWHERE, "TEXT", set_remark, remark,
	        "A remark, which is kept with the job"),
	ROW(FOR, "mail-type", 0, EVERYWHERE, "LIST", set_mail_type, mail_type,
	        "Send mail: BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, ALL or NONE; "
	        "ARRAY_TASKS: of each task"),
	ROW(FOR, "mail-user", 0, EVERYWHERE, "ADDRESS", set_mail_user, mail_user,
	        "Address for mail (default: the user's name)"),
	ROW(FOR, "token", 0, 0, "TOKEN", set_text, token,
	        "Name of this submit: the same job with the same token is never submitted twice"),

	ROW(GPUS, "gpus", 'G', EVERYWHERE, "[TYPE:]COUNT", set_gpus, gpus,
	        "GPUs of the whole job, on one node without --nodes; alternatives with '|' "
	        "between, the preferred one first: 'h100:2|l40s:4'"),
	ROW(GPUS, "gpus-per-node", 0, EVERYWHERE, "[TYPE:]COUNT", set_gpus_per_node, gpus,
	        "GPUs on each node; in place of --gpus"),
	ROW(GPUS, "gpus-per-task", 0, EVERYWHERE, "[TYPE:]COUNT", set_gpus_per_task, gpus,
	        "GPUs for each of --ntasks; in place of --gpus"),
	ROW(GPUS, "gres", 0, EVERYWHERE, "gpu:[TYPE:]COUNT", set_gres, gpus,
	        "The same as --gpus-per-node, as sbatch has it"),
	ROW(GPUS, "gpu-mem-min", 0, EVERYWHERE, "SIZE", set_gpu_mem, gpu_mem_min_mb,
	        "Only GPUs with this much memory in total: 80G"),
	ROW(GPUS, "gpu-link", 0, EVERYWHERE, "LINK", set_gpu_link, gpu_link,
	        "Only GPUs of which every two on a node are linked like this, or closer: nvlink, "
	        "pcie (switches, no host bridge), numa"),
	ROW(GPUS, "gpu-mem", 0, EVERYWHERE, "SIZE", set_gpu_mem, gpu_mem_mb,
	        "This much memory of each GPU, which other jobs may share: 20G; without --gpus "
	        "of one GPU"),
	ROW(GPUS, "gpu-mem-burst", 0, EVERYWHERE, "SIZE", set_gpu_mem, gpu_mem_burst_mb,
	        "Up to this much memory while no other job needs it: 30G; then the job is "
	        "interrupted, and goes on if it releases it; --gpu-mem is always there"),
	ROW(GPUS, "gpu-share", 0, EVERYWHERE, "PERCENT", set_gpu_share, gpu_share_milli,
	        "This part of each GPU's compute, and of its memory unless --gpu-mem says "
	        "otherwise: 25%"),

	ROW(CPUS, "cpus-per-task", 'c', EVERYWHERE, "COUNT", set_cpus, cpus,
	        "CPUs for each task, on each node without --ntasks (default 1, or what the "
	        "partition gives for each GPU)"),
	ROW(CPUS, "cpus-per-gpu", 0, EVERYWHERE, "COUNT", set_cpus, cpus_per_gpu,
	        "CPUs for each GPU; in place of --cpus-per-task"),
	ROW(CPUS, "ntasks", 'n', EVERYWHERE, "COUNT", set_tasks, ntasks,
	        "Tasks, which srun starts in the script, or the script itself"),
	ROW(CPUS, "ntasks-per-node", 0, EVERYWHERE, "COUNT", set_tasks, ntasks_per_node,
	        "Tasks on each node"),
	ROW(CPUS, "ntasks-per-gpu", 0, EVERYWHERE, "COUNT", set_tasks, ntasks_per_gpu,
	        "Tasks for each GPU"),
	ROW(CPUS, "mem", 0, EVERYWHERE, "SIZE", set_mem, mem_mb,
	        "Host memory on each node: 16G; a bare number is MiB; 0 with --exclusive is all"),
	ROW(CPUS, "mem-per-cpu", 0, EVERYWHERE, "SIZE", set_mem, mem_per_cpu_mb,
	        "Host memory for each CPU; in place of --mem"),
	ROW(CPUS, "mem-per-gpu", 0, EVERYWHERE, "SIZE", set_mem, mem_per_gpu_mb,
	        "Host memory for each GPU; in place of --mem"),
	ROW(CPUS, "tmp", 0, EVERYWHERE, "SIZE", set_gpu_mem, tmp_mb,
	        "Only nodes whose disk for temporary data is so large in total: 500G; it is "
	        "shared"),

	ROW(NODES, "nodes", 'N', EVERYWHERE, "N[-M]", set_nodes, nodes_min,
	        "N nodes, or N to M as fit (default 1); all start together"),
	ROW(NODES, "constraint", 'C', EVERYWHERE, "FEATURES", set_text_or_none, constraint,
	        "Only nodes with these features: 'nvlink&ib'"),
	ROW(NODES, "prefer", 0, EVERYWHERE, "FEATURES", set_text_or_none, prefer,
	        "Nodes with these features if there are any free"),
	ROW(NODES, "nodelist", 'w', EVERYWHERE, "NODES", set_hosts, nodelist,
	        "On all of these nodes: h[01-04]"),
	ROW(NODES, "exclude", 'x', EVERYWHERE, "NODES", set_hosts, exclude,
	        "On none of these nodes"),
	ROW(NODES, "exclusive", 0, EVERYWHERE, NULL, set_flag, exclusive,
	        "Alone on its nodes, with all that they have"),
	ROW(NODES, "no-exclusive", 0, EVERYWHERE, NULL, unset_flag, exclusive,
	        "Beside other jobs (default)"),
	ROW(NODES, "licenses", 'L', EVERYWHERE, "LIST", set_text_or_none, licences,
	        "Licences to hold while it runs: trtllm:2,other"),
	ROW(NODES, "licences", 0, EVERYWHERE | OPTION_IS_ALIAS, "LIST", set_text_or_none, licences,
	        "Another name of --licenses"),

	ROW(TIME, "time", 't', EVERYWHERE, "TIME", set_time, time_limit_s,
	        "Time limit: MINUTES, M:S, H:M:S, D-H:M:S, 90s, 2h or unlimited"),
	ROW(TIME, "begin", 'b', EVERYWHERE, "TIME", set_when, begin_time,
	        "Start no earlier: now+2hours, 16:00, tomorrow, 2027-01-31T16:00"),
	ROW(TIME, "deadline", 0, EVERYWHERE, "TIME", set_when, deadline_time,
	        "End the job (DEADLINE) when it cannot have ended by then"),
	ROW(TIME, "max-wait", 0, EVERYWHERE, "TIME", set_max_wait, max_wait_s,
	        "Raise the priority as the wait nears TIME, so that it starts within it"),
	ROW(TIME, "signal", 0, EVERYWHERE, "[B:]SIG[@SECONDS]", set_signal, warn_signal,
	        "Send SIG this many seconds (default 60) before the time limit"),
	ROW(TIME, "nice", 0, EVERYWHERE | OPTION_ARG_MAY_MISS, "N", set_nice, nice,
	        "Lower the priority by N (100 if N is left out)"),

	ROW(ORDER, "dependency", 'd', EVERYWHERE, "LIST", set_dependency, dependency,
	        "Wait for other jobs: after:ID[+MINUTES], afterok:ID, afternotok:ID, "
	        "afterany:ID, singleton; ',' all of them, '?' any"),
	ROW(ORDER, "kill-on-invalid-dep", 0, EVERYWHERE, "yes|no", set_kill_invalid, kill_invalid,
	        "Cancel the job when its dependency can never come true"),
	ROW(ORDER, "hold", 'H', EVERYWHERE, NULL, set_flag, hold,
	        "Wait until `gctl release` says to go"),
	ROW(ORDER, "requeue", 0, EVERYWHERE, NULL, unset_flag, no_requeue,
	        "Run again if the node fails (default)"),
	ROW(ORDER, "no-requeue", 0, EVERYWHERE, NULL, set_no_requeue, no_requeue,
	        "Never run a second time"),
	ROW(ORDER, "requeue-on", 0, EVERYWHERE, "LIST", set_requeue_on, requeue_on,
	        "Run again after these ends: exit:75,exit:80-90,signal:KILL"),
	ROW(ORDER, "requeue-delay", 0, EVERYWHERE, "TIME", set_max_wait, requeue_delay_s,
	        "Wait TIME before running again after a failure, twice as long each time"),
	ROW(ORDER, "max-attempts", 0, EVERYWHERE, "COUNT", set_attempts, max_attempts,
	        "Start at most COUNT times (default 100)"),

	ROW(FILES, "output", 'o', EVERYWHERE, "FILE", set_file, output,
	        "Standard output (default gpusched-%j.out); %j job id, %x name, %u user, %N node"),
	ROW(FILES, "error", 'e', EVERYWHERE, "FILE", set_file, error,
	        "Standard error (default: where output goes)"),
	ROW(FILES, "input", 'i', EVERYWHERE, "FILE", set_file, input,
	        "Standard input (default /dev/null)"),
	ROW(FILES, "open-mode", 0, EVERYWHERE, "MODE", set_open_mode, append,
	        "append to output files or truncate them (default)"),
	ROW(FILES, "no-summary", 0, EVERYWHERE, NULL, set_flag, no_summary,
	        "Do not write what a job with GPUs has used to the end of its output"),
	ROW(FILES, "show-output", 0, EVERYWHERE, NULL, set_flag, show_output,
	        "Agree that web pages show you the end of its output"),
	ROW(FILES, "no-show-output", 0, EVERYWHERE, NULL, unset_flag, show_output,
	        "Web pages do not show its output (default)"),

	ROW(SERVICE, "service", 0, EVERYWHERE, "NAME", set_service, service.name,
	        "A service of this name instead of a batch job: replicas of the script, which are "
	        "started again when they end"),
	ROW(SERVICE, "replicas", 0, EVERYWHERE, "MIN[-MAX]", set_replicas, service.min,
	        "So many replicas (default 1), as many as the load asks for; MIN 0: none without "
	        "load"),
	ROW(SERVICE, "kept", 0, EVERYWHERE, "N", set_kept, service.kept,
	        "So many of them run with --qos and are given up last (default MIN)"),
	ROW(SERVICE, "burst-qos", 0, EVERYWHERE, "QOS", set_text_or_none, service.burst_qos,
	        "Those above have this quality of service (default --qos)"),
	ROW(SERVICE, "ports", 0, EVERYWHERE, "N", set_ports, service.ports,
	        "TCP ports of each replica: GPUSCHED_PORT, GPUSCHED_PORTS (default 0)"),
	ROW(SERVICE, "ready", 0, EVERYWHERE, "PROBE", set_probe_of, service.ready,
	        "It can be used when this succeeds: http:/PATH, tcp, file (default tcp with a "
	        "port, else at once)"),
	ROW(SERVICE, "live", 0, EVERYWHERE, "PROBE", set_probe_of, service.live,
	        "It is ended when this fails (default none)"),
	ROW(SERVICE, "probe", 0, EVERYWHERE, "TIME[,timeout=TIME][,fail=N]", set_probe,
	        service.probe_every_ms,
	        "How often, how long, and failures in a row that count (default "
	        "5s,timeout=2s,fail=3)"),
	ROW(SERVICE, "load-time", 0, EVERYWHERE, "TIME", set_load_time, service.load_time_s,
	        "A replica that is not ready after TIME is ended (default 30m)"),
	ROW(SERVICE, "drain", 0, EVERYWHERE, "TIME", set_drain, service.drain_s,
	        "One that is to end has so long for what is in flight (default 60s)"),
	ROW(SERVICE, "metrics", 0, EVERYWHERE, "PRESET", set_metrics, service.metrics,
	        "Where its load is told: vllm, sglang, tgi, triton, llamacpp, or file"),
	ROW(SERVICE, "metrics-path", 0, EVERYWHERE, "PATH", set_metrics_path, service.metrics_path,
	        "Path of its metrics (default /metrics)"),
	ROW(SERVICE, "target", 0, EVERYWHERE, "REQUESTS", set_target, service.target,
	        "Requests in flight for each replica: the number of replicas follows"),
	ROW(SERVICE, "kv-target", 0, EVERYWHERE, "PERCENT", set_kv_target, service.kv_target_milli,
	        "And use of the KV cache (default 80%)"),
	ROW(SERVICE, "scale-window", 0, EVERYWHERE, "TIME[,TIME]", set_scale_window,
	        service.window_s,
	        "The load is its mean over so long; over the second it is a burst (default "
	        "60s,6s)"),
	ROW(SERVICE, "scale-down", 0, EVERYWHERE, "TIME", set_scale_time, service.scale_down_s,
	        "As many as were needed within TIME stay (default 5m)"),
	ROW(SERVICE, "to-zero", 0, EVERYWHERE, "TIME", set_scale_time, service.to_zero_s,
	        "With MIN 0: none after TIME without a request (default 15m)"),
	ROW(SERVICE, "request-wait", 0, EVERYWHERE, "TIME", set_request_wait,
	        service.request_wait_ms,
	        "A request may wait so long before a replica is added for it"),
	ROW(SERVICE, "surge", 0, EVERYWHERE, "N", set_surge, service.surge,
	        "So many more replicas than wanted while it is updated (default 1)"),
	ROW(SERVICE, "settle", 0, EVERYWHERE, "TIME", set_settle, service.settle_s,
	        "A new replica is ready for TIME before an old one ends (default 10s)"),
	ROW(SERVICE, "starts-per-day", 0, EVERYWHERE, "N", set_starts, service.starts_per_day,
	        "A node starts at most N replicas of it a day (default 200)"),
	ROW(SERVICE, "valid", 0, EVERYWHERE, "DAYS", set_valid, service.valid_days,
	        "Your signature holds for so long (default 90d); gctl renew signs anew"),

	ROW(ANSWER, "test-only", 0, 0, NULL, set_flag, test_only,
	        "Say whether, where and when it would start; submit nothing"),
	ROW(ANSWER, "sign-only", 0, 0, NULL, set_flag, sign_only,
	        "Print the signed job as JSON, for gweb; submit nothing"),
	ROW(ANSWER, "wait", 'W', EVERYWHERE, NULL, set_flag, wait,
	        "Wait for the end of the job and exit as it did"),
	ROW(ANSWER, "parsable", 0, EVERYWHERE, NULL, set_flag, parsable, "Print the job id alone"),
	ROW(ANSWER, "quiet", 'Q', 0, NULL, set_flag, quiet, "No progress of --bulk on a terminal"),
	ROW(ANSWER, "clusters", 'M', EVERYWHERE, "LIST", set_text, clusters,
	        "Only to this cluster: its name, or all"),
	ROW(ANSWER, "json", 0, OPTION_IN_ENV, NULL, set_flag, json, "Answer in JSON"),
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

const struct option_row *option_rows(size_t *n)
{
	*n = N_ROWS;
	return rows;
}

const struct option_row *option_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strncmp(rows[i].name, name, len) && !rows[i].name[len])
			return &rows[i];
	return NULL;
}

const struct option_row *option_by_letter(char letter)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (letter && rows[i].letter == letter)
			return &rows[i];
	return NULL;
}
