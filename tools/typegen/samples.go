package main

func renderSamples() []byte { return nil }
