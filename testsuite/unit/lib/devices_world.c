/* devices_world.c - see devices_world.h */
#include "testsuite/unit/lib/devices_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/core/nodes/devices_list.h"

const char *devices_boot = "boot";

struct core_event devices_event(struct world *w, const struct gpu_found *gpus, size_t n)
{
	struct core_event e = { .kind = EV_AGENT_UP };

	e.agent_up.session = w->next_session++;
	e.agent_up.boot_id = devices_boot;
	e.agent_up.incarnation = "inc1";
	e.agent_up.version = e.agent_up.containment = "";
	e.agent_up.cpus = 8;
	e.agent_up.mem_mb = 65536;
	e.agent_up.gpus = gpus;
	e.agent_up.n_gpus = n;
	e.agent_up.gpus_asked = true;
	return e;
}

void devices_found_with(
        struct world *w, const char *found, const struct run_report *runs, size_t n_runs)
{
	struct core_event e;
	struct gpu_found gpus[64];
	char text[2048];
	char *save = NULL;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", found ? found : "");
	for (char *word = strtok_r(text, ";", &save); word; word = strtok_r(NULL, ";", &save)) {
		char *type = strchr(word, ':') ? strchr(word, ':') + 1 : word;
		char *uuid = strchr(word, '/') + 1, *trouble = strchr(uuid, '/');

		uuid[-1] = '\0';
		if (trouble)
			*trouble++ = '\0';
		gpus[n++] = (struct gpu_found){ .type = type,
			.uuid = uuid,
			.trouble = trouble,
			.of = "h100",
			.host = type == word ? 0 : (uint32_t)atoi(word),
			.mig = !strncmp(uuid, "MIG-", 4) };
	}
	e = devices_event(w, gpus, n);
	e.agent_up.gpus_asked = found != NULL;
	e.agent_up.runs = runs;
	e.agent_up.n_runs = n_runs;
	world_apply(w, &e);
	world_schedule(w);
}

void devices_found(struct world *w, const char *found)
{
	devices_found_with(w, found, NULL, 0);
}

const char *devices_note(struct world *w)
{
	return world_node_view(w, 0).gpu_note;
}

uint32_t devices_usable(struct world *w, const char *type)
{
	struct node_view v = world_node_view(w, 0);

	for (size_t i = 0; i < v.n_gpus; i++) {
		if (strcmp(v.gpus[i].type, type) == 0)
			return v.gpus[i].free;
	}
	return 0;
}

const char *devices_of(struct world *w, uint64_t job)
{
	static char text[400];
	struct run_view v;
	char uuid[DEVICE_UUID_MAX];
	size_t n = 0;

	assert_true(core_run_view(w->core, world_run(w, job), w->now, &v));
	text[0] = '\0';
	for (uint32_t i = 0; i < 64; i++) {
		if (!(v.gpus >> i & 1))
			continue;
		device_uuid(v.gpu_uuids, i, uuid);
		n += (size_t)snprintf(text + n, sizeof(text) - n, n ? ",%s" : "%s", uuid);
	}
	return text;
}

uint32_t devices_total(struct world *w, const char *type)
{
	struct node_view v = world_node_view(w, 0);

	for (size_t i = 0; i < v.n_gpus; i++) {
		if (strcmp(v.gpus[i].type, type) == 0)
			return v.gpus[i].total;
	}
	return 0;
}
