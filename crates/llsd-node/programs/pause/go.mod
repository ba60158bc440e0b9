module node-programs/pause

go 1.26.0
