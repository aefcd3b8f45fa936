/* nameset.h - a set of names that a request has given
 *
 * Names are added in any order, then the set is sealed: each is in it once, in order, and can be
 * looked up.
 */
#ifndef CTLD_RPC_NAMESET_H
#define CTLD_RPC_NAMESET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/conf/conf.h"

struct nameset {
	char **v; /* owned, as each of them */
	size_t n, room;
};

void nameset_add(struct nameset *names, const char *name);
void nameset_add_all(struct nameset *names, char *const *v, size_t n);
/* All that these host lists name: `max` at most in all, else -1 with ERR_USAGE, as if a list is
 * none. */
int nameset_add_hosts(
        struct nameset *names, char *const *lists, size_t n, size_t max, struct error *err);

void nameset_seal(struct nameset *names);
void nameset_clear(struct nameset *names);

/* These accounts and all below them, sealed; one that is not configured (any more) stands for
 * itself. Named as often as you like: no more than there are accounts are kept meanwhile. */
void nameset_take_accounts(
        struct nameset *names, char *const *v, size_t n, const struct conf *conf);

/* The name in a sealed set; NULL: it is not there. */
char *const *nameset_find(const struct nameset *names, const char *name);
/* The same where an empty set means any name. */
bool nameset_fit(const struct nameset *names, const char *name);

/* Bytes of memory that it takes, roughly. */
size_t nameset_size(const struct nameset *names);

#endif
