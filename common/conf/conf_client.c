/* conf_client.c - how agents and commands find their controller
 *
 * Every command pays for this at its start, so of a large gpusched.conf only the few keys that are
 * wanted are looked at: libconfig parses the text, but nothing is expanded, checked or copied.
 */
#include "common/conf/conf_schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define CLIENT_CONF   SYSCONFDIR "/gpusched/client.conf"
#define GPUSCHED_CONF SYSCONFDIR "/gpusched/gpusched.conf"

/* The keys, in the sections' rows, and the variable that goes before each. */
static const struct {
	const char *section, *key, *path, *variable;
} wanted[] = {
	{ "", "cluster", "cluster", "GPUSCHED_CLUSTER" },
	{ "controller", "host", "controller.host", "GPUSCHED_CONTROLLER" },
	{ "controller", "port", "controller.port", NULL },
	{ "controller", "user", "controller.user", "GPUSCHED_CONTROLLER_USER" },
	{ "controller", "agent_user", "controller.agent_user", NULL },
	{ "controller", "munge_socket", "controller.munge_socket", "GPUSCHED_MUNGE_SOCKET" },
	{ "controller", "munge_socket_2", "controller.munge_socket_2", "GPUSCHED_MUNGE_SOCKET_2" },
};
#define N_WANTED (sizeof(wanted) / sizeof(wanted[0]))

static const struct conf_key *key_of(size_t i)
{
	return conf_key_find(&conf_section_find(wanted[i].section)->keys, wanted[i].key);
}

/* The value of variable i; NULL if it is unset or empty. */
static const char *variable_of(size_t i)
{
	const char *value = wanted[i].variable ? getenv(wanted[i].variable) : NULL;

	return value && *value ? value : NULL;
}

/* GPUSCHED_CONTROLLER: "host", "host:port", "[address]:port", or an IPv6 address alone. */
static int controller_read(const char *value, struct conf *conf, struct error *err)
{
	const struct conf_keys *keys = &conf_section_find("controller")->keys;
	const char *colon = strrchr(value, ':'), *port = NULL;
	char *host;
	int rc;

	if (*value == '[' && strchr(value, ']')) {
		const char *close = strchr(value, ']');

		host = xstrndup(value + 1, (size_t)(close - value - 1));
		port = close[1] == ':' ? close + 2 : close[1] ? "" : NULL;
	} else if (colon && strchr(value, ':') == colon) {
		host = xstrndup(value, (size_t)(colon - value));
		port = colon + 1;
	} else {
		host = xstrdup(value);
	}
	rc = conf_value_read(conf_key_find(keys, "host"), host, conf, conf, err);
	if (rc == 0 && port)
		rc = conf_value_read(conf_key_find(keys, "port"), port, conf, conf, err);
	free(host);
	return rc;
}

static int variables_read(struct conf *conf, struct error *err)
{
	char shown[80];

	for (size_t i = 0; i < N_WANTED; i++) {
		const char *value = variable_of(i);
		int rc = 0;

		if (value && !strcmp(wanted[i].key, "host"))
			rc = controller_read(value, conf, err);
		else if (value)
			rc = conf_value_read(key_of(i), value, conf, conf, err);
		if (rc < 0) {
			text_escape(shown, sizeof(shown), value, strlen(value));
			if (err)
				err->code = ERR_CONFIG;
			return error_wrap(err, "%s=%s", wanted[i].variable, shown);
		}
	}
	return 0;
}

/* The first file there is: as told, or as installed. NULL: none. */
static const char *file_find(const char *path)
{
	static const char *const places[] = { CLIENT_CONF, GPUSCHED_CONF };
	const char *variable = getenv("GPUSCHED_CONF");

	if (path)
		return path;
	if (variable && *variable)
		return variable;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], F_OK) == 0)
			return places[i];
	}
	return NULL;
}

/* The wanted keys that the file has, into the reader's conf. */
static int file_read(struct conf_reader *reader, const char *path)
{
	if (conf_reader_open(reader, path, NULL) < 0)
		return -1;
	for (size_t i = 0; i < N_WANTED; i++) {
		const config_setting_t *setting = config_lookup(&reader->tree, wanted[i].path);
		const struct conf_key *key = key_of(i);

		if (setting && conf_reader_value(
		                       reader, key, setting, wanted[i].path, &reader->raw.conf) < 0)
			return -1;
	}
	return 0;
}

static int file_error(struct conf_reader *reader, struct error *err)
{
	struct conf_problems problems;

	conf_reader_problems(reader, &problems);
	if (problems.v[0].line)
		error_set(err, ERR_CONFIG, "%s:%u: %s", problems.v[0].file, problems.v[0].line,
		        problems.v[0].text);
	else
		error_set(err, ERR_CONFIG, "%s: %s", problems.v[0].file, problems.v[0].text);
	conf_problems_clear(&problems);
	return -1;
}

/* Take what is missing in `conf` from `file`, then from the defaults. */
static int complete(struct conf *conf, struct conf *file, const char *path, struct error *err)
{
	if (!conf->cluster) {
		conf->cluster = file->cluster;
		file->cluster = NULL;
	}
	if (!conf->controller.host) {
		conf->controller.host = file->controller.host;
		file->controller.host = NULL;
		conf->controller.port = file->controller.port;
	}
	if (!conf->controller.user) {
		conf->controller.user = file->controller.user;
		file->controller.user = NULL;
	}
	if (!conf->controller.agent_user) {
		conf->controller.agent_user = file->controller.agent_user;
		file->controller.agent_user = NULL;
	}
	if (!conf->controller.munge_socket) {
		conf->controller.munge_socket = file->controller.munge_socket;
		file->controller.munge_socket = NULL;
	}
	if (!conf->controller.munge_socket_2) {
		conf->controller.munge_socket_2 = file->controller.munge_socket_2;
		file->controller.munge_socket_2 = NULL;
	}
	if (conf->cluster && conf->controller.host)
		return 0;
	error_set(err, ERR_CONFIG, "%s: %s: must be given", path,
	        conf->cluster ? "controller.host" : "cluster");
	return error_hint(
	        err, "or set %s", conf->cluster ? "GPUSCHED_CONTROLLER" : "GPUSCHED_CLUSTER");
}

static void defaults_fill(struct conf *conf)
{
	struct conf_controller *c = &conf->controller;

	for (size_t i = 0; i < N_WANTED; i++) {
		const struct conf_key *key = key_of(i);
		bool have = key->type == CONF_COUNT ? c->port != 0
		                                    : *(char **)((char *)conf + key->at) != NULL;

		if (!have)
			conf_value_default(key, conf, conf);
	}
}

static void wanted_clear(struct conf *conf)
{
	for (size_t i = 0; i < N_WANTED; i++)
		conf_value_clear(key_of(i), conf);
}

int conf_client_load(const char *path_or_null, struct conf_client *client, struct error *err)
{
	const char *path = file_find(path_or_null);
	struct conf_reader reader;
	struct conf conf = { 0 };
	int rc = variables_read(&conf, err);

	/* With both variables no file is needed, but one that is there still has the rest. */
	if (rc == 0 && path) {
		rc = file_read(&reader, path) < 0 ? file_error(&reader, err)
		                                  : complete(&conf, &reader.raw.conf, path, err);
		conf_reader_clear(&reader);
	} else if (rc == 0 && (!conf.cluster || !conf.controller.host)) {
		error_set(err, ERR_CONFIG, "there is neither " CLIENT_CONF " nor " GPUSCHED_CONF);
		rc = error_hint(err, "to find the controller without them, set GPUSCHED_CONTROLLER "
		                     "and GPUSCHED_CLUSTER");
	}
	if (rc < 0) {
		wanted_clear(&conf);
		return -1;
	}
	defaults_fill(&conf);
	*client = (struct conf_client){ .cluster = conf.cluster,
		.host = conf.controller.host,
		.port = conf.controller.port,
		.controller_user = conf.controller.user,
		.agent_user = conf.controller.agent_user,
		.munge_socket = conf.controller.munge_socket,
		.munge_socket_2 = conf.controller.munge_socket_2 };
	return 0;
}

void conf_client_clear(struct conf_client *client)
{
	free(client->cluster);
	free(client->host);
	free(client->controller_user);
	free(client->agent_user);
	free(client->munge_socket);
	free(client->munge_socket_2);
	*client = (struct conf_client){ 0 };
}
