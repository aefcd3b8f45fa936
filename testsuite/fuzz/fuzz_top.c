/* fuzz_top.c - any answers of a controller to gtop, on every screen
 *
 * The input is a list of answers: which question it is to (a byte; from 128 on the same with a Reply),
 * the size of a terminal (two bytes), the length of the message (two bytes), the message. What can be decoded
 * goes to the model, every screen is drawn, and keys are pressed. No control character gets to the
 * screen, whatever the controller says.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "cmds/top/link/requests.h"
#include "cmds/top/screens/frame.h"
#include "cmds/top/screens/keys.h"
#include "testsuite/fuzz/fuzz.h"

#define NOW_US INT64_C(1795000000000000)
#define HEAD   5
#define ROWS   70
#define COLS   240

static const unsigned types[ASK_KINDS] = {
	[ASK_WATCH] = GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK,
	[ASK_PING] = GPUSCHED__MSG_TYPE__MSG_PONG,
	[ASK_NODES] = GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK,
	[ASK_SHOWN] = GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK,
	[ASK_ORDER] = GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK,
	[ASK_SHARES] = GPUSCHED__MSG_TYPE__MSG_SHARE_CHUNK,
	[ASK_SERVICES] = GPUSCHED__MSG_TYPE__MSG_SERVICE_CHUNK,
	[ASK_WHY] = GPUSCHED__MSG_TYPE__MSG_WHY_RESULT,
	[ASK_CONTROL] = GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL_RESULT,
};

static void push(struct update *u, void *arg)
{
	state_apply(arg, u);
}

static void check_grid(const struct grid *g)
{
	for (size_t i = 0; i < (size_t)g->rows * g->cols; i++)
		for (size_t k = 0; k < 3 && g->cells[i].ch[k]; k++)
			FUZZ_CHECK(!iswcntrl((wint_t)g->cells[i].ch[k]));
}

static void look(struct state *s, struct grid *g, unsigned rows, unsigned cols)
{
	static const char keys[] = "1z2j3Gs\033"
	                           "4j5j6lj2w\033c";

	grid_resize(g, rows, cols);
	for (const char *k = keys; *k; k++) {
		keys_press(s, *k == '\033' ? KEY_IS_ESCAPE : *k);
		frame_draw(s, g);
		check_grid(g);
	}
	keys_tell_shown(s);
	keys_press(s, 'n');
}

/* One answer. Returns how much of the input it took. */
static size_t answer(
        struct asks *a, struct state *s, struct grid *g, const uint8_t *data, size_t size)
{
	size_t kind = (data[0] & 0x7f) % ASK_KINDS, len = (size_t)data[3] << 8 | data[4];
	bool reply = data[0] & 0x80;
	struct frame f = { .type = reply ? GPUSCHED__MSG_TYPE__MSG_REPLY : (uint16_t)types[kind],
		.id = kind + 1,
		.body = data + HEAD };
	struct error err;

	f.len = len < size - HEAD ? len : size - HEAD;
	a->v[kind].id = kind + 1;
	s->now_us += 300000;
	asks_take(a, &f, s->now_us / 1000, s->now_us, &err);
	look(s, g, 1 + data[1] % ROWS, 1 + data[2] % COLS);
	return HEAD + f.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state s;
	struct grid g = { 0 };
	struct asks a = { .push = push, .arg = &s, .arena = arena_new(1 << 20) };

	setlocale(LC_ALL, "C.UTF-8");
	state_begin(&s, 7, "lab");
	s.now_us = NOW_US;
	for (size_t at = 0; at + HEAD <= size;)
		at += answer(&a, &s, &g, data + at, size - at);
	for (size_t i = 0; i < ASK_KINDS; i++)
		update_free(a.v[i].so_far);
	arena_free(a.arena);
	state_clear(&s);
	grid_free(&g);
	return 0;
}
