// SPDX-License-Identifier: MIT

package fleet

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"github.com/zcbench/zcbench/results"
)

// JSON writes the fleet as one indented object.
func (f *Fleet) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(f)
}

// csvColumns are those of [Fleet.CSV].
var csvColumns = []string{"dir", "sut_host", "sut_dev", "tg_host", "tg_dev", "state", "cell_id", "rx_mode", "tx_mode",
	"metric", "unit",
	"runs_ok", "runs_invalid", "runs_failed", "runs_unsupported", "median", "median_lo", "median_hi", "fleet_median",
	"off", "off_lo", "off_hi", "p", "p_adjusted", "verdict", "reason"}

// CSV writes a row for each cell of each pair, and one without a cell for the pair as a whole.
// An empty field was not measured.
func (f *Fleet) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvColumns); err != nil {
		return err
	}
	for _, p := range f.Pairs {
		whole := Figure{Runs: p.Runs, Off: p.Overall, Reason: p.Problem}
		if err := c.Write(f.fields(p, &column{}, &whole)); err != nil {
			return err
		}
		for i := range p.Figures {
			if err := c.Write(f.fields(p, &f.Cells[p.Figures[i].Cell], &p.Figures[i])); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

func (f *Fleet) fields(p *pair, of *column, c *Figure) []string {
	out := []string{results.CSVText(p.Dir), results.CSVText(p.SUT.Host), results.CSVText(p.SUT.Dev),
		results.CSVText(p.TG.Host), results.CSVText(p.TG.Dev),
		string(p.State), results.CSVText(of.ID), results.CSVText(of.RX), results.CSVText(of.TX), f.Metric, f.Unit,
		strconv.Itoa(c.Runs.OK), strconv.Itoa(c.Runs.Invalid), strconv.Itoa(c.Runs.Failed),
		strconv.Itoa(c.Runs.Unsupported),
		field(c.Median), field(c.Lo), field(c.Hi), field(of.Median)}
	if o := c.Off; o != nil {
		out = append(out, field(&o.Share), field(o.Lo), field(o.Hi), field(o.P), field(o.Adjust), f.Word(o.Verdict))
	} else {
		out = append(out, "", "", "", "", "", "")
	}
	return append(out, results.CSVText(c.Reason))
}

func field(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
