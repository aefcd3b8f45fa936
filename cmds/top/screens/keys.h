/* keys.h - what each key does */
#ifndef CMDS_TOP_SCREENS_KEYS_H
#define CMDS_TOP_SCREENS_KEYS_H

#include "cmds/top/screens/state.h"

/* Keys that are no characters. */
enum key {
	KEYS_BEGIN = 0x110000,
	KEY_IS_UP,
	KEY_IS_DOWN,
	KEY_IS_LEFT,
	KEY_IS_RIGHT,
	KEY_IS_PAGE_UP,
	KEY_IS_PAGE_DOWN,
	KEY_IS_HOME,
	KEY_IS_END,
	KEY_IS_ENTER,
	KEY_IS_TAB,
	KEY_IS_BACK_TAB,
	KEY_IS_BACKSPACE,
	KEY_IS_ESCAPE,
};

/* A key was pressed: a character (UCS-4) or one of these. */
void keys_press(struct state *s, int key);

/* Tell the link what is on the screen now. */
void keys_tell_shown(struct state *s);

#endif
