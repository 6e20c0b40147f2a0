"""kubectl of several minor versions, verb by verb."""
KUBECTL_CASES = ()
