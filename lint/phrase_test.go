package lint

import "testing"

func TestPhrases(t *testing.T) {
	for got, want := range map[string]string{
		Enumerate(nil):                       "",
		Enumerate([]string{"a"}):             "a",
		Enumerate([]string{"a", "b"}):        "a and b",
		Enumerate([]string{"a", "b", "c"}):   "a, b and c",
		PortList([]uint32{443}):              "port 443",
		PortList([]uint32{80, 4294967295}):   "ports 80, 4294967295",
		PortList(nil):                        "ports none",
		PortNumbers([]uint32{80, 443, 8443}): "80, 443, 8443",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
