// SPDX-License-Identifier: MIT

// Package ifpath reads the list of interfaces that packets pass one after another: of `zcbench
// counters`, and of the option path of a run.
package ifpath

import (
	"fmt"
	"strings"
)

// Place is an interface and the network namespace that it is in.
type Place struct {
	Host  string // of a run: "sut", "tg"; "": the namespace of Netns
	Netns string // as of ip-netns(8), or a path; "": that of the caller
	Dev   string
	Item  int // its number in the list, from 1
	At    int // and at which byte it begins, from 1
}

func (p Place) String() string {
	if p.Host != "" {
		return p.Host + ":" + p.Dev
	}
	if p.Netns == "" {
		return p.Dev
	}
	return netnsPrefix + p.Netns + "/" + p.Dev
}

// Where names the place in the list, for errors.
func (p Place) Where() string {
	return fmt.Sprintf("interface %d, %q, at byte %d", p.Item, p.String(), p.At)
}

const (
	netnsPrefix = "netns:"
	mostPlaces  = 64
	mostName    = 15 // IFNAMSIZ less its end
)

// Several reports whether a list has more than one interface, or one elsewhere.
func Several(list string) bool {
	return strings.Contains(list, ",") || strings.HasPrefix(list, netnsPrefix)
}

// Hosts are the names of a run's two hosts in a list.
var Hosts = []string{"sut", "tg"}

// Parse reads interfaces apart by commas: DEV, or netns:NAME/DEV. An error names the position.
func Parse(list string) ([]Place, error) { return parse(list, nil) }

// ParseOne reads one interface: DEV, or netns:NAME/DEV.
func ParseOne(s string) (Place, error) {
	all, err := parseEach(s, nil)
	if err == nil && len(all) > 1 {
		err = fmt.Errorf("%d interfaces, where one is wanted", len(all))
	}
	if err != nil {
		return Place{}, err
	}
	return all[0], nil
}

// ParseRun does what Parse does for a run's list, which may also have sut:DEV and tg:DEV,
// interfaces of its hosts.
func ParseRun(list string) ([]Place, error) { return parse(list, Hosts) }

func parse(list string, hosts []string) (all []Place, err error) {
	if all, err = parseEach(list, hosts); err == nil && len(all) < 2 {
		err = fmt.Errorf("%s: a path needs at least two interfaces", all[0].Where())
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

func parseEach(list string, hosts []string) (all []Place, err error) {
	at := 1
	for item := range strings.SplitSeq(list, ",") {
		p := Place{Dev: item, Item: len(all) + 1, At: at}
		at += len(item) + 1
		if rest, ok := strings.CutPrefix(item, netnsPrefix); ok {
			cut := strings.LastIndexByte(rest, '/')
			if cut <= 0 {
				return nil, fmt.Errorf("%s: write a network namespace as netns:NAME/DEV", p.Where())
			}
			p.Netns, p.Dev = rest[:cut], rest[cut+1:]
		}
		for _, h := range hosts {
			if dev, ok := strings.CutPrefix(item, h+":"); ok {
				p.Host, p.Dev = h, dev
			}
		}
		switch {
		case p.Dev == "":
			return nil, fmt.Errorf("%s: no interface is named", p.Where())
		case !isName(p.Dev):
			return nil, fmt.Errorf(
				"%s: %q is not an interface name: want at most %d characters, without blanks or slashes", p.Where(),
				p.Dev, mostName)
		case len(all) == mostPlaces:
			return nil, fmt.Errorf("%s: more than %d interfaces", p.Where(), mostPlaces)
		}
		for _, q := range all {
			if q.Host == p.Host && q.Netns == p.Netns && q.Dev == p.Dev {
				return nil, fmt.Errorf("%s: already in the path, as interface %d", p.Where(), q.Item)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// isName reports whether the kernel would take a name (net/core/dev.c: dev_valid_name).
func isName(s string) bool {
	return s != "." && s != ".." && len(s) <= mostName &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f })
}
