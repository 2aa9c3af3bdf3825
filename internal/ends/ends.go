// SPDX-License-Identifier: MIT

// Package ends names the two ends of a flow: the receiver's host and the sender's.
package ends

import "strings"

// Role says which end of the flow a host was.
type Role string

// The two roles.
const (
	SUT Role = "sut" // system under test: the receiver
	TG  Role = "tg"  // traffic generator: the sender
)

// Roles are those of the two ends of a flow, in the order of their rows.
var Roles = [2]Role{SUT, TG}

// Label returns what reasons and warnings call an end: SUT or TG.
func (r Role) Label() string { return strings.ToUpper(string(r)) }
