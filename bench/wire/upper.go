// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
)

// SharedFix is what to do about a flow on the interface by which the host is reached.
const SharedFix = "name another interface with --dev or --tg-dev, or reach the host by another one; if it has " +
	"only this one: --shared-with-ssh"

// SharedError refuses a run on the interface by which its host is reached; why says how it is
// shared.
func SharedError(dev, why string) error {
	return &fault.Error{Op: fmt.Sprintf("%s carries zcbench's own connection: %s: a flow there would flood it, "+
		"and a setting that takes the link down would cut it", dev, why), How: SharedFix}
}

// StandsOn reports whether an interface is another by name, or stands on that.
func (i *Interface) StandsOn(name string) bool {
	return i.Name == name || slices.Contains(i.Below, name)
}

// PortFor returns the interface whose queues a flow of i uses; "" where several may be. The user
// may have named one of them.
func (i *Interface) PortFor(named string) string {
	switch {
	case len(i.Below) == 0:
		return i.Name
	case slices.Contains(i.Ports, named):
		return named
	}
	return i.Port
}

// KindWord strips the kind of what is said about it.
func (i *Interface) KindWord() string {
	word, _, _ := strings.Cut(i.Kind, " ")
	return word
}

// checkStack refuses interfaces that Linux would not have, and a port that is none.
func (i *Interface) checkStack() error {
	for _, name := range slices.Concat(i.Below, i.Ports) {
		if err := checkDev(name); err != nil {
			return fmt.Errorf("below %s: %w", i.Name, err)
		}
	}
	if i.Port != "" && !slices.Contains(i.Ports, i.Port) {
		return fmt.Errorf("interface %s: %q is not one of its ports", i.Name, i.Port)
	}
	return nil
}
