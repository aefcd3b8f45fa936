# need.m4 - what the build needs, each with the Debian package that has it
#
# Nothing here ends configure but NEEDS_MET, which names all that is missing at once. The names of headers and
# functions stand as they are in configure.ac: testsuite/fresh/check_needs compares them with what is used.

# NEED_MISSING(WHAT, PACKAGE): WHAT is missing. Only for the macros below.
AC_DEFUN([NEED_MISSING], [need_missing="$need_missing
  $1 (Debian: $2)"
	AS_CASE([" $need_packages "], [*" $2 "*], [], [need_packages="$need_packages $2"])])

# NEED_PROGRAM(VARIABLE, NAMES, PACKAGE): the first of NAMES there is
AC_DEFUN([NEED_PROGRAM], [AC_PATH_PROGS([$1], [$2])
AS_IF([test -z "$$1"], [NEED_MISSING([$2], [$3])])])

# NEED_HEADERS(PACKAGE, HEADERS)
AC_DEFUN([NEED_HEADERS], [m4_foreach_w([need_header], [$2],
	[AC_CHECK_HEADER(m4_defn([need_header]), [], [NEED_MISSING(m4_defn([need_header]), [$1])])
])])

# NEED_DECLS(PACKAGE, HEADER, NAMES): constants that its older releases lack
AC_DEFUN([NEED_DECLS], [m4_foreach_w([need_decl], [$3],
	[AC_CHECK_DECL(m4_defn([need_decl]), [], [NEED_MISSING(m4_defn([need_decl])[ of $2], [$1])], [@%:@include <$2>])
])])

# NEED_FUNCS(PACKAGE, FUNCTIONS)
AC_DEFUN([NEED_FUNCS], [m4_foreach_w([need_func], [$2],
	[AC_CHECK_FUNC(m4_defn([need_func]), [], [NEED_MISSING(m4_defn([need_func])[()], [$1])])
])])

# NEED_LIBRARY(VARIABLE, LIBRARY, FUNCTION, PACKAGE): VARIABLE is what to link with
AC_DEFUN([NEED_LIBRARY], [AC_CHECK_LIB([$2], [$3], [AC_SUBST([$1], [-l$2])], [NEED_MISSING([lib$2], [$4])])])

# NEED_MODULE(VARIABLE-PREFIX, MODULES, PACKAGE, HEADERS): what pkg-config knows, and its headers
AC_DEFUN([NEED_MODULE], [PKG_CHECK_MODULES([$1], [$2],
	[need_cppflags=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $$1_CFLAGS"
	NEED_HEADERS([$3], [$4])
	CPPFLAGS=$need_cppflags],
	[NEED_MISSING([$2], [$3])])])

# NEEDS_MET: nothing is missing, or configure ends
AC_DEFUN([NEEDS_MET], [AS_IF([test -n "$need_missing"],
	[AC_MSG_ERROR([these are missing:$need_missing
hint: on Debian, as root: apt-get install$need_packages])])])
