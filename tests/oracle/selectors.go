package main

import (
	"context"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

const evaluationTimeMax = 5 * time.Second

type selector struct {
	ID     any
	Expr   string
	Device struct {
		Driver                   string
		Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute
		Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity
		AllowMultipleAllocations *bool
	}
}

// As the scheduler does: a stored expression, every gate on.
func evaluate(question selector) map[string]any {
	answer := map[string]any{"id": question.ID}
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	program := compiler.CompileCELExpression(question.Expr, cel.Options{})
	if program.Error != nil {
		answer["error"], answer["text"] = "compile", program.Error.Error()
		return answer
	}
	ctx, cancel := context.WithTimeout(context.Background(), evaluationTimeMax)
	defer cancel()
	device := question.Device
	matches, details, err := program.DeviceMatches(ctx, cel.Device{
		Driver: device.Driver, Attributes: device.Attributes, Capacity: device.Capacity,
		AllowMultipleAllocations: device.AllowMultipleAllocations})
	if err != nil {
		answer["error"], answer["text"] = "runtime", err.Error()
	} else {
		answer["value"] = matches
	}
	if details != nil && details.ActualCost() != nil {
		answer["cost"] = *details.ActualCost()
	}
	return answer
}
