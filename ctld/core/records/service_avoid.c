/* service_avoid.c - nodes on which replicas of a service do badly; see service.h */
#include "ctld/core/records/service.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* The entry of that node moves to the end of the list. In a full list the first one is replaced. */
static struct service_avoid *entry(struct service_link *l, const char *node)
{
	struct service_avoid *v = l->avoids, found;
	uint32_t i = 0;

	while (i < l->n_avoids && strcmp(v[i].node, node) != 0)
		i++;
	if (i == l->n_avoids && i < SERVICE_AVOIDS_MAX) {
		v[i] = (struct service_avoid){ .node = xstrdup(node) };
		l->n_avoids++;
		return &v[i];
	}
	if (i == l->n_avoids) {
		free(v[0].node);
		v[i = 0] = (struct service_avoid){ .node = xstrdup(node) };
	}
	found = v[i];
	memmove(&v[i], &v[i + 1], (l->n_avoids - i - 1) * sizeof(*v));
	v[l->n_avoids - 1] = found;
	return &v[l->n_avoids - 1];
}

void service_note_unready(struct service *s, const char *node, usec_t ready_since, usec_t mono)
{
	struct service_avoid *a = entry(service_link(s), node);

	if (ready_since && mono - ready_since >= (usec_t)SERVICE_LASTING_S * 1000000)
		a->times = 0;
	a->times++;
	if (a->times < SERVICE_AVOID_AT)
		return;
	a->said &= a->until > mono;
	a->until = mono + (usec_t)SERVICE_AVOID_S * 1000000;
}

void service_forget_avoids(struct service *s)
{
	struct service_link *l = service_link(s);

	while (l->n_avoids)
		free(l->avoids[--l->n_avoids].node);
}
