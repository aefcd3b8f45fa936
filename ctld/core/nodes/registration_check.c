/* registration_check.c - see registration_check.h
 *
 * The texts of all that is missing are joined, and are the node's `invalid`; "" if nothing is.
 */
#include "ctld/core/nodes/registration_check.h"

#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "ctld/core/nodes/devices.h"
#include "ctld/core/nodes/discovered_hardware.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"

/* "CPUs 4 instead of 8", with a comma before it if something was said already. Returns the new
 * length, which may exceed the size of the text. */
static size_t say_short(char *text, size_t size, size_t used, const char *what, const char *found,
        const char *wanted)
{
	if (used + 1 >= size)
		return used;
	return used + (size_t)snprintf(text + used, size - used, "%s%s %s instead of %s",
	                      used ? ", " : "", what, found, wanted);
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word), len;

	for (; *words; words += len + strspn(words + len, ", ")) {
		len = strcspn(words, ", ");
		if (len == n && !strncmp(words, word, n))
			return true;
	}
	return false;
}

/* "containment: devices, memory not active: WHY" */
static size_t say_containment(const struct node_link *l, const struct conf_texts *demanded,
        char *text, size_t size, size_t used)
{
	size_t i, before = used, n = 0;

	for (i = 0; i < demanded->n && used < size; i++) {
		if (has_word(l->containment, demanded->v[i]))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s",
		        n++      ? ", "
		        : before ? ", containment: "
		                 : "containment: ",
		        demanded->v[i]);
	}
	if (n && used < size)
		used += (size_t)snprintf(text + used, size - used, " not active%s%s",
		        *l->containment_why ? ": " : "", l->containment_why);
	return used;
}

static bool names_program(const struct conf_agent *a, enum program_kind kind)
{
	return a->programs[kind].path && *a->programs[kind].path;
}

static bool any_program(const struct conf_agent *a)
{
	for (enum program_kind k = 0; k < PROGRAM_RUN_KINDS; k++) {
		if (names_program(a, k))
			return true;
	}
	return false;
}

/* "private, rlimits: its agent (0.3) cannot be told": the settings of confinement that its agent
 * does not know. */
static size_t say_settings(const struct node_link *l, const struct conf_node *conf, char *text,
        size_t size, size_t used)
{
	const struct conf_agent *a = &conf->agent;
	const bool no = l->no_settings;
	const struct {
		const char *key;
		bool untold;
	} keys[] = {
		{ "private", no && a->private_kinds.n },
		{ "rlimits", no && a->rlimits.n },
		{ "max_processes", no && a->max_processes },
		{ "gpu_devices", no && a->gpu_devices && *a->gpu_devices },
		{ "devices", no && a->devices.n },
		{ "share_users", no && conf->share_users == CONF_USERS_ONE },
		{ "programs", l->no_programs && any_program(a) },
		{ "private_tmp", l->no_private_tmp && a->private_tmp_mb },
		{ "health_check", l->no_health_check && names_program(a, PROGRAM_HEALTH) },
	};
	size_t i, before = used, n = 0;

	for (i = 0; i < sizeof(keys) / sizeof(*keys) && used < size; i++) {
		if (keys[i].untold)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
			        n++ || before ? ", " : "", keys[i].key);
	}
	if (n && used < size)
		used += (size_t)snprintf(
		        text + used, size - used, ": its agent (%s) cannot be told", l->version);
	return used;
}

/* Runs of two users that were placed on one GPU would be refused there. */
static size_t say_apart(const struct node_link *l, const struct conf_node *conf, char *text,
        size_t size, size_t used)
{
	if (l->share_users_one && conf->share != CONF_SHARE_NO &&
	        conf->share_users != CONF_USERS_ONE && used < size)
		used += (size_t)snprintf(text + used, size - used,
		        "%sshare_users \"any\": its agent has --share-users=one", used ? ", " : "");
	return used;
}

/* That it is given no work, or is again, and why. */
static void note_invalid(struct core *core, const struct node *node, const char *text)
{
	const char *was = node_link_of(node)->invalid;
	char valid[320];

	snprintf(valid, sizeof(valid), "no longer: %s", was);
	audit_note(core, "node.invalid", NULL, 0, node_info(node)->name, *text ? text : valid);
}

/* What is less than the configuration demands, exactly, is the node's `invalid`; of GPUs, one by
 * one, its gpus_out. */
void node_compare(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	const struct node_info *i = node_info(node);
	const struct conf_node *conf = &core->conf->nodes[l->index];
	char text[300] = "", found[UNITS_TEXT], wanted[UNITS_TEXT];
	size_t used = 0;

	if (i->cpus < conf->cpus) {
		snprintf(found, sizeof(found), "%u", i->cpus);
		snprintf(wanted, sizeof(wanted), "%u", conf->cpus);
		used = say_short(text, sizeof(text), used, "CPUs", found, wanted);
	}
	if (i->mem_mb < conf->mem_mb) {
		snprintf(found, sizeof(found), "%lluM", (unsigned long long)i->mem_mb);
		snprintf(wanted, sizeof(wanted), "%lluM", (unsigned long long)conf->mem_mb);
		used = say_short(text, sizeof(text), used, "memory", found, wanted);
	}
	used = say_containment(l, &conf->agent.containment, text, sizeof(text), used);
	used = say_settings(l, conf, text, sizeof(text), used);
	used = say_apart(l, conf, text, sizeof(text), used);
	if (conf->n_gpus && *l->gpu_trouble && used + 1 < sizeof(text))
		snprintf(text + used, sizeof(text) - used, "%sGPUs: %s", used ? ", " : "",
		        l->gpu_trouble);
	if (strcmp(l->invalid, text) != 0)
		note_invalid(core, node, text);
	node_set_text(core->nodes, &l->invalid, text);
	l->unsettled = false;
	hardware_take(core, node);
	devices_bind(core, node);
}
