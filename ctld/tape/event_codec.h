/* event_codec.h - the events of the core as bytes
 *
 * event_codec.c has a table for each kind of event with the fields that it uses. An event that was
 * read from a file is checked as far as the core relies on it: nodes and partitions exist, verbs
 * and states are known, texts are there. So a damaged or forged file is refused before the core
 * sees it.
 */
#ifndef CTLD_TAPE_EVENT_CODEC_H
#define CTLD_TAPE_EVENT_CODEC_H

#include "common/base/error.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/row.h"
#include "ctld/tape/struct_codec.h"

void event_write(const struct core_event *e, struct bytes *out);
/* Whether it makes sense is event_check()'s to say. On failure the taker is bad. */
void event_read(struct core_event *e, struct taker *in, struct pool *pool);
int event_check(const struct core_event *e, const struct conf *conf, struct error *err);

const struct form *event_form(enum event_kind kind); /* NULL: no such kind */
#define EVENT_KINDS (EV_CLOCK + 1)

void row_write(const struct row *row, struct bytes *out);
void row_read(struct row *row, struct taker *in); /* core_load() checks the rest */

/* Of all that is written: another number, and what was written cannot be read here. */
uint64_t tape_format(void);

#endif
