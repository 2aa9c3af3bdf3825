// SPDX-License-Identifier: MIT

package bench

import (
	"errors"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
)

// distrust makes a run failed whose agent, asked for its power, answered nonsense:
// its other figures are worth no more.
func distrust(rec *results.Record, end string, err error) {
	if n := (*fault.NonsenseError)(nil); errors.As(err, &n) && rec.Verdict != results.Failed {
		rec.Verdict, rec.Reason, rec.Fix = results.Failed, end+": "+err.Error(), n.Fix()
	}
}
