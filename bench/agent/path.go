// SPDX-License-Identifier: MIT

package agent

import (
	"errors"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/hops"
)

// openPath finds interfaces that packets are followed along. Requests are handled one at a time,
// so that the path needs no lock.
func (a *Agent) openPath(req wire.Request) (any, error) {
	var p wire.PathParams
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if err := a.closePath(); err != nil || len(p.Places) == 0 {
		return wire.PathOpened{}, err
	}
	path, err := hops.Open(p.Here(), nil)
	if err != nil {
		return nil, err // it is closed
	}
	a.path = path
	return wire.PathOpenedOf(path.Hops), nil
}

func (a *Agent) readPath() (any, error) {
	if a.path == nil {
		return nil, errors.New("no interfaces of a path are open: name them first")
	}
	r, err := a.path.Read()
	if err != nil {
		return nil, err
	}
	return wire.PathReadingOf(&r), nil
}

func (a *Agent) closePath() error {
	if a.path == nil {
		return nil
	}
	err := a.path.Close()
	a.path = nil
	return err
}
