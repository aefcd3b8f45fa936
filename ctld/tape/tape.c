/* tape.c - see tape.h */
#include "ctld/tape/tape.h"

#include <errno.h>
#include <string.h>

#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/tape/event_codec.h"

/* --- the kinds ------------------------------------------------------------------------------- */

#define REC struct tape_record

static const struct field start_fields[] = {
	NUMBER(REC, start.version, start.format),
	TEXT(REC, start.gpusched),
	NUMBER(REC, start.seed),
	TEXT(REC, start.conf),
};
static const struct field takeover_fields[] = {
	NUMBER(REC, takeover.epoch, takeover.job),
};
static const struct field slice_fields[] = { NUMBER(REC, budget) };
static const struct field reconfigure_fields[] = { TEXT(REC, conf) };
static const struct field why_fields[] = { NUMBER(REC, ref) };
static const struct field seal_fields[] = { NUMBER(REC, seal.rows), NUMBER(REC, seal.sum) };
static const struct field mark_fields[] = { NUMBER(REC, hash) };

static const struct {
	bool timed;       /* it has clocks */
	struct form form; /* rows and events have their own */
} kinds[TAPE_KINDS] = {
	[TAPE_START] = { false, FORM("start", REC, start_fields) },
	[TAPE_ROW] = { false, { "row", 0, NULL, 0 } },
	[TAPE_STARTED] = { true, { "started", 0, NULL, 0 } },
	[TAPE_TAKEOVER] = { false, FORM("takeover", REC, takeover_fields) },
	[TAPE_EVENT] = { true, { "event", 0, NULL, 0 } },
	[TAPE_SLICE] = { true, FORM("slice", REC, slice_fields) },
	[TAPE_RECONFIGURE] = { true, FORM("reconfigure", REC, reconfigure_fields) },
	[TAPE_WHY] = { true, FORM("why", REC, why_fields) },
	[TAPE_SEAL] = { false, FORM("seal", REC, seal_fields) },
	[TAPE_MARK] = { false, FORM("mark", REC, mark_fields) },
	[TAPE_END] = { false, { "end", 0, NULL, 0 } },
};

const char *tape_kind_name(enum tape_kind kind)
{
	return kind && (size_t)kind < TAPE_KINDS ? kinds[kind].form.name : "?";
}

void tape_sum_row(void *arg, const struct row *row)
{
	struct tape_sum *s = arg;

	s->sum += row_hash(row);
	if (s->sink)
		s->sink(s->arg, row);
}

/* --- clocks ---------------------------------------------------------------------------------- */

/* A jump of the wall clock is a number of its own, which is mostly 0. Sums may wrap: no matter. */
static void write_clocks(struct clocks *last, struct clocks now, struct bytes *out)
{
	uint64_t mono = (uint64_t)now.mono - (uint64_t)last->mono;

	bytes_i64(out, (int64_t)mono);
	bytes_i64(out, (int64_t)((uint64_t)now.wall - (uint64_t)last->wall - mono));
	*last = now;
}

static struct clocks read_clocks(struct clocks *last, struct taker *in)
{
	uint64_t mono = (uint64_t)take_i64(in), jump = (uint64_t)take_i64(in);

	last->mono = (usec_t)((uint64_t)last->mono + mono);
	last->wall = (usec_t)((uint64_t)last->wall + mono + jump);
	return *last;
}

/* --- frames ---------------------------------------------------------------------------------- */

static uint16_t check_length(uint16_t length, uint64_t number)
{
	return (uint16_t)(hash_u64(length, number) >> 48);
}

static uint32_t check_bytes(const void *p, size_t n, uint64_t number)
{
	return (uint32_t)(hash_bytes(p, n, number) >> 32);
}

static void put16(uint8_t *at, uint16_t x)
{
	at[0] = (uint8_t)x;
	at[1] = (uint8_t)(x >> 8);
}

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_frame(struct tape_writer *w, uint8_t kind, const uint8_t *p, size_t n)
{
	uint8_t frame[TAPE_HEAD + TAPE_FRAME];
	uint16_t length = (uint16_t)(n + 1);
	uint32_t check;

	frame[TAPE_HEAD] = kind;
	memcpy(frame + TAPE_HEAD + 1, p, n);
	check = check_bytes(frame + TAPE_HEAD, length, w->frames);
	put16(frame, length);
	put16(frame + 2, check_length(length, w->frames));
	put16(frame + 4, (uint16_t)check);
	put16(frame + 6, (uint16_t)(check >> 16));
	w->frames++;
	w->out(w->arg, frame, TAPE_HEAD + (size_t)length);
}

void tape_write(struct tape_writer *w, const struct tape_record *r)
{
	const size_t most = TAPE_FRAME - 1;
	size_t at = 0;

	w->b.n = 0;
	if (r->kind == TAPE_START)
		w->last = (struct clocks){ 0, 0 };
	if (kinds[r->kind].timed)
		write_clocks(&w->last, r->now, &w->b);
	if (r->kind == TAPE_ROW)
		row_write(r->row, &w->b);
	else if (r->kind == TAPE_EVENT)
		event_write(r->event, &w->b);
	else
		form_write(&kinds[r->kind].form, r, &w->b);
	for (; w->b.n - at > most; at += most)
		write_frame(w, (uint8_t)r->kind | TAPE_MORE, w->b.v + at, most);
	write_frame(w, (uint8_t)r->kind, w->b.v + at, w->b.n - at);
	w->records++;
}

void tape_writer_clear(struct tape_writer *w)
{
	bytes_free(&w->b);
}

/* --- reading --------------------------------------------------------------------------------- */

int tape_wrap(const struct tape_reader *r, struct error *err)
{
	return error_wrap(err, "%s: record %llu at byte %llu", r->path,
	        (unsigned long long)r->number, (unsigned long long)r->offset);
}

static int damaged(const struct tape_reader *r, struct error *err, const char *what)
{
	error_set(err, ERR_CONFIG, "%s", what);
	return tape_wrap(r, err);
}

/* As many as there are, `n` at most. -1: it cannot be read. */
static ssize_t read_bytes(struct tape_reader *r, void *p, size_t n, struct error *err)
{
	size_t got = fread(p, 1, n, r->f);

	r->at += got;
	if (got < n && ferror(r->f)) {
		error_set(err, ERR_SYSTEM, "%s", strerror(errno));
		return tape_wrap(r, err);
	}
	return (ssize_t)got;
}

/* The file ends within the record. */
static int torn(struct tape_reader *r)
{
	r->torn = r->at - r->offset;
	r->number--;
	return 0;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n && !*p)
		p++, n--;
	return !n;
}

/* The bytes read are no valid frame. If zeros begin within them and nothing else follows, the file
 * was cut short by a power cut; otherwise it is damaged. */
static int not_whole(struct tape_reader *r, uint8_t last, const char *what, struct error *err)
{
	uint8_t rest[4096];
	bool zeros = !last;
	ssize_t n;

	while (zeros && (n = read_bytes(r, rest, sizeof(rest), err)) != 0) {
		if (n < 0)
			return -1;
		zeros = is_zero(rest, (size_t)n);
	}
	return zeros ? torn(r) : damaged(r, err, what);
}

/* 1: a frame, its kind and its bytes in *kind and r->b; 0: the file ends; -1. */
static int read_frame(struct tape_reader *r, uint8_t *kind, uint64_t number, struct error *err)
{
	uint8_t frame[TAPE_HEAD + TAPE_FRAME];
	ssize_t n = read_bytes(r, frame, TAPE_HEAD, err);
	uint16_t length;

	if (n < TAPE_HEAD)
		return n < 0 ? -1 : n == 0 && r->at == r->offset ? 0 : torn(r);
	length = get16(frame);
	if (length < 1 || length > TAPE_FRAME || get16(frame + 2) != check_length(length, number))
		return not_whole(r, frame[TAPE_HEAD - 1], "damaged: the length of a frame", err);
	n = read_bytes(r, frame + TAPE_HEAD, length, err);
	if (n < length)
		return n < 0 ? -1 : torn(r);
	if ((get16(frame + 4) | (uint32_t)get16(frame + 6) << 16) !=
	        check_bytes(frame + TAPE_HEAD, length, number))
		return not_whole(
		        r, frame[TAPE_HEAD + length - 1], "damaged: the check of a frame", err);
	*kind = frame[TAPE_HEAD];
	bytes_raw(&r->b, frame + TAPE_HEAD + 1, (size_t)length - 1);
	return 1;
}

/* The frames of the next record. */
static int read_frames(struct tape_reader *r, uint8_t *kind, struct error *err)
{
	uint64_t frames = r->frames;
	uint8_t next = 0;
	int rc;

	r->number++;
	r->offset = r->end;
	r->b.n = 0;
	do {
		bool first = frames == r->frames;

		rc = read_frame(r, &next, frames, err);
		if (rc <= 0) {
			if (rc == 0 && !r->torn)
				r->number--; /* that was all */
			return rc;
		}
		if (!first && (next & ~TAPE_MORE) != *kind)
			return damaged(r, err, "a frame of another record within it");
		*kind = next & (uint8_t)~TAPE_MORE;
		if (r->b.n > TAPE_RECORD_MAX)
			return damaged(r, err, "it is too long");
		frames++;
	} while (next & TAPE_MORE);
	r->frames = frames;
	r->end = r->at;
	return 1;
}

static void read_body(struct tape_reader *r, struct tape_record *record, struct taker *in)
{
	if (record->kind == TAPE_START)
		r->last = (struct clocks){ 0, 0 };
	if (kinds[record->kind].timed)
		record->now = read_clocks(&r->last, in);
	if (record->kind == TAPE_ROW) {
		row_read(&r->row, in);
		record->row = &r->row;
	} else if (record->kind == TAPE_EVENT) {
		event_read(&r->event, in, &r->pool);
		record->event = &r->event;
	} else {
		form_read(&kinds[record->kind].form, record, in, &r->pool);
	}
}

int tape_read(struct tape_reader *r, struct tape_record *record, struct error *err)
{
	struct taker in;
	uint8_t kind = 0;
	int rc = read_frames(r, &kind, err);

	if (rc <= 0)
		return rc;
	if (!kind || kind >= TAPE_KINDS)
		return damaged(r, err, "of no known kind");
	pool_empty(&r->pool);
	*record = (struct tape_record){ .kind = (enum tape_kind)kind };
	in = (struct taker){ r->b.v, r->b.v + r->b.n, false };
	read_body(r, record, &in);
	if (!in.bad && !take_left(&in))
		return 1;
	error_set(err, ERR_CONFIG, "its bytes make no %s", tape_kind_name(record->kind));
	return tape_wrap(r, err);
}

int tape_scan(struct tape_reader *r, struct error *err)
{
	uint8_t kind;
	int rc;

	while ((rc = read_frames(r, &kind, err)) > 0)
		;
	return rc;
}

int tape_read_begin(struct tape_reader *r, FILE *f, const char *path, struct error *err)
{
	char magic[TAPE_MAGIC_LEN];
	ssize_t n;

	*r = (struct tape_reader){ .path = path, .f = f };
	n = read_bytes(r, magic, sizeof(magic), err);
	if (n < 0)
		return -1;
	if (n < TAPE_MAGIC_LEN || memcmp(magic, TAPE_MAGIC, TAPE_MAGIC_LEN) != 0)
		return error_set(err, ERR_CONFIG,
		        "%s: not a record of gctld: it does not begin as one", path);
	r->end = r->at;
	return 0;
}

void tape_reader_clear(struct tape_reader *r)
{
	bytes_free(&r->b);
	pool_free(&r->pool);
}
