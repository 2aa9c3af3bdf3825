// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"

	"github.com/mdlayher/genetlink"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// encryptionChecks looks whether the kernel encrypts what flows carry. It loads nothing.
func encryptionChecks() []wire.Check { return []wire.Check{kTLS(records.Loaded()), psp(pspFamily())} }

// kTLS tells of the module: --tls user needs none.
func kTLS(loaded bool) wire.Check {
	c := wire.Check{Name: "kTLS", Needed: "the kernel's TLS, for --tls ktls and ktls-hw (docs/tls.md)", Status: "ok",
		Found: "loaded"}
	if !loaded {
		c.Status, c.Found, c.Command = "lacking", "no /proc/net/tls_stat: not loaded, or not built (CONFIG_TLS)",
			"modprobe tls"
		c.Fix, c.Errno = remedy.How(remedy.SetTLS, unix.ENOENT, remedy.On{}), "ENOENT"
	}
	return c
}

// psp tells of the protocol that NICs encrypt by, which no run has.
func psp(err error) wire.Check {
	c := wire.Check{Name: "PSP", Needed: "Linux 6.18, built with CONFIG_INET_PSP; zcbench does not measure it",
		Status: "ok", Found: "the kernel has it: not measured"}
	if err != nil {
		c.Status, c.Found = "lacking", err.Error()
		c.Fix = "nothing: no mode of zcbench uses it"
	}
	return c
}

// pspFamily asks for the family of generic netlink by which PSP is set up (net/psp).
func pspFamily() error {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err = conn.GetFamily("psp"); errors.Is(err, unix.ENOENT) {
		return errors.New("the kernel has no netlink family psp")
	}
	return err
}
