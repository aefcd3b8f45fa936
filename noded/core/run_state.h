/* run_state.h - the states of a run, as the agent knows it; agent.c has the table of transitions */
#ifndef NODED_RUN_STATE_H
#define NODED_RUN_STATE_H

#define AGENT_REMEMBER 256 /* forgotten runs whose ids are remembered */

enum agent_run_state {
	AGENT_RUN_NONE,   /* not known */
	AGENT_RUN_ASKED,  /* the launcher was told to start it and has not answered */
	AGENT_RUN_DOOMED, /* the launcher was told that this run must never start */
	AGENT_RUN_STARTING,
	AGENT_RUN_RUNNING,
	AGENT_RUN_ENDED, /* reported until forgotten */
	AGENT_RUN_NEVER, /* reported until forgotten */
	AGENT_RUN_FORGOTTEN,
	AGENT_RUN_STATES
};

#endif
