/* place.h - a directory of a test's own, and files in it. Include behind cmocka.h. */
#ifndef TESTSUITE_UNIT_PLACE_H
#define TESTSUITE_UNIT_PLACE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char path[64];
	int fd; /* the directory */
};

/* A test's setup and teardown; *state is the place. */
static inline int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->path, "/tmp/gpusched-test-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY);
	*state = p;
	return p->fd < 0;
}

static inline int place_remove(void **state)
{
	struct place *p = *state;
	char command[128];

	close(p->fd);
	snprintf(command, sizeof(command), "rm -rf %s", p->path);
	free(*state);
	return system(command);
}

/* `text` to ROOT/PATH, whose directories are made: a /proc and /sys to look at. `path` begins with
 * a slash. */
static inline void place_put(const char *root, const char *path, const char *text)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(name, 0700);
		*slash = '/';
	}
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#endif
