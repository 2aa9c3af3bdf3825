// SPDX-License-Identifier: MIT

package survey

import (
	"fmt"
	"slices"
)

// Now replaces the live facts of the snapshot s by those of now.
func (s *Snapshot) Now(now *Snapshot) *Snapshot {
	all := slices.DeleteFunc(slices.Clone(s.Facts), Fact.Live)
	for _, f := range now.Facts {
		if f.Live() {
			all = append(all, f)
		}
	}
	return New(all)
}

// Since reduces s to a change of base. If they are equal, it returns base itself.
func (s *Snapshot) Since(base *Snapshot) *Snapshot { return s.SinceNamed(base, base.Hash()) }

// SinceNamed does what [Snapshot.Since] does, for a base of known hash: base has thousands of
// facts.
func (s *Snapshot) SinceNamed(base *Snapshot, hash string) *Snapshot {
	c := &Snapshot{Format: format, Version: version, Base: hash, Facts: []Fact{}}
	for _, d := range Diff(base, s) {
		if d.B == nil {
			c.Gone = append(c.Gone, d.Name)
		} else {
			c.Facts = append(c.Facts, Fact{d.Name, *d.B})
		}
	}
	if len(c.Facts)+len(c.Gone) == 0 {
		return base
	}
	return c
}

// On restores the whole snapshot that s, a change of base, stands for.
func (s *Snapshot) On(base *Snapshot) (*Snapshot, error) {
	if hash := base.Hash(); base.Base != "" || s.Base != hash {
		return nil, NotAChange(s.Hash(), hash)
	}
	return s.over(base), nil
}

// NotAChange says that a snapshot is no change of another one, by their hashes.
func NotAChange(hash, base string) error {
	return fmt.Errorf("snapshot %.12s is not a change of snapshot %.12s", hash, base)
}

// over puts s over its base, which the caller knows to be that.
func (s *Snapshot) over(base *Snapshot) *Snapshot {
	changed := map[string]bool{}
	for _, name := range s.Gone {
		changed[name] = true
	}
	for _, f := range s.Facts {
		changed[f.Name] = true
	}
	all := slices.DeleteFunc(slices.Clone(base.Facts), func(f Fact) bool { return changed[f.Name] })
	return New(append(all, s.Facts...))
}

// Difference is a fact that two snapshots do not share. Nil: it is not known there, or not there.
type Difference struct {
	Name string  `json:"name"`
	A    *string `json:"a"`
	B    *string `json:"b"`
}

// Diff lists the facts that differ, by name.
func Diff(a, b *Snapshot) (out []Difference) {
	i, k := 0, 0
	for i < len(a.Facts) || k < len(b.Facts) {
		switch {
		case k == len(b.Facts) || i < len(a.Facts) && a.Facts[i].Name < b.Facts[k].Name:
			out = append(out, Difference{a.Facts[i].Name, &a.Facts[i].Value, nil})
			i++
		case i == len(a.Facts) || b.Facts[k].Name < a.Facts[i].Name:
			out = append(out, Difference{b.Facts[k].Name, nil, &b.Facts[k].Value})
			k++
		default:
			if a.Facts[i].Value != b.Facts[k].Value {
				out = append(out, Difference{a.Facts[i].Name, &a.Facts[i].Value, &b.Facts[k].Value})
			}
			i, k = i+1, k+1
		}
	}
	return out
}
