// Runs operations of an unmodified client and prints their results.
//
// argv[2] is JSON: {"package": "artifact-6", "operations": [{"call": "uploadArtifact", …}, …]}.
// The last line on standard output is "RESULT " and a JSON list: {"ok": …} or
// {"error": {"name", "message"}} for each operation. Lines before it are the client's own log.

const { package: name, operations } = JSON.parse(process.argv[2]);

async function artifactClient() {
  const module = await import(`./node_modules/${name}/lib/artifact.js`);
  return module.default?.default ?? module.default;
}

// The storage client that the artifact clients use for uploads.
async function blobClient(url) {
  const { BlockBlobClient } = await import('@azure/storage-blob');
  return new BlockBlobClient(url);
}

// The status and the error code of a failed request.
async function failure(request) {
  try {
    await request;
    return null;
  } catch (error) {
    return [error.statusCode, error.code ?? null];
  }
}

// The client of version 3 of the protocol, which names artifacts and has no ids.
async function filesClient() {
  const module = await import(`./node_modules/${name}/lib/artifact-client.js`);
  return (module.default ?? module).create();
}

const calls = {
  async uploadFiles({ name, files, root, options }) {
    return (await filesClient()).uploadArtifact(name, files, root, options);
  },
  async downloadFiles({ name, path }) {
    return (await filesClient()).downloadArtifact(name, path, { createArtifactFolder: false });
  },
  async downloadAllFiles({ path }) {
    return (await filesClient()).downloadAllArtifacts(path);
  },
  async uploadArtifact({ name, files, root, options }) {
    return (await artifactClient()).uploadArtifact(name, files, root, options);
  },
  async listArtifacts({ options }) {
    return (await artifactClient()).listArtifacts(options);
  },
  async getArtifact({ name, options }) {
    return (await artifactClient()).getArtifact(name, options);
  },
  async downloadArtifact({ id, options }) {
    return (await artifactClient()).downloadArtifact(id, options);
  },
  async deleteArtifact({ name, options }) {
    return (await artifactClient()).deleteArtifact(name, options);
  },
  async blocks({ url, blocks }) {
    const client = await blobClient(url);
    const id = (index) => Buffer.from(String(index).padStart(6, '0')).toString('base64');
    for (const [index, text] of blocks.entries()) {
      await client.stageBlock(id(index), text, Buffer.byteLength(text));
    }
    const { _response } = await client.commitBlockList(blocks.map((_, index) => id(index)));
    return { status: _response.status };
  },
  async conditionalUpload({ url, text }) {
    const client = await blobClient(url);
    const put = (conditions) => client.upload(text, Buffer.byteLength(text), { conditions });
    const first = await put({ ifNoneMatch: '*' });
    return {
      answered: Boolean(first.etag && first.lastModified && first.requestId),
      exists: await failure(put({ ifNoneMatch: '*' })),
      changed: await failure(put({ ifMatch: '"other"' })),
      unmodified: await failure(put({ ifUnmodifiedSince: new Date(0) })),
      replaced: (await put({ ifMatch: first.etag }))._response.status,
    };
  },
  async conditionalDownload({ url }) {
    const client = await blobClient(url);
    const { etag, lastModified, blobType, contentLength, requestId } = await client.getProperties();
    const get = (conditions) => client.downloadToBuffer(0, undefined, { conditions, blockSize: 3 });
    return {
      blobType,
      contentLength,
      answered: Boolean(etag && lastModified && requestId),
      text: (await get({ ifMatch: etag, ifUnmodifiedSince: lastModified })).toString(),
      changed: await failure(get({ ifMatch: '"other"' })),
      known: await failure(get({ ifNoneMatch: etag })),
      modified: await failure(get({ ifUnmodifiedSince: new Date(0) })),
    };
  },
  async putBlob({ url, text }) {
    const client = await blobClient(url);
    const { _response } = await client.upload(text, Buffer.byteLength(text));
    return { status: _response.status };
  },
};

const results = [];
for (const operation of operations) {
  // "id": {"of": 0} refers to the id that operation 0 returned.
  if (operation.id?.of !== undefined) {
    const before = results[operation.id.of].ok;
    operation.id = before.id ?? before.artifact.id;
  }
  try {
    results.push({ ok: await calls[operation.call](operation) });
  } catch (error) {
    results.push({ error: { name: error.name, message: error.message } });
  }
}
console.log(`\nRESULT ${JSON.stringify(results)}`);
process.exit(0);
