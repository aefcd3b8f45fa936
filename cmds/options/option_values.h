/* option_values.h - how the values of options are read: the `set` of the rows in option_table.c
 *
 * A setter checks the value and puts it into the field of its row; on failure the options are as
 * they were, and the text (ERR_USAGE) says what would be right.
 */
#ifndef CMDS_OPTION_VALUES_H
#define CMDS_OPTION_VALUES_H

#include "cmds/options/options.h"

typedef int option_setter(struct submit_options *o, const struct option_row *row, const char *value,
        struct error *err);

option_setter option_set_text, option_set_path, option_set_file, option_set_command,
        option_set_text_or_none, option_set_hosts, option_set_gpus, option_set_gpus_per_node,
        option_set_gpus_per_task, option_set_gres, option_set_nodes, option_set_export,
        option_set_tasks, option_set_cpus, option_set_mem, option_set_time, option_set_gpu_mem,
        option_set_gpu_link, option_set_gpu_share, option_set_max_wait, option_set_when,
        option_set_dependency, option_set_remark, option_set_mail_type, option_set_mail_user,
        option_set_requeue_on, option_set_attempts, option_set_kill_invalid, option_set_array,
        option_set_signal, option_set_nice, option_set_open_mode, option_set_label,
        option_set_flag, option_unset_flag, option_set_no_requeue;

/* Of services (service_values.c). */
option_setter option_set_service, option_set_replicas, option_set_kept, option_set_surge,
        option_set_ports, option_set_starts, option_set_probe_of, option_set_probe,
        option_set_metrics, option_set_metrics_path, option_set_load_time, option_set_drain,
        option_set_settle, option_set_scale_time, option_set_scale_window,
        option_set_request_wait, option_set_valid, option_set_target, option_set_kv_target;

/* Its field is a copy of that text. Returns 0. */
int option_keep(struct submit_options *o, const struct option_row *row, const char *value);

/* An option without an argument: NULL, or from a variable "yes" sets it to `sense`, "no" to the
 * contrary. */
int option_parse_flag(const char *value, bool sense, bool *out, struct error *err);

#endif
