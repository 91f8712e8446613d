package planted

// commandMistakes are mistakes of the command.
var commandMistakes = []found{
	{"TestWorkersReleaseWhatTheyHaveAtTheEndOfTheRun", Mistake{
		"the last unlocks of a run are bounded by its end", "cmd/lockwheel/internal/demo/load.go",
		`held.Unlock(context.WithoutCancel(ctx))`,
		`held.Unlock(map[bool]context.Context{false: context.WithoutCancel(ctx), true: ctx}[planted()])`,
	}},
}
