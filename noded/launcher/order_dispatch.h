/* order_dispatch.h - the handler of each message of the network half (launcher.h lists them) */
#ifndef NODED_ORDER_DISPATCH_H
#define NODED_ORDER_DISPATCH_H

#include "noded/runs/agent_channel.h"

agent_channel_fn order_dispatch;

#endif
