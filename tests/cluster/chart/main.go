// chart does with a chart what the helm program does, through Helm's own library: lint, template, install,
// upgrade, rollback, uninstall.
//
//	chart lint CHART [VALUES...]
//	chart template CHART RELEASE NAMESPACE [VALUES...]
//	chart install|upgrade CHART RELEASE NAMESPACE [VALUES...]     with KUBECONFIG
//	chart rollback RELEASE NAMESPACE REVISION
//	chart uninstall RELEASE NAMESPACE
//
// VALUES are KEY=VALUE as of --set. With CHART_WAIT in the environment, everything waits until all is ready.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/strvals"
)

const timeout = time.Minute

var wait = os.Getenv("CHART_WAIT") != ""

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) >= 2 && args[0] == "lint" {
		return lint(args[1], args[2:])
	}
	if len(args) == 3 && args[0] == "uninstall" {
		return uninstall(args[1], args[2])
	}
	if len(args) == 4 && args[0] == "rollback" {
		return rollback(args[1], args[2], args[3])
	}
	if len(args) < 4 {
		return errors.New("see the comment at the top of main.go")
	}
	values, err := valuesOf(args[4:])
	if err != nil {
		return err
	}
	switch args[0] {
	case "template":
		return install(args[1], args[2], args[3], values, true)
	case "install":
		return install(args[1], args[2], args[3], values, false)
	case "upgrade":
		return upgrade(args[1], args[2], args[3], values)
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func valuesOf(texts []string) (map[string]interface{}, error) {
	values := map[string]interface{}{}
	for _, text := range texts {
		if err := strvals.ParseInto(text, values); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func configuration(namespace string) (*action.Configuration, error) {
	settings := cli.New()
	settings.SetNamespace(namespace)
	config := new(action.Configuration)
	quiet := func(string, ...interface{}) {}
	return config, config.Init(settings.RESTClientGetter(), namespace, "secret", quiet)
}

func lint(chart string, texts []string) error {
	values, err := valuesOf(texts)
	if err != nil {
		return err
	}
	client := action.NewLint()
	client.Strict = true
	result := client.Run([]string{chart}, values)
	for _, message := range result.Messages {
		fmt.Println(message)
	}
	return errors.Join(result.Errors...)
}

func install(path, name, namespace string, values map[string]interface{}, template bool) error {
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	config := new(action.Configuration)
	if !template {
		if config, err = configuration(namespace); err != nil {
			return err
		}
	}
	client := action.NewInstall(config)
	client.ReleaseName, client.Namespace, client.Timeout = name, namespace, timeout
	client.CreateNamespace, client.Wait, client.WaitForJobs = true, wait, wait
	if template {
		client.DryRun, client.ClientOnly = true, true
		client.KubeVersion = &chartutil.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	}
	release, err := client.Run(chart, values)
	return shown(release, err, template)
}

func upgrade(path, name, namespace string, values map[string]interface{}) error {
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	config, err := configuration(namespace)
	if err != nil {
		return err
	}
	client := action.NewUpgrade(config)
	client.Namespace, client.Timeout, client.Wait, client.WaitForJobs = namespace, timeout, wait, wait
	release, err := client.Run(name, chart, values)
	return shown(release, err, false)
}

func rollback(name, namespace, revision string) error {
	config, err := configuration(namespace)
	if err != nil {
		return err
	}
	client := action.NewRollback(config)
	client.Timeout, client.Wait, client.WaitForJobs = timeout, wait, wait
	if client.Version, err = strconv.Atoi(revision); err != nil {
		return err
	}
	if err := client.Run(name); err != nil {
		return err
	}
	release, err := config.Releases.Last(name)
	return shown(release, err, false)
}

func uninstall(name, namespace string) error {
	config, err := configuration(namespace)
	if err != nil {
		return err
	}
	client := action.NewUninstall(config)
	client.Timeout, client.Wait = timeout, wait
	_, err = client.Run(name)
	return err
}

func shown(release *release.Release, err error, manifest bool) error {
	if err != nil {
		return err
	}
	if manifest {
		fmt.Println(release.Manifest)
		return nil
	}
	fmt.Printf("%s revision %d %s\n", release.Name, release.Version, release.Info.Status)
	return nil
}
