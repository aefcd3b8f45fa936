/* run_orders.c - see run_orders.h, record/order_socket.h */
#include "config.h"

#include "noded/runs/run_orders.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "noded/record/order_socket.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_records.h"
#include "noded/runs/run_report.h"
#include "noded/runs/runs.h"

#define AGAIN_MS 50 /* before an order is sent again */

void run_send_waiting(struct run *r)
{
	int dir = -1;

	for (int k = 0; k < RUN_ORDER_KINDS; k++) {
		struct run_order_bytes *w = &r->waiting[k];

		if (!w->bytes)
			continue;
		if (dir < 0)
			dir = run_dir(r, false);
		if ((dir < 0 || order_socket_send(dir, ORDER_SOCKET_NAME, w->bytes, w->len) < 0) &&
		        !order_socket_no_receiver(errno)) {
			run_set_timer(r, AGAIN_MS);
			break;
		}
		/* Sent; or no shepherd is there: its end is on the way, or the timer notices. */
		free(w->bytes);
		w->bytes = NULL;
	}
	fd_close(dir);
}

void run_pass_on(struct run *r, enum run_order_kind kind, unsigned type, const ProtobufCMessage *m)
{
	struct run_order_bytes *w = &r->waiting[kind];
	uint8_t b[ORDER_SOCKET_MAX];
	int len = order_socket_pack(type, m, b);

	if (len < 0) {
		log_warning("run %s: order not passed on: its strings are too long", r->name);
		return;
	}
	free(w->bytes);
	*w = (struct run_order_bytes){ xmemdup(b, (size_t)len), (size_t)len };
	run_send_waiting(r);
}

/* The node itself ends the run, at once. */
static void end_it(struct run *r, Gpusched__EndCause cause, const char *text)
{
	Gpusched__EndRun end = GPUSCHED__END_RUN__INIT;
	Gpusched__RunId id = *r->report->run;

	end.run = &id;
	end.cause = cause;
	end.detail = (char *)(uintptr_t)text;
	run_pass_on(r, RUN_ORDER_END, GPUSCHED__MSG_TYPE__MSG_END_RUN, &end.base);
}

void run_spool_full(struct run *r, const char *text)
{
	end_it(r, GPUSCHED__END_CAUSE__CAUSE_SPOOL, text);
}

void run_over_memory(struct run *r, enum overmem_policy policy, const char *text)
{
	Gpusched__RunNote note = GPUSCHED__RUN_NOTE__INIT;

	if (policy == OVERMEM_END) {
		end_it(r, GPUSCHED__END_CAUSE__CAUSE_GPU_MEMORY, text);
		return;
	}
	note.text = (char *)(uintptr_t)text;
	note.tell = policy == OVERMEM_WARN;
	run_pass_on(r, RUN_ORDER_NOTE, ORDER_SOCKET_NOTE, &note.base);
	run_report_set(&r->report->detail, text);
	run_send_report(r);
}

void run_reclaim(struct run *r, const Gpusched__EndRun *order)
{
	run_pass_on(r, RUN_ORDER_RECLAIM, GPUSCHED__MSG_TYPE__MSG_END_RUN, &order->base);
	run_report_set(&r->report->detail, order->detail);
	run_send_report(r);
}
