// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"

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
// encrypt and takes no keys of that, as a connection of its own shows, 1.2.
func (e *End) records(ctx context.Context, addr string, h stream.Hello) records.Version {
	switch {
	case e.opts.TLS == records.None:
		return 0
	case e.opts.TLS == records.Device && !stream.DeviceTakes(ctx, addr, h, records.TLS13):
		return records.TLS12
	}
	return records.TLS13
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
