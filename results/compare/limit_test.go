// SPDX-License-Identifier: MIT

package compare

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Who limited the runs decides what a difference of throughput says, and of whom.
func TestUnderLimit(t *testing.T) {
	slow, fast := []float64{100, 101, 99, 100.5, 99.5, 100.2}, []float64{200, 202, 198, 201, 199, 200.4}
	uring, sendfile := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"},
		plan.Cell{ID: "tcp/sendfile", RX: "tcp", TX: "sendfile", Touch: "read"}
	mtu := tcp
	mtu.ID, mtu.MTU = "mtu", 9000
	bbr := tcp
	bbr.ID, bbr.Congestion = "bbr", "bbr"
	const sender, receiver, link = plan.BySender, plan.ByReceiver, plan.ByLink
	for _, c := range []struct {
		name           string
		b              plan.Cell
		limitA, limitB plan.LimitedBy
		gbps           []float64
		want           string
	}{
		{"receivers at their limits", uring, receiver, receiver, fast, "faster"},
		{"nothing is known", uring, "", "", fast, "faster"},
		{"receivers at the sender's", uring, sender, sender, fast, "at the sender's limit"},
		{"and equal", uring, sender, sender, slow, "at the sender's limit"},
		{"the slower one held up", uring, sender, receiver, fast, "at the sender's limit"},
		{"the faster one held up", uring, receiver, sender, fast, "faster (at the sender's limit: at least this much)"},
		{"and equal, one held up", uring, receiver, link, slow, "at the link's limit"},
		{"senders at their limits", sendfile, sender, sender, fast, "faster"},
		{"senders at the receiver's", sendfile, receiver, receiver, fast, "at the receiver's limit"},
		{"of both ends", mtu, sender, receiver, fast, "faster"},
		{"receivers at one CPU", uring, plan.ByOneCPU, plan.ByOneCPU, fast, "at the limit of one CPU for both ends"},
		{"senders at one CPU", sendfile, plan.ByOneCPU, plan.ByOneCPU, fast, "at the limit of one CPU for both ends"},
		{"the work of both ends", mtu, plan.ByOneCPU, plan.ByOneCPU, fast, "faster"},
		{"receivers at the path's", uring, plan.ByPath, plan.ByPath, fast, "at the path's limit"},
		{"receivers at the disk's", uring, plan.ByDisk, plan.ByDisk, fast, "faster"},
		{"the faster one at the disk's", uring, receiver, plan.ByDisk, fast, "faster"},
		{"senders at the disk's", sendfile, plan.ByDisk, plan.ByDisk, fast, "at the disk's limit"},
		{"congestion controls", bbr, plan.ByPath, plan.ByPath, fast, "faster"},
		{"both at the link's", mtu, link, link, fast, "at the link's limit"},
	} {
		s := set("s", map[plan.Cell][]float64{tcp: slow, c.b: c.gbps})
		for i := range s.Cells {
			for _, r := range s.Cells[i].Runs {
				if r.Limit = c.limitA; s.Cells[i].Cell.ID == c.b.ID {
					r.Limit = c.limitB
				}
			}
		}
		r, err := Within(&s, tcp, metrics(t, "throughput_gbps", "cpu_busy_cores"))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Rows[0].VerdictText(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if r.Rows[1].AtLimit != "" {
			t.Errorf("%s: a cost is at a limit", c.name)
		}
	}
	// Most runs decide, and one cell beside itself is about the whole.
	a, b := set("a", map[plan.Cell][]float64{tcp: slow}), set("b", map[plan.Cell][]float64{tcp: fast})
	for i, r := range a.Cells[0].Runs {
		if r.Limit = sender; i > 3 {
			r.Limit = receiver
		}
	}
	r, err := Compare(&a, &b, metrics(t, "throughput_gbps"))
	if err != nil || r.Rows[0].LimitA != sender || r.Rows[0].Verdict != Faster {
		t.Errorf("%+v, %v", r, err)
	}
}

// Runs that were held up by one thing or another, and hardly any by the receiver, show nothing of
// it, though no one thing held up most of them.
func TestHeldUpBySeveral(t *testing.T) {
	slow, fast := []float64{100, 101, 99, 100.5, 99.5, 100.2}, []float64{200, 202, 198, 201, 199, 200.4}
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	const sender, receiver, window = plan.BySender, plan.ByReceiver, plan.ByWindow
	for _, c := range []struct {
		name   string
		limits []plan.LimitedBy // of the runs of the slower one
		want   string
	}{
		{"half and half", []plan.LimitedBy{sender, window, sender, window, sender, window}, "at the sender's limit"},
		{"mostly the window", []plan.LimitedBy{sender, window, window, window, receiver, sender},
			"at the window's limit"},
		{"half of them the receiver", []plan.LimitedBy{sender, window, receiver, window, receiver, receiver},
			"faster"},
		{"half of them not known", []plan.LimitedBy{sender, window, "", window, "", ""}, "faster"},
	} {
		s := set("s", map[plan.Cell][]float64{tcp: slow, uring: fast})
		lower, upper := &s.Cells[0], &s.Cells[1]
		if lower.Cell.ID != tcp.ID {
			lower, upper = upper, lower
		}
		for k := range lower.Runs {
			lower.Runs[k].Limit, upper.Runs[k].Limit = c.limits[k], receiver
		}
		r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Rows[0].VerdictText(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if st := lower.Standing(upper); st.Borne() != (c.want == "faster") {
			t.Errorf("%s: its rank: %+v", c.name, st)
		}
	}
}

// The sender's layout follows the receiver's unless it has its own: then a change of the
// receiver's is about the receiver alone.
func TestSubjectsOfLayouts(t *testing.T) {
	both := []plan.LimitedBy{plan.ByReceiver, plan.BySender}
	for _, x := range []struct {
		a, b [2]string // cpu_layout, tg_cpu_layout
		want []plan.LimitedBy
	}{
		{[2]string{"1cpu", "2cpu"}, [2]string{"2cpu", "2cpu"}, both[:1]},
		{[2]string{"1cpu", "2cpu"}, [2]string{"2cpu", ""}, both[:1]},
		{[2]string{"1cpu", ""}, [2]string{"2cpu", ""}, both},
		{[2]string{"1cpu", ""}, [2]string{"1cpu", "2cpu"}, both[1:]},
	} {
		got := subjects(&plan.Cell{CPULayout: x.a[0], TGCPULayout: x.a[1]}, &plan.Cell{CPULayout: x.b[0],
			TGCPULayout: x.b[1]})
		if !slices.Equal(got, x.want) {
			t.Errorf("%v and %v: about %v, want %v", x.a, x.b, got, x.want)
		}
	}
}
