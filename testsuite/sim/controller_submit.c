/* controller_submit.c - submits, bulks, signatures and reports of steps to the simulated
 * controller; see controller_impl.h */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "common/net/signedjob.h"
#include "ctld/wire/convert.h"
#include "testsuite/sim/controller_impl.h"

#define SLICE 3 /* jobs of a bulk at a time: small, so that other things happen between */

/* A part that was sent, or a bulk that is being accepted. */
struct sim_bulk {
	struct sim_bulk *next;
	uint64_t link, number;
	uint8_t *bytes; /* the Submit, packed */
	size_t len, n;  /* jobs */
	size_t at;      /* jobs that the step has done */
	enum bulk_step step;
	uint64_t ids[MSG_SUBMIT_JOBS];
	size_t n_ids;
	struct error error; /* why it is undone */
};

struct step {
	unsigned life;
};

struct caller sim_caller(const struct peer *peer)
{
	return (struct caller){ .reply = peer->link,
		.uid = peer->uid,
		.role = peer->uid == 0 ? ROLE_ADMIN : ROLE_USER,
		.user = "sim",
		.host = "client" };
}

/* With the next batch. `n` bytes for it. */
static struct blob *blob_add(struct sim_controller *c, size_t n)
{
	struct blob **last = &c->blobs;

	while (*last)
		last = &(*last)->next;
	*last = xcalloc(1, sizeof(**last));
	(*last)->bytes = xcalloc(n + 1, 1);
	return *last;
}

static void keep_blob(struct sim_controller *c, uint64_t job, const Gpusched__Submit *m, size_t i)
{
	const Gpusched__SubmitJob *j = m->jobs[i];
	struct blob *b = blob_add(c, j->spec.len + j->script.len + m->credential.len);
	uint8_t *copy = b->bytes;

	memcpy(copy, j->spec.data, j->spec.len);
	memcpy(copy + j->spec.len, j->script.data, j->script.len);
	memcpy(copy + j->spec.len + j->script.len, m->credential.data, m->credential.len);
	b->b = (struct store_blob){ .job = job,
		.spec = copy,
		.spec_len = j->spec.len,
		.script = copy + j->spec.len,
		.script_len = j->script.len,
		.credential = copy + j->spec.len + j->script.len,
		.credential_len = m->credential.len };
}

/* What a worker of the controller does with a Submit: the jobs for the core. */
static int check_signed(struct sim_controller *c, uint32_t uid, const Gpusched__Submit *m,
        struct submit_job *jobs, struct error *err)
{
	struct mcred cred = { 0 };
	char *text = xstrndup((const char *)m->credential.data, m->credential.len);
	int rc = -1;

	arena_reset(c->spec, 1 << 20);
	if (c->o.mcred->decode(c->o.mcred, text, &cred, err) < 0 ||
	        signedjob_cred_check(&cred, err) < 0 || signedjob_cred_fresh(&cred, err) < 0)
		goto end;
	if (cred.uid != uid) {
		error_set(err, ERR_SIGNATURE, "signed by another user");
		goto end;
	}
	for (size_t i = 0; i < m->n_jobs; i++) {
		struct signedjob job = { m->jobs[i]->spec.data, m->jobs[i]->spec.len,
			m->jobs[i]->script.data, m->jobs[i]->script.len };
		Gpusched__SignedSpec *spec;
		struct signedjob_hash hash;

		if (signedjob_check(&cred, c->o.conf->cluster, &job, c->spec, &spec, &hash, err) <
		                0 ||
		        wire_submit_job(m->jobs[i]->request, spec, &hash, cred.encode_time, c->spec,
		                &jobs[i], err) < 0)
			goto end;
	}
	rc = 0;
end:
	mcred_clear(&cred);
	free(text);
	return rc;
}

static void keep_blobs(struct sim_controller *c, const Gpusched__Submit *m, size_t at,
        const uint64_t *ids, const bool *known, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!known[i])
			keep_blob(c, ids[i], m, at + i);
}

static void bulk_free(struct sim_bulk *b)
{
	free(b->bytes);
	free(b);
}

/* A part of another bulk drops the one before. */
static void drop_part(struct sim_controller *c, uint64_t link)
{
	struct sim_bulk **p = &c->parts, *b;

	while ((b = *p)) {
		if (b->link == link) {
			*p = b->next;
			bulk_free(b);
		} else {
			p = &b->next;
		}
	}
}

static void keep_part(struct sim_controller *c, uint64_t link, const Gpusched__Submit *m)
{
	struct sim_bulk *b = xcalloc(1, sizeof(*b));

	drop_part(c, link);
	b->link = link;
	b->number = m->bulk;
	b->n = m->n_jobs;
	b->len = gpusched__submit__get_packed_size(m);
	b->bytes = xcalloc(b->len, 1);
	gpusched__submit__pack(m, b->bytes);
	b->next = c->parts;
	c->parts = b;
	sim_reply(c, link, core_change(c->core), NULL);
}

int sim_take_submit(struct sim_controller *c, const struct peer *peer, const Gpusched__Submit *m,
        struct error *err)
{
	struct submit_job jobs[MSG_SUBMIT_JOBS];
	struct core_event ev = { .kind = EV_SUBMIT, .caller = sim_caller(peer) };
	const struct effect *effects;
	size_t n;

	if (check_signed(c, peer->uid, m, jobs, err) < 0)
		return -1;
	if (m->bulk) {
		keep_part(c, peer->link, m);
		return 0;
	}
	ev.submit.jobs = jobs;
	ev.submit.n = m->n_jobs;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	effects = core_effects(c->core, &n);
	for (size_t e = 0; e < n; e++)
		if (effects[e].kind == EFFECT_SUBMITTED)
			keep_blobs(c, m, 0, effects[e].submitted.ids, effects[e].submitted.known,
			        effects[e].submitted.n);
	return 0;
}

/* --- signing anew ---------------------------------------------------------------------------- */

/* What a worker of the controller does with a Resign: what was signed, and when. */
static int check_resigned(struct sim_controller *c, uint32_t uid, const Gpusched__Resign *m,
        struct spec_hash *hashes, struct core_event *ev, struct error *err)
{
	struct mcred cred = { 0 };
	char *text = xstrndup((const char *)m->credential.data, m->credential.len);
	int n = -1;

	if (c->o.mcred->decode(c->o.mcred, text, &cred, err) == 0 &&
	        (n = signedjob_cred_check(&cred, err)) >= 0) {
		memcpy(hashes, (const uint8_t *)cred.payload + SIGNEDJOB_TAG_LEN,
		        (size_t)n * sizeof(*hashes));
		ev->job.hashes = hashes;
		ev->job.n_hashes = (size_t)n;
		ev->job.sign_time = cred.encode_time * SEC;
		if (cred.uid != uid)
			n = error_set(err, ERR_SIGNATURE, "signed by another user");
		else
			n = signedjob_cred_fresh(&cred, err);
	}
	mcred_clear(&cred);
	free(text);
	return n < 0 ? -1 : 0;
}

int sim_take_resign(struct sim_controller *c, const struct peer *peer, const Gpusched__Resign *m,
        struct error *err)
{
	struct core_event ev = { .kind = EV_JOB_CONTROL, .caller = sim_caller(peer) };
	struct spec_hash hashes[SIGNEDJOB_MAX];
	const struct effect *effects;
	size_t n;

	if (check_resigned(c, peer->uid, m, hashes, &ev, err) < 0)
		return -1;
	ev.job.verb = JOB_RESIGN;
	ev.job.ids = m->jobs;
	ev.job.n = m->n_jobs;
	ev.job.reason = "";
	core_apply(c->core, &ev, engine_now(c->o.engine));
	effects = core_effects(c->core, &n);
	for (size_t e = 0; e < n; e++) {
		struct blob *b;

		if (effects[e].kind != EFFECT_CONTROLLED || effects[e].controlled.n)
			continue;
		b = blob_add(c, m->credential.len);
		memcpy(b->bytes, m->credential.data, m->credential.len);
		b->resigned = true;
		b->b = (struct store_blob){ .job = m->jobs[0],
			.credential = b->bytes,
			.credential_len = m->credential.len };
	}
	return 0;
}

/* --- bulks ----------------------------------------------------------------------------------- */

static Gpusched__Submit *unpack(struct sim_controller *c, const struct sim_bulk *b)
{
	struct error err;
	ProtobufCMessage *m =
	        msg_unpack(GPUSCHED__MSG_TYPE__MSG_SUBMIT, b->bytes, b->len, c->in, &err);

	if (!m)
		sim_bug("a part that was kept", &err);
	return (Gpusched__Submit *)m;
}

static void bulk_step(void *arg, void **own);

static void go_on(struct sim_controller *c)
{
	struct step *s;

	if (!c->bulks)
		return;
	s = xcalloc(1, sizeof(*s));
	s->life = c->life;
	engine_at(c->o.engine, engine_between(c->o.engine, 10, 5 * MS), bulk_step, c, s);
}

/* All were accepted, or (its error says why) none. */
static void finish(struct sim_controller *c, uint64_t change)
{
	struct sim_bulk *b = c->bulks;
	Gpusched__BulkResult m = GPUSCHED__BULK_RESULT__INIT;
	uint64_t ones[MSG_SUBMIT_JOBS];

	for (size_t i = 0; i < b->n_ids; i++)
		ones[i] = 1;
	m.first = b->ids;
	m.count = ones;
	m.n_first = m.n_count = b->n_ids;
	if (!b->error.code)
		sim_put(c, b->link, change, GPUSCHED__MSG_TYPE__MSG_BULK_RESULT, &m);
	sim_reply(c, b->link, change, b->error.code ? &b->error : NULL);
	c->bulks = b->next;
	bulk_free(b);
}

static int fill_check(struct sim_controller *c, struct sim_bulk *b, const struct peer *peer,
        struct submit_job *jobs, struct core_event *ev, struct error *err)
{
	if (!peer)
		return error_set(err, ERR_BULK, "the session that sent it has ended");
	if (check_signed(c, peer->uid, unpack(c, b), jobs, err) < 0)
		return -1;
	ev->caller = sim_caller(peer);
	ev->bulk.jobs = jobs + b->at;
	ev->bulk.n = b->n - b->at < SLICE ? b->n - b->at : SLICE;
	b->at += ev->bulk.n;
	return 0;
}

static void bulk_step(void *arg, void **own)
{
	struct sim_controller *c = arg;
	const struct step *s = *own;
	struct sim_bulk *b = c->bulks;
	struct submit_job jobs[MSG_SUBMIT_JOBS];
	struct core_event ev = { .kind = EV_BULK };

	if (!c->core || s->life != c->life)
		return;
	ev.bulk.n = SLICE;
	if (b->step == BULK_CHECK &&
	        fill_check(c, b, sim_peer(c, b->link), jobs, &ev, &b->error) < 0) {
		if (!b->at) { /* the core has not heard of it */
			finish(c, core_change(c->core));
			go_on(c);
			sim_tick(c);
			return;
		}
		b->step = BULK_UNDO;
	}
	ev.bulk.step = b->step;
	ev.caller.reply = b->link;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	sim_tick(c);
}

static enum bulk_step next_step(struct sim_bulk *b, const struct effect *f)
{
	if (f->bulk.error) {
		b->error = *f->bulk.error;
		return BULK_UNDO;
	}
	if (f->bulk.more)
		return f->bulk.step;
	if (f->bulk.step == BULK_MAKE)
		return BULK_SHOW;
	return b->at < b->n ? BULK_CHECK : BULK_MAKE;
}

void sim_bulk_stepped(struct sim_controller *c, const struct effect *f)
{
	struct sim_bulk *b = c->bulks;

	if (f->bulk.step == BULK_MAKE) {
		keep_blobs(c, unpack(c, b), b->n_ids, f->bulk.ids, f->bulk.known, f->bulk.n);
		memcpy(b->ids + b->n_ids, f->bulk.ids, f->bulk.n * sizeof(*b->ids));
		b->n_ids += f->bulk.n;
	}
	if ((f->bulk.step == BULK_SHOW || f->bulk.step == BULK_UNDO) && !f->bulk.more)
		finish(c, f->change);
	else
		b->step = next_step(b, f);
	go_on(c);
}

int sim_take_bulk(struct sim_controller *c, const struct peer *peer, const Gpusched__SubmitBulk *m,
        struct error *err)
{
	struct sim_bulk **p = &c->parts, **last = &c->bulks, *b;
	bool idle = !c->bulks;

	while (*p && (*p)->link != peer->link)
		p = &(*p)->next;
	b = *p;
	if (!b || b->number != m->bulk || b->n != m->jobs)
		return error_set(err, ERR_BULK, "not all of its jobs are here");
	*p = b->next;
	b->next = NULL;
	while (*last)
		last = &(*last)->next;
	*last = b;
	if (idle)
		go_on(c);
	return 0;
}

void sim_bulks_free(struct sim_controller *c)
{
	struct sim_bulk *b;

	while ((b = c->parts)) {
		c->parts = b->next;
		bulk_free(b);
	}
	while ((b = c->bulks)) {
		c->bulks = b->next;
		bulk_free(b);
	}
}

int sim_take_step_reports(struct sim_controller *c, const struct peer *peer,
        const Gpusched__StepReports *m, struct error *err)
{
	struct core_event ev = { .caller = sim_caller(peer) };

	if (wire_step_reports(m, c->spec, &ev, err) < 0)
		return -1;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	return 0;
}
