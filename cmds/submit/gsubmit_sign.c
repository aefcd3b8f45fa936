/* gsubmit_sign.c - gsubmit --sign-only: a signed job for another program to hand in */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "cmds/api/submit.h"
#include "cmds/submit/gsubmit.h"
#include "common/base/xalloc.h"

static int print_body(const char *cluster, const uint8_t *body, size_t len, struct error *err)
{
	size_t n = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	char *text = xcalloc(1, n);
	json_t *j;
	int rc;

	sodium_bin2base64(text, n, body, len, sodium_base64_VARIANT_ORIGINAL);
	j = json_pack("{sssIss}", "cluster", cluster, "uid", (json_int_t)getuid(), "submit", text);
	free(text);
	rc = j ? json_dumpf(j, stdout, JSON_COMPACT) : -1;
	json_decref(j);
	if (rc < 0)
		return error_set(err, ERR_SYSTEM, "the signed job could not be printed");
	putchar('\n');
	return EXIT_DONE;
}

int gsubmit_sign(const struct submit_options *o, const struct job *job, struct error *err)
{
	const struct spec_service *service = job->service.spec.name ? &job->service.both : NULL;
	struct client *c = client_new(NULL, err);
	uint8_t *body = NULL;
	size_t len = 0;
	int rc;

	if (!c)
		return -1;
	rc = options_check_cluster(o, client_conf(c)->cluster, err);
	if (rc >= 0)
		rc = submit_sign(c, &job->spec, service, &body, &len, err);
	if (rc >= 0)
		rc = print_body(client_conf(c)->cluster, body, len, err);
	free(body);
	client_free(c);
	return rc;
}
