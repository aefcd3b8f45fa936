/* spec.c - see spec.h */
#include "config.h"

#include "cmds/api/spec.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "cmds/api/gpus.h"
#include "common/base/each.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpu_topology.h"
#include "common/job/depend.h"

#define TOKEN_PREFIX         "gpusched-token-1" /* so that a token hashes to nothing else */
#define DEFAULT_OUTPUT       "gpusched-%j.out"
#define DEFAULT_OUTPUT_ARRAY "gpusched-%A_%a.out"
#define PATIENCE_S           30

/* Bytes of names, of texts, of host lists: what the controller takes. */
#define WORD_BYTES   255
#define TEXT_BYTES   511
#define REMARK_BYTES 1024
#define HOSTS_BYTES  4095

static ProtobufCBinaryData bytes_of(const char *text)
{
	return (ProtobufCBinaryData){ text ? strlen(text) : 0, (uint8_t *)text };
}

size_t spec_list_length(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* The entries as bytes; the caller frees the array. */
static ProtobufCBinaryData *bytes_list(const char *const *list, size_t n)
{
	ProtobufCBinaryData *v = xcalloc(n, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = bytes_of(list[i]);
	return v;
}

static int make_nonce(const char *token, uint8_t nonce[SIGNEDJOB_NONCE_LEN], struct error *err)
{
	crypto_generichash_state state;

	if (!token) {
		if (getentropy(nonce, SIGNEDJOB_NONCE_LEN) < 0)
			return error_set(err, ERR_SYSTEM, "getentropy: %s", strerror(errno));
		return 0;
	}
	crypto_generichash_init(&state, NULL, 0, SIGNEDJOB_NONCE_LEN);
	crypto_generichash_update(&state, (const uint8_t *)TOKEN_PREFIX, strlen(TOKEN_PREFIX));
	crypto_generichash_update(&state, (const uint8_t *)token, strlen(token));
	crypto_generichash_final(&state, nonce, SIGNEDJOB_NONCE_LEN);
	return 0;
}

static uint32_t present_umask(void)
{
	mode_t mask = umask(022);

	umask(mask);
	return mask;
}

/* --- structs of programs that were built with another gpusched.h ---------------------------- */

#define STRUCT_MAX 65536 /* a size above that was never set */

int spec_adopt_struct(const char *type, const void *theirs, size_t least, void *ours,
        size_t our_size, struct error *err)
{
	size_t size;

	memcpy(&size, theirs, sizeof(size));
	if (size < least || size > STRUCT_MAX)
		return error_set(err, ERR_USAGE, "%s_init() was not called", type);
	for (size_t at = our_size; at < size; at++)
		if (((const char *)theirs)[at])
			return error_set(err, ERR_USAGE,
			        "the program sets a member of struct %s that libgpusched %s does "
			        "not know; install a later libgpusched",
			        type, PACKAGE_VERSION);
	memcpy(ours, theirs, size < our_size ? size : our_size);
	memcpy(ours, &our_size, sizeof(our_size));
	return 0;
}

void gpusched_spec_init_sized(struct gpusched_spec *spec, size_t size)
{
	memset(spec, 0, size);
	spec->size = size;
	if (GPUSCHED_HAS(spec, umask))
		spec->umask = -1;
}

int spec_adopt(const struct gpusched_spec *specs, size_t i, struct gpusched_spec *out,
        struct error *err)
{
	const char *theirs = (const char *)specs;

	gpusched_spec_init(out);
	theirs += i * specs->size;
	if (i && memcmp(theirs, &specs->size, sizeof(specs->size)) != 0)
		return error_set(err, ERR_USAGE, "gpusched_spec_init() was not called");
	return spec_adopt_struct("gpusched_spec", theirs, offsetof(struct gpusched_spec, args), out,
	        sizeof(*out), err);
}

#define SPEC_FIXED 1024 /* numbers, hashes, lengths, the folder and the host */

static size_t list_bytes(const char *const *list)
{
	size_t bytes = 0;

	for (; list && *list; list++)
		bytes += strlen(*list) + 8;
	return bytes;
}

size_t spec_bytes(const struct gpusched_spec *s)
{
	const char *const texts[] = { s->name, s->cwd, s->input, s->output, s->error, s->partition,
		s->account, s->gpus, s->qos, s->constraint, s->prefer, s->nodelist, s->exclude,
		s->licences, s->dependency, s->comment, s->mail_type, s->mail_user, s->requeue_on,
		s->array };
	size_t bytes = SPEC_FIXED + s->script_len + list_bytes(s->args) + list_bytes(s->env) +
	        list_bytes(s->labels);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes += texts[i] ? strlen(texts[i]) : 0;
	return bytes;
}

/* --- what is signed ------------------------------------------------------------------------- */

static void sign_steps(
        const struct gpusched_spec *s, Gpusched__Steps *steps, Gpusched__SignedSpec *spec)
{
	gpusched__steps__init(steps);
	steps->mode = (Gpusched__Steps__Mode)s->steps;
	if (steps->mode == GPUSCHED__STEPS__MODE__ALLOCATION) {
		steps->patience_s = s->patience_s ? s->patience_s : PATIENCE_S;
		spec->max_attempts = 1;
	}
	spec->version = SIGNEDJOB_STEPS;
	spec->steps = steps;
}

static void sign_interactive(
        const struct gpusched_spec *s, Gpusched__Interactive *i, Gpusched__SignedSpec *spec)
{
	gpusched__interactive__init(i);
	i->kind = (Gpusched__Interactive__Kind)s->interactive;
	i->rows = s->rows;
	i->cols = s->cols;
	i->patience_s = s->patience_s ? s->patience_s : PATIENCE_S;
	spec->interactive = i;
	spec->version = SIGNEDJOB_INTERACTIVE;
	spec->output = bytes_of(s->output);
	spec->max_attempts = 1;
}

static int sign_part(const struct gpusched_spec *s, const struct spec_service *service,
        const char *cluster, ProtobufCBinaryData *out, struct error *err)
{
	Gpusched__SignedSpec spec = GPUSCHED__SIGNED_SPEC__INIT;
	struct signedjob_hash script = signedjob_hash(s->script, s->script_len);
	Gpusched__Interactive interactive;
	Gpusched__Steps steps;
	uint8_t nonce[SIGNEDJOB_NONCE_LEN];
	char cwd[PATH_MAX];
	int rc = -1;

	if (!s->cwd && !getcwd(cwd, sizeof(cwd)))
		return error_set(err, ERR_SYSTEM, "current directory: %s", strerror(errno));
	if (make_nonce(s->token, nonce, err) < 0)
		return -1;
	spec.version = SIGNEDJOB_VERSION;
	spec.cluster = (char *)cluster;
	spec.nonce = (ProtobufCBinaryData){ sizeof(nonce), nonce };
	spec.uid = geteuid();
	spec.gid = getegid();
	spec.script_hash = (ProtobufCBinaryData){ sizeof(script.b), script.b };
	spec.name = (char *)(s->name ? s->name : "");
	spec.n_args = spec_list_length(s->args);
	spec.args = bytes_list(s->args, spec.n_args);
	spec.n_env = spec_list_length(s->env);
	spec.env = bytes_list(s->env, spec.n_env);
	spec.cwd = bytes_of(s->cwd ? s->cwd : cwd);
	spec.input = bytes_of(s->input);
	spec.array = (char *)(s->array ? s->array : "");
	spec.output = bytes_of(s->output       ? s->output
	                       : spec.array[0] ? DEFAULT_OUTPUT_ARRAY
	                                       : DEFAULT_OUTPUT);
	spec.error = bytes_of(s->error);
	COPY_FIELDS(&spec, s, append, no_summary, show_output);
	spec.tasks_per_node = 1;
	spec.max_attempts = s->no_requeue ? 1 : s->max_attempts ? s->max_attempts : SPEC_ATTEMPTS;
	spec.umask = s->umask < 0 ? present_umask() : (uint32_t)s->umask;
	if (s->interactive)
		sign_interactive(s, &interactive, &spec);
	if (s->steps)
		sign_steps(s, &steps, &spec);
	if (service)
		spec.service = (Gpusched__ServiceSpec *)service->spec;
	if (signedjob_script_check(s->script, s->script_len, MSG_SCRIPT_MAX, err) >= 0 &&
	        signedjob_spec_check(&spec, err) >= 0) {
		out->len = gpusched__signed_spec__get_packed_size(&spec);
		out->data = xcalloc(out->len, 1);
		gpusched__signed_spec__pack(&spec, out->data);
		rc = 0;
	}
	free(spec.args);
	free(spec.env);
	return rc;
}

/* --- what is asked for ---------------------------------------------------------------------- */

static int add_gpus(Gpusched__JobRequest *r, const char *text, struct error *err)
{
	struct gpus gpus = { .n = 0 };

	if (text && gpus_parse(text, &gpus, err) < 0)
		return error_wrap(err, "gpus");
	r->gpus = xcalloc(gpus.n, sizeof(*r->gpus));
	for (r->n_gpus = 0; r->n_gpus < gpus.n; r->n_gpus++) {
		Gpusched__GpuCount *count = xcalloc(1, sizeof(*count));

		gpusched__gpu_count__init(count);
		count->type = xstrdup(gpus.v[r->n_gpus].type);
		count->count = gpus.v[r->n_gpus].count;
		r->gpus[r->n_gpus] = count;
	}
	return 0;
}

static int add_labels(Gpusched__JobRequest *r, const char *const *labels, struct error *err)
{
	size_t n = spec_list_length(labels);

	r->labels = xcalloc(n, sizeof(*r->labels));
	for (size_t i = 0; i < n; i++) {
		const char *equals = strchr(labels[i], '=');
		Gpusched__KeyValue *kv;

		if (!equals || equals == labels[i])
			return error_set(err, ERR_USAGE, "a label must be KEY=VALUE");
		if (text_check("label", labels[i], 512, err) < 0)
			return -1;
		kv = xcalloc(1, sizeof(*kv));
		gpusched__key_value__init(kv);
		kv->key = xstrndup(labels[i], (size_t)(equals - labels[i]));
		kv->value = xstrdup(equals + 1);
		r->labels[r->n_labels++] = kv;
	}
	return 0;
}

static int add_texts(Gpusched__JobRequest *r, const struct gpusched_spec *s, struct error *err)
{
	const struct {
		const char *what, *text;
		size_t max;
		char **to;
	} texts[] = {
		{ "partition", s->partition, WORD_BYTES, &r->partition },
		{ "account", s->account, WORD_BYTES, &r->account },
		{ "qos", s->qos, WORD_BYTES, &r->qos },
		{ "constraint", s->constraint, TEXT_BYTES, &r->constraint },
		{ "prefer", s->prefer, TEXT_BYTES, &r->prefer },
		{ "nodelist", s->nodelist, HOSTS_BYTES, &r->nodelist },
		{ "exclude", s->exclude, HOSTS_BYTES, &r->exclude },
		{ "licences", s->licences, TEXT_BYTES, &r->licences },
		{ "dependency", s->dependency, DEPEND_TEXT_MAX, &r->dependency },
		{ "comment", s->comment, REMARK_BYTES, &r->remark },
		{ "mail_type", s->mail_type, WORD_BYTES, &r->mail_type },
		{ "mail_user", s->mail_user, WORD_BYTES, &r->mail_user },
		{ "requeue_on", s->requeue_on, WORD_BYTES, &r->requeue_on },
	};
	char host[256] = "";

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!texts[i].text)
			continue;
		if (text_check(texts[i].what, texts[i].text, texts[i].max, err) < 0)
			return -1;
		*texts[i].to = xstrdup(texts[i].text);
	}
	gethostname(host, sizeof(host) - 1);
	if (text_check("host", host, WORD_BYTES, NULL) >= 0)
		r->submit_host = xstrdup(host);
	return 0;
}

#define COPY(field) r->field = s->field;

Gpusched__JobRequest *spec_request(const struct gpusched_spec *s, struct error *err)
{
	Gpusched__JobRequest *r = xcalloc(1, sizeof(*r));

	gpusched__job_request__init(r);
	if (add_texts(r, s, err) < 0 || add_gpus(r, s->gpus, err) < 0 ||
	        add_labels(r, s->labels, err) < 0) {
		gpusched__job_request__free_unpacked(r, NULL);
		return NULL;
	}
	SPEC_NUMBERS(COPY)
	r->gpu_link = xstrdup(near_link_word((enum near_link)s->gpu_link));
	r->requeue_delay_s = s->requeue_delay_s;
	r->kill_invalid_dep = (Gpusched__KillInvalid)s->kill_invalid_dep;
	return r;
}

/* --- groups --------------------------------------------------------------------------------- */

static int make_job(const struct gpusched_spec *s, const struct spec_service *service,
        const char *cluster, Gpusched__SubmitJob *job, struct signedjob_hash *hash,
        struct error *err)
{
	job->request = spec_request(s, err);
	if (!job->request || sign_part(s, service, cluster, &job->spec, err) < 0)
		return -1;
	if (service)
		job->request->service = (Gpusched__ServiceRequest *)service->request;
	*hash = signedjob_hash(job->spec.data, job->spec.len);
	job->script = (ProtobufCBinaryData){ s->script_len, (uint8_t *)s->script };
	return 0;
}

int spec_group_make(const struct gpusched_spec *specs, size_t n,
        const struct spec_service *service, const char *cluster, struct spec_group *group,
        struct error *err)
{
	Gpusched__Submit *submit = &group->submit;

	if (n < 1 || n > GPUSCHED_GROUP_MAX)
		return error_set(
		        err, ERR_USAGE, "%zu jobs at once; must be 1 to %d", n, GPUSCHED_GROUP_MAX);
	gpusched__submit__init(submit);
	submit->jobs = xcalloc(n, sizeof(*submit->jobs));
	for (size_t i = 0; i < n; i++) {
		Gpusched__SubmitJob *job = xcalloc(1, sizeof(*job));
		struct gpusched_spec spec;

		gpusched__submit_job__init(job);
		submit->jobs[submit->n_jobs++] = job;
		if (spec_adopt(specs, i, &spec, err) < 0 ||
		        make_job(&spec, service, cluster, job, &group->hashes[i], err) < 0) {
			spec_group_clear(group);
			return n > 1 ? error_wrap(err, "job %zu of %zu", i + 1, n) : -1;
		}
	}
	return 0;
}

void spec_group_clear(struct spec_group *group)
{
	Gpusched__Submit *submit = &group->submit;

	for (size_t i = 0; i < submit->n_jobs; i++) {
		Gpusched__SubmitJob *job = submit->jobs[i];

		if (job->request) {
			job->request->service = NULL; /* borrowed */
			gpusched__job_request__free_unpacked(job->request, NULL);
		}
		free(job->spec.data);
		free(job);
	}
	free(submit->jobs);
	submit->jobs = NULL;
	submit->n_jobs = 0;
}
