// SPDX-License-Identifier: MIT

package bench

import (
	"context"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/helper"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// openEnd opens one end, after the program that makes its memory has been brought to its host.
func (r *Runner) openEnd(ctx context.Context, h *host.Host, s wire.EndSpec, opened any) error {
	area := s.Cell.Area
	if s.Role == stream.TX {
		area = s.Cell.TXArea
	}
	if p, _, err := dmabuf.Find(area); err == nil && p.Helper != "" && !r.carried[h] {
		if err := h.Carry(ctx, p.Helper, helper.Finder(p.Helper)); err != nil {
			return err
		}
		if r.carried == nil {
			r.carried = map[*host.Host]bool{}
		}
		r.carried[h] = true
	}
	return h.Call(ctx, wire.OpOpen, s, opened)
}
