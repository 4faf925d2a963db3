// Command foreign is a version-1 writer made from spec/rooms-format.md alone: it shares no code with ours. Tests
// have it write in turn with our programs.
//
//	foreign ROOMDIR AUTHOR N [STEP]
//
// It posts N times, each as soon as AUTHOR holds the floor; with STEP (pending, intent, entry, config, marker) it
// stops dead right after that step of the first, the lock's file still locked until the process is gone.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		os.Exit(2)
	}
}

var room, author, step string

func main() {
	room, author = os.Args[1], os.Args[2]
	n, err := strconv.Atoi(os.Args[3])
	check(err)
	if len(os.Args) > 4 {
		step = os.Args[4]
	}
	lock, err := os.OpenFile(room+"/.turn.lock", os.O_CREATE|os.O_RDWR, 0o666)
	check(err)
	for i := 0; i < n; {
		check(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
		recoverPending()
		posted := post(fmt.Sprintf("%s %d", author, i))
		check(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN))
		if posted {
			i++
		} else {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func hash(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func tx(name string) string { return filepath.Join(room, "transactions", name) }

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// publish writes a dot-file beside path, syncs it, renames it and syncs the directory.
func publish(path string, data []byte) {
	temp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".foreign-%d", os.Getpid()))
	f, err := os.Create(temp)
	check(err)
	_, err = f.Write(data)
	check(err)
	check(f.Sync())
	check(f.Close())
	check(os.Rename(temp, path))
	syncDir(filepath.Dir(path))
}

func syncDir(dir string) {
	d, err := os.Open(dir)
	check(err)
	check(d.Sync())
	check(d.Close())
}

func stop(at string) {
	if at == step {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

func post(body string) bool {
	before, err := os.ReadFile(room + "/config.yaml")
	check(err)
	order, next := parse(string(before))
	if order[next] != author {
		return false
	}
	name := entryName()
	id := strings.TrimSuffix(name, ".md")
	next = (next + 1) % len(order)
	after := regexp.MustCompile(`(?m)^next_index:.*\n`).ReplaceAll(before, nil)
	if next != 0 {
		after = append(after, fmt.Sprintf("next_index: %d\n", next)...)
	}
	var intent bytes.Buffer
	fmt.Fprintf(&intent, "version: 1\nentry: %s\nbefore_config_sha256: %s\nafter_config_sha256: %s\nafter_config: |\n",
		name, hash(before), hash(after))
	for line := range strings.Lines(string(after)) {
		intent.WriteString("    " + line)
	}
	if err := os.Mkdir(tx(""), 0o777); err != nil && !os.IsExist(err) {
		check(err)
	}
	publish(tx(".pending.yaml"), intent.Bytes())
	stop("pending")
	publish(tx(id+".yaml"), intent.Bytes())
	stop("intent")
	when, err := time.Parse("20060102T150405.000Z", name[:15]+"."+name[15:19])
	check(err)
	publish(filepath.Join(room, name), fmt.Appendf(nil, "---\nauthor: %s\ntimestamp: %s\n---\n\n%s\n",
		author, when.Format("2006-01-02T15:04:05.000Z"), body))
	stop("entry")
	publish(room+"/config.yaml", after)
	stop("config")
	finish(name, "committed")
	return true
}

func finish(entry, outcome string) {
	publish(tx(strings.TrimSuffix(entry, ".md")+"."+outcome), fmt.Appendf(nil, "entry: %s\noutcome: %s\n", entry, outcome))
	stop("marker")
	check(os.Remove(tx(".pending.yaml")))
	syncDir(tx(""))
}

// entryName is later than now and than every entry there is.
func entryName() string {
	now := time.Now().UTC().Truncate(time.Millisecond)
	files, err := os.ReadDir(room)
	check(err)
	var last string
	for _, f := range files {
		if name := f.Name(); regexp.MustCompile(`^\d{8}T\d{9}Z__`).MatchString(name) && name > last {
			last = name
		}
	}
	if last != "" {
		t, err := time.Parse("20060102T150405.000Z", last[:15]+"."+last[15:19])
		check(err)
		if !now.After(t) {
			now = t.Add(time.Millisecond)
		}
	}
	return strings.Replace(now.Format("20060102T150405.000Z"), ".", "", 1) + "__" + strings.ReplaceAll(author, "/", "%2F") + ".md"
}

// parse reads the block style that the tests' rooms have.
func parse(config string) (order []string, next int) {
	in := false
	for line := range strings.Lines(config) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "turn_order:":
			in = true
		case in && strings.HasPrefix(strings.TrimLeft(line, " "), "- "):
			order = append(order, strings.TrimLeft(line, " ")[2:])
		default:
			in = false
			if v, ok := strings.CutPrefix(line, "next_index: "); ok {
				next, _ = strconv.Atoi(v)
			}
		}
	}
	if next >= len(order) {
		next = len(order) - 1
	}
	return order, next
}

// recoverPending follows the table of section 5.
func recoverPending() {
	record, err := os.ReadFile(tx(".pending.yaml"))
	if os.IsNotExist(err) {
		return
	}
	check(err)
	fields := map[string]string{}
	head, block, _ := strings.Cut(string(record), "after_config:")
	for line := range strings.Lines(head) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[k] = strings.Trim(v, `"`)
	}
	_, block, _ = strings.Cut(block, "\n")
	var after string
	for line := range strings.Lines(block) {
		after += strings.TrimPrefix(line, "    ")
	}
	entry := fields["entry"]
	id := strings.TrimSuffix(entry, ".md")
	if hash([]byte(after)) != fields["after_config_sha256"] {
		check(fmt.Errorf("pending does not hash to what it says: %q", record))
	}
	if kept, err := os.ReadFile(tx(id + ".yaml")); err == nil && !bytes.Equal(kept, record) {
		check(fmt.Errorf("intent differs from pending"))
	} else if err != nil {
		publish(tx(id+".yaml"), record)
	}
	config, err := os.ReadFile(room + "/config.yaml")
	check(err)
	there, now := exists(filepath.Join(room, entry)), hash(config)
	switch {
	case exists(tx(id + ".committed")), exists(tx(id + ".aborted")):
		check(os.Remove(tx(".pending.yaml")))
	case !there && now == fields["before_config_sha256"]:
		finish(entry, "aborted")
	case there && now == fields["before_config_sha256"]:
		publish(room+"/config.yaml", []byte(after))
		finish(entry, "committed")
	case there && now == fields["after_config_sha256"]:
		finish(entry, "committed")
	default:
		keys := []string{}
		for k := range fields {
			keys = append(keys, k+"="+fields[k])
		}
		sort.Strings(keys)
		check(fmt.Errorf("cannot recover: entry there %v, config %s: %q", there, now, keys))
	}
}
