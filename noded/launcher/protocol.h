/* protocol.h - the messages of the network half (launcher.h lists them), and what each causes */
#ifndef NODED_LAUNCHER_PROTOCOL_H
#define NODED_LAUNCHER_PROTOCOL_H

#include "noded/runs/agent_channel.h"

agent_channel_fn protocol_handle;

#endif
