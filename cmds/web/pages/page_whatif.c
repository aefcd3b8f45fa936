/* page_whatif.c - comparisons that gsim has made: the pictures and figures in a folder
 *
 * The folder is an option of gweb. It is read for each page (by a worker, since it may be on a slow
 * disk); below it are comparisons, one in the folder itself or one in each folder of it. Shown are
 * regular files NAME.svg and NAME.json of it that are no links, whose names are letters, digits and
 * "-_.". Pictures are shown by <img>, in which no script of theirs runs, and sent with a policy
 * that lets them do nothing.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define FILES_MAX 200
#define FILE_MAX  (4 * 1024 * 1024)
#define JSON_TOLD (64 * 1024)

struct names {
	char *v[FILES_MAX];
	size_t n;
};

static bool good_name(const char *s)
{
	return *s && *s != '.' && strlen(s) < 128 &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
	               strlen(s);
}

static bool ends(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those of a folder whose names are good: folders, or pictures and figures. Takes `fd`. */
static void list(int fd, bool folders, struct names *out)
{
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	out->n = 0;
	if (!d && fd >= 0)
		close(fd);
	while (d && out->n < FILES_MAX && (e = readdir(d))) {
		bool wanted = folders ? e->d_type == DT_DIR
		                      : e->d_type == DT_REG && (ends(e->d_name, ".svg") ||
		                                                       ends(e->d_name, ".json"));

		if (wanted && good_name(e->d_name))
			out->v[out->n++] = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	qsort(out->v, out->n, sizeof(out->v[0]), by_name);
}

static void names_clear(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
}

/* "" is the folder itself. */
static int open_folder(const struct page *p, const char *name)
{
	int base = open(p->options->whatif_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	if (base < 0 || !*name)
		return base;
	fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(base);
	return fd;
}

/* -1: there is no such file, or it is too large. */
static int read_file(int folder, const char *name, struct strbuf *out)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char buf[16384];
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MAX)
		while ((n = read(fd, buf, sizeof(buf))) > 0 && out->len <= FILE_MAX)
			strbuf_add(out, buf, (size_t)n);
	fd_close(fd);
	return n == 0 ? 0 : -1;
}

/* --- the page --------------------------------------------------------------------------------- */

/* Names are good ones: nothing in them has a meaning in an address. */
static void put_picture(struct html *h, const char *folder, const char *name)
{
	HTML(h,
	        "<figure class=\"pic scroll\"><a href=\"/what-if/%s?of=%s\"><img loading=\"lazy\" "
	        "alt=\"%s\" "
	        "src=\"/what-if/%s?of=%s\"></a></figure>",
	        name, folder, name, name, folder);
}

static void put_figures(struct html *h, int fd, const char *name)
{
	struct strbuf text = { 0 };

	if (read_file(fd, name, &text) == 0 && text.len) {
		HTML(h, "<details id=\"%s\"><summary>%s</summary><pre tabindex=\"0\">", name, name);
		if (text.len > JSON_TOLD)
			text.s[JSON_TOLD] = '\0';
		html_lines(h, text.s);
		HTML(h, "</pre></details>");
	}
	strbuf_free(&text);
}

static void put_comparison(struct page *p, const char *folder)
{
	struct names names;
	int fd = open_folder(p, folder);

	list(fd >= 0 ? dup(fd) : -1, false, &names);
	if (names.n) {
		HTML(p->h, "<section><h2>%s</h2><div class=\"pictures\">",
		        *folder ? folder : "Comparison");
		for (size_t i = 0; i < names.n; i++)
			if (ends(names.v[i], ".svg"))
				put_picture(p->h, folder, names.v[i]);
		HTML(p->h, "</div>");
		for (size_t i = 0; i < names.n; i++)
			if (ends(names.v[i], ".json"))
				put_figures(p->h, fd, names.v[i]);
		HTML(p->h, "</section>");
	}
	names_clear(&names);
	fd_close(fd);
}

void page_whatif(struct page *p)
{
	size_t before;
	struct names folders;

	page_title(p, "What if");
	if (!p->options || !p->options->whatif_dir) {
		HTML(p->h,
		        "<p>Comparisons of one configuration with another, as gsim has made them "
		        "from "
		        "the cluster's own history. gweb was started without a folder for them:</p>"
		        "<pre tabindex=\"0\">gsim -f now.conf --against=other.conf --plot=DIR "
		        "--json jobs.csv &gt;DIR/figures.json\n"
		        "gweb --what-if=DIR</pre>");
		return;
	}
	before = html_length(p->h);
	put_comparison(p, "");
	list(open_folder(p, ""), true, &folders);
	for (size_t i = 0; i < folders.n; i++)
		put_comparison(p, folders.v[i]);
	names_clear(&folders);
	if (html_length(p->h) == before)
		HTML(p->h,
		        "<p>There is no comparison yet. One is made by</p>"
		        "<pre tabindex=\"0\">gsim -f now.conf --against=other.conf --plot=%s/NAME "
		        "jobs.csv</pre>",
		        p->options->whatif_dir);
}

/* --- its files -------------------------------------------------------------------------------- */

void page_whatif_file(const struct http_request *r, struct http_answer *a)
{
	struct page p = { .r = r, .options = r->arg };
	const char *folder = page_query(&p, "of");
	int fd;

	if (!p.options || !p.options->whatif_dir || !good_name(r->name) || !ends(r->name, ".svg") ||
	        (*folder && !good_name(folder))) {
		http_answer_error(a, 404, "no such picture");
		return;
	}
	fd = open_folder(&p, folder);
	if (fd < 0 || read_file(fd, r->name, &a->body) < 0)
		http_answer_error(a, 404, "no such picture");
	else
		a->type = "image/svg+xml";
	a->csp = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
	fd_close(fd);
}
