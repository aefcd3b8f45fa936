/* test_conf_bad.c - what gpusched.conf must not say, and every line that is told of it */
#include <libconfig.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "common/conf/conf.h"
#include "testsuite/unit/lib/conf_told.h"

/* What a row is about stands between these, which are right. */
#define CTL   "cluster = \"c\"; controller = { host = \"h\"; };\n"
#define GPUS  "gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; } );\n"
#define NODES "nodes = ( { name = \"n[1-4]\"; } );\n"
#define PARTS "partitions = ( { name = \"p\"; nodes = \"ALL\"; } );\n"

#define PROFILES                                                                                   \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"a100\"; }, "                \
	"{ name = \"1g.10gb\"; mig_of = \"h100\"; }, { name = \"1g.20gb\"; mig_of = \"h100\"; }, " \
	"{ name = \"3g.40gb\"; mig_of = \"h100\"; }, { name = \"5g.40gb\"; mig_of = \"h100\"; }, " \
	"{ name = \"1c.3g.40gb\"; mig_of = \"h100\"; }, { name = \"small\"; mig_of = \"h100\"; "   \
	"}, "                                                                                      \
	"{ name = \"half\"; mig_of = \"h100\"; match = \"*MIG 3g.40gb\"; }, "                      \
	"{ name = \"1g.10gb+me.all\"; mig_of = \"h100\"; }, "                                      \
	"{ name = \"h100-tiny\"; mig_of = \"h100\"; }, "                                           \
	"{ name = \"media\"; mig_of = \"h100\"; match = \"*MIG 1g.10gb+me\"; }, "                  \
	"{ name = \"1g.5gb\"; mig_of = \"a100\"; } );\n"
/* The keys of a row are on line 2, on line 3, on the line that follows what is before it. */
#define CONTROLLER(keys) \
	"cluster = \"c\"; controller = { host = \"h\";\n" keys " };\n" NODES PARTS
#define PARTITION(keys) \
	CTL NODES "partitions = ( { name = \"p\"; nodes = \"ALL\"; " keys " } );\n"
#define NODE(keys) "nodes = ( { name = \"n1\"; " keys " } );\n" PARTS
#define MIG(gpus, layout)                                                                       \
	CTL PROFILES "nodes = ( { name = \"n1\";\nmig = ( { gpus = " gpus ";\nlayout = " layout \
	             "; } ); } );\n" PARTS
#define NEAR(near)                                                                              \
	CTL GPUS "nodes = ( { name = \"n[1-4]\"; gpus = \"h100:6,l40s:2\";\ngpu_near = " near "; } " \
	         ");\n" PARTS

static const struct conf_row rows[] = {
/* syntax; libconfig takes a comma after the last element from 1.7 on */
#if LIBCONFIG_VER_MAJOR == 1 && LIBCONFIG_VER_MINOR < 7
	{ "cluster = \"c\"\n"
	  "nodes = ( { name = \"n1\"; }, );\n",
	        "c:2: syntax error: no comma after the last element\n" },
#endif
	{ "cluster = lab;\n", "c:1: syntax error: lab: text needs quotes, as in \"lab\"\n" },
	{ "cluster = \"c\"; controller = { host = \"h\"; listen = yes; };\n",
	        "c:1: syntax error: yes: text needs quotes, as in \"yes\"\n" },
	{ "cluster = \"c\";\n"
	  "controller = { host = \"h;\n"
	  "};\n",
	        "c:2: syntax error: the text in quotes does not end on its line\n" },
	{ "cluster = \"c\";\n"
	  "/* never\n"
	  "ended\n",
	        "c:2: syntax error: a comment without its end\n" },
	{ "cluster = \"c\";\n"
	  "controller = { host = \"h\";\n",
	        "c:3: syntax error; is a bracket not closed?\n" },
	{ "cluster \"c\";\n", "c:1: syntax error at or before: cluster \"c\";\n" },
	{ "cluster = \"c\";\n"
	  "cluster = \"d\";\n",
	        "c:2: syntax error at or before: cluster = \"d\"; (a key that its group has "
	        "already)\n" },
	{ "cluster = [ 1, \"a\" ];\n", "c:1: syntax error at or before: cluster = [ 1, \"a\" ]; "
	                               "(the elements of [ ] must be of one type)\n" },
	{ "cluster = \"a\\x00b\";\n", "c:1: syntax error: text cannot hold \\x00\n" },
	{ "cluster = \"c\" controller = = 5;\n",
	        "c:1: syntax error at or before: cluster = \"c\" controller = = 5;\n" },
	{ "x = @include \"f\"\n", "c:1: syntax error: @include must start its line\n" },
	{ "@include f\n", "c:1: syntax error: must be @include \"PATH\"\n" },
	{ "@include \"f\"\n", "c:1: @include: only a file can include another\n" },
	{ "))))\n", "c:1: syntax error at or before: ))))\n" },
	{ "1g.10gb = 5;\n", "c:1: syntax error at or before: 1g.10gb = 5;\n" },
	{ "x = "
	  "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
	  "(((((((((((((;\n",
	        "c:1: more than 100 brackets within one another\n" },
	/* whole */
	{ "", "c: cluster: must be given\n"
	      "c: controller.host: must be given\n"
	      "c: nodes: must be given\n"
	      "c: partitions: must be given\n" },
	{ "# nothing\n", "c: cluster: must be given\n"
	                 "c: controller.host: must be given\n"
	                 "c: nodes: must be given\n"
	                 "c: partitions: must be given\n" },
	{ "cluster = \"c\";\n", "c: controller.host: must be given\n"
	                        "c: nodes: must be given\n"
	                        "c: partitions: must be given\n" },
	{ CTL, "c: nodes: must be given\n"
	       "c: partitions: must be given\n" },
	{ CTL NODES, "c: partitions: must be given\n" },
	{ CTL "nodes = ();\n"
	      "partitions = ();\n",
	        "c:2: nodes: must have an entry\n"
	        "c:3: partitions: must have an entry\n" },
	/* shape */
	{ CTL "nodes = \"n1\";\n" PARTS,
	        "c:2: nodes: must be a list of groups: ( { ... }, ... )\n" },
	{ CTL "nodes = { name = \"n1\"; };\n" PARTS,
	        "c:2: nodes: must be a list of groups: ( { ... }, ... )\n" },
	{ CTL "nodes = ( \"n1\" );\n" PARTS,
	        "c:2: nodes[0]: must be a group: { name = \"...\"; }\n" },
	{ "cluster = \"c\";\n"
	  "controller = ( );\n" NODES PARTS,
	        "c:2: controller: must be a group: { ... }\n" },
	{ "cluster = { };\n"
	  "controller = { host = \"h\"; };\n" NODES PARTS,
	        "c:1: cluster: must be text in quotes\n" },
	{ "cluster = [ \"c\" ];\n"
	  "controller = { host = \"h\"; };\n" NODES PARTS,
	        "c:1: cluster: must be text in quotes\n" },
	/* unknown */
	{ PARTITION("max_tme = \"1h\";"),
	        "c:3: partitions[0].max_tme: unknown key; did you mean 'max_time'?\n" },
	{ "clutser = \"c\"; controller = { host = \"h\"; };\n" NODES PARTS,
	        "c: cluster: must be given\n"
	        "c:1: clutser: unknown key; did you mean 'cluster'?\n" },
	{ CTL "nodess = ();\n" NODES PARTS, "c:2: nodess: unknown key; did you mean 'nodes'?\n" },
	{ CTL "federation = { };\n" NODES PARTS,
	        "c:2: federation: unknown key; see gpusched.conf(5)\n" },
	{ PARTITION("idle_gpu = {\n below = \"5\";\n for = \"0s\";\n action = \"kill\"; };"),
	        "c:4: partitions[0].idle_gpu.below: \"5\": must be whole per cent, as in \"25%\"\n"
	        "c:5: partitions[0].idle_gpu.for: \"0s\": must be 1s to 365-00:00:00\n"
	        "c:6: partitions[0].idle_gpu.action: \"kill\": must be \"note\", \"mail\" or "
	        "\"end\"\n" },
	{ CTL "node_defaults = { containment = [ \"devces\" ];\n private = [ \"all\" ];\n"
	      " rlimits = [ \"nofile=3:2\" ];\n devices = [ \"/etc/passwd\" ];\n"
	      " gpu_devices = \"/dev/nvidia[0-99]\"; };\n" NODES PARTS,
	        "c:2: node_defaults.containment[0]: \"devces\": must be one of cgroup2, devices, "
	        "memory, pids, cpu, tmp, shm, ipc, proc\n"
	        "c:3: node_defaults.private[0]: \"all\": must be one of tmp, shm, ipc, proc\n"
	        "c:4: node_defaults.rlimits[0]: \"nofile=3:2\": the soft limit is above the hard "
	        "one\n"
	        "c:5: node_defaults.devices[0]: \"/etc/passwd\": must be a device file, as in "
	        "/dev/kfd\n"
	        "c:6: node_defaults.gpu_devices: \"/dev/nvidia[0-99]\": must be a list of at most "
	        "64 "
	        "device files of one folder, as in /dev/nvidia[0-7]\n" },
	{ CTL "roles = { admins = [ \"*\" ];\n operators = [ \"a b\" ];\n"
	      " private_data = [ \"jobs\", \"node\" ]; };\n" NODES PARTS
	      "accounts = ( { name = \"a\"; coordinators = [ \"*\" ]; } );\n",
	        "c:2: roles.admins[0]: \"*\": must be a user, or a Unix group as in \"@staff\"\n"
	        "c:3: roles.operators[0]: \"a b\": must be a user, or a Unix group as in "
	        "\"@staff\"\n"
	        "c:4: roles.private_data[1]: \"node\": must be \"jobs\" or \"usage\"\n"
	        "c:7: accounts[0].coordinators[0]: \"*\": must be a user, or a Unix group as in "
	        "\"@staff\"\n" },
	{ CONTROLLER("hots = \"x\"; zzz = 1;"),
	        "c:2: controller.hots: unknown key; did you mean 'host'?\n"
	        "c:2: controller.zzz: unknown key; see gpusched.conf(5)\n" },
	{ CTL "node_defaults = { name = \"x\"; };\n" NODES PARTS,
	        "c:2: node_defaults.name: unknown key; see gpusched.conf(5)\n" },
	/* text */
	{ "cluster = 7;\n"
	  "controller = { host = 1.5; };\n" NODES PARTS,
	        "c:1: cluster: 7: must be text in quotes\n"
	        "c:2: controller.host: 1.5: must be text in quotes\n" },
	{ "cluster = \"\";\n"
	  "controller = { host = \"\"; };\n" NODES PARTS,
	        "c:1: cluster: \"\": must not be empty\n"
	        "c:2: controller.host: \"\": must not be empty\n" },
	{ "cluster = \"my lab\";\n"
	  "controller = { host = \"a b\"; };\n" NODES PARTS,
	        "c:1: cluster: \"my lab\": must be letters, digits, '-', '_' and '.', a letter or "
	        "digit first\n"
	        "c:2: controller.host: \"a b\": must be a host name or an address\n" },
	{ "cluster = \"-c\";\n"
	  "controller = { host = \"h\\x1b[1m\"; };\n" NODES PARTS,
	        "c:1: cluster: \"-c\": must be letters, digits, '-', '_' and '.', a letter or "
	        "digit first\n"
	        "c:2: controller.host: \"h\\x1B[1m\": must be UTF-8 text without control "
	        "characters\n" },
	{ "cluster = \"c\\n\";\n"
	  "controller = { host = \"h\\xff\"; };\n" NODES PARTS,
	        "c:1: cluster: \"c\\x0A\": must be UTF-8 text without control characters\n"
	        "c:2: controller.host: \"h\\xFF\": must be UTF-8 text without control "
	        "characters\n" },
	{ "cluster = \"ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\"; "
	  "controller = { host = \"h\"; };\n" NODES PARTS,
	        "c:1: cluster: "
	        "\"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc...\": 65 "
	        "characters; at most 64\n" },
	{ CONTROLLER("user = \"a b\"; agent_user = \"\";"),
	        "c:2: controller.user: \"a b\": must be a user name\n"
	        "c:2: controller.agent_user: \"\": must not be empty\n" },
	{ "cluster = \"c\"; controller = { host = \"h\";\n"
	  "state_dir = \"var/lib\"; pid_file = \"x\"; fence = \"off.sh\"; munge_socket = \"m\"; "
	  "};\n" NODES PARTS,
	        "c:2: controller.state_dir: \"var/lib\": must be a path from the root: /...\n"
	        "c:2: controller.pid_file: \"x\": must be a path from the root: /...\n"
	        "c:2: controller.munge_socket: \"m\": must be a path from the root: /...\n"
	        "c:2: controller.fence: \"off.sh\": must be a path from the root: /...\n" },
	{ "cluster = \"c\"; controller = { host = \"h\";\n"
	  "munge_socket = "
	  "\"/"
	  "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
	  "mmmmmmmmmmmmmmmmmmm\"; };\n" NODES PARTS,
	        "c:2: controller.munge_socket: "
	        "\"/mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm...\": 108 "
	        "characters; at most 107\n" },
	{ CONTROLLER("log = \"file\"; log_level = \"verbose\";"),
	        "c:2: controller.log: \"file\": must be \"stderr\", \"syslog\" or a path from the "
	        "root\n"
	        "c:2: controller.log_level: \"verbose\": must be \"error\", \"warning\", \"info\" "
	        "or \"debug\"\n" },
	{ CONTROLLER("log = \"\"; log_level = \"\";"),
	        "c:2: controller.log: \"\": must not be empty\n"
	        "c:2: controller.log_level: \"\": must be \"error\", \"warning\", \"info\" or "
	        "\"debug\"\n" },
	{ CONTROLLER("listen = \"*\";"),
	        "c:2: controller.listen: \"*\": must be a host name or an address\n" },
	/* counts */
	{ CONTROLLER("port = 0;"), "c:2: controller.port: 0: must be 1 to 65535\n" },
	{ CONTROLLER("port = 65536;"), "c:2: controller.port: 65536: must be 1 to 65535\n" },
	{ CONTROLLER("port = -1;"), "c:2: controller.port: -1: must be 1 to 65535\n" },
	{ CONTROLLER("port = \"7320\";"),
	        "c:2: controller.port: \"7320\": must be a whole number, without quotes\n" },
	{ CONTROLLER("port = 73.2;"),
	        "c:2: controller.port: 73.2: must be a whole number, without quotes\n" },
	{ CONTROLLER("port = 1e3;"),
	        "c:2: controller.port: 1e3: must be a whole number, without quotes\n" },
	{ CONTROLLER("port = true;"),
	        "c:2: controller.port: true: must be a whole number, without quotes\n" },
	{ CONTROLLER("port = [ 7320 ];"),
	        "c:2: controller.port: must be a whole number, without quotes\n" },
	{ CONTROLLER("max_jobs = 5000000000;"),
	        "c:2: controller.max_jobs: 5000000000: must be 1 to 100000000\n" },
	{ CONTROLLER("max_jobs = 4294967297;"),
	        "c:2: controller.max_jobs: 4294967297: must be 1 to 100000000\n" },
	{ CONTROLLER("max_jobs = 0xFFFFFFFFF;"),
	        "c:2: controller.max_jobs: 0xFFFFFFFFF: must be 1 to 100000000\n" },
	{ CONTROLLER("max_jobs = 99999999999999999999999L;"),
	        "c:2: controller.max_jobs: 99999999999999999999999L: must be 1 to 100000000\n" },
	{ CONTROLLER("max_jobs = -4294967295;"),
	        "c:2: controller.max_jobs: -4294967295: must be 1 to 100000000\n" },
	{ CONTROLLER("workers = 0; max_jobs = 0;"),
	        "c:2: controller.max_jobs: 0: must be 1 to 100000000\n"
	        "c:2: controller.workers: 0: must be 1 to 64\n" },
	/* times */
	{ PARTITION("grace = 120;"),
	        "c:3: partitions[0].grace: 120: needs a unit, as in \"120s\" or \"2m\"\n" },
	{ PARTITION("grace = \"120\";"),
	        "c:3: partitions[0].grace: \"120\": needs a unit, as in \"120s\" or \"2m\"\n" },
	{ PARTITION("grace = 45;"),
	        "c:3: partitions[0].grace: 45: needs a unit, as in \"45s\" or \"45m\"\n" },
	{ PARTITION("grace = -45;"), "c:3: partitions[0].grace: -45: must not be negative\n" },
	{ PARTITION("grace = 1.5;"),
	        "c:3: partitions[0].grace: 1.5: must be a time in quotes, as in \"20m\"\n" },
	{ PARTITION("grace = \"-5s\";"),
	        "c:3: partitions[0].grace: \"-5s\": must not be negative\n" },
	{ PARTITION("grace = \"2 days\";"),
	        "c:3: partitions[0].grace: \"2 days\": the units of time are ms, s, m, h, d and w, "
	        "as in \"90s\" or \"20m\"\n" },
	{ PARTITION("grace = \"25:00:00\";"),
	        "c:3: partitions[0].grace: \"25:00:00\": must be 0s to 1-00:00:00\n" },
	{ PARTITION("grace = \"unlimited\";"),
	        "c:3: partitions[0].grace: \"unlimited\": must be 0s to 1-00:00:00\n" },
	{ PARTITION("grace = \"500ms\";"),
	        "c:3: partitions[0].grace: \"500ms\": must be whole seconds\n" },
	{ PARTITION("max_time = \"0s\";"),
	        "c:3: partitions[0].max_time: \"0s\": must be 1s to 3650-00:00:00, or "
	        "unlimited\n" },
	{ PARTITION("max_time = \"999999999999999999999d\";"),
	        "c:3: partitions[0].max_time: \"999999999999999999999d\": too large a number\n" },
	{ PARTITION("max_time = \"1h\"; default_time = \"2h\";"),
	        "c:3: partitions[0].default_time: 2:00:00: must not be longer than max_time, "
	        "1:00:00\n" },
	{ PARTITION("max_time = true;"),
	        "c:3: partitions[0].max_time: true: must be a time in quotes, as in \"20m\"\n" },
	{ CONTROLLER("unknown_is_off = \"0s\";"),
	        "c:2: controller.unknown_is_off: \"0s\": must be 1s to 365-00:00:00, or never\n" },
	{ CONTROLLER("unknown_is_off = \"unlimited\";"),
	        "c:2: controller.unknown_is_off: \"unlimited\": must be 1s to 365-00:00:00, or "
	        "never\n" },
	{ CONTROLLER("heartbeat = \"1ms\";"),
	        "c:2: controller.heartbeat: \"1ms\": must be 100ms to 5m\n" },
	{ CONTROLLER("heartbeat = \"40s\";"),
	        "c:2: controller.node_timeout: 60s: must be at least twice the heartbeat, 40s\n" },
	{ CONTROLLER("node_timeout = \"15s\";"),
	        "c:2: controller.node_timeout: 15s: must be at least twice the heartbeat, 10s\n" },
	/* sizes */
	{ CTL NODE("mem = 80;"),
	        "c:2: nodes[0].mem: 80: needs a unit, as in \"80M\" or \"80G\"\n" },
	{ CTL NODE("mem = \"80\";"),
	        "c:2: nodes[0].mem: \"80\": needs a unit, as in \"80M\" or \"80G\"\n" },
	{ CTL NODE("mem = \"1.5T\";"),
	        "c:2: nodes[0].mem: \"1.5T\": must be a whole number; \"1536M\" is one and a half "
	        "G\n" },
	{ CTL NODE("mem = \"80P\";"),
	        "c:2: nodes[0].mem: \"80P\": the units of sizes are K, M, G and T, as in "
	        "\"80G\"\n" },
	{ CTL NODE("mem = \"-1G\";"), "c:2: nodes[0].mem: \"-1G\": must not be negative\n" },
	{ CTL NODE("mem = \"2000T\";"), "c:2: nodes[0].mem: \"2000T\": must be 0 to 1024T\n" },
	{ CTL NODE("mem = \"1K\";"), "c:2: nodes[0].mem: \"1K\": must be a whole number of M\n" },
	{ CTL NODE("mem = \"99999999999T\";"),
	        "c:2: nodes[0].mem: \"99999999999T\": too large a size\n" },
	{ CONTROLLER("max_script = \"5M\";"),
	        "c:2: controller.max_script: \"5M\": must be 1K to 4M\n" },
	/* booleans */
	{ PARTITION("default = \"true\";"),
	        "c:3: partitions[0].default: \"true\": must be true or false, without quotes\n" },
	{ PARTITION("default = 1;"),
	        "c:3: partitions[0].default: 1: must be true or false, without quotes\n" },
	/* gpu_types */
	{ CTL "gpu_types = ( { name = \"a\"; mig_of = \"b\"; } );\n" NODES PARTS,
	        "c:2: gpu_types[0].mig_of: \"b\": must be the name of another type in "
	        "gpu_types\n" },
	{ CTL "gpu_types = ( { name = \"a\"; mig_of = \"a\"; } );\n" NODES PARTS,
	        "c:2: gpu_types[0].mig_of: \"a\": must be the name of a whole GPU's type\n" },
	/* mig: line 3 has gpus, line 4 layout and what follows */
	{ MIG("\"0-64\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpus: \"0-64\": GPUs have the numbers 0 to 63\n" },
	{ MIG("\"99999999999\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpus: \"99999999999\": GPUs have the numbers 0 to 63\n" },
	{ MIG("\"5-3\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpus: \"5-3\": 5-3: must be 3-5\n" },
	{ MIG("\"0,2-4,3\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpus: \"0,2-4,3\": GPU 3 is there twice\n" },
	{ MIG("\"0-\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpus: \"0-\": must be numbers of GPUs, as in \"0-3,6\"\n" },
	{ MIG("\"0 1\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpus: \"0 1\": must be numbers of GPUs, as in \"0-3,6\"\n" },
	{ MIG("\"\"", "\"1g.10gb:7\""), "c:4: nodes[0].mig[0].gpus: \"\": must not be empty\n" },
	{ MIG("0", "\"1g.10gb:7\""), "c:4: nodes[0].mig[0].gpus: 0: must be text in quotes\n" },
	{ MIG("\"0\"", "\"1g.10gb:8\""),
	        "c:5: nodes[0].mig[0].layout: \"1g.10gb:8\": takes 8 slices of compute; a GPU has "
	        "7\n" },
	{ MIG("\"0\"", "\"3g.40gb:2,1g.10gb:1\""),
	        "c:5: nodes[0].mig[0].layout: \"3g.40gb:2,1g.10gb:1\": takes 9 slices of memory; a "
	        "GPU has 8\n" },
	{ MIG("\"0\"", "\"1g.20gb:5\""),
	        "c:5: nodes[0].mig[0].layout: \"1g.20gb:5\": takes 10 slices of memory; a GPU has "
	        "8\n" },
	{ MIG("\"0\"", "\"1c.3g.40gb:7\""), /* three in one instance */
	        "c:5: nodes[0].mig[0].layout: \"1c.3g.40gb:7\": takes 9 slices of compute; a GPU "
	        "has 7\n" },
	{ MIG("\"0\"", "\"small:8\""), /* no name that says it; none has less than a slice */
	        "c:5: nodes[0].mig[0].layout: \"small:8\": takes 8 slices of compute; a GPU has "
	        "7\n" },
	{ MIG("\"0\"", "\"1g.10gb:2,media:2\""),
	        "c:5: nodes[0].mig[0].layout: \"1g.10gb:2,media:2\": 2 instances with media "
	        "extensions (+me); a GPU has one\n" },
	{ MIG("\"0\"", "\"media:1,1g.10gb+me.all:1\""),
	        "c:5: nodes[0].mig[0].layout: \"media:1,1g.10gb+me.all:1\": 2 instances with media "
	        "extensions (+me); a GPU has one\n" },
	{ MIG("\"0\"", "\"1g.10gb:1,1g.10gb+me.all:1\""),
	        "c:5: nodes[0].mig[0].layout: \"1g.10gb:1,1g.10gb+me.all:1\": one instance has all "
	        "media engines (+me.all); all others must be without (-me)\n" },
	{ MIG("\"0\"", "\"h100-tiny:8\""), /* a number that is no profile */
	        "c:5: nodes[0].mig[0].layout: \"h100-tiny:8\": takes 8 slices of compute; a GPU "
	        "has 7\n" },
	{ MIG("\"0\"", "\"half:3\""), /* by its match */
	        "c:5: nodes[0].mig[0].layout: \"half:3\": takes 9 slices of compute; a GPU has "
	        "7\n" },
	{ MIG("\"0\"", "\"5g.40gb:1\""),
	        "c:5: nodes[0].mig[0].layout: \"5g.40gb:1\": no profile has 5 slices; must be 1g, "
	        "2g, 3g, 4g or 7g\n" },
	{ MIG("\"0\"", "\"h100:1\""),
	        "c:5: nodes[0].mig[0].layout: \"h100:1\": h100 is a whole GPU; must be types with "
	        "mig_of, as in \"1g.10gb:7\"\n" },
	{ MIG("\"0\"", "\"1g.10gb:1,1g.5gb:1\""),
	        "c:5: nodes[0].mig[0].layout: \"1g.10gb:1,1g.5gb:1\": 1g.10gb is of h100 and "
	        "1g.5gb of a100; must be profiles of one GPU's\n" },
	{ MIG("\"0\"", "\"1g.11gb:7\""),
	        "c:5: nodes[0].mig[0].layout: \"1g.11gb:7\": no GPU type '1g.11gb'; did you mean "
	        "'1g.10gb'?\n" },
	{ MIG("\"0\"", "\"\""), "c:5: nodes[0].mig[0].layout: \"\": must be what each GPU is cut "
	                        "into, as in \"1g.10gb:7\"\n" },
	{ MIG("\"0\"", "\"none\""),
	        "c:5: nodes[0].mig[0].layout: \"none\": must be what each GPU is cut into, as in "
	        "\"1g.10gb:7\"\n" },
	{ MIG("\"0\"", "7"), "c:5: nodes[0].mig[0].layout: 7: must be amounts in quotes, as in "
	                     "\"h100:8\"\n" },
	{ MIG("\"0-9\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig: 70 GPUs and MIG instances; a node has at most 64\n" },
	{ MIG("\"0\"; gpu = \"1\"", "\"1g.10gb:7\""),
	        "c:4: nodes[0].mig[0].gpu: unknown key; did you mean 'gpus'?\n" },
	{ MIG("\"0-2\"", "\"1g.10gb:7\"; },\n{ gpus = \"4,2\"; layout = \"1g.10gb:7\""),
	        "c:6: nodes[0].mig[1].gpus: \"4,2\": GPU 2 is in nodes[0].mig[0], line 4, "
	        "already\n" },
	{ CTL PROFILES "nodes = ( { name = \"n1\"; mig = { gpus = \"0\"; }; } );\n" PARTS,
	        "c:3: nodes[0].mig: must be a list of groups: ( { ... }, ... )\n" },
	{ CTL PROFILES "nodes = ( { name = \"n1\"; mig = ( \"0\" ); } );\n" PARTS,
	        "c:3: nodes[0].mig[0]: must be a group: { ... }\n" },
	{ CTL PROFILES "nodes = ( { name = \"n1\"; mig = ( { } ); } );\n" PARTS,
	        "c:3: nodes[0].mig[0].gpus: must be given\n"
	        "c:3: nodes[0].mig[0].layout: must be given\n" },
	{ CTL PROFILES "nodes = ( { name = \"n1\"; gpus = \"h100:2,1g.10gb:7\";\n"
	               "mig = ( { gpus = \"2\"; layout = \"1g.10gb:7\"; } ); } );\n" PARTS,
	        "c:3: nodes[0].gpus: 1g.10gb: is a MIG profile, and mig says which there are; must "
	        "be whole GPUs here\n" },
	{ CTL PROFILES "node_defaults = { mig = ( { gpus = \"2\"; layout = \"1g.10gb:8\"; } ); };\n"
	               "nodes = ( { name = \"n1\"; }, { name = \"n2\"; } );\n" PARTS,
	        "c:3: node_defaults.mig[0].layout: \"1g.10gb:8\": takes 8 slices of compute; a GPU "
	        "has 7\n" },
	{ CTL PROFILES "nodes = ( { name = \"n1\"; mig = ( { gpus = \"0-1\"; layout = "
	               "\"1g.10gb:7\"; } ); } );\n"
	               "accounts = ( { name = \"a\"; quota = { guaranteed = \"1g.10gb:15\"; }; } "
	               ");\n" PARTS,
	        "c:4: accounts[0].quota: 1g.10gb guaranteed to a = 15, the nodes have "
	        "14\n" },
	/* gpus */
	{ CTL GPUS NODE("gpus = \"h10:8\";"),
	        "c:3: nodes[0].gpus: \"h10:8\": no GPU type 'h10'; did you mean 'h100'?\n" },
	{ CTL GPUS NODE("gpus = \"a100:8\";"),
	        "c:3: nodes[0].gpus: \"a100:8\": no GPU type 'a100'; did you mean 'h100'?\n" },
	{ CTL GPUS NODE("gpus = \"h100:65\";"),
	        "c:3: nodes[0].gpus: \"h100:65\": a node has at most 64 GPUs\n" },
	{ CTL GPUS NODE("gpus = \"h100:60,l40s:5\";"),
	        "c:3: nodes[0].gpus: \"h100:60,l40s:5\": a node has at most 64 GPUs\n" },
	{ CTL GPUS NODE("gpus = \"h100:0\";"),
	        "c:3: nodes[0].gpus: \"h100:0\": the count must be 1 to 1000000\n" },
	{ CTL GPUS NODE("gpus = \"h100:4294967297\";"),
	        "c:3: nodes[0].gpus: \"h100:4294967297\": the count must be 1 to 1000000\n" },
	{ CTL GPUS NODE("gpus = \"h100:4,h100:4\";"),
	        "c:3: nodes[0].gpus: \"h100:4,h100:4\": 'h100': is there twice\n" },
	{ CTL GPUS NODE("gpus = \"h100\";"),
	        "c:3: nodes[0].gpus: \"h100\": must be TYPE:COUNT, as in \"h100:2\", or a "
	        "number\n" },
	{ CTL GPUS NODE("gpus = \"8\";"),
	        "c:3: nodes[0].gpus: \"8\": a node's GPUs have types: must be TYPE:COUNT, as in "
	        "\"h100:8\"\n" },
	{ CTL GPUS NODE("gpus = \"any:8\";"),
	        "c:3: nodes[0].gpus: \"any:8\": a node's GPUs have types: must be TYPE:COUNT, as "
	        "in \"h100:8\"\n" },
	{ CTL GPUS NODE("gpus = 8;"),
	        "c:3: nodes[0].gpus: 8: must be amounts in quotes, as in \"h100:8\"\n" },
	{ CTL GPUS NODE("gpus = \"h100:4,\";"),
	        "c:3: nodes[0].gpus: \"h100:4,\": '': must be TYPE:COUNT, as in \"h100:2\", or a "
	        "number\n" },
	{ CTL GPUS NODE("gpus = \"h100:-1\";"),
	        "c:3: nodes[0].gpus: \"h100:-1\": must be TYPE:COUNT, as in \"h100:2\", or a "
	        "number\n" },
	{ CTL NODE("gpus = \"h100:8\";"),
	        "c:2: nodes[0].gpus: \"h100:8\": no GPU type 'h100' in gpu_types\n" },
	{ CTL "gpu_types = ( { name = \"any\"; }, { name = \"8\"; }, { name = \"a b\"; }, { mem = "
	      "\"1G\"; } );\n" NODES PARTS,
	        "c:2: gpu_types[0].name: \"any\": means a number of any type, so no type is called "
	        "that\n"
	        "c:2: gpu_types[1].name: \"8\": means a number of any type, so no type is called "
	        "that\n"
	        "c:2: gpu_types[2].name: \"a b\": a GPU type's name has letters, digits, '-', '_', "
	        "'.' and '+', a letter or digit first\n"
	        "c:2: gpu_types[3].name: must be given\n" },
	{ CTL "gpu_types = ( { name = \"x\"; },\n"
	      "{ name = \"x\"; } );\n" NODES PARTS,
	        "c:3: gpu_types[1].name: \"x\": is also the name of gpu_types[0], line 2\n" },
	{ CTL "node_defaults = { health_jobs = \"kill\"; };\n" NODES PARTS,
	        "c:2: node_defaults.health_jobs: \"kill\": must be \"run\", \"requeue\" or "
	        "\"end\"\n" },
	{ CTL "node_defaults = { health_events = [ \"xid-79\" ]; };\n" NODES PARTS,
	        "c:2: node_defaults.health_events[0]: \"xid-79\": needs an action, as in "
	        "\"xid-94=note\"\n" },
	{ CTL "node_defaults = { health_events = [ \"hot=off\" ]; };\n" NODES PARTS,
	        "c:2: node_defaults.health_events[0]: \"hot=off\": no such action; there are "
	        "note, gpu, node\n" },
	{ NEAR("[ \"NV4\" ]"), "c:4: nodes[0].gpu_near[0]: \"NV4\": must be how close and GPUs, "
	                       "as in \"NV4:0-3\" or \"PIX:0,1\"\n" },
	{ NEAR("[ \"PIX:0-1\", \"NV31:0-3\" ]"),
	        "c:4: nodes[0].gpu_near[1]: \"NV31:0-3\": 'NV31': must be NV1 to NV30, PIX, PXB, "
	        "PHB, NODE or SYS\n" },
	{ NEAR("[ \"near:0-3\" ]"), "c:4: nodes[0].gpu_near[0]: \"near:0-3\": 'near': must be NV1 "
	                            "to NV30, PIX, PXB, PHB, NODE or SYS\n" },
	{ NEAR("[ \"PIX:3\" ]"), "c:4: nodes[0].gpu_near[0]: \"PIX:3\": it is GPU 3 alone; must be "
	                         "two or more\n" },
	{ NEAR("[ \"PIX:0-x\" ]"), "c:4: nodes[0].gpu_near[0]: \"PIX:0-x\": must be numbers of "
	                           "GPUs, as in \"0-3,6\"\n" },
	{ NEAR("[ \"PIX:0-64\" ]"), "c:4: nodes[0].gpu_near[0]: \"PIX:0-64\": GPUs have the numbers "
	                            "0 to 63\n" },
	{ NEAR("[ \"PIX:0-1\",\n\"NODE:0-3\",\n\"PIX:1,2\" ]"),
	        "c:6: nodes[0].gpu_near[2]: \"PIX:1,2\": GPU 1 is in \"PIX:0-1\" already\n" },
	{ NEAR("[ \"NV4:0-3\", \"NV2:3-5\", \"NV4:1,3,6\" ]"),
	        "c:4: nodes[0].gpu_near[2]: \"NV4:1,3,6\": NVLinks between GPU 1 and another are in "
	        "\"NV4:0-3\" already\n" },
	{ NEAR("[ \"NODE:0-7\", \"PIX:7,8\" ]"),
	        "c:4: nodes[0].gpu_near: \"PIX:7,8\": the node has GPUs 0 to 7\n" },
	{ CTL GPUS "node_defaults = {\ngpu_near = [ \"PHB:0-1\", \"PHB:1-2\" ]; };\n" NODES PARTS,
	        "c:4: node_defaults.gpu_near[1]: \"PHB:1-2\": GPU 1 is in \"PHB:0-1\" already\n" },
	{ CTL "node_defaults = { health_recheck = \"31d\"; };\n" NODES PARTS,
	        "c:2: node_defaults.health_recheck: \"31d\": must be 0s to "
	        "30-00:00:00\n" },
	{ CTL GPUS "node_defaults = { gpus = \"h100:x\"; };\n" NODES PARTS,
	        "c:3: node_defaults.gpus: \"h100:x\": must be TYPE:COUNT, as in \"h100:2\", or a "
	        "number\n" },
	/* names */
	{ CTL "nodes = ( { name = \"n[0-4294967295]\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n[0-4294967295]\": more than 65536 names\n" },
	{ CTL "nodes = ( { name = \"n[1-3,1-3]\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n[1-3,1-3]\": 'n1': is in the list twice\n" },
	{ CTL "nodes = ( { name = \"n[1-[2-3]]\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n[1-[2-3]]\": '[1-[': brackets within brackets\n" },
	{ CTL "nodes = ( { name = \"n[3-1]\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n[3-1]\": '3-1': a range goes from low to high\n" },
	{ CTL "nodes = ( { name = \"n[1-9/2]\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n[1-9/2]\": '1-9/2': a range has no step; list the "
	        "numbers\n" },
	{ CTL "nodes = ( { name = \"n[01-100]\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n[01-100]\": '01-100': both ends of a range must have as "
	        "many digits\n" },
	{ CTL "nodes = ( { name = \"n 1\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"n 1\": ' 1': a node name has letters, digits, '-', '_' and "
	        "'.' only\n" },
	{ CTL "nodes = ( { name = \"\"; } );\n" PARTS,
	        "c:2: nodes[0].name: \"\": must not be empty\n" },
	{ CTL "nodes = ( { cpus = 4; } );\n" PARTS, "c:2: nodes[0].name: must be given\n" },
	{ CTL "nodes = ( { name = \"n[1-4]\"; },\n"
	      "{ name = \"n[3-6]\"; },\n"
	      "{ name = \"n1,n6\"; } );\n" PARTS,
	        "c:3: nodes[1].name: n[3-4]: already in nodes[0], line 2\n"
	        "c:4: nodes[2].name: n1: already in nodes[0], line 2\n"
	        "c:4: nodes[2].name: n6: already in nodes[1], line 3\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"n[1-9]\"; } );\n",
	        "c:3: partitions[0].nodes: n[5-9]: not in nodes\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"n[1-\"; } );\n",
	        "c:3: partitions[0].nodes: \"n[1-\": '[1-': a '[' without its ']'\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"\"; } );\n",
	        "c:3: partitions[0].nodes: \"\": must not be empty\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = [ \"n1\", \"n2\" ]; } );\n",
	        "c:3: partitions[0].nodes: must be text in quotes\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"n1,n1\"; } );\n",
	        "c:3: partitions[0].nodes: \"n1,n1\": 'n1': is in the list twice\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"all\"; } );\n",
	        "c:3: partitions[0].nodes: all: not in nodes\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; } );\n",
	        "c:3: partitions[0].nodes: must be given\n" },
	{ CTL NODES "partitions = ( { name = \"a,b\"; nodes = \"ALL\"; } );\n",
	        "c:3: partitions[0].name: \"a,b\": must be letters, digits, '-', '_' and '.', a "
	        "letter or digit first\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"n1\"; },\n"
	            "{ name = \"p\"; nodes = \"n2\"; } );\n",
	        "c:4: partitions[1].name: \"p\": is also the name of partitions[0], line 3\n" },
	{ CTL NODES "partitions = ( { name = \"p\"; nodes = \"n1\"; default = true; },\n"
	            "{ name = \"q\"; nodes = \"n2\"; default = true; } );\n",
	        "c:4: partitions[1].default: true: partitions[0], line 3, is the default "
	        "already\n" },
	/* together */
	{ "clustr = \"c\";\n"
	  "controller = { host = \"h\"; port = 99999; };\n"
	  "nodes = ( { name = \"n1\"; mem = 5; } );\n"
	  "partitions = ( { name = \"p\"; nodes = \"n2\"; grace = 120; max_tme = \"1h\"; } );\n",
	        "c: cluster: must be given\n"
	        "c:1: clustr: unknown key; did you mean 'cluster'?\n"
	        "c:2: controller.port: 99999: must be 1 to 65535\n"
	        "c:3: nodes[0].mem: 5: needs a unit, as in \"5M\" or \"5G\"\n"
	        "c:4: partitions[0].grace: 120: needs a unit, as in \"120s\" or \"2m\"\n"
	        "c:4: partitions[0].max_tme: unknown key; did you mean 'max_time'?\n"
	        "c:4: partitions[0].nodes: n2: not in nodes\n" },
	{ CTL "nodes = ( { name = \"n[1-\"; } );\n"
	      "partitions = ( { name = \"p\"; nodes = \"n1\"; } );\n",
	        "c:2: nodes[0].name: \"n[1-\": '[1-': a '[' without its ']'\n" },
};

static void every_row_is_told(void **state)
{
	(void)state;
	conf_rows_are_told("", rows, sizeof(rows) / sizeof(rows[0]));
}

static void cut_anywhere(void **state)
{
	static const char whole[] = CTL GPUS NODES PARTS "# end\n/* x */ // y\n";

	(void)state;
	conf_cut_anywhere(whole, sizeof(whole) - 1);
}

static void no_more_than_a_thousand(void **state)
{
	struct conf_problems problems;
	char *text = malloc(1 << 16), *p = text;

	(void)state;
	for (int i = 0; i < 1100; i++)
		p += sprintf(p, "x%d = 1;\n", i);
	strcpy(p, CTL NODES PARTS);
	assert_null(conf_parse(text, "c", &problems));
	assert_int_equal(problems.n, 1001);
	assert_string_equal(problems.v[999].text, "x999: unknown key; see gpusched.conf(5)");
	assert_string_equal(problems.v[1000].text, "more mistakes than are told");
	assert_int_equal(problems.v[1000].line, 0);
	conf_problems_clear(&problems);
	free(text);
}

/* More entries than a list may have, more nodes than a cluster. */
static void too_many(void **state)
{
	static const struct {
		const char *head, *entry, *tail, *told;
		unsigned n;
	} cases[] = {
		{ CTL NODES "partitions = (", "{ name = \"p%u\"; nodes = \"ALL\"; }", ");\n",
		        "c:3: partitions: 1025 entries; at most 1024\n", 1025 },
		{ CTL "gpu_types = (", "{ name = \"t%u\"; }", ");\n" NODES PARTS,
		        "c:2: gpu_types: 257 entries; at most 256\n", 257 },
		{ CTL "nodes = (", "{ name = \"n%u[0-29999]\"; }", ");\n" PARTS,
		        "c:2: nodes[2].name: more than 65536 nodes\n", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf text = { 0 };
		char *told;

		strbuf_adds(&text, cases[i].head);
		for (unsigned e = 0; e < cases[i].n; e++) {
			const char *number = strstr(cases[i].entry, "%u");

			strbuf_addf(&text, "%s%.*s%u%s", e ? "," : "",
			        (int)(number - cases[i].entry), cases[i].entry, e, number + 2);
		}
		strbuf_adds(&text, cases[i].tail);
		told = conf_told(text.s);
		assert_string_equal(told, cases[i].told);
		free(told);
		strbuf_free(&text);
	}
}

static void too_large(void **state)
{
	char *text = malloc((17 << 20) + 1), *told;

	(void)state;
	memset(text, ' ', 17 << 20);
	text[17 << 20] = '\0';
	told = conf_told(text);
	assert_string_equal(told, "c: more than 16 MiB of configuration\n");
	free(told);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_told),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(too_many),
		cmocka_unit_test(too_large),
		cmocka_unit_test(no_more_than_a_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
