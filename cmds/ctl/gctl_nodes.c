/* gctl_nodes.c - gctl drain, resume and node: nodes, and GPUs one by one */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/ctl/gctl.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define NODES_SHOWN 16 /* after a change: more are only counted */

static void say_jobs(size_t n)
{
	if (n)
		printf(", %zu job%s on it", n, n == 1 ? "" : "s");
	putchar('\n');
}

/* After a change: how the nodes stand now. */
static int on_changed(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__NodeChunk *chunk = (const Gpusched__NodeChunk *)m;
	struct run *r = arg;

	(void)err;
	for (size_t i = 0; i < chunk->n_nodes; i++) {
		const Gpusched__Node *n = chunk->nodes[i];

		if (r->seen++ >= NODES_SHOWN)
			continue;
		printf("%s: %s", n->name, n->state);
		say_jobs(n->n_runs + n->others_runs);
	}
	return 0;
}

/* The GPU that was meant: its index, or its UUID or the beginning of that. */
static bool is_meant(const struct run *r, const Gpusched__NodeGpu *g)
{
	char index[16];

	snprintf(index, sizeof(index), "%" PRIu32, g->index);
	return !strcmp(index, r->gpu) || (*g->uuid && !strncmp(g->uuid, r->gpu, strlen(r->gpu)));
}

static int on_gpu_changed(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__NodeChunk *chunk = (const Gpusched__NodeChunk *)m;
	struct run *r = arg;

	(void)err;
	for (size_t i = 0; i < chunk->n_nodes; i++) {
		const Gpusched__Node *n = chunk->nodes[i];

		for (size_t k = 0; k < n->n_devices; k++) {
			const Gpusched__NodeGpu *g = n->devices[k];

			if (!is_meant(r, g) || r->seen++ >= NODES_SHOWN)
				continue;
			printf("%s:%" PRIu32 ": %s", n->name, g->index, g->state);
			say_jobs(g->n_runs + g->others_runs);
		}
	}
	return 0;
}

/* --reason, or the words behind the nodes. */
static char *join_reason(const struct run *r)
{
	struct strbuf text = { 0 };

	if (r->g->reason)
		strbuf_adds(&text, r->g->reason);
	for (size_t i = 1; i < r->n; i++)
		strbuf_addf(&text, "%s%s", text.len ? " " : "", r->words[i]);
	return strbuf_take(&text);
}

/* "h04:5": cut there. NULL: all of the nodes. One GPU at a time, and none is not all. */
static int take_gpu(const struct run *r, char *nodes, const char **gpu, struct error *err)
{
	char *colon = strchr(nodes, ':'); /* no node's name has one */
	size_t n = colon ? (size_t)(colon - nodes) + 1 : 0;

	*gpu = colon ? colon + 1 : NULL;
	if (!colon)
		return 0;
	if (!colon[1]) {
		error_set(err, ERR_USAGE, "'%s': the GPU is missing", nodes);
		return error_hint(err, "after ':' expected its index, its UUID or the "
		        "beginning of that");
	}
	if (r->n > 1 && !strncmp(r->words[1], nodes, n))
		return error_set(
		        err, ERR_USAGE, "'%s': expected the reason: only one GPU can be "
		                "given", r->words[1]);
	*colon = '\0';
	return 0;
}

int gctl_control_nodes(
        struct run *r, Gpusched__NodeControl__Verb verb, const char *no_reason, struct error *err)
{
	Gpusched__NodeControl request = GPUSCHED__NODE_CONTROL__INIT;
	char *reason = join_reason(r), *nodes = xstrdup(r->words[0]);
	const char *gpu;
	struct cmd_list names = { .n = 0 };
	int rc = take_gpu(r, nodes, &gpu, err);

	if (rc >= 0)
		rc = gctl_take_nodes((const char *const *)&nodes, 1, &names, err);
	r->gpu = gpu ? gpu : "";
	request.verb = verb;
	request.nodes = nodes;
	request.gpu = (char *)r->gpu;
	request.reason = *reason || !no_reason ? reason : (char *)no_reason;
	request.confirmed_off = r->g->confirmed_off;
	if (rc >= 0)
		rc = text_check("the reason", request.reason, CMD_REASON_MAX, err);
	if (rc >= 0 && verb != GPUSCHED__NODE_CONTROL__VERB__RESUME && !*request.reason) {
		error_set(err, ERR_USAGE, "a reason is required");
		rc = error_hint(err, "add it after the nodes, or as --reason=TEXT");
	}
	if (rc >= 0)
		rc = gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_NODE_CONTROL, &request.base, false, 0,
		        NULL, err);
	if (rc >= 0)
		rc = gctl_list_nodes(r, &names, gpu ? on_gpu_changed : on_changed, err);
	if (rc >= 0 && r->seen > NODES_SHOWN)
		printf("and %zu more\n", r->seen - NODES_SHOWN);
	cmd_list_clear(&names);
	free(reason);
	free(nodes);
	return rc < 0 ? -1 : EXIT_DONE;
}

int gctl_drain(struct run *r, struct error *err)
{
	return gctl_control_nodes(r, GPUSCHED__NODE_CONTROL__VERB__DRAIN, NULL, err);
}

int gctl_node_down(struct run *r, struct error *err)
{
	const char *why = r->g->confirmed_off ? "confirmed off" : "declared down";

	return gctl_control_nodes(r, GPUSCHED__NODE_CONTROL__VERB__DOWN, why, err);
}

int gctl_node_clear(struct run *r, struct error *err)
{
	return gctl_control_nodes(r, GPUSCHED__NODE_CONTROL__VERB__CLEAR, NULL, err);
}
