package webhook

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
)

// tracked is what an informer keeps of an object: what it needs to tell versions apart, and the object as the index holds it.
// The unstructured form, several times as large, is garbage once it has been read.
type tracked struct {
	metav1.ObjectMeta
	object *object.Object // nil if it could not be read
	err    error
}

func (t *tracked) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself: it never changes.
func (t *tracked) DeepCopyObject() runtime.Object { return t }

// track is the transform of every informer. Informers may apply it twice.
func track(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	t := &tracked{ObjectMeta: metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}}
	t.object, t.err = live.Object(u.Object)
	return t, nil
}
