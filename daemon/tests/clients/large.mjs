// Uploads a large artifact to a running daemon and measures how long commit and finalize take, and what the daemon
// uses meanwhile. Too slow for the test suite; run it by hand:
//
//   farrier ci exec --repo OWNER/NAME -- node daemon/tests/clients/large.mjs GIB [PID]
//
// GIB: size in GiB (default 4). PID: process id of the daemon, to watch its memory and open files.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

const BLOCK = 8 << 20;
const IN_FLIGHT = 5;
const blocks = (Number(process.argv[2] ?? 4) * 2 ** 30) / BLOCK;
const pid = process.argv[3];
const { ACTIONS_RESULTS_URL: root, ACTIONS_RUNTIME_TOKEN: token } = process.env;
const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
const [, run, job] = claims.scp.split(':');

async function call(method, message) {
  const url = new URL(`/twirp/github.actions.results.api.v1.ArtifactService/${method}`, root);
  const ids = { workflow_run_backend_id: run, workflow_job_run_backend_id: job };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ ...ids, name: 'large', ...message }),
  });
  if (response.status !== 200) throw new Error(`${method}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function put(url, body) {
  const response = await fetch(url, { method: 'PUT', body });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
}

async function timed(what, work) {
  const start = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - start) / 1000).toFixed(3)} s`);
  return result;
}

function daemon(when) {
  if (!pid) return;
  const peak = readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)[1];
  console.log(`${when}: peak ${(peak / 1024).toFixed(1)} MiB, ${readdirSync(`/proc/${pid}/fd`).length} open files`);
}

daemon('before');
const { signed_upload_url: url } = await call('CreateArtifact', { version: 4 });
const content = randomBytes(BLOCK);
const hash = createHash('sha256');
const id = (index) => Buffer.from(String(index).padStart(6, '0')).toString('base64');
let next = 0;
async function sender() {
  while (next < blocks) {
    const index = next++;
    hash.update(content);
    await put(`${url}&comp=block&blockid=${encodeURIComponent(id(index))}`, content);
  }
}
await timed('blocks', () => Promise.all(Array.from({ length: IN_FLIGHT }, sender)));
daemon('after the blocks');
const list = Array.from({ length: blocks }, (_, index) => `<Latest>${id(index)}</Latest>`).join('');
await timed('commit', () => put(`${url}&comp=blocklist`, `<BlockList>${list}</BlockList>`));
const claimed = { size: String(blocks * BLOCK), hash: `sha256:${hash.digest('hex')}` };
await timed('finalize', () => call('FinalizeArtifact', claimed));
daemon('after finalize');
await timed('delete', () => call('DeleteArtifact', {}));
