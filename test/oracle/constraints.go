package main

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// brokenConstraints runs the checks that are generated from the constraints in Envoy's API over a message and what is packed
// into it. Envoy refuses (NACKs) a resource that fails one. The generated checks do not look into packed messages by themselves.
func brokenConstraints(what string, m proto.Message) []string {
	var out []string
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			out = append(out, what+": "+strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	// The walk itself cannot fail: neither visitor returns an error but to skip what is packed.
	_ = protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		inner, ok := p.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		packed, ok := inner.Interface().(*anypb.Any)
		if !ok {
			return nil
		}
		if unpacked, err := packed.UnmarshalNew(); err == nil {
			out = append(out, brokenConstraints(what+" "+string(unpacked.ProtoReflect().Descriptor().Name()), unpacked)...)
		}
		return protorange.Break
	})
	return out
}
