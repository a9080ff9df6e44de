package main

import (
	"context"
	"net/http"
	"strings"
	"sync"

	pingv1 "code.gitea.io/actions-proto-go/ping/v1"
	"code.gitea.io/actions-proto-go/ping/v1/pingv1connect"
	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A call of a runner and its answer.
type (
	in[T any]  = connect.Request[T]
	out[T any] = connect.Response[T]
)

// A forge with one job. It gives the job to the first runner that asks and keeps what the runner reports.
type forge struct {
	mu     sync.Mutex
	task   *runnerv1.Task
	rows   []string
	result runnerv1.Result
}

func (f *forge) Ping(_ context.Context, call *in[pingv1.PingRequest]) (*out[pingv1.PingResponse], error) {
	return connect.NewResponse(&pingv1.PingResponse{Data: call.Msg.Data}), nil
}

func (f *forge) Register(
	_ context.Context, call *in[runnerv1.RegisterRequest],
) (*out[runnerv1.RegisterResponse], error) {
	runner := &runnerv1.Runner{
		Id:     1,
		Uuid:   "c0ffee00-0000-4000-8000-000000000001",
		Token:  strings.Repeat("a", 40),
		Name:   call.Msg.Name,
		Labels: call.Msg.Labels,
	}
	return connect.NewResponse(&runnerv1.RegisterResponse{Runner: runner}), nil
}

func (f *forge) Declare(_ context.Context, call *in[runnerv1.DeclareRequest]) (*out[runnerv1.DeclareResponse], error) {
	runner := &runnerv1.Runner{Version: call.Msg.Version, Labels: call.Msg.Labels}
	return connect.NewResponse(&runnerv1.DeclareResponse{Runner: runner}), nil
}

func (f *forge) FetchTask(context.Context, *in[runnerv1.FetchTaskRequest]) (*out[runnerv1.FetchTaskResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	task := f.task
	f.task = nil
	return connect.NewResponse(&runnerv1.FetchTaskResponse{Task: task, TasksVersion: 1}), nil
}

func (f *forge) UpdateTask(
	_ context.Context, call *in[runnerv1.UpdateTaskRequest],
) (*out[runnerv1.UpdateTaskResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := call.Msg.State
	if state.Result != runnerv1.Result_RESULT_UNSPECIFIED {
		f.result = state.Result
	}
	stored := &runnerv1.TaskState{Id: state.Id, Result: f.result, StoppedAt: timestamppb.Now()}
	return connect.NewResponse(&runnerv1.UpdateTaskResponse{State: stored}), nil
}

// Stores the rows that follow the stored ones. Repeated rows are skipped, as a forge must do.
func (f *forge) UpdateLog(
	_ context.Context, call *in[runnerv1.UpdateLogRequest],
) (*out[runnerv1.UpdateLogResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for index, row := range call.Msg.Rows {
		if call.Msg.Index+int64(index) == int64(len(f.rows)) {
			f.rows = append(f.rows, row.Content)
		}
	}
	return connect.NewResponse(&runnerv1.UpdateLogResponse{AckIndex: int64(len(f.rows))}), nil
}

// Serves the calls of runners. All other requests go to `others`.
func (f *forge) handler(others http.Handler) http.Handler {
	calls := http.NewServeMux()
	calls.Handle(pingv1connect.NewPingServiceHandler(f))
	calls.Handle(runnerv1connect.NewRunnerServiceHandler(f))
	all := http.NewServeMux()
	for _, service := range []string{pingv1connect.PingServiceName, runnerv1connect.RunnerServiceName} {
		all.Handle("/api/actions/"+service+"/", http.StripPrefix("/api/actions", calls))
	}
	all.Handle("/", others)
	return all
}
