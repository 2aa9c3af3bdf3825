// SPDX-License-Identifier: MIT

package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/zcbench/zcbench/internal/fault"
)

// ErrNoAnswer is a question that the record has no answer to.
var ErrNoAnswer = errors.New("the record has no answer to this")

// machine is what answers instead of the kernel, or listens to it; nil: nothing.
var machine atomic.Pointer[player]

// player is a record in use, by one goroutine at a time.
type player struct {
	file   *File
	at     map[string]int // of file.Answers, by question
	replay bool
	depth  int
	broken error // while recording: an answer that no record can hold
}

// Off reports whether there is no record in use: the kernel is asked as ever.
func Off() bool { return machine.Load() == nil }

// Recording reports whether answers are being written down.
func Recording() bool { p := machine.Load(); return p != nil && !p.replay }

// Replaying reports whether a record answers, and the kernel is not to be asked.
func Replaying() bool { p := machine.Load(); return p != nil && p.replay }

// Record calls f and returns all that was asked and answered meanwhile.
func Record(f func() error) (*File, error) {
	p := &player{file: &File{Format: format, Version: version}, at: map[string]int{}}
	if err := p.while(f); err != nil {
		return nil, err
	}
	if p.broken != nil {
		return nil, p.broken
	}
	return p.file, p.file.Check()
}

// Replay calls f, and answers all that is asked meanwhile from the record.
func (f *File) Replay(call func() error) error {
	p := &player{file: f, at: map[string]int{}, replay: true}
	for i, a := range f.Answers {
		p.at[a.Asked] = i
	}
	return p.while(call)
}

func (p *player) while(f func() error) error {
	if !machine.CompareAndSwap(nil, p) {
		return errors.New("this process is already using another record")
	}
	defer machine.Store(nil)
	return f()
}

// Ask returns f's answer to a question, or that of the record. Questions are told apart by their
// text, which is the same on every host that is asked the same. The answer must survive
// encoding/json.
func Ask[T any](asked string, f func() (T, error)) (T, error) {
	p := machine.Load()
	switch {
	case p == nil:
		return f()
	case p.replay:
		return answer[T](p, asked)
	case p.depth > 0:
		return f()
	}
	if _, known := p.at[asked]; known {
		return answer[T](p, asked)
	}
	p.depth++
	v, err := f()
	p.depth--
	p.write(asked, v, err)
	return v, err
}

// Note records how what is done each time, whatever was answered before, ended: err. In a replay it
// returns how it ended in the record, whatever err is.
func Note(asked string, err error) error {
	p := machine.Load()
	switch {
	case p == nil:
	case p.replay:
		_, err = answer[struct{}](p, asked)
	case p.depth == 0:
		if _, known := p.at[asked]; !known {
			p.write(asked, struct{}{}, err)
		}
	}
	return err
}

// Try does what [Ask] does for what has no answer but whether it worked.
func Try(asked string, f func() error) error {
	_, err := Ask(asked, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// write adds an answer.
func (p *player) write(asked string, v any, err error) {
	a := Answer{Asked: asked, Failed: failureOf(err)}
	if v != (any)(struct{}{}) && err == nil {
		got, jerr := json.Marshal(v)
		if jerr != nil && p.broken == nil {
			p.broken = fmt.Errorf("record the answer to %q: %w", asked, jerr)
		}
		a.Got = got
	}
	p.at[asked] = len(p.file.Answers)
	p.file.Answers = append(p.file.Answers, a)
}

// answer returns what the record says.
func answer[T any](p *player, asked string) (v T, err error) {
	i, ok := p.at[asked]
	if !ok {
		return v, &fault.Error{Op: fmt.Sprintf("%.200s", asked), Err: ErrNoAnswer,
			How: "make a new record with this zcbench"}
	}
	a := p.file.Answers[i]
	if a.Failed != nil {
		return v, a.Failed.err()
	}
	if len(a.Got) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(a.Got, &v); err != nil {
		return v, fmt.Errorf("the record's answer to %.200q: %w", asked, err)
	}
	return v, nil
}
