/* gpu_topology.h - how close two GPUs of a host are to each other
 *
 * One number, the larger the closer: NVLinks count first, the more the better, then what PCIe has
 * between the two. Only comparing it makes sense. Agents find it out (noded/gpu/pcie.h), the
 * scheduler goes by it (ctld/core/place/closest_gpus.h), people read it in the words of `nvidia-smi
 * topo -m`.
 *
 * On the wire it is not told pair by pair: what PCIe has between GPUs is a tree, so each GPU says
 * which *group* it is in at each level, and two are as close as the closest level at which theirs
 * is the same. A group is called by the lowest number in it.
 */
#ifndef COMMON_GPU_TOPOLOGY_H
#define COMMON_GPU_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

/* X(symbol, word, what is between the two); the farthest first. */
#define NEAR_LEVELS(X)                                                     \
	X(NEAR_UNKNOWN, "-", "not known")                                  \
	X(NEAR_SYS, "SYS", "the link between NUMA nodes")                  \
	X(NEAR_NODE, "NODE", "host bridges of one NUMA node")              \
	X(NEAR_PHB, "PHB", "a host bridge")                                \
	X(NEAR_PXB, "PXB", "several PCIe switches, and no host bridge")    \
	X(NEAR_PIX, "PIX", "a PCIe switch")

#define X(sym, word, text) sym,
enum near_level { NEAR_LEVELS(X) NEAR_LEVEL_COUNT };
#undef X

/* Levels that groups are told of: NEAR_NODE first. At the others all are together. */
#define NEAR_GROUPS (NEAR_LEVEL_COUNT - NEAR_NODE)

#define NEAR_LINKS_MAX 30 /* more count as so many */
#define NEAR_WORD      8
#define NEAR_HOSTS     64 /* GPUs of one host */

typedef uint8_t near_t;

near_t near_of(uint32_t nvlinks, enum near_level level);
uint32_t near_nvlinks(near_t near);
enum near_level near_level(near_t near);

/* What a job may demand of each two of its GPUs on a node, at least: X(symbol, word, the nearness).
 * The weakest first. */
#define NEAR_LINKS(X)                                      \
	X(NEAR_LINK_ANY, "any", 0)                         \
	X(NEAR_LINK_NUMA, "numa", near_of(0, NEAR_NODE))   \
	X(NEAR_LINK_PCIE, "pcie", near_of(0, NEAR_PXB))    \
	X(NEAR_LINK_NVLINK, "nvlink", near_of(1, NEAR_UNKNOWN))

#define X(sym, word, near) sym,
enum near_link { NEAR_LINKS(X) NEAR_LINK_COUNT };
#undef X

near_t near_link_least(enum near_link link);
const char *near_link_word(enum near_link link); /* "": any */
/* "" is any; ERR_USAGE: what would be right. */
int near_link_parse(const char *word, enum near_link *link, struct error *err);

/* Where a GPU is among those of its host. { 0 }: nothing is known. */
struct near_place {
	bool grouped; /* its groups are known */
	uint8_t groups[NEAR_GROUPS];
	uint8_t links[NEAR_HOSTS]; /* NVLinks, by the host's numbers of the GPUs that they reach */
};

/* How close it is to GPU `host`, which is at `other`. */
near_t near_between(const struct near_place *a, const struct near_place *other, uint32_t host);

/* The same as text: "0.0.2.2 1*4 2*4" are groups, and four links each to GPUs 1 and 2; "" is
 * nothing. near_place_read() takes of a damaged one what it can. */
#define NEAR_PLACE_TEXT (NEAR_GROUPS * 4 + NEAR_HOSTS * 7)
void near_place_write(const struct near_place *place, char text[NEAR_PLACE_TEXT]);
void near_place_read(struct near_place *place, const char *text);

/* A statement of the configuration about GPUs of a host: each two of them are at least so close, by
 * PCIe or by NVLinks. */
struct near_said {
	uint32_t links;        /* 0: it is of PCIe */
	enum near_level level; /* if so */
	uint64_t gpus;         /* two or more, by their numbers, as bits */
};

/* "NV4:0-3", "PIX:0,1"; ERR_CONFIG: what would be right. */
int near_said_read(const char *text, struct near_said *said, struct error *err);

/* Combines the places of all GPUs of one host. Two GPUs that each have a PCIe level, but none
 * together, are connected by the link between NUMA nodes; a GPU without a text is not known. Texts
 * that cannot be read are left out. */
void near_places_read(
        struct near_place places[NEAR_HOSTS], const char *const *texts, size_t n);

/* The same of `gpus` as a list of texts that come to it: "\"NV4:0-3\", \"NODE:0-7\"". */
void near_places_print(
        const struct near_place places[NEAR_HOSTS], uint64_t gpus, struct strbuf *out);

/* Is this nearness less than the wanted one? An unknown nearness is not. */
bool near_is_less(near_t found, near_t wanted);

/* "NV4" or "PIX". Returns `word`. */
const char *near_word(near_t near, char word[NEAR_WORD]);

/* What is between GPUs of that level, and its word. */
const char *near_level_word(enum near_level level);
const char *near_level_text(enum near_level level);

#endif
