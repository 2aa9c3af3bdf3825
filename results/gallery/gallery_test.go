// SPDX-License-Identifier: MIT

package gallery

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/share"
)

var update = flag.Bool("update", false, "write docs/hardware.md and its pictures anew")

// all are the files that there are.
func all(t *testing.T) (handed []HandedIn, published []Published) {
	t.Helper()
	names, err := filepath.Glob("../hardware/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := share.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		handed = append(handed, HandedIn{filepath.Base(name), f})
	}
	if names, err = filepath.Glob("../reference/*.csv"); err != nil || len(names) < 6 {
		t.Fatalf("%d published files, %v", len(names), err)
	}
	for _, name := range names {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := results.ReadRuns(in)
		in.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		published = append(published, Published{filepath.Base(name), runs})
	}
	return handed, published
}

// docs/hardware.md and its pictures are what make gallery draws:
//
//	go test ./results/gallery -run TestPage -update
func TestPage(t *testing.T) {
	page, pictures := Page(all(t))
	files := map[string][]byte{"../../docs/hardware.md": []byte(page)}
	for _, p := range pictures {
		files["../../docs/images/"+p.Name] = p.SVG
	}
	for path, want := range files {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is drawn of the files: make gallery (%v)", path, err)
		}
	}
	drawn, _ := filepath.Glob("../../docs/images/hardware-*.svg")
	if len(drawn) != len(pictures) {
		t.Errorf("%d pictures, of which %d are of the page", len(drawn), len(pictures))
	}
}

// Every published figure names its source, and none is ours.
func TestPublished(t *testing.T) {
	_, published := all(t)
	for _, p := range published {
		for _, r := range p.Runs {
			if len(r.Source) < 20 || !strings.Contains(fmt.Sprint(r.Flags), "published") {
				t.Errorf("%s: %s: source %q, flags %q", p.Name, r.RunID, r.Source, r.Flags)
			}
		}
	}
}

func handedIn(driver, kernel string) HandedIn {
	zero := 0.0
	zcrx, tcp := plantest.Modes("zcrx", "tcp"), plantest.Modes("tcp", "tcp")
	slow := zcrx
	slow.PacePercent, slow.PaceBitsPS, slow.ID = 50, 30e9, "zcrx/tcp 50"
	j := plantest.Journal(3, 8, plantest.Cell{Cell: tcp, Gbps: 62, Cores: 2, TGCores: 1, CV: .01},
		plantest.Cell{Cell: slow, Gbps: 30, Cores: .3, TGCores: .5, CV: .01, RXCopied: &zero},
		plantest.Cell{Cell: zcrx, Gbps: 92, Cores: 1, TGCores: 1, CV: .01, RXCopied: &zero})
	for i := range j.Records {
		for k, h := range []*results.Host{&j.Records[i].SUT, &j.Records[i].TG} {
			h.Env = measure.Env{BootID: fmt.Sprint(k), Kernel: kernel, Driver: driver, CPUModel: "Example <CPU> | 1",
				CPUs: 16}
		}
	}
	f := share.Of(j, nil)
	return HandedIn{f.Name(), f}
}

// Files that are handed in are drawn by NIC, kernel and mode; without any the page says that there
// are none.
func TestHandedIn(t *testing.T) {
	_, published := all(t)
	page, pictures := Page(nil, published)
	if !strings.Contains(page, "No run on hardware was handed in yet") || strings.Contains(page, "hardware-cost.svg") ||
		len(pictures) != 1 {
		t.Errorf("%d pictures of none; %s", len(pictures), page)
	}
	a, b := handedIn("mlx5_core", "6.17.0"), handedIn("bnxt_en", "6.18.0")
	page, pictures = Page([]HandedIn{a, b}, published)
	for _, want := range []string{"### bnxt_en, Linux 6.18.0", "### mlx5_core, Linux 6.17.0",
		"| zcrx | tcp | touch=read pace=50% | 30 [", "| 0 % | 8 ok |", `CPU Example &lt;CPU&gt; ? 1`,
		"images/hardware-cost.svg",
		"results/hardware/" + a.Name} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "No run on hardware") || len(pictures) != 2 ||
		strings.Index(page, "bnxt_en") > strings.Index(page, "mlx5_core, Linux") {
		t.Errorf("%d pictures", len(pictures))
	}
	svg := string(pictures[0].SVG)
	for _, want := range []string{"zcrx ← tcp, mlx5_core, Linux 6.17.0", "tcp ← tcp, bnxt_en, Linux 6.18.0",
		`class="curve c`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if again, _ := Page([]HandedIn{b, a}, published); again != page {
		t.Error("the order of the files changes the page")
	}
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "!") || line == "" {
			continue
		}
		if len([]rune(line)) > 400 {
			t.Errorf("%q", line)
		}
	}
}

// A hostile file gets no link, tag, heading or cell into the page.
func TestHostile(t *testing.T) {
	const evil = "# [go](https://e.example) <b>x</b> **a** _b_ `c` ~~d~~ | e & www.e.example \\"
	f := handedIn("mlx5_core", "6.17.0")
	for i := range f.SUT {
		f.SUT[i].Value = evil
	}
	f.SUT = append(f.SUT, share.Fact{Name: "nic/MTU", Value: evil})
	f.Tool, f.Name, f.Date = evil, evil, evil
	for i := range f.Cells {
		for k := range f.Cells[i].Settings {
			f.Cells[i].Settings[k].Value = evil
		}
	}
	r := results.Record{RunID: "1", Source: evil}
	r.Cell.RX, r.Cell.ID, r.SUT.ThroughputGbps = evil, evil, new(1.0)
	r.SUT.Env.Kernel, r.SUT.Env.Driver, r.SUT.Env.CPUModel = evil, evil, evil
	packets := r
	packets.SUT.PacketsPerS = new(1.0)
	page, _ := Page([]HandedIn{f}, []Published{{evil, []results.Record{r}}, {"b.csv", []results.Record{packets}}})
	for _, bad := range []string{"[go]", "(https://", "<b>", " **a", " _b_", " `c`", " ~~", " | e &", " & ", " www.e",
		"\n# ["} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is in\n%s", bad, page)
		}
	}
	if n := strings.Count(page, `\[go\](https\://e.example) &lt;b&gt;`); n < 12 {
		t.Errorf("shown %d times:\n%s", n, page)
	}
	for _, x := range [][2]string{{"-", `\-`}, {"##", `\##`}, {"1.", `1\.`}, {"12)", `12\)`}, {"1.5", "1.5"},
		{"a", "a"}} {
		if got := within(x[0]); got != x[1] {
			t.Errorf("%s at the beginning of a line: %s", x[0], got)
		}
	}
}

// Curves that the picture has no place for are counted below it.
func TestManyCurves(t *testing.T) {
	var handed []HandedIn
	for i := range report.MostSeries {
		handed = append(handed, handedIn("mlx5_core", fmt.Sprintf("6.%d.0", i)))
	}
	few := costPicture(handed[:report.MostSeries/2])
	if bytes.Contains(few.SVG, []byte("left out")) {
		t.Error("all are drawn, and some are said not to be")
	}
	if many := costPicture(handed); !bytes.Contains(many.SVG, fmt.Appendf(nil, "%d more curves are left out",
		report.MostSeries)) {
		t.Error("not said what is left out")
	}
}
