/* static_files.h - the files of static/ as bytes; static_files.inc is made of them at build time */
#ifndef CMDS_WEB_STATIC_FILES_H
#define CMDS_WEB_STATIC_FILES_H

#include <stddef.h>

struct static_file {
	const char *name, *type;
	const unsigned char *bytes;
	size_t len;
};

#define N_STATIC_FILES 3
extern const struct static_file static_files[N_STATIC_FILES];

#endif
