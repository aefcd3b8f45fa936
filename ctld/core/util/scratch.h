/* scratch.h - memory that is freed all at once
 *
 * For what effects point to: it lives until the effects are cleared. Blocks are kept and reused,
 * so that a busy controller does not call malloc for each reply.
 */
#ifndef CTLD_CORE_SCRATCH_H
#define CTLD_CORE_SCRATCH_H

#include <stddef.h>

struct scratch;

struct scratch *scratch_new(void);
void scratch_free(struct scratch *s); /* NULL is fine */

void *scratch_alloc(struct scratch *s, size_t n); /* zeroed, aligned for anything */
const char *scratch_text(struct scratch *s, const char *text);
void scratch_clear(struct scratch *s);

#endif
