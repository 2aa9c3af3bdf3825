// SPDX-License-Identifier: MIT

package results_test

import (
	"fmt"
	"log"
	"os"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run is safe on disk before the next one starts; everything else is made from the journal.
func Example() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := results.Create(dir, results.Header{SessionID: "s1"})
	if err != nil {
		log.Fatal(err)
	}
	gbps := 94.2
	run := results.Record{RunID: "r1", SessionID: "s1", Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"},
		Verdict: results.OK}
	run.SUT.ThroughputGbps = &gbps
	if err := w.Append(run); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	in, err := results.OpenFolder(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	j, err := in.Read()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range j.Records {
		fmt.Println(r.Cell.ID, *r.SUT.ThroughputGbps, r.Verdict)
		fmt.Println("power was measured:", r.SUT.PowerW != nil)
	}
	if err := in.WriteCSV(j.Records); err != nil {
		log.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(f.Name())
	}
	// Output:
	// tcp/tcp 94.2 ok
	// power was measured: false
	// flows.csv
	// journal.jsonl
	// metrics.csv
	// runs.csv
	// samples.csv
}
