/* queue_order.c - the order of the queue: the key of each class, and what it is made of
 *
 *	first word   tier of the partition (16 bits, the highest first), how far over quota its
 *	             account would be (48 bits)
 *	second word  priority (24 bits, the highest first), id of the head (40 bits)
 *
 * The first word changes with what other jobs hold. The second changes with the head of the class
 * and with an ordering: all ages count as of the last one, so that they can be compared.
 */
#include "ctld/core/sched/sched_impl.h"

#define USEC_PER_S   1000000
#define MAX_PRIORITY ((INT64_C(1) << 23) - 1) /* what fits into a key */

static double seconds_since(const struct sched *s, usec_t wall)
{
	/* All ages are as of the last ordering, so that they can be compared. */
	return s->ordered_wall > wall ? (double)(s->ordered_wall - wall) / USEC_PER_S : 0;
}

static void factors_of(const struct sched *s, const struct candidate *who,
        const struct assoc *assoc, const struct class_info *info, usec_t submit_time,
        struct factors *f)
{
	const struct request *r = info->gpus;
	uint32_t gpus = r->n ? request_all_gpus(r, 0, r->nodes_min) : 0;
	double waited = seconds_since(s, submit_time);
	uint32_t max_wait = info->max_wait_s;

	if (!max_wait && who->qos != CONF_NONE)
		max_wait = s->view.conf->qos[who->qos].max_wait_s;
	*f = (struct factors){
		.age = prio_age(s->view.conf, waited),
		.fair_share = assoc ? assoc_fair_share(assoc) : 0,
		.size = prio_size(s->cluster_gpus, s->cluster_cpus, gpus,
		        (uint64_t)info->cpus * r->nodes_min),
		.partition = prio_partition(s->view.conf, who->partition),
		.qos = prio_qos(s->view.conf, who->qos),
		.wait = prio_wait(waited, max_wait),
	};
}

/* How far over its quota the account would be with this request: the least over all GPUs that the
 * request may take. */
static double over_quota(const struct sched *s, uint32_t account, const struct request *r)
{
	const struct ask ask = { .gpus = r };
	double least = -1;
	uint16_t type;

	if (!s->quotas || account == CONF_NONE || !r->n)
		return 0;
	for (uint32_t a = 0; a < r->n; a++) {
		for (uint32_t cursor = 0; decide_types(&s->view, &ask, a, &cursor, &type);) {
			struct need need = { .gpus = request_all_gpus(r, a, r->nodes_min) };
			struct share share;
			double over;

			ledger_share_of(s->view.ledger, r, type, &share);
			if (share_wished(&r->share) && !share.charge)
				continue; /* no GPU of that type has so much */
			need.charge = share.charge;
			over = quota_over(
			        limits_quota(s->view.limits), account, type, need_milli(&need));
			least = least < 0 || over < least ? over : least;
		}
	}
	return least < 0 ? 0 : least;
}

uint32_t sched_tier(const struct sched *s, uint32_t partition)
{
	return partition == CONF_NONE ? 0 : s->view.conf->partitions[partition].tier;
}

uint64_t key_word(void *arg, uint64_t tier, uint32_t account, const struct request *gpus)
{
	const struct sched *s = arg;
	uint64_t over = (uint64_t)over_quota(s, account, gpus); /* three levels of 16 bits */

	return (0xffff - tier) << 48 | (over & ((1ull << 48) - 1));
}

uint64_t key_version(void *arg, uint32_t account)
{
	return quota_version(limits_quota(((struct sched *)arg)->view.limits), account);
}

/* The second word of a key: priority, then the job's id. */
static uint64_t second_word(struct sched *s, const struct candidate *who, struct assoc *assoc,
        const struct class_info *info, uint64_t id, usec_t submit_time)
{
	struct factors f;
	struct prio_parts parts;
	int64_t p;

	factors_of(s, who, assoc, info, submit_time, &f);
	prio_parts(s->view.conf, &f, info->nice, &parts);
	p = parts.total;
	p = p < -MAX_PRIORITY ? -MAX_PRIORITY : p > MAX_PRIORITY ? MAX_PRIORITY : p;
	return (uint64_t)(MAX_PRIORITY - p) << 40 | (id & ((1ull << 40) - 1));
}

struct heap_key sched_key(struct sched *s, const struct candidate *who, struct assoc *assoc,
        const struct class_info *info, uint64_t id, usec_t submit_time)
{
	uint64_t tier = sched_tier(s, who->partition);

	return (struct heap_key){ key_word(s, tier, who->account, who->ask.gpus),
		second_word(s, who, assoc, info, id, submit_time) };
}

static usec_t late(const struct sched *s, const struct reservation *e)
{
	usec_t by = e ? s->view.now.mono - e->start : 0;

	return by < 0 ? 0 : by < LATE_FORGIVEN ? by : LATE_FORGIVEN;
}

struct candidate sched_candidate(const struct sched *s, const struct class *class)
{
	const struct class_link *l = class_link_of(class);

	return (struct candidate){ .ask = class_ask(class),
		.chain = l->chain,
		.partition = l->partition,
		.account = l->account,
		.qos = l->qos,
		.late = late(s, l->reservation),
		.due = l->reservation &&
		       (l->reservation->preempts || l->reservation->start <= s->view.now.mono),
		.length = class_length_us(class_info(class)->length_s,
		        l->partition == CONF_NONE ? NULL : &s->view.conf->partitions[l->partition]),
		.key = l->key };
}

/* The key of a class is that of its head. A reservation stands in the plan by the key of its class,
 * so it moves along. */
struct heap_key class_key(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	const struct job *head = class_head(class);
	struct candidate who = sched_candidate(s, class);

	l->key = (struct heap_key){ wait_word(s->wait_groups, class),
		second_word(s, &who, l->assoc, class_info(class), job_id(head),
		        job_waits_since(job_info(head))) };
	if (l->reservation &&
	        (l->reservation->key.a != l->key.a || l->reservation->key.b != l->key.b)) {
		l->reservation->key = l->key;
		ahead_changed(s);
	}
	return l->key;
}

/* The same, and its place among the ready classes or in its groups follows. */
void class_rekey(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	class_key(s, class);
	if (class_ready(class))
		wait_rekey(s->wait_groups, &l->ready);
	else
		blocked_rekey(s, class);
}

void sched_priority(
        const struct sched *s, const struct job *job, struct factors *f, struct prio_parts *parts)
{
	const struct job_info *i = job_info(job);
	const struct class *class = job_link_of(job)->queued.class;
	struct class_info info = {
		.uid = i->uid, .cpus = i->cpus, .max_wait_s = i->max_wait_s, .gpus = i->gpus
	};
	struct candidate who = { .partition = sched_partition_kept(s, i->partition),
		.qos = sched_qos_kept(s, i->qos) };

	factors_of(
	        s, &who, class ? class_link_of(class)->assoc : NULL, &info, job_waits_since(i), f);
	prio_parts(s->view.conf, f, i->nice, parts);
}
