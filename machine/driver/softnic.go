// SPDX-License-Identifier: MIT

package driver

// softNIC is the lab's NIC (lab/softnic).
var softNIC = Driver{
	Name: "softnic", NIC: "the lab's",

	resets: []string{"channels", "ring", "header-split"}, // sn_reopen
}
