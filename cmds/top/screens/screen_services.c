/* screen_services.c - see screen_services.h */
#include "cmds/top/screens/screen_services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/views/serviceview.h"

static const struct list_kind kinds = { { &service_kind } };

static bool is_shown(const struct state *s, const Gpusched__Service *service)
{
	const struct row_filter *f = &s->filter;

	return (!*f->account || !strcmp(service->account, f->account)) &&
	       (!*f->user || !strcmp(service->user, f->user)) &&
	       (!*f->partition || !strcmp(service->partition, f->partition)) &&
	       (!*f->text || strcasestr(service->name, f->text) ||
	               strcasestr(service->user, f->text) || strcasestr(service->state, f->text));
}

/* The i-th that fits the filter; NULL. */
static const Gpusched__Service *service_at(const struct state *s, size_t i)
{
	for (size_t k = 0; k < s->model.services.n; k++) {
		const Gpusched__Service *service =
		        (const Gpusched__Service *)s->model.services.v[k];

		if (is_shown(s, service) && !i--)
			return service;
	}
	return NULL;
}

static bool row(size_t i, const void *objects[LIST_OBJECTS], void *arg)
{
	objects[0] = service_at(arg, i);
	return objects[0] != NULL;
}

void screen_services_draw(struct state *s, struct grid *g, struct area a)
{
	struct list_state *list = &s->lists[SCREEN_SERVICES];
	struct list_source source = { 0, row, NULL, s };

	list_view_use(&list->view, &kinds, service_kind.standard);
	while (service_at(s, source.n))
		source.n++;
	list->n = source.n;
	list->page = a.rows > 1 ? a.rows - 1 : 1;
	list_draw(&list->view, g, a, &source, &list->cursor);
	if (!source.n && a.rows > 1)
		grid_text(g, a.row + 1, a.col, a.cols, LOOK_DIM,
		        s->model.services.n ? "no service fits the filter" : "there is no service");
}

/* What waits of its replicas. */
struct job_key screen_services_job(const struct state *s)
{
	const Gpusched__Service *service = service_at(s, s->lists[SCREEN_SERVICES].cursor.index);

	return (struct job_key){ service ? service->job : 0, JOB_WAITING_TASKS };
}

void screen_services_enter(struct state *s)
{
	const Gpusched__Service *service = service_at(s, s->lists[SCREEN_SERVICES].cursor.index);
	char *text = NULL;
	size_t len;
	FILE *out = service ? open_memstream(&text, &len) : NULL;

	if (!out)
		return;
	view_print_record(&service_kind, service, out);
	fclose(out);
	state_popup(s, POPUP_TEXT, "Service");
	state_popup_lines(s, text);
}
