// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/csp"
)

//go:embed flame.js
var flameScript string

// A flame graph's measures, in pixels, and the least share of all that is drawn.
const (
	flameWidth = 1200
	flameLine  = 17
	flameLeast = .0005
	flameChar  = 6.6 // of the 11 px font
)

// flameStyle is what a page needs besides the graphs that are in it, but for the colours of keys.
const flameStyle = `svg.flame text { font: 11px monospace; pointer-events: none; } ` +
	`svg.flame rect { stroke: #fff; stroke-width: .5; cursor: pointer; }
svg.flame rect.found { fill: #d6336c; } svg.flame.dim rect:not(.found) { opacity: .45; } ` +
	`.key span { display: inline-block; margin-right: .8rem; } ` +
	`.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .2rem; }
.flamegraph .wide { overflow-x: auto; } .flamegraph input { max-width: 60vw; }`

// FlameStyle returns the style that a page needs besides the graphs that are in it, and
// [FlameScript] what makes them answer: it begins with all parts of the class flamegraph that stand
// before it. A page's policy (internal/csp) knows both by their hashes: nothing in a graph has a
// style of its own.
func FlameStyle() string {
	s := flameStyle
	for i, c := range Classes {
		if fill := flameColors[c.Class]; fill != "" {
			s += fmt.Sprintf("\n.key .k%d { background: %s; }", i, fill)
		}
	}
	return s
}

// FlameScript returns the script: see [FlameStyle].
func FlameScript() string { return flameScript }

// writeFlamePage writes a page of its own, without network, with one graph.
func writeFlamePage(w io.Writer, title string, notes []string, style string, graph func(io.Writer)) error {
	b := bufio.NewWriter(w)
	title = html.EscapeString(title)
	style = "body { font: 13px system-ui, sans-serif; margin: 1rem; } " + FlameStyle() + " " + style
	script := "\n" + flameScript
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="%s">
<title>%s</title>
<style>%s</style></head>
<body><h1>%s</h1><p>`, html.EscapeString(csp.Policy([]string{style}, []string{script})), title, style, title)
	for _, line := range notes {
		fmt.Fprintf(b, "%s<br>", html.EscapeString(line))
	}
	fmt.Fprint(b, "</p>\n")
	graph(b)
	fmt.Fprintf(b, "<script>%s</script></body></html>\n", script)
	return b.Flush()
}

// writeFlameHead writes what stands above a graph's boxes, and flameFoot ends it. Where the graph
// is wider than the screen, it alone moves.
func writeFlameHead(w io.Writer, depth int) {
	height := (depth + 1) * flameLine
	fmt.Fprintf(w, `<p><label>find <input class="find" size="30"></label> <span class="told"></span> `+
		`<button class="reset" type="button">all</button></p>
<div class="wide"><svg class="flame" width="%d" height="%d" viewBox="0 0 %d %d">
`, flameWidth, height, flameWidth, height)
}

const flameFoot = "</svg></div></div>\n"

// graphBox is a function on a graph: where it lies, of the width of all, what its script lays it
// out by, and what it says of itself.
type graphBox struct {
	name, data, fill, says string
	x, width               float64
	depth                  int
}

func (b graphBox) write(w io.Writer) {
	short := shortened(b.name)
	name := html.EscapeString(short)
	px := func(v float64) string { return strconv.FormatFloat(v*flameWidth, 'f', 1, 64) }
	fmt.Fprintf(
		w, `<g %s data-n="%s"><rect x="%s" y="%d" width="%s" height="%d" fill="%s"><title>%s: %s</title></rect>`+
			`<text x="%s" y="%d">%s</text></g>
`, b.data, name, px(b.x), b.depth*flameLine, px(b.width), flameLine-1, b.fill, name, html.EscapeString(b.says),
		px(b.x+.0025), b.depth*flameLine+12, html.EscapeString(fit(short, b.width)))
}

// longestName is how much of a name a graph has, in letters: those of templates and generic
// functions have no end, and each stands in a box several times.
const longestName = 160

func shortened(name string) string {
	if len(name) <= longestName {
		return name
	}
	if r := []rune(name); len(r) > longestName {
		return string(r[:longestName-1]) + "…"
	}
	return name
}

// fit cuts a name to what a box has room for.
func fit(name string, width float64) string {
	r := []rune(name)
	n := int((width*flameWidth - 6) / flameChar)
	switch {
	case n >= len(r):
		return name
	case n < 3:
		return ""
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
