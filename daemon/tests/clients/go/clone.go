package main

import (
	"context"
	"os"

	"github.com/go-git/go-git/v5"
)

// Clones a repository with go-git. Returns the ID of the commit that HEAD points to.
func clone(ctx context.Context, o operation) (any, error) {
	options := &git.CloneOptions{URL: o.URL, Depth: o.Depth}
	if o.Progress {
		options.Progress = os.Stderr
	}
	repository, err := git.PlainCloneContext(ctx, o.Directory, false, options)
	if err != nil {
		return nil, err
	}
	head, err := repository.Head()
	if err != nil {
		return nil, err
	}
	return head.Hash().String(), nil
}
