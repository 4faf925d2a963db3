package export

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
)

// namespace keeps a signature of an export from passing for one of something else.
const namespace = "substrate"

// Signer returns what signs with an SSH key: the file of a private key, or of a
// public one whose private half an agent holds. It runs ssh-keygen. Without a key
// it returns nil, which signs nothing.
func Signer(key string) func(io.Reader) ([]byte, error) {
	if key == "" {
		return nil
	}
	return func(data io.Reader) ([]byte, error) {
		return keygen(data, "cannot sign", "-Y", "sign", "-f", key, "-n", namespace)
	}
}

// VerifySignature checks the signature of the manifest. With a file of allowed
// signers (ssh-keygen(1)) it must be that of the one named; without, only that it
// is a good signature by whatever key.
func (c Checked) VerifySignature(allowed, signer string) error {
	if c.Signature == nil {
		if allowed == "" {
			return nil
		}
		return differs("manifest is not signed")
	}
	f, err := os.CreateTemp("", "substrate-sig-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(c.Signature)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	args := []string{"-Y", "check-novalidate", "-n", namespace, "-s", f.Name()}
	if allowed != "" {
		args = []string{"-Y", "verify", "-f", allowed, "-I", signer, "-n", namespace, "-s", f.Name()}
	}
	_, err = keygen(bytes.NewReader(c.Manifest), "signature is not good", args...)
	if err != nil && allowed != "" {
		err = fault.From(err).WithHint("a file of signers has lines: NAME KEYTYPE KEY")
	}
	return err
}

func keygen(stdin io.Reader, failure string, args ...string) ([]byte, error) {
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return nil, fault.New(fault.Usage, "no ssh-keygen on PATH").WithHint("it is part of OpenSSH's client")
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin = stdin
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if said.Len() == 0 {
			said.Write(out)
		}
		return nil, fault.New(fault.Corrupt, "%s: %s", failure, strings.Join(strings.Fields(said.String()), " "))
	}
	return out, nil
}
