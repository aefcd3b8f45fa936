/* members.h - which accounts list a user as a member
 *
 * An index over the `members` of all accounts of one configuration. With it a submit looks up a
 * few names (the user's, the groups', "*") and does not walk all accounts.
 */
#ifndef CTLD_CORE_MEMBERS_H
#define CTLD_CORE_MEMBERS_H

#include "common/conf/conf.h"
#include "ctld/core/rows/event.h"

struct members;

struct members *members_new(const struct conf *conf, uint64_t seed); /* borrowed until the end */
void members_free(struct members *m);                                /* NULL is fine */

/* Does this account list the user, by name, by a group, or by "*"? */
bool members_lists(const struct members *m, uint32_t account, const struct caller *caller);

/* The first account in the file that lists the user; CONF_NONE: there is none. */
uint32_t members_first(const struct members *m, const struct caller *caller);

#endif
