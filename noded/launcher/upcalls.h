/* upcalls.h - the launcher's hooks: how its parts cause something in parts above them */
#ifndef NODED_UPCALLS_H
#define NODED_UPCALLS_H

struct launcher_hooks;

const struct launcher_hooks *launcher_hooks(void);

#endif
