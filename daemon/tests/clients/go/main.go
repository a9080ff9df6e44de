// Runs operations of unmodified Go clients and prints their results: the cache client of BuildKit, go-oidc and
// go-git.
//
// The argument is JSON: [{"call": "save", "key": …}, …]. The last line on standard output is "RESULT " and a JSON list:
// {"ok": …} or {"error": …} for each operation.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	actionscache "github.com/tonistiigi/go-actions-cache"
)

type operation struct {
	Call   string   `json:"call"`
	Key    string   `json:"key"`
	Keys   []string `json:"keys"`
	Text   string   `json:"text"`
	Size   int      `json:"size"`
	Offset int64    `json:"offset"`
	Length int      `json:"length"`
	Issuer string   `json:"issuer"`
	Token  string   `json:"token"`
	// The audience that a token must have.
	Audience string `json:"audience"`
	// Of a clone.
	URL       string `json:"url"`
	Directory string `json:"directory"`
	Depth     int    `json:"depth"`
	Progress  bool   `json:"progress"`
}

func (o operation) blob() actionscache.Blob {
	if o.Size > 0 {
		return actionscache.NewBlob(content(o.Size))
	}
	return actionscache.NewBlob([]byte(o.Text))
}

// Returns bytes that do not compress.
func content(size int) []byte {
	var out bytes.Buffer
	sum := sha256.Sum256(nil)
	for out.Len() < size {
		out.Write(sum[:])
		sum = sha256.Sum256(sum[:])
	}
	return out.Bytes()[:size]
}

func open() (*actionscache.Cache, error) {
	cache, err := actionscache.TryEnv(actionscache.Opt{Timeout: 20 * time.Second})
	if err == nil && cache == nil {
		err = errors.New("the environment has no cache")
	}
	return cache, err
}

func run(ctx context.Context, o operation) (any, error) {
	if o.Call == "verify" {
		return verify(ctx, o)
	}
	if o.Call == "clone" {
		return clone(ctx, o)
	}
	cache, err := open()
	if err != nil {
		return nil, err
	}
	switch o.Call {
	case "scopes":
		return cache.Scopes(), nil
	case "version":
		return cache.IsV2, nil
	case "save":
		err := cache.Save(ctx, o.Key, o.blob())
		if errors.Is(err, os.ErrExist) {
			return "exists", nil
		}
		return "saved", err
	case "load":
		entry, err := cache.Load(ctx, o.Keys...)
		if err != nil || entry == nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := entry.WriteTo(ctx, &out); err != nil {
			return nil, err
		}
		if out.Len() > 1000 {
			sum := sha256.Sum256(out.Bytes())
			expected := sha256.Sum256(content(out.Len()))
			return []string{entry.Key, hex.EncodeToString(sum[:]), hex.EncodeToString(expected[:])}, nil
		}
		return []string{entry.Key, out.String()}, nil
	case "readAt":
		entry, err := cache.Load(ctx, o.Key)
		if err != nil || entry == nil {
			return nil, err
		}
		reader := entry.Download(ctx)
		defer reader.Close()
		out := make([]byte, o.Length)
		n, err := reader.ReadAt(out, o.Offset)
		if err == io.EOF {
			err = nil
		}
		return string(out[:n]), err
	case "saveMutable":
		former := ""
		err := cache.SaveMutable(ctx, o.Key, 5*time.Second, func(old *actionscache.Entry) (actionscache.Blob, error) {
			former = ""
			if old != nil {
				var out bytes.Buffer
				if err := old.WriteTo(ctx, &out); err != nil {
					return nil, err
				}
				former = out.String()
			}
			return o.blob(), nil
		})
		return former, err
	default:
		return nil, fmt.Errorf("unknown call %q", o.Call)
	}
}

// Verifies an ID token with the keys that its issuer publishes.
func verify(ctx context.Context, o operation) (any, error) {
	provider, err := oidc.NewProvider(ctx, o.Issuer)
	if err != nil {
		return nil, err
	}
	config := &oidc.Config{ClientID: o.Audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}}
	token, err := provider.Verifier(config).Verify(ctx, o.Token)
	if err != nil {
		return nil, err
	}
	return token.Subject, nil
}

func main() {
	var operations []operation
	if err := json.NewDecoder(strings.NewReader(os.Args[1])).Decode(&operations); err != nil {
		panic(err)
	}
	results := []map[string]any{}
	for _, o := range operations {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		ok, err := run(ctx, o)
		cancel()
		if err != nil {
			results = append(results, map[string]any{"error": map[string]any{"message": err.Error()}})
		} else {
			results = append(results, map[string]any{"ok": ok})
		}
	}
	out, _ := json.Marshal(results)
	fmt.Printf("\nRESULT %s\n", out)
}
