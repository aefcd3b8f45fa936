/* devices_list.h - the text that says which GPU each index of a node is
 *
 * The UUIDs of the GPUs by index, with "," between; an index without a GPU has none ("a,,c"). Rows
 * keep such lists (node_info.gpus, filled in by devices.h), and orders of runs have them.
 */
#ifndef CTLD_CORE_DEVICES_LIST_H
#define CTLD_CORE_DEVICES_LIST_H

#include <stdint.h>

#define DEVICE_UUID_MAX 96 /* with its NUL */

/* The UUID at an index of a list, "" if it has none. */
void device_uuid(const char *list, uint32_t index, char uuid[DEVICE_UUID_MAX]);

/* The index of a UUID, not "", in a list; CONF_MAX_GPUS_PER_NODE: none. */
uint32_t device_index(const char *list, const char *uuid);

#endif
