/* test_step_words.c - what steps read and name: files, --multi-prog, environments, PMI */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/steps/multiprog.h"
#include "cmds/steps/pmi.h"
#include "cmds/steps/step_filename.h"
#include "cmds/steps/taskenv.h"

static void test_file_names(void **state)
{
	char *env[] = { (char[]){ "SLURM_JOB_ID=12" }, (char[]){ "SLURM_JOB_NAME=a/b" }, NULL };
	struct filename_in in = { env, 3, 17, 1, "n2", "step" };
	static const char *const cases[][2] = { { "%j.%J.%s", "12.12.3.3" },
		{ "%4t-%n-%N", "0017-1-n2" }, { "%x %A %a %%", "a_b 12 4294967294 %" },
		{ "a\\%j", "a%j" }, { "%q%", "%q%" }, { "", "" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = filename_expand(cases[i][0], strlen(cases[i][0]), &in);

		assert_string_equal(name, cases[i][1]);
		free(name);
	}
	assert_true(filename_is_of_task("out.%4t"));
	assert_true(filename_is_of_task("%j-%N"));
	assert_false(filename_is_of_task("out.%j"));
	assert_false(filename_is_of_task("out\\%t"));
}

static void test_multi_prog(void **state)
{
	static const char text[] =
	        "# who\n0 ./master -v\n1-3,7 ./w %t %o \"an arg\" 'x'\n* ./rest\n";
	struct error err;
	char **w = multiprog_words(text, strlen(text), 7, &err);

	(void)state;
	assert_string_equal(w[0], "./w");
	assert_string_equal(w[1], "7");
	assert_string_equal(w[2], "3");
	assert_string_equal(w[3], "an arg");
	assert_string_equal(w[4], "x");
	assert_null(w[5]);
	multiprog_free(w);
	w = multiprog_words(text, strlen(text), 5, &err);
	assert_string_equal(w[0], "./rest");
	multiprog_free(w);
	assert_null(multiprog_words("0 true\n", 7, 1, &err));
	assert_null(multiprog_words("x true\n", 7, 1, &err));
	assert_null(multiprog_words("3-1 true\n", 9, 1, &err));
}

static void test_lists(void **state)
{
	char *text = taskenv_pick("GPU-a,GPU-b,GPU-c", (uint32_t[]){ 0, 2, 9 }, 3);

	(void)state;
	assert_string_equal(text, "GPU-a,GPU-c");
	free(text);
	text = taskenv_each((uint32_t[]){ 2, 2, 2, 1 }, 4);
	assert_string_equal(text, "2(x3),1");
	free(text);
	text = pmi_mapping((uint32_t[]){ 0, 0, 1, 1, 2 }, 5);
	assert_string_equal(text, "(vector,(0,2,2),(2,1,1))");
	free(text);
	text = pmi_mapping((uint32_t[]){ 0, 1, 0, 1 }, 4);
	assert_string_equal(text, "(vector,(0,2,1),(0,2,1))");
	free(text);
}

struct heard {
	char text[2][256];
	int n;
};

static void answer(void *arg, uint32_t task, const void *data, size_t len)
{
	struct heard *h = arg;

	assert_true(len < sizeof(h->text[0]));
	memcpy(h->text[task], data, len);
	h->text[task][len] = '\0';
	h->n++;
}

static void ask(struct pmi *p, struct heard *h, uint32_t task, const char *text)
{
	h->n = 0;
	pmi_ask(p, task, (const uint8_t *)text, strlen(text), answer, h);
}

static void test_pmi_1(void **state)
{
	static const uint32_t rank[] = { 0, 1 };
	struct pmi *p = pmi_new(2, rank, "kvs");
	struct heard h;

	(void)state;
	ask(p, &h, 0, "cmd=init pmi_version=1 pmi_subversion=1\n");
	assert_string_equal(
	        h.text[0], "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
	ask(p, &h, 0, "cmd=put kvsname=kvs key=a value=x#y\n");
	assert_string_equal(h.text[0], "cmd=put_result rc=0 msg=success\n");
	ask(p, &h, 0, "cmd=barrier_in\n");
	assert_int_equal(h.n, 0);
	ask(p, &h, 1, "cmd=barrier_in\n");
	assert_int_equal(h.n, 2);
	ask(p, &h, 1, "cmd=get kvsname=kvs key=a\n");
	assert_string_equal(h.text[1], "cmd=get_result rc=0 msg=success value=x#y\n");
	ask(p, &h, 1, "cmd=get kvsname=kvs key=PMI_process_mapping\n");
	assert_string_equal(h.text[1], "cmd=get_result rc=0 msg=success value=(vector,(0,2,1))\n");
	pmi_free(p);
}

static void test_pmi_2(void **state)
{
	static const uint32_t rank[] = { 0, 0 };
	struct pmi *p = pmi_new(2, rank, "kvs");
	struct heard h;

	(void)state;
	ask(p, &h, 0, "cmd=init pmi_version=2 pmi_subversion=0\n");
	assert_string_equal(
	        h.text[0], "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
	ask(p, &h, 1, "    13cmd=fullinit;");
	assert_non_null(strstr(h.text[1], "cmd=fullinit-response;rc=0;"));
	assert_non_null(strstr(h.text[1], ";rank=1;size=2;"));
	ask(p, &h, 0, "    40cmd=kvs-put;thrid=5;key=a;value=b;;c;");
	assert_string_equal(h.text[0], "    34cmd=kvs-put-response;thrid=5;rc=0;");
	ask(p, &h, 1, "    36cmd=info-getnodeattr;key=s;wait=TRUE;");
	assert_int_equal(h.n, 0);
	ask(p, &h, 0, "    40cmd=info-putnodeattr;key=s;value=seg;");
	assert_int_equal(h.n, 2);
	assert_non_null(strstr(h.text[1], "found=TRUE;value=seg;"));
	ask(p, &h, 1, "    18cmd=kvs-get;key=a;");
	assert_non_null(strstr(h.text[1], "value=b;;c;"));
	pmi_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_names),
		cmocka_unit_test(test_multi_prog),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_pmi_1),
		cmocka_unit_test(test_pmi_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
