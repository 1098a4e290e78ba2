// A measured parent in Go: host CHILD BYTES, then a row, a count and a time on each line of standard input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

type turn struct {
	Spawns  int     `json:"spawns"`
	CPU     int64   `json:"cpu_ns"`
	Own     int64   `json:"own_ns"`
	Blocked []int64 `json:"blocked_ns"`
}

var memory []byte

func cpu(who int) int64 {
	var usage syscall.Rusage
	syscall.Getrusage(who, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// A nil stream of a command is the null device.
func run(child string) (int64, error) {
	began := time.Now()
	command := exec.Command(child)
	if err := command.Start(); err != nil {
		return 0, err
	}
	blocked := time.Since(began).Nanoseconds()
	return blocked, command.Wait()
}

func output(child string) (int64, error) {
	began := time.Now()
	_, err := exec.Command(child).Output()
	return time.Since(began).Nanoseconds(), err
}

var rows = map[string]func(string) (int64, error){"go-run": run, "go-output": output}

func measure(row, child string, count int, budget time.Duration) (*turn, error) {
	spawn, known := rows[row]
	if !known {
		return nil, fmt.Errorf("there is no row %s", row)
	}
	if _, err := spawn(child); err != nil {
		return nil, err
	}
	found := &turn{}
	own, children := cpu(syscall.RUSAGE_SELF), cpu(syscall.RUSAGE_CHILDREN)
	end := time.Now().Add(budget)
	for found.Spawns < count && (found.Spawns == 0 || time.Now().Before(end)) {
		blocked, err := spawn(child)
		if err != nil {
			return nil, err
		}
		found.Blocked = append(found.Blocked, blocked)
		found.Spawns++
	}
	found.Own = cpu(syscall.RUSAGE_SELF) - own
	found.CPU = found.Own + cpu(syscall.RUSAGE_CHILDREN) - children
	return found, nil
}

func main() {
	child := os.Args[1]
	touched, _ := strconv.Atoi(os.Args[2])
	memory = make([]byte, touched)
	for offset := 0; offset < touched; offset += 4096 {
		memory[offset] = 1
	}
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		var row string
		var count, budgetMs int
		fmt.Sscan(commands.Text(), &row, &count, &budgetMs)
		answer := map[string]any{}
		if found, err := measure(row, child, count, time.Duration(budgetMs)*time.Millisecond); err != nil {
			answer["failed"] = err.Error()
		} else {
			answer["found"] = found
		}
		line, _ := json.Marshal(answer)
		os.Stdout.Write(append(line, '\n'))
	}
}
