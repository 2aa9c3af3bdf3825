// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/driver"
)

// port is what was found of an end's interface that its settings depend on.
type port struct {
	dev    string
	driver string
	rules  int // ntuple rules: somebody else's, since none of ours outlives its run

	index, peer int // of itself and, of a pair such as veth, of the other end
}

// resets notes that changing a setting, named as in [collected], resets all queues of the
// interface; "" where it does not, or the interface is not known.
func (p preview) resets(role stream.Role, name string) string {
	if p.found[index(role)].resets(name) {
		return "   (a change resets all queues)"
	}
	return ""
}

func (f port) resets(name string) bool {
	_, setting, ofDev := strings.Cut(name, ": ")
	return f.driver != "" && ofDev && driver.Of(f.driver).Resets(setting)
}

// foretellResets warns where the plan resets queues to which rules of others steer flows, or sets
// a number of queues that these rules hold.
func (p preview) foretellResets(say func(string)) {
	for i, role := range []stream.Role{stream.RX, stream.TX} {
		f := p.found[i]
		if f.rules == 0 {
			continue
		}
		if line := f.foretell(p.collect(role).names); line != "" {
			say(warns + []string{"SUT", "TG"}[i] + ": " + line)
		}
	}
}

// foretell warns what becomes of the rules of an interface that has some, given the settings, and
// what to do; "": nothing.
func (f port) foretell(names []string) string {
	var resets []string
	for _, name := range names {
		if _, setting, _ := strings.Cut(name, ": "); f.resets(name) {
			resets = append(resets, setting)
		}
	}
	d, is := driver.Of(f.driver), plaintext.Line(f.driver)
	has := fmt.Sprintf("%s has %d ntuple rules of others", plaintext.Line(f.dev), f.rules)
	if f.rules == 1 {
		has = fmt.Sprintf("%s has an ntuple rule of others", plaintext.Line(f.dev))
	}
	list := strings.Join(resets, ", ")
	look := "note them first (ethtool -n " + plaintext.Word(f.dev) +
		", which shows the rules of some drivers in part only); "
	switch {
	case len(resets) == 0:
		return ""
	case d.RulesHoldChannels && slices.Contains(resets, "channels"):
		return fmt.Sprintf("%s, and %s changes no channels while there are any: %sdelete them (ethtool -N %s "+
			"delete N), or leave out channels", has, is, look, plaintext.Word(f.dev))
	case d.LosesRules:
		return fmt.Sprintf("%s: these settings reset all queues (%s), and %s then lists the rules but no longer "+
			"applies them: %sdelete and add them again after the runs", has, list, is, look)
	case !d.Known():
		return fmt.Sprintf("%s: these settings reset all queues (%s), and the driver (%s) may no longer apply "+
			"the rules then: %stest them after the runs", has, list, is, look)
	}
	return ""
}
