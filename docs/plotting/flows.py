# The flows of every cell beside each other, from a results folder: python3 flows.py out/scaling
import sys

import matplotlib.pyplot as plt
import pandas as pd

folder = sys.argv[1]
runs = pd.read_csv(f"{folder}/runs.csv")
runs = runs[(runs.verdict == "ok") & (runs.warmup != True)]  # what counts in statistics

# Beside each flow its run's cell, and what all flows of the run had together.
run = runs[["run_id", "host", "role", "cell_id", "throughput_gbps"]]
run = run.rename(columns={"throughput_gbps": "sum_gbps"})
flows = pd.read_csv(f"{folder}/flows.csv").merge(run, on=["run_id", "host", "role"])
sut = flows[flows.role == "sut"].copy()

# Is it always the same flow that is slow (its CPU, its queue), or another one each time?
sut["share"] = sut.throughput_gbps / sut.sum_gbps
print(sut.groupby(["cell_id", "flow"]).share.agg(["min", "median", "max"]))
print(sut.groupby(["cell_id", "limit"], dropna=False).size())

# Statistics are of runs: flows of one run are no samples of their own.
print(sut.groupby(["cell_id", "run_id"]).throughput_gbps.min().groupby("cell_id").median())

sut.boxplot(column="throughput_gbps", by=["cell_id", "flow"], rot=90, figsize=(12, 6))
plt.ylim(bottom=0)
plt.ylabel("Gbit/s of a flow")
plt.tight_layout()
plt.savefig("flows.png")
