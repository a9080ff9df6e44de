// Manages users, organizations and tokens with gitea-js. argv[2] is the base URL, argv[3] the token of an
// administrator. Prints "RESULT " and a JSON object with the results.

import { giteaApi } from 'gitea-js';

const [, , url, token] = process.argv;
const api = giteaApi(url, { token });
const data = async (call) => (await call).data;
const status = async (call) => call.then((ok) => ok.status, (refused) => refused.status);

const seen = {};
seen.version = (await data(api.version.getVersion())).version;
seen.me = (await data(api.user.userGetCurrent())).login;
seen.user = await data(
  api.admin.adminCreateUser({
    username: 'js-user',
    email: 'js@example.org',
    password: 'long enough',
    must_change_password: false,
  }),
);
seen.edited = (
  await data(api.admin.adminEditUser('js-user', { login_name: '', source_id: 0, full_name: 'J. S.' }))
).full_name;
seen.found = (await data(api.users.userSearch({ q: 'js-' }))).data.map((user) => user.login);
seen.org = await data(api.admin.adminCreateOrg('js-user', { username: 'js-org', visibility: 'private' }));
seen.orgs = (await data(api.users.orgListUserOrgs('js-user'))).map((org) => org.name);
seen.members = (await data(api.orgs.orgListMembers('js-org'))).map((user) => user.login);
seen.isMember = await status(api.orgs.orgIsMember('js-org', 'js-user'));
seen.taken = await status(api.orgs.orgCreate({ username: 'js-user' }));
seen.token = await data(api.users.userCreateToken('js-user', { name: 'ci', scopes: ['read:user'] }));
seen.tokens = (await data(api.users.userGetTokens('js-user'))).map((one) => one.name);
seen.untoken = await status(api.users.userDeleteAccessToken('js-user', 'ci'));
const key = (title, byte) => ({
  title,
  key: `ssh-ed25519 ${Buffer.concat([
    Buffer.from([0, 0, 0, 11]),
    Buffer.from('ssh-ed25519'),
    Buffer.from([0, 0, 0, 32]),
    Buffer.alloc(32, byte),
  ]).toString('base64')} js`,
});
const mine = await data(api.user.userCurrentPostKey(key('js', 1)));
seen.key = [mine.title, mine.key_type, mine.user.login, mine.key.endsWith(' js')];
seen.keys = (await data(api.users.userListKeys('boss'))).map((one) => one.title);
seen.unkey = await status(api.user.userCurrentDeleteKey(mine.id));
const theirs = await data(api.admin.adminCreatePublicKey('js-user', key('js', 2)));
seen.untheirs = await status(api.admin.adminDeleteUserPublicKey('js-user', theirs.id));
await data(api.user.createCurrentUserRepo({ name: 'js-repo' }));
const deploy = await data(api.repos.repoCreateKey('boss', 'js-repo', { ...key('ci', 3), read_only: true }));
seen.deploy = [deploy.title, deploy.read_only];
seen.deploys = (await data(api.repos.repoListKeys('boss', 'js-repo'))).map((one) => one.repository.name);
seen.undeploy = await status(api.repos.repoDeleteKey('boss', 'js-repo', deploy.id));
seen.renamed = await status(api.admin.adminRenameUser('js-user', { new_username: 'js-two' }));
// fetch follows the redirect.
seen.moved = (await data(api.users.userGet('js-user'))).login;
seen.unorg = await status(api.orgs.orgDelete('js-org'));
seen.deleted = await status(api.admin.adminDeleteUser('js-two'));
seen.gone = await status(api.users.userGet('js-two'));
seen.licenses = (await data(api.licenses.listLicenseTemplates())).map((license) => license.key);

console.log(`RESULT ${JSON.stringify(seen)}`);
