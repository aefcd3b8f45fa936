#!/bin/sh
# check_view_rows.sh - a row of columns whose field has another type than it is shown as does not compile
set -eu
src=${srcdir:-$(dirname "$0")/../..}
build=$PWD

cd "$src"

# How a field is shown, and its type.
compiles() {
	printf '%s\n' '#include <stdint.h>' '#include "cmds/cli/view.h"' "struct thing { $2 field; };" \
		'extern const struct view_column row;' \
		"const struct view_column row = VIEW_FIELD(\"X\", 1, 0, 0, \"\", $1, NULL, struct thing, field);" |
		${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -I. -I"$build" -Wall -Wextra -Werror \
			-fsyntax-only -x c - 2>/dev/null
}

for right in 'TEXT:char *' 'TEXT:const char *' NUMBER:uint32_t NUMBER:int32_t TIME:int64_t HOURS:uint64_t DIGITS_3:double; do
	compiles "${right%%:*}" "${right#*:}" || { echo "$right: a right row does not compile"; exit 1; }
done
for wrong in TEXT:uint64_t TEXT:double 'NUMBER:char *' NUMBER:double TIME:uint16_t DIGITS_2:uint64_t 'DIGITS_4:char *'; do
	! compiles "${wrong%%:*}" "${wrong#*:}" || { echo "$wrong: a wrong row compiles"; exit 1; }
done
