/* node_settings.h - the controller's settings for this node's runs, and what follows from them
 *
 * l->limits are the limits in force, made of the options and the settings (effective_limits.h).
 */
#ifndef NODED_NODE_SETTINGS_H
#define NODED_NODE_SETTINGS_H

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

struct launcher;
struct settings;

/* As kept by an earlier launcher; makes l->limits. Sets l->settings. */
void settings_load(struct launcher *l);
void settings_free(struct settings *s); /* NULL is fine */

/* While some of the site's programs may not be run, check them again and again. */
void settings_watch(struct launcher *l);

/* From the controller: keep them and follow them. */
void settings_receive(struct launcher *l, const Gpusched__NodeSettings *m);

/* May runs be started here? -1 with ERR_LAUNCH: no, for this reason. settings_log() logs it. */
int settings_allow(const struct launcher *l, struct error *err);
void settings_log(const struct launcher *l);

#endif
