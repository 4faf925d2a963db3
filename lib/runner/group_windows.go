package runner

import "os/exec"

const shell = "sh"

func group(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
