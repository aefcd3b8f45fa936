/* explain_typed.c - see explain_typed.h */
#include "testsuite/unit/lib/explain_typed.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/units.h"

static void type_gpus(struct typed *t, char *value, bool per_node)
{
	char *count = strchr(value, ':');

	if (count)
		*count++ = '\0';
	t->change.gpus[0].type = count && strcmp(value, "any") ? value : "";
	t->change.gpus[0].count = (uint32_t)strtoul(count ? count : value, NULL, 10);
	t->change.n_gpus = 1;
	t->change.gpus_per_node = per_node;
	t->fields |= UPDATE_GPUS;
}

static void type_nodes(struct typed *t, const char *value)
{
	char *end;

	t->change.nodes_min = t->change.nodes_max = (uint32_t)strtoul(value, &end, 10);
	if (*end == '-')
		t->change.nodes_max = (uint32_t)strtoul(end + 1, NULL, 10);
	t->fields |= UPDATE_NODES;
}

static void type_time(struct typed *t, const char *value)
{
	uint64_t seconds;
	struct error err;

	if (duration_parse(value, DURATION_BARE_MINUTES, &seconds, &err) < 0)
		fail_msg("--time=%s: %s", value, err.text);
	t->change.time_limit_s = (uint32_t)seconds;
	t->fields |= UPDATE_TIME;
}

static void type_size(const char *option, const char *value, uint64_t *mb)
{
	struct error err;

	if (size_parse_mb(value, SIZE_BARE_MB, mb, &err) < 0)
		fail_msg("%s=%s: %s", option, value, err.text);
}

static void type_percent(struct typed *t, const char *value)
{
	uint32_t percent;
	struct error err;

	if (percent_parse(value, &percent, &err) < 0)
		fail_msg("--gpu-share=%s: %s", value, err.text);
	t->change.gpu_share_milli = percent * 10;
	t->fields |= UPDATE_GPU_SHARE;
}

static void type_mem(struct typed *t, const char *value)
{
	type_size("--mem", value, &t->change.mem_mb);
	t->fields |= UPDATE_MEM;
}

static void type_option(struct typed *t, char *word)
{
	const struct {
		const char *option;
		const char **text;
		uint64_t field;
	} texts[] = {
		{ "--partition", &t->change.partition, UPDATE_PARTITION },
		{ "--qos", &t->change.qos, UPDATE_QOS },
		{ "--account", &t->change.account, UPDATE_ACCOUNT },
		{ "--constraint", &t->change.constraint, UPDATE_CONSTRAINT },
		{ "--nodelist", &t->change.nodelist, UPDATE_NODELIST },
		{ "--exclude", &t->change.exclude, UPDATE_EXCLUDE },
		{ "--licenses", &t->change.licences, UPDATE_LICENCES },
	};
	char *value = strchr(word, '=');
	size_t i;

	if (!value)
		fail_msg("an option without a value: %s", word);
	*value++ = '\0';
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(word, texts[i].option))
			continue;
		*texts[i].text = value;
		t->fields |= texts[i].field;
		return;
	}
	if (!strcmp(word, "--gpus") || !strcmp(word, "--gpus-per-node")) {
		type_gpus(t, value, !strcmp(word, "--gpus-per-node"));
	} else if (!strcmp(word, "--nodes")) {
		type_nodes(t, value);
	} else if (!strcmp(word, "--time")) {
		type_time(t, value);
	} else if (!strcmp(word, "--mem")) {
		type_mem(t, value);
	} else if (!strcmp(word, "--cpus-per-task")) {
		t->change.cpus = (uint32_t)strtoul(value, NULL, 10);
		t->fields |= UPDATE_CPUS;
	} else if (!strcmp(word, "--exclusive")) {
		assert_string_equal(value, "no");
		t->fields |= UPDATE_EXCLUSIVE;
	} else if (!strcmp(word, "--gpu-mem")) {
		type_size(word, value, &t->change.gpu_mem_mb);
		t->fields |= UPDATE_GPU_MEM;
	} else if (!strcmp(word, "--gpu-share")) {
		type_percent(t, value);
	} else if (!strcmp(word, "--gpu-link")) {
		assert_string_equal(value, "any");
		t->fields |= UPDATE_GPU_LINK;
	} else if (!strcmp(word, "--gpu-mem-min")) {
		assert_string_equal(value, "0");
		t->fields |= UPDATE_GPU_MEM_MIN;
	} else {
		fail_msg("not known: %s", word);
	}
}

void type_in(struct typed *t, const char *options)
{
	char *word, *rest;

	memset(t, 0, sizeof(*t));
	snprintf(t->words, sizeof(t->words), "%s", options);
	for (word = strtok_r(t->words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		type_option(t, word);
}
