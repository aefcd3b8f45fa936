/* effects.c - see effects.h
 *
 * One array for the effects, until the world has carried them out (effects_clear()), and scratch
 * memory for their texts. An effect is added before it is known with which commit it will be
 * durable: `numbered` is how far effects_number() has come.
 */
#include "ctld/core/rows/effects.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/scratch.h"

struct effects {
	struct effect *v;
	size_t n, size;
	size_t numbered; /* effects before this have their change number */
	struct scratch *scratch;
};

struct effects *effects_new(void)
{
	struct effects *fx = xcalloc(1, sizeof(*fx));

	fx->scratch = scratch_new();
	return fx;
}

void effects_free(struct effects *fx)
{
	if (!fx)
		return;
	scratch_free(fx->scratch);
	free(fx->v);
	free(fx);
}

struct effect *effects_add(struct effects *fx, enum effect_kind kind)
{
	struct effect *e = XADD(fx->v, fx->n, fx->size);

	memset(e, 0, sizeof(*e));
	e->kind = kind;
	return e;
}

void *effects_alloc(struct effects *fx, size_t n)
{
	return scratch_alloc(fx->scratch, n);
}

const char *effects_text(struct effects *fx, const char *text)
{
	return scratch_text(fx->scratch, text);
}

void effects_number(struct effects *fx, uint64_t change)
{
	for (; fx->numbered < fx->n; fx->numbered++)
		fx->v[fx->numbered].change = change;
}

const struct effect *effects_get(const struct effects *fx, size_t *n)
{
	*n = fx->n;
	return fx->v;
}

void effects_clear(struct effects *fx)
{
	fx->n = fx->numbered = 0;
	scratch_clear(fx->scratch);
}

void effects_reply(struct effects *fx, uint64_t reply, const struct error *err)
{
	struct error *copy = effects_alloc(fx, sizeof(*copy));
	struct effect *e = effects_add(fx, EFFECT_REPLY);

	if (err)
		*copy = *err;
	e->reply = reply;
	e->error = copy;
}

void effects_done(struct effects *fx, uint64_t reply)
{
	effects_reply(fx, reply, NULL);
}

void effects_close_agent(struct effects *fx, uint32_t node, uint64_t session, const char *text)
{
	const char *copy = effects_text(fx, text);
	struct effect *e = effects_add(fx, EFFECT_CLOSE_AGENT);

	e->node = node;
	e->session = session;
	e->text = copy;
}
