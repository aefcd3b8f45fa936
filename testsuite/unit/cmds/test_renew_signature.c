/* test_renew_signature.c - what a user signs anew is what he has signed, whatever the controller says */
#include "testsuite/unit/lib/client_lab.h"

#include <unistd.h>

#include "cmds/api/renew_signature.h"
#include "cmds/api/spec.h"
#include "common/base/xalloc.h"
#include "common/net/signedjob.h"

#define JOBS 70 /* more than one credential signs */

/* What the controller shows of each job, and what it is sent. */
static struct shown {
	uint64_t job;
	uint8_t *spec, *script;
	size_t spec_len, script_len;
	char *credential;
	struct signedjob_hash hash;
} shown[JOBS];

static struct {
	size_t requests, jobs;
	uint64_t refused;  /* this one */
	struct mcred cred; /* of the last */
	size_t n_specs;
	uint8_t spec[4096]; /* of the last: its first */
	size_t spec_len;
} resigned;

static bool show(int fd, struct noise *noise, uint64_t id, const Gpusched__ShowScript *m)
{
	const struct shown *s = &shown[m->job - 1];
	Gpusched__ScriptResult r = GPUSCHED__SCRIPT_RESULT__INIT;

	if (m->job > JOBS || !s->spec)
		return lab_reply(fd, noise, id, ERR_NO_JOB, "no such job");
	r.job = s->job;
	r.spec = (ProtobufCBinaryData){ s->spec_len, s->spec };
	r.script = (ProtobufCBinaryData){ s->script_len, s->script };
	if (s->credential)
		r.credential =
		        (ProtobufCBinaryData){ strlen(s->credential), (uint8_t *)s->credential };
	return lab_answer(fd, noise, T(SCRIPT_RESULT), id, &r.base) &&
	       lab_reply(fd, noise, id, 0, "");
}

static const struct renew_request as_it_is = { .reason = "" };

static bool take(int fd, struct noise *noise, uint64_t id, const Gpusched__Resign *m)
{
	Gpusched__JobControlResult r = GPUSCHED__JOB_CONTROL_RESULT__INIT;
	Gpusched__JobError error = GPUSCHED__JOB_ERROR__INIT, *errors[] = { &error };
	char *text = xstrndup((char *)m->credential.data, m->credential.len);

	mcred_clear(&resigned.cred);
	resigned.requests++;
	resigned.jobs += m->n_jobs;
	resigned.n_specs = m->n_specs;
	if (m->n_specs && m->specs[0].len <= sizeof(resigned.spec)) {
		resigned.spec_len = m->specs[0].len;
		memcpy(resigned.spec, m->specs[0].data, m->specs[0].len);
	}
	if (server.munge->decode(server.munge, text, &resigned.cred, &server.fault) < 0 ||
	        signedjob_cred_check(&resigned.cred, &server.fault) < 0)
		return false;
	free(text);
	r.done = (uint32_t)m->n_jobs;
	for (size_t i = 0; i < m->n_jobs; i++) {
		if (m->jobs[i] != resigned.refused)
			continue;
		error.job = m->jobs[i];
		error.code = ERR_JOB_STATE;
		error.text = "it has ended";
		r.errors = errors;
		r.n_errors = 1;
		r.done--;
	}
	return lab_answer(fd, noise, T(JOB_CONTROL_RESULT), id, &r.base) &&
	       lab_reply(fd, noise, id, r.done ? 0 : ERR_JOB_STATE, "it has ended");
}

static bool other(
        int fd, struct noise *noise, unsigned type, uint64_t id, const ProtobufCMessage *m)
{
	if (type == T(SHOW_SCRIPT))
		return show(fd, noise, id, (const Gpusched__ShowScript *)m);
	return type == T(RESIGN) && take(fd, noise, id, (const Gpusched__Resign *)m);
}

static char *sign(const void *payload, size_t len, uid_t uid, gid_t gid)
{
	struct mcred_ops *ops = lab_munge(uid, gid);
	struct error err;
	char *cred;

	assert_int_equal(ops->encode(ops, payload, len, MCRED_ANY_UID, &cred, &err), 0);
	mcred_ops_free(ops);
	return cred;
}

static char *sign_hashes(const struct signedjob_hash *hashes, size_t n)
{
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];

	return sign(payload, signedjob_payload(hashes, n, payload), geteuid(), getegid());
}

/* `n` jobs of a submit, signed together as long as one credential can. */
static void make(size_t n, const char *cluster)
{
	struct gpusched_spec specs[SIGNEDJOB_MAX];
	struct spec_group group;
	struct error err;

	for (size_t at = 0; at < n; at += SIGNEDJOB_MAX) {
		size_t k = n - at < SIGNEDJOB_MAX ? n - at : SIGNEDJOB_MAX;

		for (size_t i = 0; i < k; i++)
			fill(&specs[i]);
		assert_int_equal(spec_group_make(specs, k, NULL, cluster, &group, &err), 0);
		for (size_t i = 0; i < k; i++) {
			const Gpusched__SubmitJob *j = group.submit.jobs[i];
			struct shown *s = &shown[at + i];

			s->job = at + i + 1;
			s->spec = xmemdup(j->spec.data, j->spec.len);
			s->spec_len = j->spec.len;
			s->script = xmemdup(j->script.data, j->script.len);
			s->script_len = j->script.len;
			s->hash = group.hashes[i];
			s->credential = sign_hashes(group.hashes, k);
		}
		spec_group_clear(&group);
	}
	server.other = other;
}

static void clear(void)
{
	for (size_t i = 0; i < JOBS; i++) {
		free(shown[i].spec);
		free(shown[i].script);
		free(shown[i].credential);
	}
	memset(shown, 0, sizeof(shown));
	mcred_clear(&resigned.cred);
	memset(&resigned, 0, sizeof(resigned));
}

struct told {
	size_t done, refused;
	struct error error; /* the last */
};

static void note(const struct renewed_signature *r, void *arg)
{
	struct told *t = arg;

	if (!r->error) {
		assert_string_equal(r->name, "test");
		assert_int_equal(r->before, 1000000);
		t->done++;
		return;
	}
	t->refused++;
	t->error = *r->error;
}

/* The credential that came is of these jobs, in this order, and of no other. */
static void assert_signed(size_t first, size_t n)
{
	assert_int_equal(resigned.cred.len, SIGNEDJOB_TAG_LEN + n * SIGNEDJOB_HASH_LEN);
	assert_int_equal(resigned.cred.uid, geteuid());
	for (size_t i = 0; i < n; i++)
		assert_memory_equal((uint8_t *)resigned.cred.payload + SIGNEDJOB_TAG_LEN +
		                            i * SIGNEDJOB_HASH_LEN,
		        shown[first + i].hash.b, SIGNEDJOB_HASH_LEN);
}

/* The old signature has expired, and is of other jobs too: of those nothing is signed. */
static void test_one_of_a_group(void **state)
{
	const uint64_t job = 2, twice[] = { 3, 3 };
	struct told told = { 0 };
	struct error err;

	(void)state;
	make(3, "c1");
	assert_int_equal(renew_signatures(client, twice, 2, &as_it_is, note, &told, &err), 1);
	assert_signed(2, 1);
	resigned.requests = told.done = 0;
	fake_munge_set_time(lab_host, 1000000 + 13 * 86400);
	assert_int_equal(renew_signatures(client, &job, 1, &as_it_is, note, &told, &err), 1);
	assert_int_equal(told.done, 1);
	assert_int_equal(resigned.requests, 1);
	assert_int_equal(resigned.cred.encode_time, 1000000 + 13 * 86400);
	assert_signed(1, 1);
	clear();
}

/* More than a credential signs; some are unknown, or refused by the controller. */
static void test_many(void **state)
{
	uint64_t jobs[JOBS + 1];
	struct told told = { 0 };
	struct error err;

	(void)state;
	make(JOBS, "c1");
	for (size_t i = 0; i <= JOBS; i++)
		jobs[i] = i + 1;
	resigned.refused = 5;
	assert_int_equal(
	        renew_signatures(client, jobs, JOBS + 1, &as_it_is, note, &told, &err), JOBS - 1);
	assert_int_equal(told.done, JOBS - 1);
	assert_int_equal(told.refused, 2);
	assert_int_equal(told.error.code, ERR_NO_JOB);
	assert_int_equal(resigned.requests, 2);
	assert_int_equal(resigned.jobs, JOBS);
	assert_signed(SIGNEDJOB_MAX, JOBS - SIGNEDJOB_MAX);
	clear();
}

/* --- a controller that lies ------------------------------------------------------------------- */

static void other_spec(struct shown *s)
{
	s->spec[s->spec_len - 1] ^= 1;
}

static void longer_spec(struct shown *s)
{
	s->spec = xrealloc(s->spec, s->spec_len + 2, 1);
	memcpy(s->spec + s->spec_len, "\x08\x01", 2);
	s->spec_len += 2;
}

static void other_script(struct shown *s)
{
	s->script[s->script_len - 2] ^= 1;
}

static void no_signature(struct shown *s)
{
	free(s->credential);
	s->credential = NULL;
}

static void text_for_a_signature(struct shown *s)
{
	free(s->credential);
	s->credential = xstrdup("MUNGE:AwQDAADu:");
}

static void signed_by_another(struct shown *s)
{
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	size_t len = signedjob_payload(&s->hash, 1, payload);

	free(s->credential);
	s->credential = sign(payload, len, geteuid() + 1, getegid());
}

static void signed_with_another_group(struct shown *s)
{
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	size_t len = signedjob_payload(&s->hash, 1, payload);

	free(s->credential);
	s->credential = sign(payload, len, geteuid(), getegid() + 1);
}

static void signed_for_something_else(struct shown *s)
{
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	size_t len = signedjob_payload(&s->hash, 1, payload);

	payload[SIGNEDJOB_TAG_LEN - 1] = '2';
	free(s->credential);
	s->credential = sign(payload, len, geteuid(), getegid());
}

static void signature_of_another_job(struct shown *s)
{
	struct signedjob_hash hash = signedjob_hash("x", 1);

	free(s->credential);
	s->credential = sign_hashes(&hash, 1);
}

static void another_job(struct shown *s)
{
	s->job++;
}

static void test_lies(void **state)
{
	static const struct {
		const char *what;
		void (*lie)(struct shown *s);
		int code;
	} cases[] = {
		{ "another spec", other_spec, ERR_SIGNATURE },
		{ "a longer spec", longer_spec, ERR_SIGNATURE },
		{ "another script", other_script, ERR_SIGNATURE },
		{ "no signature", no_signature, ERR_SIGNATURE },
		{ "some text", text_for_a_signature, ERR_AUTH },
		{ "another's signature", signed_by_another, ERR_SIGNATURE },
		{ "another group", signed_with_another_group, ERR_SIGNATURE },
		{ "another tag", signed_for_something_else, ERR_SIGNATURE },
		{ "another job's signature", signature_of_another_job, ERR_SIGNATURE },
		{ "another job", another_job, ERR_PROTOCOL },
	};
	const uint64_t jobs[] = { 1, 2 };

	(void)state;
	for (size_t i = 0; i < LEN(cases); i++) {
		struct told told = { 0 };
		struct error err;

		make(2, "c1");
		cases[i].lie(&shown[0]);
		assert_int_equal(
		        renew_signatures(client, jobs, 2, &as_it_is, note, &told, &err), 1);
		if (told.error.code != cases[i].code)
			fail_msg("%s: %d %s", cases[i].what, told.error.code, told.error.text);
		assert_int_equal(told.refused, 1);
		assert_int_equal(resigned.jobs, 1);
		assert_signed(1, 1);
		clear();
	}
}

/* Signed by this user, for another cluster. */
static void test_another_cluster(void **state)
{
	const uint64_t job = 1;
	struct told told = { 0 };
	struct error err;

	(void)state;
	make(1, "c2");
	assert_int_equal(renew_signatures(client, &job, 1, &as_it_is, note, &told, &err), 0);
	assert_int_equal(told.error.code, ERR_SIGNATURE);
	assert_int_equal(resigned.requests, 0);
	clear();
}

/* What was checked is signed with the changes, and all else as it was. */
static void test_changed(void **state)
{
	char *env[] = { (char *)"ONLY=1", NULL };
	const struct respecification change = { .name = "other",
		.error = "e.%j",
		.env = env,
		.open_mode = true,
		.append = true,
		.max_attempts = 7 };
	const struct renew_request wish = { .change = &change, .reason = "" };
	const uint64_t jobs[] = { 1, 2 };
	Gpusched__SignedSpec *was, *is;
	struct signedjob_hash hash;
	struct told told = { 0 };
	struct error err;

	(void)state;
	make(2, "c1");
	signed_by_another(&shown[1]);
	assert_int_equal(renew_signatures(client, jobs, 2, &wish, note, &told, &err), 1);
	assert_int_equal(told.refused, 1);
	assert_int_equal(told.error.code, ERR_SIGNATURE);
	assert_non_null(strstr(told.error.text, "only the job's owner can change"));
	assert_int_equal(resigned.n_specs, 1);
	hash = signedjob_hash(resigned.spec, resigned.spec_len);
	assert_int_equal(resigned.cred.len, SIGNEDJOB_TAG_LEN + SIGNEDJOB_HASH_LEN);
	assert_memory_equal(
	        (uint8_t *)resigned.cred.payload + SIGNEDJOB_TAG_LEN, hash.b, SIGNEDJOB_HASH_LEN);
	was = gpusched__signed_spec__unpack(NULL, shown[0].spec_len, shown[0].spec);
	is = gpusched__signed_spec__unpack(NULL, resigned.spec_len, resigned.spec);
	assert_non_null(is);
	assert_string_equal(is->name, "other");
	assert_int_equal(is->error.len, 4);
	assert_int_equal(is->n_env, 1);
	assert_memory_equal(is->env[0].data, "ONLY=1", 6);
	assert_true(is->append);
	assert_int_equal(is->max_attempts, 7);
	assert_memory_equal(is->nonce.data, was->nonce.data, SIGNEDJOB_NONCE_LEN);
	assert_memory_equal(is->script_hash.data, was->script_hash.data, SIGNEDJOB_HASH_LEN);
	assert_int_equal(is->cwd.len, was->cwd.len);
	assert_int_equal(is->output.len, was->output.len);
	assert_string_equal(is->array, was->array);
	gpusched__signed_spec__free_unpacked(was, NULL);
	gpusched__signed_spec__free_unpacked(is, NULL);
	clear();
}

/* What could not be submitted is not signed either. */
static void test_changed_badly(void **state)
{
	const struct respecification change = { .cwd = "relative" };
	const struct renew_request wish = { .change = &change, .reason = "" };
	const uint64_t job = 1;
	struct told told = { 0 };
	struct error err;

	(void)state;
	make(1, "c1");
	assert_int_equal(renew_signatures(client, &job, 1, &wish, note, &told, &err), 0);
	assert_int_equal(told.error.code, ERR_JOB_SPEC);
	assert_int_equal(resigned.requests, 0);
	clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(test_one_of_a_group),
		CLIENT_TEST(test_many),
		CLIENT_TEST(test_lies),
		CLIENT_TEST(test_another_cluster),
		CLIENT_TEST(test_changed),
		CLIENT_TEST(test_changed_badly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
