/* backup.c - MSG_BACKUP: a copy of the living state.db, while everything goes on */
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/rpc.h"
#include "ctld/store/store.h"

struct backup_call {
	bool ended, failed;
	struct error error;
	uint64_t pages, all_pages;
};

/* What the store calls back with: the call may be gone by then. */
struct asked {
	struct ctld *c;
	uint64_t call;
	char *path;
	bool progress;
};

static void answer(struct ctld *c, struct call *call, struct clocks now)
{
	struct backup_call *b = call->data;
	struct error error = b->error;
	Gpusched__BackupProgress m = GPUSCHED__BACKUP_PROGRESS__INIT;

	(void)now;
	if (b->ended) {
		call_done(c, call, b->failed ? &error : NULL);
		return;
	}
	m.pages = b->pages;
	m.all_pages = b->all_pages;
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_BACKUP_PROGRESS, call->id, &m.base);
}

static const struct call_ops backup_ops = { .slice = answer, .free = free };

static void on_done(void *arg, const struct store_result *result, const struct error *err)
{
	struct asked *asked = arg;
	struct call *call = call_find(asked->c, asked->call);
	struct backup_call *b = call ? call->data : NULL;

	(void)result;
	if (err)
		log_warning("%s", err->text);
	else
		log_info("backup: %s", asked->path);
	if (b)
		b->ended = true;
	if (b && err) {
		b->failed = true;
		b->error = *err;
	}
	if (call)
		call_go_on(asked->c, call);
	free(asked->path);
	free(asked);
}

static void on_progress(void *arg, uint64_t pages, uint64_t all)
{
	const struct asked *asked = arg;
	struct call *call = call_find(asked->c, asked->call);
	struct backup_call *b = call ? call->data : NULL;

	if (!b || !asked->progress)
		return;
	b->pages = pages;
	b->all_pages = all;
	call_go_on(asked->c, call);
}

int rpc_backup(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Backup *m = (const Gpusched__Backup *)rpc->msg;
	struct asked *asked;
	struct call *call;
	const char *name;

	if (rpc_reason(m->reason, err) < 0)
		return -1;
	call = call_new(c, rpc->peer, rpc->id, &backup_ops, xcalloc(1, sizeof(struct backup_call)));
	if (!call)
		return 0;
	users_name(c->users, rpc->peer->uid, &name);
	rpc_note(c, rpc, "controller.backup", m->path, m->reason);
	log_info("backup to %s asked for by %s at %s", m->path, name, rpc->peer->address);
	asked = xcalloc(1, sizeof(*asked));
	*asked = (struct asked){ c, call->number, xstrdup(m->path), m->progress };
	store_backup(c->store, asked->path, on_done, asked);
	store_backup_progress(c->store, on_progress);
	return 0;
}
