// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// counting counts what is measured.
type counting struct {
	text.Handler
	boxes map[string]int
}

func (c *counting) Box(s string, f font.Font) (w, h, d vg.Length) {
	c.boxes[s]++
	return c.Handler.Box(s, f)
}

// Labels are measured once for all plots, and stand where the library puts them.
func TestLettering(t *testing.T) {
	var cells []Cell
	for i := range 40 {
		v := 10 + float64(i)
		cells = append(cells, Cell{Cell: plan.Cell{RX: "tcp", TX: fmt.Sprintf("tx<%d>", i)}, OK: 6,
			SUT: End{ThroughputGbps: stat.Summarize([]float64{v, v + 1, v + 2, v, v, v})}})
	}
	labels := plotLabels(cells)
	drawn := func(letters *lettering) []byte {
		c := newChart(cells, labels, letters)
		c.dots(func(x *Cell) *stat.Summary { return x.SUT.ThroughputGbps })
		svg, err := c.svg()
		if err != nil {
			t.Fatal(err)
		}
		return svg
	}
	count := &counting{plot.DefaultTextHandler, map[string]int{}}
	letters := newLettering(count)
	first := drawn(letters)
	if again := drawn(letters); !bytes.Equal(first, again) {
		t.Error("two plots of the same differ")
	}
	for s, n := range count.boxes {
		if n != 1 {
			t.Errorf("%q was measured %d times", s, n)
		}
	}
	if len(count.boxes) < len(cells) {
		t.Errorf("%d texts were measured, for %d cells", len(count.boxes), len(cells))
	}
	plain := newChart(cells, labels, newLettering(plot.DefaultTextHandler))
	plain.p.X.Tick.Label.Handler, plain.p.Y.Tick.Label.Handler = plot.DefaultTextHandler, plot.DefaultTextHandler
	plain.dots(func(x *Cell) *stat.Summary { return x.SUT.ThroughputGbps })
	want, err := plain.svg()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, want) {
		t.Errorf("labels stand elsewhere than the library puts them:\n%s\n%s", first, want)
	}
}
