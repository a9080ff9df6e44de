// Runs one job with an unmodified runner of Gitea and prints what the runner reported.
//
// The runner is registered at a small forge in this process, which gives it the job with the runtime token of a job of
// farrier, as a forge does. Requests for artifacts, which the runner sends to its forge, are passed on to farrier.
//
// The argument is JSON, see `options`. The output is JSON: {"result": "success", "log": [rows]}. The output of the
// runner's program goes to standard error.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

type options struct {
	// The program of the runner.
	Runner string `json:"runner"`
	// A directory for the files of the runner.
	Directory string `json:"directory"`
	// The `cache` section of the runner's configuration.
	Cache map[string]any `json:"cache"`
	// The address to which requests that are not calls of a runner are passed on.
	Root string `json:"root"`
	// The context of the job: its repository, its run and its runtime token.
	Context map[string]any `json:"context"`
	// The workflow with one job.
	Workflow json.RawMessage `json:"workflow"`
}

// Returns the job as a forge sends it.
func (o options) task() (*runnerv1.Task, error) {
	about, err := structpb.NewStruct(o.Context)
	if err != nil {
		return nil, err
	}
	token := strings.Repeat("b", 40)
	return &runnerv1.Task{
		Id:              1,
		WorkflowPayload: o.Workflow,
		Context:         about,
		Secrets:         map[string]string{"GITHUB_TOKEN": token, "GITEA_TOKEN": token},
	}, nil
}

// Runs the runner's program with its configuration. All its files are below the directory. The runner is killed when
// the time is over, and when this process is killed.
func (o options) command(ctx context.Context, arguments ...string) error {
	arguments = append([]string{"--config", filepath.Join(o.Directory, "config.yaml")}, arguments...)
	runner := exec.CommandContext(ctx, o.Runner, arguments...)
	runner.Dir = o.Directory
	runner.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Directory}
	runner.Stdout, runner.Stderr = os.Stderr, os.Stderr
	runner.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := runner.Run(); err != nil {
		return fmt.Errorf("%v: %w", arguments, err)
	}
	return nil
}

func run(ctx context.Context, o options) (map[string]any, error) {
	root, err := url.Parse(o.Root)
	if err != nil {
		return nil, err
	}
	task, err := o.task()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	forge := &forge{task: task}
	server := &http.Server{Handler: forge.handler(httputil.NewSingleHostReverseProxy(root))}
	go server.Serve(listener)
	defer server.Close()

	// JSON is YAML, too.
	config, err := json.Marshal(map[string]any{
		"runner": map[string]any{"fetch_interval": "100ms", "timeout": "2m"},
		"cache":  o.Cache,
		"host":   map[string]any{"workdir_parent": filepath.Join(o.Directory, "work")},
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(o.Directory, "config.yaml"), config, 0o600); err != nil {
		return nil, err
	}
	address := "http://" + listener.Addr().String()
	if err := o.command(ctx, "register", "--no-interactive", "--instance", address, "--token", "registration",
		"--labels", "ubuntu-latest:host"); err != nil {
		return nil, err
	}
	if err := o.command(ctx, "daemon", "--once"); err != nil {
		return nil, err
	}
	forge.mu.Lock()
	defer forge.mu.Unlock()
	result := strings.ToLower(strings.TrimPrefix(forge.result.String(), "RESULT_"))
	return map[string]any{"result": result, "log": forge.rows}, nil
}

func main() {
	// For the runner, the end of the thread that starts it is the end of this process.
	runtime.LockOSThread()
	var o options
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	outcome, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(outcome)
}
