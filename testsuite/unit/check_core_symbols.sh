#!/bin/sh
# check_core_symbols.sh - the cores are pure: no I/O, clock, thread or chance
#
# Whatever the controller's core, the agent's core and libpure want from outside themselves must be in
# the lists below, and the cores include nothing but themselves and what libpure offers. Runs in the
# build tree.
set -eu
src=${srcdir:-$(dirname "$0")/../..}

# The C library: memory, text, sorting, and how a failed assertion dies. write() is xalloc's last
# line before abort().
libc='abort calloc free malloc realloc qsort strdup strndup
memchr memcmp memcpy memmove memset mempcpy
strchr strchrnul strcmp strcspn strlen strncasecmp strcasecmp strncmp strpbrk strrchr strsep strspn strstr
stpcpy strnlen strtok_r strtoul strtoull
snprintf vsnprintf vasprintf asprintf __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location
__assert_fail __stack_chk_fail write'
# Compiler, sanitizer, coverage and fuzzing run-time, and what fortified libc calls become.
runtime='^(_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|sanitizer|sancov|gcov|tsan|llvm)_.*|__(start|stop)___.*|__(mem|str|stp|v?s?n?printf|v?asprintf)[a-z]*_chk|__popcount.*|__isoc23_strtoull?|_GLOBAL__.*)$'

bad=0

# check_symbols LIBRARY OTHERS: that LIBRARY wants nothing but of itself, OTHERS and the lists
check_symbols() {
    for lib in "$@"; do
        [ -f ".libs/$lib.a" ] || { echo "$(pwd)/.libs/$lib.a is not built"; exit 99; }
        nm --defined-only ".libs/$lib.a" 2>/dev/null | awk 'NF == 3 { print $3 }'
    done >"$defined"
    [ -s "$defined" ] || { echo "$1 defines nothing"; exit 99; }
    unknown=$(nm --undefined-only ".libs/$1.a" 2>/dev/null | awk 'NF == 2 { sub("@.*", "", $2); print $2 }' |
        sort -u | grep -vxFf "$defined" | grep -vxF "$(printf '%s\n' $libc)" | grep -vE "$runtime" || true)
    for symbol in $unknown; do
        echo "$1 uses $symbol: $(nm -A --undefined-only ".libs/$1.a" 2>/dev/null | grep " $symbol\$" | cut -d: -f2 | tr '\n' ' ')"
        bad=1
    done
}

# check_includes FOLDER: that its files include only it and libpure's headers
check_includes() {
    for include in $(sed -n 's/^#include "\(.*\)"/\1/p' $(find "$src/$1" -name "*.[ch]") | sort -u); do
        case $include in
        "$1"/*.h) ;;
        common/gpu/gpus_by_type.h | common/job/requeue_on.h | common/conf/conf.h | common/conf/conf_find.h | common/job/depend.h | common/job/mail_types.h) ;;
        common/base/bisect.h | common/base/each.h | common/base/error.h | common/gpu/gpufault.h | common/base/hostlist.h | common/gpu/gpu_topology.h | common/base/number_list.h | common/job/reason.h | common/job/run.h) ;;
        common/base/strbuf.h | common/base/taskset.h | common/base/text.h | common/base/units.h | common/base/xalloc.h) ;;
        *) echo "$1 includes $include"; bad=1 ;;
        esac
    done
}

defined=$(mktemp)
trap 'rm -f "$defined"' EXIT
check_symbols libpure
check_symbols libctldcore libpure
check_symbols libagentcore libpure
check_includes ctld/core
check_includes noded/core
exit $bad
