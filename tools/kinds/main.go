// SPDX-License-Identifier: MIT

// Kinds reads the marks of tests (package internal/kind), and finds tests that do not fit theirs.
//
//	kinds timed      the timed tests, a line each: folder and name
//	kinds pure       the folders of packages whose tests are pure
//	kinds kernel     in them, the tests that are not: folder and name
//	kinds check      what does not fit its mark, a line each, and status 1 if there is any
//
// It runs in the root of the project, or wants its path as a second argument.
package main

import (
	"fmt"
	"os"
)

func main() {
	root := "."
	if len(os.Args) == 3 {
		root = os.Args[2]
	} else if len(os.Args) != 2 {
		usage()
	}
	packages, err := read(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kinds:", err)
		os.Exit(1)
	}
	bad := false
	for _, p := range packages {
		switch os.Args[1] {
		case "timed":
			p.list(timed)
		case "kernel":
			p.list(kernel)
		case "pure":
			if p.pure {
				fmt.Println("./" + p.dir)
			}
		case "check":
			for _, said := range p.check() {
				fmt.Println(said)
				bad = true
			}
		default:
			usage()
		}
	}
	if bad {
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kinds timed|pure|kernel|check [ROOT]")
	os.Exit(2)
}

func (p *pkg) list(mark string) {
	for _, name := range p.names() {
		if p.funcs[name].mark == mark {
			fmt.Println("./"+p.dir, name)
		}
	}
}
