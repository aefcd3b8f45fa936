/* test_checker.c - the judge sees every kind of broken promise, and none in a clean history */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/sim/checker.h"

#define CLEAN                                              \
	"submit 1 1000 a;start 1 0 1 0 1 n1 5 3 100;"      \
	"state 1 RUNNING 0 0 1;end 1 0 1 0 n1 0 0 900100;" \
	"usage 1 0 1 0 900000;state 1 COMPLETED 0 0 1;"

/* Rank 0 has ended well, rank 1 lives. */
#define GANG                                                                \
	"submit 1 1 a;start 1 0 1 0 2 n1 5 1 10;start 1 0 1 1 2 n2 5 1 10;" \
	"end 1 0 1 0 n1 0 0 30;"

/* Task 0 of 0, 4, 8 runs. */
#define ARRAY(at_once) "submit 1 1 a;array 1 0-8:4 " at_once ";start 1 0 1 0 1 n1 5 1 10;"

#define FIRST(type) "submit 1 1 a;submit 2 1 b;waits 2 " type " 1;start 1 0 1 0 1 n1 5 1 10;"
#define SECOND(at)  "start 2 0 1 0 1 n2 5 1 " #at ";end 2 0 1 0 n2 0 0 70;state 2 COMPLETED 0 0 1;"
#define OVER        "state 1 COMPLETED 0 0 1;quiet"

/* Task 0 of job 1 went well, task 4 did not. */
#define CORR                                                                         \
	"submit 1 1 a;array 1 0,4 0;submit 2 1 b;array 2 0,4 0;waits 2 aftercorr 1;" \
	"start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 20;state 1_0 COMPLETED 0 0 1;" \
	"start 1 4 1 0 1 n1 5 1 30;end 1 4 1 0 n1 2 0 40;state 1_4 FAILED 2 0 1;"

#define TWO(from, to)                                             \
	"start 1 0 1 0 1 n1 5 1 10;start 2 0 1 0 1 n2 5 1 " #from \
	";end 1 0 1 0 n1 0 0 20;end 2 0 1 0 n2 0 0 " #to          \
	";state 1 COMPLETED 0 0 1;state 2 COMPLETED 0 0 1;quiet"

/* Its first of two attempts has ended so that it comes back, 100 later. */
#define BACK                                                                      \
	"submit 1 1 a;attempts 1 2;comeback 1 3 5 100;start 1 0 1 0 1 n1 5 1 10;" \
	"end 1 0 1 0 n1 3 0 20;"

/* It has so much of GPU 0. */
#define PART(job, milli, mib) \
	"share " #job " 0 1 0 " #milli " " #mib " 0;start " #job " 0 1 0 1 n1 5 1 20;"

/* A card of 100, of which job 1 has 40, with a burst of 90; that it uses; and so much job 2 is to
 * have. */
#define BURST                                                              \
	"card n1 0 100;submit 1 1 a;attempts 1 2;burst 1 90;submit 2 1 b;" \
	"share 1 0 1 0 0 40 90;start 1 0 1 0 1 n1 5 1 20;"
#define LENT  BURST "uses 1 0 1 0 90;needs 2 0 1 0 n1 1 50;"
#define TAKES "share 2 0 1 0 0 50 0;start 2 0 1 0 1 n1 5 1 40;"
/* Both end; job 1 as its owner had it do, job 2 well. */
#define BOTH(state)                                                                  \
	TAKES "end 1 0 1 0 n1 0 0 50;end 2 0 1 0 n1 0 0 60;state 1 " state " 0 0 1;" \
	      "state 2 COMPLETED 0 0 1;quiet"
/* It did not give back, and is ended. */
#define ENDED LENT "asked 1 0 1 0;reclaimed 1 0 1 0;end 1 0 1 0 n1 0 0 30;"
#define SHOWN "lent 1 PREEMPTED 1;state 1 PREEMPTED 0 0 1;"
#define AGAIN "share 1 0 2 0 0 40 90;start 1 0 2 0 1 n2 5 1 70;end 1 0 2 0 n2 0 0 80;"
/* For another's priority: nothing was lent. */
#define PREEMPTED \
	"submit 1 1 a;start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 20;state 1 PREEMPTED 0 0 1;quiet"
#define REST  TAKES "end 2 0 1 0 n1 0 0 60;state 2 COMPLETED 0 0 1;quiet"

/* It runs on n1 since 50, and they have heard each other long before; each of the two has it. */
#define HEARD "heartbeat 10;contact n1 20;submit 1 1 a;start 1 0 1 0 1 n1 5 1 50;"
#define RUNS  "books 1 0 1 0 n1;tells 1 0 1 0 n1;"

/* Its node has a record of its end when the controller's state is lost. */
#define RAN  "submit 1 1 a;start 1 0 1 0 1 n1 5 1 100;end 1 0 1 0 n1 0 0 900100;"
#define OWED RAN "restored;owed 1 0 1 0;"

/* Job 1 runs, and has a step. */
#define ALIVE      "submit 1 1 a;start 1 0 1 0 1 n1 5 1 10;"
#define STEP       ALIVE "step 1 0 1 0;"
#define DONE       "stepends 1 0 1 0 FAILED 3 0 ab;stepdone 1 0 1 0;"
#define STEP_OVER  "end 1 0 1 0 n1 0 0 20;state 1 COMPLETED 0 0 1;"
#define KEPT(file) "keptstep " file " 1 0 1 0 FAILED 3 0 ab;counted;"
#define CUT(file)  "keptstep " file " 1 0 1 0 CANCELLED 0 0 1;counted;"

/* Two of its slots are ordered, and the first is READY. */
#define SERVICE "submit 1 1 a;array 1 0-4 0;service s 1;"
#define TWO_SLOTS(wants, second) \
	"isservice s " wants ";generation s 1;slot 1 0 1 0 1;slot 1 1 1 " second ";"

static const struct {
	const char *expect; /* "" clean, else the invariant of the first violation */
	const char *facts;  /* separated by ';' */
} cases[] = {
	{ "", CLEAN "quiet" },
	{ "", CLEAN "retired 1;unknown 1;quiet" },
	{ "", "submit 1 1000 a;submit 1 1000 a;# a repeat" },
	{ "", CLEAN "submit 2 1000 b;start 2 0 1 0 1 n1 5 3 900200;end 2 0 1 0 n1 1 0 900300;"
	            "state 2 FAILED 1 0 1;quiet" },
	{ "", "submit 1 1 a;start 1 0 1 0 1 n1 5 1 10;reboot n1 20;start 1 0 2 0 1 n2 5 1 30;"
	      "end 1 0 2 0 n2 0 0 40;state 1 COMPLETED 0 0 2;quiet" },
	{ "", "submit 1 1 a;start 1 0 1 0 1 n1 5 1 10;gone 1 0 1 0 n1 20;state 1 NODE_FAIL 0 0 "
	      "1;quiet" },
	{ "I7", "submit 1 1 a;start 1 0 1 0 1 n1 5 1 10;gone 1 0 1 0 n1 20;state 1 COMPLETED 0 0 "
	        "1" },
	{ "I1", "submit 1 1 a;unknown 1" },
	{ "I1", "submit 1 1 a;submit 2 1 a" },
	{ "I1", "submit 1 1 a;retired 1" },
	{ "I2", "submit 1 1 a;submit 1 1 b" },
	{ "I2", "submit 1 1 a;submit 1 2 a" },
	{ "I3", "start 1 0 1 0 1 n1 5 1 10;start 1 0 1 0 1 n2 5 1 20" },
	{ "I3", "start 1 0 1 0 1 n1 5 1 10;start 1 0 2 0 1 n2 5 1 20" },
	{ "I3", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 20;end 1 0 1 0 n1 0 0 30" },
	{ "I3", "end 1 0 1 0 n1 0 0 20" },
	{ "I4", "start 1 0 1 0 1 n1 5 3 10;start 2 0 1 0 1 n1 5 2 20" },
	{ "I5", CLEAN "state 1 RUNNING 0 0 1" },
	{ "I5", CLEAN "state 1 FAILED 1 0 1" },
	{ "I5", CLEAN "start 1 0 2 0 1 n2 5 3 900200" },
	{ "", CLEAN "again 1;state 1 PENDING 0 0 1;start 1 0 2 0 1 n2 5 3 900200;"
	            "end 1 0 2 0 n2 4 0 900300;state 1 FAILED 4 0 2;quiet" },
	{ "I5", CLEAN "again 1;start 1 0 2 0 1 n2 5 3 900200;end 1 0 2 0 n2 0 0 900300;"
	              "state 1 COMPLETED 0 0 2;start 1 0 3 0 1 n2 5 3 900400" },
	{ "I9", CLEAN "again 1;state 1 PENDING 0 0 1;quiet" },
	{ "", "submit 1 1 a;cancel 1;state 1 CANCELLED 0 0 0;again 1;start 1 0 1 0 1 n1 5 1 10;"
	      "end 1 0 1 0 n1 0 0 20;state 1 COMPLETED 0 0 1;quiet" },
	/* Whoever waited was told of the first end. */
	{ "", FIRST("afterok") "end 1 0 1 0 n1 0 0 20;again 1;start 1 0 2 0 1 n1 5 1 30;" SECOND(
	              40) "end 1 0 2 0 n1 7 0 90;state 1 FAILED 7 0 2;quiet" },
	{ "", "submit 1 1 a;submit 2 1 b;waits 2 afterany 1;cancel 1;" SECOND(
	              20) "again 1;start 1 0 1 0 1 n1 5 1 80;end 1 0 1 0 n1 0 0 90;" OVER },
	{ "", "submit 1 1 a;submit 2 1 b;waits 2 after 1;cancel 1;" SECOND(
	              20) "again 1;start 1 0 1 0 1 n1 5 1 80;end 1 0 1 0 n1 0 0 90;" OVER },
	{ "I16", FIRST("afterok") "again 1;" SECOND(15) "end 1 0 1 0 n1 0 0 80;" OVER },
	{ "I6", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 900010;usage 1 0 1 0 2000000" },
	{ "I6", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 5" },
	{ "I7", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 3 0 20;state 1 COMPLETED 0 0 1" },
	{ "I7", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 9 20;state 1 FAILED 0 11 1" },
	{ "I7", "submit 1 1 a;state 1 COMPLETED 0 0 1" },
	{ "I8", "start 1 0 1 0 1 n1 5 1 10;state 1 CANCELLED 0 0 1" },
	{ "I8", CLEAN "left 1 0 1 0" },
	{ "I9", "submit 1 1 a;quiet" },
	{ "", GANG "end 1 0 1 1 n2 0 0 40;state 1 COMPLETED 0 0 1;quiet" },
	{ "", GANG "end 1 0 1 1 n2 7 0 40;state 1 FAILED 7 0 1;quiet" },
	{ "", "submit 1 1 a;start 1 0 1 0 2 n1 5 1 10;end 1 0 1 0 n1 0 15 20;"
	      "start 1 0 2 0 2 n1 5 1 30;start 1 0 2 1 2 n2 5 1 30;end 1 0 2 0 n1 0 0 40;"
	      "end 1 0 2 1 n2 0 0 50;state 1 COMPLETED 0 0 2;quiet" },
	{ "I3", "start 1 0 1 0 2 n1 5 1 10;start 1 0 2 1 2 n2 5 1 20" },
	{ "I3", "start 1 0 1 1 2 n1 5 1 10;start 1 0 1 1 2 n2 5 1 20" },
	{ "I7", GANG "end 1 0 1 1 n2 7 0 40;state 1 COMPLETED 0 0 1" },
	{ "I7", GANG "end 1 0 1 1 n2 7 0 40;state 1 FAILED 9 0 1" },
	{ "I8", GANG "state 1 FAILED 0 0 1" },
	{ "I14", GANG "reboot n2 40;state 1 COMPLETED 0 0 1" },
	{ "I14", "start 1 0 1 0 2 n1 5 1 10;end 1 0 1 0 n1 0 0 20;state 1 COMPLETED 0 0 1" },
	{ "I14", "start 1 0 1 0 2 n1 5 1 10;start 1 0 1 1 2 n1 5 2 20" },
	{ "I14", "start 1 0 1 0 2 n1 5 1 10;start 1 0 1 1 3 n2 5 1 20" },
	{ "I14", "start 1 0 1 2 2 n1 5 1 10" },
	{ "I3", "stop 1 0 1 0" },
	{ "", GANG "suspend 1;stop 1 0 1 1;state 1 SUSPENDED 0 0 1;end 1 0 1 1 n2 0 0 40;"
	           "state 1 COMPLETED 0 0 1;quiet" },
	{ "I15", "start 1 0 1 0 1 n1 5 1 10;stop 1 0 1 0;state 1 SUSPENDED 0 0 1" },
	{ "I15", "suspend 1;start 1 0 1 0 1 n1 5 1 10;state 1 SUSPENDED 0 0 1" },
	{ "I15", "suspend 1;start 1 0 1 0 2 n1 5 1 10;start 1 0 1 1 2 n2 5 1 10;stop 1 0 1 1;"
	         "state 1 SUSPENDED 0 0 1" },
	{ "I12", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 20;start 2 0 1 0 1 n1 4 1 30" },
	/* arrays */
	{ "", ARRAY("0") "start 1 4 1 0 1 n1 5 2 10;end 1 4 1 0 n1 3 0 30;state 1_4 FAILED 3 0 1;"
	                 "end 1 0 1 0 n1 0 0 40;state 1_0 COMPLETED 0 0 1;kill 1_8;cancel 1_8;"
	                 "state 1_8 CANCELLED 0 0 0;quiet" },
	{ "", ARRAY("1") "end 1 0 1 0 n1 0 0 20;start 1 4 1 0 1 n2 5 1 30" },
	{ "", ARRAY("1") "throttle 1 2;start 1 4 1 0 1 n2 5 1 30" },
	{ "I3", ARRAY("0") "start 1 0 2 0 1 n2 5 1 20" },
	{ "I5", ARRAY("0") "state 1_8 CANCELLED 0 0 0;start 1 8 1 0 1 n2 5 1 20" },
	{ "I7", ARRAY("0") "state 1_4 COMPLETED 0 0 1" },
	{ "I9", ARRAY("0") "state 1_4 CANCELLED 0 0 0;end 1 0 1 0 n1 0 0 20;"
	                   "state 1_0 COMPLETED 0 0 1;quiet" },
	{ "I17", ARRAY("1") "start 1 4 1 0 1 n2 5 1 30" },
	{ "I17", ARRAY("2") "throttle 1 1;start 1 4 1 0 1 n2 5 1 30;start 1 8 1 0 1 n2 5 2 30" },
	{ "I17", ARRAY("0") "start 1 3 1 0 1 n2 5 1 30" },
	/* job 2 waits for job 1 */
	{ "", FIRST("afterok") "end 1 0 1 0 n1 0 0 50;" SECOND(60) OVER },
	{ "I16", FIRST("afterok") "end 1 0 1 0 n1 0 0 50;" SECOND(40) OVER },
	{ "I16", FIRST("afternotok") "end 1 0 1 0 n1 0 0 50;" SECOND(60) OVER },
	{ "I16", FIRST("afterok") "end 1 0 1 0 n1 0 0 50;state 2 CANCELLED 0 0 0;" OVER },
	{ "", FIRST("afternotok") "end 1 0 1 0 n1 0 0 50;state 2 CANCELLED 0 0 0;" OVER },
	{ "", FIRST("afterok") "end 1 0 1 0 n1 0 0 50;kill 2;state 2 CANCELLED 0 0 0;" OVER },
	{ "", FIRST("afternotok") "stays 2;end 1 0 1 0 n1 0 0 50;" OVER },
	{ "I16",
	        FIRST("afternotok") "stays 2;end 1 0 1 0 n1 0 0 50;state 2 CANCELLED 0 0 0;" OVER },
	{ "I9", FIRST("afterok") "stays 2;end 1 0 1 0 n1 0 0 50;" OVER },
	{ "I9", FIRST("afternotok") "end 1 0 1 0 n1 0 0 50;" OVER },
	{ "", FIRST("after") "end 1 0 1 0 n1 0 0 50;" SECOND(20) OVER },
	{ "I16", FIRST("after") "end 1 0 1 0 n1 0 0 50;" SECOND(5) OVER },
	{ "", FIRST("afternotok") "any 2;waits 2 afterany 1;end 1 0 1 0 n1 0 0 50;" SECOND(60)
	                OVER },
	{ "I16", FIRST("afternotok") "any 2;waits 2 afterany 1;end 1 0 1 0 n1 0 0 50;" SECOND(40)
	                 OVER },
	/* the tasks of 2 wait for those of 1 */
	{ "", CORR "start 2 0 1 0 1 n2 5 1 50;end 2 0 1 0 n2 0 0 60;state 2_0 COMPLETED 0 0 1;"
	           "state 2_4 CANCELLED 0 0 0;quiet" },
	{ "I16", CORR "start 2 4 1 0 1 n2 5 1 50;end 2 4 1 0 n2 0 0 60;state 2_4 COMPLETED 0 0 1;"
	              "state 2_0 CANCELLED 0 0 0;quiet" },
	{ "", "alone 1 x;alone 2 x;submit 1 7 a;submit 2 7 b;" TWO(20, 30) },
	{ "", "alone 1 x;alone 2 x;submit 1 7 a;submit 2 8 b;" TWO(15, 30) },
	{ "I16", "alone 1 x;alone 2 x;submit 1 7 a;submit 2 7 b;" TWO(15, 30) },
	{ "I16", "submit 1 7 a;array 1 0-1 0;alone 1 x;start 1 0 1 0 1 n1 5 1 10;"
	         "start 1 1 1 0 1 n2 5 1 15;end 1 0 1 0 n1 0 0 20;end 1 1 1 0 n2 0 0 30;"
	         "state 1_0 COMPLETED 0 0 1;state 1_1 COMPLETED 0 0 1;quiet" },
	/* coming back, begin, deadline, promises */
	{ "", BACK "start 1 0 2 0 1 n1 5 1 120;end 1 0 2 0 n1 3 0 130;state 1 FAILED 3 0 2;quiet" },
	{ "I18", BACK "start 1 0 2 0 1 n1 5 1 119;" },
	{ "", "again 1;" BACK "start 1 0 2 0 1 n1 5 1 119;" },
	{ "", "health n1 requeue;fault n1 1;" BACK "start 1 0 2 0 1 n1 5 1 119;" },
	{ "I18", "health n1 run;fault n1 1;" BACK "start 1 0 2 0 1 n1 5 1 119;" },
	{ "I18", BACK "state 1 FAILED 3 0 1;quiet" },
	{ "", "health n1 end;fault n1 1;" BACK "state 1 FAILED 3 0 1;quiet" },
	{ "I18", "health n1 run;fault n1 1;" BACK "state 1 FAILED 3 0 1;quiet" },
	{ "I18", "health n1 end;fault n1 2;" BACK "state 1 FAILED 3 0 1;quiet" },
	{ "", BACK "state 1 TIMEOUT 3 0 1;quiet" },
	{ "I18",
	        BACK "start 1 0 2 0 1 n1 5 1 120;end 1 0 2 0 n1 3 0 130;start 1 0 3 0 1 n1 5 1 400;"
	             "end 1 0 3 0 n1 0 0 430;state 1 COMPLETED 0 0 3;quiet" },
	{ "I18", "attempts 1 3;" BACK
	         "attempts 1 3;start 1 0 2 0 1 n1 5 1 120;end 1 0 2 0 n1 3 0 130;"
	         "start 1 0 3 0 1 n1 5 1 329" },
	{ "", BACK "reboot n1 30;start 1 0 2 0 1 n1 5 1 40" },
	{ "I1", "submit 1 1 a;cancel 1;start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 20;"
	        "start 1 0 2 0 1 n1 5 1 30" },
	/* Two orders of one attempt were under way; heard of the other way round. */
	{ "", "submit 1 1 a;cancel 1;books 1 0 1 0 n1;books 1 0 1 1 n2;start 1 0 1 1 2 n2 5 1 10;"
	      "start 1 0 1 0 2 n1 5 1 20" },
	{ "I20", "submit 1 1 a;begin 1 20;start 1 0 1 0 1 n1 5 1 19" },
	{ "I20", "submit 1 1 a;state 1 DEADLINE 0 0 0" },
	{ "", "submit 1 1 a;deadline 1;state 1 DEADLINE 0 0 0;quiet" },
	{ "I19", "start 1 0 1 0 1 n1 5 1 10;end 1 0 1 0 n1 0 0 20;quiet" },
	{ "I26", "submit 1 1 a;stale 1 0 1 0" },
	/* parts of GPUs */
	{ "", "card n1 0 100;" PART(1, 600, 50)
	                PART(2, 400, 50) "end 2 0 1 0 n1 0 0 20;" PART(3, 400, 50) },
	{ "", PART(1, 600, 50) "end 1 0 1 0 n1 0 0 30;start 2 0 1 0 1 n1 5 1 40" },
	{ "I4", PART(1, 600, 0) PART(2, 401, 0) },
	{ "I4", "card n1 0 100;" PART(1, 0, 60) PART(2, 0, 41) },
	{ "I4", PART(1, 600, 0) "start 2 0 1 0 1 n1 5 1 20" },
	{ "I4", "start 2 0 1 0 1 n1 5 1 20;" PART(1, 600, 0) },
	{ "", "apart n1;submit 1 7 a;submit 2 7 b;" PART(1, 0, 0) PART(2, 0, 0) },
	{ "I4", "apart n1;submit 1 7 a;submit 2 8 b;" PART(1, 0, 0) PART(2, 0, 0) "quiet" },
	{ "", "submit 1 7 a;submit 2 8 b;" PART(1, 0, 0) PART(2, 0, 0) },
	/* what is borrowed of GPUs */
	{ "", LENT "lent 2 CONFIGURING 1;asked 1 0 1 0;lent 1 RUNNING 1;uses 1 0 1 0 40;"
	           "excused 1 0 1 0;" BOTH("COMPLETED") },
	{ "", LENT "asked 1 0 1 0;waived 2 0 1 0;excused 1 0 1 0;uses 1 0 1 0 90" },
	{ "I25", BURST "uses 1 0 1 0 91" },
	{ "I25", LENT TAKES },
	{ "I25", LENT "asked 1 0 1 0;uses 1 0 1 0 51;" TAKES },
	{ "I25", LENT "waived 2 0 1 0;asked 1 0 1 0" },
	{ "I25", BURST "uses 1 0 1 0 50;needs 2 0 1 0 n1 1 50;asked 1 0 1 0" },
	{ "I25", BURST "needs 2 0 1 0 n1 1 50;asked 1 0 1 0" },
	{ "I25", "card n1 0 100;" PART(1, 0, 40) "needs 2 0 1 0 n1 1 70;asked 1 0 1 0" },
	{ "I25", LENT "reclaimed 1 0 1 0" },
	{ "I25", LENT "asked 1 0 1 0;excused 1 0 1 0;reclaimed 1 0 1 0" },
	{ "I25", LENT "asked 1 0 1 0;uses 1 0 1 0 40;reclaimed 1 0 1 0" },
	{ "I25", "submit 1 1 a;burst 1 90;" PART(1, 0, 40) "end 1 0 1 0 n1 0 0 30;"
	                                                   "state 1 COMPLETED 0 0 1;quiet" },
	{ "I25", BURST "lent 1 RUNNING 1" },
	{ "I25", LENT "asked 1 0 1 0;lent 1 PREEMPTED 1" },
	{ "", "reclaims cancel;" ENDED SHOWN REST },
	{ "", PREEMPTED },
	{ "I25", "reclaims cancel;" PREEMPTED },
	{ "I25", "reclaims cancel;" ENDED "state 1 PREEMPTED 0 0 1;" REST },
	{ "I25", "reclaims cancel;" LENT "waived 2 0 1 0;end 1 0 1 0 n1 0 0 30;" SHOWN },
	{ "I25", "reclaims cancel;" ENDED AGAIN "state 1 COMPLETED 0 0 2;" REST },
	{ "", "reclaims cancel;again 1;" ENDED AGAIN "state 1 COMPLETED 0 0 2;" REST },
	{ "", "reclaims requeue;" ENDED AGAIN "state 1 COMPLETED 0 0 2;" REST },
	{ "I25", "reclaims requeue;" ENDED SHOWN REST },
	{ "", "reclaims requeue;" ENDED "attempts 1 1;" SHOWN REST },
	{ "", "reclaims requeue;health n1 end;fault n1 1;" ENDED "state 1 PREEMPTED 0 0 1;" REST },
	{ "I25", "reclaims requeue;health n1 run;fault n1 1;" ENDED SHOWN REST },
	{ "I25", "reclaims requeue;health n1 end;fault n1 2;" ENDED SHOWN REST },
	/* faults of GPUs */
	{ "", "drained n1 2;start 1 0 1 0 1 n1 5 1 10;" },
	{ "I21", "drained n1 2;start 1 0 1 0 1 n1 5 3 10;" },
	{ "", LENT "drained n1 1;asked 1 0 1 0;uses 1 0 1 0 40;" TAKES },
	{ "I21", "health n1 end;fault n1 1;" LENT "told 1 0 1 0 drain;drained n1 1;asked 1 0 1 0;"
	         "uses 1 0 1 0 40;" TAKES },
	{ "I21", BURST "drained n1 1;needs 2 0 1 0 n1 1 50;" TAKES },
	{ "", "drained n1 2;returned n1 2;start 1 0 1 0 1 n1 5 3 10;" },
	{ "I21", "closed n1;start 1 0 1 0 1 n1 5 0 10;" },
	{ "", "closed n1;opened n1;start 1 0 1 0 1 n1 5 0 10;" },
	{ "I21", "drained n1 1;closed n1;opened n1;start 1 0 1 0 1 n1 5 1 10;" },
	{ "", "health n1 run;start 1 0 1 0 1 n1 5 1 10;fault n1 1;drained n1 1;" },
	{ "I22", "health n1 end;start 1 0 1 0 1 n1 5 1 10;fault n1 1;drained n1 1;" },
	{ "I22", "health n1 requeue;start 1 0 1 0 1 n1 5 1 10;closed n1;" },
	{ "", "health n1 end;start 1 0 1 0 1 n1 5 1 10;fault n1 3;told 1 0 1 0 drain;drained n1 "
	      "3;" },
	{ "", "health n1 end;start 1 0 1 0 1 n1 5 1 10;drained n1 2;" },
	{ "I22", "health n1 end;start 1 0 1 0 1 n1 5 1 10;fault n1 2;told 1 0 1 0 drain" },
	{ "I22", "health n1 run;start 1 0 1 0 1 n1 5 1 10;fault n1 1;told 1 0 1 0 drain" },
	{ "", "health n1 run;start 1 0 1 0 1 n1 5 1 10;fault n1 1;told 1 0 1 0 cancel" },
	{ "", "health n2 end;fault n2 1;start 1 0 1 0 2 n1 5 1 10;start 1 0 1 1 2 n2 5 1 10;"
	      "told 1 0 1 0 drain" },
	{ "", "kept n1 0" },
	{ "I23", "kept n1 4" },
	/* what controller and node say of their runs */
	{ "", HEARD RUNS "looked n1 100;" RUNS "looked n1 200;" },
	{ "", HEARD "books 1 0 1 0 n1;looked n1 100;books 1 0 1 0 n1;looked n1 119;" RUNS
	            "looked n1 120;books 1 0 1 0 n1;looked n1 130" },
	{ "I24", HEARD "books 1 0 1 0 n1;looked n1 100;books 1 0 1 0 n1;looked n1 120;" },
	{ "I24", HEARD "tells 1 0 1 0 n1;looked n1 100;tells 1 0 1 0 n1;looked n1 120;" },
	{ "I24", HEARD "looked n1 100;looked n1 120;" },
	{ "I24", HEARD "books 1 0 1 0 n1;looked n1 100;tells 1 0 1 0 n1;looked n1 120;" },
	{ "", HEARD "looked n1 100;parted n1;contact n1 115;looked n1 115;looked n1 134" },
	{ "I24", HEARD "looked n1 100;parted n1;contact n1 115;looked n1 115;looked n1 135" },
	{ "I24", HEARD RUNS "looked n1 100;end 1 0 1 0 n1 0 0 110;" RUNS "looked n1 111;" RUNS
	                    "looked n1 131;" },
	{ "", HEARD RUNS "looked n1 100;end 1 0 1 0 n1 0 0 110;" RUNS "looked n1 111;"
	                 "looked n1 131;" },
	{ "", HEARD "contact n2 60;" RUNS "looked n1 100;looked n2 100;" RUNS
	            "looked n1 130;looked n2 130" },
	{ "I24", HEARD "contact n2 60;books 1 0 1 0 n2;looked n2 100;books 1 0 1 0 n2;"
	               "looked n2 120" },
	{ "I24", "heartbeat 10;looked n1 100" },
	/* a restored state */
	{ "", OWED "billed 1 0 1 0 900000;quiet" },
	{ "I28", OWED "quiet" },
	{ "I28", OWED "billed 1 0 1 0 700000;quiet" },
	{ "I28", OWED "billed 1 0 1 0 1100000;quiet" },
	{ "", OWED "billed 1 0 1 0 1100000;unowed 1 0 1 0;quiet" },
	{ "I28", OWED "unowed 1 0 1 1;quiet" },
	{ "I28", RAN "billed 1 0 1 0 900000;restored;owed 1 0 1 0;quiet" },
	{ "", RAN "billed 1 0 1 0 900000;copied;restored;owed 1 0 1 0;quiet" },
	/* steps */
	{ "", STEP "lists 1 0 1 0;stepruns 1 0 1 0;" DONE KEPT("state") STEP_OVER
	      KEPT("history") "quiet" },
	{ "", STEP DONE "restored;counted;quiet" },
	{ "I29", STEP DONE "counted" },
	{ "I29", STEP DONE KEPT("state") "counted" },
	{ "I29", STEP DONE "keptstep state 1 0 1 0 COMPLETED 0 0 ab;counted" },
	{ "I29", STEP DONE "keptstep state 1 0 1 0 FAILED 3 0 ac;counted" },
	{ "I29", STEP "stepends 1 0 1 0 FAILED 3 0 ab;" KEPT("state") STEP_OVER CUT("state") },
	{ "I29", STEP DONE "keptstep history 1 0 1 0 FAILED 3 0 ab;" KEPT("history") },
	{ "I29", KEPT("state") },
	{ "I29", STEP CUT("state") },
	{ "I29", STEP DONE STEP_OVER KEPT("state") "quiet" },
	{ "I29", STEP DONE STEP_OVER KEPT("history") CUT("history") },
	{ "", STEP STEP_OVER CUT("history") "quiet" },
	{ "", STEP DONE STEP_OVER KEPT("history") "quiet" },
	{ "", STEP STEP_OVER CUT("history") "stepends 1 0 1 0 FAILED 3 0 ab;" CUT("history")
	      KEPT("history") "quiet" },
	/* the row of state.db is the younger one */
	{ "", STEP DONE STEP_OVER "keptstep history 1 0 1 0 CANCELLED 0 0 1;" KEPT("state") },
	{ "", "begun;" STEP "stepruns 1 0 1 0;" STEP_OVER CUT("history") "quiet" },
	{ "I29", "begun;" STEP "stepruns 1 0 1 0;" STEP_OVER "counted;quiet" },
	{ "", "begun;" STEP "stepruns 1 0 1 0;begun;" STEP_OVER "counted;quiet" },
	{ "I30", ALIVE "lists 1 0 1 0" },
	{ "I30", STEP DONE "lists 1 0 1 0" },
	{ "I30", STEP STEP_OVER "lists 1 0 1 0" },
	{ "I30", STEP "end 1 0 1 0 n1 0 0 20;start 1 0 2 0 1 n1 5 1 30;lists 1 0 1 0" },
	{ "", STEP "end 1 0 1 0 n1 0 0 20;lists 1 0 1 0" },
	{ "", "maxsteps 1;" STEP "lists 1 0 1 0" },
	{ "I31", "maxsteps 1;" ALIVE "step 1 0 1 1;lists 1 0 1 1" },
	{ "I31", "maxsteps 1;" ALIVE "stepends 1 0 1 1 FAILED 3 0 ab;"
	         "keptstep state 1 0 1 1 FAILED 3 0 ab" },
	{ "", SERVICE "isservice s 1 0 0;generation s 1;slot 1 0 1 0 1;slots" },
	{ "I32", SERVICE TWO_SLOTS("1 0 0", "0 1") "slots" },
	{ "", SERVICE TWO_SLOTS("1 1 0", "0 1") "slots" },
	{ "", SERVICE TWO_SLOTS("1 0 0", "1 0") "slots" },
	{ "", SERVICE TWO_SLOTS("2 0 0", "0 1") "slots;" TWO_SLOTS("1 0 0", "0 1") "slots" },
	{ "", SERVICE "start 1 0 1 0 1 n1 5 1 10;keptrun 1 0 1 0 0;serves 1 0 1" },
	{ "I33", SERVICE "start 1 0 1 0 1 n1 5 1 10;serves 1 0 1" },
	{ "I33", SERVICE "start 1 0 1 0 1 n1 5 1 10;keptrun 1 0 1 1 0;serves 1 0 1" },
	{ "I33", SERVICE "start 1 0 1 0 1 n1 5 1 10;keptrun 1 0 1 1 1;serves 1 0 1" },
	{ "I34", SERVICE "sheds 1 1 1;" TWO_SLOTS("2 1 2", "0 0") "slots" },
	{ "", SERVICE "sheds 1 1 1;" TWO_SLOTS("2 0 2", "0 0") "slots" },
	{ "", SERVICE "sheds 1 1 1;" TWO_SLOTS("2 1 1", "0 0") "slots" },
	{ "I35", SERVICE "isservice s 2 0 0;generation s 1;slot 1 0 1 0 1;slot 1 0 2 0 0;slots" },
	{ "I36", SERVICE "slots" },
	{ "", SERVICE "endservice s;slots;noservice s;slots;quiet" },
	{ "I36", SERVICE "noservice s" },
	{ "I36", SERVICE "endservice s;start 1 0 1 0 1 n1 5 1 10;noservice s" },
	{ "I36", "takenservice s" },
	{ "I36", SERVICE "endservice s;isservice s 0 0 0;slots;quiet" },
};

static void check_case(size_t i)
{
	struct checker *c = checker_new();
	char *copy = strdup(cases[i].facts), *save = NULL, *found;
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	size_t n = strlen(cases[i].expect);

	for (char *f = strtok_r(copy, ";", &save); f; f = strtok_r(NULL, ";", &save))
		assert_int_equal(checker_fact(c, f, NULL), 0);
	checker_print(c, out);
	fclose(out);
	found = strstr(text, ": ");
	if (!n && text[0])
		fail_msg("case %zu is clean, got '%s'", i, text);
	if (n && (!found || strncmp(found + 2, cases[i].expect, n) != 0 || found[2 + n] != ':'))
		fail_msg("case %zu: expected %s, got '%s'", i, cases[i].expect, text);
	free(copy);
	checker_free(c);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(i);
}

static void test_malformed_facts(void **state)
{
	static const char *const bad[] = { "submit", "submit 1 2", "submit x 2 t", "submit 1 2 t 3",
		"start 1 0 1 0 1 n1 5 zz 3", "nothing 1", "end 1 0 1 0 n1 -1 0 3" };
	struct checker *c = checker_new();
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(checker_fact(c, bad[i], &err), -1);
	assert_int_equal(checker_facts(c), 0);
	checker_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_malformed_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
