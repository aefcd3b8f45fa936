/* table.h - a hash table of pointers to objects that hold their own key
 *
 * Open addressing, linear probing; a slot is a pointer and 4 bytes. Growing is spread over the
 * calls that follow it: no single call moves more than a few dozen items, so a table of a million
 * items never causes a long pause. The table owns none of the objects. Nothing visible may depend
 * on the order of table_each(): it is the order of hashes.
 */
#ifndef CTLD_CORE_TABLE_H
#define CTLD_CORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

typedef uint64_t table_hash_fn(const void *item, uint64_t seed);
typedef bool table_equal_fn(const void *item, const void *key);

struct table *table_new(table_hash_fn *hash, uint64_t seed);
void table_free(struct table *t); /* NULL is fine */

/* The item with this `hash` (of its key, with table_seed()) for which `equal` accepts `key`. */
void *table_find(const struct table *t, uint64_t hash, table_equal_fn *equal, const void *key);
void table_add(struct table *t, void *item);    /* must not be there yet */
void table_remove(struct table *t, void *item); /* must be there */

size_t table_count(const struct table *t);
uint64_t table_seed(const struct table *t);

/* Every item once, in no order: start with *cursor 0; NULL at the end. */
void *table_each(const struct table *t, size_t *cursor);

#endif
