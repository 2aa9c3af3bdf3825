// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// proveEvent is a line of what lab prove, in the guest, tells lab demo, which shows it.
// Exactly one field but of the last two is set.
type proveEvent struct {
	Up     string          `json:"up,omitempty"`     // the kernel's release: the guest has booted
	Begin  string          `json:"begin,omitempty"`  // a case, by name
	Done   string          `json:"done,omitempty"`   // a case
	RunS   float64         `json:"run_s,omitempty"`  // with Done: seconds since its begin
	Record *results.Record `json:"record,omitempty"` // with Done
}

// labProveCommand builds the command that lab demo runs in the guest.
func labProveCommand() *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use:    "prove",
		Short:  "What lab demo runs in the lab: one verified run of each mode, and a control",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Getenv(guest.Env) == "" {
				return cli.Usagef("this runs in the lab's guest; here it is: zcbench lab demo")
			}
			if err := checkCases(only); err != nil {
				return err
			}
			p := &proveProgress{out: json.NewEncoder(cmd.OutOrStdout())}
			p.tell(proveEvent{Up: os.Getenv(guest.Env)})
			_, err := bench.Prove(cmd.Context(), bench.ProofOptions{SUT: "netns:" + guest.NSReceiver,
				TG:  "netns:" + guest.NSSender,
				Dir: guest.OutDir, ToolVersion: version.Tool(), Only: only, Progress: p, Notices: cmd.ErrOrStderr()})
			return err
		},
	}
	c.Flags().StringArrayVar(&only, "only", nil, "only this case (repeatable)")
	return c
}

// checkCases refuses names of no case.
func checkCases(names []string) error {
	all := bench.ProofNames()
	for _, n := range names {
		if !slices.Contains(all, n) {
			return cli.UsageError(fmt.Errorf("--only %q: no such run; choose from: %s", n, strings.Join(all, "; ")))
		}
	}
	return nil
}

// proveProgress tells the course of the runs, a line each.
type proveProgress struct {
	out   *json.Encoder
	begun time.Time
}

func (p *proveProgress) tell(e proveEvent) { _ = p.out.Encode(e) } // its loss shows in the exit status

func (p *proveProgress) Plan(int, time.Duration) {}
func (p *proveProgress) Skip(matrix.Run)         {}
func (p *proveProgress) Again(matrix.Run)        {}
func (p *proveProgress) End()                    {}

func (p *proveProgress) Begin(r matrix.Run) {
	p.begun = time.Now()
	p.tell(proveEvent{Begin: r.Cell.ID})
}

func (p *proveProgress) Done(r results.Record) {
	p.tell(proveEvent{Done: r.Cell.ID, RunS: time.Since(p.begun).Seconds(), Record: &r})
}
