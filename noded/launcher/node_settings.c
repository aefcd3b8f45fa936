/* node_settings.c - see node_settings.h, effective_limits.h
 *
 * NodeSettings comes after each registration and after a change of the configuration. It is kept in
 * SPOOL/settings, so that a restarted launcher follows it before any controller is connected. If it
 * changes the containment the node registers again. If less containment is active than is demanded,
 * nothing is started, whatever the controller orders. Nothing is started either while a program
 * that it names may not be run (effective_limits.h), which is reported as the node's health.
 */
#include "config.h"

#include "noded/launcher/node_settings.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/event_end.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/effective_limits.h"
#include "noded/launcher/node_report.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/health_check.h"
#include "noded/watch/usage_sampling.h"

#define SETTINGS_FILE "settings"
#define RECHECK_S     10 /* at the latest; sooner if health checks are more frequent */

struct settings {
	Gpusched__NodeSettings *told; /* by the controller; NULL: none yet */
	struct effective_limits limits;
	struct event *recheck; /* of programs that may not be run; NULL: never needed yet */
};

static void make_limits(struct launcher *l)
{
	struct settings *s = l->settings;
	struct strbuf refused = { 0 };

	effective_limits_clear(&s->limits);
	effective_limits_make(l->options, s->told, &s->limits, &refused);
	if (refused.len)
		log_warning("of what the controller says of this node is left out: %s", refused.s);
	strbuf_free(&refused);
}

void settings_load(struct launcher *l)
{
	struct settings *s = l->settings = xcalloc(1, sizeof(*s));
	ProtobufCMessage *m = NULL;
	struct error err;

	if (record_read(l->dirs->spool, SETTINGS_FILE, &gpusched__node_settings__descriptor, &m,
	            &err) < 0)
		log_error("what the controller has said of this node: %s", err.text);
	s->told = (Gpusched__NodeSettings *)m;
	l->limits = &s->limits;
	make_limits(l);
}

static void free_told(struct settings *s)
{
	if (s->told)
		protobuf_c_message_free_unpacked(&s->told->base, NULL);
	effective_limits_clear(&s->limits);
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	event_end(s->recheck);
	free_told(s);
	free(s);
}

/* --- reasons to start nothing ----------------------------------------------------------------- */

int settings_allow(const struct launcher *l, struct error *err)
{
	if (*l->containment->lacks)
		return error_set(err, ERR_LAUNCH, "containment: %s not active: %s",
		        l->containment->lacks, l->containment->active_why);
	if (*l->limits->programs_why)
		return error_set(err, ERR_LAUNCH, "%s", l->limits->programs_why);
	return 0;
}

void settings_log(const struct launcher *l)
{
	struct error err;

	if (settings_allow(l, &err) < 0)
		log_error("nothing is started here: %s", err.text);
	else
		log_info("all that gpusched.conf demands of how runs are held here is there");
}

static void recheck_programs(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	char why[sizeof(l->limits->programs_why)];

	(void)fd;
	(void)what;
	memcpy(why, l->limits->programs_why, sizeof(why));
	effective_limits_make_programs(l->options, l->settings->told, &l->settings->limits);
	health_follow(l);
	settings_watch(l);
	if (strcmp(why, l->limits->programs_why) != 0) {
		settings_log(l);
		node_report_send(l);
	}
}

void settings_watch(struct launcher *l)
{
	struct settings *s = l->settings;
	uint64_t often = l->limits->health_interval_s;
	const struct timeval soon = { .tv_sec = often && often < RECHECK_S ? (time_t)often
		                                                           : RECHECK_S };

	if (!s->recheck && !(s->recheck = evtimer_new(l->base, recheck_programs, l)))
		abort();
	if (*l->limits->programs_why)
		evtimer_add(s->recheck, &soon);
	else
		evtimer_del(s->recheck);
}

/* --- new settings ----------------------------------------------------------------------------- */

/* As bytes, without the epoch. */
static uint8_t *pack_settings(const Gpusched__NodeSettings *m, size_t *len)
{
	Gpusched__NodeSettings copy =
	        m ? *m : (Gpusched__NodeSettings)GPUSCHED__NODE_SETTINGS__INIT;
	uint8_t *bytes;

	copy.epoch = 0;
	*len = gpusched__node_settings__get_packed_size(&copy);
	bytes = xcalloc(*len + 1, 1);
	gpusched__node_settings__pack(&copy, bytes);
	return bytes;
}

/* True: the settings have changed. Keeps a copy of them. */
static bool replace_settings(struct launcher *l, const Gpusched__NodeSettings *m)
{
	struct settings *s = l->settings;
	size_t n_old, n_new;
	uint8_t *old = pack_settings(s->told, &n_old), *new = pack_settings(m, &n_new);
	bool other = n_old != n_new || memcmp(old, new, n_new) != 0;

	if (other) {
		free_told(s);
		s->told = gpusched__node_settings__unpack(NULL, n_new, new);
		make_limits(l);
	}
	free(old);
	free(new);
	return other;
}

void settings_receive(struct launcher *l, const Gpusched__NodeSettings *m)
{
	char active[sizeof(l->containment->active)], lacks[sizeof(l->containment->lacks)];
	char programs_why[sizeof(l->limits->programs_why)];
	struct error err;

	memcpy(programs_why, l->limits->programs_why, sizeof(programs_why));
	if (!replace_settings(l, m))
		return;
	health_follow(l);
	settings_watch(l);
	if (record_write(
	            l->dirs->spool, SETTINGS_FILE, &l->settings->told->base, RECORD_SYNC, &err) < 0)
		log_error("what the controller says of this node: %s", err.text);
	memcpy(active, l->containment->active, sizeof(active));
	memcpy(lacks, l->containment->lacks, sizeof(lacks));
	containment_follow(l);
	usage_sampling_period(l);
	gpu_inventory_period(l);
	log_info("the controller says how runs are held here; active: %s", l->containment->active);
	if (strcmp(active, l->containment->active) == 0 &&
	        strcmp(lacks, l->containment->lacks) == 0 &&
	        strcmp(programs_why, l->limits->programs_why) == 0)
		return;
	settings_log(l);
	node_report_send(l);
}
