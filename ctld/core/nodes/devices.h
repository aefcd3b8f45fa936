/* devices.h - which GPU each index of a node is
 *
 * The configuration gives a node indices by type ("h100:8": 0 to 7), and everything in the core is
 * booked by index. Where an agent tells what it has found, each index is bound to a GPU by its
 * UUID, and stays bound, also over restarts (node_info.gpus), so that a GPU that vanishes does not
 * make its neighbours change their numbers under running jobs:
 *
 *	1. an index keeps its GPU as long as that is found and of the index's type;
 *	2. GPUs that are bound to no index go to those of their type that have none, the lowest
 *	   first, then to those whose GPU is missing, unless a run is booked there: that is how a
 *	   card that was replaced gets the old one's index;
 *	   An index for an instance that `mig` demands of a GPU is bound to one on that GPU
 *	   (layout.h), and all others to what is not on such a GPU;
 *	3. an index without a usable GPU is *out*: nothing starts there, and what runs goes on. The
 *	   others of the node are given as before. The same of all on a GPU that is cut otherwise
 *	   than demanded, and of one that is farther from others than demanded (nearness.h).
 *
 * While a run is booked on an index its GPU is given to no other index, whatever the configuration
 * calls that one now. An agent that has found nothing, because there is nothing to ask, leaves GPUs
 * as configured, unless indices are bound: then they are missing.
 */
#ifndef CTLD_CORE_DEVICES_H
#define CTLD_CORE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_UUID_MAX 96 /* with its NUL */

struct core;
struct node;

/* Bind anew, after a registration or another configuration. Sets gpus_out and gpu_note, and tells
 * the ledger how much memory each GPU has. */
void devices_bind(struct core *core, struct node *node);

/* Is the index out because its GPU is not cut as demanded, or not as close to another one? `text`
 * ("" if not) is which GPU that is and how it differs. */
bool devices_differ(
        const struct core *core, const struct node *node, uint32_t index, char *text, size_t size);

/* The UUID at an index of such a list, "" if it has none. */
void device_uuid(const char *list, uint32_t index, char uuid[DEVICE_UUID_MAX]);

#endif
