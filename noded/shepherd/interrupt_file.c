/* interrupt_file.c - see interrupt_file.h */
#include "noded/shepherd/interrupt_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VALUE_MAX 256

static const char *const reasons[] = {
	[END_TIME_LIMIT] = "timeout",
	[END_CANCEL] = "cancel",
	[END_PREEMPT] = "preempt",
	[END_DRAIN] = "drain",
	[END_PEER] = "peer",
	[END_RECLAIM] = "reclaim",
	[END_DEADLINE] = "deadline",
	[END_GPU_MEMORY] = "memory",
	[END_IDLE] = "idle",
	[END_SPOOL] = "spool",
	[END_SCALE] = "scale",
	[END_ROLL] = "roll",
};

/* "preempt"; "end" for causes without a word. */
static const char *reason_word(enum end_cause cause)
{
	size_t n = sizeof(reasons) / sizeof(reasons[0]);

	return (size_t)cause < n && reasons[cause] ? reasons[cause] : "end";
}

static size_t put_field(char *out, size_t n, const char *name, const char *value)
{
	char safe[VALUE_MAX];
	size_t len = strnlen(value, sizeof(safe) - 1);

	if (len == 0)
		return n;
	memcpy(safe, value, len);
	safe[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@:+-",
		            safe[i]))
			safe[i] = '_';
	return n + (size_t)snprintf(out + n, INTERRUPT_MAX - n, "%s=%s\n", name, safe);
}

static size_t put_number(char *out, size_t n, const char *name, uint64_t value)
{
	return n + (size_t)snprintf(out + n, INTERRUPT_MAX - n, "%s=%" PRIu64 "\n", name, value);
}

size_t interrupt_text(const struct interrupt *in, char out[INTERRUPT_MAX])
{
	size_t n = put_field(out, 0, "reason", reason_word(in->cause));

	if (in->by_job)
		n = put_number(out, n, "by_job", in->by_job);
	n = put_field(out, n, "by_user", in->by_user);
	n = put_field(out, n, "by_account", in->by_account);
	n = put_field(out, n, "by_qos", in->by_qos);
	if (in->gpu_mem_mb)
		n = put_number(out, n, "gpu_mem_mb", in->gpu_mem_mb);
	if (in->deadline != INT64_MAX)
		n = put_number(out, n, "deadline", (uint64_t)(in->deadline / 1000000));
	return put_field(out, n, "then", in->requeue ? "requeue" : "end");
}
