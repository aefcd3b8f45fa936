/* ask_as_user.c - see ask_as_user.h */
#include "cmds/web/auth/ask_as_user.h"

#define TRIES 3

struct told {
	uid_t uid;
	struct viewer *viewer;
};

static int on_told(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct told *told = arg;

	(void)err;
	viewer_put(told->viewer);
	told->viewer = viewer_new(told->uid, (const Gpusched__LookAsResult *)m);
	return 0;
}

struct viewer *ask_viewer(struct client *c, uid_t uid, struct error *err)
{
	Gpusched__LookAs m = GPUSCHED__LOOK_AS__INIT;
	struct told told = { uid, NULL };
	struct client_call call = CLIENT_ASK(LOOK_AS, &m.base, LOOK_AS_RESULT, on_told, &told);

	m.uid = uid;
	if (client_call(c, &call, err) == 0 && told.viewer)
		return told.viewer;
	viewer_put(told.viewer);
	/* What is under way may be another user's. */
	client_drop(c);
	return NULL;
}

int ask_as(struct client *c, uid_t uid, const struct client_call *call, void (*again)(void *arg),
        struct error *err)
{
	for (int i = 0; i < TRIES; i++) {
		struct viewer *v = ask_viewer(c, uid, err);
		uint64_t generation = client_generation(c);
		struct client_call once = *call;
		int rc;

		if (!v)
			return -1;
		viewer_put(v);
		once.repeatable = false;
		rc = client_call(c, &once, err);
		if (client_generation(c) == generation)
			return rc;
		if (again)
			again(call->arg);
	}
	return error_set(
	        err, ERR_UNREACHABLE, "the connection to the controller breaks again and again");
}
