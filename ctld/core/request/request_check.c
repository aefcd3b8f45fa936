/* request_check.c - has the configuration what a request names: GPU types with that memory, licences,
 * nodes?
 *
 * For a submit only: what it names must exist now. What no node has enough of is found out later, by
 * intake/never_fits.h.
 */
#include "ctld/core/request/requests_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "ctld/core/request/nodefilter.h"

static void list_types(const struct conf *conf, char *text, size_t size)
{
	size_t t, used = 0;

	for (t = 0; t < conf->n_gpu_types && used + 1 < size; t++)
		used += (size_t)snprintf(
		        text + used, size - used, "%s%s", t ? ", " : "", conf->gpu_types[t].name);
	if (!conf->n_gpu_types)
		snprintf(text, size, "none");
}

static int check_types(const struct conf *conf, const struct request *r, struct error *err)
{
	char escaped[80], known[200];

	for (uint32_t a = 0; a < r->n; a++) {
		if (r->v[a].number != TYPE_GONE)
			continue;
		text_escape(escaped, sizeof(escaped), r->v[a].type, strlen(r->v[a].type));
		list_types(conf, known, sizeof(known));
		error_set(err, ERR_NO_GPU_TYPE, "--gpus=%s: there is no such GPU type", escaped);
		return error_hint(err, "GPU types here: %s", known);
	}
	return 0;
}

/* Some alternative must be left that has the memory. */
static int check_gpu_mem(const struct conf *conf, const struct request *r, struct error *err)
{
	const struct conf_gpu_type *largest = NULL;
	char want[UNITS_TEXT], has[UNITS_TEXT];

	if (!r->gpu_mem_min_mb)
		return 0;
	for (size_t t = 0; t < conf->n_gpu_types; t++) {
		for (uint32_t a = 0; a < r->n; a++) {
			if (request_type_ok(r, conf, a, (uint16_t)t))
				return 0;
			if ((r->v[a].number == TYPE_ANY || r->v[a].number == t) &&
			        (!largest || conf->gpu_types[t].mem_mb > largest->mem_mb))
				largest = &conf->gpu_types[t];
		}
	}
	size_format_mb(want, r->gpu_mem_min_mb);
	if (largest && largest->mem_mb)
		return error_set(err, ERR_JOB_NEVER,
		        "--gpu-mem-min=%s: the largest GPU that --gpus=%s can be, %s, has %s", want,
		        r->text, largest->name, size_format_mb(has, largest->mem_mb));
	return error_set(err, ERR_JOB_NEVER,
	        "--gpu-mem-min=%s: the configuration gives no memory for any GPU that --gpus=%s "
	        "can be",
	        want, r->text);
}

static int check_licences(const struct conf *conf, const struct request *r, struct error *err)
{
	const char *names[CONF_MAX_LICENCES + 1] = { NULL }, *near;

	for (size_t i = 0; i < conf->n_licences && i < CONF_MAX_LICENCES; i++)
		names[i] = conf->licences[i].name;
	for (size_t i = 0; i < r->n_licence_names; i++) {
		const char *name = r->licence_names[i];
		uint16_t number = licence_number(conf, name);

		if (number == LICENCE_GONE) {
			near = text_nearest(name, names);
			return error_set(err, ERR_JOB_SPEC,
			        "--licenses: there is no licence '%s'%s%s%s", name,
			        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		}
		if (r->licence_counts[i] > conf->licences[number].count)
			return error_set(err, ERR_JOB_NEVER,
			        "--licenses=%s:%u: there are %u of them", name,
			        r->licence_counts[i], conf->licences[number].count);
	}
	return 0;
}

/* Every node of the list must be one that the job may use. */
static int check_required(const struct requests *rs, const struct request *r, struct error *err)
{
	uint64_t *features;
	bool has;

	for (uint32_t i = 0; r->required && i < rs->conf->n_nodes; i++) {
		if (!request_requires(r, i) || request_allows(r, i))
			continue;
		features = *r->constraint ? nodefilter_features(rs->filter, r->constraint) : NULL;
		has = !features || request_set_has(features, i);
		free(features);
		return error_set(err, ERR_JOB_NEVER, "--nodelist: %s %s%.200s",
		        rs->conf->nodes[i].name, has ? "is excluded" : "has not the features ",
		        has ? "" : r->constraint);
	}
	return 0;
}

/* All nodes that the list names: so it was found out when the request was resolved. */
static bool all_there(const struct requests *rs, const struct request *r)
{
	return !r->required ||
	       request_set_count(r->required, nodefilter_words(rs->filter)) == r->n_required;
}

/* For a submit: what a request names must exist now. A row is not checked so, because names may
 * have gone since. */
int request_check(const struct requests *rs, const struct request *r, struct error *err)
{
	const struct nodefilter *f = rs->filter;

	if (check_types(rs->conf, r, err) < 0 || check_gpu_mem(rs->conf, r, err) < 0 ||
	        (*r->constraint &&
	                nodefilter_check_features(f, "--constraint", r->constraint, err) < 0) ||
	        (*r->prefer && nodefilter_check_features(f, "--prefer", r->prefer, err) < 0) ||
	        (!all_there(rs, r) &&
	                nodefilter_check_nodes(f, "--nodelist", r->nodelist, err) < 0) ||
	        (*r->exclude && nodefilter_check_nodes(f, "--exclude", r->exclude, err) < 0))
		return -1;
	return check_licences(rs->conf, r, err) < 0 ? -1 : check_required(rs, r, err);
}
