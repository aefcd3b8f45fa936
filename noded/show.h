/* show.h - `gnoded --inventory`: what a node has, for people or as JSON
 *
 * The JSON is the message Inventory of gpusched.proto, with "version": 1 first, and where device
 * files are named for GPUs (--gpu-devices) "files".
 */
#ifndef NODED_SHOW_H
#define NODED_SHOW_H

#include <stdio.h>

#include "noded/gpu/gpus.h"
#include "noded/launcher/grants.h"
#include "noded/net/convert.h"

/* EXIT_DONE: every GPU that there is, or none, can be used. EXIT_REFUSED: one cannot, or they could
 * not be asked, or a device file is none; what is known is printed all the same. -1: it cannot be
 * written. */
int show_inventory(const struct node_facts *facts, const struct gpus *gpus,
        const struct grants *files, bool json, FILE *out, struct error *err);

#endif
