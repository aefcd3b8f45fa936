/* idmap.h - objects by an id that only grows
 *
 * Ids are added in ascending order (or in any, where it is worth moving pages) and removed in any.
 * There are pages of 64 neighbouring ids, in one sorted array: a look-up is a binary search over
 * the pages, the next higher id is found as fast, and dense ids cost 8 bytes each. A page is
 * removed with its last id.
 */
#ifndef CTLD_CORE_IDMAP_H
#define CTLD_CORE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap;

struct idmap *idmap_new(void);
void idmap_free(struct idmap *m); /* NULL is fine; the objects are not touched */

void idmap_add(struct idmap *m, uint64_t id, void *object);    /* id > idmap_last() */
void idmap_insert(struct idmap *m, uint64_t id, void *object); /* anywhere; not there yet */
void idmap_remove(struct idmap *m, uint64_t id);               /* must be there */
void *idmap_take(struct idmap *m, uint64_t id);                /* removes it; NULL: none */
void *idmap_take_any(struct idmap *m);                         /* to empty it; NULL: it is empty */
void *idmap_find(const struct idmap *m, uint64_t id);          /* NULL: none */
void *idmap_below(const struct idmap *m, uint64_t id);         /* the last below; NULL: none */
void *idmap_next(const struct idmap *m, uint64_t after);       /* the first above; NULL: none */

uint64_t idmap_last(const struct idmap *m); /* the highest ever added; 0: none */
size_t idmap_count(const struct idmap *m);

#endif
