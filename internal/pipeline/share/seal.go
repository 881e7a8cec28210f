package share

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

// maxDescription limits the size of files that are read as a whole, in bytes.
const maxDescription = 1 << 30

// Seal returns a value as text that includes its checksum, which sum points to.
func Seal(v any, sum *string) ([]byte, error) {
	*sum = ""
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	*sum = sumOf(b)
	b, err = json.MarshalIndent(v, "", " ")
	return append(b, '\n'), err
}

func sumOf(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// Unseal parses the output of [Seal]. It returns an error for changed text and for unknown fields. If the text is as another
// version wrote it, the error says so.
func Unseal(b []byte, v any, sum *string) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return cmp.Or(ofAnother(b), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	has := *sum
	if _, err := Seal(v, sum); err != nil {
		return err
	}
	if *sum != has {
		return cmp.Or(ofAnother(b), errors.New("it is not what was written: its checksum is wrong"))
	}
	return nil
}

// errOtherVersion reports the output of [Seal] of another version, whose values have other fields.
var errOtherVersion = fail.Errorf(fail.Config, "another version of bulkload wrote it: continue with that version")

// ofAnother returns errOtherVersion if text is unchanged: its checksum is that of its own values, whatever fields they have.
func ofAnother(b []byte) error {
	var has struct{ Checksum string }
	var text bytes.Buffer
	if json.Unmarshal(b, &has) != nil || has.Checksum == "" || json.Compact(&text, b) != nil {
		return nil
	}
	if sumOf(bytes.Replace(text.Bytes(), []byte(`"`+has.Checksum+`"`), []byte(`""`), 1)) != has.Checksum {
		return nil
	}
	return errOtherVersion
}

// ReadSealed reads a file that has the output of [Seal].
func ReadSealed(ctx context.Context, fsys hdfsio.FS, name string, v any, sum *string) error {
	b, err := hdfsio.ReadFile(ctx, fsys, name, maxDescription)
	if err != nil {
		return err
	}
	return Unseal(b, v, sum)
}

// WriteSealed writes the output of [Seal] with [WriteOnce].
func WriteSealed(ctx context.Context, fsys hdfsio.FS, name string, v any, sum *string) error {
	b, err := Seal(v, sum)
	if err != nil {
		return err
	}
	return fail.With(fail.HDFS, WriteOnce(ctx, fsys, name, b))
}

// WriteOnce creates a file, whose name appears only when it is complete, and its directory. An existing file of that name stays: the error
// is fs.ErrExist. The file that a killed process leaves has a name that begins with a dot, so that readers ignore it.
func WriteOnce(ctx context.Context, fsys hdfsio.FS, name string, b []byte) error {
	if err := fsys.MkdirAll(ctx, path.Dir(name), 0o755); err != nil {
		return err
	}
	writing := path.Join(path.Dir(name), "."+path.Base(name)+"."+token()+".writing")
	if err := hdfsio.WriteFile(ctx, fsys, writing, bytes.NewReader(b), hdfsio.CreateOptions{}); err != nil {
		return err
	}
	if err := fsys.Rename(ctx, writing, name); err != nil {
		return errors.Join(err, ignoreGone(fsys.Remove(ctx, writing)))
	}
	return nil
}

// token returns a random string that distinguishes attempts.
func token() string { return rand.Text()[:10] }

// ignoreGone ignores an error about a file that does not exist.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
