/* main.c - gsubmit, as itself */
#include "cmds/submit/gsubmit.h"

int main(int argc, char **argv)
{
	struct gsubmit_manner manner = { .name = "gsubmit" };

	return gsubmit_main(&manner, argc, argv);
}
