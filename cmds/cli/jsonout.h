/* jsonout.h - --json: what a command lists, as one JSON object
 *
 *	{"version":1,"cluster":"atlas","jobs":[
 *	{"id":4812,...},
 *	{"id":4813,...}
 *	]}
 *
 * Objects are messages of gpusched.proto (common/net/msgjson.h) or made by hand, and are printed as
 * they come, one a line. Fields are only ever added. A failure adds "error":{"code":...,"text":...,
 * "hint":...}, behind what was listed until then. Times are UTC seconds, memory is MiB.
 */
#ifndef CMDS_JSONOUT_H
#define CMDS_JSONOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

struct jsonout {
	FILE *out;
	const char *cluster; /* "" if it is not known */
	const char *what;    /* "jobs" */
	bool lines;          /* a stream: an object a line, each ended by jsonout_part() */
	size_t n;
	int begun;
};

/* The texts are borrowed. Nothing is printed before the first object or the end. */
void jsonout_begin(struct jsonout *j, FILE *out, const char *cluster, const char *what);
void jsonout_message(struct jsonout *j, const ProtobufCMessage *m);
void jsonout_object(struct jsonout *j, json_t *object); /* takes over the reference */

/* Another list of the same object, behind the one before. */
void jsonout_list(struct jsonout *j, const char *what);

/* Of a stream: end this object, the next one begins anew. `cursor` 0: left out. */
void jsonout_part(struct jsonout *j, uint64_t cursor, bool fresh);
void jsonout_end(struct jsonout *j, const struct error *err); /* err NULL: all went well */

#endif
