/* static_files.c - see static_files.h */
#include "cmds/web/pages/static_files.h"

static const unsigned char css[] = {
#include "cmds/web/pages/static/gweb.css.inc"
};
static const unsigned char script[] = {
#include "cmds/web/pages/static/gweb.js.inc"
};
static const unsigned char icon[] = {
#include "cmds/web/pages/static/icon.svg.inc"
};

const struct static_file static_files[N_STATIC_FILES] = {
	{ "gweb.css", "text/css; charset=utf-8", css, sizeof(css) },
	{ "gweb.js", "text/javascript; charset=utf-8", script, sizeof(script) },
	{ "icon.svg", "image/svg+xml", icon, sizeof(icon) },
};
