/* demand.h - the questions put to a history: one function each, which adds its tables to the book
 *
 * W(t), what is wanted, are the GPUs in use if every job had started as soon as it could; S(t)
 * those that were given. W does not depend on how large the cluster is, only on what users sent to
 * it.
 */
#ifndef GDEMAND_DEMAND_H
#define GDEMAND_DEMAND_H

#include <stdint.h>

#include "common/conf/conf.h"
#include "ctld/gdemand/bootstrap.h"
#include "ctld/gdemand/history_jobs.h"
#include "ctld/gdemand/level_over_time.h"
#include "ctld/gdemand/tables.h"
#include "ctld/gdemand/weighted_stats.h"

#define DEMAND_ALL UINT32_MAX

/* Jobs of a type, of an account, of both, or all. */
struct scope {
	uint32_t type, account; /* names of the past; DEMAND_ALL */
	double gpu_us;          /* wanted */
};

/* Of one scope, for what is proposed: GPUs. */
struct concurrency {
	struct scope scope;
	struct interval floor, median, p95, p99, kept; /* p5, p50, p95, p99, and held for an hour */
	double mean;
};

/* Of the jobs of one account (DEMAND_ALL: of all): seconds. */
struct tolerance {
	uint32_t account;
	double declared;         /* the median of the stated times; NAN: none is stated */
	struct interval gave_up; /* after which a tenth has given up; NAN: fewer did */
	double waited_p95;
};

struct demand {
	const struct past *past;
	const struct conf *conf; /* NULL: none was given */
	struct book *book;
	struct bootstrap bootstrap;
	unsigned top;        /* rows of accounts and models, at most */
	double cold_start_s; /* of a replica: measured, or assumed */
	bool cold_measured;
	/* found, for the proposal and the charts; owned */
	struct scope *scopes;
	size_t n_scopes;
	size_t accounts_left_out; /* beyond `top` */
	struct concurrency *concurrency; /* [n_scopes] */
	struct tolerance *tolerances;
	size_t n_tolerances;
};

/* `past` and `conf` are borrowed. */
void demand_init(struct demand *d, const struct past *past, const struct conf *conf, unsigned top,
        unsigned rounds, uint64_t seed);
void demand_clear(struct demand *d);

/* In this order. */
void demand_summary(struct demand *d);     /* history_summary.c: its extent and its flaws */
void demand_concurrency(struct demand *d); /* concurrency.c */
void demand_bursts(struct demand *d);      /* bursts.c; needs the one before */
void demand_queue(struct demand *d);       /* queue_depth.c */
void demand_tolerance(struct demand *d);   /* wait_tolerance.c */
void demand_mix(struct demand *d);         /* usage_breakdown.c */
void demand_residency(struct demand *d);   /* model_residency.c */
void demand_durations(struct demand *d);   /* durations.c */
void demand_hidden(struct demand *d);      /* hidden_demand.c */

/* --- shared ---------------------------------------------------------------------------------- */

bool scope_has(const struct scope *s, const struct past_job *j);

/* "h100 / vision", "all" */
#define SCOPE_TEXT 540
char *demand_scope_name(char buf[SCOPE_TEXT], const struct past *past, const struct scope *s);
bool demand_has_kinds(const struct past *past);                   /* jobs of more than one kind */
const char *name_or_none(const struct past *past, uint32_t name); /* "(none)" for "" */

/* W and S of a scope, sealed; and the GPUs of its jobs that wait. */
void demand_wanted(const struct past *past, const struct scope *s, struct level *level);
void demand_given(const struct past *past, const struct scope *s, struct level *level);
void demand_waiting(const struct past *past, const struct scope *s, struct level *level);

/* The level over the time that is looked at, in GPUs, each block's part its own; sealed. */
void demand_weigh(const struct past *past, const struct level *level, struct weighted *w);

/* Quantiles of it, each with its interval; `q` ascending. */
void demand_quantiles(const struct demand *d, const struct weighted *w, const double *q, size_t n,
        struct interval *out);

#endif
