/* test_spec_changes.c - one spec in place of another: what may differ, field by field, and who
 * signs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/net/signedjob.h"
#include "ctld/core/core.h"
#include "ctld/rpc/jobs/spec_changes.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define OWNER  1000
#define GROUP  100

static struct arena *arena;
static uint8_t nonce[2][SIGNEDJOB_NONCE_LEN] = { { 1 }, { 2 } };
static uint8_t script[2][SIGNEDJOB_HASH_LEN] = { { 1 }, { 2 } };
static ProtobufCBinaryData words[2] = { { 3, (uint8_t *)"A=1" }, { 3, (uint8_t *)"B=2" } };
static Gpusched__Interactive interactive;
static Gpusched__Steps steps;
static Gpusched__ServiceSpec service;

static ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
}

static Gpusched__SignedSpec spec_of(void)
{
	Gpusched__SignedSpec s = GPUSCHED__SIGNED_SPEC__INIT;

	s.version = SIGNEDJOB_VERSION;
	s.cluster = (char *)"c1";
	s.nonce = (ProtobufCBinaryData){ sizeof(nonce[0]), nonce[0] };
	s.uid = OWNER;
	s.gid = GROUP;
	s.script_hash = (ProtobufCBinaryData){ sizeof(script[0]), script[0] };
	s.name = (char *)"name";
	s.n_args = s.n_env = 1;
	s.args = s.env = words;
	s.cwd = bytes("/home");
	s.input = bytes("in");
	s.output = bytes("out");
	s.error = bytes("err");
	s.array = (char *)"0-3";
	s.tasks_per_node = 1;
	s.max_attempts = 3;
	s.umask = 022;
	return s;
}

static struct spec_bytes pack(const Gpusched__SignedSpec *s)
{
	uint8_t *p = xcalloc(1, 4096);

	return (struct spec_bytes){ p, gpusched__signed_spec__pack(s, p) };
}

/* `is` in place of spec_of(), signed by this user; `other`: the signature is of that. */
static int compare(const Gpusched__SignedSpec *is, struct spec_bytes *other, uid_t uid,
        struct respec *out, struct error *err)
{
	Gpusched__SignedSpec was = spec_of();
	struct spec_bytes before = pack(&was), after = pack(is);
	struct signedjob_hash hash =
	        other ? signedjob_hash(other->p, other->len) : signedjob_hash(after.p, after.len);
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	struct mcred cred = { .payload = payload, .uid = uid, .gid = GROUP, .aes256 = true };
	int rc;

	cred.len = signedjob_payload(&hash, 1, payload);
	*err = (struct error){ 0 };
	rc = respec_compare(&cred, "c1", before, after, arena, out, err);
	free((void *)(uintptr_t)before.p);
	free((void *)(uintptr_t)after.p);
	return rc;
}

/* Each field of the message, changed alone. */
static void test_each_field(void **state)
{
	static const struct {
		const char *field;
		const char *told; /* NULL: refused */
	} cases[] = {
		{ "version", NULL },
		{ "cluster", NULL },
		{ "nonce", NULL },
		{ "uid", NULL },
		{ "gid", NULL },
		{ "script_hash", NULL },
		{ "name", "job-name name -> other" },
		{ "args", "arguments changed" },
		{ "env", "export changed" },
		{ "cwd", "chdir /home -> /other" },
		{ "input", "input in -> none" },
		{ "output", "output out -> a\\x0Ab" },
		{ "error", "error err -> other" },
		{ "append", "open-mode truncate -> append" },
		{ "array", NULL },
		{ "tasks_per_node", NULL },
		{ "max_attempts", "max-attempts 3 -> 4" },
		{ "umask", "umask 0022 -> 0077" },
		{ "interactive", NULL },
		{ "no_summary", "no-summary no -> yes" },
		{ "steps", NULL },
		{ "service", NULL },
		{ "show_output", "show-output no -> yes" },
	};
	const ProtobufCMessageDescriptor *d = &gpusched__signed_spec__descriptor;

	(void)state;
	gpusched__interactive__init(&interactive);
	gpusched__steps__init(&steps);
	gpusched__service_spec__init(&service);
	assert_int_equal(d->n_fields, LEN(cases)); /* a new field needs a row here and there */
	for (size_t i = 0; i < LEN(cases); i++) {
		Gpusched__SignedSpec s = spec_of();
		struct respec r;
		struct error err;
		int rc;

		assert_string_equal(d->fields[i].name, cases[i].field);
		switch (i) {
		case 0:
			s.version = 2;
			break;
		case 1:
			s.cluster = (char *)"c2";
			break;
		case 2:
			s.nonce.data = nonce[1];
			break;
		case 3:
			s.uid++;
			break;
		case 4:
			s.gid++;
			break;
		case 5:
			s.script_hash.data = script[1];
			break;
		case 6:
			s.name = (char *)"other";
			break;
		case 7:
			s.args = &words[1];
			break;
		case 8:
			s.n_env = 2;
			break;
		case 9:
			s.cwd = bytes("/other");
			break;
		case 10:
			s.input = bytes("");
			break;
		case 11:
			s.output = bytes("a\nb");
			break;
		case 12:
			s.error = bytes("other");
			break;
		case 13:
			s.append = true;
			break;
		case 14:
			s.array = (char *)"0-4";
			break;
		case 15:
			s.tasks_per_node = 2;
			break;
		case 16:
			s.max_attempts = 4;
			break;
		case 17:
			s.umask = 077;
			break;
		case 18:
			s.interactive = &interactive;
			break;
		case 20:
			s.steps = &steps;
			break;
		case 21:
			s.service = &service;
			break;
		case 22:
			s.show_output = true;
			break;
		default:
			s.no_summary = true;
			break;
		}
		rc = compare(&s, NULL, OWNER, &r, &err);
		if (!cases[i].told) {
			if (rc == 0 || (err.code != ERR_JOB_SPEC && err.code != ERR_SIGNATURE))
				fail_msg("%s: taken (%d)", cases[i].field, err.code);
			continue;
		}
		if (rc < 0)
			fail_msg("%s: %s", cases[i].field, err.text);
		assert_string_equal(r.told, cases[i].told);
		assert_int_equal(__builtin_popcount(r.fields), 1);
		assert_memory_not_equal(r.was.b, r.is.b, sizeof(r.is.b));
	}
}

/* All of them at once, and as the core is to have them. */
static void test_what_comes_out(void **state)
{
	Gpusched__SignedSpec s = spec_of();
	struct respec r;
	struct error err;

	(void)state;
	assert_int_equal(compare(&s, NULL, OWNER, &r, &err), 0); /* nothing */
	assert_int_equal(r.fields, 0);
	assert_memory_equal(r.was.b, r.is.b, sizeof(r.is.b));
	s.name = (char *)"x";
	s.cwd = bytes("/a\xff");
	s.output = s.error = bytes("");
	s.max_attempts = 9;
	s.show_output = true;
	assert_int_equal(compare(&s, NULL, OWNER, &r, &err), 0);
	assert_int_equal(r.fields, 1 << RESPEC_NAME | 1 << RESPEC_CWD | 1 << RESPEC_OUTPUT |
	                                   1 << RESPEC_ERROR | 1 << RESPEC_ATTEMPTS |
	                                   1 << RESPEC_SHOW_OUTPUT);
	assert_string_equal(r.name, "x");
	assert_string_equal(r.cwd, "/a\xff");
	assert_string_equal(r.output, "");
	assert_string_equal(r.error, "");
	assert_int_equal(r.max_attempts, 9);
	assert_true(r.show_output);
}

/* By its owner, this very spec, and such as would be taken in a submit. */
static void test_who_signs_what(void **state)
{
	Gpusched__SignedSpec s = spec_of(), t = spec_of();
	struct spec_bytes other;
	struct respec r;
	struct error err;

	(void)state;
	other = pack(&t);
	s.name = (char *)"x";
	assert_int_equal(compare(&s, &other, OWNER, &r, &err), -1); /* the old one was signed */
	assert_int_equal(err.code, ERR_SIGNATURE);
	assert_int_equal(compare(&s, NULL, OWNER + 1, &r, &err), -1); /* another signed */
	assert_int_equal(err.code, ERR_SIGNATURE);
	s.uid = OWNER + 1; /* and says so */
	assert_int_equal(compare(&s, NULL, OWNER + 1, &r, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
	s.uid = OWNER;
	s.cwd = bytes("relative");
	assert_int_equal(compare(&s, NULL, OWNER, &r, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
	free((void *)(uintptr_t)other.p);
}

/* The same fields in other bytes would be another hash of the same job. */
static void test_other_bytes(void **state)
{
	Gpusched__SignedSpec s = spec_of();
	struct spec_bytes was = pack(&s);
	uint8_t longer[4096], payload[SIGNEDJOB_PAYLOAD_MAX];
	struct spec_bytes is = { longer, was.len + 2 };
	struct mcred cred = { .payload = payload, .uid = OWNER, .gid = GROUP, .aes256 = true };
	struct signedjob_hash hash;
	struct respec r;
	struct error err;

	(void)state;
	memcpy(longer, was.p, was.len);
	memcpy(longer + was.len, "\x08\x01", 2); /* the version once more */
	hash = signedjob_hash(is.p, is.len);
	cred.len = signedjob_payload(&hash, 1, payload);
	assert_int_equal(respec_compare(&cred, "c1", was, is, arena, &r, &err), -1);
	memset(longer, 0xff, 8);
	hash = signedjob_hash(is.p, is.len);
	cred.len = signedjob_payload(&hash, 1, payload);
	assert_int_equal(respec_compare(&cred, "c1", was, is, arena, &r, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
	free((void *)(uintptr_t)was.p);
}

static int make_arena(void **state)
{
	(void)state;
	arena = arena_new((size_t)16 << 20);
	return arena ? 0 : -1;
}

static int drop_arena(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_field),
		cmocka_unit_test(test_what_comes_out),
		cmocka_unit_test(test_who_signs_what),
		cmocka_unit_test(test_other_bytes),
	};

	return cmocka_run_group_tests(tests, make_arena, drop_arena);
}
