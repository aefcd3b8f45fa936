# rslurm's own calls: a function over the rows of a table, as an array
suppressMessages(library(rslurm))
what <- commandArgs(trailingOnly = TRUE)[1]
say <- function(...) cat(sprintf(...), "\n", sep = "")
rows <- data.frame(x = 1:6)
options <- list(time = "5", partition = "batch")

if (what == "work") {
  job <- slurm_apply(function(x) x^2, rows, jobname = "rwork", nodes = 3, cpus_per_node = 2, slurm_options = options)
  out <- get_slurm_out(job, outtype = "raw", wait = TRUE)
  say("results %s completed %s", paste(unlist(out), collapse = ","), get_job_status(job)$completed)
} else if (what == "failure") {
  job <- slurm_call(function() stop("made to fail"), jobname = "rfail", slurm_options = options)
  while (!get_job_status(job)$completed) Sys.sleep(0.3)
  say("log %s", gsub("\n", " ", paste(get_job_status(job)$log, collapse = " ")))
} else if (what == "cancel") {
  job <- slurm_apply(function(x) Sys.sleep(600), rows, jobname = "rcancel", nodes = 2, cpus_per_node = 1, slurm_options = options)
  while (!"R" %in% get_job_status(job)$queue$ST) Sys.sleep(0.3)
  cancel_slurm(job)
  while (!get_job_status(job)$completed) Sys.sleep(0.3)
  say("completed")
}
