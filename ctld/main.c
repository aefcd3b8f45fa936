/* main.c - gctld, the controller: options, and what they make of it */
#include "config.h"

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/base/daemon.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/pidfile.h"
#include "common/base/units.h"
#include "common/conf/conf.h"
#include "ctld/become.h"
#include "ctld/ctld.h"
#include "ctld/loop/recorder.h"
#include "ctld/verify.h"

#define DEFAULT_CONF SYSCONFDIR "/gpusched/gpusched.conf"

enum action { RUN, TEST_CONFIG, SHOW_CONFIG, LIST_KEYS, LIST_FAILPOINTS, VERIFY };

struct options {
	const char *conf, *verify;
	enum action action;
	bool detach;
	struct ctld_options ctld;
};

enum {
	OPT_FOREGROUND = 256,
	OPT_DAEMON,
	OPT_TEST_CONFIG,
	OPT_SHOW_CONFIG,
	OPT_LIST_KEYS,
	OPT_LIST_FAILPOINTS,
	OPT_TAKEOVER,
	OPT_RECORD,
	OPT_RECORD_MARKS,
	OPT_VERIFY,
};

static const struct argp_option option_rows[] = {
	{ "config", 'f', "FILE", 0, "Read FILE instead of " DEFAULT_CONF, 0 },
	{ "foreground", OPT_FOREGROUND, NULL, 0, "Stay in the foreground (the default)", 0 },
	{ "daemon", OPT_DAEMON, NULL, 0, "Go on in the background once it is ready for work", 0 },
	{ "takeover", OPT_TAKEOVER, NULL, 0,
	        "After a restored backup: take charge above every epoch and job id that agents "
	        "report",
	        0 },
	{ "record", OPT_RECORD, "FILE", 0,
	        "Write all that the scheduler is given to FILE, for gsim to replay", 0 },
	{ "record-marks", OPT_RECORD_MARKS, "N", 0,
	        "Write a hash of the whole state there after every N events (default 1000)", 0 },
	{ "test-config", OPT_TEST_CONFIG, NULL, 0,
	        "Check the configuration (or FILE), report all mistakes, and exit", 1 },
	{ "show-config", OPT_SHOW_CONFIG, NULL, 0,
	        "Print every value as it takes effect, defaults included, and exit", 1 },
	{ "verify", OPT_VERIFY, "FILE", 0,
	        "Check a backup of the state with all that a start checks, and exit", 1 },
	{ "list-keys", OPT_LIST_KEYS, NULL, 0, "Print all keys of the configuration and exit", 1 },
	{ "list-failpoints", OPT_LIST_FAILPOINTS, NULL, 0,
	        "Print the names of the points at which tests can kill a daemon and exit", 1 },
	{ 0 },
};

/* What an option sets, where that is a value of its own. */
static const struct setting {
	int key;
	enum { SET_TEXT, SET_YES, SET_NO, SET_ACTION } kind;
	size_t at; /* offset in struct options */
	enum action action;
} settings[] = {
	{ 'f', SET_TEXT, offsetof(struct options, conf), RUN },
	{ OPT_FOREGROUND, SET_NO, offsetof(struct options, detach), RUN },
	{ OPT_DAEMON, SET_YES, offsetof(struct options, detach), RUN },
	{ OPT_TAKEOVER, SET_YES, offsetof(struct options, ctld.takeover), RUN },
	{ OPT_RECORD, SET_TEXT, offsetof(struct options, ctld.record), RUN },
	{ OPT_TEST_CONFIG, SET_ACTION, 0, TEST_CONFIG },
	{ OPT_SHOW_CONFIG, SET_ACTION, 0, SHOW_CONFIG },
	{ OPT_VERIFY, SET_TEXT, offsetof(struct options, verify), VERIFY },
	{ OPT_LIST_KEYS, SET_ACTION, 0, LIST_KEYS },
	{ OPT_LIST_FAILPOINTS, SET_ACTION, 0, LIST_FAILPOINTS },
};

static bool set_option(struct options *o, int key, const char *arg)
{
	size_t i = 0;
	void *at;

	while (i < sizeof(settings) / sizeof(settings[0]) && settings[i].key != key)
		i++;
	if (i == sizeof(settings) / sizeof(settings[0]))
		return false;
	at = (char *)o + settings[i].at;
	if (settings[i].kind == SET_TEXT)
		*(const char **)at = arg;
	else if (settings[i].kind != SET_ACTION)
		*(bool *)at = settings[i].kind == SET_YES;
	if (settings[i].action != RUN)
		o->action = settings[i].action;
	return true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct error err;

	if (set_option(o, key, arg))
		return 0;
	if (key == OPT_RECORD_MARKS) {
		if (count_parse(arg, 1, UINT32_MAX, &o->ctld.record_marks, &err)) {
			error_wrap(&err, "--record-marks=%s", arg);
			argp_error(state, "%s", err.text);
		}
		return 0;
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if ((o->action != TEST_CONFIG && o->action != SHOW_CONFIG) || state->arg_num > 0)
		argp_error(state, "%s: only --test-config and --show-config take a FILE", arg);
	o->conf = arg;
	return 0;
}

static const struct argp argp = {
	.options = option_rows,
	.parser = parse_option,
	.args_doc = "\n--test-config [FILE]\n--show-config [FILE]",
	.doc = "gctld - the controller of a gpusched cluster",
};

/* --- the actions --------------------------------------------------------------------------- */

/* Print the mistakes as FILE:LINE: text. */
static struct conf *read_conf(const char *path)
{
	struct conf_problems problems = { NULL, 0 };
	struct conf *conf = conf_load(path, &problems);

	for (size_t i = 0; i < problems.n; i++)
		if (problems.v[i].line)
			fprintf(stderr, "%s:%u: %s\n", problems.v[i].file, problems.v[i].line,
			        problems.v[i].text);
		else
			fprintf(stderr, "%s: %s\n", problems.v[i].file, problems.v[i].text);
	if (!conf)
		fprintf(stderr, "%zu error%s; the running configuration is untouched\n", problems.n,
		        problems.n == 1 ? "" : "s");
	conf_problems_clear(&problems);
	return conf;
}

static int test_config(const struct options *o)
{
	struct conf *conf = read_conf(o->conf);

	if (!conf)
		return EXIT_REFUSED;
	printf("%s: no mistakes: cluster %s, %zu nodes, %zu partitions\n", o->conf, conf->cluster,
	        conf->n_nodes, conf->n_partitions);
	conf_free(conf);
	return EXIT_DONE;
}

static int show_config(const struct options *o)
{
	struct conf *conf = read_conf(o->conf);

	if (!conf)
		return EXIT_REFUSED;
	conf_print(conf, stdout);
	conf_free(conf);
	return EXIT_DONE;
}

static int list_keys(const struct options *o)
{
	(void)o;
	conf_print_keys(stdout);
	return EXIT_DONE;
}

static int list_failpoints(const struct options *o)
{
	(void)o;
#ifdef ENABLE_FAILPOINTS /* without them there are none */
	failpoint_list(stdout);
#endif
	return EXIT_DONE;
}

static void fail(const struct error *err)
{
	fprintf(stderr, "gctld: error: %s\n", err->text);
	if (err->hint[0])
		fprintf(stderr, "hint: %s\n", err->hint);
}

static int verify(const struct options *o)
{
	struct conf *conf = read_conf(o->conf);
	struct error err;
	char *told;
	int rc;

	if (!conf)
		return EXIT_REFUSED;
	rc = verify_state(conf, o->verify, &told, &err);
	conf_free(conf);
	if (rc < 0) {
		fail(&err);
		return EXIT_REFUSED;
	}
	puts(told);
	free(told);
	return EXIT_DONE;
}

/* Change to controller.user, and open the log. */
static int become_daemon(const struct conf *conf, struct pidfile **pidfile, struct error *err)
{
	if (pidfile_open(conf->controller.pid_file, "controller", pidfile, err) ||
	        become_user(conf->controller.user, err))
		return -1;
	daemon_keep_secrets();
	if (log_open(conf->controller.log, conf->controller.log_level, "gctld", err))
		return -1;
	return log_start_writer(err);
}

static int start(const struct ctld_options *o, struct conf *conf, int ready,
        struct pidfile **pidfile, struct error *err)
{
	bool log_elsewhere = strcmp(conf->controller.log, "stderr") != 0;
	struct ctld *c;

	if (become_daemon(conf, pidfile, err)) {
		conf_free(conf);
		return -1;
	}
	c = ctld_new(conf, o, err);
	if (!c || pidfile_write(*pidfile, err)) {
		ctld_free(c);
		if (log_elsewhere)
			log_error("%s", err->text);
		return -1;
	}
	log_flush(); /* the starting process sees all messages */
	daemon_ready(ready, "ready");
	ctld_run(c);
	ctld_free(c);
	return 0;
}

static int run(const struct options *o)
{
	char *path = realpath(o->conf, NULL), *record = daemon_path(o->ctld.record);
	struct conf *conf = read_conf(path ? path : o->conf);
	struct ctld_options how = o->ctld;
	struct pidfile *pidfile = NULL;
	int ready = -1, ret = EXIT_REFUSED;
	struct error err;

	how.conf_path = path;
	how.record = record;
	daemon_keep_secrets();
	if (!conf) {
		/* what is wrong was said */
	} else if (o->detach && daemon_detach(&ready, &err)) {
		conf_free(conf);
		fail(&err);
	} else if (start(&how, conf, ready, &pidfile, &err)) {
		fail(&err);
	} else {
		log_info("ended");
		ret = EXIT_DONE;
	}
	pidfile_close(pidfile);
	log_close();
	free(path);
	free(record);
	return ret;
}

static int (*const actions[])(const struct options *o) = {
	[RUN] = run,
	[TEST_CONFIG] = test_config,
	[SHOW_CONFIG] = show_config,
	[LIST_KEYS] = list_keys,
	[LIST_FAILPOINTS] = list_failpoints,
	[VERIFY] = verify,
};

int main(int argc, char **argv)
{
	struct options o = { .conf = DEFAULT_CONF, .ctld.record_marks = RECORDER_MARKS };

	argp_program_version = "gctld (gpusched) " PACKAGE_VERSION;
	argp_err_exit_status = EXIT_USAGE;
	if (sodium_init() < 0) {
		fputs("gctld: error: libsodium does not start\n", stderr);
		return EXIT_REFUSED;
	}
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	return actions[o.action](&o);
}
