/* test_members.c - who is a member of what: beside a walk over all accounts */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

#include "common/conf/conf.h"
#include "ctld/core/accounts/members.h"
#include "ctld/core/accounts/roles.h"

#define ACCOUNTS 12
#define NAMES    12 /* of users, and of groups */
#define STATES   200

static uint64_t state;

static uint32_t next(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* None, some or all of a user, a group and, seldom, everybody. */
static size_t some_names(char *out, size_t size)
{
	size_t used = 0;

	if (next(3))
		used += (size_t)snprintf(out + used, size - used, "\"u%u\"", next(NAMES));
	if (!next(3))
		used += (size_t)snprintf(
		        out + used, size - used, "%s\"@g%u\"", used ? ", " : "", next(NAMES));
	if (!next(24))
		used += (size_t)snprintf(out + used, size - used, "%s\"*\"", used ? ", " : "");
	return used;
}

static struct conf *make_conf(void)
{
	char text[16384];
	size_t used = (size_t)snprintf(text, sizeof(text),
	        "cluster = \"lab\"; controller = { host = \"h\"; };\n"
	        "nodes = ( { name = \"n1\"; cpus = 4; mem = \"4G\"; } );\n"
	        "partitions = ( { name = \"p\"; nodes = \"ALL\"; default = true; } );\n"
	        "accounts = ( ");
	struct conf_problems problems = { 0 };
	struct conf *conf;
	uint32_t i;

	for (i = 0; i < ACCOUNTS; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		        "%s{ name = \"a%u\"; members = [ ", i ? ", " : "", i);
		used += some_names(text + used, sizeof(text) - used);
		used += (size_t)snprintf(text + used, sizeof(text) - used, " ]; }");
	}
	snprintf(text + used, sizeof(text) - used, " );\n");
	conf = conf_parse(text, "members", &problems);
	conf_problems_print(&problems, stderr);
	conf_problems_clear(&problems);
	assert_non_null(conf);
	return conf;
}

/* The slow way, by the one function that says what a list means. */
static uint32_t first_by_walking(const struct conf *conf, const struct caller *caller)
{
	uint32_t best = CONF_NONE, i;

	for (i = 0; i < conf->n_accounts; i++) {
		if (caller_listed(&conf->accounts[i].members, caller) &&
		        (best == CONF_NONE || conf->accounts[i].rank < conf->accounts[best].rank))
			best = i;
	}
	return best;
}

static void test_as_by_walking(void **unused)
{
	unsigned round, first_of_several = 0, of_none = 0;

	(void)unused;
	for (round = 0; round < STATES; round++) {
		struct conf *conf;
		struct members *m;
		uint32_t u, i;

		state = round;
		conf = make_conf();
		m = members_new(conf, round);
		for (u = 0; u < NAMES + 1; u++) {
			char user[16], groups[2][16];
			const char *const list[] = { groups[0], groups[1] };
			struct caller who = { .user = user, .groups = list, .n_groups = next(3) };
			uint32_t want, several = 0;

			snprintf(user, sizeof(user), "u%u", u);
			snprintf(groups[0], sizeof(groups[0]), "g%u", next(NAMES));
			snprintf(groups[1], sizeof(groups[1]), "g%u", next(NAMES));
			want = first_by_walking(conf, &who);
			assert_int_equal(members_first(m, &who), want);
			for (i = 0; i < conf->n_accounts; i++) {
				bool listed = caller_listed(&conf->accounts[i].members, &who);

				assert_int_equal(members_lists(m, i, &who), listed);
				several += listed;
			}
			first_of_several += several > 1;
			of_none += want == CONF_NONE;
		}
		members_free(m);
		conf_free(conf);
	}
	assert_true(first_of_several > 100 && of_none > 100); /* both were met */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_by_walking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
