// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report/browsertest"
)

// Pages with flame graphs in a real browser: the policy refuses nothing of ours, as the console
// would say; styles are in force, and the script answers to clicks, buttons and the field.
func TestFlamesInABrowser(t *testing.T) {
	long.Test(t)
	b := browsertest.Start(t)
	dir := filepath.Join(t.TempDir(), "w")
	whyFolder(t, dir, 10, true)
	why := filepath.Join(dir, "why.html")
	for _, args := range [][]string{{"report", dir}, {"compare", "--why", dir + "@rx=tcp", dir + "@rx=tcp-trunc",
		"--flame", why}} {
		if status, out, stderr := zcbench(t, args...); status != 0 {
			t.Fatalf("%v: status %d: %s%s", args, status, out, stderr)
		}
	}
	for path, sides := range map[string]bool{filepath.Join(dir, results.ReportFile): false, why: true} {
		p := b.Open(path, browsertest.View{Width: 1366, Height: 768})
		p.Eval(`document.querySelectorAll("details").forEach(d => { d.open = true })`, nil)
		var seen struct {
			Keys          []string // colours of the key's squares
			Boxes, Zoomed int
			Told          string
			Found         []string // their colours
			Widths        [2]float64
		}
		p.Eval(`(() => { const part = document.querySelector(".flamegraph"), all = [...part.querySelectorAll("g")], field = part.querySelector(".find");
			const shown = () => all.filter(g => g.getBoundingClientRect().width > 0).length;
			const out = { Keys: [...part.querySelectorAll(".key i")].map(i => getComputedStyle(i).backgroundColor), Boxes: shown() };
			const copy = all.find(g => g.dataset.n.includes("copy_to_iter")).querySelector("rect");
			out.Widths = [+copy.getAttribute("width"), 0];
			const button = part.querySelector("button[data-by=b]");
			if (button) { button.click(); out.Widths[1] = +copy.getAttribute("width"); part.querySelector("button[data-by=u]").click(); }
			copy.dispatchEvent(new Event("click")); out.Zoomed = shown();
			part.querySelector(".reset").click();
			field.value = "copy_to"; field.dispatchEvent(new Event("input"));
			out.Told = part.querySelector(".told").textContent;
			out.Found = [...part.querySelectorAll("rect.found")].map(r => getComputedStyle(r).fill);
			return out; })()`, &seen)
		if len(seen.Keys) < 2 || slices.Contains(seen.Keys, "rgba(0, 0, 0, 0)") {
			t.Errorf("%s: the key's colours are %q", path, seen.Keys)
		}
		if seen.Boxes < 4 || seen.Zoomed < 1 || seen.Zoomed >= seen.Boxes {
			t.Errorf("%s: %d boxes, %d after a click", path, seen.Boxes, seen.Zoomed)
		}
		found := map[bool]string{false: "rgb(214, 51, 108)", true: "rgb(232, 177, 0)"}[sides]
		if seen.Told == "" || len(seen.Found) == 0 ||
			slices.ContainsFunc(seen.Found, func(c string) bool { return c != found }) {
			t.Errorf("%s: found %q, in %q, want %s", path, seen.Told, seen.Found, found)
		}
		if sides && seen.Widths[0] <= seen.Widths[1] {
			t.Errorf("%s: the copy, which B does not have, is %v wide by both and by B", path, seen.Widths)
		}
		for _, x := range p.Problems() {
			t.Errorf("%s: %s", path, x)
		}
		if keep := os.Getenv("ZCBENCH_SCREENSHOTS"); keep != "" {
			if err := os.WriteFile(filepath.Join(keep, filepath.Base(path)+".png"), p.Screenshot(true),
				0o644); err != nil {
				t.Error(err)
			}
		}
		// What gets into a page as markup all the same stays without effect.
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		evil := []byte(`<script>document.title = "run"</script><style>h1 { display: none }</style><h2 id="it" ` +
			`style="display: none" onclick="document.title = 'run'">it</h2></body>`)
		if err := os.WriteFile(path, bytes.Replace(text, []byte("</body>"), evil, 1), 0o644); err != nil {
			t.Fatal(err)
		}
		p = b.Open(path, browsertest.View{Width: 1366, Height: 768})
		var shown struct {
			Title string
			Seen  bool
		}
		p.Eval(`(() => { const it = document.querySelector("#it"); it.click(); return { Title: document.title,
			Seen: it.getClientRects().length > 0 && document.querySelector("h1").getClientRects().length > 0 }; })()`,
			&shown)
		if shown.Title == "run" || !shown.Seen || len(p.Problems()) < 3 {
			t.Errorf("%s: a stranger's markup took effect: %+v; the browser refused %d parts", path, shown,
				len(p.Problems()))
		}
	}
}
