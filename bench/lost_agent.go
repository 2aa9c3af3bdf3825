// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"

	"github.com/zcbench/zcbench/bench/host"
)

// mostLost is in how many runs on end a host may lose its agent: whatever takes it
// there takes the next one too.
const mostLost = 3

// replaceLostAgents starts agents in the place of those that were lost in the last run.
func (r *Runner) replaceLostAgents(ctx context.Context) error {
	if r.lost == nil {
		r.lost = map[*host.Host]int{}
	}
	for _, h := range []*host.Host{r.SUT, r.TG} {
		why := h.Err()
		if why == nil {
			r.lost[h] = 0
			continue
		}
		if r.lost[h]++; r.lost[h] >= mostLost {
			return fmt.Errorf("%d runs in a row lost an agent: %w", r.lost[h], why)
		}
		r.now.unsure = true // the new one has nothing set
		if err := revive(ctx, h); err != nil {
			return fmt.Errorf("%w; and no other agent could be started: %w", why, err)
		}
		if err := r.Power.again(ctx, h); err != nil {
			return err
		}
	}
	return nil
}
