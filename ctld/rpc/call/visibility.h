/* visibility.h - the jobs that a caller may see, where the configuration keeps them private
 *
 * Made when a request begins, from the configuration at that time; afterwards it is plain data
 * that any thread may read. A request that stays open (a watch, events that are followed) is ended
 * with ERR_BUSY when a new configuration would give another result, and its client repeats it. The
 * rule is that of VERB_JOB_SEE (ctld/core/accounts/roles.h): a user's own jobs, those of the
 * accounts that the user coordinates, and all jobs for operators and administrators.
 */
#ifndef CTLD_RPC_VISIBILITY_H
#define CTLD_RPC_VISIBILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "ctld/core/rows/event.h"

struct visibility;

/* NULL: the caller may see everything. `private`: does the configuration keep such data private? */
struct visibility *visibility_new(
        const struct conf *conf, const struct caller *caller, bool private);
void visibility_free(struct visibility *s); /* NULL is fine */

/* Do both have the same? */
bool visibility_same(const struct visibility *a, const struct visibility *b);

/* NULL has everything. */
bool visibility_has(const struct visibility *s, uint32_t uid, const char *account);
/* May the caller see all jobs of that account, of any user? */
bool visibility_has_account(const struct visibility *s, const char *account);

#endif
