// Command ferretdb speaks MongoDB's wire protocol over SQLite files, for tests.
//
// Usage: ferretdb <address> <directory>. It prints its URL when it listens, and ends on SIGTERM.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: ferretdb <address> <directory>")
	}
	stopping, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	directory := os.Args[2]
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: os.Args[1]},
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		Handler:  "sqlite",
		// Tests kill the process, not the machine, so nothing has to reach the disk at once.
		SQLiteURL: "file:" + directory + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.MongoDBURI())
	if err := server.Run(stopping); err != nil {
		log.Fatal(err)
	}
}
