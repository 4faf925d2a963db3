package gateway_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
)

func TestListenIsLoopbackUnlessToldOtherwise(t *testing.T) {
	for what, p := range map[string]gateway.Place{
		"everywhere":           {Address: "0.0.0.0:0"},
		"everywhere, too":      {Address: ":0"},
		"IPv6":                 {Address: "[::]:0"},
		"a name":               {Address: "rooms.example:0"},
		"no port":              {Address: "127.0.0.1"},
		"nonsense":             {Address: "nonsense"},
		"not encrypted":        {Address: "0.0.0.0:0", Anywhere: true},
		"said to be encrypted": {Address: "0.0.0.0:0", Encrypted: true},
		"half a certificate":   {Address: "127.0.0.1:0", Cert: "x"},
		"the other half":       {Address: "0.0.0.0:0", Anywhere: true, Key: "x", Encrypted: true},
	} {
		if l, err := gateway.Listen(p); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %v, %v", what, l, err)
		}
	}
	if _, err := gateway.Listen(gateway.Place{Address: "127.0.0.1:0", Cert: "/none", Key: "/none"}); !fault.Is(err, fault.BadInput) {
		t.Errorf("no certificate: %v", err)
	}
	for _, p := range []gateway.Place{
		{Address: "127.0.0.1:0"}, {Address: "localhost:0"}, {Address: "0.0.0.0:0", Anywhere: true, Encrypted: true},
	} {
		l, err := gateway.Listen(p)
		if err != nil {
			t.Fatal(p, err)
		}
		if l.Close(); !strings.HasPrefix(l.URL(), "http://") || strings.HasSuffix(l.URL(), ":0") {
			t.Errorf("%+v: at %s", p, l.URL())
		}
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := gateway.Listen(gateway.Place{Address: busy.Addr().String()}); fault.From(err) == nil || fault.From(err).Code.Status() != fault.StatusLater {
		t.Errorf("an address in use: %v", err)
	}
	if gateway.HostOf("https://Rooms.example:8443") != "Rooms.example" || gateway.HostOf("%") != "" {
		t.Error("HostOf")
	}
	if strings.Contains(gateway.TrustBoundary, "\n") || gateway.TrustBoundary == "" {
		t.Error("the trust boundary is one line")
	}
}

// certificate makes one for 127.0.0.1, and who trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	trust = x509.NewCertPool()
	trust.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, trust
}

func TestTLS(t *testing.T) {
	h := serve(t)
	var p gateway.Place
	var trust *x509.CertPool
	p.Address = "127.0.0.1:0"
	p.Cert, p.Key, trust = certificate(t)
	l, err := gateway.Listen(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	web := gateway.Server(h)
	web.RegisterOnShutdown(h.Close)
	go func() { ended <- l.Serve(ctx, web, 100, 10*time.Second) }()
	for version, want := range map[uint16]int{tls.VersionTLS13: 200, tls.VersionTLS12: 200, tls.VersionTLS11: 0} {
		for _, http2 := range []bool{false, true} {
			c := &http.Client{Transport: &http.Transport{
				TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS10, MaxVersion: version}, ForceAttemptHTTP2: http2,
			}}
			r := h.request("GET", "/v1/rooms/design", "dan", nil)
			r.URL.Scheme, r.URL.Host = "https", strings.TrimPrefix(l.URL(), "https://")
			status := 0
			res, err := c.Do(r)
			if err == nil {
				status = res.StatusCode
				res.Body.Close()
			}
			c.CloseIdleConnections()
			if status != want || status == 200 && (res.ProtoMajor == 2) != http2 {
				t.Errorf("TLS %x, HTTP/2 %v: %d, %v", version, http2, status, err)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAStopLetsWhatIsUnderWayEnd: streams end at once, and a request that is being
// answered is answered.
func TestAStopLetsWhatIsUnderWayEnd(t *testing.T) {
	h := serve(t)
	l, err := gateway.Listen(gateway.Place{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	begun, release := make(chan bool), make(chan bool)
	h.Handle("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-release
		w.Write([]byte("done"))
	})
	web := gateway.Server(h)
	web.RegisterOnShutdown(h.Close)
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, web, 100, 10*time.Second) }()
	h.URL = l.URL()
	s := h.follow("dan", "", "")
	s.expect("ready", "", "")
	slow := make(chan answer, 1)
	go func() {
		a, err := h.try("GET", "/slow", "", nil)
		if err != nil {
			t.Error(err)
		}
		slow <- a
	}()
	<-begun
	stop()
	s.ends("a stop")
	select {
	case err := <-ended:
		t.Errorf("ended with a request under way: %v", err)
	default:
	}
	close(release)
	if a := <-slow; a.body != "done" {
		t.Errorf("got %+v", a)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://")); err == nil {
		t.Error("still listens")
	}
}
