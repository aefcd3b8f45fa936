/* settings.c - the controller's settings for this node's runs; see rules.h, lpriv.h
 *
 * NodeSettings comes after each registration and after a change of the configuration. It is kept in
 * SPOOL/settings, so that a restarted launcher follows it before any controller is connected. If it
 * changes the containment the node registers again. If less containment is active than is demanded,
 * nothing is started, whatever the controller orders. Nothing is started either while a program
 * that it names may not be run (rules.h), which is reported as the node's health.
 */
#include "config.h"

#include "noded/launcher/lpriv.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"

#define SETTINGS_FILE "settings"
#define LOOK_AGAIN_S  10 /* at the latest; sooner if health checks are more frequent */

static void make(struct launcher *l)
{
	struct strbuf refused = { 0 };

	rules_clear(&l->rules);
	rules_make(&l->options, l->settings, &l->rules, &refused);
	if (refused.len)
		log_warning("of what the controller says of this node is left out: %s", refused.s);
	strbuf_free(&refused);
}

void settings_load(struct launcher *l)
{
	ProtobufCMessage *m = NULL;
	struct error err;

	if (record_read(l->spool, SETTINGS_FILE, &gpusched__node_settings__descriptor, &m, &err) <
	        0)
		log_error("what the controller has said of this node: %s", err.text);
	l->settings = (Gpusched__NodeSettings *)m;
	make(l);
}

void settings_free(struct launcher *l)
{
	if (l->settings)
		protobuf_c_message_free_unpacked(&l->settings->base, NULL);
	rules_clear(&l->rules);
}

/* --- reasons to start nothing ----------------------------------------------------------------- */

int settings_allow(const struct launcher *l, struct error *err)
{
	if (*l->lacks)
		return error_set(
		        err, ERR_LAUNCH, "containment: %s not active: %s", l->lacks, l->active_why);
	if (*l->rules.programs_why)
		return error_set(err, ERR_LAUNCH, "%s", l->rules.programs_why);
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

static void look_again(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	char why[sizeof(l->rules.programs_why)];

	(void)fd;
	(void)what;
	memcpy(why, l->rules.programs_why, sizeof(why));
	rules_make_programs(&l->options, l->settings, &l->rules);
	health_follow(l);
	settings_watch(l);
	if (strcmp(why, l->rules.programs_why) != 0) {
		settings_log(l);
		gpu_inventory_send(l);
	}
}

void settings_watch(struct launcher *l)
{
	uint64_t often = l->rules.health_interval_s;
	const struct timeval soon = { .tv_sec = often && often < LOOK_AGAIN_S ? (time_t)often
		                                                              : LOOK_AGAIN_S };

	if (!l->programs_event && !(l->programs_event = evtimer_new(l->base, look_again, l)))
		abort();
	if (*l->rules.programs_why)
		evtimer_add(l->programs_event, &soon);
	else
		evtimer_del(l->programs_event);
}

/* --- new settings ----------------------------------------------------------------------------- */

/* As bytes, without the epoch. */
static uint8_t *pack(const Gpusched__NodeSettings *m, size_t *len)
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
static bool replace(struct launcher *l, const Gpusched__NodeSettings *m)
{
	size_t n_old, n_new;
	uint8_t *old = pack(l->settings, &n_old), *new = pack(m, &n_new);
	bool other = n_old != n_new || memcmp(old, new, n_new) != 0;

	if (other) {
		settings_free(l);
		l->settings = gpusched__node_settings__unpack(NULL, n_new, new);
		make(l);
	}
	free(old);
	free(new);
	return other;
}

void settings_take(struct launcher *l, const Gpusched__NodeSettings *m)
{
	char active[sizeof(l->active)], lacks[sizeof(l->lacks)];
	char programs_why[sizeof(l->rules.programs_why)];
	struct error err;

	if (m->epoch < l->max_epoch) {
		log_warning("settings of a controller that is no longer in charge are ignored");
		return;
	}
	memcpy(programs_why, l->rules.programs_why, sizeof(programs_why));
	if (!replace(l, m))
		return;
	health_follow(l);
	settings_watch(l);
	if (record_write(l->spool, SETTINGS_FILE, &l->settings->base, RECORD_SYNC, &err) < 0)
		log_error("what the controller says of this node: %s", err.text);
	memcpy(active, l->active, sizeof(active));
	memcpy(lacks, l->lacks, sizeof(lacks));
	launcher_contain(l);
	usage_loop_period(l);
	gpu_inventory_period(l);
	log_info("the controller says how runs are held here; active: %s", l->active);
	if (strcmp(active, l->active) == 0 && strcmp(lacks, l->lacks) == 0 &&
	        strcmp(programs_why, l->rules.programs_why) == 0)
		return;
	settings_log(l);
	gpu_inventory_send(l);
}
