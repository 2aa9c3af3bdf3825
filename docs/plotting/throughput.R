# Throughput of every cell, from a results folder: Rscript throughput.R out/quick
folder <- commandArgs(trailingOnly = TRUE)[1]
runs <- read.csv(file.path(folder, "runs.csv"), na.strings = "") # empty: not measured
runs <- subset(runs, verdict == "ok" & warmup == "false")        # what counts in statistics
sut <- subset(runs, role == "sut")

print(aggregate(cbind(throughput_gbps, cpu_busy_cores) ~ cell_id, sut, median, na.action = na.pass)) # NA: not measured

svg("throughput.svg", width = 9, height = 5)
par(mar = c(min(16, 1 + 0.45 * max(nchar(sut$cell_id))), 4, 1, 1), las = 2) # room for the names
boxplot(throughput_gbps ~ cell_id, sut, ylim = c(0, max(sut$throughput_gbps)), xlab = "", ylab = "Gbit/s")
invisible(dev.off())
