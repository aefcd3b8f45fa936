/* conf_mig.c - MIG layouts: which GPUs, and can a GPU be cut so; see conf_check.h
 *
 * NVIDIA cuts a GPU into 7 slices of compute and 8 of memory, and calls a profile by what it takes:
 * 3g.40gb has 3 of the former and 40 GB, which of 80 are 4 of the latter; 1c.3g.40gb is a third of
 * the compute of such an instance. A GPU with four slices only, as the A30, counts as one whose
 * slices are twice as large: its memory says so.
 *
 * The driver places an instance only where NVIDIA's guide says (3g at memory slice 0 or 4, 2g at 0,
 * 2 or 4, ...). That refuses nothing that the sums of slices let through: test_conf_mig tries each
 * layout there is.
 *
 * What stands behind the memory says what it has for video: "+me" the engines that a GPU has one
 * of, so there is one such instance; "+me.all" these and every other, so that all others have none
 * and are called "-me"; "+gfx" graphics, which any number may have [MIG user guide: RTX PRO 6000].
 */
#include "common/conf/conf_check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/gpu/gpuset.h"

#define COMPUTE_SLICES 7
#define MEMORY_SLICES  8

/* --- geometry -------------------------------------------------------------------------------- */

enum media { MEDIA_USUAL, MEDIA_ONE, MEDIA_ALL, MEDIA_NONE };

static const struct {
	const char *suffix;
	enum media media;
} suffixes[] = {
	{ "+me.all", MEDIA_ALL }, /* before what it begins with */
	{ "+me", MEDIA_ONE },
	{ "-me", MEDIA_NONE },
};

struct profile {
	unsigned compute;  /* of the instance's slices; 0: all */
	unsigned slices;   /* of the GPU's */
	unsigned long mem; /* GB; 0: it does not say */
	enum media media;
};

static unsigned digits(const char **s)
{
	unsigned n = 0;

	for (; isdigit((unsigned char)**s); (*s)++)
		n = n < 10000 ? n * 10 + (unsigned)(**s - '0') : n;
	return n;
}

static enum media media_at(const char *s)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t len = strlen(suffixes[i].suffix);

		if (strncmp(s, suffixes[i].suffix, len) == 0 && !isalnum((unsigned char)s[len]))
			return suffixes[i].media;
	}
	return MEDIA_USUAL;
}

/* "3g.40gb", "1c.3g.40gb", "1g", "1g.10gb+me" */
static bool profile_at(const char *s, struct profile *p)
{
	*p = (struct profile){ .slices = digits(&s) };
	if (*s == 'c' && s[1] == '.') {
		s += 2;
		p->compute = p->slices;
		p->slices = digits(&s);
	}
	if (*s++ != 'g' || isalnum((unsigned char)*s) || !p->slices)
		return false;
	if (*s == '.' && isdigit((unsigned char)s[1])) {
		s++;
		p->mem = digits(&s);
		s += strspn(s, "gb");
	}
	p->media = media_at(s);
	return true;
}

/* The first profile within a text: "a100-1g.5gb", "*MIG 1g.10gb". False: *p is as it was. */
static bool profile_find(const char *s, struct profile *p)
{
	struct profile found;

	for (size_t i = 0; s && s[i]; i++) {
		if (isdigit((unsigned char)s[i]) && (!i || !isalnum((unsigned char)s[i - 1])) &&
		        profile_at(s + i, &found)) {
			*p = found;
			return true;
		}
	}
	return false;
}

/* By its name, else by what it matches, which may also say of its media what the name does not. */
static struct profile profile_of(const struct conf_gpu_type *type)
{
	struct profile p = { .slices = 1 }, by_match; /* no instance has less */
	bool matched = profile_find(type->match, &by_match);

	if (!profile_find(type->name, &p) && matched)
		return by_match;
	if (matched && p.media == MEDIA_USUAL)
		p.media = by_match.media;
	return p;
}

/* Of an instance: never less than goes with its compute, and more where it has more. */
static unsigned long memory_slices(const struct profile *p, uint64_t gpu_mb)
{
	unsigned long by_compute = p->slices == 3 ? 4 : p->slices == 7 ? 8 : p->slices;
	unsigned long by_mem = gpu_mb ? (p->mem * 1024 * MEMORY_SLICES + gpu_mb / 2) / gpu_mb : 0;

	return by_mem > by_compute ? by_mem : by_compute;
}

/* --- layouts --------------------------------------------------------------------------------- */

struct layout {
	struct conf_reader *reader;
	const config_setting_t *at;
	const char *path;
	const struct conf_mig *mig;
	char *text; /* as it was read */
};

static const struct conf_gpu_type *type_named(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_gpu_types; i++) {
		if (conf->gpu_types[i].name && !strcmp(conf->gpu_types[i].name, name))
			return &conf->gpu_types[i];
	}
	return NULL;
}

static bool is_profile(const struct conf_gpu_type *type)
{
	return type->mig_of && *type->mig_of;
}

/* Its types are profiles of one GPU's. */
static bool check_types(const struct layout *l)
{
	const struct conf *conf = &l->reader->raw.conf;
	const struct conf_gpu_type *first = NULL;

	for (size_t i = 0; i < l->mig->n_layout; i++) {
		const struct conf_gpu_type *type = &conf->gpu_types[l->mig->layout[i].type];

		if (!is_profile(type)) {
			conf_reader_problem(l->reader, l->at,
			        "%s: \"%s\": %s is a whole GPU; must be types with mig_of, as in "
			        "\"1g.10gb:7\"",
			        l->path, l->text, type->name);
			return false;
		}
		if (first && strcmp(first->mig_of, type->mig_of)) {
			conf_reader_problem(l->reader, l->at,
			        "%s: \"%s\": %s is of %s and %s of %s; must be profiles of one "
			        "GPU's",
			        l->path, l->text, first->name, first->mig_of, type->name,
			        type->mig_of);
			return false;
		}
		first = first ? first : type;
	}
	return true;
}

/* What a layout takes. */
struct taken {
	unsigned long compute, memory; /* slices */
	unsigned long n, media[MEDIA_NONE + 1];
};

/* False: that was told. */
static bool take(const struct layout *l, const struct conf_gpu_count *some, struct taken *t)
{
	const struct conf *conf = &l->reader->raw.conf;
	const struct conf_gpu_type *type = &conf->gpu_types[some->type];
	const struct conf_gpu_type *gpu = type_named(conf, type->mig_of);
	struct profile p = profile_of(type);
	unsigned long n = some->count;

	if (!p.slices || p.slices == 5 || p.slices == 6 || p.slices > COMPUTE_SLICES) {
		conf_reader_problem(l->reader, l->at,
		        "%s: \"%s\": no profile has %u slices; must be 1g, 2g, 3g, 4g or 7g",
		        l->path, l->text, p.slices);
		return false;
	}
	if (p.compute) /* several in one instance */
		n = (n * p.compute + p.slices - 1) / p.slices;
	t->n += n;
	t->media[p.media] += n;
	t->compute += n * p.slices;
	t->memory += n * memory_slices(&p, gpu ? gpu->mem_mb : 0);
	return true;
}

static void check_geometry(const struct layout *l)
{
	struct taken t = { 0 };
	unsigned long media;

	for (size_t i = 0; i < l->mig->n_layout; i++) {
		if (!take(l, &l->mig->layout[i], &t))
			return;
	}
	media = t.media[MEDIA_ONE] + t.media[MEDIA_ALL];
	if (t.compute > COMPUTE_SLICES)
		conf_reader_problem(l->reader, l->at,
		        "%s: \"%s\": takes %lu slices of compute; a GPU has %d", l->path, l->text,
		        t.compute, COMPUTE_SLICES);
	else if (t.memory > MEMORY_SLICES)
		conf_reader_problem(l->reader, l->at,
		        "%s: \"%s\": takes %lu slices of memory; a GPU has %d", l->path, l->text,
		        t.memory, MEMORY_SLICES);
	else if (media > 1)
		conf_reader_problem(l->reader, l->at,
		        "%s: \"%s\": %lu instances with media extensions (+me); a GPU has one",
		        l->path, l->text, media);
	else if (t.media[MEDIA_ALL] && t.n - 1 > t.media[MEDIA_NONE])
		conf_reader_problem(l->reader, l->at,
		        "%s: \"%s\": one instance has all media engines (+me.all); all others "
		        "must be without (-me)",
		        l->path, l->text);
}

static void check_layout(struct conf_reader *r, const config_setting_t *at, const char *path,
        const struct conf_mig *mig)
{
	struct strbuf text = { 0 };
	struct layout l = { .reader = r, .at = at, .path = path, .mig = mig };
	const char *given = at ? config_setting_get_string(at) : NULL;

	if (!given) /* that was told */
		return;
	if (!mig->n_layout) {
		if (!*given || mig->layout)
			conf_reader_refuse(r, at, path, given,
			        "must be what each GPU is cut into, as in \"1g.10gb:7\"");
		return;
	}
	for (size_t i = 0; i < mig->n_layout; i++)
		strbuf_addf(&text, "%s%s:%u", i ? "," : "",
		        r->raw.conf.gpu_types[mig->layout[i].type].name, mig->layout[i].count);
	l.text = text.s;
	if (check_types(&l))
		check_geometry(&l);
	strbuf_free(&text);
}

/* --- of one entry of `nodes`, or of node_defaults -------------------------------------------- */

/* Member i of the list at `list`, and in it `key`. */
static const config_setting_t *member(const config_setting_t *list, size_t i, const char *key)
{
	const config_setting_t *entry = config_setting_get_elem(list, (unsigned)i);

	return entry && config_setting_is_group(entry) ? config_setting_get_member(entry, key)
	                                               : NULL;
}

/* Each GPU is in one of them. */
static void check_twice(struct conf_reader *r, const config_setting_t *list, const char *path,
        const struct conf_mig *mig, size_t i)
{
	const config_setting_t *at = member(list, i, "gpus");
	char shown[CONF_PATH_TEXT];

	for (size_t k = 0; k < i; k++) {
		uint64_t both = mig[i].set & mig[k].set;

		if (!both)
			continue;
		snprintf(shown, sizeof(shown), "%.80s", mig[i].gpus);
		conf_reader_problem(r, at,
		        "%s[%zu].gpus: \"%s\": GPU %d is in %s[%zu], line %u, already", path, i,
		        shown, __builtin_ctzll(both), path, k,
		        conf_setting_line(r, member(list, k, "gpus")));
		return;
	}
}

static void sets_make(struct conf_mig *mig, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (mig[i].gpus && gpuset_read(mig[i].gpus, &mig[i].set, NULL) < 0)
			mig[i].set = 0; /* it was read before */
	}
}

static void check_list(struct conf_reader *r, const config_setting_t *list, const char *path,
        struct conf_mig *mig, size_t n)
{
	char *inner;

	for (size_t i = 0; i < n; i++) {
		check_twice(r, list, path, mig, i);
		inner = xasprintf("%s[%zu].layout", path, i);
		check_layout(r, member(list, i, "layout"), inner, &mig[i]);
		free(inner);
	}
}

static uint32_t demanded(const struct conf_node *node)
{
	uint32_t n = 0;

	for (size_t i = 0; i < node->n_gpus; i++)
		n += node->gpus[i].count;
	for (size_t i = 0; i < node->n_mig; i++) {
		for (size_t k = 0; k < node->mig[i].n_layout; k++)
			n += node->mig[i].layout[k].count *
			     (uint32_t)__builtin_popcountll(node->mig[i].set);
	}
	return n;
}

/* `gpus` and `mig` of an entry together. */
static void check_both(struct conf_reader *r, size_t i)
{
	const struct conf *conf = &r->raw.conf;
	const struct conf_node *entry = &r->raw.entries[i];
	uint32_t n = demanded(entry);

	for (size_t g = 0; g < entry->n_gpus && entry->n_mig; g++) {
		const struct conf_gpu_type *type = &conf->gpu_types[entry->gpus[g].type];

		if (is_profile(type))
			conf_reader_problem(r, conf_setting_at(r, "nodes", i, "gpus"),
			        "nodes[%zu].gpus: %s: is a MIG profile, and mig says which there "
			        "are; must be whole GPUs here",
			        i, type->name);
	}
	if (entry->n_mig && n > CONF_MAX_GPUS_PER_NODE)
		conf_reader_problem(r, conf_setting_at(r, "nodes", i, "mig"),
		        "nodes[%zu].mig: %u GPUs and MIG instances; a node has at most %d", i, n,
		        CONF_MAX_GPUS_PER_NODE);
}

void conf_check_mig(struct conf_checker *c)
{
	struct conf_reader *r = c->reader;
	struct conf_raw *raw = &r->raw;
	const config_setting_t *root = config_root_setting(&r->tree);
	const config_setting_t *defaults = config_setting_get_member(root, "node_defaults");
	const config_setting_t *nodes = config_setting_get_member(root, "nodes");

	sets_make(raw->node_defaults.mig, raw->node_defaults.n_mig);
	if (raw->node_defaults.n_mig)
		check_list(r, config_setting_get_member(defaults, "mig"), "node_defaults.mig",
		        raw->node_defaults.mig, raw->node_defaults.n_mig);
	for (size_t i = 0; i < raw->n_entries; i++) {
		struct conf_node *entry = &raw->entries[i];
		const config_setting_t *own = member(nodes, i, "mig");
		char *path = xasprintf("nodes[%zu].mig", i);

		sets_make(entry->mig, entry->n_mig);
		if (own && entry->n_mig)
			check_list(r, own, path, entry->mig, entry->n_mig);
		check_both(r, i);
		free(path);
	}
	for (size_t i = 0; i < raw->conf.n_nodes; i++)
		sets_make(raw->conf.nodes[i].mig, raw->conf.nodes[i].n_mig);
}
