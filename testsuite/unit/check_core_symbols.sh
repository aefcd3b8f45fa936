#!/bin/sh
# check_core_symbols.sh - the controller's core is pure: no I/O, clock, thread or chance
#
# Whatever its objects, and those of the part of common/ it may use, do not define themselves must
# be in the lists below. Nothing outside ctld/core/ and that part may be included either.
set -eu
src=${srcdir:-$(dirname "$0")/../..}

# The C library: memory, text, sorting, and how a failed assertion dies. write() is xalloc's last
# line before abort().
libc='abort calloc free malloc realloc qsort strdup strndup
memchr memcmp memcpy memmove memset
strchr strchrnul strcmp strcpy strcspn strlen strncasecmp strcasecmp strncmp strpbrk strrchr strsep strspn strstr
stpcpy strnlen strtok_r strtoul strtoull
snprintf vsnprintf vasprintf asprintf __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location
__assert_fail __stack_chk_fail write'
# Compiler and sanitizer run-time, and what fortified libc calls become.
runtime='^(_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|sanitizer|gcov|tsan)_.*|__(mem|str|stp|v?s?n?printf|v?asprintf)[a-z]*_chk|__popcount.*|__isoc23_strtoull?|_GLOBAL__.*)$'

objects=$(find ctld/core -name '*.o' -path '*ctld/core/*' | grep -v '/\.libs/' || true)
[ -n "$objects" ] || objects=$(find ctld/core -name '*.o')
[ -n "$objects" ] || { echo "no objects of the core in $(pwd)"; exit 99; }
pure=$(find common -name '*.o' | grep -E '/(libpure_la-)?(error|hostlist|strbuf|text|units|xalloc)\.o$')

defined=$(nm --defined-only $objects $pure | awk 'NF == 3 { print $3 }' | sort -u)
bad=0
for symbol in $(nm --undefined-only $objects $pure | awk 'NF == 2 { print $2 }' | sed 's/@.*//' | sort -u); do
    echo "$defined" | grep -qxF "$symbol" && continue
    echo "$libc" | tr ' ' '\n' | grep -qxF "$symbol" && continue
    echo "$symbol" | grep -qE "$runtime" && continue
    echo "the core uses $symbol: $(nm -A --undefined-only $objects $pure | grep " $symbol\$" | cut -d: -f1 | sort -u | tr '\n' ' ')"
    bad=1
done
for include in $(sed -n 's/^#include "\(.*\)"/\1/p' "$src"/ctld/core/*.[ch] | sort -u); do
    case $include in
    ctld/core/*.h) ;;
    common/conf.h | common/error.h | common/hostlist.h | common/run.h | common/strbuf.h) ;;
    common/text.h | common/units.h | common/xalloc.h) ;;
    *) echo "the core includes $include"; bad=1 ;;
    esac
done
exit $bad
