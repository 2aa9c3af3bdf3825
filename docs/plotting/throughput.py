# Throughput of every cell, from a results folder: python3 throughput.py out/quick
import sys

import matplotlib.pyplot as plt
import pandas as pd

folder = sys.argv[1]
runs = pd.read_csv(f"{folder}/runs.csv")
runs = runs[(runs.verdict == "ok") & (runs.warmup != True)]  # what counts in statistics
sut = runs[runs.role == "sut"]

print(sut.groupby("cell_id")[["throughput_gbps", "cpu_busy_cores", "ns_per_kb"]].median())

# Any figure of metrics.csv beside them: the files join on run_id and host.
metrics = pd.read_csv(f"{folder}/metrics.csv")
rtt = metrics[metrics.metric == "tcp_info_rtt_us"][["run_id", "host", "value"]].rename(columns={"value": "rtt_us"})
print(runs.merge(rtt, on=["run_id", "host"]).groupby(["cell_id", "role"]).rtt_us.median())

sut.boxplot(column="throughput_gbps", by="cell_id", rot=35, figsize=(9, 5))
plt.ylim(bottom=0)
plt.ylabel("Gbit/s")
plt.tight_layout()
plt.savefig("throughput.png")
