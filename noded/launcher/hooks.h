/* hooks.h - the launcher's hooks: how its parts cause something in parts above them */
#ifndef NODED_HOOKS_H
#define NODED_HOOKS_H

struct launcher_hooks;

const struct launcher_hooks *launcher_hooks(void);

#endif
