// SPDX-License-Identifier: MIT

package agent

import (
	"errors"
	"sync"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/hops"
)

// followed are the interfaces that packets are followed along.
type followed struct {
	mu   sync.Mutex
	path *hops.Path // nil: none
}

// readHops reads the counters. Tests have others, which take their time.
var readHops = (*hops.Path).Read

// open finds interfaces.
func (f *followed) open(req wire.Request) (any, error) {
	var p wire.PathParams
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if err := f.close(); err != nil || len(p.Places) == 0 {
		return wire.PathOpened{}, err
	}
	path, err := hops.Open(p.Here(), nil)
	if err != nil {
		return nil, err // it is closed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.path = path
	return wire.PathOpenedOf(path.Hops), nil
}

// startPathRead answers when the counters were read. A driver that sets something up holds the
// kernel's lock of all interfaces for seconds, and a run can be called off meanwhile.
func (a *agent) startPathRead(req wire.Request) {
	a.replying.Go(func() {
		r, err := a.path.read()
		if err != nil {
			_ = a.refuse(req, err)
			return
		}
		_ = a.reply(req, r) // a broken output means that the controller is gone; the input ends too
	})
}

func (f *followed) read() (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == nil {
		return nil, errors.New("no interfaces of a path are open: name them first")
	}
	r, err := readHops(f.path)
	if err != nil {
		return nil, err
	}
	return wire.PathReadingOf(&r), nil
}

func (f *followed) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == nil {
		return nil
	}
	err := f.path.Close()
	f.path = nil
	return err
}
