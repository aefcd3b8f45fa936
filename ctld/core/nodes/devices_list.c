/* devices_list.c - see devices_list.h */
#include "ctld/core/nodes/devices_list.h"

#include <string.h>

#include "common/conf/conf.h"

void device_uuid(const char *list, uint32_t index, char uuid[DEVICE_UUID_MAX])
{
	size_t n;

	for (; index && *list; list += *list == ',') {
		list += strcspn(list, ",");
		index--;
	}
	n = index ? 0 : strcspn(list, ",");
	if (n >= DEVICE_UUID_MAX)
		n = 0;
	memcpy(uuid, list, n);
	uuid[n] = '\0';
}

uint32_t device_index(const char *list, const char *uuid)
{
	size_t len = strlen(uuid);
	uint32_t index = 0;

	for (; *list; list += *list == ',') {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, uuid, n))
			return index;
		list += n;
		index++;
	}
	return CONF_MAX_GPUS_PER_NODE;
}
