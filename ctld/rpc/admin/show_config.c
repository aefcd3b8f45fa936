/* show_config.c - MSG_SHOW_CONFIG: the configuration in force, in chunks
 *
 * It is copied, so that all chunks are of one configuration.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/rpc.h"

#define CHUNK_LINES 500
#define LINE_PIECE  ((size_t)64 * 1024) /* bytes of a line in one chunk; escaped, four times that */
#define CHUNK_BYTES (256 * 1024)

struct listing {
	char *text, *at; /* what is left begins at `at` */
	bool inside;     /* a line that goes on */
};

static void listing_free(void *data)
{
	struct listing *l = data;

	free(l->text);
	free(l);
}

static size_t listing_size(const void *data)
{
	const struct listing *l = data;

	return sizeof(*l) + strlen(l->text);
}

/* The next line without its end, plain: tabs are two blanks. Of a long one the next piece, and
 * l->inside. In the arena. */
static char *take_line(struct ctld *c, struct listing *l)
{
	size_t tabs = l->inside ? 0 : strspn(l->at, "\t");
	size_t len = strcspn(l->at + tabs, "\n"), n = len < LINE_PIECE ? len : LINE_PIECE;
	char *line;

	while (n < len && n > 0 && ((unsigned char)l->at[tabs + n] & 0xc0) == 0x80)
		n--;
	line = arena_alloc(c->out, 2 * tabs + 4 * n + 9);
	if (!line)
		abort();
	memset(line, ' ', 2 * tabs);
	text_escape(line + 2 * tabs, 4 * n + 8, l->at + tabs, n);
	l->inside = n < len;
	l->at += tabs + n + (!l->inside && l->at[tabs + n] == '\n');
	return line;
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__ConfigChunk m = GPUSCHED__CONFIG_CHUNK__INIT;
	char *lines[CHUNK_LINES];
	struct listing *l = call->data;
	size_t bytes = 0;

	(void)now;
	m.lines = lines;
	m.continues = l->inside;
	arena_reset(c->out, (size_t)1 << 30);
	do {
		lines[m.n_lines] = take_line(c, l);
		bytes += strlen(lines[m.n_lines++]);
	} while (*l->at && !l->inside && m.n_lines < CHUNK_LINES && bytes < CHUNK_BYTES);
	m.more = l->inside;
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_CONFIG_CHUNK, call->id, &m.base);
	call_continue(c, call, *l->at, NULL);
}

static const struct call_ops listing_ops = {
	.slice = slice, .free = listing_free, .size = listing_size
};

int rpc_show_config(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct listing *l = xcalloc(1, sizeof(*l));

	(void)err;
	l->text = xstrdup(c->conf_text);
	l->at = l->text;
	return rpc_call(c, rpc, &listing_ops, l);
}
