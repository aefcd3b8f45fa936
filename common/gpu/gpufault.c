/* gpufault.c - see gpufault.h */
#include "common/gpu/gpufault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE GPU_FAULT_NOTE
#define GPU  GPU_FAULT_DRAIN_GPU
#define NODE GPU_FAULT_DRAIN_NODE

#define XID(first, last, action, back, text)                              \
	{                                                                 \
		GPU_FAULT_XID, first, last, action, GPU_BACK_##back, text \
	}
#define ROW(kind, action, back, text)                                 \
	{                                                             \
		GPU_FAULT_##kind, 0, 0, action, GPU_BACK_##back, text \
	}

/* To add one: a row here; of another kind also its number and a line in gpufault.h, its word below,
 * and the list in man/gpusched.conf.5. */
static const struct gpu_fault_row rows[] = {
	/* a program's doing, or news: RESTART_APP and IGNORE of the catalogue */
	XID(8, 8, NOTE, WELL, "it stopped processing for a program"),
	XID(11, 12, NOTE, WELL, "invalid push buffer of a program's"),
	XID(13, 13, NOTE, WELL, "exception of a program's"),
	XID(25, 25, NOTE, WELL, "invalid push buffer of a program's"),
	XID(31, 31, NOTE, WELL, "page fault of a program's"),
	XID(32, 32, NOTE, WELL, "invalid push buffer of a program's"),
	XID(37, 38, NOTE, WELL, "error of the driver's firmware"),
	XID(39, 41, NOTE, WELL, "exception of a copy engine"),
	XID(43, 43, NOTE, WELL, "it stopped a program's work"),
	XID(44, 44, NOTE, WELL, "a program's context was switched badly"),
	XID(45, 45, NOTE, WELL, "a program was cleaned up after"),
	XID(60, 60, NOTE, WELL, "exception of its video processor"),
	XID(63, 63, NOTE, WELL,
	        "memory of it is replaced"), /* remap_pending: with the next reset */
	XID(65, 73, NOTE, WELL, "exception of one of its engines"),
	XID(75, 77, NOTE, WELL, "exception of a copy engine"),
	XID(80, 80, NOTE, WELL, "a program's data came to it corrupted"),
	XID(82, 86, NOTE, WELL, "exception of one of its engines"),
	XID(88, 89, NOTE, WELL, "exception of one of its engines"),
	XID(92, 92, NOTE, WELL, "many correctable memory errors"),
	XID(93, 93, NOTE, WELL, "its configuration memory was written often"),
	XID(94, 94, NOTE, WELL, "contained memory error: a program's data were lost"),
	XID(96, 105, NOTE, WELL, "exception of one of its engines"),
	XID(121, 121, NOTE, WELL, "corrected error of the link between GPU and CPU"),
	XID(126, 135, NOTE, WELL, "exception of a copy engine"),
	XID(137, 137, NOTE, WELL, "a program's access over NVLink was refused"),
	XID(139, 139, NOTE, WELL, "exception of one of its engines"),
	XID(141, 142, NOTE, WELL, "exception of one of its engines"),
	XID(147, 148, NOTE, WELL, "NVLink error that does no harm"),
	XID(154, 154, NOTE, WELL, "the driver says anew what recovers it"), /* recovery says what */
	/* what needs a reset: RESET_GPU, WORKFLOW_XID_48, WORKFLOW_NVLINK_ERR, RESTART_BM,
	   RESTART_VM */
	XID(46, 46, GPU, RESET, "it has stopped processing"),
	XID(48, 48, GPU, RESET, "double bit ECC error"),
	XID(54, 54, GPU, RESET, "its power is not connected"),
	XID(61, 61, GPU, RESET, "internal microcontroller breakpoint"), /* Volta and older */
	XID(62, 62, GPU, RESET, "internal microcontroller halt"),
	XID(64, 64, GPU, RESET, "memory of it cannot be replaced"), /* remap_failed: for good */
	XID(74, 74, GPU, RESET, "NVLink error"),
	XID(79, 79, GPU, RESET, "GPU has fallen off the bus"),
	XID(95, 95, GPU, RESET, "uncontained memory error"),
	XID(109, 109, GPU, RESET, "a context switch timed out"),
	XID(110, 110, GPU, RESET, "security fault"),
	XID(119, 119, GPU, RESET, "its system processor does not answer"),
	XID(120, 120, GPU, RESET, "error of its system processor"),
	XID(136, 136, GPU, RESET, "training of a link failed"),
	XID(140, 140, GPU, RESET, "unrecovered ECC error"),
	XID(143, 143, GPU, RESET, "it cannot be initialised"),
	/* of these the catalogue asks for details that NVML does not tell */
	XID(144, 146, GPU, RESET, "NVLink error"),
	XID(149, 150, GPU, RESET, "NVLink error"),
	XID(151, 151, GPU, RESET, "its keys could not be changed"),
	XID(155, 155, GPU, RESET, "NVLink error"),
	XID(156, 156, GPU, RESET, "a part of it is retired with the next reset"),
	XID(158, 158, GPU, RESET, "it timed out and does not recover"),
	/* what a look finds */
	ROW(ECC, GPU, RESET, "uncorrectable memory errors"),
	ROW(ECC_TOTAL, NOTE, WELL, "uncorrectable memory errors in its life"),
	ROW(REMAP_PENDING, GPU, RESET, "memory of it is replaced with the next reset"),
	ROW(REMAP_FAILED, GPU, NEVER, "memory of it cannot be replaced"),
	ROW(RECOVERY, GPU, WELL, "the driver says that it needs a reset"),
	ROW(LOST, GPU, WELL, "it answers no more"),
	ROW(HUNG, GPU, WELL, "a call about it does not come back"),
	ROW(HOT, GPU, WELL, "it is too hot"),
	ROW(PROCESS, GPU, WELL, "a process was left on it"),
	ROW(RESET, NOTE, WELL, "it was reset"),
};

static const struct gpu_fault_row other = { GPU_FAULT_NONE, 0, 0, NOTE, GPU_BACK_WELL,
	"not known to gpusched" };

static const char *const words[GPU_FAULT_KINDS] = {
	[GPU_FAULT_XID] = "xid",
	[GPU_FAULT_ECC] = "ecc",
	[GPU_FAULT_ECC_TOTAL] = "ecc_total",
	[GPU_FAULT_REMAP_PENDING] = "remap_pending",
	[GPU_FAULT_REMAP_FAILED] = "remap_failed",
	[GPU_FAULT_LOST] = "lost",
	[GPU_FAULT_HUNG] = "hung",
	[GPU_FAULT_HOT] = "hot",
	[GPU_FAULT_PROCESS] = "process",
	[GPU_FAULT_RECOVERY] = "recovery",
	[GPU_FAULT_RESET] = "reset",
};

static const char *const actions[] = { [NOTE] = "note", [GPU] = "gpu", [NODE] = "node" };

const struct gpu_fault_row *gpu_fault_rows(size_t *n)
{
	*n = sizeof(rows) / sizeof(*rows);
	return rows;
}

const struct gpu_fault_row *gpu_fault_row(enum gpu_fault_kind kind, uint32_t code)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].kind == kind && code >= rows[i].first && code <= rows[i].last)
			return &rows[i];
	}
	return &other;
}

const char *gpu_fault_word(enum gpu_fault_kind kind, uint32_t code, char word[GPU_FAULT_WORD])
{
	const char *name = kind > GPU_FAULT_NONE && kind < GPU_FAULT_KINDS ? words[kind] : "fault";

	if (kind == GPU_FAULT_XID)
		snprintf(word, GPU_FAULT_WORD, "%s-%u", name, code);
	else
		snprintf(word, GPU_FAULT_WORD, "%s", name);
	return word;
}

/* The number of a word among so many; 0: it is none of them. */
static size_t word_at(const char *const *v, size_t n, size_t from, const char *text, size_t len)
{
	size_t i;

	for (i = from; i < n; i++) {
		if (strlen(v[i]) == len && !strncmp(v[i], text, len))
			return i + 1;
	}
	return 0;
}

#define XID_MAX 9999

static int parse_event(const char *text, size_t len, struct gpu_fault_rule *rule)
{
	size_t at;
	char *end;

	rule->code = 0;
	if (len > 4 && !strncmp(text, "xid-", 4)) {
		unsigned long code = strtoul(text + 4, &end, 10);

		rule->kind = GPU_FAULT_XID;
		rule->code = (uint32_t)code;
		return end == text + len && text[4] >= '1' && text[4] <= '9' && code <= XID_MAX
		               ? 0
		               : -1;
	}
	at = word_at(words, GPU_FAULT_KINDS, GPU_FAULT_XID + 1, text, len);
	if (!at)
		return -1;
	rule->kind = (enum gpu_fault_kind)(at - 1);
	return 0;
}

int gpu_fault_rule_parse(const char *text, struct gpu_fault_rule *rule, struct error *err)
{
	const char *is = strchr(text, '=');
	size_t at;

	if (!is)
		return error_set(err, ERR_CONFIG, "needs an action, as in \"xid-94=note\"");
	if (parse_event(text, (size_t)(is - text), rule) < 0)
		return error_set(err, ERR_CONFIG,
		        "no such event; there are xid-NUMBER, ecc, ecc_total, remap_pending, "
		        "remap_failed, recovery, lost, hung, hot, process, reset");
	at = word_at(actions, sizeof(actions) / sizeof(*actions), 0, is + 1, strlen(is + 1));
	if (!at)
		return error_set(err, ERR_CONFIG, "no such action; there are note, gpu, node");
	rule->action = (enum gpu_fault_action)(at - 1);
	return 0;
}

enum gpu_fault_action gpu_fault_action(
        enum gpu_fault_kind kind, uint32_t code, char *const *rules, size_t n)
{
	enum gpu_fault_action action = gpu_fault_row(kind, code)->action;
	struct gpu_fault_rule rule;
	struct error err;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!gpu_fault_rule_parse(rules[i], &rule, &err) && rule.kind == kind &&
		        rule.code == code)
			action = rule.action;
	}
	return action;
}
