// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"

	"github.com/zcbench/zcbench/results"
)

// zcrecvReport is the part of zcrecv --json that is read.
type zcrecvReport struct {
	Verdict   results.Verdict `json:"verdict"`
	Reason    string          `json:"reason"`
	Bytes     uint64          `json:"bytes"`
	DurationS float64         `json:"duration_s"`
	BackBytes uint64          `json:"back_bytes"` // what it sent
}

// UnsupportedError says that this machine cannot run a mode.
type UnsupportedError struct{ Reason string }

func (e *UnsupportedError) Error() string { return e.Reason }

// parseZcrecv reads what zcrecv wrote. A mode that the kernel does not have is
// an [*UnsupportedError].
func parseZcrecv(b []byte) (Flow, error) {
	var r zcrecvReport
	if err := json.Unmarshal(b, &r); err != nil {
		return Flow{}, fmt.Errorf("read zcrecv's JSON: %w", err)
	}
	switch {
	case r.Verdict == results.Unsupported:
		return Flow{}, &UnsupportedError{r.Reason}
	case r.Verdict != results.OK:
		return Flow{}, fmt.Errorf("zcrecv: %s: %s", r.Verdict, r.Reason)
	case r.Bytes == 0 || r.DurationS <= 0:
		return Flow{}, fmt.Errorf("read zcrecv's JSON: %d bytes in %v s", r.Bytes, r.DurationS)
	}
	return Flow{Bytes: r.Bytes + r.BackBytes, Seconds: r.DurationS}, nil
}
