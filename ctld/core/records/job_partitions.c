/* job_partitions.c - see job_partitions.h */
#include "ctld/core/records/job_partitions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *partition_list_next(const char **at, size_t *n)
{
	const char *name = *at;

	if (!name)
		return NULL;
	*n = strcspn(name, ",");
	*at = name[*n] ? name + *n + 1 : NULL;
	return name;
}

uint32_t partition_list_count(const char *list)
{
	uint32_t n = 1;

	for (; (list = strchr(list, ',')); list++)
		n++;
	return n;
}

bool partition_list_has(const char *list, const char *name)
{
	size_t n, len = strlen(name);
	const char *one;

	while ((one = partition_list_next(&list, &n))) {
		if (n == len && !memcmp(one, name, n))
			return true;
	}
	return false;
}

/* A number of digits, before `end`; *at moves behind both. */
static bool read_number(const char **at, char end, uint64_t most, uint64_t *out)
{
	const char *p = *at;

	for (*out = 0; *p >= '0' && *p <= '9'; p++) {
		if (*out > (most - (uint64_t)(*p - '0')) / 10)
			return false;
		*out = *out * 10 + (uint64_t)(*p - '0');
	}
	if (p == *at || (*p != end && (*p || end != ',')))
		return false;
	*at = *p ? p + 1 : p;
	return true;
}

/* "8/65536/3600" */
static bool read_needs(const char **at, struct job_choice *c)
{
	uint64_t cpus, mem_mb, time_s;

	if (!read_number(at, '/', UINT32_MAX, &cpus) || !read_number(at, '/', INT64_MAX, &mem_mb) ||
	        !read_number(at, ',', UINT32_MAX, &time_s))
		return false;
	c->cpus = (uint32_t)cpus;
	c->mem_mb = mem_mb;
	c->time_limit_s = (uint32_t)time_s;
	return true;
}

void job_choice_read(const char *partitions, const char *needs, uint32_t k, struct job_choice *c)
{
	const char *name;
	size_t n = 0;

	for (name = partition_list_next(&partitions, &n); k; k--) {
		name = partition_list_next(&partitions, &n);
		needs = *needs ? strchr(needs, ',') + 1 : needs;
	}
	snprintf(c->partition, sizeof(c->partition), "%.*s", (int)n, name);
	if (*needs)
		read_needs(&needs, c);
}

void job_choices_write(const struct job_choice *v, uint32_t n,
        char partitions[JOB_PARTITIONS_SIZE], char needs[JOB_NEEDS_SIZE])
{
	size_t names = 0, used = 0;
	bool differ = false;

	partitions[0] = needs[0] = '\0';
	if (n < 2)
		return;
	for (uint32_t i = 0; i < n; i++) {
		differ |= v[i].cpus != v[0].cpus || v[i].mem_mb != v[0].mem_mb ||
		          v[i].time_limit_s != v[0].time_limit_s;
		names += (size_t)snprintf(partitions + names, JOB_PARTITIONS_SIZE - names, "%s%s",
		        i ? "," : "", v[i].partition);
		used += (size_t)snprintf(needs + used, JOB_NEEDS_SIZE - used,
		        "%s%" PRIu32 "/%" PRIu64 "/%" PRIu32, i ? "," : "", v[i].cpus, v[i].mem_mb,
		        v[i].time_limit_s);
	}
	if (!differ)
		needs[0] = '\0';
}

bool job_choices_valid(const char *partitions, const char *needs)
{
	const char *list = partitions, *other, *name, *twin;
	struct job_choice c;
	size_t n, len;
	uint32_t i = 0;

	if (!*partitions)
		return !*needs;
	while ((name = partition_list_next(&list, &n))) {
		if (!n || n >= JOB_PARTITION_SIZE || ++i > JOB_CHOICES_MAX)
			return false;
		for (other = list; (twin = partition_list_next(&other, &len));) {
			if (len == n && !memcmp(twin, name, n))
				return false;
		}
	}
	if (!*needs)
		return true;
	for (; i; i--) {
		if (!read_needs(&needs, &c))
			return false;
	}
	return !*needs && needs[-1] != ',';
}
