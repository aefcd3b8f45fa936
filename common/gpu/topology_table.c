/* topology_table.c - see topology_table.h */
#include "common/gpu/topology_table.h"

#include <stdbool.h>
#include <string.h>

#include "common/gpu/gpu_topology.h"

#define WIDTH 6 /* of a column: "GPU63" and a blank */

/* The word at the beginning of a row, and what follows it. */
static const char *next_word(const char *row, char word[NEAR_WORD])
{
	size_t n = strcspn(row, ",");

	snprintf(word, NEAR_WORD, "%.*s", (int)n, row);
	return row + n + (row[n] == ',');
}

static bool is_in(const char *const *rows, size_t n, const char *wanted)
{
	char word[NEAR_WORD];
	size_t len = strcspn(wanted, "#");

	for (size_t i = 0; i < n; i++) {
		for (const char *at = rows[i]; *at;) {
			at = next_word(at, word);
			if (strncmp(word, wanted, len) == 0 && (wanted[len] || !word[len]))
				return true;
		}
	}
	return false;
}

static void legend(const char *const *rows, size_t n, FILE *out)
{
	fputc('\n', out);
	if (is_in(rows, n, "NV#"))
		fprintf(out, "  %-4s  %s\n", "NV#", "so many NVLinks");
	for (unsigned level = NEAR_LEVEL_COUNT; level--;) {
		const char *word = near_level_word((enum near_level)level);

		if (is_in(rows, n, word))
			fprintf(out, "  %-4s  %s\n", word, near_level_text((enum near_level)level));
	}
}

void topology_table_print(const char *const *rows, const uint32_t *numbers, size_t n, FILE *out)
{
	char word[NEAR_WORD], label[16];
	bool known = is_in(rows, n, "NV#");

	for (unsigned level = NEAR_UNKNOWN + 1; level < NEAR_LEVEL_COUNT; level++)
		known = known || is_in(rows, n, near_level_word((enum near_level)level));
	if (!known)
		return;
	fputc('\n', out);
	fprintf(out, "%*s", WIDTH - 1, "");
	for (size_t i = 0; i < n; i++) {
		snprintf(label, sizeof(label), "GPU%u", numbers[i]);
		fprintf(out, "%*s", WIDTH, label);
	}
	fputc('\n', out);
	for (size_t i = 0; i < n; i++) {
		const char *at = rows[i];

		snprintf(label, sizeof(label), "GPU%u", numbers[i]);
		fprintf(out, "%-*s", WIDTH - 1, label);
		for (size_t k = 0; k < n; k++) {
			at = next_word(at, word);
			fprintf(out, "%*s", WIDTH, word);
		}
		fputc('\n', out);
	}
	legend(rows, n, out);
}
