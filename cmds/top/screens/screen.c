/* screen.c - see screen.h */
#include "cmds/top/screens/screen.h"

#include "cmds/top/screens/screen_accounts.h"
#include "cmds/top/screens/screen_jobs.h"
#include "cmds/top/screens/screen_map.h"
#include "cmds/top/screens/screen_node.h"
#include "cmds/top/screens/screen_services.h"

const struct screen screens[SCREENS] = {
	[SCREEN_MAP] = { "map", "Map", screen_map_draw, NULL, screen_map_sideways, screen_map_enter,
	        false, 0, "Enter node  z zoom  p partition  / filter" },
	[SCREEN_QUEUE] = { "queue", "Queue", screen_queue_draw, screen_queue_job, NULL, NULL, true,
	        WANT_ORDER, "Enter why  / filter  u user  s sort  c cancel" },
	[SCREEN_RUNNING] = { "running", "Running", screen_running_draw, screen_running_job, NULL,
	        NULL, true, WANT_USED, "Enter why  / filter  u user  s sort  c cancel" },
	[SCREEN_ACCOUNTS] = { "accounts", "Accounts", screen_accounts_draw, NULL, NULL,
	        screen_accounts_enter, false, WANT_SHARES, "Enter its jobs  / filter" },
	[SCREEN_SERVICES] = { "services", "Services", screen_services_draw, screen_services_job,
	        NULL, screen_services_enter, false, WANT_SERVICES, "Enter details  w why" },
	[SCREEN_NODE] = { "node", "Node", screen_node_draw, screen_node_job, screen_node_sideways,
	        NULL, false, 0, "Left/Right other node  Enter why" },
};
