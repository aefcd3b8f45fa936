/* signal_names.c - see signal_names.h */
#include "cmds/cli/signal_names.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#include "common/base/units.h"

static int refuse(struct error *err)
{
	return error_set(err, ERR_USAGE,
	        "no such signal; expected a name such as TERM or USR1, or a number from 1 to %d",
	        SIG_NUMBER_MAX);
}

int sig_parse(const char *text, uint32_t *sig, struct error *err)
{
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	uint64_t n;

	if (count_parse(text, 1, SIG_NUMBER_MAX, &n, NULL) >= 0) {
		*sig = (uint32_t)n;
		return 0;
	}
	for (int i = 1; i <= SIG_NUMBER_MAX; i++) {
		const char *known = sigabbrev_np(i);

		if (known && strcasecmp(name, known) == 0) {
			*sig = (uint32_t)i;
			return 0;
		}
	}
	return refuse(err);
}

int sig_parse_warning(const char *text, uint32_t *sig, uint32_t *before_s, struct error *err)
{
	const char *at = strchr(text, '@');
	char name[32];
	uint64_t before = SIG_WARN_BEFORE_S;
	uint32_t number;
	size_t len;

	if (strncmp(text, "B:", 2) == 0)
		text += 2;
	len = at ? (size_t)(at - text) : strlen(text);
	if (len >= sizeof(name))
		return refuse(err);
	memcpy(name, text, len);
	name[len] = '\0';
	if (sig_parse(name, &number, err) < 0)
		return -1;
	if (at && count_parse(at + 1, 1, SIG_WARN_MAX_S, &before, err) < 0)
		return error_wrap(err, "seconds after '@'");
	*sig = number;
	*before_s = (uint32_t)before;
	return 0;
}

const char *sig_name(uint32_t sig)
{
	return sig <= SIG_NUMBER_MAX ? sigabbrev_np((int)sig) : NULL;
}
