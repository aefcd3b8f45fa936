/* test_conf_client.c - common/conf/conf.h: what clients read of a configuration, and where they find it
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const char *const variables[] = { "GPUSCHED_CONTROLLER", "GPUSCHED_CLUSTER",
	"GPUSCHED_CONTROLLER_USER", "GPUSCHED_MUNGE_SOCKET", "GPUSCHED_CONF" };

struct folder {
	char path[64];
};

static int setup(void **state)
{
	struct folder *f = xcalloc(1, sizeof(*f));

	snprintf(f->path, sizeof(f->path), "/tmp/gpusched-conf-XXXXXX");
	*state = f;
	return mkdtemp(f->path) ? 0 : -1;
}

static char *path_of(const struct folder *f, const char *name)
{
	return xasprintf("%s/%s", f->path, name);
}

static int teardown(void **state)
{
	static const char *const made[] = { "a", "b" };
	struct folder *f = *state;

	for (size_t i = 0; i < LEN(variables); i++)
		unsetenv(variables[i]);
	for (size_t i = 0; i < LEN(made); i++) {
		char *path = path_of(f, made[i]);

		remove(path);
		free(path);
	}
	rmdir(f->path);
	free(f);
	return 0;
}

static void file_write(const struct folder *f, const char *name, const char *text)
{
	char *path = path_of(f, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	free(path);
}

/* "cluster host port user socket", or the error. */
static char *client_of(const char *path)
{
	struct conf_client client;
	struct error err = { .text = "" };
	char *text;

	if (conf_client_load(path, &client, &err) < 0) {
		assert_int_equal(err.code, ERR_CONFIG);
		return xstrdup(err.text);
	}
	text = xasprintf("%s %s %u %s %s%s%s", client.cluster, client.host, client.port,
	        client.controller_user, client.munge_socket, *client.munge_socket_2 ? "," : "",
	        client.munge_socket_2);
	conf_client_clear(&client);
	return text;
}

static void clients(void **state)
{
#define SMALL "cluster = \"c\"; controller = { host = \"h\"; };\n"
#define FULL                                                                      \
	"cluster = \"c\"; controller = { host = \"h\"; port = 99; user = \"u\"; " \
	"munge_socket = \"/m\"; };\n"
#define TWO_KEYS                                                          \
	"cluster = \"c\"; controller = { host = \"h\"; munge_socket = \"/m\"; " \
	"munge_socket_2 = \"/o\"; };\n"
	static const struct {
		const char *file, *controller, *cluster, *user, *socket, *told;
	} rows[] = {
		{ TWO_KEYS, NULL, NULL, NULL, NULL, "c h 7320 gpusched /m,/o" },
		{ TWO_KEYS, NULL, NULL, NULL, "/n", "c h 7320 gpusched /n,/o" },
		{ SMALL, NULL, NULL, NULL, NULL, "c h 7320 gpusched " },
		{ FULL, NULL, NULL, NULL, NULL, "c h 99 u /m" },
		/* What others have to check is not looked at. */
		{ SMALL "nodes = 5; x = \"y\"; partitions = ();\n", NULL, NULL, NULL, NULL,
		        "c h 7320 gpusched " },
		{ FULL, "o", NULL, NULL, NULL, "c o 7320 u /m" },
		{ FULL, "o:5", "d", "v", "/n", "d o 5 v /n" },
		{ FULL, "10.0.0.1:5", NULL, NULL, NULL, "c 10.0.0.1 5 u /m" },
		{ FULL, "[fe80::1%eth0]:5", NULL, NULL, NULL, "c fe80::1%eth0 5 u /m" },
		{ FULL, "[::1]", NULL, NULL, NULL, "c ::1 7320 u /m" },
		{ FULL, "fe80::1", NULL, NULL, NULL, "c fe80::1 7320 u /m" },
		{ FULL, "", "", "", "", "c h 99 u /m" },
		{ "", "o", "d", NULL, NULL, "d o 7320 gpusched " },
		{ "", "o", NULL, NULL, NULL, "FILE: cluster: must be given" },
		{ "cluster = \"c\";", NULL, NULL, NULL, NULL,
		        "FILE: controller.host: must be given" },
		{ "cluster = \"c\"; controller = 5;", NULL, NULL, NULL, NULL,
		        "FILE: controller.host: must be given" },
		{ "\ncluster = 5;", NULL, NULL, NULL, NULL,
		        "FILE:2: cluster: 5: must be text in quotes" },
		{ "cluster = \"c\"; controller = { host = \"h\"; port = 70000; };", NULL, NULL,
		        NULL, NULL, "FILE:1: controller.port: 70000: must be 1 to 65535" },
		{ "cluster = ", NULL, NULL, NULL, NULL,
		        "FILE:1: syntax error at or before: cluster =" },
		{ SMALL, "o:99999", NULL, NULL, NULL,
		        "GPUSCHED_CONTROLLER=o:99999: must be 1 to 65535" },
		{ SMALL, "o:", NULL, NULL, NULL, "GPUSCHED_CONTROLLER=o:: must be a whole number" },
		{ SMALL, "[::1]x", NULL, NULL, NULL,
		        "GPUSCHED_CONTROLLER=[::1]x: must be a whole number" },
		{ SMALL, ":5", NULL, NULL, NULL, "GPUSCHED_CONTROLLER=:5: must not be empty" },
		{ SMALL, "a\nb", NULL, NULL, NULL,
		        "GPUSCHED_CONTROLLER=a\\x0Ab: must be UTF-8 text without control "
		        "characters" },
		{ SMALL, NULL, "c d", NULL, NULL,
		        "GPUSCHED_CLUSTER=c d: must be letters, digits, '-', '_' and '.', a letter "
		        "or "
		        "digit first" },
		{ SMALL, NULL, NULL, NULL, "m",
		        "GPUSCHED_MUNGE_SOCKET=m: must be a path from the root: /..." },
	};
	struct folder *f = *state;
	char *path = path_of(f, "a");

	for (size_t i = 0; i < LEN(rows); i++) {
		const char *const values_of[] = { rows[i].controller, rows[i].cluster, rows[i].user,
			rows[i].socket, NULL };
		char *told, *at;

		for (size_t v = 0; v < LEN(variables); v++) {
			if (values_of[v])
				setenv(variables[v], values_of[v], 1);
			else
				unsetenv(variables[v]);
		}
		file_write(f, "a", rows[i].file);
		told = client_of(path);
		at = strstr(told, path);
		if (at) {
			memcpy(at, "FILE", 4);
			memmove(at + 4, at + strlen(path), strlen(at + strlen(path)) + 1);
		}
		assert_string_equal(told, rows[i].told);
		free(told);
	}
	free(path);
}

static void client_finds_the_file(void **state)
{
	struct folder *f = *state;
	char *a = path_of(f, "a"), *b = path_of(f, "b"), *told;

	file_write(f, "a", SMALL);
	file_write(f, "b", FULL);
	setenv("GPUSCHED_CONF", a, 1);
	told = client_of(NULL);
	assert_string_equal(told, "c h 7320 gpusched ");
	free(told);
	told = client_of(b); /* what is asked for goes first */
	assert_string_equal(told, "c h 99 u /m");
	free(told);
	setenv("GPUSCHED_CONF", "/nonexistent/x", 1);
	told = client_of(NULL);
	assert_string_equal(told, "/nonexistent/x: cannot be read: No such file or directory");
	free(told);
	unsetenv("GPUSCHED_CONF");
	if (access(SYSCONFDIR "/gpusched/client.conf", F_OK) &&
	        access(SYSCONFDIR "/gpusched/gpusched.conf", F_OK)) {
		told = client_of(NULL);
		assert_string_equal(told, "there is neither " SYSCONFDIR "/gpusched/client.conf "
		                          "nor " SYSCONFDIR "/gpusched/gpusched.conf");
		free(told);
		setenv("GPUSCHED_CONTROLLER", "o", 1);
		setenv("GPUSCHED_CLUSTER", "d", 1);
		told = client_of(NULL);
		assert_string_equal(told, "d o 7320 gpusched ");
		free(told);
	}
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(clients, setup, teardown),
		cmocka_unit_test_setup_teardown(client_finds_the_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
