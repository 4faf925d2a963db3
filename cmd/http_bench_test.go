//go:build bench && unix

package cmd_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The rows of a read through the proxy: of one connection and of eight at once, each request a sample or a share of
// a round.
const (
	httpRow      = "HTTP read of 20 entries, 1 connection"
	httpEightRow = "HTTP read of 20 entries, 8 connections, per read"
)

// http times reads of the end of a room through substrate-proxy. The floor is that of the reads that a server does
// in process.
func (m *bench) http() {
	n := min(1000, sizes[len(sizes)-1])
	m.progress("HTTP, room of %d entries", n)
	key := m.key(n)
	m.remembered(key)
	url, bearer, stop := m.proxy(key.Space, "dan")
	defer stop()
	url += "/v1/rooms/" + key.Room + "/entries?last=20"
	dir := roomDir(key)
	stat := floor{statRow, func() { os.Stat(dir) }}

	one := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	l := m.measure(httpRow, n, 200, stat, func() { m.must(get(one, url, bearer)) })
	l.Note = perSecond(l)

	const clients, each = 8, 50
	eight := &http.Client{Transport: &http.Transport{MaxConnsPerHost: clients, MaxIdleConnsPerHost: clients}}
	var took, least []time.Duration
	for range 5 {
		least = append(least, timed(stat.do))
		var all sync.WaitGroup
		errs := make([]error, clients)
		whole := timed(func() {
			for i := range clients {
				all.Go(func() {
					for range each {
						if err := get(eight, url, bearer); err != nil {
							errs[i] = err
						}
					}
				})
			}
			all.Wait()
		})
		for _, err := range errs {
			m.must(err)
		}
		took = append(took, whole/(clients*each))
	}
	l = m.add(httpEightRow, n, took, statRow, least)
	l.Note = fmt.Sprintf("%s, 5 rounds of %d reads", perSecond(l), clients*each)
}

// proxy serves a space to somebody, and returns where and with which key.
func (m *bench) proxy(space, who string) (url, key string, stop func()) {
	c := m.command("proxy", "--rate", "0", "--space", space)
	c.Stdin, c.Stdout = nil, nil
	out, err := c.StdoutPipe()
	m.must(err)
	m.must(c.Start())
	var at struct{ URL string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	m.must(err)
	m.must(json.Unmarshal(line, &at))
	file := filepath.Join(m.dir, who+".packet")
	m.run("key", "make", who, "--url", at.URL, "--packet", file, "--space", space)
	data, err := os.ReadFile(file)
	m.must(err)
	var packet struct{ Key string }
	m.must(json.Unmarshal(data, &packet))
	return at.URL, packet.Key, func() {
		m.must(c.Process.Signal(os.Interrupt))
		m.must(c.Wait())
	}
}

// get fetches an answer, all of it.
func get(client *http.Client, url, key string) error {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// For scripts/load-proxy, which wants a room like those measured here.
var (
	makeAt  = flag.String("make", "", "directory for the space that BenchmarkMakeRoom makes")
	entries = flag.Int("entries", 10_000, "how many entries its room has")
)

// BenchmarkMakeRoom makes a space with one room, named big, and its index; it measures nothing.
func BenchmarkMakeRoom(b *testing.B) {
	if *makeAt == "" {
		b.Fatal("where? give -make DIR")
	}
	m := begun(b)
	m.dir = *makeAt
	m.makeSpace("space")
	key := m.key(0)
	key.Space, key.Room = m.space("space"), "big"
	m.fill(key, *entries, "")
	m.settle("space")
}
