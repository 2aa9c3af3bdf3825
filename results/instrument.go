// SPDX-License-Identifier: MIT

package results

import (
	"cmp"
	"strings"
)

// Instrument is what a host's power figures were measured with.
type Instrument struct {
	Source string // as power_source
	Scope  string // as power_scope: how much of the machine it sees
}

// Instrument returns the instrument behind the host's PowerW, zero if there is none.
func (h *Host) Instrument() Instrument {
	if h.PowerW == nil {
		return Instrument{}
	}
	return Instrument{h.PowerSource, h.PowerScope}
}

// Comparable reports whether figures of two instruments may stand beside each
// other: it is one source of one scope. Journals of older versions do not say the
// scope, which then is the source's.
func (i Instrument) Comparable(o Instrument) bool {
	i, o = i.scoped(), o.scoped()
	return i.Source == o.Source && (i.Scope == o.Scope || i.Scope == "" || o.Scope == "")
}

// scoped fills in the scope of RAPL's sum in journals that do not have it yet: the packages alone.
// Newer sums may include the packages' memory.
func (i Instrument) scoped() Instrument {
	if i.Scope == "" && (i.Source == "rapl" || strings.HasPrefix(i.Source, "rapl=")) {
		i.Scope = "package"
	}
	return i
}

// addable reports whether the figures of two hosts have a sum: they are of the
// same part of each machine.
func (i Instrument) addable(o Instrument) bool { return i.Scope == o.Scope || i.Comparable(o) }

// String formats the instrument: "rapl (package)".
func (i Instrument) String() string {
	text := cmp.Or(i.Source, "unknown")
	if i.Scope != "" {
		text += " (" + i.Scope + ")"
	}
	return text
}

// MixedScopes reports whether both hosts have a power figure and the two have no
// sum.
func (r *Record) MixedScopes() bool {
	return r.SUT.PowerW != nil && r.TG.PowerW != nil && !r.SUT.Instrument().addable(r.TG.Instrument())
}
