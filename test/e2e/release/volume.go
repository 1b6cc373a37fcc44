package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A volume is the folder of a ConfigMap or Secret, kept at its state as kubelet does it: the files are in a folder with
// a time as its name, `..data` is a link to that folder, each file is a link through `..data`, and an update writes a new
// folder and moves the link, so that all files change at once.
type volume struct {
	client client.Client
	folder string
	// read returns the files that the volume should have; nil if the object is not there.
	read func(context.Context) (map[string][]byte, error)
	// optional volumes are empty while the object is not there; the Pod waits for the others.
	optional bool

	files map[string][]byte // what the folder has
	turn  int
}

// newVolume makes the volume for a Pod's; nil if it is of a kind that needs no mirror.
func newVolume(c client.Client, folder, namespace string, v *corev1.Volume) (*volume, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the volume %s: %w", v.Name, err)
	}
	switch {
	case v.ConfigMap != nil:
		key := client.ObjectKey{Namespace: namespace, Name: v.ConfigMap.Name}
		return &volume{client: c, folder: folder, optional: isTrue(v.ConfigMap.Optional), read: func(ctx context.Context) (map[string][]byte, error) {
			m := new(corev1.ConfigMap)
			if err := c.Get(ctx, key, m); err != nil {
				return nil, client.IgnoreNotFound(err)
			}
			files := maps.Clone(m.BinaryData)
			if files == nil {
				files = make(map[string][]byte)
			}
			for name, text := range m.Data {
				files[name] = []byte(text)
			}
			return chosen(files, v.ConfigMap.Items), nil
		}}, nil
	case v.Secret != nil:
		key := client.ObjectKey{Namespace: namespace, Name: v.Secret.SecretName}
		return &volume{client: c, folder: folder, optional: isTrue(v.Secret.Optional), read: func(ctx context.Context) (map[string][]byte, error) {
			s := new(corev1.Secret)
			if err := c.Get(ctx, key, s); err != nil {
				return nil, client.IgnoreNotFound(err)
			}
			if s.Data == nil {
				return map[string][]byte{}, nil
			}
			return chosen(s.Data, v.Secret.Items), nil
		}}, nil
	case v.EmptyDir != nil:
		return nil, nil //nolint:nilnil // an empty folder is all there is to it
	}
	return nil, fmt.Errorf("the volume %s is of a kind that the tests know nothing of", v.Name)
}

// fill brings the folder to the state of the object. It returns false if a volume that is not optional has none yet.
func (v *volume) fill(ctx context.Context) (bool, error) {
	files, err := v.read(ctx)
	if err != nil {
		return false, fmt.Errorf("read the object of %s: %w", v.folder, err)
	}
	if files == nil {
		// As kubelet does, what was there stays when the object goes.
		return v.optional || v.files != nil, nil
	}
	if v.files != nil && maps.EqualFunc(files, v.files, bytes.Equal) {
		return true, nil
	}
	if err := v.write(files); err != nil {
		return false, fmt.Errorf("write %s: %w", v.folder, err)
	}
	v.files = files
	return true, nil
}

func (v *volume) write(files map[string][]byte) error {
	v.turn++
	turn := fmt.Sprintf("..%s.%d", time.Now().UTC().Format("2006_01_02_15_04_05"), v.turn)
	if err := os.Mkdir(filepath.Join(v.folder, turn), 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(v.folder, turn, name), data, 0o600); err != nil {
			return err
		}
	}
	link, next := filepath.Join(v.folder, "..data"), filepath.Join(v.folder, "..data_tmp")
	before, _ := os.Readlink(link)
	if err := os.Symlink(turn, next); err != nil {
		return err
	}
	if err := os.Rename(next, link); err != nil {
		return err
	}
	for name := range files {
		err := os.Symlink(filepath.Join("..data", name), filepath.Join(v.folder, name))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	for name := range v.files {
		if _, ok := files[name]; !ok {
			_ = os.Remove(filepath.Join(v.folder, name))
		}
	}
	if before != "" {
		return os.RemoveAll(filepath.Join(v.folder, before))
	}
	return nil
}

// keep fills the folder again and again until the context ends. An API server that does not answer changes nothing.
func (v *volume) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
			_, _ = v.fill(ctx)
		}
	}
}

func chosen(files map[string][]byte, items []corev1.KeyToPath) map[string][]byte {
	if len(items) == 0 {
		return files
	}
	some := make(map[string][]byte)
	for name, data := range files {
		if i := slices.IndexFunc(items, func(k corev1.KeyToPath) bool { return k.Key == name }); i >= 0 {
			some[items[i].Path] = data
		}
	}
	return some
}

func isTrue(b *bool) bool { return b != nil && *b }
