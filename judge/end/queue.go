// SPDX-License-Identifier: MIT

package end

import "cmp"

// onItsQueue: the flow came by the queue that was asked for, all the time. One that ends elsewhere
// was not steered, or is that of a control run; one that was elsewhere for a while was disturbed,
// unless that was another interface.
func onItsQueue(_ *Evidence, f *Flow) Finding {
	switch {
	case f.OtherDevFix != "":
		return Finding{Reason: cmp.Or(f.Evidence.Astray, f.Strayed), Fix: f.OtherDevFix}
	case f.Evidence.Astray != "":
		return Finding{Reason: f.Evidence.Astray, Fix: "look for a rule that steers it elsewhere (ethtool -n " + f.Dev +
			"), or leave the queue out"}
	case f.Strayed != "":
		return Finding{Reason: f.Strayed, Disturbed: true,
			Fix: "something moved it while it flowed: look for who changes rules (ethtool -n " + f.Dev +
				") or the indirection table (ethtool -x " + f.Dev +
				"), switch accelerated RFS off (sysctl -w net.core.rps_sock_flow_entries=0), or leave the queue out"}
	}
	return Finding{}
}
