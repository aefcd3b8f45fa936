/* client.h - asking the controller: the inside of libgpusched
 *
 * A client knows where its controller is, connects when there is something to ask, and tries again
 * after failures that pass by themselves (unreachable, busy, no answer) where a repeat is safe:
 *
 *	connecting              always: nothing was asked yet
 *	a listing, a wait       as long as nothing of the answer was handed over
 *	a submit                always: its jobs carry nonces (submit.h)
 *	everything else         never, once it was sent
 *
 * Messages are those of gpusched.proto; the public face (gpusched.h) turns them into plain structs.
 */
#ifndef CMDS_CLIENT_H
#define CMDS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/api/call.h"
#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/net/dial.h"

#define CLIENT_RETRY_VARIABLE "GPUSCHED_RETRY"
#define CLIENT_RETRY_MS       5000

struct client;

/* `conf` as in conf_client_load(). Does not connect. NULL with `err`. */
struct client *client_new(const char *conf, struct error *err);

/* One that asks a file of the past (pastfile.h) instead: a single client_call(), of what is asked
 * about the past. */
struct client *client_new_file(const char *path, struct error *err);

/* The same from its parts, for tests: takes over what `conf` holds, and `mcred`. */
struct client *client_new_with(
        const struct conf_client *conf, struct mcred_ops *mcred, uid_t server_uid);

void client_free(struct client *c); /* NULL is fine */

const struct conf_client *client_conf(const struct client *c);
const struct mcred_ops *client_mcred(const struct client *c);

/* The uid that the agents run as, by this host's user database. */
int client_agent_uid(const struct client *c, uid_t *uid, struct error *err);

/* For how long to try again; < 0: for ever. Until then GPUSCHED_RETRY or CLIENT_RETRY_MS. */
void client_set_retry(struct client *c, int64_t ms);
int64_t client_retry(const struct client *c);

/* Called once in each stretch of failures that lasts more than a second, before the pause. */
void client_on_retry(struct client *c, void (*tell)(const struct error *why, void *arg), void *arg);

/* Called with each warning of an answer: a line about a part of the request that will not be done.
 * client_warn() is for code that reads answers without client_call(); "" is no warning. */
void client_on_warning(struct client *c, void (*warn)(const char *text, void *arg), void *arg);
void client_warn(const struct client *c, const char *text);

/* Called while much is being sent, with how many of all jobs the controller has (bulk.h). After a
 * break it begins again. client_progress() is for code that sends. */
void client_on_progress(
        struct client *c, void (*progress)(size_t done, size_t all, void *arg), void *arg);
void client_progress(const struct client *c, size_t done, size_t all);

/* The answers are for the reader of `fd`: see dial_for_reader(). */
void client_for_reader(struct client *c, int fd);

/* The connection, made if there is none; borrowed until client_drop() or client_free(). NULL with
 * `err` once trying again took too long. */
struct dial *client_dial(struct client *c, struct error *err);

/* The same if there is one; NULL. */
const struct dial *client_connection(const struct client *c);

/* Grows with each new connection: what was under way on an older one must be sent again. */
uint64_t client_generation(const struct client *c);

/* Close the connection: it has failed, or a request is under way whose answer is not needed. */
void client_drop(struct client *c);

/* Is another try worth it after `why`? Pauses and returns true; false: the time is up, or the
 * failure is a lasting one. client_worked() ends the stretch. */
bool client_pause(struct client *c, const struct error *why);
void client_worked(struct client *c);

int client_call(struct client *c, const struct client_call *call, struct error *err);

#endif
