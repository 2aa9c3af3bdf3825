// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/hops"
)

// farPath reads the interfaces of a host that this process cannot enter: its agent does.
type farPath struct {
	ctx  context.Context
	h    *host.Host
	open int // interfaces that its agent has found
}

// farPaths gives each far host's reader. Two in one namespace have one: the first's.
func farPaths(ctx context.Context, sut, tg *host.Host) func(name string) hops.Far {
	all := map[string]*farPath{}
	for name, h := range map[string]*host.Host{"sut": sut, "tg": tg} {
		if h.Spec.Far() {
			all[name] = &farPath{ctx: ctx, h: h}
		}
	}
	if len(all) == 2 && sut.SameMachine(tg) && sut.Info.NetNS == tg.Info.NetNS {
		all["tg"] = all["sut"]
	}
	return func(name string) hops.Far {
		if f := all[name]; f != nil {
			return f
		}
		return nil
	}
}

// Open makes the agent find interfaces.
func (f *farPath) Open(places []hops.Place) ([]hops.Hop, error) {
	var got wire.PathOpened
	if err := f.call(wire.OpPathOpen, wire.PathOf(places), &got); err != nil {
		return nil, err
	}
	if err := f.all(wire.OpPathOpen, len(got.Hops), len(places)); err != nil {
		return nil, err
	}
	f.open = len(places)
	return got.Found(), nil
}

// Read makes the agent read the interfaces that Open found.
func (f *farPath) Read() (hops.Reading, error) {
	var got wire.PathReading
	if err := f.call(wire.OpPathRead, nil, &got); err != nil {
		return hops.Reading{}, err
	}
	return got.Reading(), f.all(wire.OpPathRead, len(got.Hops), f.open)
}

// all gives up an agent that tells of another number of interfaces than it was asked for.
func (f *farPath) all(op wire.Op, told, asked int) error {
	if told == asked {
		return nil
	}
	f.h.Distrust(fmt.Errorf("%s: it was asked for %s, and told of %d", op, counted(asked, "interface", "interfaces"),
		told))
	return f.h.Err()
}

// Inode returns the inode of the agent's network namespace, where the agent runs on this process's
// kernel; otherwise 0.
func (f *farPath) Inode() uint64 {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(boot)); err != nil || id == "" || id != f.h.Info.Env.BootID {
		return 0
	}
	_, inode, _ := strings.Cut(f.h.Info.NetNS, ":")
	n, _ := strconv.ParseUint(inode, 10, 64) // 0: not known
	return n
}

// Close makes the agent let go of the interfaces. An agent that is gone already has, and after an
// interrupt they go with it.
func (f *farPath) Close() error {
	if f.h.Err() != nil || f.ctx.Err() != nil {
		return nil
	}
	return f.call(wire.OpPathOpen, wire.PathParams{}, nil)
}

// call names the host in what its agent refuses; what ends the agent does.
func (f *farPath) call(op wire.Op, params, result any) error {
	err := f.h.Call(f.ctx, op, params, result)
	if refused := (*wire.Error)(nil); errors.As(err, &refused) {
		return fmt.Errorf("host %s: %w", f.h.Spec.Name, err)
	}
	return err
}
