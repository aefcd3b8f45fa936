/* effects.h - the actions that the core has decided on, in order, for the controller to carry out
 *
 * Effects of one event get the change number of the end of that event. This is the number of the
 * commit that makes the event's own changes durable, and all earlier changes with them.
 */
#ifndef CTLD_CORE_EFFECTS_H
#define CTLD_CORE_EFFECTS_H

#include "ctld/core/rows/event.h"

struct effects;

struct effects *effects_new(void);
void effects_free(struct effects *fx); /* NULL is fine */

/* A new effect, zeroed but for its kind; valid until the next effects_add(). */
struct effect *effects_add(struct effects *fx, enum effect_kind kind);

/* Memory and text that live as long as the effects. */
void *effects_alloc(struct effects *fx, size_t n);
const char *effects_text(struct effects *fx, const char *text);

/* Number the effects since the last call. */
void effects_number(struct effects *fx, uint64_t change);

const struct effect *effects_get(const struct effects *fx, size_t *n);
void effects_clear(struct effects *fx);

/* The common ones. `err` with the code ERR_NONE: plain success. */
void effects_reply(struct effects *fx, uint64_t reply, const struct error *err);
void effects_done(struct effects *fx, uint64_t reply);
void effects_close_agent(struct effects *fx, uint32_t node, uint64_t session, const char *text);

#endif
