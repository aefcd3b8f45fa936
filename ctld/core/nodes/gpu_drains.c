/* gpu_drains.c - see gpu_drains.h
 *
 * The list is a text in the node's row, a line for each drained GPU, and is read anew for each
 * question: few GPUs are drained, and a second copy of the list could differ from the row. A line
 * that cannot be read is passed over.
 */
#include "ctld/core/nodes/gpu_drains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"

#define LINE_MAX_TEXT (DEVICE_UUID_MAX + 96 + GPU_BOOT_MAX + GPU_REASON_MAX)
#define LIST_MAX_TEXT (CONF_MAX_GPUS_PER_NODE * LINE_MAX_TEXT)

/* --- the list as text: "GPU UID SINCE [KIND CODE BOOT] REASON", a line each; the part in brackets
 * where UID is GPU_NOBODY --- */

/* KIND CODE BOOT at `text`, behind a blank; where it ends, NULL: it is none. */
static char *take_fault(char *text, struct gpu_drain *d)
{
	char *end;
	size_t n;

	d->kind = (uint32_t)strtoul(text, &end, 10);
	d->code = (uint32_t)strtoul(end, &end, 10);
	if (*end++ != ' ')
		return NULL;
	n = strcspn(end, " \n");
	if (!n || n >= GPU_BOOT_MAX)
		return NULL;
	if (n > 1 || *end != '-')
		memcpy(d->boot, end, n);
	return end + n;
}

/* The next line; false: the end. What cannot be read is passed over. */
static bool next(const char **text, struct gpu_drain *d)
{
	while (**text) {
		const char *line = *text;
		size_t n = strcspn(line, "\n"), key = strcspn(line, " \n");
		char *end;

		*text = line + n + (line[n] == '\n');
		if (!key || key >= DEVICE_UUID_MAX || line[key] != ' ')
			continue;
		*d = (struct gpu_drain){ 0 };
		memcpy(d->gpu, line, key);
		d->uid = (uint32_t)strtoul(line + key, &end, 10);
		d->since = (usec_t)strtoull(end, &end, 10);
		if (end < line + n && d->uid == GPU_NOBODY)
			end = take_fault(end, d);
		if (!end || end >= line + n || *end != ' ')
			continue;
		end++;
		n = (size_t)(line + n - end);
		if (n >= GPU_REASON_MAX)
			n = GPU_REASON_MAX - 1;
		memcpy(d->reason, end, n);
		return true;
	}
	return false;
}

/* One line more, if there is room. */
static size_t add(char *list, size_t used, const struct gpu_drain *d)
{
	size_t size = LIST_MAX_TEXT - used;

	if (size < LINE_MAX_TEXT)
		return used;
	used += (size_t)snprintf(
	        list + used, size, "%s %u %lld ", d->gpu, d->uid, (long long)d->since);
	if (d->uid == GPU_NOBODY)
		used += (size_t)snprintf(list + used, LIST_MAX_TEXT - used, "%u %u %s ", d->kind,
		        d->code, *d->boot ? d->boot : "-");
	return used + (size_t)snprintf(list + used, LIST_MAX_TEXT - used, "%s\n", d->reason);
}

/* --- looking --------------------------------------------------------------------------------- */

/* The GPU that is bound to the index, or the index itself if none is. */
static void key_of(const struct node *node, uint32_t index, char key[DEVICE_UUID_MAX])
{
	device_uuid(node_info(node)->gpus, index, key);
	if (!*key)
		snprintf(key, DEVICE_UUID_MAX, "#%u", index);
}

/* Reads the list, which is empty for most nodes. */
bool gpu_drained(const struct node *node, uint32_t index, struct gpu_drain *drain)
{
	const char *text = node_info(node)->health;
	struct gpu_drain d;
	char key[DEVICE_UUID_MAX];

	if (!*text)
		return false;
	key_of(node, index, key);
	while (next(&text, &d)) {
		if (strcmp(d.gpu, key))
			continue;
		if (drain)
			*drain = d;
		return true;
	}
	return false;
}

void gpu_reason(char reason[GPU_REASON_MAX], const char *text)
{
	size_t n = text_plain_prefix(text, strnlen(text, GPU_REASON_MAX - 1));

	memcpy(reason, text, n);
	reason[n] = '\0';
}

/* --- changes --------------------------------------------------------------------------------- */

void gpu_drains_write(struct core *core, struct node *node, uint32_t index, struct gpu_drain *drain)
{
	const char *text = node_info(node)->health;
	char list[LIST_MAX_TEXT] = "", key[DEVICE_UUID_MAX];
	struct gpu_drain d;
	size_t used = 0;

	key_of(node, index, key);
	while (next(&text, &d)) {
		if (strcmp(d.gpu, key))
			used = add(list, used, &d);
	}
	if (drain) {
		snprintf(drain->gpu, sizeof(drain->gpu), "%s", key);
		add(list, used, drain);
	}
	node_set_health(core->nodes, node, list);
}
