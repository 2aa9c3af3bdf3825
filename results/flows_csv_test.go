// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
)

// flowing is a run of as many flows as are given bytes, each with every figure.
func flowing(seq int, bytes ...uint64) Record {
	r := sample(seq)
	r.Cell.Flows, r.Verdict, r.Reason, r.Fix = len(bytes), OK, "", ""
	for _, role := range ends.Roles {
		h, sum := r.Host(role), uint64(0)
		for i, n := range bytes {
			sum += n
			f := Flow{CPU: new(2 + i), Bytes: new(n), ThroughputGbps: new(float64(n) * 8 / 1e9 / 1.5), CPUS: new(1.25),
				Retrans: new(uint64(i)), Verdict: OK, ThreadCores: new(.875)}
			if role == ends.SUT {
				f.SoftirqCPU = new(12 + i)
				f.Queue, f.Landed, f.ZeroCopyBytes, f.CopiedBytes, f.Limit = new(4+i), new(4+i), new(n), new(uint64(0)),
					plan.BySender
			} else {
				f.RwndLimited, f.SndbufLimited = new(.25), new(0.0)
			}
			h.Flows = append(h.Flows, f)
		}
		h.Bytes = new(sum)
	}
	return r
}

// The columns up to reason are a contract with scripts.
func TestFlowColumnContract(t *testing.T) {
	const want = "run_id,host,role,flow,cpu,queue,bytes,throughput_gbps,cpu_s,zero_copy_bytes,copied_bytes," +
		"retrans,verdict,reason," +
		"limit,landed_queue,thread_cores,rwnd_limited,sndbuf_limited,softirq_cpu,poller_cores,softirq_cpus," +
		"tcp_busy,app_limited,dev\n"
	var b strings.Builder
	if err := WriteFlows(&b, []Record{stopped(0)}); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("header is\n%swant\n%s", b.String(), want)
	}
}

// Each flow of each run and host has a row, also the only one of a run; what was not measured is
// empty, and what a spreadsheet would calculate, or would end a row, is text.
func TestWriteFlows(t *testing.T) {
	bad := flowing(1, 5, 7)
	bad.Verdict, bad.Reason = Invalid, "SUT: flow 1"
	bad.SUT.Flows[1].Verdict, bad.SUT.Flows[1].Reason = Invalid, "=cmd()\nlanded, on queue 3"
	bad.TG.Flows[0] = Flow{}
	var b bytes.Buffer
	if err := WriteFlows(&b, []Record{flowing(0, 3e9), bad, stopped(2)}); err != nil {
		t.Fatal(err)
	}
	golden(t, "flows.csv.golden", b.Bytes())
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+2+4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []string{
		"r000,netns:a,sut,0,2,4,3000000000,16,1.25,3000000000,0,0,ok,,sender,4,0.875,,,12",
		"r000,netns:b,tg,0,2,,3000000000,16,1.25,,,0,ok,,,,0.875,0.25,0,",
		"r001,netns:a,sut,0,2,4,5,",
		"r001,netns:a,sut,1,3,5,7,",
		"r001,netns:b,tg,0,,,,,,,,,,,,,,,,",
		"r001,netns:b,tg,1,3,,7,",
	} {
		if got := strings.Join(rows[i+1], ","); !strings.HasPrefix(got, want) {
			t.Errorf("row %d: %s, want %s", i+1, got, want)
		}
	}
	if got := rows[4][13]; got != "'=cmd() landed, on queue 3" {
		t.Errorf("reason %q", got)
	}
}

func TestFlowColumnDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| column | unit | meaning |\n|---|---|---|\n")
	for _, c := range flowColumns {
		b.WriteString("| " + c.name + " | " + c.unit + " | " + c.meaning + " |\n")
	}
	madeOf(t, "../docs/schema.md", "flow columns", b.String())
}

// A journal keeps a run's flows, and so do its figures alone.
func TestFlowsRoundTrip(t *testing.T) {
	dir := t.TempDir() + "/x"
	w, err := Create(dir, Header{SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := flowing(0, 5, 7)
	if err := w.Append(want); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(string) (Journal, error){"whole": Read, "figures": ReadFigures} {
		j, err := read(w.Path())
		if err != nil || len(j.Records) != 1 || len(j.Skipped) != 0 {
			t.Fatalf("%s: %+v, %v", name, j.Skipped, err)
		}
		got := &j.Records[0]
		if len(got.SUT.Flows) != 2 || *got.SUT.Flows[1].Queue != 5 || *got.SUT.Flows[1].Bytes != 7 ||
			*got.SUT.Flows[1].SoftirqCPU != 13 || *got.TG.Flows[0].RwndLimited != .25 || got.Cell.NFlows() != 2 {
			t.Errorf("%s: %+v", name, got.SUT.Flows)
		}
	}
}
