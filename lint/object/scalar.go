package object

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// scalar is the value of a YAML scalar as Kubernetes reads it: by YAML 1.1, where yes, on and n are booleans and 0777 is
// octal, then through JSON, where 1.0 is the integer 1.
type scalar struct {
	typ  Type
	str  string // String
	bits uint64 // Bool, Int, Float
}

func stringScalar(s string) scalar { return scalar{typ: String, str: s} }

// yamlValue is a scalar before JSON has rounded it: nil, bool, int64, uint64 (beyond int64), float64 or string.
type yamlValue any

// resolve gives a scalar node its value. bang says that the node has the tag "!", which yaml.Node does not tell.
func resolve(n *yaml.Node, bang bool) (scalar, error) {
	if n.Style == 0 && !bang {
		if isPlainString(n.Value) {
			return stringScalar(n.Value), nil
		}
		if i, ok := decimal(n.Value); ok {
			return scalar{typ: Int, bits: uint64(i)}, nil
		}
	}
	v, err := yamlValueOf(n, bang)
	if err != nil {
		return scalar{}, err
	}
	s, err := scalarOf(v)
	if errors.Is(err, errNotFinite) {
		err = fmt.Errorf("%s is %w; write a finite number, or quote it", n.Value, err)
	}
	return s, err
}

// resolveKey gives a mapping key the name that Kubernetes' reader gives it, which for numbers is not always how they are
// written.
func resolveKey(n *yaml.Node, bang bool) (string, error) {
	v, err := yamlValueOf(n, bang)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		switch name := strconv.FormatFloat(v, 'g', -1, 32); name { // 32 bits, as the library does: what is too large for them is infinite
		case "+Inf":
			return ".inf", nil
		case "-Inf":
			return "-.inf", nil
		case "NaN":
			return ".nan", nil
		default:
			return name, nil
		}
	case nil:
		return "", errors.New("a mapping key is empty or null; write the key, or quote it")
	}
	return "", fmt.Errorf("the mapping key %s is too large a number; quote it", n.Value)
}

// yamlValueOf reads a scalar by its tag and style.
func yamlValueOf(n *yaml.Node, bang bool) (yamlValue, error) {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return taggedValue(n.ShortTag(), n.Value)
	case n.Style != 0 || bang:
		return n.Value, nil
	}
	return plainValue(n.Value), nil
}

func taggedValue(tag, s string) (yamlValue, error) {
	switch tag {
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, errors.New("a !!binary value is not base64; correct it")
		}
		return string([]rune(string(data))), nil // JSON holds no bytes that are not UTF-8
	case "!!null", "!!bool", "!!int", "!!float", "!!timestamp":
		v := plainValue(s)
		got := "!!str"
		switch w := v.(type) {
		case nil:
			got = "!!null"
		case bool:
			got = "!!bool"
		case int64:
			got = "!!int"
			if tag == "!!float" {
				return float64(w), nil
			}
		case uint64:
			got = "!!int"
		case float64:
			got = "!!float"
		}
		if tag == "!!timestamp" && isTimestamp(s) {
			return s, nil
		}
		if got != tag {
			return nil, fmt.Errorf("%q is tagged %s but is none; correct the value or drop the tag", s, tag)
		}
		return v, nil
	}
	return s, nil // !!str, and local tags such as !Ref, which Kubernetes' reader drops
}

// plainValue reads a scalar without quotes and tag.
func plainValue(s string) yamlValue {
	if s == "" {
		return nil
	}
	if w, ok := word(s); ok {
		return w
	}
	if !maybeNumber(s) {
		return s
	}
	if s[0] == '.' {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
		return s
	}
	digits := strings.ReplaceAll(s, "_", "")
	if v, ok := parseInt(digits, 0); ok {
		return v
	}
	if floatForm.MatchString(digits) {
		if f, err := strconv.ParseFloat(digits, 64); err == nil {
			return f
		}
	}
	if rest, found := strings.CutPrefix(digits, "0b"); found {
		if v, ok := parseInt(rest, 2); ok { // 0b+1, which only this library knows
			return v
		}
	}
	return s
}

var floatForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

func parseInt(s string, base int) (yamlValue, bool) {
	if i, err := strconv.ParseInt(s, base, 64); err == nil {
		return i, true
	}
	if u, err := strconv.ParseUint(s, base, 64); err == nil {
		return u, true
	}
	return nil, false
}

// PlainString says whether Kubernetes' reader, and any other of YAML 1.1 or 1.2, takes a scalar without quotes for a string, if it
// can stand without quotes at all. It errs on the side of false.
func PlainString(s string) bool {
	return isPlainString(s) && !isTimestamp(s) && !sexagesimal.MatchString(s) && s != "=" && s != "<<"
}

// sexagesimal is how YAML 1.1 writes numbers to the base of 60. To Kubernetes such a value is a string all the same.
var sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// isPlainString says whether a scalar without quotes and tag is a string.
func isPlainString(s string) bool {
	if s == "" || maybeNumber(s) {
		return false
	}
	_, ok := word(s)
	return !ok
}

// word reads the plain words that YAML 1.1 does not read as strings.
func word(s string) (yamlValue, bool) {
	if len(s) > len("false") {
		return nil, false
	}
	switch s {
	case "true", "True", "TRUE", "yes", "Yes", "YES", "y", "Y", "on", "On", "ON":
		return true, true
	case "false", "False", "FALSE", "no", "No", "NO", "n", "N", "off", "Off", "OFF":
		return false, true
	case "~", "null", "Null", "NULL":
		return nil, true
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1), true
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1), true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), true
	}
	return nil, false
}

// maybeNumber is a cheap sound test: a string with a rune that occurs in no form of number is a string. Durations ("10s"),
// addresses and list-like names are the common cases.
func maybeNumber(s string) bool {
	if c := s[0]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' {
		return false
	}
	dots := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == '+', c == '-', c == '_',
			c == 'x', c == 'X', c == 'o', c == 'O':
		case c == '.':
			if dots++; dots > 1 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// decimal reads an integer that every YAML version reads alike: no leading zero, no underscore, at most 18 digits.
func decimal(s string) (int64, bool) {
	d := strings.TrimPrefix(s, "-")
	if len(d) == 0 || len(d) > 18 || (d[0] == '0' && len(s) > 1) {
		return 0, false
	}
	for i := range len(d) {
		if d[i] < '0' || d[i] > '9' {
			return 0, false
		}
	}
	i, err := strconv.ParseInt(s, 10, 64)
	return i, err == nil
}

// isTimestamp says whether YAML 1.1 takes a scalar for a point in time. To Kubernetes such a value is a string all the same.
func isTimestamp(s string) bool {
	if len(s) < len("2006-1-2") || s[4] != '-' {
		return false
	}
	for _, layout := range [...]string{
		"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2",
	} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// scalarOf turns a decoded scalar into a scalar. Numbers become what they are after a way through JSON: a float without
// fraction is an integer, and an integer beyond int64 a float.
func scalarOf(v any) (scalar, error) {
	switch v := v.(type) {
	case nil:
		return scalar{typ: Null}, nil
	case bool:
		if v {
			return scalar{typ: Bool, bits: 1}, nil
		}
		return scalar{typ: Bool}, nil
	case string:
		return stringScalar(v), nil
	case int64:
		return scalar{typ: Int, bits: uint64(v)}, nil
	case int:
		return scalar{typ: Int, bits: uint64(int64(v))}, nil
	case uint64:
		if v <= math.MaxInt64 {
			return scalar{typ: Int, bits: v}, nil
		}
		return floatScalar(float64(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e21 { // encoding/json writes no exponent below that
			if i, err := strconv.ParseInt(strconv.FormatFloat(v, 'f', -1, 64), 10, 64); err == nil {
				return scalar{typ: Int, bits: uint64(i)}, nil
			}
		}
		return floatScalar(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return scalar{typ: Int, bits: uint64(i)}, nil
		}
		f, err := v.Float64()
		if err != nil {
			return scalar{}, fmt.Errorf("number %s: %w", v, err)
		}
		return floatScalar(f)
	}
	return scalar{}, fmt.Errorf("a value of type %T is no JSON scalar", v)
}

var errNotFinite = errors.New("infinite or not a number, which JSON cannot hold")

func floatScalar(f float64) (scalar, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return scalar{}, errNotFinite
	}
	return scalar{typ: Float, bits: math.Float64bits(f)}, nil
}
