/* service_bad_nodes.c - nodes on which replicas of a service do badly; see service.h
 *
 * They are kept as a text, "NODE TIMES UNTIL SAID;" each: a service has few of them, and most have
 * none.
 */
#include "ctld/core/records/service.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define AVOID_US ((usec_t)SERVICE_AVOID_S * 1000000)

static void drop(struct service_link *l, uint32_t i)
{
	free(l->avoids[i].node);
	memmove(&l->avoids[i], &l->avoids[i + 1], (--l->n_avoids - i) * sizeof(*l->avoids));
}

/* The entry of that node moves to the end of the list. In a full list the first one is replaced. */
static struct service_avoid *entry(struct service_link *l, const char *node)
{
	struct service_avoid *v = l->avoids, found;
	uint32_t i = 0;

	while (i < l->n_avoids && strcmp(v[i].node, node) != 0)
		i++;
	if (i == l->n_avoids) {
		if (i == SERVICE_AVOIDS_MAX)
			drop(l, 0);
		v[l->n_avoids] = (struct service_avoid){ .node = xstrdup(node) };
		return &v[l->n_avoids++];
	}
	found = v[i];
	memmove(&v[i], &v[i + 1], (l->n_avoids - i - 1) * sizeof(*v));
	v[l->n_avoids - 1] = found;
	return &v[l->n_avoids - 1];
}

void service_note_unready(struct services *all, struct service *s, const char *node,
        usec_t ready_since, struct clocks now)
{
	struct service_avoid *a;

	service_expire_avoids(all, s, now.wall);
	a = entry(service_link(s), node);
	if (ready_since && now.mono - ready_since >= (usec_t)SERVICE_LASTING_S * 1000000)
		a->times = 0;
	a->times++;
	a->until = now.wall + AVOID_US;
	service_set_avoids(all, s);
}

bool service_avoids(const struct service_avoid *a)
{
	return a->times >= SERVICE_AVOID_AT;
}

/* A clock that was set back must not make them last longer than from now. */
void service_expire_avoids(struct services *all, struct service *s, usec_t wall)
{
	struct service_link *l = service_link(s);
	uint32_t was = l->n_avoids, i = 0;

	while (i < l->n_avoids) {
		if (l->avoids[i].until > wall + AVOID_US)
			l->avoids[i].until = wall + AVOID_US;
		if (l->avoids[i].until <= wall)
			drop(l, i);
		else
			i++;
	}
	if (l->n_avoids != was)
		service_set_avoids(all, s);
}

void service_set_said(struct services *all, struct service *s, struct service_avoid *a)
{
	a->said = true;
	service_set_avoids(all, s);
}

void service_forget_avoids(struct service *s)
{
	struct service_link *l = service_link(s);

	while (l->n_avoids)
		free(l->avoids[--l->n_avoids].node);
}

/* --- as a text ------------------------------------------------------------------------------- */

char *service_avoids_text(const struct service_link *l)
{
	struct strbuf text = { 0 };

	for (uint32_t i = 0; i < l->n_avoids; i++) {
		const struct service_avoid *a = &l->avoids[i];

		strbuf_addf(&text, "%s %" PRIu32 " %" PRId64 " %d;", a->node, a->times, a->until,
		        a->said);
	}
	return strbuf_take(&text);
}

/* The number at *at, and the byte behind it, which must be `end`. */
static bool take_number(const char **at, char end, int64_t *out)
{
	char *stop;

	if (**at < '0' || **at > '9')
		return false; /* a sign, or a blank */
	*out = (int64_t)strtoull(*at, &stop, 10);
	if (*out < 0 || *stop != end)
		return false;
	*at = stop + 1;
	return true;
}

int service_read_avoids(struct service_link *l, const char *text, struct error *err)
{
	while (*text) {
		size_t len = strcspn(text, " ;");
		const char *at = text + len + 1;
		int64_t times, until, said;

		if (l->n_avoids == SERVICE_AVOIDS_MAX || !len || text[len] != ' ' ||
		        !take_number(&at, ' ', &times) || !take_number(&at, ' ', &until) ||
		        !take_number(&at, ';', &said) || times > UINT32_MAX)
			return error_set(
			        err, ERR_INTERNAL, "nodes that a service avoids: %.64s", text);
		l->avoids[l->n_avoids++] = (struct service_avoid){ .node = xstrndup(text, len),
			.times = (uint32_t)times,
			.until = until,
			.said = said != 0 };
		text = at;
	}
	return 0;
}
