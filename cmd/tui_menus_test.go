//go:build tui

package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each thing that a moderator does, by its menu, and refusals as they come.
func TestTUIModerate(t *testing.T) {
	p := rooms(t)
	p.do("substrate-join", "bob", "--kind", "human")
	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("which parser")
	p.sees("m moderate")
	menu := func(downs int) {
		t.Helper()
		p.keys("m")
		p.sees("What?")
		for range downs {
			p.keys("Down")
		}
		p.keys("Enter")
	}
	p.keys("m")
	p.sees("next: hand the floor to somebody")
	p.shows("moderate")
	p.keys("Enter")
	p.sees("Who gets the floor?")
	p.keys("Down", "Down", "Enter")
	p.sees("claude (has the floor)", "$ substrate-moderate next design claude --as dan")
	menu(1) // invite somebody who is registered
	p.sees("Who?")
	p.keys("Enter")
	p.sees("claude (has the floor), bob", "$ substrate-moderate invite design bob --as dan")
	menu(1) // and somebody who is not, by what is no name
	p.sees("somebody new, an agent")
	p.keys("Enter")
	p.sees("The name")
	p.line("Zoe X")
	p.sees(`invalid participant name: "Zoe X"`)
	p.shows("moderate-refused")
	menu(2) // quiet
	p.sees("Who is passed over?")
	p.keys("Enter")
	p.sees("How many times?")
	p.line("2")
	p.sees("ann (quiet for 2)", "$ substrate-moderate quiet design ann 2 --as dan")
	menu(3) // unquiet
	p.sees("no longer?")
	p.keys("Enter")
	p.sees("$ substrate-moderate quiet design ann 0 --as dan")
	p.misses("quiet for")
	menu(3)
	p.sees("Nobody is quiet.")
	menu(4) // order: bob, claude; ann leaves
	p.sees("Who is next in the order?")
	p.keys("Down", "Down", "Enter")
	p.sees("so far: bob")
	p.keys("Down", "Enter")
	p.sees("so far: bob,claude")
	p.shows("moderate-order")
	p.keys("Down", "Enter")
	p.sees("turns: dan (moderator), bob, claude (has the floor)", "$ substrate-moderate order design dan,bob,claude --as dan")
	menu(5) // topic
	p.sees("The topic")
	p.line(" And why? 日本語")
	p.sees("design: which parser? And why? 日本語")
	menu(6) // end
	p.sees("End design?")
	p.keys("y")
	p.sees("ended; no entry yet")
	p.keys("m")
	p.sees("resume: open the room again")
	p.keys("Enter")
	p.sees("dan (has the floor, moderator)", "IT IS YOUR TURN.")
	p.shows("moderate-resumed")
	p.keys("q")
	p.sees("leave")

	// Who is not the moderator is told so.
	p.line("what is next")
	p.sees("ann (moderator), dan (has the floor)")
	p.misses("m moderate")
	p.keys("m")
	p.sees("Only ann moderates this room.")
	p.keys("C-c")
	p.ended(130)
}

// The same rooms on narrow and wide terminals, and on one that changes its size.
func TestTUIWidths(t *testing.T) {
	for _, c := range []struct {
		name       string
		cols, rows int
	}{{"24", 24, 30}, {"80", 80, 24}, {"160", 160, 40}} {
		t.Run(c.name, func(t *testing.T) {
			p := rooms(t)
			p.start(c.cols, c.rows, "substrate")
			p.sees("design", "plan")
			p.shows("list-" + c.name)
			p.line("what is next")
			p.sees("IT IS YOUR TURN.")
			p.shows("room-" + c.name)
			p.keys("?")
			p.sees("In plan")
			p.keys("Escape")
			p.sees("IT IS YOUR TURN.")
			p.tmux("resize-window", "-x", "60", "-y", "16")
			p.sees("\n" + strings.Repeat("-", 59) + "\n")
			p.shows("room-resized")
			p.tmux("resize-window", "-x", "24", "-y", "30")
			p.sees("\n" + strings.Repeat("-", 23) + "\n")
			p.shows("room-24")
			p.keys("C-c")
			p.ended(130)
		})
	}
}

var colour = regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;[25];[0-9;]+)\b[0-9;]*m`)

func TestTUIColour(t *testing.T) {
	for _, c := range []struct {
		env  string
		want bool
	}{{"NO_COLOR=1", false}, {"NO_COLOR=", true}} {
		t.Run(c.env, func(t *testing.T) {
			p := rooms(t, c.env)
			p.start(80, 24, "substrate")
			p.sees("design", "plan")
			p.line("what is next")
			p.sees("IT IS YOUR TURN.", "make release")
			p.keys("C-c")
			p.ended(130)
			if got := colour.MatchString(p.raw()); got != c.want {
				t.Errorf("colour: %v, want %v", got, c.want)
			}
		})
	}
}

// The whole way in plain lines: nothing is drawn, nothing moves, and everything is there.
func TestTUIPlain(t *testing.T) {
	for _, c := range []struct{ name, command, term string }{
		{"asked for", "substrate --plain", "xterm-256color"}, {"dumb", "substrate", "dumb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, 200, 200, c.command, "TERM_IS="+c.term)
			answer := func(question, text string) {
				t.Helper()
				p.asks(question)
				p.line(text)
			}
			answer("What now? [number]", "1")
			answer("Your name in the rooms", "dan")
			answer("Agents to take part", "claude")
			answer("Register it on this machine?", "y")
			answer("Shall it?", "y")
			answer("Which room, or what? [number, or text to look for]", "9")
			p.sees("There is no 9: a number from 1 to 7")
			answer("Which room, or what?", "1")
			answer("Its name", "design")
			answer("What is it about?", "which parser?")
			answer("Who else takes turns", "1")
			p.sees("no entry yet", "IT IS YOUR TURN.")
			answer("What? [number]", "w")
			answer("A line with only a full stop ends it.", "Hand-written or generated?")
			p.line(".")
			answer("The draft [number]", "1")
			p.sees("now at version 1; next: claude")
			p.asks("What? [number]")
			p.do("substrate-post", "design", "--as", "claude", "-m", "Hand-written.\n[dan @ 2026-07-06T13:15:02Z]\n\x1b[2J\x07 gone?")
			answer("The floor has come to you.", "p")
			p.sees("There is no p") // it was not our turn when that was asked
			answer("What? [number]", "l")
			p.sees("2 entries, the last just now")
			answer("What? [number]", "4")
			p.sees("7  end: no more entries")
			answer("What? [number]", "7")
			answer("End design?", "y")
			p.sees("ended; 2 entries")
			answer("What? [number]", "")
			p.sees("design: ended, ")
			answer("Which room", "zzz")
			p.sees("There is no zzz")
			answer("Which room", "leave")
			p.sees("1  * leave")
			answer("Which room", "1")
			p.ended(0)
			p.shows("plain")
			first, _, _ := strings.Cut(p.raw(), "ended 0")
			_, first, _ = strings.Cut(first, "There is no space") // after tmux and clear have had their say
			if strings.ContainsAny(first, "\x1b\a") {
				t.Errorf("not plain: %q", first)
			}
		})
	}
}

// The other doors of the list, each with its command.
func TestTUISpaces(t *testing.T) {
	p := rooms(t)
	other := filepath.Join(p.dir, "other")
	p.do("substrate-init", other, "--as", "dan", "--no-register")
	p.do("substrate-join", "ann", "--kind", "human", "--space", other)
	p.do("substrate-open", "far", "--topic", "elsewhere", "--moderator", "ann", "--turns", "dan", "--space", other)
	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("* spaces")
	p.sees("Spaces of this machine", "go to one")
	p.keys("Down", "Enter")
	p.sees("The directory of the space")
	p.line(filepath.Join(p.dir, "home"))
	p.sees("not a space")
	p.keys("Down", "Enter")
	p.sees("The directory of the space")
	p.line(other)
	p.sees("$ substrate-spaces add /tmp/TUI/other")
	p.shows("spaces")
	p.keys("Down", "Down", "Down", "Enter")
	p.sees("Rooms of w")
	p.line("all spaces")
	p.sees("Rooms of all spaces", "other/far", "w/design")
	p.shows("all-spaces")
	p.line("far")
	p.sees("far: elsewhere", "ann (has the floor, moderator)")
	p.keys("x")
	p.sees("Write its record to")
	p.line(filepath.Join(p.dir, "far.tar"))
	p.sees("$ substrate-export far -o /tmp/TUI/far.tar --space /tmp/TUI/other", "entries are in /tmp/TUI/far.tar")
	if info, err := os.Stat(filepath.Join(p.dir, "far.tar")); err != nil || info.Size() == 0 {
		t.Errorf("no record: %v", err)
	}
	p.keys("q")
	p.sees("Rooms of all spaces")
	p.line("* spaces")
	p.sees("go to one")
	p.keys("Enter")
	p.sees("Which space")
	p.line("/other")
	p.sees("other/far", "Rooms of all spaces")
	p.line("only this")
	p.sees("Rooms of other", "far")
	p.misses("design")
	p.line("register")
	p.sees("Names, with blanks between")
	p.line("B_d")
	p.sees("What are they?")
	p.keys("Enter")
	p.sees(`invalid participant name: "b_d"`, "Rooms of other")
	p.line("doctor")
	p.sees("navigate", "ok    space: 2 participants")
	p.keys("q")
	p.sees("$ substrate-doctor --text --space", "Nothing is wrong.")
	p.line("* spaces")
	p.sees("go to one")
	p.keys("Down", "Down", "Enter")
	p.sees("The space itself is left alone")
	p.keys("Down", "Enter")
	p.sees("$ substrate-spaces remove other")
	p.keys("C-c")
	p.ended(130)
}

// However it ends, the terminal is as it was and nothing goes on; and a watch that ended begins again.
func TestTUIEnds(t *testing.T) {
	p := rooms(t)
	for _, signal := range []string{"TERM", "HUP"} {
		p.start(80, 24, "substrate-tui")
		p.sees("design", "plan")
		p.line("which parser")
		p.sees("IT IS YOUR TURN.")
		p.eventually("a watch", func() bool { return len(p.left()) > 0 })
		p.kill("^/bin/sh [^ ]*/substrate-tui", signal)
		p.ended(map[string]int{"TERM": 143, "HUP": 129}[signal])
	}
	p.start(80, 24, "substrate-tui")
	p.sees("design", "plan")
	p.line("which parser")
	p.sees("IT IS YOUR TURN.")
	p.kill("^substrate-watch", "KILL")
	p.do("substrate-post", "design", "--as", "dan", "-m", "Still there?")
	p.sees("Still there?")
	p.keys("C-c")
	p.ended(130)

	// The terminal goes away, whose first process the flow is: in the list, where gum asks, in a room, in a draft.
	for _, keys := range [][]string{{}, {"which parser"}, {"which parser", "w"}} {
		p.start(80, 24, "exec substrate-tui")
		p.sees("design", "plan")
		if len(keys) > 0 {
			p.line(keys[0])
			p.sees("Still there?")
		}
		if len(keys) > 1 {
			p.keys("w")
			p.sees("A line with only a full stop ends it.")
			p.line("a line of a draft")
			p.sees("a line of a draft")
		}
		p.tmux("kill-server")
		p.eventually("everything to end", func() bool { return len(p.left()) == 0 })
		p.eventually("what is temporary to go", func() bool {
			files, err := os.ReadDir(filepath.Join(p.dir, "tmp"))
			return err == nil && len(files) == 0
		})
	}
	p.holds(p.draft("design@dan"), "a line of a draft\n")
}

// kill sends a signal to the one process of this pane whose command line fits a pattern.
func (p *pane) kill(name, signal string) {
	p.Helper()
	// The flow's own command line does not name the directory; its environment does.
	script := `for d in /proc/[0-9]*; do
		tr '\0' ' ' <"$d/cmdline" 2>/dev/null | grep -q "$1" || continue
		tr '\0' '\n' <"$d/environ" 2>/dev/null | grep -qx "TMPDIR=$2" && kill -s "$3" "${d#/proc/}" && exit
	done; exit 1`
	if out, err := p.command("sh", "-c", script, "sh", name, filepath.Join(p.dir, "tmp"), signal).CombinedOutput(); err != nil {
		p.Fatalf("nothing to send %s: %v %s", signal, err, out)
	}
}
