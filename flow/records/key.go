// SPDX-License-Identifier: MIT

// Package records has the TLS records of a flow that is encrypted: who makes and opens them, the
// kernel, its NIC or the application, and the keys of that. There is no handshake: both ends derive
// the keys of a flow from its cookie, as they would from a session's secret. The cookie is in the
// flow's first packet, so the keys protect nothing; the work is the same.
package records

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// How is who encrypts.
type How string

// The ways.
const (
	None   How = ""
	Kernel How = "ktls"    // the kernel, on the CPU
	Device How = "ktls-hw" // the kernel has the NIC do it
	User   How = "user"    // the application
)

// InKernel reports whether the kernel has the keys.
func (h How) InKernel() bool { return h == Kernel || h == Device }

// Version is a version of TLS, as the kernel and the wire have it.
type Version uint16

// The versions.
const (
	TLS12 Version = 0x303
	TLS13 Version = 0x304
)

// Number returns the version as people write it: 1.3.
func (v Version) Number() float64 { return 1 + float64(v&0xff-1)/10 }

func (v Version) String() string { return fmt.Sprintf("TLS %.1f", v.Number()) }

// Key is what one direction of a flow is encrypted with: AES-GCM with 128 bits.
type Key struct {
	key [16]byte
	iv  [12]byte // in TLS 1.2 the first four bytes, and the rest is in each record
}

// What a key is for.
const (
	Payload = "payload"
	Answers = "answers" // to payload that is requests
)

// Derive makes the key of what a flow carries; back: of the other way of a flow that goes both.
func Derive(secret []byte, what string, flow int, back bool) (*Key, error) {
	b, err := hkdf.Key(sha256.New, secret, nil, fmt.Sprintf("zcbench %s, flow %d, back %t", what, flow, back),
		len(Key{}.key)+len(Key{}.iv))
	if err != nil {
		return nil, fmt.Errorf("derive the flow's key: %w", err)
	}
	k := new(Key)
	copy(k.iv[:], b[copy(k.key[:], b):])
	clear(b)
	return k, nil
}

// Wipe forgets the key.
func (k *Key) Wipe() { *k = Key{} }
