package nway_test

import "log/slog"

// silent is for registries that hold faulty drivers on purpose.
var silent = slog.New(slog.DiscardHandler)
