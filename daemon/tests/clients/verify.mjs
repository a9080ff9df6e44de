// Verifies one delivery with unmodified third-party libraries.
//
// argv[2] is JSON: {"headers", "body", "secret", "now"}; `now` is the current time for the libraries, in
// milliseconds. The last line on standard output is "RESULT " and {"octokit", "standard"}.

import { Webhooks } from '@octokit/webhooks';
import { Webhook } from 'standardwebhooks';

const { headers, body, secret, now } = JSON.parse(process.argv[2]);
Date.now = () => now;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length ? given : [now]));
  }
};

const octokit = await new Webhooks({ secret }).verify(body, headers['x-hub-signature-256']);
let standard = true;
try {
  new Webhook(secret).verify(body, headers);
} catch {
  standard = false;
}
console.log(`RESULT ${JSON.stringify({ octokit, standard })}`);
