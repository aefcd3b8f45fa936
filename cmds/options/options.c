/* options.c - see options.h */
#include "cmds/options/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/cmd.h"
#include "cmds/options/option_values.h"

/* --- the table ------------------------------------------------------------------------------ */

#define EVERYWHERE (OPTION_IN_SCRIPT | OPTION_IN_ENV)
#define AT(field)  offsetof(struct submit_options, field)

static const struct option_row rows[] = {
	{ "wrap", 0, OPTION_WHAT, 0, "COMMAND", option_set_command, AT(wrap),
	        "Run COMMAND with sh instead of a script" },
	{ "array", 'a', OPTION_WHAT, EVERYWHERE, "SET", option_set_array, AT(array),
	        "A job of many tasks: 0-9, 1,3,5-7, 0-15:4; with %N at most N run at a time" },
	{ "bulk", 0, OPTION_WHAT, 0, "FILE", option_set_path, AT(bulk),
	        "Submit the jobs of FILE, one JSON object a line: all or none" },
	{ "chdir", 'D', OPTION_WHAT, EVERYWHERE, "DIR", option_set_path, AT(chdir),
	        "Run in DIR (default: where gsubmit is run)" },
	{ "export", 0, OPTION_WHAT, EVERYWHERE, "LIST", option_set_export, AT(export),
	        "Variables that the job gets: ALL (default), NONE, or NAME and NAME=VALUE with "
	        "commas between" },
	{ "slurm-env", 0, OPTION_WHAT, EVERYWHERE, NULL, option_set_flag, AT(slurm_env),
	        "The job sees SLURM_* variables, and writes slurm-%j.out (default with #SBATCH "
	        "lines)" },
	{ "no-slurm-env", 0, OPTION_WHAT, EVERYWHERE, NULL, option_unset_flag, AT(slurm_env),
	        "The job sees no SLURM_* variables (default without #SBATCH lines)" },

	{ "job-name", 'J', OPTION_FOR, EVERYWHERE, "NAME", option_set_text, AT(name),
	        "Name of the job (default: the script's)" },
	{ "partition", 'p', OPTION_FOR, EVERYWHERE, "PARTITION", option_set_text, AT(partition),
	        "Partition to run in" },
	{ "account", 'A', OPTION_FOR, EVERYWHERE, "ACCOUNT", option_set_text, AT(account),
	        "Account that the job belongs to" },
	{ "qos", 'q', OPTION_FOR, EVERYWHERE, "QOS", option_set_text, AT(qos), "Quality of service" },
	{ "label", 0, OPTION_FOR, EVERYWHERE, "KEY=VALUE", option_set_label, AT(labels),
	        "Attach a label; may be given several times" },
	{ "comment", 0, OPTION_FOR, EVERYWHERE, "TEXT", option_set_remark, AT(remark),
	        "A remark, which is kept with the job" },
	{ "mail-type", 0, OPTION_FOR, EVERYWHERE, "LIST", option_set_mail_type, AT(mail_type),
	        "Send mail: BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, ALL or NONE; "
	        "ARRAY_TASKS: of each task" },
	{ "mail-user", 0, OPTION_FOR, EVERYWHERE, "ADDRESS", option_set_mail_user, AT(mail_user),
	        "Address for mail (default: the user's name)" },
	{ "token", 0, OPTION_FOR, 0, "TOKEN", option_set_text, AT(token),
	        "Name of this submit: the same job with the same token is never submitted twice" },

	{ "gpus", 'G', OPTION_GPUS, EVERYWHERE, "[TYPE:]COUNT", option_set_gpus, AT(gpus),
	        "GPUs of the whole job, on one node without --nodes; alternatives with '|' "
	        "between, the preferred one first: 'h100:2|l40s:4'" },
	{ "gpus-per-node", 0, OPTION_GPUS, EVERYWHERE, "[TYPE:]COUNT", option_set_gpus_per_node, AT(gpus),
	        "GPUs on each node; in place of --gpus" },
	{ "gpus-per-task", 0, OPTION_GPUS, EVERYWHERE, "[TYPE:]COUNT", option_set_gpus_per_task, AT(gpus),
	        "GPUs for each of --ntasks; in place of --gpus" },
	{ "gres", 0, OPTION_GPUS, EVERYWHERE, "gpu:[TYPE:]COUNT", option_set_gres, AT(gpus),
	        "The same as --gpus-per-node, as sbatch has it" },
	{ "gpu-mem-min", 0, OPTION_GPUS, EVERYWHERE, "SIZE", option_set_gpu_mem, AT(gpu_mem_min_mb),
	        "Only GPUs with this much memory in total: 80G" },
	{ "gpu-link", 0, OPTION_GPUS, EVERYWHERE, "LINK", option_set_gpu_link, AT(gpu_link),
	        "Only GPUs of which every two on a node are linked like this, or closer: "
	        "nvlink, pcie (switches, no host bridge), numa" },
	{ "gpu-mem", 0, OPTION_GPUS, EVERYWHERE, "SIZE", option_set_gpu_mem, AT(gpu_mem_mb),
	        "This much memory of each GPU, which other jobs may share: 20G; without "
	        "--gpus of one GPU" },
	{ "gpu-mem-burst", 0, OPTION_GPUS, EVERYWHERE, "SIZE", option_set_gpu_mem, AT(gpu_mem_burst_mb),
	        "Up to this much memory while no other job needs it: 30G; then the job is "
	        "interrupted, and goes on if it releases it; --gpu-mem is always there" },
	{ "gpu-share", 0, OPTION_GPUS, EVERYWHERE, "PERCENT", option_set_gpu_share, AT(gpu_share_milli),
	        "This part of each GPU's compute, and of its memory unless --gpu-mem says "
	        "otherwise: 25%" },

	{ "cpus-per-task", 'c', OPTION_CPUS, EVERYWHERE, "COUNT", option_set_cpus, AT(cpus),
	        "CPUs for each task, on each node without --ntasks (default 1, or what the "
	        "partition gives for each GPU)" },
	{ "cpus-per-gpu", 0, OPTION_CPUS, EVERYWHERE, "COUNT", option_set_cpus, AT(cpus_per_gpu),
	        "CPUs for each GPU; in place of --cpus-per-task" },
	{ "ntasks", 'n', OPTION_CPUS, EVERYWHERE, "COUNT", option_set_tasks, AT(ntasks),
	        "Tasks, which the script starts itself; on one node, or one on each" },
	{ "ntasks-per-node", 0, OPTION_CPUS, EVERYWHERE, "COUNT", option_set_tasks, AT(ntasks_per_node),
	        "Tasks on each node" },
	{ "mem", 0, OPTION_CPUS, EVERYWHERE, "SIZE", option_set_mem, AT(mem_mb),
	        "Host memory on each node: 16G; a bare number is MiB; 0 with --exclusive is all" },
	{ "mem-per-cpu", 0, OPTION_CPUS, EVERYWHERE, "SIZE", option_set_mem, AT(mem_per_cpu_mb),
	        "Host memory for each CPU; in place of --mem" },
	{ "mem-per-gpu", 0, OPTION_CPUS, EVERYWHERE, "SIZE", option_set_mem, AT(mem_per_gpu_mb),
	        "Host memory for each GPU; in place of --mem" },

	{ "nodes", 'N', OPTION_NODES, EVERYWHERE, "N[-M]", option_set_nodes, AT(nodes_min),
	        "N nodes, or N to M as fit (default 1); all start together" },
	{ "constraint", 'C', OPTION_NODES, EVERYWHERE, "FEATURES", option_set_text_or_none, AT(constraint),
	        "Only nodes with these features: 'nvlink&ib'" },
	{ "prefer", 0, OPTION_NODES, EVERYWHERE, "FEATURES", option_set_text_or_none, AT(prefer),
	        "Nodes with these features if there are any free" },
	{ "nodelist", 'w', OPTION_NODES, EVERYWHERE, "NODES", option_set_hosts, AT(nodelist),
	        "On all of these nodes: h[01-04]" },
	{ "exclude", 'x', OPTION_NODES, EVERYWHERE, "NODES", option_set_hosts, AT(exclude),
	        "On none of these nodes" },
	{ "exclusive", 0, OPTION_NODES, EVERYWHERE, NULL, option_set_flag, AT(exclusive),
	        "Alone on its nodes, with all that they have" },
	{ "no-exclusive", 0, OPTION_NODES, EVERYWHERE, NULL, option_unset_flag, AT(exclusive),
	        "Beside other jobs (default)" },
	{ "licenses", 'L', OPTION_NODES, EVERYWHERE, "LIST", option_set_text_or_none, AT(licences),
	        "Licences to hold while it runs: trtllm:2,other" },
	{ "licences", 0, OPTION_NODES, EVERYWHERE | OPTION_IS_ALIAS, "LIST", option_set_text_or_none,
	        AT(licences), "Another name of --licenses" },

	{ "time", 't', OPTION_TIME, EVERYWHERE, "TIME", option_set_time, AT(time_limit_s),
	        "Time limit: MINUTES, M:S, H:M:S, D-H:M:S, 90s, 2h or unlimited" },
	{ "begin", 'b', OPTION_TIME, EVERYWHERE, "TIME", option_set_when, AT(begin_time),
	        "Start no earlier: now+2hours, 16:00, tomorrow, 2027-01-31T16:00" },
	{ "deadline", 0, OPTION_TIME, EVERYWHERE, "TIME", option_set_when, AT(deadline_time),
	        "End the job (DEADLINE) when it cannot have ended by then" },
	{ "max-wait", 0, OPTION_TIME, EVERYWHERE, "TIME", option_set_max_wait, AT(max_wait_s),
	        "Raise the priority as the wait nears TIME, so that it starts within it" },
	{ "signal", 0, OPTION_TIME, EVERYWHERE, "[B:]SIG[@SECONDS]", option_set_signal, AT(warn_signal),
	        "Send SIG this many seconds (default 60) before the time limit" },
	{ "nice", 0, OPTION_TIME, EVERYWHERE | OPTION_ARG_MAY_MISS, "N", option_set_nice, AT(nice),
	        "Lower the priority by N (100 if N is left out)" },

	{ "dependency", 'd', OPTION_ORDER, EVERYWHERE, "LIST", option_set_dependency, AT(dependency),
	        "Wait for other jobs: after:ID[+MINUTES], afterok:ID, afternotok:ID, afterany:ID, "
	        "singleton; ',' all of them, '?' any" },
	{ "kill-on-invalid-dep", 0, OPTION_ORDER, EVERYWHERE, "yes|no", option_set_kill_invalid,
	        AT(kill_invalid), "Cancel the job when its dependency can never come true" },
	{ "hold", 'H', OPTION_ORDER, EVERYWHERE, NULL, option_set_flag, AT(hold),
	        "Wait until `gctl release` says to go" },
	{ "requeue", 0, OPTION_ORDER, EVERYWHERE, NULL, option_unset_flag, AT(no_requeue),
	        "Run again if the node fails (default)" },
	{ "no-requeue", 0, OPTION_ORDER, EVERYWHERE, NULL, option_set_no_requeue, AT(no_requeue),
	        "Never run a second time" },
	{ "requeue-on", 0, OPTION_ORDER, EVERYWHERE, "LIST", option_set_requeue_on, AT(requeue_on),
	        "Run again after these ends: exit:75,exit:80-90,signal:KILL" },
	{ "requeue-delay", 0, OPTION_ORDER, EVERYWHERE, "TIME", option_set_max_wait, AT(requeue_delay_s),
	        "Wait TIME before running again after a failure, twice as long each time" },
	{ "max-attempts", 0, OPTION_ORDER, EVERYWHERE, "COUNT", option_set_attempts, AT(max_attempts),
	        "Start at most COUNT times (default 100)" },

	{ "output", 'o', OPTION_FILES, EVERYWHERE, "FILE", option_set_file, AT(output),
	        "Standard output (default gpusched-%j.out); %j job id, %x name, %u user, %N node" },
	{ "error", 'e', OPTION_FILES, EVERYWHERE, "FILE", option_set_file, AT(error),
	        "Standard error (default: where output goes)" },
	{ "input", 'i', OPTION_FILES, EVERYWHERE, "FILE", option_set_file, AT(input),
	        "Standard input (default /dev/null)" },
	{ "open-mode", 0, OPTION_FILES, EVERYWHERE, "MODE", option_set_open_mode, AT(append),
	        "append to output files or truncate them (default)" },
	{ "no-summary", 0, OPTION_FILES, EVERYWHERE, NULL, option_set_flag, AT(no_summary),
	        "Do not write what a job with GPUs has used to the end of its output" },

	{ "test-only", 0, OPTION_ANSWER, 0, NULL, option_set_flag, AT(test_only),
	        "Say whether, where and when it would start; submit nothing" },
	{ "wait", 'W', OPTION_ANSWER, EVERYWHERE, NULL, option_set_flag, AT(wait),
	        "Wait for the end of the job and exit as it did" },
	{ "parsable", 0, OPTION_ANSWER, EVERYWHERE, NULL, option_set_flag, AT(parsable),
	        "Print the job id alone" },
	{ "json", 0, OPTION_ANSWER, OPTION_IN_ENV, NULL, option_set_flag, AT(json), "Answer in JSON" },
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

void options_init(struct submit_options *o)
{
	*o = (struct submit_options){ .requeue_delay_s = REQUEUE_DELAY_DEFAULT };
}

void options_clear(struct submit_options *o)
{
	char *texts[] = { o->name, o->partition, o->account, o->qos, o->gpus, o->input, o->output,
		o->error, o->chdir, o->export, o->token, o->wrap, o->bulk, o->constraint, o->prefer,
		o->nodelist, o->exclude, o->licences, o->dependency, o->remark, o->mail_user,
		o->mail_type, o->requeue_on, o->array };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	for (size_t i = 0; i < o->n_labels; i++)
		free(o->labels[i]);
	for (size_t i = 0; i < OPTIONS_GPUS_WAYS; i++)
		free(o->gpus_said[i].text);
	options_init(o);
}

int options_set(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err)
{
	char option[80];

	snprintf(option, sizeof(option), "--%s", row->name);
	if (row->arg && !value && !(row->where & OPTION_ARG_MAY_MISS))
		return error_set(
		        err, ERR_USAGE, "%s: needs a value: %s=%s", option, option, row->arg);
	return row->set(o, row, value, err) < 0 ? cmd_blame(option, value, err) : 0;
}

void options_ask(const struct submit_options *o, struct gpusched_spec *s)
{
	s->partition = o->partition;
	s->account = o->account;
	s->qos = o->qos;
	s->gpus = o->gpus;
	s->gpus_per_node = o->gpus_per_node;
	s->gpu_mem_min_mb = o->gpu_mem_min_mb;
	s->gpu_link = o->gpu_link;
	s->gpu_mem_mb = o->gpu_mem_mb;
	s->gpu_mem_burst_mb = o->gpu_mem_burst_mb;
	s->gpu_share_milli = o->gpu_share_milli;
	s->nodes_min = o->nodes_min;
	s->nodes_max = o->nodes_max;
	s->cpus = o->cpus;
	s->mem_mb = o->mem_mb;
	s->time_limit_s = o->time_limit_s;
	s->constraint = o->constraint;
	s->prefer = o->prefer;
	s->nodelist = o->nodelist;
	s->exclude = o->exclude;
	s->exclusive = o->exclusive;
	s->licences = o->licences;
	s->max_wait_s = o->max_wait_s;
	s->begin_time = o->begin_time;
	s->deadline_time = o->deadline_time;
	s->dependency = o->dependency;
	s->comment = o->remark;
	s->mail_type = o->mail_type;
	s->mail_user = o->mail_user;
	s->requeue_on = o->requeue_on;
	s->requeue_delay_s = o->requeue_delay_s;
	if (o->requeue_delay_s == REQUEUE_DELAY_DEFAULT)
		s->requeue_delay_s = o->requeue_on && *o->requeue_on ? REQUEUE_DELAY_S : 0;
	s->max_attempts = o->max_attempts;
	s->kill_invalid_dep = (int32_t)o->kill_invalid;
	s->hold = o->hold;
	s->no_requeue = o->no_requeue;
	s->warn_signal = o->warn_signal;
	s->warn_before_s = o->warn_before_s;
	s->nice = o->nice;
	s->labels = (const char *const *)o->labels;
}
