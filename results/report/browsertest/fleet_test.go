// SPDX-License-Identifier: MIT

package browsertest_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/fleet"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report/browsertest"
)

// fleetPage writes the page of so many pairs with so many cells. Hosts have long names; every
// fifth pair has an old firmware and is slow, one failed, and one has no results.
func fleetPage(t *testing.T, pairs, cells int) string {
	t.Helper()
	dir := t.TempDir()
	var dirs []fleet.Place
	for i := range pairs {
		var made []plantest.Cell
		for k := range cells {
			c := plantest.Cell{Cell: plantest.Modes([]string{"tcp", "uring", "zcrx"}[k%3],
				[]string{"tcp", "sendfile"}[k/3%2]),
				CV: .004, Gbps: 40 + 10*float64(k), Cores: 1, TGCores: 1}
			c.MessageBytes = 4096 << (k / 6)
			c.ID = fmt.Sprintf("%s/%s message=%d rx_buf_len=32K cpu_layout=spread", c.RX, c.TX, c.MessageBytes)
			if i%5 == 2 {
				c.Gbps *= .9
			}
			if i == 1 {
				c.Gbps, c.Verdict, c.Reason, c.Fix = 0, results.Failed,
					"connect to the sender at 192.0.2.17 port 40213: no route to host (EHOSTUNREACH)",
					"look at the cable"
			}
			made = append(made, c)
		}
		j := plantest.Journal(uint64(i), 6, made...)
		out := filepath.Join(dir, fmt.Sprintf("rack17-node%02d-rack18-node%02d", i, i))
		dirs = append(dirs, fleet.Named(out))
		if i == 3 {
			j.Records = nil
		}
		w, err := results.Create(out, j.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range j.Records {
			r.SessionID, r.RunID = fmt.Sprint("s", i), fmt.Sprint(i, r.RunID)
			for _, e := range []struct {
				h    *results.Host
				rack int
			}{{&r.SUT, 17}, {&r.TG, 18}} {
				name := fmt.Sprintf("rack%d-node%02d.zone-a.example.net", e.rack, i)
				e.h.Name = "ssh:root@" + name
				e.h.Env = measure.Env{Hostname: name, Dev: "enp1s0f0np0", Driver: "mlx5_core",
					Firmware: map[bool]string{false: "28.42.1000", true: "28.39.1002"}[i%5 == 2]}
			}
			err = errors.Join(err, w.Append(r))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	m, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "fleet.html")
	if err := results.WriteFile(path, fleet.Read(dirs, m[0], func(*results.Journal) {}).HTML); err != nil {
		t.Fatal(err)
	}
	return path
}

// A fleet's page in a real browser: one pair, many, and more cells than fit on any screen; at
// three widths, light and dark. All text is there to be reached, and columns sort.
func TestFleetLooks(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	for _, x := range []struct{ pairs, cells int }{{1, 1}, {30, 6}, {12, 70}} {
		path := fleetPage(t, x.pairs, x.cells)
		for _, v := range views {
			p := b.Open(path, v.View)
			background := map[bool]string{}
			for _, dark := range []bool{false, true} {
				v.Dark = dark
				p.View(v.View)
				title := fmt.Sprintf("fleet-%dx%d-%s-%s", x.pairs, x.cells, v.name,
					map[bool]string{false: "light", true: "dark"}[dark])
				calm(t, title, p)
				var seen struct {
					Background string
					Rows       int
					Off        []string // texts that stand outside of the window, and of what scrolls
				}
				p.Eval(`({ Background: getComputedStyle(document.body).backgroundColor, Rows: document.querySelectorAll("#pairs tbody tr").length,
					Off: [...document.querySelectorAll("h1, h2, p, li, td, th")].filter(e => !e.closest("thead"))
						.filter(e => { const r = e.getBoundingClientRect(), s = e.closest(".scroll"); return r.width > 0 && (r.left < -1 || r.right > innerWidth + 1 && !(s && getComputedStyle(s).overflowX === "auto")); })
						.map(e => e.textContent.slice(0, 40)) })`, &seen)
				background[dark] = seen.Background
				if seen.Rows != x.pairs || len(seen.Off) > 0 {
					t.Errorf("%s: %d rows; outside of the window: %q", title, seen.Rows, seen.Off)
				}
				keep(t, title+".png", p.Screenshot(x.cells < 10))
				p.Eval(`document.querySelectorAll("details").forEach(d => { d.open = true })`, nil)
				calm(t, title+", unfolded", p)
				p.Eval(`document.querySelectorAll("details").forEach(d => { d.open = false })`, nil)
			}
			if background[false] == background[true] {
				t.Errorf("%s: %s in the dark, too", v.name, background[true])
			}
		}
	}
}

// The pairs of a fleet are sorted by how far they are off, with and without scripts they are all
// there.
func TestFleetSorts(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	path := fleetPage(t, 30, 6)
	off := `[...document.querySelectorAll("#pairs tbody tr:not([hidden])")].map(r => r.cells[5].textContent.trim())`
	var plain, sorted []string
	v := views[1].View
	v.NoScript = true
	p := b.Open(path, v)
	p.View(views[1].View) // to ask the page
	p.Eval(off, &plain)
	p = b.Open(path, views[1].View)
	p.Eval(`document.querySelector("#pairs thead tr:first-child th:nth-child(6) button").click()`, nil)
	p.Eval(off, &sorted)
	number := func(s string) (v float64) {
		fmt.Sscan(strings.NewReplacer("+", "", "−", "-", " %", "").Replace(s), &v)
		return v
	}
	known := slices.DeleteFunc(slices.Clone(sorted), func(s string) bool { return s == "-" })
	if len(plain) != 30 || len(sorted) != 30 || len(known) != 28 || !slices.IsSortedFunc(known, func(a, b string) int {
		switch x, y := number(a), number(b); {
		case x < y:
			return 1
		case x > y:
			return -1
		}
		return 0
	}) {
		t.Errorf("without scripts %q, sorted %q", plain, sorted)
	}
	if slow := known[len(known)-6:]; number(slow[0]) > -5 || number(known[len(known)-7]) < -5 {
		t.Errorf("the slow ones are not last: %q", known)
	}
	calm(t, "sorted", p)
}
