/* order_dispatch.h - the messages of the network half (launcher.h lists them), and what each causes */
#ifndef NODED_ORDER_DISPATCH_H
#define NODED_ORDER_DISPATCH_H

#include "noded/runs/agent_channel.h"

agent_channel_fn order_dispatch;

#endif
