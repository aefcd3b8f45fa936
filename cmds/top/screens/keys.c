/* keys.c - see keys.h */
#include "cmds/top/screens/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "cmds/top/screens/popup.h"
#include "cmds/top/screens/screen.h"
#include "cmds/views/views.h"

#define CTRL(c) ((c)&0x1f)

/* --- jobs ------------------------------------------------------------------------------------- */

static const struct top_job *job_here(struct state *s)
{
	const struct screen *screen = &screens[s->at];
	struct job_key key = screen->job ? screen->job(s) : (struct job_key){ 0 };
	const struct top_job *job = jobs_find(&s->model.jobs, key);

	if (!job)
		state_note(s, true, "there is no job under the cursor");
	return job;
}

/* The job and, of an array, its selected tasks. -1: they are more than one request may name. */
static int name_job(struct state *s, const struct top_job *job, struct command *c)
{
	Gpusched__Job *m = top_job_unpack(job, s->now_us);
	bool whole = m && m->n_cut == 0 && strlen(m->tasks) < sizeof(c->tasks);

	c->key = job->key;
	if (whole)
		strcpy(c->tasks, m->tasks);
	else
		state_note(s, true, "too many tasks to name: use gcancel or gctl with %" PRIu64,
		        job->key.id);
	if (m)
		gpusched__job__free_unpacked(m, NULL);
	return whole ? 0 : -1;
}

static void why(struct state *s, int key)
{
	const struct top_job *job = job_here(s);
	struct command c = { .kind = COMMAND_WHY };

	(void)key;
	if (!job)
		return;
	c.key = job->key;
	popup_why(s, job);
	state_send(s, &c);
}

static void enter(struct state *s, int key)
{
	if (screens[s->at].enter)
		screens[s->at].enter(s);
	else
		why(s, key);
}

/* Gqueue's words for the job, for a question. */
static void say_job(const struct state *s, const struct top_job *job, char *text, size_t size)
{
	Gpusched__Job *m = top_job_unpack(job, s->now_us);
	char label[VIEW_JOB_TEXT];

	if (m) {
		view_job_text(label, m->id, m->tasks, m->several);
		snprintf(text, size, "%s %s", label, m->name);
		gpusched__job__free_unpacked(m, NULL);
	} else {
		snprintf(text, size, "%" PRIu64, job->key.id);
	}
}

/* The job under the cursor if it is the user's own. Operators change jobs of others with gcancel
 * and gctl, which name the owner. */
static const struct top_job *own_job(struct state *s)
{
	const struct top_job *job = job_here(s);

	if (!job || job->uid == s->uid)
		return job;
	state_note(s, true, "job %" PRIu64 " is %s's: gcancel and gctl act on jobs of others",
	        job->key.id, job->user);
	return NULL;
}

static void cancel(struct state *s, int key)
{
	const struct top_job *job = own_job(s);
	struct command c = { .kind = COMMAND_CANCEL };
	char text[100];

	(void)key;
	if (!job || name_job(s, job, &c) < 0)
		return;
	say_job(s, job, text, sizeof(text));
	s->prompt = (struct prompt){ .kind = PROMPT_QUESTION, .command = c };
	snprintf(s->prompt.question, sizeof(s->prompt.question), "Cancel job %s (%s)?", text,
	        job->code);
}

static void change(struct state *s, enum command_kind kind)
{
	const struct top_job *job = own_job(s);
	struct command c = { .kind = kind };

	if (job && name_job(s, job, &c) == 0)
		state_send(s, &c);
}

static void hold(struct state *s, int key)
{
	(void)key;
	if (screens[s->at].sideways)
		screens[s->at].sideways(s, -1);
	else
		change(s, COMMAND_HOLD);
}

static void release(struct state *s, int key)
{
	(void)key;
	change(s, COMMAND_RELEASE);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void move(struct state *s, ssize_t by)
{
	struct list_state *list = &s->lists[s->at];

	if (s->at == SCREEN_MAP) {
		size_t top = list->cursor.top; /* in lines, which drawing keeps */

		cursor_move(&list->cursor, by, list->n, list->n);
		list->cursor.top = top;
		return;
	}
	cursor_move(&list->cursor, by, list->n, list->page);
	if (list->cursor.index < s->jobs[s->at].rows.n)
		s->jobs[s->at].on = s->jobs[s->at].rows.v[list->cursor.index];
}

static void move_key(struct state *s, int key)
{
	const struct list_state *list = &s->lists[s->at];
	ssize_t line = s->at == SCREEN_MAP && s->map_columns ? (ssize_t)s->map_columns : 1,
	        page = list->page ? (ssize_t)list->page : 1, all = (ssize_t)list->n;
	const struct {
		int keys[4];
		ssize_t by;
	} moves[] = {
		{ { KEY_IS_UP, 'k', CTRL('p') }, -line },
		{ { KEY_IS_DOWN, 'j', CTRL('n') }, line },
		{ { KEY_IS_PAGE_UP, CTRL('b') }, -page },
		{ { KEY_IS_PAGE_DOWN, CTRL('f') }, page },
		{ { CTRL('u') }, -(page + 1) / 2 },
		{ { CTRL('d') }, (page + 1) / 2 },
		{ { KEY_IS_HOME, 'g' }, -all },
		{ { KEY_IS_END, 'G' }, all },
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		for (size_t k = 0; k < 4; k++)
			if (moves[i].keys[k] && moves[i].keys[k] == key)
				move(s, moves[i].by);
}

static void sideways(struct state *s, int key)
{
	if (screens[s->at].sideways)
		screens[s->at].sideways(s, key == KEY_IS_LEFT ? -1 : 1);
}

/* --- screens, filters ------------------------------------------------------------------------- */

static void show(struct state *s, enum screen_id id)
{
	if (id != s->at && s->lists[id].view.n)
		list_view_reset(&s->lists[id].view);
	s->at = id;
}

static void digit(struct state *s, int key)
{
	show(s, (enum screen_id)(key - '1'));
}

static void next_screen(struct state *s, int key)
{
	show(s, (enum screen_id)((s->at + (key == KEY_IS_TAB ? 1 : SCREENS - 1)) % SCREENS));
}

static void refilter(struct state *s)
{
	for (size_t i = 0; i < SCREENS; i++) {
		s->jobs[i].stale = true;
		s->lists[i].cursor = (struct cursor){ 0 };
		list_view_reset(&s->lists[i].view);
	}
}

static char *filter_field(struct state *s, enum prompt_kind kind)
{
	switch (kind) {
	case PROMPT_TEXT:
		return s->filter.text;
	case PROMPT_USER:
		return s->filter.user;
	case PROMPT_ACCOUNT:
		return s->filter.account;
	case PROMPT_PARTITION:
		return s->filter.partition;
	default:
		return NULL;
	}
}

static void ask_filter(struct state *s, int key)
{
	static const struct {
		int key;
		enum prompt_kind kind;
	} kinds[] = { { '/', PROMPT_TEXT }, { 'u', PROMPT_USER }, { 'a', PROMPT_ACCOUNT },
		{ 'p', PROMPT_PARTITION } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].key != key)
			continue;
		s->prompt = (struct prompt){ .kind = kinds[i].kind };
		strcpy(s->prompt.text, filter_field(s, kinds[i].kind));
	}
}

static void clear_filter(struct state *s, int key)
{
	(void)key;
	if (row_filter_is_empty(&s->filter))
		return;
	s->filter = (struct row_filter){ .text = "" };
	refilter(s);
}

static void sort(struct state *s, int key)
{
	(void)key;
	if (screens[s->at].ordered)
		popup_sort(s);
	else
		state_note(s, true, "this screen has one order");
}

static void zoom(struct state *s, int key)
{
	static const char *const words[ZOOMS] = { "as it fits", "every GPU", "a letter a node" };

	(void)key;
	s->zoom = (s->zoom + 1) % ZOOMS;
	state_note(s, false, "map: %s", words[s->zoom]);
}

static void pause_or_go_on(struct state *s, int key)
{
	struct command c = { .kind = s->paused ? COMMAND_RESUME : COMMAND_PAUSE };

	(void)key;
	s->paused = !s->paused;
	s->paused_us = s->now_us;
	state_send(s, &c);
}

static void quit(struct state *s, int key)
{
	(void)key;
	s->quit = true;
}

/* --- the table -------------------------------------------------------------------------------- */

static void help(struct state *s, int key);

struct key_row {
	int keys[8];
	void (*press)(struct state *s, int key);
	const char *shown, *help; /* of the help; help alone: a heading before the row */
};

static const struct key_row key_rows[] = {
	{ { '1', '2', '3', '4', '5', '6' }, digit, "1 to 6", "a screen" },
	{ { KEY_IS_TAB, KEY_IS_BACK_TAB }, next_screen, "Tab, Shift-Tab",
	        "the next, the one before" },
	{ { KEY_IS_UP, KEY_IS_DOWN, 'k', 'j', CTRL('p'), CTRL('n') }, move_key, "Up, Down, k, j",
	        "a line" },
	{ { KEY_IS_PAGE_UP, KEY_IS_PAGE_DOWN, CTRL('b'), CTRL('f'), CTRL('u'), CTRL('d') },
	        move_key, "PgUp, PgDn", "a page (^B, ^F), half a page (^U, ^D)" },
	{ { KEY_IS_HOME, KEY_IS_END, 'g', 'G' }, move_key, "Home, End, g, G",
	        "the first line, the last" },
	{ { KEY_IS_LEFT, KEY_IS_RIGHT, 'l' }, sideways, "Left, Right",
	        "on the map and of a node: the one before, the next (h, l)" },
	{ { KEY_IS_ENTER }, enter, "Enter",
	        "of a job as w; of a node, account or service all of it" },
	{ { 'w' }, why, "w", "why the job waits, and what would start it now" },
	{ { '/' }, ask_filter, "/", "only what has this text in some column" },
	{ { 'u', 'a', 'p' }, ask_filter, "u, a, p", "only this user, account, partition" },
	{ { KEY_IS_ESCAPE }, clear_filter, "Esc", "all of them again" },
	{ { 's' }, sort, "s", "the order of jobs" },
	{ { 'z' }, zoom, "z", "the map: GPUs, nodes, as it fits" },
	{ { 'c' }, cancel, "c", "cancel the job, after a question" },
	{ { 'h' }, hold, "h", "hold the job" },
	{ { 'r' }, release, "r", "release the job" },
	{ { ' ' }, pause_or_go_on, "Space", "pause, go on" },
	{ { '?' }, help, "?", "this" },
	{ { 'q', CTRL('c') }, quit, "q", "quit" },
};
#define N_KEYS (sizeof(key_rows) / sizeof(key_rows[0]))

static void help(struct state *s, int key)
{
	struct popup_help_row rows[N_KEYS];

	(void)key;
	for (size_t i = 0; i < N_KEYS; i++)
		rows[i] = (struct popup_help_row){ key_rows[i].shown, key_rows[i].help };
	popup_help(s, rows, N_KEYS);
}

/* --- what lies over the screen ---------------------------------------------------------------- */

static void take_order(struct state *s)
{
	struct job_list *jobs = &s->jobs[s->at];

	jobs->turned = s->popup.pick.index == jobs->order && !jobs->turned;
	jobs->order = s->popup.pick.index;
	jobs->stale = true;
	s->lists[s->at].cursor = (struct cursor){ 0 };
	state_popup_close(s);
}

static void press_sort(struct state *s, int key)
{
	struct cursor *pick = &s->popup.pick;

	if (key == KEY_IS_UP || key == 'k')
		cursor_move(pick, -1, n_row_orders, n_row_orders);
	else if (key == KEY_IS_DOWN || key == 'j')
		cursor_move(pick, 1, n_row_orders, n_row_orders);
	else if (key == KEY_IS_ENTER)
		take_order(s);
}

static void press_popup(struct state *s, int key)
{
	size_t page = s->lists[s->at].page > 1 ? s->lists[s->at].page - 1 : 1;
	struct popup *p = &s->popup;

	if (key == 'q' || key == KEY_IS_ESCAPE || key == KEY_IS_LEFT ||
	        (key == KEY_IS_ENTER && p->kind != POPUP_SORT))
		state_popup_close(s);
	else if (key == CTRL('c'))
		s->quit = true;
	else if (p->kind == POPUP_SORT)
		press_sort(s, key);
	else if (key == KEY_IS_UP || key == 'k')
		p->top -= p->top > 0;
	else if (key == KEY_IS_DOWN || key == 'j')
		p->top++;
	else if (key == KEY_IS_PAGE_UP || key == CTRL('b'))
		p->top -= p->top < page ? p->top : page;
	else if (key == KEY_IS_PAGE_DOWN || key == CTRL('f') || key == ' ')
		p->top += page;
	else if (key == KEY_IS_HOME || key == 'g')
		p->top = 0;
	else if (key == KEY_IS_END || key == 'G')
		p->top = p->n;
}

static void press_question(struct state *s, int key)
{
	struct command c = s->prompt.command;

	s->prompt = (struct prompt){ .kind = PROMPT_NONE };
	if (key == 'y' || key == 'Y')
		state_send(s, &c);
	else
		state_note(s, false, "nothing was done");
}

/* The last character goes, with all of its bytes. */
static void erase(char *text)
{
	size_t n = strlen(text);

	while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	if (n)
		text[n - 1] = '\0';
}

static void type(char *text, size_t size, int key)
{
	char bytes[32];
	mbstate_t state = { 0 };
	size_t n, len = strlen(text);

	if (key < ' ' || key == 0x7f || key >= KEYS_BEGIN)
		return;
	n = wcrtomb(bytes, (wchar_t)key, &state);
	if (n == (size_t)-1 || len + n >= size)
		return;
	memcpy(text + len, bytes, n);
	text[len + n] = '\0';
}

static void press_prompt(struct state *s, int key)
{
	struct prompt *p = &s->prompt;

	if (p->kind == PROMPT_QUESTION) {
		press_question(s, key);
	} else if (key == KEY_IS_ENTER) {
		strcpy(filter_field(s, p->kind), p->text);
		*p = (struct prompt){ .kind = PROMPT_NONE };
		refilter(s);
	} else if (key == KEY_IS_ESCAPE || key == CTRL('c')) {
		*p = (struct prompt){ .kind = PROMPT_NONE };
	} else if (key == KEY_IS_BACKSPACE || key == CTRL('h') || key == 0x7f) {
		erase(p->text);
	} else if (key == CTRL('u')) {
		*p->text = '\0';
	} else {
		type(p->text, sizeof(p->text), key);
	}
}

void keys_press(struct state *s, int key)
{
	if (s->prompt.kind != PROMPT_NONE) {
		press_prompt(s, key);
		return;
	}
	if (s->popup.kind != POPUP_NONE) {
		press_popup(s, key);
		return;
	}
	s->note_until_us = 0;
	for (size_t i = 0; i < N_KEYS; i++)
		for (size_t k = 0; k < 8 && key_rows[i].keys[k]; k++)
			if (key_rows[i].keys[k] == key) {
				key_rows[i].press(s, key);
				return;
			}
}

/* --- what is on the screen -------------------------------------------------------------------- */

void keys_tell_shown(struct state *s)
{
	struct command c = { .kind = COMMAND_LOOK, .wants = screens[s->at].wants };
	const struct job_list *jobs = &s->jobs[s->at];
	const struct list_state *list = &s->lists[s->at];

	for (size_t i = 0; screens[s->at].ordered && i < list->page &&
	                   list->cursor.top + i < jobs->rows.n && c.n_shown < COMMAND_SHOWN_MAX;
	        i++)
		c.shown[c.n_shown++] = jobs->rows.v[list->cursor.top + i];
	state_send(s, &c);
}
