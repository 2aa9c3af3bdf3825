// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// kernelSizes says whether a binding can choose the length of its buffers; tests make the
// kernel older.
var kernelSizes = nic.CanSizeBuffers

// canSize refuses buffers of bytes where the kernel does not know such; 0: a page.
func canSize(bytes int) error {
	if bytes == 0 {
		return nil
	}
	err := kernelSizes()
	if !errors.Is(err, unix.EINVAL) {
		return nil // any other error is met again, and named, by what it is about
	}
	u := nicqueue.Unsupported(Mode, err).(*fault.Unsupported)
	u.Op = fmt.Sprintf("receive buffers of %d bytes (netdev bind-rx with rx-page-size)", bytes)
	u.How = "leave out --rx-buf-len, or use Linux 7.3 or later"
	return u
}

// explain adds to a refused binding what the device tells, where the kernel has no text of
// its own, and what to do about buffers of another length, where it has.
func (r *Receiver) explain(err error) error {
	u, ok := nicqueue.Unsupported(Mode, err).(*fault.Unsupported)
	var refused *fault.Error
	if !ok || !errors.As(err, &refused) {
		return u
	}
	why, fix := r.longBuffers(refused)
	if why == "" && fix == "" {
		why, fix = r.mem.Refused(r.queue.Dev, refused.Ack)
	}
	if why == "" && fix == "" && refused.Ack == "" {
		switch {
		case errors.Is(err, unix.EOPNOTSUPP):
			why, fix = r.queue.Dev.WhyNotRestarted()
		case errors.Is(err, unix.ENODATA):
			why, fix = r.queue.Ignored()
		}
		if why == "" {
			why, fix = r.queue.Cause()
		}
	}
	if why != "" {
		u.Err = fmt.Errorf("%w: %s", u.Err, why)
	}
	if fix != "" {
		u.How = fix
	}
	return u
}

// longBuffers explains a refusal that is about their length. Where the kernel has said why,
// only the fix is to be said.
func (r *Receiver) longBuffers(e *fault.Error) (why, fix string) {
	if r.asked() == 0 {
		return "", ""
	}
	switch {
	case strings.Contains(e.Ack, "not aligned to niov"): // net_devmem_bind_dmabuf; the kernel cuts its text at 80 bytes
		if areaKind(r.opt.NIC, r.bufLen) == dmabuf.Huge {
			return "", "choose a smaller --rx-buf-len"
		}
		return "", "use --area huge"
	case errors.Is(e.Err, unix.EOPNOTSUPP) && strings.Contains(e.Ack, "rx_page_size"): // __netif_mp_open_rxq
		return "", "leave out --rx-buf-len: this driver supports only pages"
	case errors.Is(e.Err, unix.ERANGE), errors.Is(e.Err, unix.EINVAL) && e.Ack == "": // bnxt_validate_qcfg
		fix = "leave out --rx-buf-len, or choose a smaller one"
		d, _ := r.queue.Dev.Driver() // one without a name has no limit that is known
		if most, known := d.LongestBuffer(); known {
			fix = fmt.Sprintf("choose at most --rx-buf-len %d, or leave it out", most)
		}
		return fmt.Sprintf("the driver does not support receive buffers of %d bytes", r.bufLen), fix
	case errors.Is(e.Err, unix.EINVAL) && strings.Contains(e.Ack, "rx_page_size"): // a driver's own text
		return "", "leave out --rx-buf-len, or choose another"
	}
	return "", ""
}
