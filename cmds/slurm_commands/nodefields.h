/* nodefields.h - what sinfo and `scontrol show` say of nodes and partitions
 *
 * sinfo lists groups of nodes: those that are alike in all that its format shows. The object of a
 * field is a struct node_group, in a record one of a single node.
 */
#ifndef CMDS_NODEFIELDS_H
#define CMDS_NODEFIELDS_H

#include "cmds/slurm_commands/field_format.h"
#include "common/gpusched.pb-c.h"

struct node_group {
	const Gpusched__Partition *partition; /* the first that it is in; NULL: none */
	const Gpusched__Node **nodes;         /* each once */
	size_t n;
	size_t order; /* of its partition and state */
};

/* Flags of a field: what it says keeps nodes apart. */
enum {
	NODE_KEY = 1 << 0,       /* of the node */
	NODE_PARTITION = 1 << 1, /* of the partition */
	NODE_EXACT = 1 << 2,     /* of the node, but only with sinfo -e: else the least, and "+" */
	NODE_DEVICES = 1 << 3,   /* needs the node's GPUs one by one */
};

/* A node's state in Slurm's words. */
struct node_words {
	const char *ours, *code, *name, *record; /* "draining", "drng", "draining", "MIXED+DRAIN" */
	unsigned order;                          /* in sinfo */
	bool takes_work;
	bool is_dead; /* does not answer */
};
const struct node_words *node_words(const Gpusched__Node *node);
bool node_state_meant(const char *word, const Gpusched__Node *node); /* by sinfo -t */
bool node_state_known(const char *word);

/* "0-1,3" of numbers in order; "N/A" of none. */
void index_list(char *buf, size_t size, const uint32_t *v, size_t n);
uint32_t node_gpus(const Gpusched__Node *node, uint32_t *used);
bool node_in(const Gpusched__Node *node, const Gpusched__Partition *partition);
void node_reason(const Gpusched__Node *node, char *reason, char *user, char *time, size_t size);

#endif
