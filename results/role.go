// SPDX-License-Identifier: MIT

package results

import "strings"

// Role says which end of the flow a host was.
type Role string

// The two roles.
const (
	RoleSUT Role = "sut" // system under test: the receiver
	RoleTG  Role = "tg"  // traffic generator: the sender
)

// Roles are those of the two ends of a flow, in the order of their rows.
var Roles = [2]Role{RoleSUT, RoleTG}

// Label returns what reasons and warnings call an end: SUT or TG.
func (r Role) Label() string { return strings.ToUpper(string(r)) }
