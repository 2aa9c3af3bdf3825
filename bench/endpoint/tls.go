// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"
	"sync"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// kernelEncrypts refuses keys for a kernel that has no kTLS now. To try would load the module,
// which would stay when the run is over.
func kernelEncrypts(o stream.Options) error {
	if !o.TLS.InKernel() || records.Loaded() {
		return nil
	}
	return &fault.Unsupported{Mode: "tls " + string(o.TLS), Op: "look for kTLS in the kernel", Err: unix.ENOENT,
		How: remedy.How(remedy.SetTLS, unix.ENOENT, remedy.On{})}
}

// records chooses the version of a sender's records; 0: it has none. It is 1.3; where the NIC is to
// encrypt and takes no keys of that, as a connection of its own shows, 1.2. Each NIC is asked once.
func (e *End) records(ctx context.Context, f *flow, addr string, h stream.Hello) (v records.Version, err error) {
	switch e.opts.TLS {
	case records.None:
		return 0, nil
	case records.Device:
		return e.asked.of(f.port.Dev, func() (records.Version, error) {
			takes, err := stream.DeviceTakes(ctx, addr, h, f.opts.Socket, records.TLS13)
			if err == nil && !takes {
				return records.TLS12, nil
			}
			return records.TLS13, err
		})
	}
	return records.TLS13, nil
}

// versions are of the records that interfaces take keys for.
type versions struct {
	mu    sync.Mutex
	known map[string]records.Version
}

// of returns that of an interface, which ask finds out.
func (a *versions) of(dev string, ask func() (records.Version, error)) (v records.Version, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v, known := a.known[dev]; known {
		return v, nil
	}
	if v, err = ask(); err == nil {
		if a.known == nil {
			a.known = map[string]records.Version{}
		}
		a.known[dev] = v
	}
	return v, err
}

// verdictOf says what a run is worth that ended with an error. Of payload that was right before,
// and is not what was sent now, it is invalid, as by any other check of its bytes.
func (r *run) verdictOf(err error) results.Verdict {
	if stream.Damaged(err) && r.died != nil && r.died.Meter.Snapshot().Bytes > 0 {
		return results.Invalid
	}
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		return results.Unsupported
	}
	return results.Failed
}
