/* conf_source.h - the text of a configuration, with where each line came from
 *
 * libconfig is given one text, its @include lines replaced by the files they name, because it tells
 * too little of what it reads: version 1.5 wraps integers beyond 32 bits, drops \x00 in strings,
 * says nothing about an include that failed, and runs on to the end of the file when a quote is
 * missing. So a scanner goes over the text first, with libconfig's own tokens. It finds what no
 * parser would explain as well, keeps each number as it is written, and maps the lines.
 *
 * `@include "path"` starts its line, anywhere between two tokens, also inside a list; a relative
 * path starts at the folder of the file that has the line.
 */
#ifndef COMMON_CONF_SOURCE_H
#define COMMON_CONF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

#define CONF_INCLUDE_DEPTH 10
#define CONF_TEXT_MAX      (16u << 20) /* bytes, all files together */
#define CONF_NESTING_MAX   100         /* brackets within brackets */

/* Where a line of the text came from. */
struct conf_line {
	uint32_t file; /* index */
	uint32_t line; /* from 1 */
};

/* A number as it is written, in the order of the text. */
struct conf_number {
	size_t at;
	size_t len;
};

/* A mistake, where it stands. */
struct conf_fault {
	const char *file; /* borrowed from the source */
	unsigned line;    /* 0: the file as a whole */
	struct error what;
};

struct conf_source {
	struct strbuf text;
	struct conf_line *lines; /* [i] is line i + 1 of the text */
	size_t n_lines, cap_lines;
	char **files;
	size_t n_files;
	struct conf_number *numbers;
	size_t n_numbers, cap_numbers;
	/* The first thing that is sure to be a syntax error, on that line of the text; 0: none.
	 * libconfig finds it too, and has no words for it. */
	unsigned hint_line;
	char hint[128];
};

/* Read `path` and what it includes; on failure `fault` says where. Clear it in either case. */
int conf_source_load(struct conf_source *src, const char *path, struct conf_fault *fault);

/* The same from memory, without includes; `name` stands for the file. */
int conf_source_parse(
        struct conf_source *src, const char *text, const char *name, struct conf_fault *fault);

void conf_source_clear(struct conf_source *src);

/* Where line `line` of the text came from: file and line (0, 0 if there is no such line). */
struct conf_line conf_source_line(const struct conf_source *src, unsigned line);

#endif
