/* bisect.h - binary search
 *
 *	size_t at;
 *	BISECT(at, n, v[at].key < key);
 *
 * `at` becomes the first index below n for which the condition does not hold; n, if it holds for
 * all. The condition must hold up to some index and for none behind it. `at` is an unsigned
 * variable.
 */
#ifndef COMMON_BISECT_H
#define COMMON_BISECT_H

#define BISECT(at, n, condition)                          \
	do {                                              \
		__typeof__(at) low_ = 0, high_ = (n);     \
		while (low_ < high_) {                    \
			(at) = low_ + (high_ - low_) / 2; \
			if (condition)                    \
				low_ = (at) + 1;          \
			else                              \
				high_ = (at);             \
		}                                         \
		(at) = low_;                              \
	} while (0)

#endif
