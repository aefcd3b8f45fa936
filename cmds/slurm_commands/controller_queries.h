/* controller_queries.h - what programs under Slurm's names ask the controller for */
#ifndef CMDS_SLURM_COMMANDS_CONTROLLER_QUERIES_H
#define CMDS_SLURM_COMMANDS_CONTROLLER_QUERIES_H

#include "cmds/api/client.h"
#include "cmds/views/filter.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

/* Each object is gone when it returns. -1 with `err` ends the listing. */
typedef int ask_on_item(const ProtobufCMessage *item, void *arg, struct error *err);

int ask_jobs(struct client *c, const struct filter *f, bool with_runs, ask_on_item *on_job,
        void *arg, struct error *err);
int ask_nodes(struct client *c, const struct cmd_list *names, bool devices, ask_on_item *on_node,
        void *arg, struct error *err);

/* A request that changes something; `on_error` is called for each job that it was refused for. */
typedef void ask_on_error(const Gpusched__JobError *e, void *arg);
/* *done: so many jobs it was done for. -1 with `err`: it was not answered, or something else than
 * jobs was refused. */
int ask_control(struct client *c, Gpusched__JobControl *request, const struct filter *f,
        ask_on_error *on_error, void *arg, uint32_t *done, struct error *err);

/* All that is there, kept until ask_clear(). */
struct ask_all {
	Gpusched__Node **nodes;
	Gpusched__Partition **partitions;
	size_t n_nodes, n_partitions;
};
int ask_cluster(struct client *c, bool devices, struct ask_all *out, struct error *err);
void ask_clear(struct ask_all *a);

#endif
