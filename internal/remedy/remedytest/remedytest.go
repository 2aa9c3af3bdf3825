// SPDX-License-Identifier: MIT

// Package remedytest makes calls fail in tests with every errno that the table of package remedy
// has for them, and demands the table's words of what the caller says.
package remedytest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/denied"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// errnos lists those that the table has for a call and for what it is one of, ascending.
func errnos(call remedy.Call) (all []unix.Errno) {
	for _, r := range remedy.Rows(call) {
		if r.Errno != 0 && !slices.Contains(all, r.Errno) {
			all = append(all, r.Errno)
		}
	}
	slices.Sort(all)
	return all
}

// Try makes the call fail with each errno of the table but those left out, by fail. That returns
// what the caller of the call says: an error that is the errno, that names the object, and that has
// the fix of one of the errno's rows.
func Try(t *testing.T, call remedy.Call, object string, fail func(unix.Errno) error, but ...unix.Errno) {
	t.Helper()
	if len(errnos(call)) == 0 {
		t.Fatalf("the table has no row of %s", call)
	}
	for _, errno := range errnos(call) {
		if slices.Contains(but, errno) {
			continue
		}
		if err := Check(call, object, errno, fail(errno)); err != nil {
			t.Errorf("%s, %s: %v", call, fault.ErrnoName(errno), err)
		}
	}
}

// Check finds what is wrong with the words of an error of a call that failed with errno.
func Check(call remedy.Call, object string, errno unix.Errno, err error) error {
	fix := fault.Fix(err)
	switch {
	case !errors.Is(err, errno):
		return fmt.Errorf("got %v", err)
	case !strings.Contains(err.Error(), object):
		return fmt.Errorf("%v does not name %s", err, object)
	}
	for _, r := range remedy.Rows(call) {
		if (r.Errno == errno || r.Errno == 0) && has(fix, r) {
			return nil
		}
	}
	return fmt.Errorf("%v: the fix is none of the table's: %q", err, fix)
}

// what stands in rows for what a call was about.
var placeholder = regexp.MustCompile(`\b([a-z]+_)?(ADDRESS|PORT|DEV|PATH|VALUE)\b`)

// has reports whether a fix is a row's, whatever it was about.
func has(fix string, r remedy.Row) bool {
	want := remedy.NoFix
	if r.Do != "" {
		want = r.Do
	}
	form := placeholder.ReplaceAllString(regexp.QuoteMeta(want), ".+")
	ok, err := regexp.MatchString(form, fix)
	return ok && err == nil
}

// Denied makes system call nr fail with an errno where f calls it. What Go repeats by itself
// cannot be had so: it is to be left out, see [Repeated].
func Denied(nr uint32, f func() error) func(unix.Errno) error {
	return func(errno unix.Errno) error {
		var got error
		if err := denied.Run(nr, errno, func() { got = f() }); err != nil {
			return err
		}
		return got
	}
}

// DeniedIf does what [Denied] does for calls whose argument arg, from 0 on, is value: see
// [denied.RunIf].
func DeniedIf(nr uint32, arg int, value uint32, f func() error) func(unix.Errno) error {
	return func(errno unix.Errno) error {
		var got error
		if err := denied.RunIf(nr, arg, value, errno, func() { got = f() }); err != nil {
			return err
		}
		return got
	}
}

// Repeated are errnos after which Go, or a library, makes a call again by itself.
var Repeated = []unix.Errno{unix.EINTR, unix.EAGAIN}
