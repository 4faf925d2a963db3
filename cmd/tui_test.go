//go:build tui

package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rooms makes a space with two rooms in it, and remembers who is at the machine.
func rooms(t *testing.T, env ...string) *pane {
	p := machineFor(t, env...)
	p.do("substrate-identity", "dan")
	p.do("substrate-init", "--as", "dan")
	p.do("substrate-join", "ann", "--kind", "human")
	p.do("substrate-join", "claude", "--kind", "agent")
	p.do("substrate-open", "design", "--topic", "which parser?", "--moderator", "dan", "--turns", "ann,claude")
	p.do("substrate-open", "plan", "--topic", "日本語の話題 🎉 what is next", "--moderator", "ann", "--turns", "dan")
	p.do("substrate-post", "plan", "--as", "ann", "-m", "# What is next?\n\n- the *docs*\n- `make release`\n\n計画を立てましょう 🎉")
	return p
}

// Nothing is made before it was said; then the name, the crew and the registration are asked for, and the rooms shown.
func TestTUIFirstRun(t *testing.T) {
	p := open(t, 80, 24, "substrate")
	p.sees("make a space here")
	p.shows("first-run")
	p.keys("Down", "Down", "Enter")
	p.ended(0)
	made := []string{
		filepath.Join(p.dir, "w/.substrate"), filepath.Join(p.dir, "home/.substrate"), p.state(""),
	}
	p.absent(made...)

	p.start(80, 24, "substrate")
	p.sees("make a space here")
	p.keys("Enter")
	p.sees("Your name in the rooms")
	p.line("/Dan") // no name: refused by the program, when all was said
	p.sees("Agents to take part")
	p.line("claude")
	p.sees("Register it on this machine?")
	p.keys("y")
	p.sees("This makes a space", "substrate-identity /dan", "Shall it?")
	p.absent(made...)
	p.keys("n")
	p.sees("Nothing was made.")
	p.absent(made...)
	p.keys("Enter")
	p.sees("Your name in the rooms")
	p.line("/Dan")
	p.sees("Agents to take part")
	p.line("")
	p.sees("Register it on this machine?")
	p.keys("n")
	p.sees("Shall it?", "--no-register")
	p.keys("y")
	p.sees(`invalid participant name: "/dan"`, "make a space here")
	p.absent(made[0])

	p.keys("Enter")
	p.sees("Your name in the rooms")
	p.line("Dan") // spelled as names are
	p.sees("Agents to take part")
	p.line("claude ci")
	p.sees("Register it on this machine?")
	p.keys("y")
	p.sees("Shall it?")
	p.shows("first-run-sure")
	p.keys("y")
	p.sees("There is no room yet")
	p.shows("first-run-done")
	p.holds(filepath.Join(p.dir, "home/.substrate/identity.yaml"), "name: dan\n")
	if got := p.do("substrate-spaces", "list", "--text"); !strings.Contains(got, "dan (human), claude (agent), ci (agent)") {
		t.Errorf("got %s", got)
	}
	p.keys("C-c")
	p.ended(130)
	p.sees("What was done, as commands:", "$ substrate-identity dan", "$ substrate-join claude ci --kind agent")
}

// A new room, its first entry, and an answer from a second terminal that comes while one looks.
func TestTUINewRoom(t *testing.T) {
	p := machineFor(t)
	p.do("substrate-identity", "dan")
	p.do("substrate-init", "--as", "dan")
	p.start(80, 24, "substrate tui")
	p.sees("open a new room")
	p.keys("Enter")
	p.sees("A room takes two", "Names, with blanks between")
	p.line("ann claude")
	p.sees("What are they?")
	p.keys("Down", "Enter")
	p.sees("Its name")
	p.line("Parser Design")
	p.sees("What is it about?")
	p.line("which parser?")
	p.sees("Who else takes turns")
	p.keys("Down", "Enter") // claude
	p.sees("so far: claude")
	p.shows("new-room-order")
	p.keys("Enter") // ann
	p.sees("no entry yet", "IT IS YOUR TURN")
	p.shows("new-room")
	p.keys("w")
	p.sees("A line with only a full stop ends it.")
	p.line("Two are on the table:")
	p.line("")
	p.line("- the *hand-written* one")
	p.line("- the `generated` one")
	p.line(".")
	p.sees("send it")
	p.shows("new-room-draft")
	p.keys("Enter")
	p.sees("now at version 1; next: claude")
	p.absent(p.draft("parser-design@dan"), p.draft("parser-design@dan")+".from")
	p.do("substrate-post", "parser-design", "--as", "claude", "-m", "The **hand-written** one: its errors name the column.")
	p.sees("its errors name the column.")
	p.do("substrate-post", "parser-design", "--as", "ann", "--pass")
	p.sees("The floor has come to you.", "IT IS YOUR TURN.")
	p.shows("new-room-turn")
	if strings.Contains(p.raw(), "\a") {
		t.Error("it rang, and the bell is off")
	}

	// Pass; ring when it is our turn again.
	p.keys("b")
	p.sees("A bell rings when the floor comes to you.")
	p.keys("p")
	p.sees("Give the turn in parser-design up?")
	p.keys("y")
	p.sees("passed", "claude (has the floor)")
	p.do("substrate-post", "parser-design", "--as", "claude", "--pass")
	p.do("substrate-post", "parser-design", "--as", "ann", "--pass")
	p.sees("IT IS YOUR TURN.")
	p.eventually("a bell", func() bool { return strings.Contains(p.raw(), "\a") })

	// The older part, and back to the list, where nothing is new.
	p.keys("o")
	p.sees("navigate", "Two are on the table")
	p.shows("older")
	p.keys("q")
	p.sees("m moderate")
	p.keys("q")
	p.sees("YOUR TURN", "0 new")
	p.do("substrate-post", "parser-design", "--as", "dan", "-m", "Then that one.")
	p.keys("Down", "Down", "Down", "Down", "Enter") // look again
	p.sees("turn: claude", "1 new")
	p.shows("new-room-list")
	p.keys("C-c")
	p.ended(130)
	p.sees("$ substrate-open parser-design --topic 'which parser?' --moderator dan --turns claude,ann", "$ substrate-post parser-design --as dan --pass")
}

// What is written while another has the floor waits on disk, also when Ctrl-C comes in the middle of a line, and is
// sent when the floor comes, after a look at what is new.
func TestTUIWriteWhileWaiting(t *testing.T) {
	p := rooms(t)
	p.do("substrate-post", "design", "--as", "dan", "-m", "Which one?")
	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("which parser") // what is typed leaves one
	p.sees("ann (has the floor)", "Which one?")
	p.keys("w")
	p.sees("A line with only a full stop ends it.")
	p.line("My first line, 日本語.")
	p.tmux("send-keys", "-l", "and half a sec")
	p.sees("half a sec")
	p.holds(p.draft("design@dan"), "My first line, 日本語.\n")
	p.keys("C-c")
	p.ended(130)
	p.holds(p.draft("design@dan"), "My first line, 日本語.\nand half a sec\n")
	if info, err := os.Stat(p.draft("design@dan")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}

	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("which parser")
	p.sees("A draft of yours waits for the floor.")
	p.shows("waiting")
	p.keys("s")
	p.sees("ann holds the floor. Your draft stays here until it is yours.")
	p.do("substrate-post", "design", "--as", "ann", "-m", "Not the generated one.")
	p.sees("Not the generated one.")
	p.do("substrate-post", "design", "--as", "claude", "--pass")
	p.sees("IT IS YOUR TURN, and a draft of yours waits.")
	p.keys("s")
	p.sees("2 new, passes counted.", "Not the generated one.", "send it all the same")
	p.shows("waiting-moved")
	p.keys("Down", "Enter")
	p.sees("now at version 4; next: ann", "and half a sec")
	p.absent(p.draft("design@dan"))
	p.keys("q")
	p.sees("leave")
	p.keys("C-c")
	p.ended(130)
}

// A post whose answer was lost is sent again and is one entry; what was added to the draft meanwhile is not lost with it.
func TestTUISentTwice(t *testing.T) {
	p := rooms(t, "EDITOR=printf 'By an editor.\\n' >>")
	draft := p.draft("design@dan")
	// lost sends the draft as the flow does, which does not get to know of it, and gives the floor back.
	lost := func(seen string) {
		t.Helper()
		p.sees("send it", "keep it for later")
		p.keys("Down", "Down", "Enter")
		p.sees("IT IS YOUR TURN, and a draft of yours waits.")
		from, err := os.ReadFile(draft + ".from")
		fields := strings.Split(strings.TrimSpace(string(from)), "\x1f")
		if err != nil || len(fields) != 3 {
			t.Fatalf("%q, %v", from, err)
		}
		sum, err := p.command("sh", "-c", `cksum <"$1" | tr " " -`, "sh", draft).Output()
		if err != nil {
			t.Fatal(err)
		}
		p.do("substrate-post", "design", "--as", "dan", "-f", draft, "--id", fields[2]+"-"+strings.TrimSpace(string(sum)))
		p.do("substrate-post", "design", "--as", "ann", "-m", seen)
		p.do("substrate-moderate", "next", "design", "dan", "--as", "dan")
		p.sees(seen, "IT IS YOUR TURN, and a draft of yours waits.")
	}
	gone := func(posted int, last string) {
		t.Helper()
		p.eventually("the draft to go", func() bool { _, err := os.Lstat(draft); return err != nil })
		got := p.do("substrate-read", "design", "--text")
		if strings.Count(got, "By an editor.\n") != posted || !strings.HasSuffix(got, "Z]\n"+last+"\n") {
			t.Errorf("posted was %q", got)
		}
	}
	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("which parser")
	p.sees("IT IS YOUR TURN.")
	p.keys("w")
	lost("Seen once.")
	p.keys("s")
	p.sees("2 new, passes counted.", "send it all the same")
	p.keys("Down", "Enter")
	gone(1, "Seen once.\n")

	p.sees("IT IS YOUR TURN.")
	p.keys("w")
	lost("Seen twice.")
	p.keys("w") // which adds a line
	p.sees("By an editor.", "send it")
	p.keys("Enter")
	gone(4, "By an editor.\nBy an editor.\n")
	p.keys("C-c")
	p.ended(130)
}

// A draft that was written in view of what is no longer the newest is not sent before that was looked at.
func TestTUIStaleDraft(t *testing.T) {
	p := rooms(t, "EDITOR=printf 'By an editor.\\n' >>")
	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("which parser")
	p.sees("IT IS YOUR TURN.")
	p.keys("w")
	p.sees("By an editor.", "send it")
	p.shows("stale-written")
	p.do("substrate-post", "design", "--as", "dan", "-m", "From my other terminal.")
	p.do("substrate-post", "design", "--as", "ann", "-m", "Seen.")
	p.do("substrate-post", "design", "--as", "claude", "-m", "So did I.")
	p.keys("Enter") // send it
	p.sees("3 new, passes counted.", "So did I.", "read all of this")
	p.shows("stale-moved")
	p.keys("Up", "Enter")
	p.sees("navigate", "From my other terminal.")
	p.keys("q")
	p.sees("keep it for later")
	p.keys("Down", "Down", "Enter")
	p.sees("IT IS YOUR TURN, and a draft of yours waits.")
	p.holds(p.draft("design@dan"), "By an editor.\n")
	p.keys("w") // now in view of all that
	p.sees("By an editor.", "send it")
	p.misses("new, passes counted")
	p.keys("Enter")
	p.sees("now at version 4; next: ann")
	if got := p.do("substrate-read", "design", "--tail", "1", "--text"); !strings.HasSuffix(got, "By an editor.\nBy an editor.\n\n") {
		t.Errorf("posted was %q", got)
	}
	p.keys("C-c")
	p.ended(130)

	// The room ends while a draft waits: it is refused, and stays.
	p.start(80, 24, "substrate")
	p.sees("design", "plan")
	p.line("which parser")
	p.sees("ann (has the floor)")
	p.keys("w")
	p.sees("Your draft stays here until it is yours.")
	p.do("substrate-moderate", "end", "design", "--as", "dan")
	p.sees("ended; 4 entries")
	p.keys("s")
	p.sees("The room has ended. Your draft stays here.")
	p.shows("ended")
	p.keys("w")
	p.sees("The room has ended: no more entries.")
	p.holds(p.draft("design@dan"), "By an editor.\n")
	p.keys("q")
	p.sees("leave")
	p.keys("C-c")
	p.ended(130)
}
