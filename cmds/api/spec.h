/* spec.h - a job of the C API as messages: what is signed, and what is asked for */
#ifndef CMDS_SPEC_H
#define CMDS_SPEC_H

#include "cmds/api/gpusched.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/net/signedjob.h"

#define SPEC_ATTEMPTS 100 /* starts of a job that may be requeued: signed with it */

/* Fields with one name in gpusched_spec, in what is asked for, and in the options of gsubmit. */
/* clang-format off */
#define SPEC_NUMBERS(X) \
	X(cpus) X(mem_mb) X(time_limit_s) X(hold) X(no_requeue) X(warn_signal) X(warn_before_s) \
	X(nice) X(nodes_min) X(nodes_max) X(gpus_per_node) X(gpu_mem_min_mb) X(tmp_mb) \
	X(gpu_mem_mb) X(gpu_mem_burst_mb) X(gpu_share_milli) X(exclusive) X(max_wait_s) \
	X(begin_time) X(deadline_time)
#define SPEC_TEXTS(X) \
	X(partition) X(account) X(qos) X(constraint) X(prefer) X(nodelist) X(exclude) X(licences) \
	X(dependency) X(mail_type) X(mail_user) X(requeue_on)
/* clang-format on */

/* Copy a struct that a program filled, which may have been built with an older or a later
 * gpusched.h: both begin with their size. `ours` has our size and its defaults; what theirs is too
 * short for keeps them. ERR_USAGE: theirs is shorter than `least`, or sets something behind our
 * end, which is refused because nothing asked for may be ignored. `type`: "gpusched_spec". */
int spec_adopt_struct(const char *type, const void *theirs, size_t least, void *ours,
        size_t our_size, struct error *err);
/* The same of spec `i` of an array, whose specs lie as far apart as the program's struct is
 * long. */
int spec_adopt(const struct gpusched_spec *specs, size_t i, struct gpusched_spec *out,
        struct error *err);

/* Of a list that ends with NULL, or is NULL. */
size_t spec_list_length(const char *const *list);

/* An upper bound of the bytes that it takes in a message. */
size_t spec_bytes(const struct gpusched_spec *s);

/* `n` jobs as a Submit without its credential, and the hashes that the credential is to sign.
 * Owned; borrows the scripts of the specs. */
struct spec_group {
	Gpusched__Submit submit;
	struct signedjob_hash hashes[SIGNEDJOB_MAX];
};

/* Of a job that is a generation of a service: what is signed of it, and what is asked for. */
struct spec_service {
	const Gpusched__ServiceSpec *spec;
	const Gpusched__ServiceRequest *request;
};

/* `service` is NULL, or what the only job of the group is. It is borrowed as the scripts are.
 * ERR_USAGE or ERR_JOB_SPEC with what is not acceptable; with several jobs the text begins with
 * "job N of M: ". On success end with spec_group_clear(). */
int spec_group_make(const struct gpusched_spec *specs, size_t n,
        const struct spec_service *service, const char *cluster, struct spec_group *group,
        struct error *err);
void spec_group_clear(struct spec_group *group);

/* What a spec asks of the scheduler, alone and in its own memory (end with
 * gpusched__job_request__free_unpacked()). NULL with `err`. */
Gpusched__JobRequest *spec_request(const struct gpusched_spec *spec, struct error *err);

#endif
