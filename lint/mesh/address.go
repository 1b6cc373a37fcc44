package mesh

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// autoAllocateLabel is the label by which an entry refuses addresses from istiod.
const autoAllocateLabel = "networking.istio.io/enable-autoallocate-ip"

// Addresses returns the addresses by which Envoy tells a host of a ServiceEntry from others: the addresses and ranges of
// spec.addresses, else those that istiod allocated to the host. There are none if Envoy listens for the host on 0.0.0.0 alone.
func (x *Index) Addresses(t *Target, h Host) []string {
	if own := t.ownAddresses(); len(own) > 0 {
		return own
	}
	if !x.settings.mayAllocate(t) {
		return nil
	}
	var out []string
	for _, a := range t.Object.Status().Get("addresses").Items() {
		if _, err := netip.ParseAddr(a.Get("value").Str()); err == nil && Host(a.Get("host").Str()) == h {
			out = append(out, a.Get("value").Str())
		}
	}
	return out
}

// AllAddresses returns the addresses of all hosts of a ServiceEntry.
func (x *Index) AllAddresses(t *Target) []string {
	out := []string{}
	for _, h := range t.Hosts {
		for _, a := range x.Addresses(t, h) {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// Allocated says whether Envoy listens for a host of a ServiceEntry on an address that istiod gave it, or will give it: the
// latter is taken for sure only if the settings say that proxies answer DNS and that istiod allocates. Istiod passes over
// wildcards, except those of DYNAMIC_DNS.
func (x *Index) Allocated(t *Target, h Host) bool {
	if !x.settings.mayAllocate(t) {
		return false
	}
	s := x.settings
	willBe := s.DNSCapture != nil && *s.DNSCapture && s.AutoAllocate != nil && *s.AutoAllocate && (!h.IsWildcard() || t.Resolution == "DYNAMIC_DNS")
	return willBe || len(x.Addresses(t, h)) > 0
}

// mayAllocate says whether an address from istiod would count for a ServiceEntry. For resolution NONE, beside addresses of the
// entry's own and against the label, Istio ignores even one that stands in the status, and a proxy that does not answer DNS
// never uses any.
func (s *Settings) mayAllocate(t *Target) bool {
	return !t.IsService() && t.Resolution != "NONE" && !strings.EqualFold(t.Object.Label(autoAllocateLabel), "false") &&
		t.Object.Spec().Get("addresses").Len() == 0 &&
		(s.DNSCapture == nil || *s.DNSCapture) && (s.AutoAllocate == nil || *s.AutoAllocate)
}

// ownAddresses are the addresses and ranges of spec.addresses. A range of one address is that address, and what is neither is left
// out, as Istio does.
func (t *Target) ownAddresses() []string {
	if t.IsService() {
		return nil
	}
	var out []string
	for i, item := range t.Object.Spec().Get("addresses").Items() {
		if i == maxAddresses {
			break
		}
		if text, ok := addressOf(item.Str()); ok && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// addressOf reads an entry of spec.addresses.
func addressOf(text string) (string, bool) {
	if r, err := netip.ParsePrefix(text); err == nil {
		if r.IsSingleIP() {
			return r.Addr().String(), true
		}
		return text, true
	}
	_, err := netip.ParseAddr(text)
	return text, err == nil
}

// nowhere says of the spec of a ServiceEntry that it has addresses, and none that is one: Istio makes a service for each host and
// address, and so none at all. Words such as ${IP}, which stand for an address that is not known yet, count as one. Source: Istio's
// pilot/pkg/serviceregistry/serviceentry, convertServices.
func nowhere(spec object.Value) bool {
	list := spec.Get("addresses")
	if list.Len() > maxAddresses { // not judged
		return false
	}
	for _, item := range list.Items() {
		text := item.Str()
		if _, ok := addressOf(text); ok || strings.ContainsAny(text, "$<{") {
			return false
		}
	}
	return list.Len() > 0
}

// IsCIDR says whether an entry of spec.addresses is a range rather than one address.
func IsCIDR(address string) bool {
	_, err := netip.ParsePrefix(address)
	return err == nil
}
