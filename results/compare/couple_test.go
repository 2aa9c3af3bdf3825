// SPDX-License-Identifier: MIT

package compare

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Couples are what was compared, each once however many figures, with the folders that they are of
// and the factor that they differ in.
func TestCouples(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	big := plan.Cell{ID: "uring/tcp mtu=9000", RX: "uring", TX: "tcp", Touch: "read", MTU: 9000}
	six := []float64{1, 2, 3, 4, 5, 6}
	s := set("s", map[plan.Cell][]float64{tcp: six, uring: six, big: six})
	s.Dir = "out/s"
	r, err := Within(&s, tcp, metrics(t, "throughput_gbps", "ns_per_kb"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.Couples() {
		if c.DirA != "out/s" || c.DirB != "out/s" || c.Asked != (len(c.Others) > 0) {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Factor+" "+c.Label()+" "+strings.Join(c.Others, ","))
	}
	slices.Sort(got)
	if want := []string{"mtu uring/tcp mtu=9000 : uring/tcp ", "rx uring/tcp : tcp/tcp "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Two that were chosen are compared as they are, and what they differ in is said.
	a, b := set("a", map[plan.Cell][]float64{tcp: six}),
		set("b", map[plan.Cell][]float64{big: {2, 4, 6, 8, 10, 12}})
	a.Chosen, b.Chosen, b.Dir = []string{"rx", "mtu"}, []string{"rx", "mtu"}, "out/b"
	r, err = Compare(&a, &b, metrics(t, "throughput_gbps"))
	if err != nil || len(r.Couples()) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	c := r.Couples()[0]
	said := strings.Join(c.Remarks(), "\n")
	for _, want := range []string{
		"A and B differ in rx, mtu together: a difference cannot be attributed to one of them",
		"A carried 3.50 Gbit/s and B 7.00, at saturation"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if c.Asked || c.DirA != "" || c.DirB != "out/b" || !slices.Equal(c.Ends(), ends.Roles[:]) {
		t.Errorf("%+v, ends %v", c, c.Ends())
	}
	if x := (&Couple{A: &a.Cells[0],
		B: &s.Cells[slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Cell.ID == uring.ID })]}); !slices.Equal(
		x.Ends(), []ends.Role{ends.SUT}) {
		t.Errorf("two receivers: %v", x.Ends())
	}
}

// Of two versions of zcbench it is said that classes may not be the same; of one, or of one and
// runs that do not say, nothing is.
func TestRemarksOnVersions(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"v0.1.0", "v0.1.0", ""}, {"v0.1.0", "", ""},
		{"v0.2.0", "v0.1.0", "the runs come from zcbench v0.1.0 and v0.2.0: their classes of CPU time may be " +
			"defined differently"},
	} {
		six := []float64{1, 2, 3, 4, 5, 6}
		a, b := set("a", map[plan.Cell][]float64{tcp: six}), set("b", map[plan.Cell][]float64{tcp: six})
		for i, s := range []*Set{&a, &b} {
			for _, r := range s.Cells[0].Runs {
				r.SUT.Env.ToolVersion = []string{x.a, x.b}[i]
			}
		}
		r, err := Compare(&a, &b, metrics(t, "throughput_gbps"))
		if err != nil || len(r.Couples()) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if said := strings.Join(r.Couples()[0].Remarks(), "\n"); said != x.want {
			t.Errorf("%q and %q: %q, want %q", x.a, x.b, said, x.want)
		}
	}
}

// A set that is read whole has the metrics, another has not, and both know their folder.
func TestLoadWhole(t *testing.T) {
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	r := results.Record{RunID: "a", SessionID: "s", Cell: tcp, Verdict: results.OK}
	r.SUT.ThroughputGbps = ptr(10.0)
	r.SUT.Metrics = []measure.Metric{{Name: "flow_calls", Unit: "1", Value: 7, Source: "data path"}}
	if err := w.Append(r); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for n, load := range map[int]func(*results.Folder) (results.Journal, error){
		0: (*results.Folder).ReadFigures, 1: (*results.Folder).Read} {
		s, err := Load(dir+"@rx=tcp", load)
		if err != nil || s.Dir != dir || s.Table || len(s.Cells[0].Runs[0].SUT.Metrics) != n {
			t.Errorf("%d metrics wanted: %+v, %v", n, s, err)
		}
	}
	ref, err := Load(filepath.Join("..", "reference", "battle-of-the-zcs.csv"), (*results.Folder).ReadFigures)
	if err != nil || ref.Dir != "" || !ref.Table {
		t.Errorf("a file of figures is of folder %q, a table: %v, %v", ref.Dir, ref.Table, err)
	}
}
