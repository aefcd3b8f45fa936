/* fuzz_history.c - a history for gsim, and a list of nodes, from any bytes
 *
 * Every row is a job, is told as broken with its line, or ends the reading with a reason; texts
 * that come through are plain. A list of nodes makes a cluster or is refused.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/text.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/history/history.h"
#include "testsuite/fuzz/fuzz.h"

static const char prefix[] = "/proc/self/fd/";

static void check_text(const char *text)
{
	FUZZ_CHECK(text_plain_prefix(text, strlen(text)) == strlen(text));
}

static void told(void *arg, const struct error *err)
{
	uint64_t *n = arg;

	FUZZ_CHECK(!strncmp(err->text, prefix, sizeof(prefix) - 1));
	++*n;
}

static void read_history(const char *path)
{
	uint64_t bad = 0;
	struct history_options o = {
		.account_column = "group", .skip_bad = true, .bad = told, .arg = &bad
	};
	struct error err = { .code = ERR_NONE };
	struct history_files *h = history_files_open(&path, 1, &o, &err);
	struct history_job job;
	usec_t last = 0;
	int rc;

	if (!h) {
		FUZZ_CHECK(err.code && *err.text);
		return;
	}
	while ((rc = history_next(h, &job, &err)) > 0) {
		FUZZ_CHECK(job.submit >= last && job.duration >= -1 && job.time_limit >= 0);
		FUZZ_CHECK(job.gpu_milli <= 1000);
		last = job.submit;
		check_text(job.name);
		check_text(job.account);
		check_text(job.gpu_type);
	}
	FUZZ_CHECK(rc == 0 || *err.text);
	FUZZ_CHECK(history_bad(h) == bad);
	history_files_close(h);
}

static void read_nodes(const char *path)
{
	struct error err = { .code = ERR_NONE };
	struct conf *conf = cluster_make(path, true, &err);

	FUZZ_CHECK(conf ? conf->n_partitions > 0 : *err.text);
	conf_free(conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", 0);
	char path[64];

	FUZZ_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	snprintf(path, sizeof(path), "%s%d", prefix, fd);
	read_history(path);
	read_nodes(path);
	close(fd);
	return 0;
}
