/* show.h - `gnoded --inventory`: what a node has, for people or as JSON
 *
 * The JSON is the message Inventory of gpusched.proto, with "version": 1 first.
 */
#ifndef NODED_SHOW_H
#define NODED_SHOW_H

#include <stdio.h>

#include "noded/convert.h"
#include "noded/gpu/gpus.h"

/* EXIT_DONE: every GPU that there is, or none, can be used. EXIT_REFUSED: one cannot, or they could
 * not be asked; what is known is printed all the same. -1: it cannot be written. */
int show_inventory(const struct node_facts *facts, const struct gpus *gpus, bool json, FILE *out,
        struct error *err);

#endif
