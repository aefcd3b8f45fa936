/* acct_query.h - which jobs accounting is asked about
 *
 * The request ListAcct, checked and with names resolved. The loop and the thread that reads history
 * both use it; only its marks (which of its names were found) change after it is made.
 */
#ifndef CTLD_RPC_ACCT_QUERY_H
#define CTLD_RPC_ACCT_QUERY_H

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/gpusched.pb-c.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/call/visibility.h"
#include "ctld/store/history_reader.h"

struct acct_query;

/* `m` NULL: all. `visibility`: the jobs that may be shown; taken over, NULL: all. Copies what it
 * keeps; accounts are looked up in `conf` for what is below them. ERR_USAGE. */
struct acct_query *acct_query_new(const Gpusched__ListAcct *m, const struct conf *conf,
        struct visibility *visibility, struct error *err);
void acct_query_free(struct acct_query *q); /* NULL is fine */

/* Ids in the query may be those of tasks of arrays: filter_find_tasks(). Call it before the query
 * is used. */
int acct_query_find_tasks(struct acct_query *q, filter_task_fn *find, void *arg, size_t *at,
        size_t max, struct error *err);
/* The same by history.db: the next PAST_SLICE of them. */
int acct_query_find_past(
        struct acct_query *q, struct past *past, size_t *at, struct error *err);

/* What of the core comes into question; acct_query_fits() decides. */
const struct filter *acct_query_filter(const struct acct_query *q);
/* The same of history.db, through the index that leaves least. */
const struct past_query *acct_query_past(const struct acct_query *q);

bool acct_query_fits(const struct acct_query *q, const Gpusched__Acct *job);

/* A job that fits was found: its names count as known. Only one thread may call it at a time. */
void acct_query_found(struct acct_query *q, const Gpusched__Acct *job);
/* All jobs were examined. -1: the query names what neither the configuration nor any job has that
 * was found (unknown_names.h). */
int acct_query_check_names(const struct acct_query *q, struct error *err);
void acct_query_window(
        const struct acct_query *q, int64_t *since, int64_t *until); /* us; 0: open */

#endif
