// Runs operations of an unmodified cache client and prints their results, like client.mjs.
//
// argv[2] is JSON: {"package": "cache-6", "operations": [{"call": "save", "key": …}, …]}. The paths of all
// operations are below GITHUB_WORKSPACE, which is also the current directory.

import { createRequire } from 'node:module';
import { rm } from 'node:fs/promises';

const { package: name, operations } = JSON.parse(process.argv[2]);
const home = new URL('.', import.meta.url);
let cache;
try {
  cache = createRequire(home)(`./node_modules/${name}/lib/cache.js`);
} catch {
  cache = await import(new URL(`./node_modules/${name}/lib/cache.js`, home));
}
process.chdir(process.env.GITHUB_WORKSPACE);

const calls = {
  async save({ paths, key }) {
    return cache.saveCache(paths, key);
  },
  async restore({ paths, key, restoreKeys, options }) {
    return (await cache.restoreCache(paths, key, restoreKeys, options)) ?? null;
  },
  async remove({ paths }) {
    for (const path of paths) {
      await rm(path, { recursive: true });
    }
  },
  async available() {
    return cache.isFeatureAvailable();
  },
};

const results = [];
for (const operation of operations) {
  const start = performance.now();
  try {
    results.push({ ok: await calls[operation.call](operation), ms: performance.now() - start });
  } catch (error) {
    results.push({ error: { name: error.name, message: error.message } });
  }
}
console.log(`\nRESULT ${JSON.stringify(results)}`);
process.exit(0);
