/* scontrol_show.c - scontrol show: records of jobs, nodes and partitions, the configuration, lists
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmds/slurm_commands/controller_queries.h"
#include "cmds/slurm_commands/nodefields.h"
#include "cmds/slurm_commands/scontrol.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/value_formats.h"
#include "common/base/hostlist.h"
#include "common/base/units.h"

#define TYPE(name) GPUSCHED__MSG_TYPE__MSG_##name

/* --- jobs ------------------------------------------------------------------------------------ */

struct jobs {
	const struct scontrol *s;
	size_t seen;
};

static int on_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct jobs *jobs = arg;
	size_t n;
	const struct slurm_cmd_field *table = record_job(&n);
	(void)err;

	record_print(&jobs->s->style, table, n, m);
	fputs(jobs->s->style.one_line ? " \n" : "\n   \n\n", stdout);
	jobs->seen++;
	return 0;
}

static int show_jobs(struct scontrol *s)
{
	struct filter filter = { .ended = true };
	struct jobs jobs = { s, 0 };
	struct error err = { .code = ERR_NONE };
	int rc = 0, status = 0;

	for (size_t i = 0; i < s->n && rc == 0; i++) {
		const char *equal = strchr(s->words[i], '=');

		rc = filter_add(&filter, FILTER_IDS, "ID", equal ? equal + 1 : s->words[i], &err);
	}
	if (rc < 0)
		err.code = ERR_NO_JOB;
	else if (!scontrol_client(s))
		status = SLURM_CMD_FAILED;
	else
		rc = ask_jobs(s->client, &filter, s->style.details > 0, on_job, &jobs, &err);
	if (!status && s->n && !jobs.seen && (rc == 0 || err.code == ERR_NO_JOB)) {
		if (filter.ids.n_some)
			printf("Job %s not found\n", s->words[0]);
		else
			fprintf(stderr, "slurm_load_jobs error: Invalid job id specified\n");
		status = SLURM_CMD_FAILED;
	} else if (!status && rc < 0 && err.code != ERR_NO_JOB) {
		status = slurm_cmd_fail_load("scontrol", "slurm_load_jobs error", &err);
	} else if (!status && !jobs.seen) {
		puts("No jobs in the system");
	}
	filter_clear(&filter);
	return status;
}

/* --- nodes and partitions -------------------------------------------------------------------- */

struct nodes {
	const struct scontrol *s;
	size_t seen;
};

static int on_node(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct nodes *nodes = arg;
	const Gpusched__Node *node = (const Gpusched__Node *)m;
	const struct node_group one = { NULL, &node, 1, 0 };
	size_t n;
	const struct slurm_cmd_field *table = record_node(&n);
	(void)err;

	record_print(&nodes->s->style, table, n, &one);
	fputs(nodes->s->style.one_line ? "\n" : "\n\n", stdout);
	nodes->seen++;
	return 0;
}

static int show_nodes(struct scontrol *s)
{
	struct nodes nodes = { s, 0 };
	struct cmd_list names = { .n = 0 };
	struct error err;
	int rc = 0;

	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	for (size_t i = 0; i < s->n && rc == 0; i++)
		rc = cmd_hosts_add(&names, s->words[i], &err);
	if (rc == 0)
		rc = ask_nodes(s->client, &names, true, on_node, &nodes, &err);
	cmd_list_clear(&names);
	if (rc >= 0)
		return 0;
	if (err.code != ERR_NO_NODE && err.code != ERR_USAGE)
		return slurm_cmd_fail_load("scontrol", "slurm_load_node error", &err);
	if (!nodes.seen)
		printf("Node %s not found\n", s->words[0]);
	return SLURM_CMD_FAILED;
}

static struct record_partition_of sum_up(const struct ask_all *all, const Gpusched__Partition *p)
{
	struct record_partition_of of = { .group.partition = p };

	for (size_t i = 0; i < all->n_nodes; i++) {
		const Gpusched__Node *node = all->nodes[i];
		uint32_t used;

		if (!node_in(node, p))
			continue;
		of.cpus += node->cpus;
		of.mem_mb += node->mem_mb;
		of.gpus += node_gpus(node, &used);
	}
	return of;
}

static int show_partitions(struct scontrol *s)
{
	struct ask_all all = { .n_nodes = 0 };
	struct error err;
	size_t n, shown = 0;
	const struct slurm_cmd_field *table = record_partition(&n);
	int rc;

	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	rc = ask_cluster(s->client, false, &all, &err);
	for (size_t i = 0; rc >= 0 && i < all.n_partitions; i++) {
		struct record_partition_of of = sum_up(&all, all.partitions[i]);

		if (s->n && strcmp(s->words[0], all.partitions[i]->name) != 0)
			continue;
		record_print(&s->style, table, n, &of);
		fputs(s->style.one_line ? "\n" : "\n\n", stdout);
		shown++;
	}
	ask_clear(&all);
	if (rc < 0)
		return slurm_cmd_fail_load("scontrol", "slurm_load_partitions error", &err);
	if (s->n && !shown)
		printf("Partition %s not found\n", s->words[0]);
	return s->n && !shown ? SLURM_CMD_FAILED : 0;
}

/* --- the configuration ----------------------------------------------------------------------- */

/* Slurm's names for keys of the configuration, and its constant lines. `key` is of the section
 * "controller"; NULL: `value` stands. */
static const struct {
	const char *name, *key, *value;
	bool seconds;
} settings[] = {
	{ "AccountingStorageType", NULL, "accounting_storage/gpusched", false },
	{ "AcctGatherNodeFreq", NULL, "0 sec", false },
	{ "AuthType", NULL, "auth/munge", false },
	{ "DefMemPerNode", NULL, "UNLIMITED", false },
	{ "JobRequeue", NULL, "1", false },
	{ "KillWait", NULL, "30 sec", false },
	{ "MaxArraySize", NULL, "4000001", false },
	{ "MaxJobCount", "max_jobs", "1000000", false },
	{ "MaxMemPerNode", NULL, "UNLIMITED", false },
	{ "MaxTasksPerNode", NULL, "65533", false },
	{ "MessageTimeout", NULL, "10 sec", false },
	{ "MinJobAge", "keep_ended", "300 sec", true },
	{ "PriorityType", NULL, "priority/multifactor", false },
	{ "SchedulerTimeSlice", NULL, "30 sec", false },
	{ "SchedulerType", NULL, "sched/gpusched", false },
	{ "SelectType", NULL, "select/gpusched", false },
	{ "SlurmctldPort", "port", "7320", false },
	{ "SlurmdTimeout", "node_timeout", "60 sec", true },
	{ "SlurmUser", "user", "gpusched", false },
	{ "StateSaveLocation", "state_dir", "(null)", false },
	{ "SLURM_VERSION", NULL, "22.05.8", false },
};
#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

struct config {
	char value[N_SETTINGS][256]; /* "": the file says nothing */
	bool inside;                 /* the section "controller" */
};

/* "  keep_ended = \"5m\";" */
static void take_line(struct config *c, const char *line)
{
	char key[64], text[256];

	if (line[0] != ' ') {
		c->inside = !strncmp(line, "controller", strlen("controller"));
		return;
	}
	if (!c->inside || sscanf(line, " %63[a-z_] = %255[^;]", key, text) != 2)
		return;
	if (text[0] == '"') {
		memmove(text, text + 1, strlen(text));
		text[strcspn(text, "\"")] = '\0';
	}
	for (size_t i = 0; i < N_SETTINGS; i++) {
		uint64_t s;

		if (!settings[i].key || strcmp(settings[i].key, key) != 0)
			continue;
		if (settings[i].seconds && duration_parse(text, DURATION_BARE_S, &s, NULL) >= 0)
			snprintf(c->value[i], sizeof(c->value[i]), "%llu sec",
			        (unsigned long long)s);
		else
			snprintf(c->value[i], sizeof(c->value[i]), "%s", text);
	}
}

static int on_config(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ConfigChunk *chunk = (const Gpusched__ConfigChunk *)m;
	(void)err;

	for (size_t i = 0; i < chunk->n_lines; i++)
		take_line(arg, chunk->lines[i]);
	return 0;
}

static int show_config(struct scontrol *s)
{
	Gpusched__ShowConfig request = GPUSCHED__SHOW_CONFIG__INIT;
	struct config config = { .inside = false };
	struct client_call call =
	        CLIENT_ASK(SHOW_CONFIG, &request.base, CONFIG_CHUNK, on_config, &config);
	struct view_cell now;
	struct error err;

	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	/* If the user may not see the configuration, the constant lines are printed all the
	 * same. */
	if (client_call(s->client, &call, &err) < 0 && err.code != ERR_NOT_PERMITTED)
		return slurm_cmd_fail_load("scontrol", "slurm_load_ctl_conf error", &err);
	slurm_time(&now, (int64_t)time(NULL) * 1000000, "");
	printf("Configuration data as of %s\n", now.text);
	for (size_t i = 0; i < N_SETTINGS; i++)
		printf("%-23s = %s\n", settings[i].name,
		        *config.value[i] ? config.value[i] : settings[i].value);
	printf("%-23s = %s\n", "ClusterName", client_conf(s->client)->cluster);
	printf("%-23s = %s\n\n", "SlurmctldHost[0]", client_conf(s->client)->host);
	printf("Slurmctld(primary) at %s is UP\n", client_conf(s->client)->host);
	return 0;
}

/* --- lists of nodes, which need no controller ------------------------------------------------- */

static int print_name(const char *name, void *arg)
{
	(void)arg;
	puts(name);
	return 0;
}

static int show_hostnames(struct scontrol *s)
{
	const char *list = s->n ? s->words[0] : getenv("SLURM_JOB_NODELIST");
	struct error err;

	if (!list || !*list)
		list = getenv("GPUSCHED_NODELIST");
	if (!list || !*list) {
		slurm_cmd_say("scontrol", "host list is empty");
		return 0; /* as Slurm's */
	}
	if (hostlist_each(list, HOSTLIST_MAX, print_name, NULL, &err) >= 0)
		return 0;
	slurm_cmd_say("scontrol", "Invalid hostlist: %s", list);
	return SLURM_CMD_FAILED;
}

static int show_hostlist(struct scontrol *s)
{
	char **names, *list;
	size_t n;
	struct error err;

	if (!s->n) {
		slurm_cmd_say("scontrol", "host list is empty");
		return 0;
	}
	if (hostlist_expand(s->words[0], HOSTLIST_MAX, &names, &n, &err) < 0) {
		slurm_cmd_say("scontrol", "Invalid hostlist: %s", s->words[0]);
		return SLURM_CMD_FAILED;
	}
	list = hostlist_compress((const char *const *)names, n);
	puts(list);
	free(list);
	free(names);
	return 0;
}

static int show_reservations(struct scontrol *s)
{
	if (s->n)
		printf("Reservation %s not found\n", s->words[0]);
	else
		puts("No reservations in the system");
	return s->n ? SLURM_CMD_FAILED : 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct scontrol *s); /* NULL: because `why` */
	const char *why;
} entities[] = {
	{ "jobs", show_jobs, NULL },
	{ "jobid", show_jobs, NULL },
	{ "nodes", show_nodes, NULL },
	{ "partitions", show_partitions, NULL },
	{ "config", show_config, NULL },
	{ "hostnames", show_hostnames, NULL },
	{ "hostlist", show_hostlist, NULL },
	{ "hostlistsorted", show_hostlist, NULL },
	{ "reservations", show_reservations, NULL },
	{ "aliases", NULL, "nodes have one name" },
	{ "assoc_mgr", NULL, "gshare shows accounts and what they used" },
	{ "bbstat", NULL, "there are no burst buffers" },
	{ "burstbuffer", NULL, "there are no burst buffers" },
	{ "daemons", NULL, "gctl ping asks the controller, ginfo -N lists the nodes" },
	{ "dwstat", NULL, "there are no burst buffers" },
	{ "federation", NULL, "there are no federations" },
	{ "frontend", NULL, "there are no front end nodes" },
	{ "licenses", NULL, "gctl show config licences lists them" },
	{ "slurmd", NULL, "ginfo -N lists the nodes" },
	{ "steps", NULL, "gctl show job has the runs of a job" },
	{ "topology", NULL, "gctl show config topology lists it" },
};

/* "jobid=12" is the entity with its argument behind it. */
int scontrol_show(struct scontrol *s)
{
	const char *name = s->n ? s->words[0] : NULL, *equal;
	size_t len;

	if (!name) {
		fprintf(stderr, "too few arguments for keyword:show\n");
		return SLURM_CMD_FAILED;
	}
	equal = strchr(name, '=');
	len = equal ? (size_t)(equal - name) : strlen(name);
	if (!equal) {
		s->words++;
		s->n--;
	}
	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		if (!len || strncasecmp(entities[i].name, name, len) != 0)
			continue;
		if (entities[i].run)
			return entities[i].run(s);
		slurm_cmd_say("scontrol", "show %s: %s", entities[i].name, entities[i].why);
		return SLURM_CMD_FAILED;
	}
	fprintf(stderr, "invalid entity:%s for keyword:show \n", name);
	return SLURM_CMD_FAILED;
}

/* --- scontrol write batch_script -------------------------------------------------------------- */

static int on_script(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ScriptResult *r = (const Gpusched__ScriptResult *)m;
	FILE *out = arg;

	if (fwrite(r->script.data, 1, r->script.len, out) != r->script.len)
		return error_set(err, ERR_SYSTEM, "the script could not be written");
	return 0;
}

int scontrol_write(struct scontrol *s)
{
	Gpusched__ShowScript request = GPUSCHED__SHOW_SCRIPT__INIT;
	struct client_call call =
	        CLIENT_ASK(SHOW_SCRIPT, &request.base, SCRIPT_RESULT, on_script, NULL);
	char name[64] = "";
	const char *path = s->n > 2 ? s->words[2] : name;
	bool standard = !strcmp(path, "-");
	struct error err;
	FILE *out = stdout;
	int status = 0;

	if (s->n < 2 || strncasecmp(s->words[0], "batch_script", 5) ||
	        count_parse(s->words[1], 1, UINT64_MAX, &request.job, NULL) < 0) {
		slurm_cmd_say(
		        "scontrol", "write: batch_script JOB_ID [FILE] is what can be written");
		return SLURM_CMD_FAILED;
	}
	snprintf(name, sizeof(name), "slurm-%.20s.sh", s->words[1]);
	if (!scontrol_client(s))
		return SLURM_CMD_FAILED;
	if (!standard && !(out = fopen(path, "wex"))) {
		slurm_cmd_say("scontrol", "%s: could not be made", path);
		return SLURM_CMD_FAILED;
	}
	call.arg = out;
	if (client_call(s->client, &call, &err) < 0) {
		fprintf(stderr, "job script retrieval failed: %s\n",
		        err.code == ERR_NO_JOB ? "Invalid job id specified" : err.text);
		status = SLURM_CMD_FAILED;
	}
	if (!standard && fclose(out) != 0)
		status = SLURM_CMD_FAILED;
	if (!standard && status)
		remove(path);
	else if (!standard && !s->quiet)
		printf("batch script for job %s written to %s\n", s->words[1], path);
	return status;
}
