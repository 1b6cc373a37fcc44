// Package browser tests the HTML report in a real Chromium: pages that the real meshvet has written, opened from the disk.
//
// It is driven by chromedp, since that is plain Go over the browser's own protocol: no node, no second driver process, and the version of
// Debian's Chromium does not have to be one that a driver ships with. What is accessible is judged by axe-core, in the page.
//
// With SCREENSHOTS=FOLDER the tests leave pictures there.
package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// What all tests share. TestMain sets it.
var (
	work    string          // a folder that is removed at the end
	meshvet string          // the program
	browser context.Context // of the running Chromium
	missing string          // why there is no Chromium
	axe     string          // axe-core; "" if it is not installed
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		missing = "there is no chromium; install the Debian package chromium, or run .ci/packages as root"
		return m.Run(), nil
	}
	if work, err = os.MkdirTemp("", "meshvet-browser-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	meshvet = filepath.Join(work, "meshvet")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", meshvet, "./cmd/meshvet")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build meshvet: %w\n%s", err, out)
	}
	if axe, err = readAxe(); err != nil {
		return 1, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(work, "profile")),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("force-prefers-reduced-motion", true), chromedp.WindowSize(1400, 1000),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	running, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(running); err != nil {
		return 1, fmt.Errorf("start %s: %w", chromium, err)
	}
	browser = running //nolint:fatcontext // tests make their tabs from it
	return m.Run(), nil
}

// readAxe returns the text of axe-core, "" if `make e2e-tools` has not been run.
func readAxe() (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME") // as in the Makefile
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	text, err := os.ReadFile(filepath.Join(cache, "meshvet", "e2e", "npm", "node_modules", "axe-core", "axe.min.js"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// need skips a test for which something is not there; in CI it fails.
func need(t *testing.T, lacking string) {
	t.Helper()
	switch {
	case lacking == "":
	case os.Getenv("CI") == "true":
		t.Fatal(lacking)
	default:
		t.Skip(lacking)
	}
}

// lint writes the report of a folder, and returns the page's path. The exit code is not judged.
func lint(t *testing.T, dir string, args ...string) string {
	t.Helper()
	need(t, missing)
	return lintTo(t, filepath.Join(t.TempDir(), "report.html"), dir, args...)
}

func lintTo(t *testing.T, out, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), meshvet, append([]string{"lint", "--config", os.DevNull, "--format", "html=" + out}, args...)...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(out); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out
}

// root is the folder of the project.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tab is a page in the browser, which listens to what the page should not do.
type tab struct {
	*testing.T
	ctx context.Context

	file string

	mu      sync.Mutex
	said    []string // on the console, of a violated policy, or as an exception
	asked   []string // URLs that were requested
	dialogs int
}

// settings of a tab.
type settings struct {
	width, height int64 // 1400 x 1000
	dark          bool
	noScript      bool
}

// show opens a page. When the test ends, the page must have been silent and have asked for nothing but itself.
func show(t *testing.T, file string, s settings) *tab {
	t.Helper()
	need(t, missing)
	b := &tab{T: t, file: file}
	ctx, stop := chromedp.NewContext(browser, chromedp.WithListener(b.listen))
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	b.ctx = ctx
	t.Cleanup(func() {
		b.checkSilent()
		cancel()
		stop()
	})
	if s.width == 0 {
		s.width, s.height = 1400, 1000
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, page.Enable, page.EnableParams{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.width < 600})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: s.noScript})
	b.do(chromedp.Navigate("file://" + file))
	return b
}

// call sends a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	out, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.Fatalf("%s: %v", command.Method, err)
	}
	return out
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var parts []string
		for _, a := range e.Args {
			parts = append(parts, string(a.Value)+a.Description)
		}
		b.said = append(b.said, "console: "+strings.Join(parts, " "))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, fmt.Sprintf("exception: %+v", *e.ExceptionDetails))
	case *log.EventEntryAdded:
		b.said = append(b.said, string(e.Entry.Source)+" "+string(e.Entry.Level)+": "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *page.EventJavascriptDialogOpening:
		b.dialogs++
		go func() {
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

func (b *tab) checkSilent() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.Errorf("the page says: %s", s)
	}
	for _, url := range b.asked {
		if url != "file://"+b.file {
			b.Errorf("the page asks for %s", url)
		}
	}
	if len(b.asked) == 0 {
		b.Error("no request was seen, not even that of the page")
	}
	if b.dialogs > 0 {
		b.Errorf("%d dialogs opened", b.dialogs)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// eval evaluates an expression; a promise is awaited.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return out
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](b, expression) {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("it does not come true: %s", expression)
		}
	}
}

// click clicks an element where it is in view, as a person does.
func (b *tab) click(css string) {
	b.Helper()
	at := eval[[]float64](b, `(() => { const e = document.querySelector(`+quoted(css)+`); e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect(); return [r.x + Math.min(r.width / 2, 40), r.y + r.height / 2]; })()`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// keys presses keys, one after the other.
func (b *tab) keys(keys ...string) {
	b.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// quoted is a string of JavaScript.
func quoted(s string) string { return strconv.Quote(s) }

// picture leaves a screenshot of what is in view, or of the whole page, where SCREENSHOTS says.
func (b *tab) picture(name string, whole bool) {
	b.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	shot := chromedp.CaptureScreenshot()
	if whole {
		shot = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(b.ctx, shot)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		b.Fatal(err)
	}
}
