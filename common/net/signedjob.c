/* signedjob.c - see signedjob.h */
#include "common/net/signedjob.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <sodium.h>

#include "common/base/taskset.h"
#include "common/base/text.h"
#include "common/net/signedservice.h"

#define SKEW_S 300 /* munge's own default for credentials from the future */

static_assert(sizeof(SIGNEDJOB_TAG) - 1 == SIGNEDJOB_TAG_LEN, "the tag's length");
static_assert(SIGNEDJOB_HASH_LEN == crypto_generichash_BYTES, "BLAKE2b-256");

struct signedjob_hash signedjob_hash(const void *bytes, size_t len)
{
	struct signedjob_hash hash;

	crypto_generichash(hash.b, sizeof(hash.b), bytes, len, NULL, 0);
	return hash;
}

size_t signedjob_payload(
        const struct signedjob_hash *hashes, size_t n, uint8_t out[SIGNEDJOB_PAYLOAD_MAX])
{
	assert(n >= 1 && n <= SIGNEDJOB_MAX);
	memcpy(out, SIGNEDJOB_TAG, SIGNEDJOB_TAG_LEN);
	memcpy(out + SIGNEDJOB_TAG_LEN, hashes, n * sizeof(*hashes));
	return SIGNEDJOB_TAG_LEN + n * sizeof(*hashes);
}

/* --- the credential ------------------------------------------------------------------------ */

int signedjob_cred_check(const struct mcred *cred, struct error *err)
{
	size_t hashes;

	if (cred->len < SIGNEDJOB_TAG_LEN ||
	        memcmp(cred->payload, SIGNEDJOB_TAG, SIGNEDJOB_TAG_LEN) != 0)
		return error_set(err, ERR_SIGNATURE, "the credential was made for something else");
	hashes = cred->len - SIGNEDJOB_TAG_LEN;
	if (hashes == 0 || hashes % SIGNEDJOB_HASH_LEN != 0 ||
	        hashes / SIGNEDJOB_HASH_LEN > SIGNEDJOB_MAX)
		return error_set(
		        err, ERR_SIGNATURE, "the credential signs %zu bytes of hashes", hashes);
	if (!cred->aes256)
		return error_set(err, ERR_SIGNATURE, "the credential is not encrypted by AES-256");
	return (int)(hashes / SIGNEDJOB_HASH_LEN);
}

int signedjob_cred_fresh(const struct mcred *cred, struct error *err)
{
	struct mcred fresh = *cred;

	if (fresh.status == MCRED_REPLAYED)
		fresh.status = MCRED_OK;
	return mcred_demand_fresh(&fresh, err);
}

int signedjob_cred_age(
        const struct mcred *cred, int64_t now_s, uint64_t max_age_s, struct error *err)
{
	int64_t age;

	if (__builtin_sub_overflow(now_s, cred->encode_time, &age))
		return error_set(err, ERR_SIGNATURE, "the signature has no sensible time");
	if (age < -SKEW_S)
		return error_set(err, ERR_SIGNATURE, "the signature is from %lld s in the future",
		        (long long)-age);
	if (age > 0 && (uint64_t)age > max_age_s)
		return error_set(err, ERR_SIGNATURE, "signed %lld s ago; %llu s are allowed",
		        (long long)age, (unsigned long long)max_age_s);
	return 0;
}

/* Nothing here is secret: the hashes are of what the peer has sent. */
static bool is_signed(const struct mcred *cred, const struct signedjob_hash *hash)
{
	const uint8_t *p = (const uint8_t *)cred->payload + SIGNEDJOB_TAG_LEN;
	size_t n = (cred->len - SIGNEDJOB_TAG_LEN) / SIGNEDJOB_HASH_LEN;

	for (size_t i = 0; i < n; i++, p += SIGNEDJOB_HASH_LEN)
		if (memcmp(p, hash->b, sizeof(hash->b)) == 0)
			return true;
	return false;
}

/* --- the spec's fields --------------------------------------------------------------------- */

static int path_check(const char *what, const ProtobufCBinaryData *p, struct error *err)
{
	if (p->len > SIGNEDJOB_PATH_MAX)
		return error_set(err, ERR_JOB_SPEC, "%s: %zu bytes; at most %d are possible", what,
		        p->len, SIGNEDJOB_PATH_MAX);
	if (p->len && memchr(p->data, '\0', p->len))
		return error_set(err, ERR_JOB_SPEC, "%s: contains a NUL byte", what);
	return 0;
}

static int paths_check(const Gpusched__SignedSpec *spec, struct error *err)
{
	const struct {
		const char *what;
		const ProtobufCBinaryData *p;
	} paths[] = {
		{ "working directory", &spec->cwd },
		{ "input", &spec->input },
		{ "output", &spec->output },
		{ "error", &spec->error },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (path_check(paths[i].what, paths[i].p, err))
			return -1;
	if (spec->cwd.len == 0 || spec->cwd.data[0] != '/')
		return error_set(err, ERR_JOB_SPEC, "working directory: must begin with '/'");
	return 0;
}

/* Arguments and environment, as execve(2) will be given them: each with its NUL and a pointer. */
static int strings_check(
        const char *what, const ProtobufCBinaryData *v, size_t n, size_t *total, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].len > SIGNEDJOB_ARG_MAX)
			return error_set(err, ERR_JOB_SPEC, "%s %zu: %zu bytes; at most %d", what,
			        i + 1, v[i].len, SIGNEDJOB_ARG_MAX);
		if (v[i].len && memchr(v[i].data, '\0', v[i].len))
			return error_set(
			        err, ERR_JOB_SPEC, "%s %zu: contains a NUL byte", what, i + 1);
		*total += v[i].len + 1 + sizeof(char *);
	}
	if (*total > SIGNEDJOB_ARGS_MAX)
		return error_set(err, ERR_JOB_SPEC,
		        "arguments and environment: %zu bytes; at most %d", *total,
		        SIGNEDJOB_ARGS_MAX);
	return 0;
}

static int env_check(const ProtobufCBinaryData *v, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *eq = v[i].len ? memchr(v[i].data, '=', v[i].len) : NULL;

		if (!eq || eq == v[i].data)
			return error_set(err, ERR_JOB_SPEC,
			        "environment entry %zu: must be NAME=value", i + 1);
	}
	return 0;
}

static int array_check(const char *text, struct error *err)
{
	struct taskset set;
	uint32_t at_once;

	if (taskset_parse_signed(text, &set, &at_once, err)) {
		if (err)
			err->code = ERR_JOB_SPEC;
		return error_wrap(err, "array");
	}
	taskset_clear(&set);
	return 0;
}

/* A program that does not know `interactive` or `steps` must not take the job for an ordinary one:
 * so each of the two has a version of its own. */
static int version_check(const Gpusched__SignedSpec *spec, struct error *err)
{
	uint32_t want = spec->steps         ? SIGNEDJOB_STEPS
	                : spec->interactive ? SIGNEDJOB_INTERACTIVE
	                                    : SIGNEDJOB_VERSION;

	if (spec->version < SIGNEDJOB_VERSION || spec->version > SIGNEDJOB_STEPS)
		return error_set(err, ERR_JOB_SPEC,
		        "version %u of a signed job; %d to %d are known here", spec->version,
		        SIGNEDJOB_VERSION, SIGNEDJOB_STEPS);
	if (spec->version != want)
		return error_set(err, ERR_JOB_SPEC, "version %u of a signed job that has version %u's fields",
		        spec->version, want);
	return 0;
}

static int steps_check(const Gpusched__SignedSpec *spec, struct error *err)
{
	const Gpusched__Steps *steps = spec->steps;

	if (spec->interactive)
		return error_set(err, ERR_JOB_SPEC, "a job with steps is not interactive itself");
	if (steps->mode == GPUSCHED__STEPS__MODE__SCRIPT)
		return 0;
	if (steps->mode != GPUSCHED__STEPS__MODE__ALLOCATION)
		return error_set(err, ERR_JOB_SPEC, "steps: mode %d", (int)steps->mode);
	if (steps->patience_s == 0)
		return error_set(err, ERR_JOB_SPEC, "steps: patience must not be 0");
	if (spec->array[0])
		return error_set(err, ERR_JOB_SPEC, "an allocation for steps cannot be an array");
	if (spec->max_attempts != 1)
		return error_set(err, ERR_JOB_SPEC,
		        "attempts of an allocation for steps: %u; must be 1", spec->max_attempts);
	return 0;
}

static int interactive_check(const Gpusched__SignedSpec *spec, struct error *err)
{
	const Gpusched__Interactive *i = spec->interactive;

	if (i->kind != GPUSCHED__INTERACTIVE__KIND__PIPES &&
	        i->kind != GPUSCHED__INTERACTIVE__KIND__PTY)
		return error_set(err, ERR_JOB_SPEC, "interactive: kind %d", (int)i->kind);
	if (i->rows > SIGNEDJOB_WINDOW_MAX || i->cols > SIGNEDJOB_WINDOW_MAX)
		return error_set(err, ERR_JOB_SPEC,
		        "interactive: a terminal of %u x %u; at most %d", i->rows, i->cols,
		        SIGNEDJOB_WINDOW_MAX);
	if (i->patience_s == 0)
		return error_set(err, ERR_JOB_SPEC, "interactive: patience must not be 0");
	if (spec->array[0])
		return error_set(err, ERR_JOB_SPEC, "interactive: an array cannot be");
	if (spec->input.len || spec->output.len || spec->error.len)
		return error_set(err, ERR_JOB_SPEC, "interactive: has no files");
	if (spec->max_attempts != 1)
		return error_set(err, ERR_JOB_SPEC, "interactive: attempts: %u; must be 1",
		        spec->max_attempts);
	return 0;
}

static int service_check(const Gpusched__SignedSpec *spec, struct error *err)
{
	if (spec->steps || spec->interactive)
		return error_set(err, ERR_JOB_SPEC, "service: its job has %s",
		        spec->steps ? "steps" : "a client of its own");
	if (!spec->array[0])
		return error_set(err, ERR_JOB_SPEC, "service: its job must be an array");
	return signedservice_check(spec->service, err);
}

int signedjob_spec_check(const Gpusched__SignedSpec *spec, struct error *err)
{
	size_t total = 0;

	if (version_check(spec, err))
		return -1;
	if (spec->nonce.len != SIGNEDJOB_NONCE_LEN)
		return error_set(err, ERR_JOB_SPEC, "nonce: %zu bytes; must be %d", spec->nonce.len,
		        SIGNEDJOB_NONCE_LEN);
	if (spec->script_hash.len != SIGNEDJOB_HASH_LEN)
		return error_set(err, ERR_JOB_SPEC, "script hash: %zu bytes; must be %d",
		        spec->script_hash.len, SIGNEDJOB_HASH_LEN);
	if (text_check("job name", spec->name, SIGNEDJOB_NAME_MAX, err)) {
		if (err)
			err->code = ERR_JOB_SPEC;
		return -1;
	}
	if (paths_check(spec, err) ||
	        strings_check("argument", spec->args, spec->n_args, &total, err) ||
	        strings_check("environment entry", spec->env, spec->n_env, &total, err) ||
	        env_check(spec->env, spec->n_env, err))
		return -1;
	if (spec->array[0] && array_check(spec->array, err))
		return -1;
	if (spec->tasks_per_node != 1)
		return error_set(
		        err, ERR_JOB_SPEC, "tasks per node: %u; must be 1", spec->tasks_per_node);
	if (spec->max_attempts < 1 || spec->max_attempts > SIGNEDJOB_ATTEMPTS_MAX)
		return error_set(err, ERR_JOB_SPEC, "attempts: %u; must be 1 to %d",
		        spec->max_attempts, SIGNEDJOB_ATTEMPTS_MAX);
	if (spec->umask > 0777)
		return error_set(err, ERR_JOB_SPEC, "umask: %o; must be 0 to 777", spec->umask);
	if (spec->service && service_check(spec, err))
		return -1;
	if (spec->steps)
		return steps_check(spec, err);
	return spec->interactive ? interactive_check(spec, err) : 0;
}

int signedjob_script_check(const void *script, size_t len, uint64_t max, struct error *err)
{
	const char *s = script;
	const char *line_end, *p;

	if (len == 0)
		return error_set(err, ERR_JOB_SPEC, "the script is empty");
	if (len > max)
		return error_set(err, ERR_JOB_SPEC,
		        "the script has %zu bytes; the limit is %llu (controller.max_script)", len,
		        (unsigned long long)max);
	if (len < 2 || s[0] != '#' || s[1] != '!') {
		error_set(err, ERR_JOB_SPEC, "the script does not begin with #!");
		return error_hint(err, "its first line names its interpreter, as in #!/bin/sh");
	}
	if ((p = memchr(s, '\0', len)))
		return error_set(err, ERR_JOB_SPEC, "the script has a NUL byte (byte %zu)",
		        (size_t)(p - s) + 1);
	line_end = memchr(s, '\n', len);
	if (!line_end)
		line_end = s + len;
	if (line_end[-1] == '\r') {
		error_set(err, ERR_JOB_SPEC, "the script has DOS line ends (CR LF)");
		return error_hint(err, "dos2unix, or: sed -i 's/\\r$//' SCRIPT");
	}
	for (p = s + 2; p < line_end && (*p == ' ' || *p == '\t'); p++)
		;
	if (p == line_end)
		return error_set(err, ERR_JOB_SPEC, "the script's #! line names no program");
	return 0;
}

/* --- all together -------------------------------------------------------------------------- */

static int owner_check(const struct mcred *cred, const char *cluster,
        const Gpusched__SignedSpec *spec, struct error *err)
{
	if (spec->uid != cred->uid)
		return error_set(err, ERR_SIGNATURE, "signed by uid %u, the job says uid %u",
		        (unsigned)cred->uid, spec->uid);
	if (spec->gid != cred->gid)
		return error_set(err, ERR_SIGNATURE, "signed by gid %u, the job says gid %u",
		        (unsigned)cred->gid, spec->gid);
	if (strcmp(spec->cluster, cluster) != 0) {
		char shown[80];

		text_escape(shown, sizeof(shown), spec->cluster, strlen(spec->cluster));
		return error_set(err, ERR_SIGNATURE, "signed for cluster '%s', this is '%s'", shown,
		        cluster);
	}
	return 0;
}

int signedjob_check_spec(const struct mcred *cred, const char *cluster, const void *bytes,
        size_t len, struct arena *arena, Gpusched__SignedSpec **spec_out,
        struct signedjob_hash *hash_out, struct error *err)
{
	struct signedjob_hash hash;
	Gpusched__SignedSpec *spec;
	struct error why;

	if (len > SIGNEDJOB_SPEC_MAX)
		return error_set(err, ERR_JOB_SPEC,
		        "the job has %zu bytes without its script; at "
		        "most %d",
		        len, SIGNEDJOB_SPEC_MAX);
	hash = signedjob_hash(bytes, len);
	if (!is_signed(cred, &hash))
		return error_set(err, ERR_SIGNATURE, "the job is not the one that was signed");
	spec = (Gpusched__SignedSpec *)msg_unpack_desc(
	        &gpusched__signed_spec__descriptor, bytes, len, MSG_STRICT, arena, &why);
	if (!spec) /* malformed or not, it is what its owner signed */
		return error_set(err, ERR_JOB_SPEC, "%s", why.text);
	if (owner_check(cred, cluster, spec, err) || signedjob_spec_check(spec, err))
		return -1;
	*spec_out = spec;
	if (hash_out)
		*hash_out = hash;
	return 0;
}

int signedjob_check(const struct mcred *cred, const char *cluster, const struct signedjob *job,
        struct arena *arena, Gpusched__SignedSpec **spec_out, struct signedjob_hash *hash_out,
        struct error *err)
{
	struct signedjob_hash hash, script_hash;
	Gpusched__SignedSpec *spec;

	if (signedjob_check_spec(
	            cred, cluster, job->spec, job->spec_len, arena, &spec, &hash, err) < 0)
		return -1;
	script_hash = signedjob_hash(job->script, job->script_len);
	if (memcmp(script_hash.b, spec->script_hash.data, sizeof(script_hash.b)) != 0)
		return error_set(err, ERR_SIGNATURE, "the script is not the one that was signed");
	*spec_out = spec;
	if (hash_out)
		*hash_out = hash;
	return 0;
}

/* The expression was checked with the spec. */
static bool is_task(const char *array, uint32_t task)
{
	struct taskset set;
	uint32_t at_once;
	bool is;

	if (!*array)
		return task == 0;
	if (taskset_parse_signed(array, &set, &at_once, NULL))
		return false;
	is = taskset_has(&set, task);
	taskset_clear(&set);
	return is;
}

int signedjob_run_check(
        const Gpusched__SignedSpec *spec, uint32_t task, uint32_t attempt, struct error *err)
{
	if (!is_task(spec->array, task))
		return error_set(err, ERR_SIGNATURE, "task %u of a job that %s", task,
		        *spec->array ? "was signed for others" : "is no array");
	if (attempt < 1 || attempt > SIGNEDJOB_ATTEMPT_LAST)
		return error_set(err, ERR_SIGNATURE, "attempt %u; must be 1 to %d", attempt,
		        SIGNEDJOB_ATTEMPT_LAST);
	return 0;
}
