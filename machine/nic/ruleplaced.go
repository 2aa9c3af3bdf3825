// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// placedRule is a rule that a setting makes and deletes.
type placedRule struct {
	d *Device
	steering
}

func (r *placedRule) make(write func(placeNote) error) error {
	_, err := r.d.steer(r.steering, write)
	return err
}

func (r *placedRule) look(but []uint32) (placeLook, error) { return r.d.lookForRule(r.spec(), but) }

func (r *placedRule) holds(at uint32) (bool, error) {
	end := time.Now().Add(ruleWithin)
	t, err := r.d.rulesBy(end)
	if err != nil || !slices.Contains(t.places, at) {
		return false, err
	}
	fs, rerr := r.d.readRule(at, end)
	if rerr == nil {
		return fs.kin(r.spec()) != anotherRule, nil
	}
	t, err = r.d.rulesBy(end) // it may have gone meanwhile
	return err == nil && slices.Contains(t.places, at), err
}

// remove deletes the rule at a place, or finds it gone: where the driver says that there is none,
// its list must not have it either.
func (r *placedRule) remove(at uint32) error {
	err := r.d.DeleteRule(Rule(at))
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	t, lerr := r.d.rulesBy(time.Now().Add(ruleWithin))
	if lerr != nil {
		return lerr
	}
	if slices.Contains(t.places, at) {
		e := &fault.Error{Op: fmt.Sprintf("delete ntuple rule %d of %s, which its driver lists and does not delete",
			at, r.d.Name),
			How: fmt.Sprintf(
				"look at it: ethtool -n %s rule %d, and at the kernel's log (dmesg); then: zcbench restore", r.d.Name,
				at)}
		var errno unix.Errno
		if errors.As(err, &errno) {
			e.Err = errno
		}
		return e
	}
	return nil
}

func (r *placedRule) unsure(l placeLook) error {
	var show, del []string
	for _, at := range l.unsure {
		show = append(show, fmt.Sprintf("ethtool -n %s rule %d", r.d.Name, at))
		del = append(del, fmt.Sprintf("ethtool -N %s delete %d", r.d.Name, at))
	}
	e := &fault.Error{Op: fmt.Sprintf("find the ntuple rule %v of %s: it may be at %s, where the driver does not "+
		"tell what the rule is for", r.steering, r.d.Name, orList(l.unsure)), How: lookAndDelete(show, del)}
	var errno unix.Errno
	if errors.As(l.err, &errno) {
		e.Err = errno
	}
	return e
}

// orList words places: "3 or 7".
func orList(places []uint32) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(places), "[]"), " ", " or ")
}

// lookAndDelete advises what to do about what may be ours, by the commands that show it and that
// delete it.
func lookAndDelete(show, del []string) string {
	return fmt.Sprintf("look at it: %s; if no other program needs it, delete it: %s; then: zcbench restore",
		strings.Join(show, "; "), strings.Join(del, "; "))
}
