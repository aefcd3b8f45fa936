/* viewer.h - the user for whom a page is made, and what that user may see
 *
 * A viewer is what the controller says of a user (LookAs): its role, the accounts that it
 * coordinates, and what the configuration keeps private. A viewer never changes once it is made;
 * when the controller says something else there is a new one. It is shared by reference count and
 * can be used by any thread.
 */
#ifndef CMDS_VIEWER_H
#define CMDS_VIEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

enum viewer_role { VIEWER_USER, VIEWER_OPERATOR, VIEWER_ADMIN };

struct viewer {
	bool known; /* false: the request proves no user, and sees what is public */
	uid_t uid;
	const char *name;
	enum viewer_role role;
	bool private_jobs, private_usage; /* others' jobs, others' usage */
	const char *const *accounts;      /* that it coordinates; sorted */
	size_t n_accounts;
};

struct viewer *viewer_new(uid_t uid, const Gpusched__LookAsResult *told);
struct viewer *viewer_get(const struct viewer *v); /* another reference to it */
void viewer_put(struct viewer *v);                 /* NULL is fine */

/* Nothing is known of it. `private`: jobs or usage are kept private, so it sees none; borrowed, for
 * ever. */
const struct viewer *viewer_nobody(bool private_jobs, bool private_usage);

/* Is no job private to it? */
bool viewer_sees_all(const struct viewer *v);

/* Would the controller tell the viewer of a job of that owner and account? */
bool viewer_sees(const struct viewer *v, uint32_t uid, const char *account);
/* Of a line of gshare: of an account itself (`user` is "") every viewer is told. */
bool viewer_sees_usage(const struct viewer *v, const char *account, const char *user);

/* Would two viewers be told of the same jobs? */
bool viewer_same_jobs(const struct viewer *a, const struct viewer *b);

#endif
