/* test_signedjob.c - what was signed passes, and nothing else does */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/net/signedjob.h"

#define UID 1234
#define GID 567
#define NOW 1700000000

static const char script[] = "#!/bin/sh\necho hello\n";

/* One job, from its owner's hands to a checker's. Tests alter it on its way. */
struct fixture {
	Gpusched__SignedSpec spec;
	uint8_t nonce[16];
	struct signedjob_hash script_hash;
	ProtobufCBinaryData args[2], env[2];
	uint8_t *bytes;
	size_t len;
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX + 64];
	struct mcred cred;
	struct arena *arena;
	const char *cluster;
	struct signedjob job;
};

static ProtobufCBinaryData bytes_of(const char *s)
{
	return (ProtobufCBinaryData){ .len = strlen(s), .data = (uint8_t *)(uintptr_t)s };
}

static void fixture_init(struct fixture *f)
{
	static const Gpusched__SignedSpec init = GPUSCHED__SIGNED_SPEC__INIT;

	memset(f, 0, sizeof(*f));
	f->spec = init;
	f->spec.version = SIGNEDJOB_VERSION;
	f->spec.cluster = (char *)(uintptr_t) "lab";
	memset(f->nonce, 7, sizeof(f->nonce));
	f->spec.nonce = (ProtobufCBinaryData){ sizeof(f->nonce), f->nonce };
	f->spec.uid = UID;
	f->spec.gid = GID;
	f->script_hash = signedjob_hash(script, strlen(script));
	f->spec.script_hash = (ProtobufCBinaryData){ sizeof(f->script_hash.b), f->script_hash.b };
	f->spec.name = (char *)(uintptr_t) "wrap";
	f->args[0] = bytes_of("one");
	f->args[1] = bytes_of("");
	f->spec.args = f->args;
	f->spec.n_args = 2;
	f->env[0] = bytes_of("HOME=/home/ana");
	f->env[1] = bytes_of("EMPTY=");
	f->spec.env = f->env;
	f->spec.n_env = 2;
	f->spec.cwd = bytes_of("/home/ana");
	f->spec.output = bytes_of("out-%j.txt");
	f->spec.tasks_per_node = 1;
	f->spec.max_attempts = 3;
	f->spec.umask = 022;
	f->arena = arena_new(1 << 20);
	f->cluster = "lab";
}

/* Serialise and sign what the spec now says. */
static void sign(struct fixture *f)
{
	struct signedjob_hash hashes[3] = { { { 1 } }, { { 0 } }, { { 3 } } };

	f->len = protobuf_c_message_get_packed_size(&f->spec.base);
	free(f->bytes);
	f->bytes = xcalloc(f->len + 64, 1);
	protobuf_c_message_pack(&f->spec.base, f->bytes);
	hashes[1] = signedjob_hash(f->bytes, f->len);
	f->cred = (struct mcred){
		.payload = f->payload,
		.len = signedjob_payload(hashes, 3, f->payload),
		.uid = UID,
		.gid = GID,
		.encode_time = NOW,
		.decode_time = NOW,
		.ttl_s = 300,
		.restrict_uid = MCRED_ANY_UID,
		.aes256 = true,
	};
	f->job = (struct signedjob){ f->bytes, f->len, script, strlen(script) };
}

static int check(struct fixture *f, struct error *err)
{
	Gpusched__SignedSpec *spec = NULL;
	struct signedjob_hash hash;
	int n = signedjob_cred_check(&f->cred, err);

	if (n < 0)
		return -1;
	if (signedjob_check(&f->cred, f->cluster, &f->job, f->arena, &spec, &hash, err))
		return -1;
	assert_int_equal(spec->uid, UID);
	assert_string_equal(spec->name, f->spec.name);
	return n;
}

static void fixture_clear(struct fixture *f)
{
	arena_free(f->arena);
	free(f->bytes);
}

static void test_what_was_signed_passes(void **state)
{
	struct fixture f;
	struct error err;

	(void)state;
	fixture_init(&f);
	sign(&f);
	assert_int_equal(check(&f, &err), 3);
	fixture_clear(&f);
}

/* --- altered on the way: after it was signed --------------------------------------------- */

static void alter_spec_byte(struct fixture *f)
{
	f->bytes[f->len / 2] ^= 1;
}

static void alter_spec_longer(struct fixture *f)
{
	f->job.spec_len++; /* a byte more, which is 0 */
}

static void alter_spec_shorter(struct fixture *f)
{
	f->job.spec_len--;
}

static void alter_script(struct fixture *f)
{
	f->job.script = "#!/bin/sh\necho hallo\n";
}

static void alter_script_longer(struct fixture *f)
{
	f->job.script_len++;
}

static void alter_script_gone(struct fixture *f)
{
	f->job.script_len = 0;
}

static void alter_uid(struct fixture *f)
{
	f->cred.uid = 0;
}

static void alter_gid(struct fixture *f)
{
	f->cred.gid = 0;
}

static void alter_cluster(struct fixture *f)
{
	f->cluster = "atlas";
}

static void alter_tag(struct fixture *f)
{
	memcpy(f->payload, "gpusched-hello", SIGNEDJOB_TAG_LEN);
}

static void alter_payload_cut(struct fixture *f)
{
	f->cred.len--;
}

static void alter_payload_longer(struct fixture *f)
{
	f->cred.len++;
}

static void alter_payload_tag_alone(struct fixture *f)
{
	f->cred.len = SIGNEDJOB_TAG_LEN;
}

static void alter_payload_empty(struct fixture *f)
{
	f->cred.len = 0;
}

static void alter_payload_too_many(struct fixture *f)
{
	f->cred.payload = xcalloc(1, SIGNEDJOB_PAYLOAD_MAX + SIGNEDJOB_HASH_LEN);
	memcpy(f->cred.payload, f->payload, f->cred.len);
	f->cred.len = SIGNEDJOB_PAYLOAD_MAX + SIGNEDJOB_HASH_LEN;
}

static void alter_hash_shifted(struct fixture *f)
{
	/* the right 32 bytes, but across two places */
	memmove(f->payload + SIGNEDJOB_TAG_LEN + 16, f->payload + SIGNEDJOB_TAG_LEN + 32, 32);
}

static void alter_cipher(struct fixture *f)
{
	f->cred.aes256 = false;
}

static void test_altered_on_its_way(void **state)
{
	static const struct {
		const char *what;
		void (*alter)(struct fixture *f);
	} rows[] = {
		{ "a byte of the spec", alter_spec_byte },
		{ "a longer spec", alter_spec_longer },
		{ "a shorter spec", alter_spec_shorter },
		{ "another script", alter_script },
		{ "a longer script", alter_script_longer },
		{ "no script", alter_script_gone },
		{ "another uid", alter_uid },
		{ "another gid", alter_gid },
		{ "another cluster", alter_cluster },
		{ "a hello's tag", alter_tag },
		{ "a cut hash", alter_payload_cut },
		{ "a byte behind the hashes", alter_payload_longer },
		{ "no hash", alter_payload_tag_alone },
		{ "an empty payload", alter_payload_empty },
		{ "65 hashes", alter_payload_too_many },
		{ "a hash across places", alter_hash_shifted },
		{ "a weak cipher", alter_cipher },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };
		struct fixture f;

		fixture_init(&f);
		sign(&f);
		rows[i].alter(&f);
		if (check(&f, &err) != -1 || err.code != ERR_SIGNATURE)
			fail_msg("%s: code %d %s", rows[i].what, err.code, err.text);
		if (f.cred.payload != f.payload)
			free(f.cred.payload);
		fixture_clear(&f);
	}
}

/* Every single byte of spec and script counts. */
static void test_every_byte_counts(void **state)
{
	char text[sizeof(script)];
	struct fixture f;

	(void)state;
	fixture_init(&f);
	sign(&f);
	for (size_t i = 0; i < f.len; i++) {
		f.bytes[i] ^= 0x20;
		assert_int_equal(check(&f, NULL), -1);
		f.bytes[i] ^= 0x20;
		arena_reset(f.arena, 1 << 20);
	}
	memcpy(text, script, sizeof(text));
	f.job.script = text;
	for (size_t i = 0; i < f.job.script_len; i++) {
		text[i] ^= 0x20;
		assert_int_equal(check(&f, NULL), -1);
		text[i] ^= 0x20;
		arena_reset(f.arena, 1 << 20);
	}
	assert_int_equal(check(&f, NULL), 3);
	fixture_clear(&f);
}

/* --- signed, but not acceptable ----------------------------------------------------------- */

static char long_text[SIGNEDJOB_ARG_MAX + 8];
static ProtobufCBinaryData many[16];

static void bad_version(Gpusched__SignedSpec *s)
{
	s->version = 2;
}

static void bad_nonce(Gpusched__SignedSpec *s)
{
	s->nonce.len = 15;
}

static void bad_script_hash(Gpusched__SignedSpec *s)
{
	s->script_hash.len = 31;
}

static void bad_name_long(Gpusched__SignedSpec *s)
{
	s->name = long_text;
}

static void bad_cwd_relative(Gpusched__SignedSpec *s)
{
	s->cwd = bytes_of("home");
}

static void bad_cwd_empty(Gpusched__SignedSpec *s)
{
	s->cwd.len = 0;
}

static void bad_output_nul(Gpusched__SignedSpec *s)
{
	s->output = (ProtobufCBinaryData){ 3, (uint8_t *)(uintptr_t) "a\0b" };
}

static void bad_error_long(Gpusched__SignedSpec *s)
{
	s->error = (ProtobufCBinaryData){ 4096, (uint8_t *)long_text };
}

static void bad_arg_long(Gpusched__SignedSpec *s)
{
	s->args[0] = (ProtobufCBinaryData){ SIGNEDJOB_ARG_MAX + 1, (uint8_t *)long_text };
}

static void bad_arg_nul(Gpusched__SignedSpec *s)
{
	s->args[1] = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "" };
}

static void bad_args_total(Gpusched__SignedSpec *s)
{
	for (size_t i = 0; i < 16; i++)
		many[i] = (ProtobufCBinaryData){ 70000, (uint8_t *)long_text };
	s->args = many;
	s->n_args = 16;
}

static void bad_env_no_equals(Gpusched__SignedSpec *s)
{
	s->env[1] = bytes_of("LD_PRELOAD");
}

static void bad_env_no_name(Gpusched__SignedSpec *s)
{
	s->env[1] = bytes_of("=x");
}

static void bad_env_empty(Gpusched__SignedSpec *s)
{
	s->env[1] = bytes_of("");
}

static void bad_array(Gpusched__SignedSpec *s)
{
	s->array = (char *)(uintptr_t) "9-0";
}

static void bad_tasks(Gpusched__SignedSpec *s)
{
	s->tasks_per_node = 0;
}

static void bad_attempts_none(Gpusched__SignedSpec *s)
{
	s->max_attempts = 0;
}

static void bad_attempts_many(Gpusched__SignedSpec *s)
{
	s->max_attempts = SIGNEDJOB_ATTEMPTS_MAX + 1;
}

static void bad_umask(Gpusched__SignedSpec *s)
{
	s->umask = 01000;
}

static void test_signed_but_not_acceptable(void **state)
{
	static const struct {
		void (*spoil)(Gpusched__SignedSpec *s);
		const char *part; /* of the error */
	} rows[] = {
		{ bad_version, "version 2" },
		{ bad_nonce, "nonce: 15" },
		{ bad_script_hash, "script hash: 31" },
		{ bad_name_long, "job name" },
		{ bad_cwd_relative, "working directory" },
		{ bad_cwd_empty, "working directory" },
		{ bad_output_nul, "output: contains a NUL" },
		{ bad_error_long, "error: 4096" },
		{ bad_arg_long, "argument 1" },
		{ bad_arg_nul, "argument 2" },
		{ bad_args_total, "arguments and environment" },
		{ bad_env_no_equals, "environment entry 2" },
		{ bad_env_no_name, "environment entry 2" },
		{ bad_env_empty, "environment entry 2" },
		{ bad_array, "array" },
		{ bad_tasks, "tasks per node: 0" },
		{ bad_attempts_none, "attempts: 0" },
		{ bad_attempts_many, "attempts: 1001" },
		{ bad_umask, "umask: 1000" },
	};

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };
		struct fixture f;

		fixture_init(&f);
		arena_reset(f.arena, 8 << 20);
		rows[i].spoil(&f.spec);
		sign(&f);
		if (check(&f, &err) != -1 || err.code != ERR_JOB_SPEC ||
		        !strstr(err.text, rows[i].part))
			fail_msg("row %zu (%s): code %d %s", i, rows[i].part, err.code, err.text);
		fixture_clear(&f);
	}
}

/* A field that this version does not know, signed by its owner, is refused all the same. */
static void test_unknown_field(void **state)
{
	struct signedjob_hash hash;
	struct fixture f;
	struct error err;

	(void)state;
	fixture_init(&f);
	sign(&f);
	f.bytes[f.len] = 99 << 3 & 0x7f; /* field 99, varint 1 */
	f.bytes[f.len++] |= 0x80;
	f.bytes[f.len++] = 99 >> 4;
	f.bytes[f.len++] = 1;
	f.job.spec_len = f.len;
	hash = signedjob_hash(f.bytes, f.len);
	f.cred.len = signedjob_payload(&hash, 1, f.payload);
	assert_int_equal(check(&f, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
	fixture_clear(&f);
}

/* no_summary came after version 1 and has none of its own. To a reader from before it, a job that
 * has it is one with a field that is not known, and one that has it not is as ever. */
static void test_a_reader_from_before_no_summary(void **state)
{
	const ProtobufCMessageDescriptor *now = &gpusched__signed_spec__descriptor;
	const ProtobufCIntRange ranges[] = { { 1, 0 }, { 0, 19 } };
	ProtobufCMessageDescriptor before = *now;

	(void)state;
	assert_string_equal(now->fields[19].name, "no_summary");
	assert_int_equal(now->n_field_ranges, 1);
	before.n_fields = 19;
	before.field_ranges = ranges;
	for (int wished = 0; wished < 2; wished++) {
		struct fixture f;
		struct error err = { .text = "" };
		bool taken;

		fixture_init(&f);
		f.spec.no_summary = wished;
		sign(&f);
		assert_true(check(&f, &err) > 0);
		taken = msg_unpack_desc(&before, f.bytes, f.len, MSG_STRICT, f.arena, &err);
		assert_int_equal(taken, !wished);
		if (wished && !strstr(err.text, "20"))
			fail_msg("%s", err.text);
		fixture_clear(&f);
	}
}

static void test_fresh_and_age(void **state)
{
	static const struct {
		enum mcred_status status;
		int fresh;
	} fresh[] = { { MCRED_OK, 0 }, { MCRED_REPLAYED, 0 }, { MCRED_EXPIRED, -1 },
		{ MCRED_REWOUND, -1 } };
	static const struct {
		int64_t now;
		int ok;
	} ages[] = { { NOW, 0 }, { NOW + 1000, 0 }, { NOW + 1001, -1 }, { NOW - 300, 0 },
		{ NOW - 301, -1 }, { INT64_MIN, -1 }, { INT64_MAX, -1 } };
	struct mcred cred = { .encode_time = NOW, .decode_time = NOW, .ttl_s = 300 };
	struct error err;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		cred.status = fresh[i].status;
		assert_int_equal(signedjob_cred_fresh(&cred, &err), fresh[i].fresh);
		if (fresh[i].fresh)
			assert_int_equal(err.code, ERR_MUNGE_CLOCK);
	}
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++)
		assert_int_equal(signedjob_cred_age(&cred, ages[i].now, 1000, &err), ages[i].ok);
	cred.encode_time = INT64_MAX;
	assert_int_equal(signedjob_cred_age(&cred, INT64_MIN, 1000, &err), -1);
}

static void test_scripts(void **state)
{
	static const struct {
		const char *text;
		size_t len; /* 0: strlen */
		const char *part;
	} rows[] = {
		{ "#!/bin/sh\ntrue\n", 0, NULL },
		{ "#!/bin/sh", 0, NULL },
		{ "#! /bin/sh -e", 0, NULL },
		{ "#!/bin/sh\nprintf 'a\r\n'\n", 0, NULL },
		{ "", 0, "empty" },
		{ "#", 0, "#!" },
		{ "echo\n", 0, "#!" },
		{ "\x7f"
		  "ELF",
		        0, "#!" },
		{ "#!", 0, "names no program" },
		{ "#!  \t\ntrue", 0, "names no program" },
		{ "#!/bin/sh\r\ntrue\r\n", 0, "DOS" },
		{ "#!\r\n", 0, "DOS" },
		{ "#!/bin/sh\0x\n", 12, "byte 10" },
		{ "#!/bin/sh\ntr\0ue\n", 16, "byte 13" },
		{ "#!/bin/sh\n#..................................................", 0,
		        "limit is 50" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].text);
		struct error err = { 0 };
		int ret = signedjob_script_check(rows[i].text, len, 50, &err);

		if (rows[i].part ? ret != -1 || err.code != ERR_JOB_SPEC ||
		                           !strstr(err.text, rows[i].part)
		                 : ret != 0)
			fail_msg("row %zu: %d %s", i, ret, err.text);
	}
}

static void test_runs(void **state)
{
	const Gpusched__SignedSpec plain = GPUSCHED__SIGNED_SPEC__INIT;
	Gpusched__SignedSpec array = GPUSCHED__SIGNED_SPEC__INIT;
	struct error err;

	(void)state;
	array.array = (char *)(uintptr_t) "1-9:2%3";
	assert_int_equal(signedjob_run_check(&array, 7, 1, &err), 0);
	assert_int_equal(signedjob_run_check(&array, 0, 1, &err), -1);
	assert_int_equal(err.code, ERR_SIGNATURE);
	assert_int_equal(signedjob_run_check(&array, 8, 1, &err), -1);
	assert_int_equal(signedjob_run_check(&array, 11, 1, &err), -1);
	assert_int_equal(signedjob_run_check(&plain, 0, 1, &err), 0);
	assert_int_equal(signedjob_run_check(&plain, 0, SIGNEDJOB_ATTEMPT_LAST, &err), 0);
	assert_int_equal(signedjob_run_check(&plain, 0, SIGNEDJOB_ATTEMPT_LAST + 1, &err), -1);
	assert_int_equal(err.code, ERR_SIGNATURE);
	assert_int_equal(signedjob_run_check(&plain, 0, 0, &err), -1);
	assert_int_equal(signedjob_run_check(&plain, 1, 1, &err), -1);
}

/* --- interactive -------------------------------------------------------------------------- */

static void make_interactive(struct fixture *f, Gpusched__Interactive *i)
{
	gpusched__interactive__init(i);
	i->kind = GPUSCHED__INTERACTIVE__KIND__PTY;
	i->rows = 24;
	i->cols = 80;
	i->patience_s = 30;
	f->spec.interactive = i;
	f->spec.version = SIGNEDJOB_INTERACTIVE;
	f->spec.output.len = 0;
	f->spec.max_attempts = 1;
}

static void odd_version(Gpusched__SignedSpec *s)
{
	s->version =
	        SIGNEDJOB_VERSION; /* who knows no other must not take it for an ordinary one */
}

static void odd_version_alone(Gpusched__SignedSpec *s)
{
	s->interactive = NULL;
}

static void odd_kind(Gpusched__SignedSpec *s)
{
	s->interactive->kind = (Gpusched__Interactive__Kind)3;
}

static void odd_no_kind(Gpusched__SignedSpec *s)
{
	s->interactive->kind = GPUSCHED__INTERACTIVE__KIND__NONE;
}

static void odd_window(Gpusched__SignedSpec *s)
{
	s->interactive->cols = 65536;
}

static void odd_patience(Gpusched__SignedSpec *s)
{
	s->interactive->patience_s = 0;
}

static void odd_array(Gpusched__SignedSpec *s)
{
	s->array = (char *)(uintptr_t) "0-3";
}

static void odd_output(Gpusched__SignedSpec *s)
{
	s->output = bytes_of("file");
}

static void odd_attempts(Gpusched__SignedSpec *s)
{
	s->max_attempts = 2;
}

static void test_interactive(void **state)
{
	static void (*const odd[])(Gpusched__SignedSpec * s) = { odd_version, odd_version_alone,
		odd_kind, odd_no_kind, odd_window, odd_patience, odd_array, odd_output,
		odd_attempts };
	Gpusched__Interactive i;
	struct fixture f;
	struct error err;

	(void)state;
	fixture_init(&f);
	make_interactive(&f, &i);
	sign(&f);
	assert_int_equal(check(&f, &err), 3);
	fixture_clear(&f);
	for (size_t n = 0; n < sizeof(odd) / sizeof(odd[0]); n++) {
		fixture_init(&f);
		make_interactive(&f, &i);
		odd[n](&f.spec);
		sign(&f);
		if (check(&f, &err) != -1 || err.code != ERR_JOB_SPEC)
			fail_msg("%zu: code %d %s", n, err.code, err.text);
		fixture_clear(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_signed_passes),
		cmocka_unit_test(test_altered_on_its_way),
		cmocka_unit_test(test_every_byte_counts),
		cmocka_unit_test(test_signed_but_not_acceptable),
		cmocka_unit_test(test_unknown_field),
		cmocka_unit_test(test_a_reader_from_before_no_summary),
		cmocka_unit_test(test_fresh_and_age),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_interactive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
