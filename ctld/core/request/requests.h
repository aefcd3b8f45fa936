/* requests.h - what jobs request of nodes, each such request stored once
 *
 * A request is a list of alternatives of GPUs in the order of preference ("h100:2|l40s:4",
 * "any:2", "" none), and the place: on how many nodes, on which, alone or not (shape.h). Requests
 * are interned like strings (strings.h): equal requests are equal pointers, with a count. Types,
 * features, nodes and licences are stored by name, so that a request is valid for more than one
 * configuration; requests_resolve() finds their numbers, and the nodes that a request may use, in
 * another one.
 */
#ifndef CTLD_CORE_REQUESTS_H
#define CTLD_CORE_REQUESTS_H

#include "common/gpu/gpu_topology.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/request/shape.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/util/strings.h"

#define TYPE_ANY  UINT16_MAX       /* any one type */
#define TYPE_GONE (UINT16_MAX - 1) /* a type that this configuration does not have */
#define TYPE_NONE (UINT16_MAX - 2) /* no GPU at all (placements) */

struct alternative {
	const char *type; /* interned; "" any */
	uint32_t count;   /* 1 or more: for each node or for the whole job, see per_node */
	uint16_t number;  /* of the type in the configuration, or TYPE_ANY, TYPE_GONE */
};

/* A number of a licence, which is an index into conf.licences. */
struct licence_need {
	uint16_t licence;
	uint32_t count;
};

struct request {
	uint32_t refs;
	uint32_t n;        /* 0: no GPU */
	const char *text;  /* kept: the alternatives */
	const char *place; /* interned: all the rest (shape.h); "": one node, any */
	struct alternative v[MAX_GPU_ALTERNATIVES];
	uint32_t nodes_min, nodes_max; /* 1 or more; a gang where nodes_max is more than 1 */
	bool per_node;                 /* each node gives `count`; only for gangs with GPUs */
	bool exclusive;
	uint64_t gpu_mem_min_mb;
	enum near_link link;                          /* between each two GPUs of a node */
	uint64_t tmp_mb;                              /* of a node's disk for temporary
						       * data; 0: any */
	const char *service;                          /* interned: the service whose replica
						       * it is; "" none */
	uint32_t ports;                               /* of the node's ports for replicas */
	struct share_wish share;                      /* of each GPU; zeros: all of it */
	uint64_t gpu_mem_burst_mb;                    /* memory of each GPU that it may use while
						       * no other run needs it */
	const char *constraint, *prefer;              /* interned; features (nodefilter.h); ""
						       * none */
	const char *nodelist, *exclude;               /* kept; hostlists; "" none */
	const char *licence_names[MAX_LICENCE_NEEDS]; /* interned; with their counts: */
	uint32_t licence_counts[MAX_LICENCE_NEEDS];
	size_t n_licence_names;

	/* What these are in the present configuration. If a licence or a node of the node list is
	 * not configured any more, no node is allowed. */
	struct licence_need licences[MAX_LICENCE_NEEDS]; /* those that are configured */
	size_t n_licences;
	/* sets of nodes (nodefilter.h); owned */
	uint64_t *allowed;   /* NULL: all */
	uint64_t *required;  /* all of these; NULL: none */
	uint64_t *preferred; /* NULL: none */
	uint32_t n_allowed, n_required;
	/* Nodes that the service avoids for a time (services/avoid_bad_nodes.h); NULL: none.
	 * Forgotten with the configuration. */
	uint64_t *avoided;
};

struct requests;

/* The number of a GPU type; TYPE_GONE; TYPE_NONE for "". */
uint16_t gpu_type_number(const struct conf *conf, const char *name);

struct requests *requests_new(struct strings *strings, const struct conf *conf, uint64_t seed);
void requests_free(struct requests *rs); /* NULL is fine */

/* The request of a submit. Refuses what shape_read() refuses, and types, features, nodes and
 * licences that are not configured; the error says what would be right. */
const struct request *requests_intern(
        struct requests *rs, const struct submit_job *job, struct error *err);
/* The same from a row's texts, whether or not the names are configured; ERR_INTERNAL. */
const struct request *requests_parse(
        struct requests *rs, const char *gpus, const char *place, struct error *err);
const struct request *requests_again(const struct request *r);
void requests_drop(struct requests *rs, const struct request *r); /* NULL is fine */

void requests_resolve(struct requests *rs, const struct conf *conf);

/* From now on the request avoids exactly these nodes. */
void requests_avoid(struct requests *rs, const struct request *r, const uint32_t *nodes, size_t n);

/* --- looking --------------------------------------------------------------------------------- */

/* Do node names and features allow the node? request_requires(): must the job use it? */
bool request_allows(const struct request *r, uint32_t node);
bool request_requires(const struct request *r, uint32_t node);
bool request_prefers(const struct request *r, uint32_t node);
bool request_avoids(const struct request *r, uint32_t node);

/* Does it name neither nodes nor features, avoid none, and ask for nothing of what a node offers?
 * Then none of these questions is to be asked of each node. */
static inline bool request_any_node(const struct request *r)
{
	return !r->allowed && !r->avoided && !r->tmp_mb && !r->ports && !*r->service;
}

/* May alternative `a` use GPUs of that type? Alternative 0 of a request without GPUs: only
 * TYPE_NONE. */
bool request_type_ok(
        const struct request *r, const struct conf *conf, uint32_t alternative, uint16_t type);

/* Its GPUs as people read them: "h100:4", "any:1/20G". Returns `buf`. */
#define REQUEST_WORDS 160
char *request_words(const struct request *r, char buf[REQUEST_WORDS]);

/* "other:1,trtllm:2"; "" none. Valid as long as the request. */
const char *request_licences(const struct request *r);

/* The number of GPUs that one node must give at least; the number that the whole job gets (at
 * least: `exclusive`). */
uint32_t request_part_gpus(const struct request *r, uint32_t alternative);
uint32_t request_all_gpus(const struct request *r, uint32_t alternative, uint32_t nodes);

#endif
