/* eventkind.h - the kinds of events of the audit trail
 *
 * X(name): all that the controller writes. `gctl events --kind` takes one, or what stands before
 * its dot for all of that.
 */
#ifndef COMMON_EVENTKIND_H
#define COMMON_EVENTKIND_H

#define EVENT_KINDS(X)                                                                           \
	X("job.submit") X("job.hold") X("job.release") X("job.cancel") X("job.signal")           \
	X("job.requeue") X("job.suspend") X("job.resume") X("job.update") X("job.resign")        \
	X("job.preempt") X("job.idle") X("job.deadline") X("job.end")                            \
	X("run.adopt") X("run.learn") X("run.note") X("run.stray")                               \
	X("node.drain") X("node.resume") X("node.down") X("node.clear") X("node.fence")          \
	X("node.health") X("node.invalid") X("node.unknown") X("node.found") X("node.gpus")      \
	X("gpu.fault") X("gpu.return")                                                           \
	X("partition.state") X("cluster.capacity")                                               \
	X("controller.start") X("controller.reconfigure") X("controller.backup")                 \
	X("controller.archive") X("controller.shutdown")

#endif
