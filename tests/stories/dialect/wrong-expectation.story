story: an expectation that does not hold
because: a runner that cannot fail tests nothing
given: [two-racks.yaml]
steps:
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulerName: nobody, containers: [{name: c, image: i}]}}
  - settle: 1s
  - expect: {pod/p: {phase: Succeeded}}
