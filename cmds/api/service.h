/* service.h - asking for services, and telling the controller what to do with one */
#ifndef CMDS_API_SERVICE_H
#define CMDS_API_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmds/api/client.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

/* The next service; gone when it returns. -1 with `err` ends the listing. */
typedef int service_fn(const Gpusched__Service *service, void *arg, struct error *err);

struct service_query {
	char *const *names; /* n of them; none: all */
	size_t n;
	bool mine;     /* of the caller alone */
	bool replicas; /* with their replicas */
};

/* By name. ERR_NO_SERVICE: one of the names is not known. */
int service_list(struct client *c, const struct service_query *query, service_fn *each, void *arg,
        struct error *err);

/* One, with its replicas; to be freed with gpusched__service__free_unpacked(). NULL with `err`. */
Gpusched__Service *service_find(struct client *c, const char *name, struct error *err);

/* The job of a generation, in the same way. */
Gpusched__Job *service_job(struct client *c, uint64_t id, struct error *err);

int service_control(struct client *c, const Gpusched__ServiceControl *control, struct error *err);

#endif
