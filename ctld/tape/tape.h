/* tape.h - all inputs of a core, in a file
 *
 * The core decides only by its inputs: its configuration, the rows it was loaded with, one seed,
 * and calls with events and clocks. `gctld --record` stores them in their order, and a program
 * that makes the same calls again (player.h) has the same core again, at each point.
 *
 *	file     TAPE_MAGIC, frames
 *	frame    u16 length, u16 check of the length, u32 check of the bytes, 1 to TAPE_FRAME bytes;
 *	         both checks include the frame's number, so no frame can be missing or repeated
 *	record   one frame or several: the first byte of each is the kind, and TAPE_MORE where
 *	         another follows
 *	section  what one process wrote: START, ROW..., STARTED, the rest; END where it ended in an
 *	         orderly way. A file has a section for each start of the controller
 *
 * All numbers are little-endian. Clocks are written as differences from the previous record. A
 * file whose last record is cut short, or turns into zeros, was left by a crash or a power cut: it
 * ends with the previous record. Any other inconsistency is damage, reported by record and offset.
 *
 * To add or change a kind: a row in tape.c; if older versions could misread it, TAPE_VERSION.
 */
#ifndef CTLD_TAPE_TAPE_H
#define CTLD_TAPE_TAPE_H

#include <stdio.h>

#include "common/base/error.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/row.h"
#include "ctld/tape/bytes.h"
#include "ctld/tape/struct_codec.h"

#define TAPE_MAGIC     "gpusched record\n"
#define TAPE_MAGIC_LEN 16
#define TAPE_VERSION   1
#define TAPE_FRAME     32768
#define TAPE_HEAD      8    /* bytes of a frame before its own */
#define TAPE_MORE      0x80 /* in the kind */
/* A submit of a million jobs is a record of some 300 MB, more with long texts. */
#define TAPE_RECORD_MAX ((size_t)8 << 30)

enum tape_kind {
	TAPE_START = 1,   /* core_new() */
	TAPE_ROW,         /* core_load() */
	TAPE_STARTED,     /* core_start() */
	TAPE_TAKEOVER,    /* core_takeover() */
	TAPE_EVENT,       /* core_apply() */
	TAPE_SLICE,       /* core_schedule() */
	TAPE_RECONFIGURE, /* core_reconfigure() */
	TAPE_WHY,         /* core_job_why(): it tries changes, and undoes them */
	TAPE_SEAL,        /* core_seal(), and what came of it */
	TAPE_MARK,        /* what core_hash() was */
	TAPE_END,         /* nothing is missing */
};
#define TAPE_KINDS (TAPE_END + 1)

/* One record. What it points to is the caller's when it is written, and good until the next call
 * when it is read. */
struct tape_record {
	enum tape_kind kind;
	struct clocks now; /* STARTED, EVENT, SLICE, RECONFIGURE, WHY */
	union {
		struct {
			uint32_t version; /* TAPE_VERSION */
			uint64_t format;  /* tape_format() */
			const char *gpusched;
			uint64_t seed;
			const char *conf; /* conf_print() */
		} start;
		const struct row *row;
		struct {
			uint64_t epoch, job;
		} takeover;
		const struct core_event *event;
		uint32_t budget;
		const char *conf; /* RECONFIGURE */
		uint64_t ref;     /* WHY */
		struct {
			uint64_t rows, sum; /* the sum of row_hash() */
		} seal;
		uint64_t hash;
	};
};

const char *tape_kind_name(enum tape_kind kind);

/* The sum of a SEAL: a sink for the rows, which `arg` (struct tape_sum) passes on. */
struct tape_sum {
	void (*sink)(void *arg, const struct row *row); /* NULL: the rows are not needed */
	void *arg;
	uint64_t sum;
};
void tape_sum_row(void *arg, const struct row *row);

/* --- writing ---------------------------------------------------------------------------------- */

/* A frame, to be kept as a whole. */
typedef void tape_out_fn(void *arg, const void *frame, size_t n);

struct tape_writer {
	tape_out_fn *out;
	void *arg;
	uint64_t frames, records; /* so far in the file; what is to go on: as tape_scan() says */
	struct clocks last;
	struct bytes b;
};

void tape_write(struct tape_writer *w, const struct tape_record *r);
void tape_writer_clear(struct tape_writer *w);

/* --- reading ---------------------------------------------------------------------------------- */

struct tape_reader {
	const char *path;        /* borrowed; for messages */
	FILE *f;                 /* borrowed */
	uint64_t at;             /* read so far, bytes */
	uint64_t number, offset; /* of the record read last; the first is 1 */
	uint64_t frames;         /* up to its end */
	uint64_t end;            /* where it ends */
	uint64_t torn;           /* at the end of the file: bytes of a record cut short */
	struct clocks last;
	struct bytes b;
	struct pool pool;
	struct core_event event;
	struct row row;
};

/* Begin with the magic. */
int tape_read_begin(struct tape_reader *r, FILE *f, const char *path, struct error *err);
/* 1: a record; 0: there are no more; -1 with ERR_CONFIG, "FILE: record N at byte O: ...". */
int tape_read(struct tape_reader *r, struct tape_record *record, struct error *err);
void tape_reader_clear(struct tape_reader *r);
/* The same beginning, for what is found out about a record by others. Returns -1. */
int tape_wrap(const struct tape_reader *r, struct error *err);

/* Reads all frames without decoding the records: finds where a file can be continued. */
int tape_scan(struct tape_reader *r, struct error *err);

#endif
