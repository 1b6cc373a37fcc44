package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Expressions that several tests ask for.
const (
	findingsShown = `[...document.querySelectorAll('#list > .f')].filter(e => !e.hidden).map(e => e.dataset.r).join(' ')`
	focusedNode   = `document.activeElement.id`
	hostsInMap    = `[...document.querySelectorAll('#canvas .node.host')].map(e => e.querySelector('text').textContent).join(' ')`
)

// example is the report of examples/bad, which tests share.
func example(t *testing.T) string {
	t.Helper()
	need(t, missing)
	once.Do(func() { shared = lintTo(t, filepath.Join(work, "example.html"), root(t), "examples/bad") })
	if shared == "" {
		t.Fatal("there is no report of examples/bad")
	}
	return shared
}

var (
	once   sync.Once
	shared string
)

func (b *tab) want(expression, want string) {
	b.Helper()
	if got := eval[string](b, "String("+expression+")"); got != want {
		b.Errorf("%s\nis   %q\nwant %q", expression, got, want)
	}
}

// typed puts a text into a field as a person does.
func (b *tab) typed(css, text string) {
	b.Helper()
	b.click(css)
	b.do(chromedp.KeyEvent(text))
}

func TestOpens(t *testing.T) {
	t.Parallel()
	file := example(t)
	for _, s := range []struct {
		name string
		settings
	}{
		{"light", settings{}}, {"dark", settings{dark: true}},
		{"phone-light", settings{width: 420, height: 900}}, {"phone-dark", settings{width: 420, height: 900, dark: true}},
	} {
		t.Run(s.name, func(t *testing.T) {
			b := show(t, file, s.settings)
			b.want(`document.title`, "meshvet: 14 findings")
			b.want(`document.querySelectorAll('#list > .f').length`, "14")
			b.want(`document.querySelectorAll('#list > .f')[0].dataset.s`, "error")
			b.want(`document.documentElement.scrollWidth <= innerWidth`, "true") // nothing makes the page scroll sideways
			b.want(hostsInMap, "mail.example.com api.payments.example.com catalogue.example.com")
			b.want(`document.querySelectorAll('[style]').length`, "0") // the policy would drop it
			dark := eval[string](b, `getComputedStyle(document.body).backgroundColor`) == "rgb(15, 19, 24)"
			if dark != s.dark {
				t.Errorf("the page is dark: %t", dark)
			}
			b.picture(s.name+"-summary", false)
			for _, id := range []string{"list", "map", "policy", "notes"} {
				eval[bool](b, `(document.getElementById(`+quoted(id)+`).scrollIntoView(), true)`)
				b.picture(s.name+"-"+id, false)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{})
	all := eval[string](b, findingsShown)
	if n := len(strings.Fields(all)); n != 14 {
		t.Fatalf("%d findings are shown", n)
	}
	b.typed("#q", "ORIGINAL_DST dialled")
	b.until(findingsShown + ` === 'SE101 DR207'`)
	b.want(`document.getElementById('count').textContent`, "2 of 14 findings shown")
	b.click("#filter [type=reset]")
	b.until(findingsShown + ` === ` + quoted(all))

	b.click("[name=severity][value=error]")
	b.click("[name=severity][value=warning]")
	b.until(findingsShown + ` === 'DR219 DR219 DR204'`)
	b.click("#filter [type=reset]")

	choose := func(id, value string) {
		b.Helper()
		eval[bool](b, fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event('change', {bubbles: true})); return e.value === %[1]q; })(document.getElementById(%q))`, value, id))
	}
	choose("ns", "istio-egress")
	b.until(findingsShown + ` === 'MX302 DR234 MX302 DR219'`)
	choose("rule", "MX302")
	b.until(findingsShown + ` === 'MX302 MX302'`)
	choose("file", "examples/bad/passthrough.yaml")
	b.until(findingsShown + ` === ''`)
	b.want(`document.getElementById('none').checkVisibility()`, "true")
	b.click("#clear")
	b.until(findingsShown + ` === ` + quoted(all))

	// A number in the summary shows the findings of its rule.
	b.click("[data-rule=DR201]")
	b.until(findingsShown + ` === 'DR201 DR201'`)
	b.want(focusedNode, "findings")

	b.click("#close-all")
	b.want(`document.querySelectorAll('.f:not([hidden]) details[open]').length`, "0")
	b.click("#open-all")
	b.want(`document.querySelectorAll('.f:not([hidden]) details[open]').length`, "2")

	b.typed("#mq", "catalogue")
	b.until(hostsInMap + ` === 'catalogue.example.com'`)
	b.want(`document.getElementById('mapcount').textContent`, "1 of 3 hosts in 1 group")
}

// A finding leads to its node, whose host's policy is shown; and from there back to it.
func TestFollow(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{})
	b.typed("#mq", "nothing has this name") // which following has to undo
	b.until(hostsInMap + ` === ''`)
	b.click(`.f[data-r="DR202"] .tomap button`)
	b.until(`document.activeElement.matches('.node.rule.sel > .item')`)
	node := `document.activeElement`
	b.want(node+`.getAttribute('aria-label')`,
		"hop 1, sidecar, rules DestinationRule shop/catalogue, cluster outbound|8080||catalogue.example.com; 2 findings, worst error")
	b.want(`(r => r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth)(`+node+`.getBoundingClientRect())`, "true")
	b.picture("follow", false)

	b.want(`document.querySelector('#panel h3').textContent`, "catalogue.example.com")
	b.want(`document.querySelector('#panel .hop.sel code').textContent`, "outbound|8080||catalogue.example.com")
	// The value that the port's entry discards, and the default that is there instead.
	b.want(`[...document.querySelectorAll('#panel .hop.sel tbody tr')].map(r => r.innerText).find(r => r.includes('maxConnections')).replace(/\s+/g, ' ')`,
		"connectionPool.tcp.maxConnections unlimited (4294967295) Istio's default circuit_breakers.thresholds[0].max_connections")
	b.want(`[...document.querySelectorAll('#panel .hop')][0].innerText.includes('examples/bad/tls-origination.yaml:35')`, "true")

	b.click("#back")
	b.until(`document.activeElement.dataset.r === 'DR202'`)
	b.want(`document.activeElement.firstElementChild.open`, "true")

	// Struck values are those without an effect.
	eval[bool](b, `(e => { e.value = [...e.options].find(o => o.text.startsWith('api.payments')).value; e.dispatchEvent(new Event('change')); return true; })(document.getElementById('host'))`)
	b.want(`[...document.querySelectorAll('#panel tr.inert')].map(r => r.querySelector('th').textContent + '=' + r.querySelector('s').textContent).join(' ')`,
		"connectionPool.http.http2MaxRequests=1000 connectionPool.http.maxRetries=unlimited (4294967295) connectionPool.http.idleTimeout=600s "+
			"outlierDetection.interval=5s outlierDetection.minHealthPercent=0 outlierDetection.consecutiveErrors=5")
	b.click("#set")
	b.want(`document.querySelectorAll('#panel tbody tr.own').length + ' ' + document.querySelectorAll('#panel tbody tr').length`, "6 7")

	// From the host to one of its findings, which the filter hides.
	b.typed("#q", "MX302")
	b.until(findingsShown + ` === 'MX302 MX302'`)
	b.click("#panel .found a")
	b.until(`document.activeElement.dataset.r === 'DR211'`)
}

// Everything can be done with the keyboard alone.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{})
	b.keys(kb.Tab)
	b.want(`document.activeElement.className`, "skip")
	b.picture("skip", false)
	b.keys(kb.Enter)
	b.until(`location.hash === '#findings'`)
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyDown", Key: "/", Code: "Slash", Text: "/"}) // whose letter must not be typed
	b.want(focusedNode, "q")
	b.do(chromedp.KeyEvent("double"))
	b.until(findingsShown + ` === 'DR234'`)

	// On with Tab to the button that leads to the map; each stop can be seen.
	for i := 0; !eval[bool](b, `document.activeElement.matches('.tomap button')`); i++ {
		if i == 30 {
			t.Fatal("Tab does not lead to the map")
		}
		b.keys(kb.Tab)
		if !eval[bool](b, `(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1)(getComputedStyle(document.activeElement))`) {
			t.Errorf("the focus cannot be seen on %s", eval[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
	}
	b.keys(kb.Enter)
	b.until(`document.activeElement.matches('.node.rule.sel > .item')`)
	b.want(`getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth`, "3px")
	b.picture("keyboard", false)
	at := func(want string) {
		b.Helper()
		b.want(`document.activeElement.querySelector('title').textContent.split(',')[0]`, want)
	}
	at("hop 1")
	b.keys(kb.ArrowLeft)
	at("port 443 TLS")
	b.keys(kb.ArrowLeft)
	at("host mail.example.com")
	b.keys(kb.ArrowLeft)
	at("defined in istio-egress")
	b.keys(kb.ArrowLeft) // which closes the group
	b.want(`document.activeElement.getAttribute('aria-expanded')`, "false")
	b.want(hostsInMap, "api.payments.example.com catalogue.example.com")
	b.keys(kb.ArrowDown)
	at("defined in shop")
	b.keys(kb.ArrowUp, kb.ArrowRight, kb.ArrowRight)
	at("host mail.example.com")
	b.keys(kb.End)
	at("hop 1")
	b.keys(kb.Home)
	at("defined in istio-egress")
	b.keys(kb.ArrowRight, kb.Enter)
	b.want(`document.querySelector('#panel h3').textContent`, "mail.example.com")
	width := func() float64 {
		return eval[float64](b, `document.querySelector('#canvas svg').getBoundingClientRect().width`)
	}
	before := width()
	b.keys("+", "+")
	if w := width(); w < before*1.4 {
		t.Errorf("+ makes the map %v wide, it was %v", w, before)
	}
	left := eval[float64](b, `document.getElementById('canvas').scrollLeft`)
	b.do(chromedp.KeyEvent(kb.ArrowLeft, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.want(`document.getElementById('canvas').scrollLeft`, fmt.Sprint(max(0, left-80)))
	b.keys("0")
	if w := width(); w > before {
		t.Errorf("0 makes the map %v wide, it was %v", w, before)
	}
	// One node is in the order of Tab.
	b.want(`document.querySelectorAll('#canvas [tabindex="0"]').length`, "1")
}

func TestPointer(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{width: 800, height: 900})
	for range 4 {
		b.click("#in")
	}
	left := eval[float64](b, `(document.getElementById('canvas').scrollLeft = 40)`)
	at := eval[[]float64](b, `(r => [r.x + r.width - 30, r.y + 40])(document.getElementById('canvas').getBoundingClientRect())`)
	b.do(
		chromedp.MouseEvent("mousePressed", at[0], at[1], chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseMoved", at[0]-60, at[1], chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseMoved", at[0]-150, at[1], chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", at[0]-150, at[1], chromedp.ButtonLeft),
	)
	b.want(`document.getElementById('canvas').scrollLeft`, fmt.Sprint(left+150))
	b.click("#canvas .node.group")
	b.until(`document.querySelectorAll('#canvas .node.group > [aria-expanded=false]').length === 1`)
	b.click("#canvas .node.host")
	b.until(`document.querySelector('#canvas .node.host').classList.contains('sel')`)
}

// The choice of colours holds against the system's.
func TestTheme(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{dark: true})
	background := `getComputedStyle(document.body).backgroundColor`
	for _, c := range []struct{ theme, want string }{{"light", "rgb(245, 246, 248)"}, {"dark", "rgb(15, 19, 24)"}, {"", "rgb(15, 19, 24)"}} {
		eval[bool](b, fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event('change')); return true; })(document.getElementById('theme'))`, c.theme))
		b.want(background, c.want)
	}
}

// axe-core finds nothing, in both colour schemes and on a phone; contrast is among what it looks at.
func TestAccessible(t *testing.T) {
	t.Parallel()
	file := example(t)
	if axe == "" {
		need(t, "there is no axe-core; run make e2e-tools")
	}
	for _, s := range []struct {
		name string
		settings
	}{{"light", settings{}}, {"dark", settings{dark: true}}, {"phone", settings{width: 420, height: 900}}} {
		t.Run(s.name, func(t *testing.T) {
			b := show(t, file, s.settings)
			eval[bool](b, axe+"; true")
			result := eval[string](b, `axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
				.then(r => JSON.stringify({checked: r.passes.map(p => p.id), failed: r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join('; '))}))`)
			var out struct{ Checked, Failed []string }
			if err := json.Unmarshal([]byte(result), &out); err != nil {
				t.Fatal(err)
			}
			for _, f := range out.Failed {
				t.Error(f)
			}
			for _, rule := range []string{"color-contrast", "heading-order", "landmark-one-main", "label", "aria-required-children"} {
				if !slices.Contains(out.Checked, rule) {
					t.Errorf("axe has not checked %s; it has checked %v", rule, out.Checked)
				}
			}
		})
	}
}

// Paper has the findings with their details, the policies, and no controls.
func TestPrint(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{})
	b.click("#close-all")
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.want(`['.filter', '.top nav', '#panel', '.links'].filter(s => document.querySelector(s).checkVisibility()).join()`, "")
	b.want(`getComputedStyle(document.body).backgroundColor`, "rgb(255, 255, 255)")
	eval[bool](b, `(dispatchEvent(new Event('beforeprint')), true)`)
	b.want(`document.querySelectorAll('.f .body dl').length + ' ' + [...document.querySelectorAll('.f .body dl')].filter(e => e.checkVisibility()).length`, "14 14")
	b.want(`document.querySelectorAll('#paper .policy').length`, "4")
	b.picture("print", true)
	eval[bool](b, `(dispatchEvent(new Event('afterprint')), true)`)
	b.want(`document.querySelectorAll('#paper .policy').length + ' ' + document.querySelectorAll('.f details[open]').length`, "0 0")
	pdf := call(b, page.PrintToPDF, page.PrintToPDFParams{}).Data
	if !strings.HasPrefix(string(pdf), "%PDF-") || len(pdf) < 20_000 {
		t.Errorf("the page prints to %d bytes", len(pdf))
	}
	if folder := os.Getenv("SCREENSHOTS"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, "print.pdf"), pdf, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a script there are the findings, the hosts and the settings, and no controls that do nothing.
func TestNoScript(t *testing.T) {
	t.Parallel()
	b := show(t, example(t), settings{noScript: true})
	text := eval[string](b, `document.body.innerText`)
	for _, want := range []string{
		"consecutiveErrors 5 is not read by Istio any more", "consecutive_5xx keeps Envoy’s default", "The hosts that it would show", "connectionPool.tcp.maxConnections",
		"circuit_breakers.thresholds[0].max_connections", "no effect",
	} {
		if !strings.Contains(text, strings.ReplaceAll(want, "’", "'")) {
			t.Errorf("the page does not have %q", want)
		}
	}
	b.want(`document.querySelectorAll('noscript .policy').length + ' ' + [...document.querySelectorAll('button, input, select')].filter(e => e.checkVisibility()).length`, "4 0")
	b.picture("no-script", true)
}

// Two thousand hosts and thousands of findings are a page that opens, and that can be searched.
func TestBig(t *testing.T) {
	t.Parallel()
	file := lint(t, mesh(t, 2000, 40))
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	b := show(t, file, settings{})
	loaded := time.Since(began)
	b.want(`document.querySelectorAll('#list > .f').length > 7000`, "true")
	began = time.Now()
	eval[bool](b, `(document.getElementById('q').value = 'team-37/host-77,', document.getElementById('q').dispatchEvent(new Event('input')), true)`)
	b.until(`/^\d of /.test(document.getElementById('count').textContent)`)
	searched := time.Since(began)
	b.want(`[...document.querySelectorAll('.f:not([hidden])')].filter(e => !e.textContent.includes('team-37/host-77,')).length`, "0")
	// Of the groups one is open, that of the host which is chosen.
	b.want(`document.querySelectorAll('#canvas .node.group').length + ' ' + document.querySelectorAll('#canvas .node.group > [aria-expanded=true]').length`, "80 1")
	b.want(`document.querySelectorAll('#canvas .node.host.sel').length`, "1")
	b.typed("#mq", "api-77.")
	b.until(hostsInMap + ` === 'api-77.partner.example.com'`)
	b.click(`.f:not([hidden]) summary`)
	b.click(`.f:not([hidden]) .tomap button`)
	b.until(`document.querySelector('#panel h3').textContent === 'api-77.partner.example.com'`)
	eval[bool](b, `(document.getElementById('mq').value = '', document.getElementById('mapform').reset(), true)`)
	began = time.Now()
	b.click("#expand")
	b.until(`document.querySelectorAll('#canvas .node.host').length > 1000`)
	t.Logf("%.1f MB; loaded in %v, searched in %v, all groups opened in %v", float64(info.Size())/1e6, loaded, searched, time.Since(began))
	b.picture("big", false)
	if info.Size() > 20_000_000 {
		t.Errorf("the page has %d bytes", info.Size())
	}
	if loaded > 30*time.Second {
		t.Errorf("the page takes %v to load", loaded)
	}
}
