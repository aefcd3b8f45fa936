/* show_inventory.h - `gnoded --inventory`: what a node has, for people or as JSON
 *
 * The JSON is the message Inventory of gpusched.proto, with "version": 1 first, and "files" if
 * --gpu-devices names device files for GPUs.
 */
#ifndef NODED_SHOW_INVENTORY_H
#define NODED_SHOW_INVENTORY_H

#include <stdio.h>

#include "noded/contain/device_grants.h"
#include "noded/gpu/gpus.h"
#include "noded/net/convert_messages.h"

/* EXIT_DONE: every GPU of the node can be used, or it has none. EXIT_REFUSED: a GPU cannot be used,
 * the GPUs could not be queried, or a named device file is not one; what is known is printed all
 * the same. -1: the output cannot be written. */
int show_inventory(const struct node_facts *facts, const struct gpus *gpus,
        const struct device_grants *files, bool json, FILE *out, struct error *err);

#endif
