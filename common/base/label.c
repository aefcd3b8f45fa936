/* label.c - see label.h */
#include "common/base/label.h"

#include <string.h>

#include "common/base/text.h"

int label_key_check(const char *key, size_t len, struct error *err)
{
	static const char letters[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
	char shown[80];

	if (len >= 1 && len <= LABEL_KEY_MAX && strspn(key, letters) >= len)
		return 0;
	text_escape(shown, sizeof(shown), key, len);
	return error_set(err, ERR_USAGE,
	        "label key '%s': must be 1 to %d letters, digits, '.', '_', '-' and '/'", shown,
	        LABEL_KEY_MAX);
}
