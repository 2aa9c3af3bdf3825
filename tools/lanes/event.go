// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"strings"
)

// An event is a line of go test -json: see go doc test2json.
type event struct {
	Time        string  `json:",omitempty"`
	Action      string  `json:",omitempty"`
	Package     string  `json:",omitempty"`
	ImportPath  string  `json:",omitempty"`
	Test        string  `json:",omitempty"`
	Elapsed     float64 `json:",omitempty"` // seconds
	Output      string  `json:",omitempty"`
	FailedBuild string  `json:",omitempty"`
}

// parse reads a line, and reports whether it is an event.
func parse(line []byte) (e event, ok bool) {
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		return event{}, false
	}
	return e, e.Action != "" && (e.Package != "" || e.ImportPath != "")
}

// ends reports whether the event is the end of a test or of a package.
func (e event) ends() bool { return e.Action == "pass" || e.Action == "fail" || e.Action == "skip" }

// labelled formats the event as a line, with the lane behind its package.
func (e event) labelled(lane string) []byte {
	if e.Package != "" {
		e.Package += " [" + lane + "]"
	}
	b, err := json.Marshal(e)
	if err != nil { // it came as JSON
		panic(err)
	}
	return append(b, '\n')
}

// top returns the test that an event's subtest is of.
func (e event) top() string {
	name, _, _ := strings.Cut(e.Test, "/")
	return name
}

// short cuts the module's path off a package's.
func short(path string) string {
	return strings.TrimPrefix(path, "github.com/zcbench/zcbench/")
}
