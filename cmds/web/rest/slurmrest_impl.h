/* slurmrest_impl.h - what the files of slurmrest share; for them alone */
#ifndef CMDS_SLURMREST_IMPL_H
#define CMDS_SLURMREST_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cmds/web/http.h"

enum slurmrest_version { V38, V40 };

/* By the path that was asked for. */
enum slurmrest_version slurmrest_version(const struct http_request *r);

/* Put a value under a key. A text that is not UTF-8 becomes "". */
void slurm_text(json_t *o, const char *key, const char *value);
void slurm_plain(json_t *o, const char *key, int64_t value);
/* One that v0.0.40 has as {"set","infinite","number"}. */
void slurm_number(
        json_t *o, enum slurmrest_version v, const char *key, int64_t value, bool infinite);
json_t *slurm_words(char *const *v, size_t n);

/* "cpu=8,mem=16000M,node=1,billing=8,gres/gpu=2" */
#define SLURM_TRES 160
void slurm_tres(char buf[SLURM_TRES], int64_t cpus, int64_t mem_mb, int64_t nodes, int64_t gpus);

/* What stands before a value of that name, and behind it. `warning` "": none. */
void slurm_begin(
        const struct http_request *r, struct http_answer *a, const char *name, const char *warning);
void slurm_end(struct http_answer *a);
/* One value as the whole answer; takes it over. */
void slurm_answer(
        const struct http_request *r, struct http_answer *a, const char *name, json_t *value);
void slurm_failed(struct http_answer *a, int status, int number, const char *text);
/* True: there is no snapshot, and the answer says so. */
bool slurm_not_ready(const struct http_request *r, struct http_answer *a);

/* slurmrest_jobs.c */
http_handler slurm_jobs, slurm_job;

#endif
