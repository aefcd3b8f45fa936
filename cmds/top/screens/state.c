/* state.c - see state.h */
#include "cmds/top/screens/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define NOTE_US 8000000

void state_begin(struct state *s, uid_t uid, const char *cluster)
{
	*s = (struct state){ .uid = uid, .at = SCREEN_MAP };
	snprintf(s->cluster, sizeof(s->cluster), "%s", cluster);
}

void state_clear(struct state *s)
{
	state_popup_close(s);
	for (size_t i = 0; i < SCREENS; i++)
		rows_clear(&s->jobs[i].rows);
	free(s->accounts);
	model_clear(&s->model);
	*s = (struct state){ 0 };
}

int64_t state_shown_us(const struct state *s)
{
	return s->paused ? s->paused_us : s->now_us;
}

void state_send(struct state *s, const struct command *command)
{
	if (s->send)
		s->send(command, s->send_arg);
}

void state_note(struct state *s, bool bad, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->note, sizeof(s->note), fmt, ap);
	va_end(ap);
	s->note_bad = bad;
	s->note_until_us = s->now_us + NOTE_US;
}

/* --- the popup -------------------------------------------------------------------------------- */

static void drop_lines(struct popup *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->lines[i]);
	free(p->lines);
	p->lines = NULL;
	p->n = 0;
	p->cols = 0;
}

void state_popup_close(struct state *s)
{
	drop_lines(&s->popup);
	s->popup = (struct popup){ 0 };
}

void state_popup(struct state *s, enum popup_kind kind, const char *title)
{
	state_popup_close(s);
	s->popup.kind = kind;
	snprintf(s->popup.title, sizeof(s->popup.title), "%s", title);
}

void state_popup_lines(struct state *s, char *text)
{
	struct popup *p = &s->popup;
	size_t room = 0;

	drop_lines(p);
	for (char *at = text; *at;) {
		size_t len = strcspn(at, "\n");

		*XADD(p->lines, p->n, room) = xstrndup(at, len);
		at += len + (at[len] == '\n');
	}
	free(text);
}

/* --- updates ---------------------------------------------------------------------------------- */

void state_apply(struct state *s, struct update *u)
{
	bool why = u->kind == UPDATE_WHY;

	if (u->kind == UPDATE_DONE && u->text)
		state_note(s, !u->ok, "%s", u->text);
	model_apply(&s->model, u);
	if (why && s->popup.kind == POPUP_WHY) {
		s->popup.waits = false;
		s->popup.cols = 0;
	}
}
