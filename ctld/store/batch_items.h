/* batch_items.h - a batch (batch.h) from inside: made by itself, read item by item */
#ifndef CTLD_STORE_BATCH_ITEMS_H
#define CTLD_STORE_BATCH_ITEMS_H

#include "ctld/store/batch.h"

struct store_batch {
	uint8_t *bytes;
	size_t len, cap;
	size_t n_rows, n_blobs, n_wanted;
	struct store_trim trim;
	int64_t erase_before; /* INT64_MAX: all that has ended */
	struct {
		size_t head; /* SIZE_MAX: none yet */
		size_t script, script_len, credential, credential_len;
		uint32_t uid;
	} last; /* the last blob: offsets of what it has, its own or its neighbour's */
	struct store_batch *next; /* in the store's list of those to be used again */
};

enum batch_kind { BATCH_ROW, BATCH_BLOB, BATCH_SIGN, BATCH_WANT };

/* How a script or a credential relates to its neighbours of the same batch. */
enum batch_share {
	SHARE_NEXT = 1, /* the next blob has the same */
	SHARE_LAST = 2, /* the blob before has the same: no bytes here */
};

struct batch_item {
	enum batch_kind kind;
	struct row row;         /* BATCH_ROW; values point into the batch */
	struct store_blob blob; /* BATCH_BLOB; SIGN: job, uid, credential; WANT: the job alone */
	unsigned script_share, credential_share;
	void *tag; /* BATCH_WANT */
};

struct store_batch *batch_new(void);
void batch_free(struct store_batch *batch); /* NULL is fine */
/* Empty it; a huge one gives its memory back. */
void batch_reset(struct store_batch *batch);

/* Read the item at *offset (0 to begin) and move on. False: no more. */
bool batch_next(const struct store_batch *batch, size_t *offset, struct batch_item *item);

#endif
