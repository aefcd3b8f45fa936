/* each.h - one macro for each of several names
 *
 *	EACH(ROW, a, b, x, y, z)    ROW(a, b, x), ROW(a, b, y), ROW(a, b, z)
 *
 * For rows of a table, and for assignments, that differ only in the name of a field: 24 names at
 * most.
 */
#ifndef COMMON_EACH_H
#define COMMON_EACH_H

/* Fields of the same name, of the structs that two pointers lead to. */
#define COPY_FIELDS(to, from, ...) EACH(COPY_FIELD, to, from, __VA_ARGS__)
#define ADD_FIELDS(to, from, ...)  EACH(ADD_FIELD, to, from, __VA_ARGS__)
#define COPY_FIELD(to, from, name) (to)->name = (from)->name
#define ADD_FIELD(to, from, name)  (to)->name += (from)->name

/* EACH_3 for three names: the first name, then EACH_2. EACH_PICK takes the one that stands as far
 * to the right as there are names. */
#define EACH(m, a, b, ...)                                                                         \
	EACH_PICK(__VA_ARGS__, EACH_24, EACH_23, EACH_22, EACH_21, EACH_20, EACH_19, EACH_18,      \
	        EACH_17, EACH_16, EACH_15, EACH_14, EACH_13, EACH_12, EACH_11, EACH_10, EACH_9,    \
	        EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, )                  \
	(m, a, b, __VA_ARGS__)
#define EACH_PICK(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, \
        x19, x20, x21, x22, x23, x24, which, ...)                                                  \
	which
#define EACH_1(m, a, b, x)       m(a, b, x)
#define EACH_2(m, a, b, x, ...)  m(a, b, x), EACH_1(m, a, b, __VA_ARGS__)
#define EACH_3(m, a, b, x, ...)  m(a, b, x), EACH_2(m, a, b, __VA_ARGS__)
#define EACH_4(m, a, b, x, ...)  m(a, b, x), EACH_3(m, a, b, __VA_ARGS__)
#define EACH_5(m, a, b, x, ...)  m(a, b, x), EACH_4(m, a, b, __VA_ARGS__)
#define EACH_6(m, a, b, x, ...)  m(a, b, x), EACH_5(m, a, b, __VA_ARGS__)
#define EACH_7(m, a, b, x, ...)  m(a, b, x), EACH_6(m, a, b, __VA_ARGS__)
#define EACH_8(m, a, b, x, ...)  m(a, b, x), EACH_7(m, a, b, __VA_ARGS__)
#define EACH_9(m, a, b, x, ...)  m(a, b, x), EACH_8(m, a, b, __VA_ARGS__)
#define EACH_10(m, a, b, x, ...) m(a, b, x), EACH_9(m, a, b, __VA_ARGS__)
#define EACH_11(m, a, b, x, ...) m(a, b, x), EACH_10(m, a, b, __VA_ARGS__)
#define EACH_12(m, a, b, x, ...) m(a, b, x), EACH_11(m, a, b, __VA_ARGS__)
#define EACH_13(m, a, b, x, ...) m(a, b, x), EACH_12(m, a, b, __VA_ARGS__)
#define EACH_14(m, a, b, x, ...) m(a, b, x), EACH_13(m, a, b, __VA_ARGS__)
#define EACH_15(m, a, b, x, ...) m(a, b, x), EACH_14(m, a, b, __VA_ARGS__)
#define EACH_16(m, a, b, x, ...) m(a, b, x), EACH_15(m, a, b, __VA_ARGS__)
#define EACH_17(m, a, b, x, ...) m(a, b, x), EACH_16(m, a, b, __VA_ARGS__)
#define EACH_18(m, a, b, x, ...) m(a, b, x), EACH_17(m, a, b, __VA_ARGS__)
#define EACH_19(m, a, b, x, ...) m(a, b, x), EACH_18(m, a, b, __VA_ARGS__)
#define EACH_20(m, a, b, x, ...) m(a, b, x), EACH_19(m, a, b, __VA_ARGS__)
#define EACH_21(m, a, b, x, ...) m(a, b, x), EACH_20(m, a, b, __VA_ARGS__)
#define EACH_22(m, a, b, x, ...) m(a, b, x), EACH_21(m, a, b, __VA_ARGS__)
#define EACH_23(m, a, b, x, ...) m(a, b, x), EACH_22(m, a, b, __VA_ARGS__)
#define EACH_24(m, a, b, x, ...) m(a, b, x), EACH_23(m, a, b, __VA_ARGS__)

#endif
