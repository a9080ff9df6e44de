// Manages rules that protect branches and tags with gitea-js. argv[2] is the base URL, argv[3] a token of the owner of
// ann/demo. Prints "RESULT " and a JSON object with the results.

import { giteaApi } from 'gitea-js';

const [, , url, token] = process.argv;
const api = giteaApi(url, { token });
const data = async (call) => (await call).data;
const status = async (call) => call.then((ok) => ok.status, (refused) => refused.status);

const repo = ['ann', 'demo'];
const seen = {};
const rule = { rule_name: 'release/*', enable_push: true, enable_push_whitelist: true };
const made = await data(
  api.repos.repoCreateBranchProtection(...repo, { ...rule, push_whitelist_usernames: ['bob'] }),
);
seen.created = [made.rule_name, made.enable_push_whitelist, made.push_whitelist_usernames];
seen.listed = (await data(api.repos.repoListBranchProtection(...repo))).map((one) => one.rule_name);
seen.found = (await data(api.repos.repoGetBranchProtection(...repo, 'release/*'))).rule_name;
const edited = await data(
  api.repos.repoEditBranchProtection(...repo, 'release/*', { push_whitelist_usernames: [] }),
);
seen.edited = [edited.push_whitelist_usernames, edited.enable_push];
seen.again = await status(api.repos.repoCreateBranchProtection(...repo, rule));
seen.deleted = await status(api.repos.repoDeleteBranchProtection(...repo, 'release/*'));
seen.gone = await status(api.repos.repoGetBranchProtection(...repo, 'release/*'));
const tag = await data(
  api.repos.repoCreateTagProtection(...repo, { name_pattern: 'v*', whitelist_usernames: ['ann'] }),
);
seen.tag = [tag.name_pattern, tag.whitelist_usernames];
seen.tags = (await data(api.repos.repoListTagProtection(...repo))).map((one) => one.name_pattern);
seen.tagEdited = (
  await data(api.repos.repoEditTagProtection(...repo, tag.id, { whitelist_usernames: [] }))
).whitelist_usernames;
seen.untag = await status(api.repos.repoDeleteTagProtection(...repo, tag.id));

console.log(`RESULT ${JSON.stringify(seen)}`);
