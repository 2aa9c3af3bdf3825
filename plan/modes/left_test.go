// SPDX-License-Identifier: MIT

package modes

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
)

// What a probe has made is gone soon: no timer holds it.
func TestProbesLetGoSoon(t *testing.T) {
	kind.Timed(t)
	begun := time.Now()
	TestProbesLeaveNothingBehind(t)
	if took := time.Since(begun); took > 2500*time.Millisecond {
		t.Errorf("took %v", took)
	}
}
