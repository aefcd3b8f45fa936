/* script.c - see script.h */
#include "cmds/options/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

/* Read up to one byte more than `max`. -1: errno. */
static ssize_t read_all(int fd, size_t max, char **text)
{
	size_t cap = 16384, len = 0;
	struct stat st;
	char *buf;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		cap = (size_t)st.st_size < max ? (size_t)st.st_size + 2 : max + 2;
	buf = xrealloc(NULL, cap, 1);
	while (len <= max) {
		ssize_t n;

		if (len + 1 >= cap) {
			cap *= 2;
			buf = xrealloc(buf, cap, 1);
		}
		n = read(fd, buf + len, cap - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(buf);
			return -1;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	*text = buf;
	return (ssize_t)len;
}

int script_read_max(
        const char *what, const char *path, size_t max, struct script *out, struct error *err)
{
	int from_stdin = !strcmp(path, "-");
	int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char shown[256], *text = NULL;
	ssize_t len = -1;
	int saved;

	text_escape(shown, sizeof(shown), path, strlen(path));
	if (fd >= 0)
		len = read_all(fd, max, &text);
	saved = errno;
	if (fd >= 0 && !from_stdin)
		close(fd);
	if (len < 0) {
		return error_set(err, ERR_SYSTEM, "%s '%s': %s", what, shown, strerror(saved));
	}
	if ((size_t)len > max) {
		free(text);
		return error_set(
		        err, ERR_JOB_SPEC, "%s '%s': more than %zu MiB", what, shown, max >> 20);
	}
	out->text = text;
	out->len = (size_t)len;
	return 0;
}

int script_read(const char *path, struct script *out, struct error *err)
{
	if (script_read_max("script", path, SCRIPT_MAX, out, err) >= 0)
		return 0;
	if (err->code == ERR_JOB_SPEC)
		return error_hint(
		        err, "put data into files of their own and have the script read them");
	if (!strchr(path, '/') && strcmp(path, "-") && access(path, F_OK) < 0)
		error_hint(err, "to run a command without a script: --wrap='COMMAND'");
	return -1;
}

void script_wrap(const char *command, struct script *out)
{
	out->text = xasprintf("#!/bin/sh\n%s\n", command);
	out->len = strlen(out->text);
}

void script_clear(struct script *s)
{
	free(s->text);
	*s = (struct script){ .len = 0 };
}

static unsigned line_of(const struct script *s, const char *at)
{
	unsigned line = 1;

	for (const char *p = s->text; p < at; p++)
		line += *p == '\n';
	return line;
}

int script_check(const struct script *s, struct error *err)
{
	const char *bad;

	if (!s->len)
		return error_set(err, ERR_JOB_SPEC, "the script is empty");
	if (s->len >= 4 && !memcmp(s->text, "\177ELF", 4)) {
		error_set(err, ERR_JOB_SPEC, "a program, not a script");
		return error_hint(err, "to run it: --wrap='PROGRAM ARGUMENTS'");
	}
	if (s->len < 2 || memcmp(s->text, "#!", 2)) {
		error_set(err, ERR_JOB_SPEC,
		        "1: the first line must name the interpreter, such as #!/bin/bash");
		return error_hint(err, "to run a command without a script: --wrap='COMMAND'");
	}
	bad = memchr(s->text, '\0', s->len);
	if (bad)
		return error_set(
		        err, ERR_JOB_SPEC, "%u: a NUL byte; a script is text", line_of(s, bad));
	bad = memmem(s->text, s->len, "\r\n", 2);
	if (bad) {
		error_set(
		        err, ERR_JOB_SPEC, "%u: the line ends as in DOS (CR LF)", line_of(s, bad));
		return error_hint(err, "sed -i 's/\\r$//' SCRIPT");
	}
	return 0;
}
