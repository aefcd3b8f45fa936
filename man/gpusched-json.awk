# gpusched-json.awk - the fields of --json for gpusched-json.5, from common/gpusched.proto
#
# usage: awk -f man/gpusched-json.awk common/gpusched.proto
#
# A message that --json shows is in `shown` below, in the order of the page; what its fields say stands
# behind them in the .proto. testsuite/unit/test_manuals compares.

BEGIN {
	n = split("Job JobRun RunUsed GpuCount KeyValue WhyResult Why Blocker Change SubmitResult Place " \
		"Prio PrioPoints PrioFactors PrioWeights Share ShareGpus Acct AcctRun ReportLine ReportType Event " \
		"Partition GpuUse GpuShared Node NodeGpu GpuPart RunId Pong Stat " \
		"Service ServiceReplica ServiceAvoided ServiceRequest ServiceSpec JobOutput", shown, " ")
	for (i = 1; i <= n; i++)
		want[shown[i]] = 1
}

# What common/net/msgjson.c makes of it.
function kind(type, name) {
	if (type == "int64" && name ~ /^time$|_time$|^last_heard$|^since$|^recheck$|^expires$/)
		return "time"
	if (type ~ /^u?int(32|64)$|^double$/)
		return "number"
	if (type == "bool")
		return "true or false"
	return type in want ? type : "text"
}

# Words in lines of at most 76 bytes.
function wrapped(text,    words, count, line, out, k) {
	count = split(text, words, " ")
	for (k = 1; k <= count; k++) {
		if (length(line) + length(words[k]) > 75) {
			out = out line "\n"
			line = ""
		}
		line = line (line == "" ? "" : " ") words[k]
	}
	return out line "\n"
}

/^message / && $2 in want {
	inside = $2
	next
}
/^}/ { inside = "" }
inside && /^ *\/\// { next }
inside && / = [0-9]+;/ {
	remark = ""
	if (match($0, /\/\/ */))
		remark = substr($0, RSTART + RLENGTH)
	list = $1 == "repeated"
	type = list ? $2 : $1
	name = list ? $3 : $2
	body[inside] = body[inside] ".It Va " name " No (" (list ? "list of " : "") kind(type, name) ")\n" \
		(remark == "" ? "" : wrapped(remark))
}

END {
	for (i = 1; i <= n; i++)
		printf ".Ss %s\n.Bl -tag -width Ds -compact\n%s.El\n", shown[i], body[shown[i]]
}
