/* srun_request.c - from srun's options to a request; see srun.h */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmds/cli/terminal.h"
#include "cmds/srun/srun.h"
#include "cmds/steps/step_filename.h"
#include "common/base/each.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

extern char **environ;

/* --- the environment -------------------------------------------------------------------------- */

/* Names that every task gets, whatever the rule says: what Slurm's and our own programs read. */
static bool is_always(const char *entry)
{
	return !strncmp(entry, "SLURM", 5) || !strncmp(entry, "GPUSCHED_", 9);
}

static bool is_named(const char *entry, const char *name, size_t len)
{
	return !strncmp(entry, name, len) && entry[len] == '=';
}

/* "A=1,2" is A=1 and 2; a comma inside a value is written in quotes: A='1,2'. */
static size_t value_length(const char *p)
{
	const char *at = p;
	char quote = 0;

	for (; *at && (quote || *at != ','); at++) {
		if (*at == quote)
			quote = 0;
		else if (!quote && (*at == '\'' || *at == '"'))
			quote = *at;
	}
	return (size_t)(at - p);
}

static char *without_quotes(char *to, const char *p, size_t len)
{
	char quote = 0;

	for (size_t i = 0; i < len; i++) {
		if (p[i] == quote)
			quote = 0;
		else if (!quote && (p[i] == '\'' || p[i] == '"') && memchr(p, '=', i))
			quote = p[i];
		else
			*to++ = p[i];
	}
	*to++ = '\0';
	return to;
}

static bool is_word(const char *p, size_t len, const char *word)
{
	return strlen(word) == len && !strncasecmp(p, word, len);
}

static bool rule_has(const char *rule, const char *word)
{
	for (const char *p = rule; *p;) {
		size_t len = value_length(p);

		if (is_word(p, len, word))
			return true;
		p += len;
		p += *p == ',';
	}
	return false;
}

/* What the rule sets itself must not be there twice. */
static bool rule_sets(const char *rule, const char *entry)
{
	size_t name = strcspn(entry, "=") + 1;

	for (const char *p = rule; *p;) {
		size_t len = value_length(p);

		if (len >= name && !strncmp(p, entry, name))
			return true;
		p += len;
		p += *p == ',';
	}
	return false;
}

/* The environment by a rule of --export; the entries are borrowed or of the list's block. */
static char **srun_export(const char *rule, char *const *environment)
{
	bool all = !rule || !*rule || rule_has(rule, "ALL");
	size_t n = 0, k = 0, bytes = rule ? strlen(rule) : 0, parts = 1;
	char **list, *text;

	while (environment[n])
		n++;
	for (const char *p = rule; p && *p; p++)
		parts += *p == ',';
	list = xcalloc(1, (n + parts + 1) * sizeof(*list) + bytes + parts + 1);
	text = (char *)(list + n + parts + 1);
	for (size_t i = 0; i < n; i++)
		if ((all || is_always(environment[i])) &&
		        !(rule && rule_sets(rule, environment[i])))
			list[k++] = environment[i];
	for (const char *p = rule; p && *p;) {
		size_t len = value_length(p);

		if (memchr(p, '=', len)) {
			list[k++] = text;
			text = without_quotes(text, p, len);
		}
		for (size_t i = 0; i < n && !all && !memchr(p, '=', len); i++)
			if (is_named(environment[i], p, len) && !is_always(environment[i]))
				list[k++] = environment[i];
		p += len;
		p += *p == ',';
	}
	return list;
}

/* --- the program ------------------------------------------------------------------------------ */

static ProtobufCBinaryData bytes_of(const char *text)
{
	return (ProtobufCBinaryData){ text ? strlen(text) : 0, (uint8_t *)(uintptr_t)text };
}

static ProtobufCBinaryData *bytes_list(char *const *list, size_t *n)
{
	ProtobufCBinaryData *v;

	for (*n = 0; list[*n];)
		++*n;
	v = xcalloc(*n, sizeof(*v));
	for (size_t i = 0; i < *n; i++)
		v[i] = bytes_of(list[i]);
	return v;
}

static int read_whole(const char *path, ProtobufCBinaryData *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		error_set(err, ERR_USAGE, "%s: %s", path, fd < 0 ? strerror(errno) : "not a file");
		fd_close(fd);
		return -1;
	}
	if (st.st_size > STEPLINK_MESSAGE_MAX - 1024 * 1024) {
		close(fd);
		return error_set(err, ERR_USAGE, "%s: %lld bytes; at most %d can be sent", path,
		        (long long)st.st_size, STEPLINK_MESSAGE_MAX - 1024 * 1024);
	}
	out->data = xcalloc((size_t)st.st_size + 1, 1);
	while (out->len < (size_t)st.st_size) {
		ssize_t n = read(fd, out->data + out->len, (size_t)st.st_size - out->len);

		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
	close(fd);
	return 0;
}

/* Where the program is, as a shell finds it; the caller frees it. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return xstrdup(name);
	for (const char *p = path; p && *p;) {
		size_t len = strcspn(p, ":");
		char *file = xasprintf("%.*s/%s", (int)len, p, name);

		if (access(file, X_OK) == 0)
			return file;
		free(file);
		p += len;
		p += *p == ':';
	}
	return xstrdup(name);
}

/* --bcast: the program goes along, and is executed where it is put. */
static int send_program(struct srun_part *part, struct error *err)
{
	Gpusched__StepRequest *r = &part->request;
	const char *name = part->o.command[0], *slash = strrchr(name, '/');
	char *file = find_program(name), *to;
	int rc = read_whole(file, &r->bcast_file, err);

	slash = slash ? slash + 1 : name;
	to = !*part->o.bcast ? xasprintf("%s/%s.%d", part->cwd, slash, (int)getpid())
	     : part->o.bcast[strlen(part->o.bcast) - 1] == '/'
	             ? xasprintf("%s%s", part->o.bcast, slash)
	     : part->o.bcast[0] == '/' ? xstrdup(part->o.bcast)
	                               : xasprintf("%s/%s", part->cwd, part->o.bcast);
	r->bcast = bytes_of(to);
	r->args[0] = r->bcast;
	free(file);
	return rc;
}

/* --- where ------------------------------------------------------------------------------------ */

static int find_cwd(struct srun_part *part, struct error *err)
{
	char here[PATH_MAX];
	const char *dir = part->o.chdir;

	if (dir && dir[0] == '/') {
		snprintf(part->cwd, sizeof(part->cwd), "%s", dir);
		return 0;
	}
	if (!getcwd(here, sizeof(here)))
		return error_set(err, ERR_SYSTEM, "the present directory: %s", strerror(errno));
	if (snprintf(part->cwd, sizeof(part->cwd), "%s%s%s", here, dir ? "/" : "",
	            dir ? dir : "") >= (int)sizeof(part->cwd))
		return error_set(err, ERR_USAGE, "the directory's name is too long");
	return 0;
}

/* The first address of this host that others can reach; what tasks find in
 * SLURM_LAUNCH_NODE_IPADDR. */
static void find_address(char *out, size_t size)
{
	struct ifaddrs *list, *i;

	snprintf(out, size, "127.0.0.1");
	if (getifaddrs(&list) < 0)
		return;
	for (i = list; i; i = i->ifa_next) {
		const struct sockaddr_in *a = (const struct sockaddr_in *)(const void *)i->ifa_addr;

		if (!a || a->sin_family != AF_INET || i->ifa_flags & IFF_LOOPBACK)
			continue;
		inet_ntop(AF_INET, &a->sin_addr, out, (socklen_t)size);
		break;
	}
	freeifaddrs(list);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void set_input(Gpusched__StepRequest *r, const struct srun_options *o)
{
	const char *text = o->input;

	if (!text || !*text || !strcasecmp(text, "all"))
		return;
	if (!strcasecmp(text, "none"))
		r->no_input = true;
	else if (strspn(text, "0123456789") == strlen(text))
		r->input_task = (uint32_t)strtoul(text, NULL, 10) + 1;
	else if (filename_is_of_task(text))
		r->input = bytes_of(text);
}

/* What the nodes open; the rest comes to srun. */
static ProtobufCBinaryData node_file(const struct srun_dest *d)
{
	return bytes_of(d->where == SRUN_NODE   ? d->pattern
	                : d->where == SRUN_NONE ? "/dev/null"
	                                        : "");
}

static void set_numbers(Gpusched__StepRequest *r, const struct srun_options *o)
{
	r->nodes_min = o->nodes_min;
	r->nodes_max = o->nodes_max;
	r->tasks = o->ntasks;
	r->tasks_per_node = o->ntasks_per_node;
	COPY_FIELDS(r, o, cpus_per_task, gpus, gpus_per_node, gpus_per_task, no_gpus, relative,
	        exact, overlap, overcommit, cyclic, immediate, append, pty, wait_s,
	        kill_on_bad_exit);
	r->time_limit_s = o->time_s;
	r->mem_mb = o->mem_mb;
}

static mode_t present_umask(void)
{
	mode_t mask = umask(022);

	umask(mask);
	return mask;
}

static char *text_or(char *text, const char *none)
{
	return text ? text : (char *)(uintptr_t)none;
}

static const char *step_name(const struct srun_options *o)
{
	const char *slash = strrchr(o->command[0], '/');

	return o->name ? o->name : slash && slash[1] ? slash + 1 : o->command[0];
}

int srun_request_make(struct srun_part *part, size_t follow, struct error *err)
{
	Gpusched__StepRequest *r = &part->request;
	struct srun_options *o = &part->o;
	uint16_t rows = 0, cols = 0;

	gpusched__step_request__init(r);
	find_address(part->host, sizeof(part->host));
	r->args = bytes_list(o->command, &r->n_args);
	if (!part->env)
		part->env = srun_export(o->rule, environ);
	r->env = bytes_list(part->env, &r->n_env);
	if (find_cwd(part, err) < 0)
		return -1;
	r->cwd = bytes_of(part->cwd);
	r->umask = present_umask();
	r->name = (char *)(uintptr_t)step_name(o);
	r->nodelist = text_or(o->nodelist, "");
	r->exclude = text_or(o->exclude, "");
	r->cpu_bind = text_or(o->cpu_bind, "");
	r->mpi = text_or(o->mpi, "none");
	r->host = part->host;
	r->host_pid = (uint32_t)getpid();
	r->parts_follow = (uint32_t)follow;
	set_numbers(r, o);
	set_input(r, o);
	r->output = node_file(&part->dest[0]);
	r->error = node_file(&part->dest[1]);
	if (o->pty) {
		terminal_window(&rows, &cols);
		r->rows = rows;
		r->cols = cols;
	}
	if (o->bcast && !o->multi_prog && send_program(part, err) < 0)
		return -1;
	return o->multi_prog ? read_whole(o->command[0], &r->multi_prog, err) : 0;
}

void srun_request_clear(struct srun_part *part)
{
	free(part->request.args);
	free(part->request.env);
	free(part->request.bcast_file.data);
	free(part->request.multi_prog.data);
	free(part->request.bcast.data);
	free(part->env);
	srun_options_clear(&part->o);
}
