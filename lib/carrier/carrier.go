// Package carrier does the HTTP for remote stores: it is the far end of the pipe
// whose protocol package remote describes.
package carrier

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/remote"
)

// silence is how long nothing may be heard of a proxy in the middle of an answer.
// A stream of events says something every 15 s.
const silence = 45 * time.Second

// Serve carries the requests that it reads, until its input ends.
func Serve(in io.Reader, out io.Writer) error {
	pipe := bufio.NewReaderSize(in, remote.MaxPiece)
	var hello remote.Hello
	err := remote.ReadLine(pipe, &hello)
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Usage, "nothing on standard input: the programs for rooms run this one")
	}
	if err == nil {
		hello.URL, err = keyring.Base(hello.URL)
	}
	if err != nil {
		return err
	}
	client, err := newClient(hello.CA)
	if err != nil {
		return err
	}
	for {
		r, err := remote.ReadRequest(pipe)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := carry(client, hello.URL, r, out); err != nil {
			return err
		}
	}
}

func newClient(ca string) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, fault.New(fault.BadInput, "the certificate of the join packet is none")
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSClientConfig:       trust,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			IdleConnTimeout:       time.Minute,
		},
		// The key goes to the host of the packet and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// carry does one request. Its error is of the pipe, and ends everything.
func carry(client *http.Client, base string, r remote.Request, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer, err := do(ctx, client, base, r)
	if err != nil {
		return head(out, remote.Answer{Error: reason(err)})
	}
	defer answer.Body.Close()
	a := remote.Answer{Status: answer.StatusCode, Header: map[string]string{}}
	for name := range answer.Header {
		a.Header[strings.ToLower(name)] = answer.Header.Get(name)
	}
	if err := head(out, a); err != nil {
		return err
	}
	return copyOut(out, answer.Body, time.AfterFunc(silence, cancel))
}

func do(ctx context.Context, client *http.Client, base string, r remote.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.Path, "/") {
		return nil, errors.New("not a path")
	}
	q, err := http.NewRequestWithContext(ctx, r.Method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, errors.New("not a request")
	}
	for name, value := range r.Header {
		q.Header.Set(name, value)
	}
	// Asked for again by who sent it, and never by this transport.
	q.GetBody = nil
	return client.Do(q)
}

// reason returns what went wrong without the URL, in which a secret may be.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		if _, ok := err.(*net.OpError); ok {
			break // it says what was dialled
		}
		if _, ok := err.(*tls.CertificateVerificationError); ok {
			break
		}
		err = inner
	}
	return err.Error()
}

func head(out io.Writer, a remote.Answer) error {
	line, err := json.Marshal(a)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	return err
}

// copyOut passes a body on piece by piece, each as soon as it is there.
func copyOut(out io.Writer, body io.Reader, quiet *time.Timer) error {
	defer quiet.Stop()
	piece := make([]byte, 4+remote.MaxPiece)
	for {
		n, err := body.Read(piece[4:])
		quiet.Reset(silence)
		if n > 0 {
			binary.BigEndian.PutUint32(piece, uint32(n))
			if _, err := out.Write(piece[:4+n]); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		end := uint32(remote.Broken)
		if errors.Is(err, io.EOF) {
			end = remote.Done
		}
		binary.BigEndian.PutUint32(piece, end)
		_, err = out.Write(piece[:4])
		return err
	}
}
