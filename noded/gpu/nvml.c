/* nvml.c - see nvml.h */
#include "noded/gpu/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

/* Places of the library: as the dynamic linker finds it, then where containers have it that
 * announce it only in LD_LIBRARY_PATH, which a service does not inherit. */
static const char *const places[] = { LIBRARY, "/usr/local/nvidia/lib64/" LIBRARY };

static const struct {
	const char *name;
	unsigned newest, oldest;
	size_t at;
} calls[] = {
#define X(name, newest, oldest, args) { #name, newest, oldest, offsetof(struct nvml, name) },
	NVML_CALLS(X)
#undef X
};

static void *find_symbol(void *library, const char *name, unsigned newest, unsigned oldest)
{
	char symbol[80];
	void *found = NULL;

	for (unsigned v = newest; v >= oldest && v > 0 && !found; v--) {
		if (v > 1)
			snprintf(symbol, sizeof(symbol), "%s_v%u", name, v);
		else
			snprintf(symbol, sizeof(symbol), "%s", name);
		found = dlsym(library, symbol);
	}
	return found;
}

/* The first error is reported: a missing file in the second place is of no interest. */
static void *open_library(struct error *err)
{
	void *library = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !library; i++) {
		library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
		if (!library && i == 0)
			error_set(err, ERR_SYSTEM, "%s", dlerror());
	}
	return library;
}

int nvml_open(struct nvml *nvml, struct error *err)
{
	struct nvml n = { .library = open_library(err) };
	void *found;

	if (!n.library)
		return -1;
	/* A pointer to data becomes one to a function: dlsym(3), NOTES. */
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		found = find_symbol(n.library, calls[i].name, calls[i].newest, calls[i].oldest);
		memcpy((char *)&n + calls[i].at, &found, sizeof(found));
	}
	found = dlsym(n.library, "nvmlErrorString");
	memcpy(&n.nvmlErrorString, &found, sizeof(found));
	if (!n.nvmlInit || !n.nvmlDeviceGetCount || !n.nvmlDeviceGetHandleByIndex) {
		dlclose(n.library);
		return error_set(err, ERR_SYSTEM, "%s has none of NVML's functions", LIBRARY);
	}
	*nvml = n;
	return 0;
}

void nvml_close(struct nvml *nvml)
{
	dlclose(nvml->library);
}

const char *nvml_error(const struct nvml *nvml, int result)
{
	const char *text = nvml->nvmlErrorString ? nvml->nvmlErrorString(result) : NULL;

	if (result == NVML_FUNCTION_NOT_FOUND)
		return "the library does not have it";
	return text ? text : "an error without a text";
}
