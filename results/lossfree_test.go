// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func TestLossyShare(t *testing.T) {
	for n, want := range map[int]float64{1: .95, 10: .2589, 59: .0495} {
		f := LossFree{Passed: n}
		if got := f.LossyShare(); math.Abs(*got-want) > 1e-3 {
			t.Errorf("%d: %g, want %g", n, *got, want)
		}
	}
	b, err := json.Marshal(LossFree{Trials: 3})
	if none := (&LossFree{}).LossyShare(); none != nil || err != nil ||
		string(b) != `{"limit_is_sender":false,"trials":3,"given_up":false,"max_loss":0}` {
		t.Errorf("of none that passed: %v, %s", none, b)
	}
}

// What a search came to is in runs.csv, and is read again.
func TestLossFreeColumns(t *testing.T) {
	r := packetsRun(1000, 1000, 0)
	r.Cell.LossFree, r.Cell.PaceBitsPS = true, 512_000
	r.LossFree = &LossFree{PacketsPerS: 1000, FailedAt: 1020.5, Passed: 10, Trials: 17}
	var b bytes.Buffer
	if err := WriteRuns(&b, []Record{*r}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRuns(bytes.NewReader(b.Bytes()))
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].LossFree, r.LossFree) || !got[0].Cell.LossFree ||
		got[0].Cell.PaceBitsPS != 512_000 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Searches have figures that can be.
func TestLossFreeCheck(t *testing.T) {
	var none *LossFree
	for _, f := range []*LossFree{none, {Trials: 1}, {Trials: 3, Passed: 3, PacketsPerS: 5, FailedAt: 6, MaxLoss: .1}} {
		if err := f.Check(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []LossFree{{}, {Trials: 1, Passed: 2}, {Trials: 1, PacketsPerS: math.Inf(1)},
		{Trials: 1, FailedAt: -1}, {Trials: 1, MaxLoss: 1}, {Trials: 1, Inconclusive: -1}} {
		if f.Check() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}
