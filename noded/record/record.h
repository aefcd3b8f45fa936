/* record.h - the records of a run, in files that outlive every process
 *
 * One directory for each run, RUNDIR/runs/JOB_TASK_ATTEMPT, on tmpfs, for the agent's user alone:
 *
 *   launch    LaunchRecord   by the launcher, before it starts the shepherd. The shepherd holds
 *                            its flock(2) as long as it lives, from before it was started: a launch
 *                            record that can be locked has no shepherd. Its mode tells whether
 *                            the shepherd ever forked: 0600 no, RECORD_MODE_FORKED maybe.
 *   started   StartedRecord  by the shepherd, when the program was executed
 *   notes     NotesRecord    by the shepherd, when the program has reported something
 *   used      RunUsed        by the launcher, from its samples (usage_sampling.c)
 *   exit      RunReport      by the shepherd (or the launcher, for one that was killed), when
 *                            nothing of the run is left; or the tombstone of a run that never was
 *   after     AfterRecord    by a shepherd that ran the programs after a run in place of a shepherd
 *                            that was killed (site_program_tasks.h)
 *   ctl       socket         orders to the shepherd (order_socket.h)
 *
 * Files are written under another name and renamed, so a record is there as a whole or not at all.
 * After a power loss half a record may be left on a disk: each begins with a magic, its kind,
 * length and checksum; a record that does not match them is reported as torn and never used.
 */
#ifndef NODED_RECORD_H
#define NODED_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"
#include "common/job/run.h"

#define RECORD_ID_MAX 64 /* "JOB_TASK_ATTEMPT_RANK" with its NUL */
#define RECORD_MAX_LEN \
	(16 * 1024 * 1024) /* of one record; a job's environment is the largest part */

#define RECORD_LAUNCH  "launch"
#define RECORD_STARTED "started"
#define RECORD_NOTES   "notes"
#define RECORD_EXIT    "exit"
#define RECORD_AFTER   "after"
#define RECORD_USED    "used"

#define RECORD_MODE_FORKED 0400

/* "4812_7_1"; of the ranks after the first "4812_7_1_3" */
void record_id_format(struct run_id run, char out[RECORD_ID_MAX]);
/* 0, or -1 if `name` is not exactly what record_id_format() makes. */
int record_id_parse(const char *name, struct run_id *run);

/* Write all bytes to a file, even if signals interrupt; -1 with errno. */
int record_write_all(int fd, const void *bytes, size_t n);

enum record_flags {
	RECORD_SYNC = 1 << 0, /* on disk, with its name, when the call returns */
	RECORD_LOCK = 1 << 1, /* return a descriptor that holds an exclusive flock(2) */
};

/* Write `m` as `name` in the directory, in place of an older one. Returns 0 (RECORD_LOCK: the
 * descriptor, close-on-exec), or -1 with ERR_SYSTEM or ERR_NO_SPACE and the old record untouched.
 */
int record_write(
        int dirfd, const char *name, const ProtobufCMessage *m, unsigned flags, struct error *err);

/* Read a record. 1: *out is the caller's (protobuf_c_message_free_unpacked); 0: there is none;
 * -1: torn (ERR_PROTOCOL) or not readable (ERR_SYSTEM). */
int record_read(int dirfd, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **out, struct error *err);

/* The same from a descriptor, from its beginning; an empty or missing file is torn. */
int record_read_fd(
        int fd, const ProtobufCMessageDescriptor *desc, ProtobufCMessage **out, struct error *err);

/* A `bytes` field as a string, which the caller frees. */
char *record_string(const ProtobufCBinaryData *b);

/* Call fn for each name in the directory that is a run's id, in the order of run_id_order(); other
 * names are skipped. Stops at a result other than 0 and returns it; -1 with ERR_SYSTEM if the
 * directory cannot be read. */
int record_scan(int dirfd, int (*fn)(struct run_id run, const char *name, void *arg), void *arg,
        struct error *err);

#endif
