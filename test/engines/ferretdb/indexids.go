package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"
)

// The expression in FerretDB's index over _id is not the one in its queries, so each of them reads the whole
// table. This index has the one in its queries.
const (
	missing = `SELECT name FROM sqlite_master AS t WHERE type = 'table' AND name NOT LIKE '\_ferretdb%' ESCAPE '\'
		AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = t.name || '_by_id')`
	index = `CREATE INDEX IF NOT EXISTS "%[1]s_by_id" ON "%[1]s" (_ferretdb_sjson->'$._id')`
)

// indexIDs gives each collection such an index, soon after it is made.
func indexIDs(ctx context.Context, directory string) {
	open := map[string]*sql.DB{}
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		files, _ := filepath.Glob(filepath.Join(directory, "*.sqlite"))
		for _, file := range files {
			if open[file] == nil {
				open[file], _ = sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(1000)")
			}
			for _, table := range tablesWithout(ctx, open[file]) {
				// A collection that was dropped meanwhile needs none; one that was in use gets it next time.
				_, _ = open[file].ExecContext(ctx, fmt.Sprintf(index, table))
			}
		}
	}
}

func tablesWithout(ctx context.Context, db *sql.DB) []string {
	rows, err := db.QueryContext(ctx, missing)
	if err != nil {
		return nil
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if rows.Scan(&name) == nil {
			names = append(names, name)
		}
	}
	return names
}
