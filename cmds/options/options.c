/* options.c - see options.h */
#include "cmds/options/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/api/spec.h"
#include "cmds/cli/cmd.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

void options_init(struct submit_options *o)
{
	*o = (struct submit_options){ .requeue_delay_s = REQUEUE_DELAY_DEFAULT };
	service_options_init(&o->service);
}

void options_clear(struct submit_options *o)
{
	char *texts[] = { o->name, o->partition, o->account, o->qos, o->gpus, o->input, o->output,
		o->error, o->chdir, o->export, o->token, o->wrap, o->bulk, o->constraint, o->prefer,
		o->nodelist, o->exclude, o->licences, o->dependency, o->remark, o->mail_user,
		o->mail_type, o->requeue_on, o->array, o->clusters };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	for (size_t i = 0; i < o->n_labels; i++)
		free(o->labels[i]);
	for (size_t i = 0; i < OPTIONS_GPUS_WAYS; i++)
		free(o->gpus_said[i].text);
	service_options_clear(&o->service);
	if (o->component) {
		options_clear(o->component);
		free(o->component);
	}
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

int options_check_cluster(const struct submit_options *o, const char *cluster, struct error *err)
{
	size_t len;

	for (const char *s = o->clusters ? o->clusters : ""; *s; s += len + (s[len] == ',')) {
		len = strcspn(s, ",");
		if ((strlen(cluster) == len && !strncasecmp(s, cluster, len)) ||
		        (len == 3 && !strncasecmp(s, "all", 3)))
			continue;
		error_set(err, ERR_USAGE, "--clusters=%.80s: this is cluster %s", o->clusters,
		        cluster);
		return error_hint(err, "GPUSCHED_CONTROLLER names another cluster's controller");
	}
	return 0;
}

char *options_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[OPTIONS_TEXT_MAX + 1];

	path = slash && slash[1] ? slash + 1 : path;
	text_escape(name, sizeof(name), path, strlen(path));
	return xstrdup(name);
}

#define COPY(field) s->field = o->field;

void options_ask(const struct submit_options *o, struct gpusched_spec *s)
{
	SPEC_NUMBERS(COPY)
	SPEC_TEXTS(COPY)
	s->gpus = o->gpus;
	s->gpu_link = o->gpu_link;
	s->comment = o->remark;
	s->steps = o->steps ? 1 : 0;
	s->requeue_delay_s = o->requeue_delay_s;
	if (o->requeue_delay_s == REQUEUE_DELAY_DEFAULT)
		s->requeue_delay_s = o->requeue_on && *o->requeue_on ? REQUEUE_DELAY_S : 0;
	s->max_attempts = o->max_attempts;
	s->kill_invalid_dep = (int32_t)o->kill_invalid;
	s->labels = (const char *const *)o->labels;
}
