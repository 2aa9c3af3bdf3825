// SPDX-License-Identifier: MIT

package driver

// veth is a pair of network namespaces' ends (drivers/net/veth.c).
var veth = Driver{Name: "veth", NIC: "a pair of namespaces", resets: []string{"channels"}}
