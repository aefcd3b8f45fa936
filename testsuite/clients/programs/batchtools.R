# batchtools' own calls: a registry whose jobs go to Slurm, singly and as arrays
suppressMessages(library(batchtools))
what <- commandArgs(trailingOnly = TRUE)[1]
options(batchtools.progress = FALSE, batchtools.verbose = FALSE)
template <- system.file("templates", "slurm-simple.tmpl", package = "batchtools")
reg <- makeRegistry(file.dir = file.path(getwd(), "registry"), make.default = TRUE)
reg$cluster.functions <- makeClusterFunctionsSlurm(template = template, array.jobs = TRUE, scheduler.latency = 0.2, fs.latency = 10)
resources <- list(walltime = 300, memory = 200, ncpus = 1, partition = "batch")
say <- function(...) cat(sprintf(...), "\n", sep = "")

if (what == "work") {
  ids <- batchMap(function(x) x^2, 1:4)
  submitJobs(ids, resources = resources)
  waitForJobs(sleep = 0.3)
  say("results %s done %d", paste(unlist(reduceResultsList()), collapse = ","), nrow(findDone()))
} else if (what == "array") {
  ids <- batchMap(function(x) x + as.integer(Sys.getenv("SLURM_ARRAY_TASK_ID")) * 0, 1:5)
  ids$chunk <- 1:5
  submitJobs(ids, resources = c(resources, chunks.as.arrayjobs = TRUE))
  waitForJobs(sleep = 0.3)
  say("results %s done %d", paste(unlist(reduceResultsList()), collapse = ","), nrow(findDone()))
} else if (what == "failure") {
  ids <- batchMap(function(x) if (x == 2) stop("made to fail") else x, 1:3)
  submitJobs(ids, resources = resources)
  waitForJobs(sleep = 0.3)
  say("errors %s: %s", paste(findErrors()$job.id, collapse = ","), getErrorMessages()$message)
} else if (what == "cancel") {
  ids <- batchMap(function(x) Sys.sleep(600), 1:2)
  submitJobs(ids, resources = resources)
  while (nrow(findRunning()) < 2) Sys.sleep(0.3)
  batch <- getJobTable(ids)$batch.id
  killJobs(ids)
  while (nrow(findOnSystem()) > 0) Sys.sleep(0.3)
  say("done %d batch %s", nrow(findDone()), paste(batch, collapse = ","))
}
