/* main.c - gnoded: the agent of one node, wired together
 *
 *	gnoded (supervise.c)        starts both again when one dies
 *	 +- gnoded (network_half.c)       network half: no privilege
 *	     +- gnoded (launcher.c) launcher half: no network
 *	gshepherd ...               one for each run; outlives all of these
 */
#include "config.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/daemon.h"
#include "common/base/hostlist.h"
#include "common/base/log.h"
#include "common/base/pidfile.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "noded/contain/private_mounts.h"
#include "noded/cpus_and_memory.h"
#include "noded/gpu/driver_process.h"
#include "noded/gpu/probe_watchdog.h"
#include "noded/launcher/launcher.h"
#include "noded/network_half.h"
#include "noded/options.h"
#include "noded/privilege.h"
#include "noded/show_inventory.h"
#include "noded/sim/simulate.h"
#include "noded/stream/stream_access.h"
#include "noded/supervise.h"

struct setup {
	struct options options;
	struct conf_client client;
	struct node_facts facts;
	char *shepherd;
	struct pidfile *pidfile;
	pid_t supervisor;
	int ready_fd;
};

/* --- preparing ------------------------------------------------------------------------------- */

/* Ports of simulated nodes are only numbers. */
static uint32_t service_ports(const struct options *o)
{
	const struct launcher_options *l = &o->launcher;

	if (!l->service_port_low)
		return o->simulate ? 1000 : 0;
	return l->service_port_high - l->service_port_low + 1;
}

/* What a job finds as /tmp, as far as the options say. */
static const char *tmp_dir(const struct options *o)
{
	if (o->tmp_dir)
		return o->tmp_dir;
	return o->launcher.private_kinds & 1u << PRIVATE_TMP ? o->spool : "/tmp";
}

/* All of the file system, used or not: jobs share it, as they do in Slurm. */
static int tmp_size(const struct options *o, uint64_t *mb, struct error *err)
{
	const char *dir = tmp_dir(o);
	struct statvfs fs;

	if (o->launcher.private_kinds & 1u << PRIVATE_TMP && o->launcher.private_tmp_mb &&
	        !o->tmp_dir) {
		*mb = o->launcher.private_tmp_mb;
		return 0;
	}
	if (statvfs(dir, &fs) < 0)
		return o->tmp_dir
		               ? error_set(err, ERR_USAGE, "--tmp-dir=%s: %s", dir, strerror(errno))
		               : 0;
	*mb = (uint64_t)fs.f_blocks * fs.f_frsize >> 20;
	return 0;
}

static int find_facts(struct setup *s, struct error *err)
{
	struct inventory inventory = { .cpus = 128, .mem_mb = 1024 * 1024 };
	uint64_t tmp_mb = 1024 * 1024;

	if (!s->options.simulate && inventory_find("", &inventory, err) < 0)
		return -1;
	if (s->options.pretend && inventory_pretend(s->options.pretend, &inventory, err) < 0)
		return -1;
	if (!s->options.simulate && tmp_size(&s->options, &tmp_mb, err) < 0)
		return -1;
	s->facts = (struct node_facts){ .node = s->options.node,
		.version = PACKAGE_VERSION,
		.cpus = inventory.cpus,
		.mem_mb = inventory.mem_mb,
		.tmp_mb = tmp_mb,
		.pretended = s->options.pretend || s->options.simulate,
		.share_users_one = s->options.launcher.share_users_one,
		.service_ports = service_ports(&s->options),
		.service_address = s->options.service_address };
	return 0;
}

/* Finds gshepherd: as the option names it, beside this program (a build tree), or installed. */
static int find_shepherd(struct setup *s, struct error *err)
{
	char self[PATH_MAX + 1] = "";

	if (s->options.launcher.shepherd) {
		s->shepherd = realpath(s->options.launcher.shepherd, NULL);
		if (!s->shepherd)
			return error_set(err, ERR_USAGE, "--shepherd=%s: %s",
			        s->options.launcher.shepherd, strerror(errno));
		return 0;
	}
	if (readlink("/proc/self/exe", self, PATH_MAX) > 0)
		s->shepherd = xasprintf("%s/gshepherd", dirname(self));
	if (s->shepherd && access(s->shepherd, X_OK) == 0)
		return 0;
	free(s->shepherd);
	s->shepherd = xstrdup(LIBEXECDIR "/gshepherd");
	if (access(s->shepherd, X_OK) < 0)
		return error_set(err, ERR_SYSTEM, "%s: %s", s->shepherd, strerror(errno));
	return 0;
}

static void warn_unless_tmpfs(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) == 0 && fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC)
		log_warning("%s is not on tmpfs: records of runs outlive a reboot there, and are "
		            "then told by the incarnation alone",
		        dir);
}

/* The controller's user must not be a reader of outputs: otherwise a controller under an attacker's
 * control could read outputs, and gweb would not have to be broken into as well. */
static int check_readers(const struct setup *s, struct error *err)
{
	const char *name = s->client.controller_user;
	const struct passwd *pw = getpwnam(name);

	if (pw && output_readers_have(&s->options.launcher.readers, pw->pw_uid))
		return error_set(err, ERR_USAGE,
		        "--output-readers: %s is the controller's user: let gweb be another's", name);
	return 0;
}

static int prepare(struct setup *s, struct error *err)
{
	if (conf_client_load(s->options.conf, &s->client, err) < 0 || check_readers(s, err) < 0 ||
	        find_facts(s, err) < 0)
		return -1;
	return s->options.simulate ? 0 : find_shepherd(s, err);
}

/* --- one node -------------------------------------------------------------------------------- */

static int work(void *arg, unsigned nth)
{
	struct setup *s = arg;
	const struct options *o = &s->options;
	struct launcher_options launcher = o->launcher;
	struct gnoded_options gnoded = {
		.client = &s->client, .facts = s->facts, .ready_fd = nth ? -1 : s->ready_fd
	};
	struct error err;

	launcher.node = o->node;
	launcher.cluster = s->client.cluster;
	launcher.rundir = o->rundir;
	launcher.spool = o->spool;
	launcher.shepherd = s->shepherd;
	launcher.munge_socket = s->client.munge_socket;
	if (!launcher.munge_socket_2)
		launcher.munge_socket_2 = s->client.munge_socket_2;
	launcher.rlimits = o->rlimits;
	pidfile_leave(s->pidfile); /* the supervisor's */
	gnoded.launcher_fd =
	        launcher_fork(&launcher, &gnoded.streams_fd, &gnoded.launcher_pid, &err);
	if (gnoded.launcher_fd < 0 || privilege_drop(o->user, &err) < 0) {
		log_error("%s", err.text);
		if (o->daemon) /* the process that started us waits for it */
			fprintf(stderr, "gnoded: error: %s\n", err.text);
		return EXIT_REFUSED;
	}
	if (!nth)
		warn_unless_tmpfs(o->rundir);
	daemon_keep_secrets();
	if (!supervise_me(s->supervisor))
		return EXIT_REFUSED;
	return gnoded_run(&gnoded);
}

static int run_node(struct setup *s, struct error *err)
{
	s->supervisor = getpid();
	return supervise(work, s, err);
}

/* --- many ------------------------------------------------------------------------------------ */

static int name_nodes(const struct options *o, char ***names, size_t *n, struct error *err)
{
	char *list = o->nodes ? xstrdup(o->nodes)
	                      : xasprintf("n[1-%llu]", (unsigned long long)o->simulate_n);
	int rc = hostlist_expand(list, HOSTLIST_MAX, names, n, err);

	free(list);
	if (rc < 0)
		return error_wrap(err, "--nodes");
	if (o->simulate_n > *n) {
		free(*names);
		return error_set(err, ERR_USAGE, "--simulate=%llu: --nodes names only %zu",
		        (unsigned long long)o->simulate_n, *n);
	}
	if (o->simulate_n)
		*n = o->simulate_n;
	return 0;
}

static int run_simulation(struct setup *s, struct error *err)
{
	struct simulate_options simulate = {
		.client = &s->client, .facts = s->facts, .ready_fd = s->ready_fd
	};
	char **names;
	int status;

	if (name_nodes(&s->options, &names, &simulate.n, err) < 0)
		return -1;
	simulate.names = names;
	status = simulate_run(&simulate);
	free(names);
	return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int print_test(const struct setup *s)
{
	printf("node:        %s\nversion:     %s\ncpus:        %u\nmemory:      %llu MiB\n"
	       "pretended:   %s\ncontroller:  %s:%u as %s\ncluster:     %s\n",
	        s->facts.node, s->facts.version, s->facts.cpus, (unsigned long long)s->facts.mem_mb,
	        s->facts.pretended ? "yes" : "no", s->client.host, s->client.port,
	        s->client.controller_user, s->client.cluster);
	if (!s->options.simulate)
		printf("rundir:      %s\nspool:       %s\nshepherd:    %s\n", s->options.rundir,
		        s->options.spool, s->shepherd);
	return 0;
}

/* Needs neither a controller nor a configuration. */
static int print_inventory(struct setup *s, struct error *err)
{
	struct gpus *gpus = xcalloc(1, sizeof(*gpus));
	struct device_grants *files = device_grants_new(&s->options.launcher.devices, err);
	int status = -1;

	if (files && find_facts(s, err) == 0 &&
	        gpu_probe_run("", (unsigned)s->options.launcher.gpu_timeout_ms, gpus, err) == 0)
		status = show_inventory(&s->facts, gpus, files, s->options.json, stdout, err);
	device_grants_free(files);
	free(gpus);
	return status;
}

static int run(struct setup *s, struct error *err)
{
	const struct options *o = &s->options;
	int status;

	if (o->inventory)
		return print_inventory(s, err);
	if (prepare(s, err) < 0)
		return -1;
	if (o->test)
		return print_test(s);
	if (log_open(o->log, o->log_level, "gnoded", err) < 0)
		return -1;
	if (o->daemon && daemon_detach(&s->ready_fd, err) < 0)
		return -1;
	if (pidfile_open(o->pid_file, "agent", &s->pidfile, err) < 0)
		return -1;
	status = pidfile_write(s->pidfile, err);
	if (status == 0)
		status = o->simulate ? run_simulation(s, err) : run_node(s, err);
	pidfile_close(s->pidfile);
	return status;
}

int main(int argc, char **argv)
{
	struct setup s = { .ready_fd = -1 };
	struct error err = { 0 };
	int status;

	driver_process_main(argc, argv);
	options_parse(&s.options, argc, argv);
	status = run(&s, &err);
	if (status < 0) {
		fprintf(stderr, "gnoded: error: %s\n", err.text);
		if (*err.hint)
			fprintf(stderr, "hint: %s\n", err.hint);
		status = error_exit_status(err.code);
	}
	free(s.shepherd);
	conf_client_clear(&s.client);
	options_clear(&s.options);
	return status;
}
