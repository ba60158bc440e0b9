// The process that holds a pod's namespaces: it waits for its end, and reaps what others leave to it.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		// One signal may stand for several children.
		for {
			if ended, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); ended <= 0 || err != nil {
				break
			}
		}
	}
}
