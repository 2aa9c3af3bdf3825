// SPDX-License-Identifier: MIT

package agent

import (
	"errors"

	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
)

// resting is a rest that is being measured. Requests are handled one at a time, so that it
// needs no lock.
type resting struct {
	rest *counter.Rest // nil: none
	why  string
}

func (a *agent) beginRest(req wire.Request) (any, error) {
	var p wire.RestParams
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	a.endRest()
	pollers, err := endpoint.FindNAPIThreads(p.Devs...)
	if err != nil {
		a.resting.why = fault.Reason(err)
	}
	a.resting.rest, err = counter.BeginRest(counter.FS{}, pollers.PIDs)
	return struct{}{}, err
}

func (a *agent) takeRest() (any, error) {
	if a.resting.rest == nil {
		return nil, errors.New("no rest is being measured: begin one first")
	}
	r := wire.Rest{Why: a.resting.why}
	var err error
	r.WallS, r.CPUs, err = a.resting.rest.End(counter.FS{})
	a.resting = resting{}
	return r, err
}

// endRest forgets one that nobody has asked for.
func (a *agent) endRest() {
	if a.resting.rest != nil {
		a.resting.rest.Close()
	}
	a.resting = resting{}
}
