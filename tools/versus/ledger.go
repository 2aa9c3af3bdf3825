// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// checkLedger holds the datagrams that a receiver of ours got against those that the sender sent,
// by what both wrote: each is received, or lost where a counter of one of them tells it. It is the
// account of zcbench's runs (docs/packets.md); the two ends are those of a veth link.
func checkLedger(cell plan.Cell, receiver, sender []byte) error {
	rec := &results.Record{Cell: cell, Verdict: results.OK}
	rec.TG.Env.Driver = "veth"
	for _, end := range []struct {
		name, mode string
		text       []byte
		host       *results.Host
	}{{"zcrecv", cell.RX, receiver, &rec.SUT}, {"zcsend", cell.TX, sender, &rec.TG}} {
		var r struct {
			Mode    string           `json:"mode"`
			Metrics []measure.Metric `json:"metrics"`
		}
		if err := json.Unmarshal(end.text, &r); err != nil {
			return fmt.Errorf("read %s's JSON: %w", end.name, err)
		}
		if r.Mode != end.mode {
			return fmt.Errorf("read %s's JSON: mode %s, want %s", end.name, plaintext.Line(r.Mode), end.mode)
		}
		if end.host.Packets = results.PacketsIn(r.Metrics); end.host.Packets == nil {
			return fmt.Errorf("read %s's JSON: no account of its datagrams", end.name)
		}
		if err := end.host.Packets.Check(); err != nil {
			return fmt.Errorf("read %s's JSON: %w", end.name, err)
		}
	}
	judge.AccountPackets(rec, true, false)
	switch {
	case rec.Verdict != results.OK:
		return errors.New(rec.Reason)
	case slices.Contains(rec.Flags, results.FlagPacketsUnaccounted):
		return fmt.Errorf("invalid: %s", strings.Join(rec.Warnings, "; "))
	}
	return nil
}
