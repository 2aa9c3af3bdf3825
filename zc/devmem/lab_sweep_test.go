package devmem_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/zc/labtest"
)

// figures of a run, per GB of payload.
type figures struct{ frags, recvmsg, setsockopt float64 }

// TestLabSweep measures what batches save in system calls, by `zcbench run`, all
// cells forwards and then backwards so that drift hits none of them: the table of
// docs/devmem.md.
func TestLabSweep(t *testing.T) {
	labtest.Need(t)
	if os.Getenv(longEnv) == "" {
		t.Skip("takes minutes; set " + longEnv + "=1")
	}
	type cell struct {
		read  string
		batch int
	}
	var cells []cell
	for _, read := range []string{"64M", "64K"} {
		for _, batch := range []int{1, 8, 64, 512, 1024} {
			cells = append(cells, cell{read, batch})
		}
	}
	got := map[cell][]figures{}
	for range 2 {
		for _, c := range cells {
			got[c] = append(got[c], measure(t, c.read, c.batch))
		}
		slices.Reverse(cells)
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return strings.Compare(b.read, a.read) })
	fmt.Println("| --read-size | --token-batch | frags per read | recvmsg per GB | setsockopt per GB | both per GB |\n|---|---|---|---|---|---|")
	for _, c := range cells {
		m := middle(got[c])
		fmt.Printf("| %s | %d | %.1f | %.0f | %.0f | %.0f |\n", c.read, c.batch, m.frags/m.recvmsg, m.recvmsg, m.setsockopt, m.recvmsg+m.setsockopt)
	}
	for _, read := range []string{"64M", "64K"} {
		one, many := middle(got[cell{read, 1}]), middle(got[cell{read, 512}])
		// The promise: no more calls than fragments over batch, and some for want of payload.
		if promise := many.frags/512 + one.setsockopt/10; many.setsockopt > promise {
			t.Errorf("--read-size %s: %.0f setsockopt per GB in batches of 512, promised %.0f; at once %.0f", read, many.setsockopt, promise, one.setsockopt)
		}
	}
}

// measure makes one run in the guest.
func measure(t *testing.T, read string, batch int) figures {
	t.Helper()
	cmd := exec.Command("/bin/zcbench", "run", "--sut", "netns:"+labtest.RXNS, "--tg", "netns:"+labtest.TXNS, "--rx", "devmem", "--tx", "tcp", "--dev", labtest.RXDev,
		"--duration", "4s", "--ramp-up", "1s", "--read-size", read, "--token-batch", fmt.Sprint(batch), "--json")
	out, err := cmd.Output()
	var r results.Record
	if jerr := json.Unmarshal(out, &r); jerr != nil || r.SUT.TotalBytes == nil || *r.SUT.TotalBytes == 0 {
		t.Fatalf("%v: %v %v: %s", cmd.Args, err, jerr, out)
	}
	// A busy machine may lose the window; the figures here are of the whole flow.
	if r.Verdict != results.OK && !strings.Contains(r.Reason, "window") {
		t.Fatalf("%v: %s: %s", cmd.Args, r.Verdict, r.Reason)
	}
	if *r.SUT.CopiedBytes+*r.SUT.LinearBytes != 0 {
		t.Errorf("copied %d, linear %d bytes", *r.SUT.CopiedBytes, *r.SUT.LinearBytes)
	}
	metric := func(name string) float64 {
		for _, m := range r.SUT.Metrics {
			if m.Name == name {
				return m.Value
			}
		}
		t.Fatalf("no metric %s", name)
		return 0
	}
	gb := float64(*r.SUT.TotalBytes) / 1e9
	t.Logf("read size %s, batch %d: %.3f GB, %v recvmsg, %v setsockopt", read, batch, gb, metric("devmem_recvmsg_calls"), metric("devmem_setsockopt_calls"))
	return figures{frags: metric("devmem_frags") / gb, recvmsg: (metric("devmem_recvmsg_calls") - metric("devmem_recvmsg_empty")) / gb,
		setsockopt: metric("devmem_setsockopt_calls") / gb}
}

// middle is the median of each figure.
func middle(all []figures) figures {
	med := func(of func(figures) float64) float64 {
		var v []float64
		for _, f := range all {
			v = append(v, of(f))
		}
		slices.Sort(v)
		return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return figures{med(func(f figures) float64 { return f.frags }), med(func(f figures) float64 { return f.recvmsg }), med(func(f figures) float64 { return f.setsockopt })}
}
