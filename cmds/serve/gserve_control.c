/* gserve_control.c - gserve scale, pause, resume, undo, wake, stop, update */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmds/cli/jsonout.h"
#include "cmds/options/options.h"
#include "cmds/serve/gserve.h"
#include "cmds/submit/gsubmit.h"
#include "common/base/units.h"

#define VERB(name) GPUSCHED__SERVICE_CONTROL__VERB__##name
#define KEPT_AS_IS UINT32_MAX

static const struct {
	const char *word;
	Gpusched__ServiceControl__Verb verb;
	const char *done;
} verbs[] = {
	{ "scale", VERB(SCALE), "Scaled" },
	{ "pause", VERB(PAUSE), "Paused" },
	{ "resume", VERB(RESUME), "Resumed" },
	{ "undo", VERB(UNDO), "Undoing the update of" },
	{ "wake", VERB(WAKE), "Waking" },
	{ "stop", VERB(STOP), "Stopping" },
};

static size_t verb_of(const char *word)
{
	size_t i = 0;

	while (strcmp(verbs[i].word, word) != 0)
		i++;
	return i;
}

/* Apply it to each service of the command line, and print each refusal. Returns the first error. */
static int control_each(struct gserve *g, Gpusched__ServiceControl *m, size_t n, struct error *err)
{
	size_t verb = verb_of(g->verb->word);
	struct client *c = client_new(NULL, err);
	struct jsonout out;
	struct error first = { .code = ERR_NONE }, why;

	if (!c)
		return -1;
	cmd_tell_retry(&serve_cmd, c);
	cmd_tell_warnings(&serve_cmd, c);
	jsonout_begin(&out, stdout, client_conf(c)->cluster, "services");
	m->verb = verbs[verb].verb;
	m->reason = (char *)(g->reason ? g->reason : "");
	for (size_t i = 0; i < n; i++) {
		m->name = g->names[i];
		if (service_control(c, m, &why) < 0) {
			if (first.code)
				cmd_fail(&serve_cmd, &why);
			else
				first = why;
		} else if (g->listing.json) {
			jsonout_object(&out,
			        json_pack("{s:s,s:s}", "name", m->name, "verb", verbs[verb].word));
		} else {
			printf("%s service %s\n", verbs[verb].done, m->name);
		}
	}
	if (g->listing.json)
		jsonout_end(&out, first.code ? &first : NULL);
	client_free(c);
	if (!first.code)
		return EXIT_DONE;
	*err = first;
	return -1;
}

int serve_control(struct gserve *g, struct error *err)
{
	Gpusched__ServiceControl m = GPUSCHED__SERVICE_CONTROL__INIT;

	return control_each(g, &m, g->n, err);
}

/* N or MIN-MAX, as --replicas has it. */
static int take_replicas(const char *value, Gpusched__ServiceControl *m, struct error *err)
{
	const struct option_row *row = option_by_name("replicas", strlen("replicas"));
	struct submit_options o;
	int rc;

	options_init(&o);
	rc = row->set(&o, row, value, err);
	m->min = o.service.min;
	m->max = o.service.max;
	options_clear(&o);
	if (rc < 0) {
		cmd_blame("REPLICAS", value, err);
		return strcmp(value, "0") ? -1
		                          : error_hint(err, "gserve pause NAME ends all of them");
	}
	return 0;
}

int serve_scale(struct gserve *g, struct error *err)
{
	Gpusched__ServiceControl m = GPUSCHED__SERVICE_CONTROL__INIT;
	uint64_t kept = KEPT_AS_IS;

	if (take_replicas(g->names[1], &m, err) < 0)
		return -1;
	if (g->kept && count_parse(g->kept, 0, SERVICE_REPLICAS_MAX, &kept, err) < 0)
		return cmd_blame("--kept", g->kept, err);
	if (g->kept && kept > m.max)
		return error_set(err, ERR_USAGE, "--kept=%s: there are fewer replicas", g->kept);
	m.kept = (uint32_t)kept;
	return control_each(g, &m, 1, err);
}

/* --- update ---------------------------------------------------------------------------------- */

static const char update_help[] =
        "The options are gsubmit's, and those of the script count too. What is not said stays as "
        "the present generation has it: what it asks of nodes, ports, probes, the number of "
        "replicas. Output files, the folder and the environment are those of now.\n"
        "\n"
        "A replica of the next generation starts beside the present ones (--surge), is ready for "
        "some time (--settle), and then one of the present generation ends. When three in a row "
        "end without ever having been ready, the update is given up, and the present generation "
        "stays.\n"
        "\n"
        "Examples:\n"
        "  gserve update chat new.sh\n"
        "  gserve update chat --replicas=2-16 --target=32 new.sh\n"
        "  gserve update chat --test-only new.sh   is there room for one more replica?\n"
        "  gserve undo chat\n"
        "\n"
        "Exit status: 0 submitted; 1 refused; 2 usage; 3 no such service, partition or GPU type; "
        "4 the controller was not reached; 5 not permitted.";

int serve_update(int argc, char **argv)
{
	struct gsubmit_manner manner = { .name = "gserve update", .update = true };

	gsubmit_cmd.arguments = "NAME [OPTION...] SCRIPT [ARGUMENT...]";
	gsubmit_cmd.about = "Replace the replicas of a service one after another by those of "
	                    "another script.";
	gsubmit_cmd.examples = update_help;
	return gsubmit_main(&manner, argc, argv);
}
