// SPDX-License-Identifier: MIT

package setting_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/setting"
)

const _ = kind.Pure

// device is a setting of two parts, "a N, b N", the second of which can be left
// open; a of 0 lets the device choose, which it then tells.
type device struct {
	now  string
	log  []string
	lies bool
}

func (d *device) setting() setting.Setting {
	return setting.Setting{Name: "ab",
		Get: func() (string, error) { return d.now, nil },
		Set: func(v string) error {
			d.log = append(d.log, v)
			if !d.lies {
				d.now = strings.Replace(v, "a 0", "a 7", 1)
			}
			return nil
		},
		Canon: func(v string) (string, error) {
			if !strings.HasPrefix(v, "a ") {
				return "", errors.New("want a N[, b N]")
			}
			return strings.Join(strings.Fields(v), " "), nil
		},
		Complete: func(v, found string) (string, error) {
			if strings.Contains(v, ", b") {
				return v, nil
			}
			_, b, _ := strings.Cut(found, ",")
			return v + "," + b, nil
		},
		Follows: func(v, now string) bool { return strings.HasPrefix(v, "a 0,") && strings.HasPrefix(now, "a 7,") },
	}
}

func TestApply(t *testing.T) {
	for _, c := range []struct{ want, set, now string }{
		{"a 2, b 3", "a 2, b 3", "a 2, b 3"},
		{"a  2,  b 3", "a 2, b 3", "a 2, b 3"}, // as typed by somebody
		{"a 2", "a 2, b 1", "a 2, b 1"},        // what it leaves open stays
		{"a 1", "", "a 1, b 1"},                // so it is already
		{"a 0", "a 0, b 1", "a 7, b 1"},        // the device chooses
	} {
		d := &device{now: "a 1, b 1"}
		if err := setting.Apply(d.setting(), "eth0", c.want); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
		if got := strings.Join(d.log, ";"); got != c.set || d.now != c.now {
			t.Errorf("%s: set %q, is %q; want %q, %q", c.want, got, d.now, c.set, c.now)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	d := &device{now: "a 1, b 1", lies: true}
	var r *setting.Reverted
	if err := setting.Apply(d.setting(), "eth0", "a 2"); !errors.As(err, &r) || r.Got != "a 1, b 1" ||
		r.Want != "a 2, b 1" {
		t.Errorf("a device that lies: %v", err)
	}
	d.log = nil
	var i *setting.Invalid
	if err := setting.Apply(d.setting(), "eth0", "b"); !errors.As(err, &i) || len(d.log) > 0 ||
		!strings.Contains(err.Error(), `setting "ab": want a N`) {
		t.Errorf("nonsense: %v, set %q", err, d.log)
	}
}

// What reads as it does when a text was set is not set again, though the text is another.
func TestApplyFollows(t *testing.T) {
	d := &device{now: "a 7, b 1"}
	if err := setting.Apply(d.setting(), "eth0", "a 0"); err != nil || len(d.log) > 0 {
		t.Errorf("%v, set %q", err, d.log)
	}
}
