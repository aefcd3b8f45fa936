/* shepherd_orders.c - the launcher's orders while a run is running; see shepherd_impl.h */
#include "config.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "noded/record/inherit.h"
#include "noded/record/order_socket.h"
#include "noded/shepherd/shepherd_impl.h"

/* Takes the order over. An order that is repeated later no longer says at whose request. */
static void obey_end(struct shepherd *s, Gpusched__EndRun *o)
{
	Gpusched__EndRun *old = s->order;

	if (*o->detail && s->ending.phase <= DEADLINE_GRACE)
		snprintf(s->detail, sizeof(s->detail), "%s", o->detail);
	deadline_order(
	        &s->ending, (enum end_cause)o->cause, (int)o->signal, o->grace_s * SECOND, mono());
	if (old && !old->give_back && old->cause == o->cause && !*o->by_user && !o->by_job) {
		old->requeue = o->requeue;
		protobuf_c_message_free_unpacked(&o->base, NULL);
		return;
	}
	if (old)
		protobuf_c_message_free_unpacked(&old->base, NULL);
	s->order = o;
}

/* The run must give back borrowed GPU memory, or no longer. Takes the order over. */
static void obey_give_back(struct shepherd *s, Gpusched__EndRun *o)
{
	bool asked = s->order && s->order->give_back, taken;
	usec_t now = mono();

	if (o->withdrawn) /* if the signal has ended the main process the run ends */
		taken = asked && !s->main_gone && deadline_withdraw(&s->ending, now);
	else
		taken = deadline_reclaim(&s->ending, (int)o->signal, o->grace_s * SECOND, now);
	if (!taken) {
		protobuf_c_message_free_unpacked(&o->base, NULL);
		return;
	}
	snprintf(s->detail, sizeof(s->detail), "%s", o->detail);
	if (s->order)
		protobuf_c_message_free_unpacked(&s->order->base, NULL);
	s->order = o;
	s->burst_time = o->withdrawn ? 0 : clock_us(CLOCK_REALTIME) + o->grace_s * SECOND;
	if (o->withdrawn) {
		rundir_no_interrupt(s->rundir);
		protobuf_c_message_free_unpacked(&o->base, NULL);
		s->order = NULL;
	}
	shepherd_tell_notes(s, now);
}

/* CONT does not resume a suspended run: only the order to resume does. */
void shepherd_signal(struct shepherd *s, const Gpusched__SignalRun *order)
{
	int sig = (int)order->signal;

	if (!s->executed || (s->holding && sig == SIGCONT))
		return;
	/* Our own child, not reaped yet: the process id is still its own. */
	if (order->steps_only) /* gstepd starts each task in a session of its own */
		contain_signal_beyond(s->leaf, sig, s->main);
	else if (s->launch->probe && order->script_only) /* which is gprobe's child */
		contain_signal_children(s->leaf, sig, s->main);
	else if (s->launch->probe)
		contain_signal_except(s->leaf, sig, s->main);
	else if (!order->script_only)
		contain_signal(s->leaf, sig);
	else if (!s->main_gone)
		kill(s->main, sig);
}

static void obey_note(struct shepherd *s, const Gpusched__RunNote *note)
{
	if (*s->detail)
		return;
	snprintf(s->detail, sizeof(s->detail), "%s", note->text);
	s->tell_detail = note->tell;
}

static void obey_suspend(struct shepherd *s, const Gpusched__SuspendRun *order)
{
	s->hold = order->suspend;
	if (order->time_limit_s)
		deadline_set_limit(&s->ending,
		        order->time_limit_s == UINT32_MAX ? 0 : order->time_limit_s * SECOND);
}

void shepherd_obey(struct shepherd *s)
{
	ProtobufCMessage *m;
	unsigned type;
	int r;

	while ((r = order_socket_receive(SHEPHERD_CTL_FD, &type, &m, NULL)) != 0) {
		if (r < 0)
			continue; /* of an unknown version; the launcher may repeat it */
		switch (type) {
		case GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN:
			shepherd_signal(s, (Gpusched__SignalRun *)m);
			break;
		case GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN:
			obey_suspend(s, (Gpusched__SuspendRun *)m);
			break;
		case ORDER_SOCKET_NOTE:
			obey_note(s, (Gpusched__RunNote *)m);
			break;
		default:
			if (((Gpusched__EndRun *)m)->give_back)
				obey_give_back(s, (Gpusched__EndRun *)m);
			else
				obey_end(s, (Gpusched__EndRun *)m);
			continue;
		}
		protobuf_c_message_free_unpacked(m, NULL);
	}
}
