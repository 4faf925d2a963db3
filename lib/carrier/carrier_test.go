package carrier_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/carrier"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/remote"
)

// said is what came out of the pipe for one request.
type said struct {
	remote.Answer
	body  string
	whole bool
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	line, err := record.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// carry sends requests and returns the answers to all of them.
func carry(t *testing.T, hello remote.Hello, requests ...remote.Request) (all []said) {
	t.Helper()
	in := encoded(t, hello)
	for _, r := range requests {
		var line strings.Builder
		if err := r.Write(&line); err != nil {
			t.Fatal(err)
		}
		in += line.String()
	}
	var out bytes.Buffer
	if err := carrier.Serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(&out)
	for range requests {
		all = append(all, answer(t, from))
	}
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("and then %q", rest)
	}
	return all
}

func answer(t *testing.T, from *bufio.Reader) (s said) {
	t.Helper()
	line, err := from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.Answer)
	}
	if err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	for s.Error == "" {
		var length uint32
		if err := binary.Read(from, binary.BigEndian, &length); err != nil {
			t.Fatal(err)
		}
		if length == remote.Done || length == remote.Broken {
			s.whole = length == remote.Done
			return s
		}
		piece := make([]byte, length)
		if _, err := io.ReadFull(from, piece); err != nil || length > remote.MaxPiece {
			t.Fatalf("a piece of %d bytes: %v", length, err)
		}
		s.body += string(piece)
	}
	return s
}

func TestRequestsGoAsTheyAreAndAnswersComeWhole(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Said", "yes")
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, large)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
		default:
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), body)
		}
	}))
	defer web.Close()
	all := carry(t, remote.Hello{URL: web.URL + "/"},
		remote.Request{Method: "POST", Path: "/v1/rooms/a%2Fb?x=%20", Body: []byte("a\x00b"), Header: map[string]string{"Authorization": "Bearer k", "Idempotency-Key": "i"}},
		remote.Request{Method: "GET", Path: "/large"}, remote.Request{Method: "GET", Path: "/empty"}, remote.Request{Method: "GET", Path: "/broken"},
		remote.Request{Method: "GET", Path: "no/path"}, remote.Request{Method: "G E T", Path: "/"}, remote.Request{Method: "GET", Path: "/%zz"}, remote.Request{Method: "GET", Path: "/last"},
	)
	if got := all[0]; got.Status != 418 || got.Header["x-said"] != "yes" || !got.whole || got.body != `POST /v1/rooms/a%2Fb?x=%20 Bearer k i "a\x00b"` {
		t.Errorf("got %+v", got)
	}
	if got := all[1]; got.Status != 200 || !got.whole || got.body != large {
		t.Errorf("%d bytes, %v", len(got.body), got.whole)
	}
	if got := all[2]; got.Status != 204 || !got.whole || got.body != "" {
		t.Errorf("got %+v", got)
	}
	if got := all[3]; got.Status != 200 || got.whole || got.body != "half" {
		t.Errorf("half an answer: %+v", got)
	}
	for i, want := range []string{"not a path", "not a request", "not a request"} {
		if got := all[4+i]; got.Error != want {
			t.Errorf("%d: %+v", 4+i, got)
		}
	}
	if got := all[7]; got.Status != 418 || !strings.HasPrefix(got.body, "GET /last ") {
		t.Errorf("after all that: %+v", got)
	}
}

// TestAKeyGoesToItsHostOnly: an answer that points elsewhere is not followed.
func TestAKeyGoesToItsHostOnly(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got %s with %v", r.URL, r.Header)
	}))
	defer other.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer web.Close()
	got := carry(t, remote.Hello{URL: web.URL}, remote.Request{Method: "GET", Path: "/", Header: map[string]string{"Authorization": "Bearer k"}})
	if got[0].Status != http.StatusTemporaryRedirect {
		t.Errorf("got %+v", got[0])
	}
	for _, path := range []string{"@" + other.Listener.Addr().String() + "/", ".evil.example/", "//" + other.Listener.Addr().String() + "/x"} {
		got := carry(t, remote.Hello{URL: web.URL}, remote.Request{Method: "GET", Path: path})
		if got[0].Status != 0 && got[0].Status != http.StatusTemporaryRedirect {
			t.Errorf("%s: %+v", path, got[0])
		}
	}
}

func TestNobodyThereSaysWhyAndNoSecret(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	got := carry(t, remote.Hello{URL: web.URL}, remote.Request{Method: "GET", Path: "/v1?key=secret", Header: map[string]string{"Authorization": "Bearer secret"}})
	if !strings.Contains(got[0].Error, "connection refused") || strings.Contains(got[0].Error, "secret") {
		t.Errorf("got %+v", got[0])
	}
}

func TestOnlyTheCertificateOfThePacketIsTrusted(t *testing.T) {
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer web.Close()
	web.Config.ErrorLog = nil
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	ask := remote.Request{Method: "GET", Path: "/", Header: map[string]string{"Authorization": "Bearer secret"}}
	if got := carry(t, remote.Hello{URL: web.URL, CA: ca}, ask); got[0].body != "ok" {
		t.Errorf("got %+v", got[0])
	}
	if got := carry(t, remote.Hello{URL: web.URL}, ask); !strings.Contains(got[0].Error, "certificate") || strings.Contains(got[0].Error, "secret") {
		t.Errorf("got %+v", got[0])
	}
}

func TestWhatIsNoRequestEndsIt(t *testing.T) {
	hello := encoded(t, remote.Hello{URL: "http://127.0.0.1:9"})
	for in, code := range map[string]fault.Code{
		"": fault.Usage, "hello\n": fault.BadInput, "[]\n": fault.BadInput, `{"url":"file:///etc"}`: fault.BadInput, `{"url":"http://u:p@h"}`: fault.BadInput, `{"url":"http://h/x"}`: fault.BadInput,
		`{"url":"https://h","ca":"x"}`: fault.BadInput, hello + "x\n": fault.BadInput, hello + `{"method":7}`: fault.BadInput, hello + strings.Repeat(" ", record.MaxLine) + "{}": fault.TooLarge,
	} {
		var out bytes.Buffer
		if err := carrier.Serve(strings.NewReader(in), &out); !fault.Is(err, code) || out.Len() > 0 {
			t.Errorf("%.60q: %v, and %q", in, err, out.String())
		}
	}
	if err := carrier.Serve(strings.NewReader(hello), io.Discard); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

// full is an output that takes so many bytes.
type full struct{ left int }

var errFull = errors.New("closed")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestAClosedPipeEndsIt(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) }))
	defer web.Close()
	in := encoded(t, remote.Hello{URL: web.URL}) + encoded(t, remote.Request{Method: "GET", Path: "/"})
	for _, left := range []int{0, 300, 100_000} {
		if err := carrier.Serve(strings.NewReader(in), &full{left}); !errors.Is(err, errFull) {
			t.Errorf("%d bytes: %v", left, err)
		}
	}
}
