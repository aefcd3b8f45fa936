/* fuzz_hello.c - what is read of strangers: greetings, answers, credentials' payloads
 *
 * The first byte says which. Greetings meet a munge that vouches for everything: the credential's
 * text is the payload itself, so that what lies behind munge is reached too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/hello.h"
#include "testsuite/fuzz/fuzz.h"

#define SELF 900

static int vouch(
        const struct mcred_ops *ops, const char *cred, struct mcred *out, struct error *err)
{
	(void)ops;
	(void)err;
	*out = (struct mcred){ .len = strlen(cred) / 2,
		.uid = 1000,
		.gid = 100,
		.status = MCRED_OK,
		.ttl_s = 300,
		.restrict_uid = SELF,
		.aes256 = true };
	out->payload = calloc(1, out->len + 1);
	FUZZ_CHECK(out->payload);
	/* two letters a byte, since a credential has no NUL */
	for (size_t i = 0; i < out->len; i++)
		((uint8_t *)out->payload)[i] =
		        (uint8_t)((cred[2 * i] & 15) << 4 | (cred[2 * i + 1] & 15));
	return 0;
}

static void greeting(const uint8_t *data, size_t size)
{
	static const struct mcred_ops munge = { .decode = vouch };
	static const struct hello_rules rules = { "controller", "c1", NULL, SELF },
	                                agent = { "agent", "c1", "n1", SELF },
	                                attach = { "attach", "c1", "n1/7_0_1", SELF };
	static const struct hello_rules *const all[] = { &rules, &agent, &attach };
	uint8_t answer[HELLO_ANSWER_MAX];
	struct hello_peer peer;
	struct noise *noise = NULL;
	size_t need = 0, len;
	int n = hello_peek(data, size, &need, NULL);

	/* What is complete stays so with more bytes, and is not so with fewer. */
	FUZZ_CHECK(n <= 0 || (need <= size && hello_peek(data, need - 1, &len, NULL) == 0));
	FUZZ_CHECK(n != 0 || need > size);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (hello_accept(data, size, all[i], &munge, &peer, &noise, answer, &len, NULL) < 0)
			continue;
		FUZZ_CHECK(n == 1 && need == size);
		FUZZ_CHECK(noise_in_transport(noise) && peer.uid == 1000);
		noise_free(noise);
	}
}

static void answer(const uint8_t *data, size_t size)
{
	static const struct hello_to to = { "controller", "c1", NULL };
	struct hello *h = hello_new(&to, NULL);
	struct noise *noise = NULL;
	const uint8_t *bytes;
	size_t len, used;

	FUZZ_CHECK(h && hello_finish(h, "MUNGE:AAAA:", &bytes, &len, NULL) == 0);
	if (!hello_answer_ready(data, size))
		FUZZ_CHECK(hello_answer(h, "x:1", data, size, &used, &noise, NULL) == 0);
	/* Nobody can guess the secret of this very greeting. */
	FUZZ_CHECK(hello_answer(h, "x:1", data, size, &used, &noise, NULL) <= 0);
	hello_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hello_to to = { "controller", "c1", "n1" };

	if (size == 0)
		return 0;
	if (data[0] == 'a')
		answer(data + 1, size - 1);
	else if (data[0] == 'p')
		hello_payload_check(data + 1, size - 1, &to, NULL);
	else
		greeting(data + 1, size - 1);
	return 0;
}
