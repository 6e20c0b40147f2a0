#!/usr/bin/env python3
"""patch.py ROOT: rewrites the copies of Kubernetes' test packages below ROOT/test/integration for Berth.

Every step says how often it must apply; a Kubernetes release that reads differently stops it.
"""
import pathlib
import re
import sys

COPIED = "dra|util|scheduler|framework"
PLACES_THAT_RUN_MIN = 20
PLACES_THAT_HOLD_MIN = 10
RUN = re.compile(r"^(\s*)go (\w+\.Scheduler)\.Run\(.*\)\n", re.M)
INSIDE = re.compile(r"^(\s*)(?:queue|cache|f|status) := testCtx\.Scheduler\."
                    r"(SchedulingQueue$|Cache$|NextEntity$|Profiles\[)", re.M)

EXTENSIONS = """\
	suiteGeneric := kubeAPIServerConfig.ControlPlane.Generic
	suiteExtensions, err := controlplaneapiserver.CreateAPIExtensionsConfig(*suiteGeneric, \
kubeAPIServerConfig.ControlPlane.VersionedInformers,
		suiteInitializers, completedOptions.CompletedOptions, completedOptions.MasterCount, suiteResolver,
		suitewebhook.NewDefaultAuthenticationInfoResolverWrapper(\
kubeAPIServerConfig.ControlPlane.ProxyTransport, suiteGeneric.EgressSelector,
			suiteGeneric.LoopbackClientConfig, suiteGeneric.TracerProvider))
	if err != nil {
		t.Fatal(err)
	}
	suiteServer, err := suiteExtensions.Complete().New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	kubeAPIServer, err := kubeAPIServerConfig.Complete().New(suiteServer.GenericAPIServer)
"""


def edit(path, *steps):
    """Replaces in a file; a step is (old, new, how often the old text stands there)."""
    text = path.read_text()
    for old, new, times in steps:
        if text.count(old) != times:
            sys.exit(f"patch.py: {path}: expected {times} times, found {text.count(old)}: {old!r}")
        text = text.replace(old, new)
    path.write_text(text)


def after(old, added):
    return old, old + added, 1


def before(old, added):
    return old, added + old, 1


def with_shim(text):
    """The Go source with an import of the shim."""
    if '"k8ssuite/shim"' in text:
        return text
    return re.sub(r"^import \(\n", 'import (\n\t"k8ssuite/shim"\n', text, count=1, flags=re.M)


def move_imports(root):
    pattern = rf'"k8s\.io/kubernetes/test/integration/({COPIED})(["/])'
    for file in root.rglob("*.go"):
        text = file.read_text()
        new = re.sub(pattern, r'"k8ssuite/test/integration/\1\2', text)
        if new != text:
            file.write_text(new)


def make_schedulers_ours(root):
    edit(root / "util/util.go",
         after('\timageutils "k8s.io/kubernetes/test/utils/image"\n', '\t"k8ssuite/shim"\n'),
         ("sched, err := scheduler.New(\n\t\ttCtx,\n", "sched, err := shim.New(\n\t\ttCtx, tCtx,\n", 1),
         ("testCtx.Scheduler, err = scheduler.New(\n\t\tctx,\n",
          "testCtx.Scheduler, err = shim.New(\n\t\tt, ctx,\n", 1),
         after('\t\treturn fmt.Errorf("cannot obtain available nodes in scheduler cache: %v", err)\n\t}\n',
               "\tshim.Settle()\n"),
         before("\tvar entity schedulerframework.QueuedEntityInfo\n",
                '\tshim.SkipInternals(t, "NextEntity")\n'))


def serve_custom_resources(root):
    """The scheduler tests' server has no apiextensions-apiserver, but a BindRequest is a custom resource."""
    edit(root / "framework/test_server.go",
         ("kubeAPIServerConfig, _, _, err := app.CreateKubeAPIServerConfig(",
          "kubeAPIServerConfig, suiteResolver, suiteInitializers, err := app.CreateKubeAPIServerConfig(", 1),
         ("\tkubeAPIServer, err := kubeAPIServerConfig.Complete().New(genericapiserver.NewEmptyDelegate())\n",
          EXTENSIONS, 1),
         after('\t"k8s.io/apiserver/pkg/util/compatibility"\n',
               '\tsuitewebhook "k8s.io/apiserver/pkg/util/webhook"\n'))


def skip_unsupported_profiles(root):
    edit(root / "dra/dra.go",
         after('\t"k8s.io/kubernetes/test/utils/ktesting/format"\n', '\t"k8ssuite/shim"\n'),
         ("\tscheduler := value.(*schedulerSingleton)\n\tscheduler.start(tCtx, config)\n",
          "\tscheduler := value.(*schedulerSingleton)\n"
          "\tshim.SkipUnlessSupported(tCtx, newSchedulerComponentConfig(tCtx, config).Profiles)\n"
          "\tscheduler.start(tCtx, config)\n", 1),
         ("apiServerFlags := framework.DefaultTestServerFlags()\n",
          "apiServerFlags := append(framework.DefaultTestServerFlags(), shim.ServerFlags()...)\n", 1))


def compare_sentences(root):
    """Berth's own sentence follows Kubernetes': run.sh --prefix lets the tests look at the latter alone."""
    message = re.compile(r'("Message": )gomega\.Equal\((?=(?:fmt\.Sprintf\()?"0/8 nodes)')
    for path, times in (("dra/extendedresource.go", 1), ("dra/prioritizedlist.go", 1), ("dra/core.go", 2)):
        text, found = message.subn(r"\1shim.Sentence(", (root / path).read_text())
        if found != times:
            sys.exit(f"patch.py: {path}: {found} messages, expected {times}")
        (root / path).write_text(with_shim(text))


def settle_steps(root):
    failed = ('\t\t\treturn fmt.Errorf("failed to wait for node %s to be in the scheduler cache: %w", '
              "n.Name, err)\n\t\t}\n\t}\n")
    edit(root / "scheduler/podgroup/stepsframework/stepsframework.go",
         before('\ttestutils "k8ssuite/test/integration/util"\n', '\t"k8ssuite/shim"\n'),
         (failed + "\treturn nil\n", failed + "\tshim.Settle()\n\treturn nil\n", 1))


def substitute(files, pattern, replacement):
    """Applies a pattern to Go sources, which then import the shim; how many places there were."""
    touched = 0
    for file in files:
        new, times = pattern.subn(replacement, file.read_text())
        touched += times
        if times:
            file.write_text(with_shim(new))
    return touched


def wait_until_ready(root):
    """kube-scheduler works as soon as Run is called; Berth is a process that has to start first."""
    touched = substitute([*(root / "scheduler").rglob("*.go"), root / "util/util.go"], RUN,
                         lambda found: f"{found[0]}{found[1]}shim.WaitReady({found[2]})\n")
    if touched < PLACES_THAT_RUN_MIN:
        sys.exit(f"patch.py: only {touched} places that run a scheduler")
    edit(root / "util/util.go",
         after("\t\tsched.Run(tCtx)\n\t\tclose(done)\n\t}()\n", "\tshim.WaitReady(sched)\n"))


def ask_the_real_queue(root):
    """A deferred resize is in the queue that informers fill; kube-scheduler's decisions are not read."""
    edit(root / "scheduler/preemption/deferred_resize_preemption_test.go",
         ("\t\t\tqueue := testCtx.Scheduler.SchedulingQueue\n\t\t\t_, found := queue.GetPod(",
          "\t\t\t_, found := testCtx.Scheduler.SchedulingQueue.GetPod(", 1))


def leave_out_a_filter_that_accepts_all(root):
    """TestPreemption has a Filter written in Go, which has tokens for all pods in most of its cases."""
    tabs = "\t" * 7
    edit(root / "scheduler/preemption/preemption_test.go",
         (f",\n{tabs}\tscheduler.WithProfiles(cfg.Profiles...),\n"
          f"{tabs}\tscheduler.WithFrameworkOutOfTreeRegistry(registry))", ")", 1),
         before("\ttestsByWASFeatureGates := make(map[featureGateKey][]int)\n", "\t_ = cfg\n"),
         after("asyncPreemptionEnabled, asyncAPICallsEnabled, clearingNominatedNodeNameAfterBinding), "
               "func(t *testing.T) {\n",
               f"{tabs}if test.initTokens != maxTokens {{\n"
               f'{tabs}\tshim.SkipInternals(t, "plugins in Go: filter-plugin")\n{tabs}}}\n'))


def leave_out_plugins_that_watch(root):
    """The tests of groups that preempt have a Bind and a PodGroupPostFilter in Go; what only these note (the
    nomination while a pod is bound, the order of calls) is not compared."""
    options = ("\t\t\t\tscheduler.WithProfiles(cfg.Profiles...),\n"
               "\t\t\t\tscheduler.WithFrameworkOutOfTreeRegistry(registry),\n"
               "\t\t\t\tscheduler.WithPodMaxBackoffSeconds(1),\n")
    file = root / "scheduler/preemption/podgroup/podgrouppreemption_test.go"
    edit(file,
         (options, "\t\t\t\tscheduler.WithPodMaxBackoffSeconds(1),\n", 2),
         ("range tt.expectedToHaveNNNInfo {", "range tt.expectedToHaveNNNInfo[:0] {", 2),
         before("\t\t\trecorder := eventRecorder{}\n",
                "\t\t\tif tt.customPluginFunc != nil || len(tt.expectedEventOrder) > 0 {\n"
                '\t\t\t\tshim.SkipInternals(t, "plugins in Go")\n\t\t\t}\n'),
         after("\t\t\tcfg := configtesting.V1ToInternalWithDefaults(t, cfgV1)\n",
               "\t\t\t_ = cfg\n\t\t\tif tt.customPluginFunc != nil {\n"
               '\t\t\t\tshim.SkipInternals(t, "plugins in Go")\n\t\t\t}\n'))
    file.write_text(with_shim(file.read_text()))


def skip_internals(root):
    """Tests that hold a part of kube-scheduler: skip in the test itself, its parent may have made it."""
    def with_skip(found):
        part = found[2].rstrip("[")
        rest = found[0].lstrip("\n")
        return f'{found[1]}shim.SkipInternals(t, "{part}")\n{rest}'

    touched = substitute((root / "scheduler").rglob("*_test.go"), INSIDE, with_skip)
    if touched < PLACES_THAT_HOLD_MIN:
        sys.exit(f"patch.py: only {touched} places that hold a part of kube-scheduler")


def main():
    root = pathlib.Path(sys.argv[1]) / "test/integration"
    for step in (move_imports, make_schedulers_ours, serve_custom_resources, skip_unsupported_profiles,
                 compare_sentences, settle_steps, wait_until_ready, ask_the_real_queue,
                 leave_out_a_filter_that_accepts_all, leave_out_plugins_that_watch, skip_internals):
        step(root)


if __name__ == "__main__":
    main()
