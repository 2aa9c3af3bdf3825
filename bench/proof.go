// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// ProofBytes is the payload of each run of [Prove].
const ProofBytes = 64 << 20

// Times of the runs of [Prove]: they wait for the thing itself, and so long only where
// a machine that emulates gets little of its CPUs.
const (
	proofLimit = 90 * time.Second // of a flow
	proofWait  = 60 * time.Second // of an end for the other
	proofStall = 30 * time.Second // without a byte
)

// proofArea is the memory of zcrx: twice what the lab's NIC keeps in its ring, in
// buffers of 32 KiB.
const proofArea = 32 << 20

// ProofOptions are the choices of [Prove].
type ProofOptions struct {
	SUT, TG     string // hosts: namespaces of this machine, where Cases are those of the lab
	Dev, TGDev  string // interfaces of the two; "": the only ones that there are
	Dir         string // for the journal
	ToolVersion string
	Bytes       uint64   // of each run; 0: ProofBytes
	Only        []string // names of cases; none: all
	// Cases are run instead of those of the lab, and no NIC is asked what it counted.
	Cases         []ProofCase
	SharedWithSSH bool // see [Options]
	Progress      Progress
	Notices       io.Writer // what agents say of leases that they finished; nil: nowhere
}

// Prove runs each case once, all of its payload verified, and records beside what both ends say
// what their NICs counted, where they are the lab's. What the records show [JudgeProof] says.
func Prove(ctx context.Context, o ProofOptions) (recs []results.Record, err error) {
	if err := results.Vacant(o.Dir); err != nil {
		return nil, err
	}
	session := newSession()
	hosts, err := openHosts(ctx, o.SUT, o.TG, 0, host.Options{ToolVersion: o.ToolVersion, Notices: o.Notices,
		Session: session, SharedWithSSH: o.SharedWithSSH,
		Limits: host.Limits{Silence: proofWait}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hosts.Close()) }()
	opt := Options{Bytes: cmp.Or(o.Bytes, ProofBytes), Duration: proofLimit, Stall: proofStall, NoteMTU: true,
		SharedWithSSH: o.SharedWithSSH}
	if err := opt.FindPath(ctx, hosts.SUT, hosts.TG, "", o.Dev, o.TGDev, false); err != nil {
		return nil, err
	}
	if err := opt.PlaceCPUs(ctx, hosts.SUT, hosts.TG); err != nil {
		return nil, err
	}
	var observe func() func(*results.Record)
	if o.Cases == nil {
		witness, werr := openWitness(hosts.SUT, hosts.TG, &opt)
		if werr != nil {
			return nil, werr
		}
		defer func() { err = errors.Join(err, witness.Close()) }()
		observe = witness.observe
	}
	var cells []plan.Cell
	var plan []matrix.Run
	for _, c := range o.cases() {
		cells, plan = append(cells, opt.noted(c.Cell)), append(plan, matrix.Run{Cell: c.Cell})
	}
	journal, err := results.Create(o.Dir, results.Header{ToolVersion: o.ToolVersion, SessionID: session, Cells: cells})
	if err != nil {
		return nil, err
	}
	runner := &Runner{SUT: hosts.SUT, TG: hosts.TG, Session: session, Opt: opt, Observe: observe,
		Wait: proofWait, Grace: proofWait}
	s := &Session{Runner: runner, Journal: journal, Progress: o.Progress, AbortOnCancel: true}
	recs, err = s.Play(ctx, plan)
	return recs, errors.Join(err, journal.Close())
}

// cases lists those that are to be run.
func (o *ProofOptions) cases() []ProofCase {
	if o.Cases != nil {
		return o.Cases
	}
	return SelectProof(o.Only)
}
