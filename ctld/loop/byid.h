/* byid.h - from a number to a pointer
 *
 * Open addressing; grows as it fills. Numbers are any but 0. What the pointers point to is the
 * caller's. All is O(1).
 */
#ifndef CTLD_BYID_H
#define CTLD_BYID_H

#include <stddef.h>
#include <stdint.h>

struct byid;

struct byid *byid_new(void);
void byid_free(struct byid *m); /* NULL is fine */

/* Replaces what is there. `value` is not NULL. */
void byid_put(struct byid *m, uint64_t id, void *value);
void *byid_get(const struct byid *m, uint64_t id); /* NULL: none */
void *byid_take(struct byid *m, uint64_t id);      /* removes it; NULL: none */
size_t byid_count(const struct byid *m);

/* Any one of them, NULL when empty: to empty it. */
void *byid_any(const struct byid *m, uint64_t *id);

#endif
