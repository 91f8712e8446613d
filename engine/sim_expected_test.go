package engine

var simStepsExpected = []string{}
