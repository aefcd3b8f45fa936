/* topology_table.h - how close the GPUs of a host are, as a table for people */
#ifndef COMMON_TOPOLOGY_TABLE_H
#define COMMON_TOPOLOGY_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Row i is "X,NV4,PIX": a word (gpu_topology.h) for each of the `n` GPUs, which are called GPU and
 * their number. With a legend of the words in it. Nothing is printed where nothing is known. */
void topology_table_print(const char *const *rows, const uint32_t *numbers, size_t n, FILE *out);

#endif
