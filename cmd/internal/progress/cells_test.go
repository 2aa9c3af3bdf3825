// SPDX-License-Identifier: MIT

package progress

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

var escape = regexp.MustCompile("\x1b\\[[0-9;]*([A-Za-z])")

// screen is what a terminal shows that was sent text, and how often a line was too long for it.
func screen(t *testing.T, text string, columns int) (lines []string) {
	t.Helper()
	lines = []string{""}
	at := 0
	for text != "" {
		if m := escape.FindStringSubmatchIndex(text); m != nil && m[0] == 0 {
			n := 0
			fmt.Sscanf(text[2:], "%d", &n)
			switch text[m[2]:m[3]] {
			case "A":
				if at -= n; at < 0 {
					t.Fatalf("the cursor leaves the screen: %q", text[:min(len(text), 100)])
				}
			case "J":
				lines = lines[:at+1]
				lines[at] = ""
			}
			text = text[m[1]:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		switch r {
		case '\n':
			if at++; at == len(lines) {
				lines = append(lines, "")
			}
		case '\r':
			lines[at] = ""
		default:
			if lines[at] += string(r); utf8.RuneCountInString(lines[at]) >= columns {
				t.Errorf("%d columns: %q", columns, lines[at])
			}
		}
		text = text[size:]
	}
	return lines
}

func ran(rx, tx string, rep int, gbps float64, change ...func(*results.Record)) results.Record {
	r := results.Record{Cell: plan.Cell{ID: rx + "/" + tx, RX: rx, TX: tx}, Rep: rep, Verdict: results.OK}
	r.SUT.ThroughputGbps = &gbps
	for _, c := range change {
		c(&r)
	}
	return r
}

// play is a short plan on a terminal of so many columns and lines.
func play(p *cellProgress, during func()) {
	warm := func(r *results.Record) { r.Warmup = true }
	p.Plan(6, 90*time.Second)
	for _, r := range []results.Record{
		ran("tcp", "tcp", 0, 40, warm), ran("tcp-trunc", "sendfile", 0, 100, warm),
		ran("tcp", "tcp", 0, 42), ran("tcp-trunc", "sendfile", 0, 104), ran("tcp", "tcp", 1, 46),
		ran("tcp", "msg-zerocopy", 0, 30, func(r *results.Record) { r.Verdict, r.Expected = results.Invalid, true }),
	} {
		p.Begin(matrix.Run{Cell: r.Cell, Rep: r.Rep, Warmup: r.Warmup})
		r.Cell.MTU = 1500 // a record may say more of its cell than the plan did
		p.Done(r)
	}
	p.Done(ran("zcrx", "", 0, 0, func(r *results.Record) { r.Verdict = results.Unsupported }))
	p.Begin(matrix.Run{Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}, Rep: 2})
	during()
	p.End()
}

// What others say in mid-plan stays, above the course; it is plain text there.
func TestCellsNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &cellProgress{w: &b, size: func() (int, int) { return 80, 24 }}
		w := Beside(p, io.Discard)
		fmt.Fprint(w, "before the plan\n")
		play(p, func() {
			fmt.Fprint(w, "host a: \x1b[2J restored\nhost b: lost\n")
			time.Sleep(2 * time.Second) // it is drawn again
			synctest.Wait()
			p.change(func() {})
		})
		fmt.Fprint(w, "after it\n")
		got := strings.Join(screen(t, b.String(), 200), "\n")
		if want := `(?s)^before the plan\n6 runs, [^\n]*\nhost a: [^\x1b\n]*restored\nhost b: lost\n7 runs in ` +
			`[^\n]*\nafter it\n$`; !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("the screen is\n%s", got)
		}
	})
	var other bytes.Buffer
	if Beside(&lineProgress{}, &other) != &other {
		t.Error("lines need no care")
	}
}

func TestCells(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 24}, {80, 4}, {10, 3}, {1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := &cellProgress{w: &out, size: func() (int, int) { return size[0], size[1] }}
			var shown []string
			play(p, func() {
				time.Sleep(75*time.Second + 250*time.Millisecond)
				synctest.Wait()
				p.mu.Lock()
				defer p.mu.Unlock()
				_, lines, _ := strings.Cut(out.String(), "\n") // the first is as long as it is
				shown = screen(t, lines, size[0])
			})
			if len(shown) > max(size[1], 3) {
				t.Errorf("%v: %d lines", size, len(shown))
			}
			all := strings.Join(shown, "\n")
			if size == [2]int{80, 24} {
				for _, want := range []string{"7/6  1:15 of about 1:30  tcp from tcp, run 3",
					"> tcp        tcp            44.00 Gbit/s median of 2",
					"  tcp-trunc  sendfile      104.00 Gbit/s median of 1  ########################",
					"  tcp        msg-zerocopy copied, as always on this path"} {
					if !strings.Contains(all, want) {
						t.Errorf("no line has %q:\n%s", want, all)
					}
				}
				if strings.Contains(all, "zcrx") || len(shown) != 5 {
					t.Errorf("%d lines:\n%s", len(shown), all)
				}
			}
			if strings.Contains(out.String(), "\x1b[1m") {
				t.Error("colours that nobody asked for")
			}
			_, lines, _ := strings.Cut(out.String(), "\n")
			if left := screen(t, lines, 200); len(left) != 2 || left[0] != "7 runs in 1:15" {
				t.Errorf("%v: it leaves %q", size, left)
			}
		})
	}
}

func TestCellsColoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		play(&cellProgress{w: &out, colour: true, size: func() (int, int) { return 80, 24 }}, func() {})
		for _, want := range []string{"\x1b[1m  44.00\x1b[0m", "\x1b[32m####", "\x1b[33mcopied"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q", want)
			}
		}
	})
}

// Where no cursor can be moved, each run is a line, with the median of its cell.
func TestLinesHaveMedians(t *testing.T) {
	var out bytes.Buffer
	p := Cells(&out)
	p.Plan(3, time.Second)
	for i, v := range []float64{40, 50, 60} {
		p.Done(ran("tcp-trunc", "msg-zerocopy", i, v))
	}
	p.End()
	want := []string{"3 runs, about 1s", "#1  ", "40.0 Gbit/s (", "#2  ", "50.0 Gbit/s, median 45.0 (", "#3  ",
		"60.0 Gbit/s, median 50.0\n"}
	rest := out.String()
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("no %q in %s", w, rest)
		}
		rest = after
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 || strings.Contains(line, "\x1b") {
			t.Errorf("%q", line)
		}
	}
}
