/* gpu_faults.c - see gpu_faults.h, common/gpu/gpufault.h
 *
 * Three sources feed one list that is reported until the controller has acknowledged it:
 *
 *	Xids        as they come, from a child that waits for them (gpu/xid_events.h)
 *	probes      what gpu_inventory.c has found, compared with the faults known so far
 *	processes   on a GPU that no run holds (gpu_leftovers.c)
 *
 * A fault that probes and samples find is reported once, and again only if the GPU was well in
 * between. If the fault is one that only a reset ends, its end is reported as a reset of the GPU. A
 * record in RUNDIR keeps all this for a later launcher.
 */
#include "config.h"

#include "noded/watch/gpu_faults.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/each.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpufault.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/event_end.h"
#include "noded/gpu/gpus.h"
#include "noded/gpu/xid_events.h"
#include "noded/record/record.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/watch/gpu_inventory.h"

#define RECORD     "faults"
#define FAULTS_MAX 256 /* not acknowledged; more are not kept */
#define SAME_S     60  /* an Xid of a GPU is reported once in this time */
#define LOOK_S     2   /* between two probes because of Xids */
#define TEXT_MAX   200

struct fault {
	uint64_t seq; /* 0: of `seen` */
	char uuid[GPUS_TEXT];
	enum gpu_fault_kind kind;
	uint32_t code;
	char text[TEXT_MAX];
	int64_t wall_us;
};

struct faults {
	struct fault *v;
	size_t n, room;
};

struct gpu_faults {
	struct launcher *l;
	struct gpu_events *events;
	struct event *xid; /* readable; NULL: no child */
	uint64_t left_out; /* GPUs that the child leaves out, NVML's indices */
	uint64_t seq;
	struct faults pending, seen, told; /* told: Xids of the last SAME_S */
	struct faults last;                /* the last Xid of each slot */
	usec_t looked;                     /* mono: the last probe because of an Xid */
};

static void set_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%.*s", (int)size - 1, text);
}

/* --- lists, their record, reports ------------------------------------------------------------ */

static struct fault *find_fault(
        const struct faults *f, const char *uuid, enum gpu_fault_kind kind, uint32_t code)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].kind == kind && f->v[i].code == code && !strcmp(f->v[i].uuid, uuid))
			return &f->v[i];
	}
	return NULL;
}

static struct fault *append_fault(struct faults *f, const struct fault *fault)
{
	f->v = xgrow(f->v, f->n, &f->room, sizeof(*f->v));
	f->v[f->n] = *fault;
	return &f->v[f->n++];
}

static void drop_fault(struct faults *f, size_t i)
{
	f->v[i] = f->v[--f->n];
}

static Gpusched__GpuFault **messages(const struct faults *f)
{
	Gpusched__GpuFault **list = xcalloc(f->n + 1, sizeof(*list));
	Gpusched__GpuFault *v = xcalloc(f->n + 1, sizeof(*v));

	for (size_t i = 0; i < f->n; i++) {
		gpusched__gpu_fault__init(&v[i]);
		COPY_FIELDS(&v[i], &f->v[i], seq, uuid, kind, code, text);
		v[i].time = f->v[i].wall_us;
		list[i] = &v[i];
	}
	list[f->n] = v; /* for messages_free() */
	return list;
}

static void messages_free(Gpusched__GpuFault **list, size_t n)
{
	free(list[n]);
	free(list);
}

static void save_faults(struct gpu_faults *f)
{
	Gpusched__GpuFaultsRecord m = GPUSCHED__GPU_FAULTS_RECORD__INIT;
	struct error err;

	m.seq = f->seq;
	m.n_pending = f->pending.n;
	m.pending = messages(&f->pending);
	m.n_seen = f->seen.n;
	m.seen = messages(&f->seen);
	m.n_last = f->last.n;
	m.last = messages(&f->last);
	if (record_write(f->l->dirs->rundir, RECORD, &m.base, 0, &err) < 0)
		log_error("faults of GPUs: %s", err.text);
	messages_free(m.pending, m.n_pending);
	messages_free(m.seen, m.n_seen);
	messages_free(m.last, m.n_last);
}

static void load_list(struct faults *to, Gpusched__GpuFault *const *v, size_t n)
{
	for (size_t i = 0; i < n && i < FAULTS_MAX; i++) {
		struct fault fault = { .seq = v[i]->seq,
			.kind = (enum gpu_fault_kind)v[i]->kind,
			.code = v[i]->code,
			.wall_us = v[i]->time };

		set_text(fault.uuid, sizeof(fault.uuid), v[i]->uuid);
		set_text(fault.text, sizeof(fault.text), v[i]->text);
		append_fault(to, &fault);
	}
}

/* A record of another incarnation is useless: its faults were acknowledged or are gone with it. */
static void load_faults(struct gpu_faults *f)
{
	ProtobufCMessage *m = NULL;
	const Gpusched__GpuFaultsRecord *r;

	if (f->l->dirs->fresh || record_read(f->l->dirs->rundir, RECORD,
	                                   &gpusched__gpu_faults_record__descriptor, &m, NULL) != 1)
		return;
	r = (const Gpusched__GpuFaultsRecord *)m;
	f->seq = r->seq;
	load_list(&f->pending, r->pending, r->n_pending);
	load_list(&f->seen, r->seen, r->n_seen);
	load_list(&f->last, r->last, r->n_last);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* Report all faults, and what was found on GPUs that the controller wanted examined. */
static void report_faults(struct gpu_faults *f, Gpusched__GpuLooked **looked, size_t n_looked)
{
	Gpusched__GpuReport m = GPUSCHED__GPU_REPORT__INIT;

	m.n_faults = f->pending.n;
	m.faults = messages(&f->pending);
	m.n_looked = n_looked;
	m.looked = looked;
	agent_send(f->l, GPUSCHED__MSG_TYPE__MSG_GPU_REPORT, &m.base);
	messages_free(m.faults, m.n_faults);
}

void gpu_faults_send(struct launcher *l)
{
	if (l->gpu_faults && l->gpu_faults->pending.n)
		report_faults(l->gpu_faults, NULL, 0);
}

/* Add a new fault. The caller saves and reports. */
static void add_fault(struct gpu_faults *f, const char *uuid, enum gpu_fault_kind kind,
        uint32_t code, const char *text)
{
	struct fault fault = {
		.seq = f->seq + 1, .kind = kind, .code = code, .wall_us = clock_us(CLOCK_REALTIME)
	};
	char word[GPU_FAULT_WORD];

	set_text(fault.uuid, sizeof(fault.uuid), uuid);
	set_text(fault.text, sizeof(fault.text), text);
	log_warning("GPU %s: %s: %s", uuid, gpu_fault_word(kind, code, word),
	        *text ? text : gpu_fault_row(kind, code)->text);
	if (f->pending.n >= FAULTS_MAX || find_fault(&f->pending, uuid, kind, code))
		return;
	f->seq++;
	append_fault(&f->pending, &fault);
}

void gpu_faults_ack(struct launcher *l, uint64_t seq)
{
	struct gpu_faults *f = l->gpu_faults;
	size_t n = f ? f->pending.n : 0;

	for (size_t i = n; i-- > 0;) {
		if (f->pending.v[i].seq <= seq)
			drop_fault(&f->pending, i);
	}
	if (f && f->pending.n != n) {
		save_faults(f);
		report_faults(f, NULL, 0); /* the network half keeps no more than we */
	}
}

/* --- what probes find ------------------------------------------------------------------------ */

/* Is a reset of the GPU the only end of this fault? */
static bool ends_by_reset(enum gpu_fault_kind kind)
{
	return kind == GPU_FAULT_RECOVERY || kind == GPU_FAULT_REMAP_PENDING;
}

/* Set or clear a condition; it is reported when it becomes set. True: it has changed. */
static bool set_condition(
        struct gpu_faults *f, const char *uuid, enum gpu_fault_kind kind, bool is, const char *text)
{
	struct fault *known = find_fault(&f->seen, uuid, kind, 0), fault = { .kind = kind };

	if (is == (known != NULL))
		return false;
	if (!is) {
		drop_fault(&f->seen, (size_t)(known - f->seen.v));
		if (ends_by_reset(kind))
			add_fault(f, uuid, GPU_FAULT_RESET, 0, "");
		return true;
	}
	set_text(fault.uuid, sizeof(fault.uuid), uuid);
	set_text(fault.text, sizeof(fault.text), text);
	append_fault(&f->seen, &fault);
	add_fault(f, uuid, kind, 0, text);
	return true;
}

static bool check_slot(struct gpu_faults *f, const struct gpu *gpu)
{
	const struct gpu_health *h = &gpu->health;
	char ecc[TEXT_MAX], total[TEXT_MAX], hot[TEXT_MAX];
	bool changed = false;

	snprintf(ecc, sizeof(ecc), "%llu uncorrectable memory errors since the driver was loaded",
	        (unsigned long long)h->ecc);
	snprintf(total, sizeof(total), "%llu uncorrectable memory errors in its life",
	        (unsigned long long)h->ecc_total);
	snprintf(hot, sizeof(hot), "%u C, it slows down at %u C", h->temp_c, h->slowdown_c);
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_LOST, false, "");
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_HUNG, false, "");
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_ECC, h->ecc > 0, ecc);
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_ECC_TOTAL, h->ecc_total > 0, total);
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_REMAP_PENDING, h->remap_pending, "");
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_REMAP_FAILED, h->remap_failed, "");
	changed |= set_condition(f, gpu->uuid, GPU_FAULT_RECOVERY, h->recovery != GPU_RECOVERY_NONE,
	        h->recovery == GPU_RECOVERY_BOOT ? "the driver says that its node must be booted"
	                                         : "");
	changed |= set_condition(
	        f, gpu->uuid, GPU_FAULT_HOT, h->slowdown_c && h->temp_c >= h->slowdown_c, hot);
	return changed;
}

/* Is it the same GPU as `was`, or the GPU of that instance? A GPU without a UUID is known by its
 * number. */
static bool is_of(const struct gpu *gpu, const struct gpu *was)
{
	if (*gpu->uuid && (was->kind != GPU_MIG || gpu->kind == GPU_MIG))
		return !strcmp(gpu->uuid, was->uuid);
	return gpu->nvml == was->nvml && (!*gpu->pci || !strcmp(gpu->pci, was->pci));
}

/* The entry in trouble that a GPU has become; NULL: it is gone, or another layout. */
static const struct gpu *trouble_of(const struct gpus *now, const struct gpu *was)
{
	for (uint32_t i = 0; i < now->n; i++) {
		const struct gpu *gpu = &now->v[i];

		if (*gpu->trouble && is_of(gpu, was))
			return gpu;
	}
	return NULL;
}

static bool check_gone(struct gpu_faults *f, const struct gpus *now, const struct gpu *was)
{
	const struct gpu *gpu = gpus_find(now, was->uuid) ? NULL : trouble_of(now, was);
	enum gpu_fault_kind kind = GPU_FAULT_LOST;

	if (gpu && gpu->health.hung)
		kind = GPU_FAULT_HUNG;
	else if (gpu && gpu->health.recovery != GPU_RECOVERY_NONE)
		kind = GPU_FAULT_RECOVERY;
	return gpu && set_condition(f, was->uuid, kind, true, gpu->trouble);
}

void gpu_faults_condition(
        struct launcher *l, const char *uuid, enum gpu_fault_kind kind, bool is, const char *text)
{
	if (!set_condition(l->gpu_faults, uuid, kind, is, text))
		return;
	save_faults(l->gpu_faults);
	report_faults(l->gpu_faults, NULL, 0);
}

/* --- Xids ------------------------------------------------------------------------------------ */

/* Was it reported recently? Repeated failures of one program are one event. */
static bool was_told_lately(struct gpu_faults *f, const struct fault *x)
{
	bool known;

	for (size_t i = f->told.n; i-- > 0;) {
		if (x->wall_us - f->told.v[i].wall_us > (int64_t)SAME_S * 1000000 ||
		        x->wall_us < f->told.v[i].wall_us)
			drop_fault(&f->told, i);
	}
	known = find_fault(&f->told, x->uuid, x->kind, x->code) != NULL;
	if (!known)
		append_fault(&f->told, x);
	return known;
}

static bool in_instance(const struct gpu *gpu, const struct gpu_event *e)
{
	return gpu->kind != GPU_MIG ||
	       ((e->instance == GPU_NO_INSTANCE || e->instance == gpu->instance) &&
	               (e->compute == GPU_NO_INSTANCE || e->compute == gpu->compute));
}

static struct fault *last_of(const struct faults *last, const char *uuid)
{
	for (size_t i = 0; i < last->n; i++) {
		if (!strcmp(last->v[i].uuid, uuid))
			return &last->v[i];
	}
	return NULL;
}

/* Of GPUs that come and go no more are kept than fit into the record. */
static void note_last(struct gpu_faults *f, const struct fault *x)
{
	struct fault *known = last_of(&f->last, x->uuid);

	if (known)
		*known = *x;
	else if (f->last.n < FAULTS_MAX)
		append_fault(&f->last, x);
}

uint32_t gpu_faults_last_xid(const struct launcher *l, const char *uuid, int64_t *wall_us)
{
	const struct fault *x = l->gpu_faults ? last_of(&l->gpu_faults->last, uuid) : NULL;

	*wall_us = x ? x->wall_us : 0;
	return x ? x->code : 0;
}

/* Add it for each slot of the GPU that it concerns; returns how many those are. */
static size_t add_xid(struct gpu_faults *f, const struct gpu_event *e, uint32_t nvml)
{
	const struct gpus *now = gpu_inventory_now(f->l->gpu_inventory);
	size_t n = 0;

	for (uint32_t i = 0; i < now->n; i++) {
		const struct gpu *gpu = &now->v[i];
		struct fault x = { .kind = GPU_FAULT_XID, .code = e->xid };

		if (gpu->nvml != nvml || gpu->kind == GPU_MIG_PARENT || !*gpu->uuid ||
		        !in_instance(gpu, e))
			continue;
		n++;
		memcpy(x.uuid, gpu->uuid, sizeof(x.uuid));
		x.wall_us = clock_us(CLOCK_REALTIME);
		note_last(f, &x);
		if (!was_told_lately(f, &x))
			add_fault(f, gpu->uuid, GPU_FAULT_XID, e->xid, "");
	}
	return n;
}

/* For some Xids the driver names the MIG instance that they concern; all others concern the whole
 * GPU, and so does an Xid of an instance that no probe has found. */
static void add_xid_event(struct gpu_faults *f, const struct gpu_event *e)
{
	const struct gpus *now = gpu_inventory_now(f->l->gpu_inventory);
	struct gpu_event all = *e;
	uint32_t i = 0;

	while (i < now->n && (now->v[i].kind == GPU_MIG || strcmp(now->v[i].uuid, e->uuid) != 0))
		i++;
	if (i == now->n) {
		log_warning("GPU %s, which is not known: xid-%u", *e->uuid ? e->uuid : "?", e->xid);
		return;
	}
	all.instance = all.compute = GPU_NO_INSTANCE;
	if (!add_xid(f, e, now->v[i].nvml))
		add_xid(f, &all, now->v[i].nvml);
}

static void xid_come(evutil_socket_t fd, short what, void *arg)
{
	struct gpu_faults *f = arg;
	uint64_t before = f->seq;
	struct gpu_event e;
	int r;

	(void)fd;
	(void)what;
	while ((r = gpu_events_take(f->events, &e)) > 0)
		add_xid_event(f, &e);
	if (r < 0) { /* the next probe starts another */
		event_free(f->xid);
		f->xid = NULL;
	}
	if (f->seq == before)
		return;
	save_faults(f);
	report_faults(f, NULL, 0);
	if (clock_us(CLOCK_MONOTONIC) - f->looked > (usec_t)LOOK_S * 1000000) {
		f->looked = clock_us(CLOCK_MONOTONIC);
		gpu_inventory_probe(f->l);
	}
}

static void stop_xids(struct gpu_faults *f)
{
	event_end(f->xid);
	f->xid = NULL;
	gpu_events_end(f->events);
}

/* True: other GPUs than before are left out. */
static bool watch_xids(struct gpu_faults *f)
{
	uint64_t left_out = gpu_inventory_to_reset(f->l->gpu_inventory);
	bool renew = left_out != f->left_out;
	struct error err;

	/* release GPUs that need a reset; use those again that were reset */
	if (renew)
		stop_xids(f);
	if (f->xid)
		return false;
	f->left_out = left_out;
	if (gpu_events_start(f->events, left_out, &err) < 0) {
		log_error("%s", err.text);
		return renew;
	}
	f->xid = event_new(f->l->base, gpu_events_fd(f->events), EV_READ | EV_PERSIST, xid_come, f);
	if (!f->xid || event_add(f->xid, NULL) < 0)
		abort();
	return renew;
}

bool gpu_faults_probed(struct launcher *l, const struct gpus *old, const struct gpus *now)
{
	struct gpu_faults *f = l->gpu_faults;
	uint64_t before;
	bool changed = false, renew = false;

	if (!f)
		return false;
	before = f->seq;
	if (now->state == GPUS_FOUND) {
		renew = watch_xids(f);
		for (uint32_t i = 0; i < now->n; i++) {
			if (gpu_is_slot(&now->v[i]))
				changed |= check_slot(f, &now->v[i]);
		}
		for (uint32_t i = 0; i < old->n; i++) {
			if (gpu_is_slot(&old->v[i]))
				changed |= check_gone(f, now, &old->v[i]);
		}
	}
	if (changed)
		save_faults(f);
	if (f->seq != before)
		report_faults(f, NULL, 0);
	return renew;
}

/* --- answers to the controller --------------------------------------------------------------- */

/* What is wrong with it now; "": nothing. */
static const char *trouble_now(const struct gpu_faults *f, const char *uuid)
{
	if (!gpus_find(gpu_inventory_now(f->l->gpu_inventory), uuid))
		return "it is not there, or in trouble";
	for (size_t i = 0; i < f->seen.n; i++) {
		const struct fault *s = &f->seen.v[i];

		if (!strcmp(s->uuid, uuid) && gpu_fault_row(s->kind, 0)->action != GPU_FAULT_NOTE)
			return *s->text ? s->text : gpu_fault_row(s->kind, 0)->text;
	}
	return "";
}

void gpu_faults_answer(struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n)
{
	Gpusched__GpuLooked *v = xcalloc(n + 1, sizeof(*v)), **list = xcalloc(n + 1, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		gpusched__gpu_looked__init(&v[i]);
		v[i].uuid = uuids[i];
		v[i].trouble = (char *)(uintptr_t)trouble_now(l->gpu_faults, uuids[i]);
		list[i] = &v[i];
	}
	report_faults(l->gpu_faults, list, n);
	free(list);
	free(v);
}

/* --- the whole ------------------------------------------------------------------------------- */

struct gpu_faults *gpu_faults_new(struct launcher *l)
{
	struct gpu_faults *f = xcalloc(1, sizeof(*f));

	f->l = l;
	f->events = gpu_events_new();
	load_faults(f);
	return f;
}

void gpu_faults_free(struct gpu_faults *f)
{
	if (!f)
		return;
	stop_xids(f);
	gpu_events_free(f->events);
	free(f->pending.v);
	free(f->seen.v);
	free(f->told.v);
	free(f->last.v);
	free(f);
}
