package runner

import "os/exec"

const shell = "sh"

func group(*exec.Cmd) (end func()) { return func() {} }
