/* convert_gpus.c - what agents tell of faults of GPUs; see convert.h */
#include "ctld/wire/convert.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "ctld/core/nodes/devices_list.h"

static int uuid_check(const char *uuid, struct error *err)
{
	if (!*uuid || strlen(uuid) >= DEVICE_UUID_MAX || strpbrk(uuid, ", "))
		return error_set(err, ERR_PROTOCOL, "a GPU's UUID that cannot be");
	return text_check("UUID", uuid, DEVICE_UUID_MAX, err);
}

static int take_fault(const Gpusched__GpuFault *m, struct gpu_fault *out, struct error *err)
{
	if (!m->seq || m->seq > INT64_MAX)
		return error_set(err, ERR_PROTOCOL, "a fault's number that cannot be");
	if (uuid_check(m->uuid, err) < 0 || text_check("fault", m->text, WIRE_TEXT_MAX, err) < 0)
		return -1;
	*out = (struct gpu_fault){
		.seq = m->seq, .uuid = m->uuid, .kind = m->kind, .code = m->code, .text = m->text
	};
	return 0;
}

int wire_gpu_report(const Gpusched__GpuReport *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct gpu_fault *faults = arena_alloc(arena, (m->n_faults + 1) * sizeof(*faults));
	struct gpu_looked *looked = arena_alloc(arena, (m->n_looked + 1) * sizeof(*looked));

	if (!faults || !looked)
		return error_set(err, ERR_PROTOCOL, "more of GPUs than can be read");
	for (size_t i = 0; i < m->n_faults; i++) {
		if (take_fault(m->faults[i], &faults[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < m->n_looked; i++) {
		const Gpusched__GpuLooked *l = m->looked[i];

		if (uuid_check(l->uuid, err) < 0 ||
		        text_check("trouble", l->trouble, WIRE_TEXT_MAX, err) < 0)
			return -1;
		looked[i] = (struct gpu_looked){ l->uuid, l->trouble };
	}
	event->kind = EV_GPU_REPORT;
	event->gpus.faults = faults;
	event->gpus.n_faults = m->n_faults;
	event->gpus.looked = looked;
	event->gpus.n_looked = m->n_looked;
	return 0;
}
