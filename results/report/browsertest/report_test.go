// SPDX-License-Identifier: MIT

package browsertest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/report/browsertest"
)

// nic is a plan on a NIC with watts, in which a mode wins.
func nic(reps int) results.Journal {
	var cells []plantest.Cell
	for i, rx := range []string{"tcp", "uring", "zcrx", "devmem", "tcp-trunc"} {
		for k, tx := range []string{"tcp", "sendfile", "msg-zerocopy"} {
			c := plantest.Cell{Cell: plantest.Modes(rx, tx), CV: .008, Gbps: []float64{92, 97, 168, 151,
				180}[i] * []float64{1,
				1.04, 1.11}[k],
				Cores: []float64{2.4, 2.35, 1.2, 1.5, 1.0}[i], TGCores: []float64{1.9, 1.5, 1.2}[k],
				Watts: []float64{182, 180, 151, 158, 149}[i] - 6*float64(k)}
			if rx == "zcrx" || rx == "devmem" {
				c.RXCopied = new(.02)
			}
			if tx == "msg-zerocopy" {
				c.TXCopied = new(0.0)
			}
			if rx == "devmem" && tx == "tcp" {
				c.Limit = plan.BySender
			}
			cells = append(cells, c)
		}
	}
	return plantest.Journal(1, reps, cells...)
}

// veth is what a machine without a NIC shows: ties, few runs, much that does not run.
func veth() results.Journal {
	var cells []plantest.Cell
	for _, rx := range []string{"tcp", "uring", "zcrx", "devmem"} {
		for _, tx := range []string{"tcp", "sendfile", "msg-zerocopy"} {
			c := plantest.Cell{Cell: plantest.Modes(rx, tx), CV: .06, Gbps: 21 + float64(len(tx)), Cores: 1.1,
				TGCores: .9}
			switch {
			case rx == "zcrx" || rx == "devmem":
				c.Gbps, c.Reason, c.Fix = 0,
					"bind-rx on veth0: operation not supported (EOPNOTSUPP): no queue management in driver veth",
					"use a NIC whose driver does memory providers: bnxt, mlx5, gve, fbnic; or the lab VM"
			case tx == "msg-zerocopy":
				c.Gbps, c.Verdict, c.Reason = 0, results.Invalid,
					"TG: the kernel copied 100.0 % of the payload of msg-zerocopy (limit 1 %)"
			}
			cells = append(cells, c)
		}
	}
	return plantest.Journal(2, 3, cells...)
}

// many is a matrix of so many cells.
func many(n int) results.Journal {
	rng := rand.New(rand.NewPCG(4, 4))
	var cells []plantest.Cell
	for i := range n {
		c := plantest.Cell{Cell: plantest.Modes([]string{"tcp", "uring", "zcrx"}[i%3],
			[]string{"tcp", "sendfile"}[i/3%2]),
			CV: .01, TGCores: 1.2,
			Gbps: 40 + 60*rng.Float64() + 30*float64(i%3), Cores: 1 + 1.5*rng.Float64()}
		c.MessageBytes = 4096 * (i/6 + 1)
		c.ID = fmt.Sprintf("%s/%s message=%d", c.RX, c.TX, c.MessageBytes)
		cells = append(cells, c)
	}
	return plantest.Journal(3, 6, cells...)
}

// page writes a report and returns its path.
func page(t *testing.T, j results.Journal) string {
	t.Helper()
	s := report.Summarize(j)
	figures, err := report.Figures(s)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.HTML(&b, s, figures); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

var views = []struct {
	name string
	browsertest.View
}{
	{"phone", browsertest.View{Width: 390, Height: 844, Phone: true}},
	{"laptop", browsertest.View{Width: 1366, Height: 768}},
	{"wide", browsertest.View{Width: 2560, Height: 1440}},
}

// keep writes a screenshot to the folder ZCBENCH_SCREENSHOTS, where that is set, for people to look
// at.
func keep(t *testing.T, name string, png []byte) {
	t.Helper()
	if len(png) < 1000 {
		t.Errorf("%s: a screenshot of %d bytes", name, len(png))
	}
	if dir := os.Getenv("ZCBENCH_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), png, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// calm holds that a page said nothing on the console, asked for nothing but itself, and does not
// scroll sideways.
func calm(t *testing.T, name string, p *browsertest.Page) {
	t.Helper()
	for _, x := range p.Problems() {
		t.Errorf("%s: %s", name, x)
	}
	for _, url := range p.Asked() {
		if !strings.HasPrefix(url, "file:///") {
			t.Errorf("%s asks for %s", name, url)
		}
	}
	var widths [2]float64
	p.Eval("[document.documentElement.scrollWidth, innerWidth]", &widths)
	if widths[0] > widths[1] {
		t.Errorf("%s: %.0f pixels wide in a window of %.0f", name, widths[0], widths[1])
	}
}

// Reports in a real browser: at three widths, light and dark.
func TestLooks(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	for name, j := range map[string]results.Journal{"nic": nic(8), "veth": veth(), "many": many(300)} {
		path := page(t, j)
		for _, v := range views {
			background := map[bool]string{}
			p := b.Open(path, v.View)
			for _, dark := range []bool{false, true} {
				v.Dark = dark
				p.View(v.View)
				title := fmt.Sprintf("%s-%s-%s", name, v.name, map[bool]string{false: "light", true: "dark"}[dark])
				calm(t, title, p)
				var seen struct {
					Background string
					Charts     []string // that are shown
					Letter     float64  // height of the chart's smallest
				}
				p.Eval(`(() => { const on = [...document.querySelectorAll("#cost_rate svg.decision")].filter(s => s.getBoundingClientRect().width > 0);
					return { Background: getComputedStyle(document.body).backgroundColor, Charts: on.map(s => s.classList[1]),
						Letter: Math.min(...on.flatMap(s => [...s.querySelectorAll("text")].map(x => x.getBoundingClientRect().height))) }; })()`, &seen)
				background[dark] = seen.Background
				want := "broad"
				if v.Phone {
					want = "narrow"
				}
				if !slices.Equal(seen.Charts, []string{want}) || seen.Letter < 9 {
					t.Errorf("%s: charts %v are shown, want %s; letters of %.1f pixels", title, seen.Charts, want,
						seen.Letter)
				}
				keep(t, title+".png", p.Screenshot(name != "many"))
				if name == "nic" {
					p.Eval(`document.querySelectorAll("details.part").forEach(d => { d.open = true })`, nil)
					calm(t, title+", unfolded", p)
					keep(t, title+"-unfolded.png", p.Screenshot(true))
					p.Eval(`document.querySelectorAll("details.part").forEach(d => { d.open = false })`, nil)
				}
			}
			if background[false] == background[true] {
				t.Errorf("%s, %s: %s in the dark, too", name, v.name, background[true])
			}
		}
	}
}

// column is the texts of a column of the results that are shown.
const column = `(n => [...document.querySelectorAll("#results tbody tr:not([hidden])")].map(r => ` +
	`r.cells[n].textContent.trim()))`

// Tables are sorted and filtered by column, with the mouse and on a phone.
func TestSortsAndFilters(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	p := b.Open(page(t, veth()), views[1].View)
	shown := func(n int) (texts []string) {
		t.Helper()
		p.Eval(fmt.Sprintf("%s(%d)", column, n), &texts)
		return texts
	}
	click := func(what string) { t.Helper(); p.Eval(`document.querySelector(`+"`"+what+"`"+`).click()`, nil) }
	plan := shown(0)
	click("#results thead tr:first-child th:nth-child(4) button") // throughput
	falls := shown(3)
	numbers := func(texts []string) (out []string) {
		return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "-" })
	}
	if n := numbers(falls); len(n) != 4 ||
		!slices.IsSortedFunc(n, func(a, b string) int { return strings.Compare(b, a) }) || falls[4] != "-" {
		t.Errorf("sorted by throughput: %v", falls)
	}
	click("#results thead tr:first-child th:nth-child(4) button")
	if rises := shown(3); !slices.IsSorted(numbers(rises)) || rises[0] == "-" {
		t.Errorf("the other way round: %v", rises)
	}
	click("#results thead tr:first-child th:nth-child(4) button")
	if again := shown(0); !slices.Equal(again, plan) {
		t.Errorf("as it was: %v, want %v", again, plan)
	}
	click("#results thead tr:first-child th:nth-child(2) button") // RX mode
	if modes := shown(1); !slices.IsSorted(modes) || modes[0] != "devmem" {
		t.Errorf("by mode: %v", modes)
	}
	filter := func(n int, text string) {
		t.Helper()
		p.Eval(fmt.Sprintf(`(f => { f.value = %q; f.dispatchEvent(new Event("input")) `+
			`})(document.querySelectorAll("#results .filter input")[%d])`, text, n), nil)
	}
	frame := `#results`
	p.Eval(`document.querySelector("`+frame+
		`").closest(".scroll").previousElementSibling.querySelector("button").click()`, nil)
	filter(3, "> 0")
	if texts := shown(3); len(texts) != 4 || slices.Contains(texts, "-") {
		t.Errorf("throughput > 0: %v", texts)
	}
	filter(1, "URING")
	if texts := shown(1); len(texts) != 2 || texts[0] != "uring" {
		t.Errorf("uring: %v", texts)
	}
	var count string
	p.Eval(`document.querySelector("`+frame+
		`").closest(".scroll").previousElementSibling.querySelector(".count").textContent`, &count)
	if count != "2 of 12 rows" {
		t.Errorf("it says %q", count)
	}
	filter(3, "1000..2000")
	if texts := shown(1); len(texts) != 0 {
		t.Errorf("1000..2000: %v", texts)
	}
	calm(t, "filtered", p)

	p.View(views[0].View)
	filter(3, "")
	filter(1, "")
	p.Eval(`(s => { s.value = 3; s.dispatchEvent(new Event("change")) })(document.querySelector(".tools select"))`, nil)
	if texts := shown(3); len(numbers(texts)) != 4 || texts[11] != "-" {
		t.Errorf("on a phone: %v", texts)
	}
	calm(t, "phone, filtered", p)
	keep(t, "phone-filter.png", p.Screenshot(true))
}

// A mark that is pointed at shows its runs and says what it is; without scripts too.
func TestMarks(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	path := page(t, nic(8))
	for _, script := range []bool{true, false} {
		v := views[1].View
		v.NoScript = !script
		p := b.Open(path, v)
		p.View(views[1].View) // to ask the page
		var at struct{ X, Y float64 }
		p.Eval(`document.getElementById("decision").closest("details").open = true`, nil)
		p.Eval(`(() => { const m = document.querySelector(".broad a.best .s"); m.scrollIntoView({ block: `+
			`"center" }); const r = m.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height `+
			`/ 2 }; })()`, &at)
		p.Point(at.X, at.Y)
		var seen struct {
			Runs, Tip, Title string
			Dots             int
		}
		p.Eval(`(() => { const m = document.querySelector(".broad a.best"), tip = document.querySelector(".tip:not([hidden])"), title = m.querySelector("title"), runs = m.querySelector(".runs");
			return { Runs: getComputedStyle(runs).visibility, Dots: runs.getAttribute("d").split("M").length - 1, Tip: tip ? tip.textContent : "", Title: title ? title.textContent : "" }; })()`, &seen)
		words := seen.Tip
		if !script {
			words = seen.Title
		}
		if seen.Runs != "visible" || seen.Dots != 8 || !strings.Contains(words, "Gbit/s [") ||
			strings.Contains(words, "null") || script && seen.Title != "" {
			t.Errorf("with scripts %v: %+v", script, seen)
		}
		keep(t, fmt.Sprintf("mark-%v.png", script), p.Screenshot(false))
		calm(t, "pointed at", p)
	}
}

// Without scripts all of the page is there; printed, what is folded is, too.
func TestStatic(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	path := page(t, nic(8))
	v := views[1].View
	v.NoScript = true
	p := b.Open(path, v)
	keep(t, "static.png", p.Screenshot(true))
	p.View(views[1].View)
	var seen struct{ Rows, Tools, Sentences int }
	p.Eval(`({ Rows: document.querySelectorAll("#results tbody tr").length, Tools: `+
		`document.querySelectorAll(".tools").length, Sentences: document.querySelectorAll(".answer p").length })`,
		&seen)
	if seen.Rows != 15 || seen.Tools != 0 || seen.Sentences < 1 || seen.Sentences > 5 {
		t.Errorf("%+v", seen)
	}
	calm(t, "static", p)
	p = b.Open(path, views[1].View)
	paper := views[1].View
	paper.Printed = true
	p.View(paper)
	var printed struct {
		Tools  int
		Folded float64 // height of what is folded on a screen
	}
	p.Eval(`({ Tools: [...document.querySelectorAll(".tools, .filter")].filter(x => x.getClientRects().length > `+
		`0).length, Folded: document.querySelector("#plots .plots").getBoundingClientRect().height })`, &printed)
	if printed.Tools != 0 || printed.Folded < 100 {
		t.Errorf("on paper: %+v", printed)
	}
	keep(t, "paper.png", p.Screenshot(true))
	pdf := p.PDF()
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || bytes.Count(pdf, []byte("/Type /Page\n"))+bytes.Count(pdf,
		[]byte("/Type /Page ")) < 2 {
		t.Errorf("printed: %d bytes", len(pdf))
	}
	keep(t, "print.pdf", pdf)
	calm(t, "printed", p)
}

// factored is a matrix of many factors: names and settings are long, and all have watts.
func factored() results.Journal {
	var cells []plantest.Cell
	for i, rx := range []string{"tcp", "zcrx", "tcp-mmap"} {
		for k, tx := range []string{"tcp", "msg-zerocopy"} {
			for m, message := range []int{65536, 1 << 20} {
				c := plantest.Cell{Cell: plantest.Modes(rx, tx), CV: .01, Gbps: 92 + 30*float64(i) + 3*float64(m),
					Cores: 2.4 - .5*float64(i), TGCores: 1.9 - .3*float64(k), Watts: 182 - 8*float64(i)}
				c.MessageBytes, c.MTU, c.RXBufLen = message, 9000, 32768*(m+1)
				c.Congestion, c.CPULayout, c.Flows, c.Queues = "bbr", "same-numa-other-core", 8, 4
				c.ID = fmt.Sprintf("%s/%s message=%d hw_gro=on rx_buf_len=%d congestion=bbr flows=8 queues=4 mtu=9000",
					rx, tx, message, c.RXBufLen)
				cells = append(cells, c)
			}
		}
	}
	return plantest.Journal(5, 8, cells...)
}

// cut lists the tables of which a column cannot be seen without scrolling, by their headings.
const cut = `[...document.querySelectorAll("table")].filter(t => t.getBoundingClientRect().width > 0 &&
	t.getBoundingClientRect().right > document.body.getBoundingClientRect().right - parseFloat(getComputedStyle(document.body).paddingRight) + 1)
	.map(t => Math.ceil(t.getBoundingClientRect().width) + ": " + [...t.querySelectorAll("thead th")].map(h => h.innerText.replaceAll("\n", " ")).join("|"))`

// Windows of 1300 pixels and of 800 show every column of every table.
func TestNoColumnIsCutOff(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	probed, err := results.ReadFigures("../testdata/probed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, j := range map[string]results.Journal{"nic": nic(8), "veth": veth(), "many": many(30),
		"factored": factored(), "probed": probed} {
		path := page(t, j)
		for _, width := range []int{1300, 800} {
			title := fmt.Sprintf("%s-%d", name, width)
			p := b.Open(path, browsertest.View{Width: width, Height: 1000})
			p.Eval(`document.querySelectorAll("details").forEach(d => { d.open = true })`, nil)
			calm(t, title, p)
			var tables []string
			p.Eval(cut, &tables)
			for _, x := range tables {
				t.Errorf("%s: wider than the page: %s", title, x)
			}
			keep(t, title+".png", p.Screenshot(true))
		}
	}
}
