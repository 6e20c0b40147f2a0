// What Kubernetes' own code answers, a question a line: `dra-oracle allocate` about worlds of devices,
// `dra-oracle cel` about selectors.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

const lineBytesMax = 1 << 26

func answerEach[Question, Answer any](answer func(Question) Answer) error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), lineBytesMax)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var question Question
		if err := json.Unmarshal(in.Bytes(), &question); err != nil {
			return err
		}
		if err := out.Encode(answer(question)); err != nil {
			return err
		}
	}
	return in.Err()
}

func main() {
	mode := ""
	if len(os.Args) == 2 {
		mode = os.Args[1]
	}
	var err error
	switch mode {
	case "allocate":
		err = answerEach(allocate)
	case "cel":
		err = answerEach(evaluate)
	default:
		err = fmt.Errorf("usage: dra-oracle allocate|cel")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
