// SPDX-License-Identifier: MIT

// Package browsertest shows pages in a real browser, for tests: a Chromium without a window, which
// is spoken to over a pair of pipes (the DevTools protocol). It asks no network for anything.
package browsertest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// Names of the program; Debian's package is chromium.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// Browser is a running Chromium.
type Browser struct {
	t    testing.TB
	to   *os.File
	from *bufio.Reader

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	pages   map[string]*Page // by session
	ended   chan struct{}
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// message is what the browser says: an answer, or an event.
type message struct {
	ID        int
	SessionID string
	Method    string
	Params    json.RawMessage
	answer
}

// Start starts a Chromium, which ends with the test. It skips the test where there is none.
func Start(t testing.TB) *Browser {
	t.Helper()
	var path string
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		t.Skip("needs a Chromium, of Debian's package chromium: make test-long installs it")
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	args := []string{"--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
		"--hide-scrollbars", "--user-data-dir=" + home}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, append(args, "about:blank")...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &Browser{t: t, to: to, from: bufio.NewReader(from), waiting: map[int]chan answer{}, pages: map[string]*Page{},
		ended: make(chan struct{})}
	go b.listen()
	t.Cleanup(func() {
		b.tell("", "Browser.close", nil)
		to.Close()
		select {
		case <-b.ended:
		case <-await.Timeout():
			cmd.Process.Kill()
		}
		cmd.Wait()
		from.Close()
		if t.Failed() {
			t.Logf("the browser said:\n%s", said.String())
		}
	})
	return b
}

// listen sorts what the browser says until it ends.
func (b *Browser) listen() {
	defer close(b.ended)
	for {
		text, err := b.from.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		waits, page := b.waiting[m.ID], b.pages[m.SessionID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && waits != nil:
			waits <- m.answer
		case page != nil:
			page.event(&m)
		}
	}
}

// tell sends a command and returns where its answer comes.
func (b *Browser) tell(session, method string, params any) (chan answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	to := make(chan answer, 1)
	b.waiting[b.last] = to
	text, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params, "sessionId": session})
	if session == "" {
		text, err = json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	return to, err
}

// ask sends a command and waits for its answer.
func (b *Browser) ask(session, method string, params, result any) {
	b.t.Helper()
	if params == nil {
		params = struct{}{}
	}
	to, err := b.tell(session, method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case a := <-to:
		if a.Error != nil {
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(a.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-b.ended:
		b.t.Fatalf("%s: the browser ended", method)
	case <-await.Timeout():
		b.t.Fatalf("%s: no answer in %v", method, await.Hang)
	}
}

// View is how a page is looked at.
type View struct {
	Width, Height int
	Phone, Dark   bool
	NoScript      bool
	Printed       bool // as paper has it
}

// Page is a page that is shown.
type Page struct {
	b       *Browser
	session string
	loaded  chan struct{}

	mu       sync.Mutex
	problems []string
	asked    []string
}

// Open shows a file.
func (b *Browser) Open(path string, v View) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	b.ask("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.ask("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p := &Page{b: b, session: session.SessionID, loaded: make(chan struct{}, 8)}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.ask(p.session, domain+".enable", nil, nil)
	}
	p.View(v)
	b.ask(p.session, "Page.navigate", map[string]any{"url": "file://" + path}, nil)
	await.Chan(b.t, path+" is loaded", p.loaded)
	return p
}

// View changes how the page is looked at.
func (p *Page) View(v View) {
	p.b.t.Helper()
	p.b.ask(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": v.Height,
		"deviceScaleFactor": 1, "mobile": v.Phone}, nil)
	scheme := map[bool]string{false: "light", true: "dark"}[v.Dark]
	p.b.ask(p.session, "Emulation.setEmulatedMedia", map[string]any{"media": map[bool]string{true: "print"}[v.Printed],
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.b.ask(p.session, "Emulation.setScriptExecutionDisabled", map[string]any{"value": v.NoScript}, nil)
}

// event notes what a page did.
func (p *Page) event(m *message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "Page.loadEventFired":
		p.loaded <- struct{}{}
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, "exception: "+string(m.Params))
	case "Runtime.consoleAPICalled":
		p.problems = append(p.problems, "console: "+string(m.Params))
	case "Log.entryAdded":
		p.problems = append(p.problems, "log: "+string(m.Params))
	case "Network.requestWillBeSent":
		var r struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &r) == nil {
			p.asked = append(p.asked, r.Request.URL)
		}
	}
}

// Problems returns the exceptions and console messages so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Asked returns the addresses that the page has requested so far.
func (p *Page) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// Eval evaluates an expression in the page, into a variable.
func (p *Page) Eval(expression string, into any) {
	p.b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	p.b.ask(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true}, &r)
	err := errors.New("an exception")
	if r.ExceptionDetails == nil {
		if err = nil; into != nil {
			err = json.Unmarshal(r.Result.Value, into)
		}
	} else {
		err = fmt.Errorf("%w: %s", err, r.ExceptionDetails.Exception.Description)
	}
	if err != nil {
		p.b.t.Fatalf("%s: %v", expression, err)
	}
}

// Screenshot captures as PNG the whole page, or what is visible at once.
func (p *Page) Screenshot(whole bool) []byte {
	p.b.t.Helper()
	return p.data("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
}

// PDF prints the page.
func (p *Page) PDF() []byte {
	p.b.t.Helper()
	return p.data("Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true})
}

func (p *Page) data(method string, params any) []byte {
	p.b.t.Helper()
	var r struct{ Data string }
	p.b.ask(p.session, method, params, &r)
	b, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		p.b.t.Fatalf("%s: %v", method, err)
	}
	return b
}

// Point moves the mouse to a place.
func (p *Page) Point(x, y float64) {
	p.b.t.Helper()
	p.b.ask(p.session, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
}
