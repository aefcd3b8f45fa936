/* frameless_page.c - see frameless_page.h */
#include "cmds/web/pages/frameless_page.h"

struct html *frameless_page_begin(const char *title, bool onward)
{
	struct html *h = html_new();

	HTML(h,
	        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
	        "<meta name=\"color-scheme\" content=\"light dark\">"
	        "<title>%s - gpusched</title><link rel=\"stylesheet\" href=\"/static/gweb.css\">",
	        title);
	if (onward)
		HTML(h, "<meta http-equiv=\"refresh\" content=\"0; url=/\">");
	HTML(h,
	        "</head>\n<body><header class=\"top\"><span class=\"cluster\">gpusched</span>"
	        "</header>\n<main><h1>%s</h1>\n",
	        title);
	return h;
}

void frameless_page_end(struct html *h, struct http_answer *a)
{
	HTML(h, "</main></body></html>\n");
	a->type = "text/html; charset=utf-8";
	html_end(h, &a->body);
}
