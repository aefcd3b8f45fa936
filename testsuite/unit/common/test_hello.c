/* test_hello.c - the greeting, and everything that must not pass for one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/wirenum.h"
#include "common/net/hello.h"
#include "testsuite/sim/fake_munge.h"

#define CTL_UID  900
#define USER_UID 1000

static const struct hello_to to_user = { "controller", "c1", NULL };
static const struct hello_to to_agent = { "controller", "c1", "n7" };
static const struct hello_rules rules = { "controller", "c1", NULL, CTL_UID };

struct world {
	struct fake_munge *client_host, *server_host;
	struct mcred_ops *client, *server;
};

static void world_new(struct world *w)
{
	w->client_host = fake_munge_new(1);
	w->server_host = fake_munge_new(1);
	w->client = fake_munge_client(w->client_host, USER_UID, 100);
	w->server = fake_munge_client(w->server_host, CTL_UID, CTL_UID);
}

static void world_free(struct world *w)
{
	mcred_ops_free(w->client);
	mcred_ops_free(w->server);
	fake_munge_free(w->client_host);
	fake_munge_free(w->server_host);
}

/* A hello ready to send. */
static struct hello *greet(struct world *w, const struct hello_to *to, uint8_t *bytes, size_t *len)
{
	struct hello *h = hello_new(to, NULL);
	const uint8_t *payload, *p;
	struct error err = { 0 };
	size_t n;
	char *cred;

	assert_non_null(h);
	payload = hello_payload(h, &n);
	assert_int_equal(w->client->encode(w->client, payload, n, CTL_UID, &cred, &err), 0);
	assert_int_equal(hello_finish(h, cred, &p, len, &err), 0);
	assert_true(*len <= HELLO_MAX);
	memcpy(bytes, p, *len);
	free(cred);
	return h;
}

static int accept_code(
        struct world *w, const struct hello_rules *r, const uint8_t *bytes, size_t len)
{
	uint8_t answer[HELLO_ANSWER_MAX];
	struct error err = { 0 };
	struct hello_peer peer;
	struct noise *n = NULL;
	size_t a_len;

	if (hello_accept(bytes, len, r, w->server, &peer, &n, answer, &a_len, &err) == 0) {
		noise_free(n);
		return 0;
	}
	assert_true(err.code != 0 && err.text[0]);
	return err.code;
}

static void good(const struct hello_to *to, const char *node)
{
	uint8_t bytes[HELLO_MAX], answer[HELLO_ANSWER_MAX + 3], wire[64], out[64];
	uint8_t confirm[HELLO_CONFIRM_LEN];
	struct noise *s = NULL, *c = NULL;
	struct hello_peer peer;
	struct error err = { 0 };
	struct world w;
	struct hello *h;
	size_t len, a_len, used, n;

	world_new(&w);
	h = greet(&w, to, bytes, &len);
	for (size_t i = 0; i <= len; i++) /* complete at its end, not before */
		assert_int_equal(hello_peek(bytes, i, &n, &err), i == len);
	assert_int_equal(n, len);
	assert_int_equal(
	        hello_accept(bytes, len, &rules, w.server, &peer, &s, answer, &a_len, &err), 0);
	assert_int_equal(peer.uid, USER_UID);
	assert_int_equal(peer.gid, 100);
	assert_string_equal(peer.node, node);
	memcpy(answer + a_len, "abc", 3); /* frames may follow at once */
	for (size_t i = 0; i < a_len; i++)
		assert_int_equal(hello_answer(h, "ctl:1", answer, i, &used, &c, &err), 0);
	assert_int_equal(hello_answer(h, "ctl:1", answer, a_len + 3, &used, &c, &err), 1);
	assert_int_equal(used, a_len);
	assert_int_equal(hello_confirm(c, confirm, &err), 0);
	assert_int_equal(hello_check_confirm(s, confirm, &err), 0);
	assert_int_equal(noise_write(c, "hi", 2, wire, sizeof(wire), &n, &err), 0);
	assert_int_equal(noise_read(s, wire, n, out, sizeof(out), &n, &err), 0);
	assert_memory_equal(out, "hi", 2);
	noise_free(s);
	noise_free(c);
	hello_free(h);
	world_free(&w);
}

static void test_good(void **state)
{
	(void)state;
	good(&to_user, "");
	good(&to_agent, "n7");
}

static void test_every_bit(void **state)
{
	uint8_t bytes[HELLO_MAX];
	struct world w;
	struct hello *h;
	size_t len;

	(void)state;
	world_new(&w);
	h = greet(&w, &to_user, bytes, &len);
	for (size_t bit = 0; bit < len * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		fake_munge_forget(w.server_host);
		if (accept_code(&w, &rules, bytes, len) == 0)
			fail_msg("bit %zu may be altered", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	fake_munge_forget(w.server_host);
	assert_int_equal(accept_code(&w, &rules, bytes, len), 0);
	hello_free(h);
	world_free(&w);
}

static void test_lengths(void **state)
{
	uint8_t bytes[HELLO_MAX + 1] = { 0 };
	struct error err;
	struct world w;
	struct hello *h;
	size_t len, need;

	(void)state;
	world_new(&w);
	h = greet(&w, &to_user, bytes, &len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(accept_code(&w, &rules, bytes, i), ERR_PROTOCOL);
	assert_int_equal(accept_code(&w, &rules, bytes, len + 1), ERR_PROTOCOL);
	assert_int_equal(fake_munge_decodes(w.server_host), 0); /* munge was not even asked */

	put_u32(bytes + 12, HELLO_CRED_MAX + 1);
	assert_int_equal(hello_peek(bytes, 16, &need, &err), -1);
	put_u32(bytes + 12, 0);
	assert_int_equal(hello_peek(bytes, 16, &need, &err), -1);
	put_u32(bytes + 12, HELLO_CRED_MAX);
	assert_int_equal(hello_peek(bytes, 16, &need, &err), 0);
	assert_int_equal(need, HELLO_MAX);
	put_u16(bytes + 8, HELLO_VERSION + 1);
	assert_int_equal(hello_peek(bytes, 16, &need, &err), -1);
	assert_int_equal(err.code, ERR_VERSION);
	assert_int_equal(hello_peek("GET / HTTP/1.1", 3, &need, &err), -1);
	hello_free(h);
	world_free(&w);
}

/* One thing is wrong in each row. */
static void test_refused(void **state)
{
	enum {
		AES,
		UID_ANY,
		UID_OTHER,
		OLD,
		FUTURE,
		TWICE,
		KEY,
		DOWN,
		CLUSTER,
		DEST,
		NODE_RULE,
		ROLE
	};
	static const struct {
		int wrong, want;
	} rows[] = {
		{ AES, ERR_AUTH },
		{ UID_ANY, ERR_AUTH },
		{ UID_OTHER, ERR_AUTH },
		{ OLD, ERR_MUNGE_CLOCK },
		{ FUTURE, ERR_MUNGE_CLOCK },
		{ TWICE, ERR_MUNGE_REPLAY },
		{ KEY, ERR_MUNGE_KEY },
		{ DOWN, ERR_MUNGE_DOWN },
		{ CLUSTER, ERR_CLUSTER },
		{ DEST, ERR_AUTH },
		{ NODE_RULE, ERR_AUTH },
		{ ROLE, ERR_AUTH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hello_rules r = rules;
		uint8_t bytes[HELLO_MAX];
		struct hello_to to = to_user;
		int wrong = rows[i].wrong;
		struct world w;
		struct hello *h;
		size_t len;

		world_new(&w);
		fake_munge_set_aes256(w.client_host, wrong != AES);
		if (wrong == UID_ANY || wrong == UID_OTHER)
			fake_munge_set_restriction(
			        w.client_host, true, wrong == UID_ANY ? MCRED_ANY_UID : 901);
		if (wrong == OLD)
			fake_munge_set_time(w.server_host, 1000000 + 301);
		if (wrong == FUTURE)
			fake_munge_set_time(w.server_host, 1000000 - 301);
		if (wrong == KEY) {
			mcred_ops_free(w.server);
			fake_munge_free(w.server_host);
			w.server_host = fake_munge_new(2);
			w.server = fake_munge_client(w.server_host, CTL_UID, CTL_UID);
		}
		fake_munge_set_down(w.server_host, wrong == DOWN);
		if (wrong == CLUSTER)
			r.cluster = "c2";
		if (wrong == DEST)
			r.role = "agent";
		if (wrong == NODE_RULE) { /* an agent's own server, greeted as another node */
			r.role = to.role = "agent";
			r.node = "n1";
			to.node = "n2";
		}
		if (wrong == ROLE)
			to.role = "agent";
		h = greet(&w, &to, bytes, &len);
		if (wrong == TWICE)
			assert_int_equal(accept_code(&w, &r, bytes, len), 0);
		if (accept_code(&w, &r, bytes, len) != rows[i].want)
			fail_msg("row %zu", i);
		hello_free(h);
		world_free(&w);
	}
}

/* Payloads made by hand, signed by munge: only the exact one is taken. */
static void test_payloads(void **state)
{
	enum { FINE, TAG, JOB_TAG, VERSION, TRAILING, SHORT, NUL, DEEP, EMPTY_NODE, PREFIX };
	static const struct {
		int wrong, want;
	} rows[] = {
		{ FINE, 0 },
		{ TAG, ERR_AUTH },
		{ JOB_TAG, ERR_AUTH },
		{ VERSION, ERR_VERSION },
		{ TRAILING, ERR_AUTH },
		{ SHORT, ERR_AUTH },
		{ NUL, ERR_AUTH },
		{ DEEP, ERR_AUTH },
		{ EMPTY_NODE, ERR_AUTH },
		{ PREFIX, ERR_AUTH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const dests[] = {
			[NUL] = "controller@c1\0x",
			[DEEP] = "controller@c1/a/b",
			[EMPTY_NODE] = "controller@c1/",
			[PREFIX] = "controller@c12",
		};
		const char *dest = "controller@c1";
		int wrong = rows[i].wrong;
		uint8_t p[200] = { 0 }, bytes[HELLO_MAX];
		size_t n = 0, d, cred_len, len;
		struct noise *noise;
		struct world w;
		char *cred;

		world_new(&w);
		if (wrong >= NUL)
			dest = dests[wrong];
		d = wrong == NUL ? 15 : strlen(dest);
		memcpy(p, wrong == JOB_TAG ? "gpusched-job-1.." : "gpusched-hello-1", 16);
		if (wrong == TAG)
			p[15] = '2';
		put_u16(p + 16, wrong == VERSION ? 2 : 1);
		n = 18 + 32; /* the psk is zeros */
		put_u16(p + n, 2);
		memcpy(p + n + 2, "c1", 2);
		put_u16(p + n + 4, (uint16_t)d);
		memcpy(p + n + 6, dest, d);
		n += 6 + d;
		if (wrong == TRAILING)
			n++;
		if (wrong == SHORT)
			n--;
		assert_int_equal(w.client->encode(w.client, p, n, CTL_UID, &cred, NULL), 0);
		cred_len = strlen(cred);
		memcpy(bytes, "GPUSCHED\0\1\0\0", 12);
		put_u32(bytes + 12, (uint32_t)cred_len);
		memcpy(bytes + 16, cred, cred_len);
		noise = noise_new(true, p + 18, bytes, 16 + cred_len);
		put_u16(bytes + 16 + cred_len, 48);
		assert_int_equal(
		        noise_write(noise, "", 0, bytes + 18 + cred_len, 48, &len, NULL), 0);
		if (accept_code(&w, &rules, bytes, 18 + cred_len + 48) != rows[i].want)
			fail_msg("row %zu", i);
		noise_free(noise);
		free(cred);
		world_free(&w);
	}
}

/* A credential of one greeting with the key exchange of another. */
static void test_spliced(void **state)
{
	uint8_t a[HELLO_MAX], b[HELLO_MAX];
	struct world w;
	struct hello *ha, *hb;
	size_t la, lb;

	(void)state;
	world_new(&w);
	ha = greet(&w, &to_user, a, &la);
	hb = greet(&w, &to_user, b, &lb);
	assert_int_equal(la, lb);
	memcpy(a + la - 48, b + la - 48, 48);
	assert_int_equal(accept_code(&w, &rules, a, la), ERR_AUTH);
	hello_free(ha);
	hello_free(hb);
	world_free(&w);
}

/* Somebody who cannot decode the credential cannot answer, and no bit of an answer may change. */
static void test_answers(void **state)
{
	uint8_t bytes[HELLO_MAX], answer[HELLO_ANSWER_MAX];
	struct hello_peer peer;
	struct noise *s, *c;
	struct world w;
	size_t len, a_len, used;

	(void)state;
	world_new(&w);
	for (size_t bit = 0; bit < sizeof(answer) * 8; bit++) {
		struct hello *h = greet(&w, &to_user, bytes, &len);
		struct error err = { 0 };

		assert_int_equal(
		        hello_accept(bytes, len, &rules, w.server, &peer, &s, answer, &a_len, NULL),
		        0);
		assert_int_equal(a_len, sizeof(answer));
		answer[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(hello_answer(h, "ctl:1", answer, a_len, &used, &c, &err), -1);
		assert_non_null(strstr(err.text, "ctl:1"));
		noise_free(s);
		hello_free(h);
	}
	world_free(&w);
}

static void test_refusals(void **state)
{
	static const struct {
		int code, want;
		const char *says;
	} rows[] = {
		{ ERR_MUNGE_KEY, ERR_MUNGE_KEY, "keys differ" },
		{ ERR_MUNGE_CLOCK, ERR_MUNGE_CLOCK, "clocks differ" },
		{ ERR_MUNGE_DOWN, ERR_MUNGE_DOWN, "its munge daemon" },
		{ ERR_CLUSTER, ERR_CLUSTER, "another cluster" },
		{ ERR_VERSION, ERR_VERSION, "version" }, { ERR_BUSY, ERR_BUSY, "busy" },
		{ ERR_NO_NODE, ERR_NO_NODE, "not in its configuration" },
		{ ERR_JOB_SPEC, ERR_AUTH, "does not accept" }, /* not for a handshake */
	};
	uint8_t answer[HELLO_ANSWER_MAX];
	struct hello *h = hello_new(&to_user, NULL);
	struct noise *c;
	size_t size = hello_refusal(ERR_BUSY, answer), used;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(hello_refusal(rows[i].code, answer), size);
		assert_int_equal(hello_answer(h, "ctl:1", answer, size, &used, &c, &err), -1);
		assert_int_equal(err.code, rows[i].want);
		assert_non_null(strstr(err.text, rows[i].says));
	}
	put_u16(answer + 8, 0); /* success without a message */
	assert_int_equal(hello_answer(h, "ctl:1", answer, size, &used, &c, NULL), -1);
	put_u16(answer + 8, 60000);
	assert_int_equal(hello_answer(h, "ctl:1", answer, size, &used, &c, NULL), -1);
	hello_free(h);
}

static void test_payload_check(void **state)
{
	static const struct hello_to other_node = { "controller", "c1", "n8" },
	                             other_cluster = { "controller", "c2", "n7" },
	                             other_role = { "agent", "c1", "n7" };
	struct hello *h = hello_new(&to_agent, NULL);
	const uint8_t *p;
	uint8_t copy[256];
	size_t n;

	(void)state;
	p = hello_payload(h, &n);
	assert_int_equal(hello_payload_check(p, n, &to_agent, NULL), 0);
	assert_int_equal(hello_payload_check(p, n - 1, &to_agent, NULL), -1);
	memcpy(copy, p, n);
	copy[n] = 0;
	assert_int_equal(hello_payload_check(copy, n + 1, &to_agent, NULL), -1);
	assert_int_equal(hello_payload_check(p, n, &to_user, NULL), -1);
	assert_int_equal(hello_payload_check(p, n, &other_node, NULL), -1);
	assert_int_equal(hello_payload_check(p, n, &other_cluster, NULL), -1);
	assert_int_equal(hello_payload_check(p, n, &other_role, NULL), -1);
	memcpy(copy, "gpusched-job-1", 14);
	assert_int_equal(hello_payload_check(copy, n, &to_agent, NULL), -1);
	assert_int_equal(hello_payload_check("", 0, &to_agent, NULL), -1);
	hello_free(h);
}

/* A greeting to a run is none to a session, nor to another run or node; and the other way round. */
static void test_streams_are_apart(void **state)
{
	static const struct hello_to to_run = { "attach", "c1", "n7/12_0_1" };
	static const struct hello_rules run_rules = { "attach", "c1", "n7/12_0_1", CTL_UID };
	static const struct hello_rules others[] = {
		{ "attach", "c1", "n7/12_0_2", CTL_UID },
		{ "attach", "c1", "n7/12_0_1_0", CTL_UID },
		{ "attach", "c1", "n8/12_0_1", CTL_UID },
		{ "controller", "c1", NULL, CTL_UID },
		{ "agent", "c1", "n7", CTL_UID },
	};
	uint8_t bytes[HELLO_MAX], answer[HELLO_ANSWER_MAX];
	char cred[HELLO_CRED_MAX + 1];
	struct hello_peer peer;
	struct noise *n;
	struct hello *h;
	size_t len, size;
	struct error err;
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		world_new(&w);
		h = greet(&w, &to_run, bytes, &len);
		assert_int_equal(hello_accept(bytes, len, &others[i], w.server, &peer, &n, answer,
		                         &size, &err),
		        -1);
		assert_int_equal(err.code, ERR_AUTH);
		hello_free(h);
		world_free(&w);
	}
	world_new(&w);
	h = greet(&w, &to_agent, bytes, &len);
	assert_int_equal(
	        hello_accept(bytes, len, &run_rules, w.server, &peer, &n, answer, &size, &err), -1);
	hello_free(h);
	h = greet(&w, &to_run, bytes, &len);
	assert_int_equal(hello_credential(bytes, len, cred, &err), 0);
	assert_int_equal(hello_credential(bytes, len - 1, cred, &err), -1);
	assert_int_equal(
	        hello_accept(bytes, len, &run_rules, w.server, &peer, &n, answer, &size, &err), 0);
	assert_int_equal(peer.uid, USER_UID);
	noise_free(n);
	hello_free(h);
	world_free(&w);
}

static void test_names(void **state)
{
	static const struct hello_to bad[] = {
		{ "controller", "", NULL },
		{ "controller", "a/b", NULL },
		{ "controller", "a@b", NULL },
		{ "controller", "c1", "n/1" },
		{ "root", "c1", NULL },
		{ "attach", "c1", NULL },
		{ "attach", "c1", "n1" },
		{ "attach", "c1", "/1_0_1" },
		{ "attach", "c1", "n1/" },
		{ "attach", "c1", "n1/1_0_1/x" },
		{ "attach", "c1", "n1@x/1_0_1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(hello_new(&bad[i], NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_spliced),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_payload_check),
		cmocka_unit_test(test_streams_are_apart),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
