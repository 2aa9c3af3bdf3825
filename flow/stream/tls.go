// SPDX-License-Identifier: MIT

package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Encryption is how the payload of a flow is encrypted at one end of it, and the answers to it.
// What both ends say before and after is plain; the farewell that follows answers whose records the
// kernel makes is in a record, too.
type Encryption struct {
	Version records.Version
	Kept    records.Kept // by the kernel, of payload
	// KeptAnswers is what it made of the answers' keys; nil: it has none.
	KeptAnswers *records.Kept
	Sealer      *records.Sealer // of an end that encrypts by itself; nil: it sends no payload, or the kernel does
	Opener      *records.Opener // of an end that decrypts by itself; nil likewise
	mem         *Buffer         // of its messages
	answers     *records.Key    // of a receiver that answers, which the kernel gets when the sender is welcome
}

// Encrypt encrypts the payload that a flow will send, or receive, as o asks and h says; back: it is
// the other way of a flow that goes both. It comes before the first byte of payload.
func (c *Conn) Encrypt(sends bool, o Options, h Hello, back bool) (err error) {
	if err := agree(o.TLS, h); err != nil || o.TLS == records.None {
		return err
	}
	k, err := records.Derive(h.Cookie[:], records.Payload, h.Flow, back)
	if err != nil {
		return err
	}
	defer k.Wipe()
	e := &Encryption{Version: h.Records}
	if o.TLS.InKernel() {
		e.Kept, err = records.Give(c.FD, sends, o.TLS, h.Records, k)
	} else {
		err = e.take(sends, k, o)
	}
	if err == nil && h.ResponseBytes > 0 {
		err = e.encryptAnswers(c.FD, !sends, o, h, back)
	}
	if err != nil {
		return errors.Join(err, e.close())
	}
	c.TLS = e
	return nil
}

// encryptAnswers does for the answers to payload what Encrypt does for that.
func (e *Encryption) encryptAnswers(fd int, sends bool, o Options, h Hello, back bool) error {
	k, err := records.Derive(h.Cookie[:], records.Answers, h.Flow, back)
	if err != nil {
		return err
	}
	if sends && o.TLS.InKernel() { // what it says before is plain
		e.answers = k
		return nil
	}
	defer k.Wipe()
	if o.TLS.InKernel() {
		return e.giveAnswers(fd, false, k)
	}
	return e.take(sends, k, o)
}

// take makes what encrypts or decrypts in the application.
func (e *Encryption) take(sends bool, k *records.Key, o Options) (err error) {
	if sends {
		e.Sealer, err = records.NewSealer(k)
		return err
	}
	size := cmp.Or(o.BufferBytes, o.MessageBytes)
	if e.mem, err = NewBuffer(size + records.Slack); err == nil {
		e.Opener, err = records.NewOpener(k, e.mem.Bytes(), size)
	}
	return err
}

// EncryptAnswers has the kernel encrypt the answers of a receiver, if it is to. They come after the
// welcome, which is plain.
func (c *Conn) EncryptAnswers() error {
	if c.TLS == nil || c.TLS.answers == nil {
		return nil
	}
	err := c.TLS.giveAnswers(c.FD, true, c.TLS.answers)
	c.TLS.answers.Wipe()
	c.TLS.answers = nil
	return err
}

// giveAnswers hands the kernel the answers' key. The NIC may take that one where it does not take
// the payload's: it has a feature for each direction.
func (e *Encryption) giveAnswers(fd int, sends bool, k *records.Key) error {
	kept, err := records.Give(fd, sends, records.Kernel, e.Version, k)
	if err == nil {
		e.KeptAnswers = &kept
	}
	return err
}

// InKernel reports whether the kernel has the keys.
func (e *Encryption) InKernel() bool { return e != nil && e.Sealer == nil && e.Opener == nil }

// agree refuses what the ends of a flow do not agree on.
func agree(how records.How, h Hello) error {
	const both = "give both ends the same --tls"
	switch v := h.Records; {
	case (how == records.None) != (v == 0):
		return &fault.Error{Op: "one end encrypts the payload, and the other does not", How: both}
	case how == records.User && v != records.TLS13:
		return &fault.Error{Op: fmt.Sprintf("the sender has %v, and --tls user has %v", v, records.TLS13), How: both}
	case h.ResponseBytes > 0 && h.InKernel != how.InKernel(): // one could not read the other's farewell
		return &fault.Error{Op: "the kernel of one end makes the records of requests and answers, and that of the " +
			"other does not", How: both}
	}
	return nil
}

// Toucher makes what treats the flow's payload: decrypted, where that is the application's work.
func (c *Conn) Toucher(t Touch, h Hello) *Toucher {
	r := NewToucher(t, int(h.PeriodBytes))
	if c.TLS != nil {
		r.opener, r.fd = c.TLS.Opener, c.FD
	}
	return r
}

// Figures say how it was done; none of nil.
func (e *Encryption) Figures() (out []Figure) {
	if e == nil {
		return nil
	}
	flag := func(name string, on bool) {
		v := 0.0
		if on {
			v = 1
		}
		out = append(out, Figure{name, "1", v})
	}
	out = append(out, Figure{"tls_version", "1", e.Version.Number()})
	switch {
	case e.Opener != nil:
		out = append(out, Figure{"tls_records", "1", float64(e.Opener.Records())},
			Figure{"tls_gathered_bytes", "bytes", float64(e.Opener.Gathered())})
	case e.InKernel():
		flag("tls_device", e.Kept.Device)
		flag("tls_no_pad", e.Kept.NoPad)
		flag("tls_zerocopy", e.Kept.ZeroCopy)
	}
	if a := e.KeptAnswers; a != nil {
		flag("tls_answers_device", a.Device)
		flag("tls_answers_no_pad", a.NoPad)
	}
	return out
}

// close frees the memory; of nil it does nothing.
func (e *Encryption) close() error {
	if e == nil || e.mem == nil {
		return nil
	}
	return e.mem.Close()
}

// Damaged reports whether an error is of payload that is not what was sent: the tag of its record
// does not fit.
func Damaged(err error) bool { return errors.Is(err, unix.EBADMSG) }

// DeviceTakes reports whether the NIC by which addr is reached takes the keys of that version for
// what a flow with the options o sends. A socket keeps what it got, so it is asked with another,
// which the receiver closes when it has read hello.
func DeviceTakes(ctx context.Context, addr string, h Hello, o sock.Options, v records.Version) (bool, error) {
	c, err := connect(ctx, addr, o)
	if err != nil {
		return false, calledOff(ctx, addr, err)
	}
	defer c.Close()
	if err := records.Begin(c.FD); err != nil {
		return false, err
	}
	h.Looks = true
	b, err := h.AppendBinary(nil)
	if err != nil {
		return false, err
	}
	if err := c.writeAll(b); err != nil {
		return false, SendError(c, "send hello", err)
	}
	kept, err := records.Give(c.FD, true, records.Device, v, new(records.Key))
	return kept.Device, err
}
