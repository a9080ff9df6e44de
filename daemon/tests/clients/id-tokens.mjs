// Verifies ID tokens with stock libraries.
//
// argv[2] is JSON: {"call": "live", "audience"} with the environment of a job, or
// {"call": "rotation", "issuer", "audience", "samples": [{"at", "token", "keys"}], "window_secs"}.
// The last line on standard output is "RESULT " and JSON.

import core from '@actions/core';
import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import jsonwebtoken from 'jsonwebtoken';
import jwksClient from 'jwks-rsa';

const input = JSON.parse(process.argv[2]);

const calls = {
  // Requests a token as an action does and verifies it as services do, from the address of the issuer alone.
  async live({ issuer, audience }) {
    const token = await core.getIDToken(audience);
    const response = await fetch(`${issuer}/.well-known/openid-configuration`);
    const configuration = await response.json();
    const keys = createRemoteJWKSet(new URL(configuration.jwks_uri));
    const options = { issuer: configuration.issuer, audience };
    const { payload, protectedHeader } = await jwtVerify(token, keys, options);
    const client = jwksClient({ jwksUri: configuration.jwks_uri });
    const key = await client.getSigningKey(protectedHeader.kid);
    const second = jsonwebtoken.verify(token, key.getPublicKey(), { ...options, algorithms: [protectedHeader.alg] });
    return { configuration, header: protectedHeader, payload, same: second.jti === payload.jti };
  },
  // Verifies every token with the keys that were published at most `window_secs` before or after it was issued.
  async rotation({ issuer, audience, samples, window_secs }) {
    const key_ids = new Set();
    let verified = 0;
    for (const { at, token } of samples) {
      key_ids.add(decodeProtectedHeader(token).kid);
      for (const fetched of samples) {
        if (Math.abs(fetched.at - at) > window_secs) continue;
        const currentDate = new Date(at * 1000);
        await jwtVerify(token, createLocalJWKSet(fetched.keys), { issuer, audience, currentDate });
        verified += 1;
      }
    }
    return { keys: key_ids.size, verified };
  },
};

console.log(`\nRESULT ${JSON.stringify(await calls[input.call](input))}`);
process.exit(0);
