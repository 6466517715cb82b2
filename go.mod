module github.com/seed-25a2b25a/nway

go 1.26
