/* requests.h - what jobs ask of nodes, each such request kept once
 *
 * A request is a list of alternatives of GPUs, best liked first ("h100:2|l40s:4", "any:2", ""
 * none), and where they are to be: on how many nodes, which of them, alone or not (shape.h). Kept
 * like strings are (strings.h): equal requests are equal pointers, counted. Types, features, nodes
 * and licences are kept by name, so that a request outlives a configuration; requests_resolve()
 * finds their numbers, and the nodes that a request may use, in another one.
 */
#ifndef CTLD_CORE_REQUESTS_H
#define CTLD_CORE_REQUESTS_H

#include "common/near.h"
#include "ctld/core/place/cards.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/util/strings.h"

#define TYPE_ANY  UINT16_MAX       /* any one type */
#define TYPE_GONE (UINT16_MAX - 1) /* no such type in this configuration */
#define TYPE_NONE (UINT16_MAX - 2) /* no GPU at all (placements) */

#define MAX_LICENCE_NEEDS 16

struct alternative {
	const char *type; /* kept; "" any */
	uint32_t count;   /* 1 or more: each node's or the whole job's, see per_node */
	uint16_t number;  /* of the type in the configuration, or TYPE_ANY, TYPE_GONE */
};

/* Some of a licence: index into conf.licences. */
struct licence_need {
	uint16_t licence;
	uint32_t count;
};

struct request {
	uint32_t refs;
	uint32_t n;        /* 0: no GPU */
	const char *text;  /* kept: the alternatives */
	const char *place; /* kept: all the rest (shape.h); "": one node, whichever */
	struct alternative v[MAX_GPU_ALTERNATIVES];
	uint32_t nodes_min, nodes_max; /* 1 or more; a gang where nodes_max is more than 1 */
	bool per_node;                 /* each node gives `count`; only gangs with GPUs */
	bool exclusive;
	uint64_t gpu_mem_min_mb;
	enum near_link link;                          /* between each two GPUs of a node */
	struct share_wish share;                      /* of each GPU; none: all of it */
	uint64_t gpu_mem_burst_mb;                    /* more of each, as long as nobody has it */
	const char *constraint, *prefer;              /* kept; features (nodefilter.h); "" none */
	const char *nodelist, *exclude;               /* kept; hostlists; "" none */
	const char *licence_names[MAX_LICENCE_NEEDS]; /* kept; with their counts: */
	uint32_t licence_counts[MAX_LICENCE_NEEDS];
	size_t n_licence_names;

	/* What the present configuration makes of it. Where a licence or a node of the node list is
	 * gone, no node is allowed. */
	struct licence_need licences[MAX_LICENCE_NEEDS]; /* those that there are */
	size_t n_licences;
	/* sets of nodes (nodefilter.h); owned */
	uint64_t *allowed;   /* NULL: all */
	uint64_t *required;  /* all of these; NULL: none */
	uint64_t *preferred; /* NULL: none */
	uint32_t n_allowed, n_required;
};

struct requests;

struct requests *requests_new(struct strings *strings, const struct conf *conf, uint64_t seed);
void requests_free(struct requests *rs); /* NULL is fine */

/* The request of a submit. Refused, with what would be right: what shape_read() refuses, and what
 * the configuration does not know: types, features, nodes, licences. */
const struct request *requests_keep(
        struct requests *rs, const struct submit_job *job, struct error *err);
/* The same from a row's texts, whatever the configuration knows; ERR_INTERNAL. */
const struct request *requests_parse(
        struct requests *rs, const char *gpus, const char *place, struct error *err);
const struct request *requests_again(const struct request *r);
void requests_drop(struct requests *rs, const struct request *r); /* NULL is fine */

void requests_resolve(struct requests *rs, const struct conf *conf);

/* --- looking --------------------------------------------------------------------------------- */

/* Node names and features speak for the node; it is one that must be used, would be liked. */
bool request_allows(const struct request *r, uint32_t node);
bool request_requires(const struct request *r, uint32_t node);
bool request_prefers(const struct request *r, uint32_t node);

/* May alternative `a` be GPUs of that type? Of alternative 0 of no GPUs: only TYPE_NONE. */
bool request_type_ok(
        const struct request *r, const struct conf *conf, uint32_t alternative, uint16_t type);

/* Its GPUs as people read them: "h100:4", "any:1/20G". Returns `buf`. */
#define REQUEST_WORDS 160
char *request_words(const struct request *r, char buf[REQUEST_WORDS]);

/* "other:1,trtllm:2"; "" none. As long as the request. */
const char *request_licences(const struct request *r);

/* How many GPUs one node must give at least; the whole job gets (at least: `exclusive`). */
uint32_t request_part_gpus(const struct request *r, uint32_t alternative);
uint32_t request_all_gpus(const struct request *r, uint32_t alternative, uint32_t nodes);

#endif
